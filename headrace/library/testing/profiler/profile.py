"""`tf.profiler.profile`: counts the parameters and float operations of a graph, sums them up, and prints a report.

What a step took in time and memory is not known here: options that ask for it are refused.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from headrace.core import errors
from headrace.core.source import at
from headrace.graph import context
from headrace.graph.body import FuncGraph
from headrace.graph.collection import GraphKeys
from headrace.graph.graph import Graph
from headrace.graph.operation import Operation
from headrace.library import log
from headrace.library.testing.profiler.option import Options, ProfileOptionBuilder
from headrace.passes.cost.float_operation import UnknownShape, float_operations

ROOT = "_TFProfRoot"
TRAINABLE = "_trainable_variables"
_SHOWN = {"params": "# parameters", "float_ops": "# float_ops", "occurrence": "op count"}
_ORDERS = ("name", *_SHOWN)


@dataclass
class GraphNodeProto:
    """One line of a report: what a node has itself, and with everything below it.

    Args:
      name: The name of the node or scope.
      float_ops: Its own float operations.
      parameters: Its own parameters.
      definition_count: How many nodes it stands for.
      total_float_ops: Float operations with everything below.
      total_parameters: Parameters with everything below.
      total_definition_count: Nodes with everything below.
      children: The lines below.

    >>> tf.profiler.GraphNodeProto('layer', parameters=10).parameters
    10
    """

    name: str
    float_ops: int = 0
    parameters: int = 0
    definition_count: int = 0
    total_float_ops: int = 0
    total_parameters: int = 0
    total_definition_count: int = 0
    children: list[Any] = field(default_factory=list)

    def total(self, below: Sequence[GraphNodeProto]) -> None:
        """Sets the totals to the node's own numbers and the totals of those below it."""
        self.total_float_ops = self.float_ops + sum(child.total_float_ops for child in below)
        self.total_parameters = self.parameters + sum(child.total_parameters for child in below)
        self.total_definition_count = self.definition_count + sum(child.total_definition_count for child in below)


class MultiGraphNodeProto(GraphNodeProto):
    """One line of a report by types: each has the next one below it.

    Args:
      name: The type of op.
      float_ops: Its own float operations.
      parameters: Its own parameters.
      definition_count: How many nodes it stands for.
      total_float_ops: Float operations with everything below.
      total_parameters: Parameters with everything below.
      total_definition_count: Nodes with everything below.
      children: The lines below.

    >>> tf.profiler.MultiGraphNodeProto('MatMul', float_ops=600).float_ops
    600
    """


@dataclass
class _Entry:
    """A node of the graph, or a scope, or a type."""

    line: GraphNodeProto
    op_type: str = ""
    types: set[str] = field(default_factory=set)
    shape: str = ""
    accounted: bool = False
    below: dict[str, _Entry] = field(default_factory=dict)


def profile(
    graph: Graph | None = None,
    run_meta: Any = None,
    op_log: Any = None,
    cmd: str = "scope",
    options: Options | Literal[0] = 0,
) -> GraphNodeProto:
    """Counts the parameters and float operations of a graph; by names (`cmd="scope"`) or by types of ops (`cmd="op"`).

    Without options, the parameters of the trainable variables by names.

    Args:
      graph: The graph; None for the default graph.
      run_meta: None: the counts need no run, and times and memory are not reported.
      op_log: Further entries for the counts, as TensorFlow's OpLogProto; None for none.
      cmd: "scope" or "op".
      options: What `tf.profiler.ProfileOptionBuilder` builds; 0 for the default.

    Returns:
      A `tf.profiler.GraphNodeProto`, the root of the report.

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
    chosen = _checked(cmd, options, run_meta)
    counted = _count(graph if graph is not None else context.get_default_graph(), op_log)
    root = _Entry(GraphNodeProto(ROOT) if cmd == "scope" else MultiGraphNodeProto(ROOT))
    if cmd == "scope":
        for entry in counted:
            _place(root, entry)
        _account(root, chosen)
        result = _scopes(root, chosen)
    else:
        result = _types(root, counted, chosen)
    _write(_report(result, counted, chosen, cmd), chosen["output"])
    return result


def _checked(cmd: str, options: Options | Literal[0], run_meta: Any) -> Options:
    if cmd not in ("scope", "op"):
        in_tensorflow = cmd in ("graph", "code")
        error = errors.UnimplementedError if in_tensorflow else errors.InvalidArgumentError
        raise error(None, None, f"profile(cmd={cmd!r}): accepted are 'scope' and 'op' {at()}")
    if options == 0:
        return ProfileOptionBuilder.trainable_variables_parameter()
    if not isinstance(options, dict):
        raise TypeError(f"options are a dict made by tf.profiler.ProfileOptionBuilder; received {options!r} {at()}")
    lacking = [name for name in ProfileOptionBuilder().build() if name not in options]
    if lacking:
        raise ValueError(
            f"options are a dict made by tf.profiler.ProfileOptionBuilder; received one without {', '.join(lacking)} {at()}"
        )
    unknown = [name for name in options["select"] if name not in _SHOWN]
    if options["order_by"] not in _ORDERS:
        unknown.append(options["order_by"])
    if run_meta is not None or unknown or options["output"].startswith(("timeline:", "pprof:")):
        what = ", ".join(map(repr, unknown)) or ("run_meta" if run_meta is not None else repr(options["output"]))
        raise errors.UnimplementedError(
            None, None, f"profile: {what} needs traces of steps, which are not taken; what can be selected and ordered by "
            f"is {', '.join(map(repr, _ORDERS))} {at()}",
        )  # fmt: skip
    return options


# ---- counting


def _count(graph: Graph, op_log: Any) -> list[_Entry]:
    logged = {entry.name: entry for entry in getattr(op_log, "log_entries", ())}
    trained = {getattr(v, "op", v).name for v in graph.get_collection(GraphKeys.TRAINABLE_VARIABLES)}
    entries, unknown = [], 0
    for node in _nodes(graph):
        entry = _Entry(GraphNodeProto(node.name, definition_count=1), node.type, {node.type, node.device})
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
        entries.append(entry)
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


def _accounts(entry: _Entry, options: Options) -> bool:
    patterns = options["account_type_regexes"]
    return list(patterns) == [".*"] or any(_matches(patterns, name) for name in entry.types)


# ---- by names


def _place(root: _Entry, entry: _Entry) -> None:
    at_entry, parts = root, entry.line.name.split("/")
    for i in range(1, len(parts)):
        name = "/".join(parts[:i])
        at_entry = at_entry.below.setdefault(name, _Entry(GraphNodeProto(name, definition_count=1)))
    there = at_entry.below.setdefault(entry.line.name, entry)
    if there is not entry:  # a scope by that name came first
        entry.below = there.below
        at_entry.below[entry.line.name] = entry


def _account(entry: _Entry, options: Options) -> bool:
    """Drops what is not counted, and sums up -> whether anything is left."""
    entry.below = {name: child for name, child in entry.below.items() if _account(child, options)}
    entry.accounted = entry.line.name != ROOT and _accounts(entry, options)
    if not entry.accounted:
        entry.line.float_ops = entry.line.parameters = 0
    entry.line.total([child.line for child in entry.below.values()])
    return entry.accounted or bool(entry.below)


def _scopes(root: _Entry, options: Options) -> GraphNodeProto:
    starts = list(root.below.values())
    if list(options["start_name_regexes"]) != [".*"]:
        starts = list(_starts(starts, options["start_name_regexes"]))
        root.line.total([start.line for start in starts])
    shown = [line for start in starts for line in _shown(start, options, 2)]
    return _closed(root.line, shown, options)


def _starts(entries: Sequence[_Entry], patterns: Sequence[str]) -> Iterator[_Entry]:
    for entry in entries:
        if _matches(patterns, entry.line.name):
            yield entry
        else:
            yield from _starts(list(entry.below.values()), patterns)


def _shown(entry: _Entry, options: Options, depth: int) -> list[GraphNodeProto]:
    """The line of an entry, or those below it if it is not shown itself."""
    trimmed = _matches(options["trim_name_regexes"], entry.line.name)
    children = [] if trimmed else list(entry.below.values())
    below = [line for child in children for line in _shown(child, options, depth + 1)]
    return [_closed(entry.line, below, options)] if _shows(entry.line, options, depth) else below


def _shows(line: GraphNodeProto, options: Options, depth: int) -> bool:
    return (
        depth <= options["max_depth"]
        and line.float_ops >= options["min_float_ops"]
        and line.parameters >= options["min_params"]
        and _matches(options["show_name_regexes"], line.name)
        and not _matches(options["hide_name_regexes"], line.name)
    )


def _closed(line: GraphNodeProto, below: list[GraphNodeProto], options: Options) -> GraphNodeProto:
    if options["account_displayed_op_only"]:
        line.total(below)
    line.children = sorted(below, key=lambda child: _order(child, options["order_by"], "total_"))
    return line


def _order(line: GraphNodeProto, by: str, which: str) -> tuple[int, str]:
    names = {"float_ops": "float_ops", "params": "parameters", "occurrence": "definition_count"}
    return (-getattr(line, which + names[by]) if by in names else 0, line.name)


# ---- by types


def _types(root: _Entry, counted: list[_Entry], options: Options) -> GraphNodeProto:
    """The types, each with the next one below it, so that a total is what is left from there on."""
    by_type: dict[str, GraphNodeProto] = {}
    for entry in counted:
        if _accounts(entry, options):
            line = by_type.setdefault(entry.op_type, MultiGraphNodeProto(entry.op_type))
            line.float_ops += entry.line.float_ops
            line.parameters += entry.line.parameters
            line.definition_count += 1
    lines = sorted(by_type.values(), key=lambda line: _order(line, options["order_by"], ""))
    shown = [x for x in lines if _shows(x, options, 2) and x.definition_count >= options["min_occurrence"]]
    total: list[GraphNodeProto] = []
    for line in reversed([root.line, *(shown if options["account_displayed_op_only"] else lines)]):
        line.total(total[-1:])
        total.append(line)
    for line, following in zip([root.line, *shown], [*shown, None], strict=True):
        line.children = [] if following is None else [following]
    return root.line


# ---- the report


def _report(root: GraphNodeProto, counted: list[_Entry], options: Options, cmd: str) -> str:
    selected = [name for name in _SHOWN if name in options["select"]]
    lines = ["Profile:", " | ".join(["node name", *(_SHOWN[name] for name in selected)])]
    if cmd == "op":
        line = root
        while line.children:
            line = line.children[0]
            lines.append(f"{line.name:28} {', '.join(_type_number(line, root, name) for name in selected)}")
    else:
        accounted = {entry.line.name for entry in counted if _accounts(entry, options)}
        shapes = {entry.line.name: entry.shape for entry in counted if entry.shape}
        every = list(options["account_type_regexes"]) == [".*"]

        def add(line: GraphNodeProto, indent: str) -> None:
            own = line.name != ROOT and (every or line.name in accounted)
            numbers = [_number(line, name, own, shapes.get(line.name)) for name in selected]
            lines.append(f"{indent}{line.name} ({', '.join(numbers)})")
            for child in line.children:
                add(child, indent + "  ")

        add(root, "")
    return "\n".join(lines) + "\n"


_FIELDS = {
    "params": ("parameters", "params"),
    "float_ops": ("float_ops", "flops"),
    "occurrence": ("definition_count", "ops"),
}


def _number(line: GraphNodeProto, name: str, own: bool, shape: str | None) -> str:
    attribute, unit = _FIELDS[name]
    mine = _short(getattr(line, attribute)) if own else "--"
    text = f"{mine}/{_short(getattr(line, f'total_{attribute}'))} {unit}"
    return f"{shape}, {text}" if name == "params" and own and shape else text


def _type_number(line: GraphNodeProto, root: GraphNodeProto, name: str) -> str:
    attribute, unit = _FIELDS[name]
    own, left, every = (
        getattr(line, attribute),
        getattr(line, f"total_{attribute}"),
        getattr(root, f"total_{attribute}"),
    )
    part = [100 * x / every if every else 0 for x in (left, own)]
    return f"{_short(own)} {unit} ({part[0]:.2f}%, {part[1]:.2f}%)"


def _short(number: int) -> str:
    for size, unit in ((10**9, "b"), (10**6, "m"), (10**3, "k")):
        if number >= size:
            return f"{number / size:.2f}{unit}"
    return str(number)


def _write(report: str, output: str) -> None:
    sink, _, where = output.partition(":")
    if sink == "stdout":
        print(report, end="")
    elif sink == "file" and where.startswith("outfile="):
        with open(where.removeprefix("outfile="), "w", encoding="utf-8") as file:
            file.write(report)
    elif sink != "none":
        accepted = "'stdout', 'none' and 'file:outfile=PATH'"
        raise errors.InvalidArgumentError(
            None, None, f"profile: unknown output {output!r}; accepted are {accepted} {at()}"
        )
