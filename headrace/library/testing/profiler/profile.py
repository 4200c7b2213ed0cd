"""`tf.profiler.profile`: counts what nodes have and sums it up: parameters, float operations, and what traced steps took.

Owns the views: by names, by types, by lines of the program, by what takes what.  Where the numbers of steps come from is in
`usage`, the text in `report`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Literal

from headrace.core import errors
from headrace.core.source import at
from headrace.graph import context
from headrace.graph.body import FuncGraph
from headrace.graph.collection import GraphKeys
from headrace.graph.graph import Graph
from headrace.graph.operation import Operation
from headrace.library import log
from headrace.library.testing.profiler.node_proto import (
    COLUMNS,
    MEASURED,
    Entry,
    GraphNodeProto,
    MultiGraphNodeProto,
)
from headrace.library.testing.profiler.option import Options, ProfileOptionBuilder
from headrace.library.testing.profiler.report import ROOT, tree_report, type_report, write
from headrace.library.testing.profiler.timeline import Timeline
from headrace.library.testing.profiler.usage import Usages, mean_usage, usage_of
from headrace.passes.cost.float_operation import UnknownShape, float_operations

TRAINABLE = "_trainable_variables"
COMMANDS = ("scope", "op", "code", "graph")
_ORDERS = ("name", *COLUMNS)


def profile(
    graph: Graph | None = None,
    run_meta: Any = None,
    op_log: Any = None,
    cmd: str = "scope",
    options: Options | Literal[0] = 0,
) -> GraphNodeProto:
    """Sums up the parameters and float operations of a graph, and the time and memory of a traced step.

    Without options, the parameters of the trainable variables by names.

    Args:
      graph: The graph; None for the default graph.
      run_meta: The `tf.RunMetadata` of a run with `tf.RunOptions(trace_level=tf.RunOptions.FULL_TRACE)`, for times and memory.
      op_log: Further entries for the counts, a `tf.profiler.OpLogProto`; None for none.
      cmd: "scope" by names, "op" by types of ops, "code" by lines of the program, "graph" by what takes what.
      options: What `tf.profiler.ProfileOptionBuilder` builds; 0 for the default.

    Returns:
      A `tf.profiler.GraphNodeProto`, the root of the report; with "op" and "code" a `tf.profiler.MultiGraphNodeProto`.

    >>> weights = tf.get_variable("weights", [20, 5])
    >>> _ = tf.matmul(tf.placeholder(tf.float32, [3, 20]), weights, name="product")
    >>> builder = tf.profiler.ProfileOptionBuilder
    >>> profile = tf.profiler.profile()
    Profile:
    node name | # parameters
    _TFProfRoot (--/100 params)
      weights (20x5, 100/100 params)
    >>> quiet = builder(builder.float_operation()).with_node_names(show_name_regexes=["product"]).with_empty_output()
    >>> tf.profiler.profile(options=quiet.build()).total_float_ops
    600
    """
    steps = {} if run_meta is None else {0: run_meta}
    return profile_steps("profile", graph, steps, op_log, cmd, options)


def profile_steps(
    caller: str, graph: Graph | None, steps: Mapping[int, Any], op_log: Any, cmd: str, options: Options | Literal[0]
) -> GraphNodeProto:
    """The report of a graph, with what its traced steps took.  ``steps``: the RunMetadata of each, by the number of the step."""
    chosen = _checked(caller, cmd, options, steps)
    graph = graph if graph is not None else context.get_default_graph()
    numbers = _steps(caller, chosen["step"], steps)
    measured = not MEASURED.isdisjoint(_columns(chosen))
    usages = mean_usage([usage_of(steps[number], caller, measured) for number in numbers])
    counted = count(graph, op_log, usages, len(numbers))
    root = Entry((MultiGraphNodeProto if cmd in ("op", "code") else GraphNodeProto)(ROOT))
    if cmd == "op":
        result = _types(root, counted, chosen)
        report = type_report(result, chosen)
    else:
        _arrange(root, counted, graph, cmd, chosen)
        result = _scopes(root, chosen)
        every = list(chosen["account_type_regexes"]) == [".*"] or cmd == "code"
        accounted = None if every else {entry.line.name for entry in counted if _accounts(entry, chosen)}
        report = tree_report(result, chosen, accounted, {e.line.name: e.shape for e in counted if e.shape})
    sink, _, where = chosen["output"].partition(":outfile=")
    if sink == "timeline":
        _write_timeline(graph, steps, numbers, where)
    else:
        write(report, chosen["output"])
    return result


def _checked(caller: str, cmd: str, options: Options | Literal[0], steps: Mapping[int, Any]) -> Options:
    if cmd not in COMMANDS:
        accepted = ", ".join(map(repr, COMMANDS))
        raise errors.InvalidArgumentError(None, None, f"{caller}(cmd={cmd!r}): accepted are {accepted} {at()}")
    if options == 0:
        return ProfileOptionBuilder.trainable_variables_parameter()
    if not isinstance(options, dict):
        raise TypeError(f"options are a dict made by tf.profiler.ProfileOptionBuilder; received {options!r} {at()}")
    lacking = [name for name in ProfileOptionBuilder().build() if name not in options]
    if lacking:
        raise ValueError(
            f"options are a dict made by tf.profiler.ProfileOptionBuilder; received one without {', '.join(lacking)} {at()}"
        )
    asked = _columns(options)
    unknown = [name for name in asked if name not in _ORDERS]
    sink = options["output"].partition(":")[0]
    if unknown or sink == "pprof" or (sink == "timeline" and cmd != "graph"):
        what = ", ".join(map(repr, unknown)) or f"the output {sink!r} of {cmd!r}"
        raise errors.UnimplementedError(
            None, None, f"{caller}: {what} is not supported; what can be selected and ordered by is "
            f"{', '.join(map(repr, _ORDERS))}, and a timeline is written by cmd='graph' {at()}",
        )  # fmt: skip
    measured = [name for name in asked if name in MEASURED] + ["timeline"] * (sink == "timeline")
    if measured and not steps:
        raise errors.InvalidArgumentError(
            None, None, f"{caller}: {', '.join(map(repr, measured))} needs a traced step, and none was given: pass the "
            f"tf.RunMetadata of a run with tf.RunOptions(trace_level=tf.RunOptions.FULL_TRACE) {at()}",
        )  # fmt: skip
    return options


def _columns(options: Options) -> list[str]:
    return [*options["select"], options["order_by"]]


def _steps(caller: str, step: int, steps: Mapping[int, Any]) -> list[int]:
    """The numbers of the steps that an option asks for: -1 for all."""
    if step < 0 or not steps:
        return list(steps)
    if step not in steps:
        raise errors.InvalidArgumentError(
            None,
            None,
            f"{caller}: there is no step {step}; the steps are {', '.join(map(str, steps))}, and -1 their mean {at()}",
        )
    return [step]


def _write_timeline(graph: Graph, steps: Mapping[int, Any], numbers: Sequence[int], path: str) -> None:
    if len(numbers) != 1:
        raise errors.InvalidArgumentError(
            None,
            None,
            f"profile: a timeline is of one step, and there are {len(numbers)}: choose one by with_step {at()}",
        )
    timeline = Timeline(steps[numbers[0]].step_stats, graph).generate_chrome_trace_format()
    Path(f"{path}_{numbers[0]}").write_text(timeline, encoding="utf-8")


# ---- counting


def count(graph: Graph, op_log: Any, usages: Usages, steps: int) -> list[Entry]:
    logged = {entry.name: entry for entry in getattr(op_log, "log_entries", ())}
    trained = {getattr(v, "op", v).name for v in graph.get_collection(GraphKeys.TRAINABLE_VARIABLES)}
    entries, unknown = [], 0
    for node in _nodes(graph):
        entry = Entry(GraphNodeProto(node.name, definition_count=1), node.type, {node.type, node.device})
        try:
            entry.line.float_ops = float_operations(node) or 0
        except UnknownShape:
            unknown += 1
        shape = node.attrs.get("shape") if node.type in ("Placeholder", "VariableV2", "VarHandleOp") else None
        if shape is not None and None not in shape:
            entry.shape = "x".join(map(str, shape)) or "1"
            entry.line.parameters = node.outputs[0].shape.num_elements() or 0
        if node.name in trained:
            entry.types.add(TRAINABLE)
        if node.name in logged:
            entry.types.update(logged[node.name].types)
            entry.line.float_ops = logged[node.name].float_ops or entry.line.float_ops
        if usage := usages.pop(node.name, None):
            usage.fill(entry.line, steps)
            entry.types.update(usage.devices)
        entries.append(entry)
    for name, usage in usages.items():  # what steps have added
        line = GraphNodeProto(name, definition_count=1)
        usage.fill(line, steps)
        entries.append(Entry(line, usage.op_type, {usage.op_type, *usage.devices}))
    if unknown:
        log.info("%d ops have no float operations counted: their shapes are not fully known", unknown)
    return entries


def _nodes(graph: Graph) -> Iterator[Operation]:
    """Every node once, those inside conditionals, loops and functions too."""
    for node in graph.get_operations():
        bodies = [value for value in node.attrs.values() if isinstance(value, FuncGraph)]
        if not bodies:
            yield node
        for body in bodies:
            captured = {t.op.name for t in body.inputs}
            yield from (inner for inner in _nodes(body) if inner.name not in captured)


def _matches(patterns: Sequence[str], text: str) -> bool:
    return any(re.fullmatch(pattern, text) for pattern in patterns)


def _accounts(entry: Entry, options: Options) -> bool:
    patterns = options["account_type_regexes"]
    return list(patterns) == [".*"] or any(_matches(patterns, name) for name in entry.types)


# ---- trees: by names, by lines of the program, by what takes what


def _arrange(root: Entry, counted: list[Entry], graph: Graph, cmd: str, options: Options) -> None:
    if cmd == "scope":
        for entry in counted:
            _place(root, entry)
    elif cmd == "code":
        _place_lines(root, counted, graph, options)
    else:
        _place_inputs(root, counted, graph)
    _account(root, options, every=cmd == "code")


def _place(root: Entry, entry: Entry) -> None:
    at_entry, parts = root, entry.line.name.split("/")
    for i in range(1, len(parts)):
        name = "/".join(parts[:i])
        at_entry = at_entry.below.setdefault(name, Entry(GraphNodeProto(name, definition_count=1)))
    there = at_entry.below.setdefault(entry.line.name, entry)
    if there is not entry:  # a scope by that name came first
        entry.below = there.below
        at_entry.below[entry.line.name] = entry


def _place_lines(root: Entry, counted: list[Entry], graph: Graph, options: Options) -> None:
    """The lines of the program that have made nodes; what steps have added was made by none."""
    sources = {node.name: node.source for node in _nodes(graph)}
    for entry in counted:
        source = sources.get(entry.line.name)
        if source is not None and _accounts(entry, options):
            name = f"{Path(source.filename).name}:{source.lineno}:{source.function}"
            root.below.setdefault(name, Entry(MultiGraphNodeProto(name))).line.add(entry.line)


def _place_inputs(root: Entry, counted: list[Entry], graph: Graph) -> None:
    """Each node below the first that takes its outputs, and those that nobody takes below the root."""
    entries = {entry.line.name: entry for entry in counted}
    nodes = {node.name: node for node in graph.get_operations() if node.name in entries}
    inputs = {name: [t.op.name for t in node.inputs if t.op.name in nodes] for name, node in nodes.items()}
    taken = {name for names in inputs.values() for name in names}
    placed: set[str] = set()
    waiting = [(root, name) for name in reversed(entries) if name not in taken]
    while waiting:
        above, name = waiting.pop()
        if name not in placed:
            placed.add(name)
            above.below[name] = entries[name]
            waiting += [(entries[name], below) for below in reversed(inputs.get(name, ()))]


def _upwards(root: Entry) -> list[tuple[Entry, int]]:
    """Every entry with its depth, those below others first."""
    found, waiting = [], [(root, 1)]
    while waiting:
        entry, depth = waiting.pop()
        found.append((entry, depth))
        waiting += [(child, depth + 1) for child in entry.below.values()]
    return found[::-1]


def _account(root: Entry, options: Options, every: bool) -> None:
    """Drops what is not counted, and sums up."""
    for entry, _ in _upwards(root):
        entry.below = {name: child for name, child in entry.below.items() if child.accounted or child.below}
        entry.accounted = entry.line.name != ROOT and (every or _accounts(entry, options))
        if not entry.accounted:
            entry.line.forget()
        entry.line.total([child.line for child in entry.below.values()])


def _scopes(root: Entry, options: Options) -> GraphNodeProto:
    starts = list(root.below.values())
    if list(options["start_name_regexes"]) != [".*"]:
        starts = list(_starts(starts, options["start_name_regexes"]))
        root.line.total([start.line for start in starts])
    shown = [line for start in starts for line in _shown(start, options)]
    return _closed(root.line, shown, options)


def _starts(entries: Sequence[Entry], patterns: Sequence[str]) -> Iterator[Entry]:
    for entry in entries:
        if _matches(patterns, entry.line.name):
            yield entry
        else:
            yield from _starts(list(entry.below.values()), patterns)


def _shown(start: Entry, options: Options) -> list[GraphNodeProto]:
    """The line of an entry, or those below it if it is not shown itself."""
    lines: dict[int, list[GraphNodeProto]] = {}
    for entry, depth in _upwards(start):
        below = [line for child in entry.below.values() for line in lines.pop(id(child))]
        if _matches(options["trim_name_regexes"], entry.line.name):
            below = []
        shows = _shows(entry.line, options, depth + 1)
        lines[id(entry)] = [_closed(entry.line, below, options)] if shows else below
    return lines[id(start)]


_LEAST = {
    "min_bytes": "total_requested_bytes", "min_peak_bytes": "total_peak_bytes",
    "min_residual_bytes": "total_residual_bytes", "min_output_bytes": "total_output_bytes",
    "min_micros": "total_exec_micros", "min_accelerator_micros": "total_accelerator_exec_micros",
    "min_cpu_micros": "total_cpu_exec_micros", "min_float_ops": "float_ops", "min_params": "parameters",
}  # fmt: skip


def _shows(line: GraphNodeProto, options: Options, depth: int) -> bool:
    return (
        depth <= options["max_depth"]
        and all(getattr(line, field) >= options.get(name, 0) for name, field in _LEAST.items())
        and _matches(options["show_name_regexes"], line.name)
        and not _matches(options["hide_name_regexes"], line.name)
    )


def _closed(line: GraphNodeProto, below: list[GraphNodeProto], options: Options) -> GraphNodeProto:
    if options["account_displayed_op_only"]:
        line.total(below)
    line.children = sorted(below, key=lambda child: _order(child, options["order_by"], "total_"))
    return line


def _order(line: GraphNodeProto, by: str, which: str) -> tuple[int, str]:
    return (-getattr(line, which + COLUMNS[by].field) if by in COLUMNS else 0, line.name)


# ---- by types


def _types(root: Entry, counted: list[Entry], options: Options) -> GraphNodeProto:
    """The types, each with the next one below it, so that a total is what is left from there on."""
    by_type: dict[str, GraphNodeProto] = {}
    for entry in counted:
        if _accounts(entry, options):
            line = by_type.setdefault(entry.op_type, MultiGraphNodeProto(entry.op_type))
            line.add(entry.line)
    lines = sorted(by_type.values(), key=lambda line: _order(line, options["order_by"], ""))
    _chain([root.line, *lines])
    shown = [x for x in lines if _shows(x, options, 2) and x.definition_count >= options["min_occurrence"]]
    if options["account_displayed_op_only"]:
        _chain([root.line, *shown])
    for line, following in zip([root.line, *shown], [*shown, None], strict=True):
        line.children = [] if following is None else [following]
    return root.line


def _chain(lines: Sequence[GraphNodeProto]) -> None:
    """Sets the totals of each to what is left from there on."""
    below: list[GraphNodeProto] = []
    for line in reversed(lines):
        line.total(below)
        below = [line]
