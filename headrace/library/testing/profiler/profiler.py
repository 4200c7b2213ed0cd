"""``tf.profiler.Profiler``: several traced steps of one graph, their views, and advice about them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal

from headrace.core.device import type_of
from headrace.core.proto import protos
from headrace.core.source import at
from headrace.graph import context
from headrace.graph.graph import Graph
from headrace.library.testing.profiler.advice import CHECKERS, AdviceProto, advice, print_advice
from headrace.library.testing.profiler.node_proto import GraphNodeProto
from headrace.library.testing.profiler.op_log import merged_op_log
from headrace.library.testing.profiler.option import Options
from headrace.library.testing.profiler.profile import count, profile_steps
from headrace.library.testing.profiler.usage import mean_usage, usage_of

ALL_ADVICE: dict[str, Any] = {name: {} for name in CHECKERS}


class Profiler:
    """Takes what traced steps took, and shows it by names, types, lines of the program, or by what takes what.

    Args:
      graph: The graph; None for the default graph.
      op_log: Further entries for the counts, a `tf.profiler.OpLogProto`; None for none.

    >>> y = tf.matmul(tf.ones([3, 20]), tf.get_variable("w", [20, 5]), name="product")
    >>> profiler = tf.profiler.Profiler()
    >>> with tf.Session() as sess:
    ...     sess.run(tf.global_variables_initializer())
    ...     for step in range(2):
    ...         metadata = tf.RunMetadata()
    ...         value = sess.run(y, options=tf.RunOptions(trace_level=tf.RunOptions.FULL_TRACE), run_metadata=metadata)
    ...         profiler.add_step(step, metadata)
    >>> builder = tf.profiler.ProfileOptionBuilder
    >>> options = builder(builder.time_and_memory()).with_empty_output().build()
    >>> profiler.profile_operations(options).children[0].name
    'MatMul'
    """

    def __init__(self, graph: Graph | None = None, op_log: Any = None) -> None:
        self._graph = graph if graph is not None else context.get_default_graph()
        self._op_log = op_log
        self._steps: dict[int, Any] = {}

    def add_step(self, step: int, run_meta: Any) -> None:
        """Adds what a traced step took: its number, and the `tf.RunMetadata` of its run."""
        if isinstance(step, bool) or not isinstance(step, int) or step < 0:
            raise ValueError(f"add_step: step must be the number of a step, 0 or more, got {step!r} {at()}")
        usage_of(run_meta, "add_step")
        copied = type(run_meta)()  # because programs fill one RunMetadata again and again
        copied.step_stats = type(run_meta.step_stats)()
        copied.step_stats.CopyFrom(run_meta.step_stats)
        self._steps[step] = copied

    def _profile(self, name: str, cmd: str, options: Options) -> GraphNodeProto:
        return profile_steps(name, self._graph, self._steps, self._op_log, cmd, options)

    def profile_python(self, options: Options) -> GraphNodeProto:
        """What was made by each line of the program."""
        return self._profile("profile_python", "code", options)

    def profile_operations(self, options: Options) -> GraphNodeProto:
        """What the ops of each type took, each type with the next one below it."""
        return self._profile("profile_operations", "op", options)

    def profile_name_scope(self, options: Options) -> GraphNodeProto:
        """What nodes took, by their names."""
        return self._profile("profile_name_scope", "scope", options)

    def profile_graph(self, options: Options) -> GraphNodeProto:
        """What nodes took, each below the first that takes its outputs; writes a timeline if the options ask for one."""
        return self._profile("profile_graph", "graph", options)

    def advise(self, options: Mapping[str, Any]) -> AdviceProto:
        """Says what stands out in the steps: a dictionary with the names of checkers for its keys chooses some."""
        found = advice("advise", self._graph, self._steps, options)
        print_advice(found)
        return found

    def serialize_to_string(self) -> bytes:
        """The nodes and what they took in each step, as a serialized ProfileProto."""
        message = protos().ProfileProto(has_trace=True, steps=sorted(self._steps))
        log = merged_op_log(self._graph, self._op_log, add_trace=True)
        message.id_to_string.update(log.id_to_string)
        logged = {entry.name: entry for entry in log.log_entries}
        by_step = {step: usage_of(meta, "serialize_to_string") for step, meta in self._steps.items()}
        counted = count(self._graph, self._op_log, mean_usage(list(by_step.values())), max(len(by_step), 1))
        numbers = {entry.line.name: number for number, entry in enumerate(counted)}
        nodes = {node.name: node for node in self._graph.get_operations()}
        for entry in counted:
            name = entry.line.name
            node = message.nodes[numbers[name]]
            node.name, node.op, node.id, node.float_ops = name, entry.op_type, numbers[name], entry.line.float_ops
            node.op_types.extend(sorted(entry.types - {""}))
            node.canonical_device = next(iter(entry.line.devices), "")
            node.shape.extend(int(size) for size in entry.shape.split("x") if size)
            inputs = nodes[name].inputs if name in nodes else ()
            node.inputs.update({i: numbers[t.op.name] for i, t in enumerate(inputs) if t.op.name in numbers})
            if name in logged:
                node.trace.CopyFrom(logged[name].code_def)
            for step, usages in by_step.items():
                if name in usages:
                    _fill_step(node.execs[step], usages[name])
        serialized: bytes = message.SerializeToString(deterministic=True)
        return serialized


def _fill_step(message: Any, usage: Any) -> None:
    message.run_count = usage.runs
    message.all_start_micros = min(began for _, began, _ in usage.spans)
    message.latest_end_micros = max(began + micros for _, began, micros in usage.spans)
    message.devices.extend(usage.devices)
    message.memory_execs.add(
        requested_bytes=usage.requested,
        peak_bytes=usage.peak,
        residual_bytes=usage.residual,
        output_bytes=usage.output,
    )
    for device, began, micros in usage.spans:
        times = message.cpu_execs if type_of(device) == "CPU" else message.accelerator_execs
        times[device].times.add(int64_values=[began, micros])


def advise(
    graph: Graph | None = None, run_meta: Any = None, options: Mapping[str, Any] | Literal[0] = 0
) -> AdviceProto:
    """Says what stands out in a traced step: the costliest ops, accelerators that are idle, ops that have a faster form.

    Args:
      graph: The graph; None for the default graph.
      run_meta: The `tf.RunMetadata` of a run with `tf.RunOptions(trace_level=tf.RunOptions.FULL_TRACE)`.
      options: A dictionary with the names of checkers for its keys; 0 for all.

    Returns:
      A `tf.profiler.AdviceProto`.

    >>> tf.profiler.advise(options={"OperationChecker": {}}).checkers["OperationChecker"].reports
    <BLANKLINE>
    OperationChecker:
    []
    """
    graph = graph if graph is not None else context.get_default_graph()
    steps = {} if run_meta is None else {0: run_meta}
    found = advice("advise", graph, steps, ALL_ADVICE if options == 0 else options)
    print_advice(found)
    return found
