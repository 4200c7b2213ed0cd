"""``tf.profiler.write_op_log``: what the profiler knows of a graph's nodes, in a file that others read."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from headrace.core.proto import protos
from headrace.core.source import at
from headrace.graph import context
from headrace.graph.graph import Graph
from headrace.library.testing.profiler.profile import TRAINABLE, count
from headrace.library.testing.profiler.usage import usage_of


def write_op_log(
    graph: Graph | None, log_dir: str, op_log: Any = None, run_meta: Any = None, add_trace: bool = True
) -> None:
    """Writes a file ``tfprof_log``, an OpLogProto: the float operations, the types and the lines of the program of nodes.

    Args:
      graph: The graph; None for the default graph.
      log_dir: The folder of the file.
      op_log: A `tf.profiler.OpLogProto` with entries that count more than those of the graph; None for none.
      run_meta: A `tf.RunMetadata`; it is checked, and adds nothing: shapes are those of the graph.
      add_trace: True writes the line of the program that made each node, too.

    >>> import tempfile, pathlib
    >>> product = tf.matmul(tf.ones([3, 20]), tf.ones([20, 5]), name="product")
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     tf.profiler.write_op_log(tf.get_default_graph(), folder)
    ...     log = tf.profiler.OpLogProto.FromString((pathlib.Path(folder) / "tfprof_log").read_bytes())
    >>> [(entry.name, entry.float_ops) for entry in log.log_entries if entry.float_ops]
    [('product', 600)]
    """
    if run_meta is not None:
        usage_of(run_meta, "write_op_log", needed=False)
    graph = graph if graph is not None else context.get_default_graph()
    message = merged_op_log(graph, op_log, add_trace)
    path = Path(log_dir)
    if not path.is_dir():
        raise FileNotFoundError(f"write_op_log: log_dir must be a folder that is there, got {log_dir!r} {at()}")
    (path / "tfprof_log").write_bytes(message.SerializeToString())


def merged_op_log(graph: Graph, op_log: Any, add_trace: bool) -> Any:
    """An OpLogProto of the graph and of the given entries, which win."""
    message = protos().OpLogProto()
    if op_log is not None:
        if not isinstance(op_log, protos().OpLogProto):
            raise TypeError(f"op_log must be a tf.profiler.OpLogProto or None, got {op_log!r} {at()}")
        message.CopyFrom(op_log)
    given = {entry.name: entry for entry in message.log_entries}
    sources = {node.name: node.source for node in graph.get_operations()}
    words = {text: number for number, text in message.id_to_string.items()}
    for counted in count(graph, None, {}, 1):
        name, source = counted.line.name, sources.get(counted.line.name) if add_trace else None
        trained = TRAINABLE in counted.types
        if not (counted.line.float_ops or trained or source is not None or name in given):
            continue
        entry = given.get(name) or message.log_entries.add(name=name)
        entry.float_ops = entry.float_ops or counted.line.float_ops
        if trained and TRAINABLE not in entry.types:
            entry.types.append(TRAINABLE)
        if source is not None and not entry.code_def.traces:
            line = entry.code_def.traces.add(lineno=source.lineno)
            line.file_id = words.setdefault(source.filename, len(words) + 1)
            line.function_id = words.setdefault(source.function, len(words) + 1)
    message.id_to_string.update({number: text for text, number in words.items()})
    return message
