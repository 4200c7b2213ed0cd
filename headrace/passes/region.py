"""Regions: the parts of a step that a compiler can take whole.

    ... %a = Mul(...)  %b = Relu(%a)  %s = ApplyGradientDescent(%v, ...) ...      ->      %region = _Region(inputs; refs)

A node can be compiled when it runs on torch tensors of fully known shape, its host inputs are constants, and it neither blocks,
draws random numbers from a generator of its own, nor is declared opaque.  Regions are formed as strands are: nodes with the same
set of nodes outside the compiler's reach before them become ready together, so replacing them by one node never makes a cycle.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from headrace.core.dtypes import float32
from headrace.core.registry import REGISTRY
from headrace.graph.infer import group_inputs
from headrace.passes.match import Ops
from headrace.passes.read import ref_positions
from headrace.passes.schedule import root
from headrace.passes.step_graph import SAVED, Node, StepGraph, Value

SMALLEST = 3  # nodes: fewer are not worth a call into compiled code


@dataclass(slots=True)
class Region:
    """Nodes in the order to run; plain inputs, handles and outputs as a compiled function sees them."""

    nodes: list[Node]
    inputs: list[Value]
    refs: list[Value]
    outputs: list[Value]
    device: str
    fetched: list[int]  # positions of the outputs that leave the step
    recompute: bool = True  # whether cheap values are made again for gradients

    @property
    def plain(self) -> list[Value]:
        """The inputs that are computed: what a compiled function is called with, beside the handles."""
        return [v for v in self.inputs if not v.op.op_def.traits.constant]

    @property
    def constants(self) -> list[Value]:
        return [v for v in self.inputs if v.op.op_def.traits.constant]


def may_compile(node: Node) -> bool:
    """Whether a compiler may look inside nodes of this op, if their shapes are known."""
    traits = node.op_def.traits
    if (
        traits.waits
        or (traits.random and not is_drawn_anywhere(node))
        or traits.host
        or traits.opaque
        or traits.dynamic_shape
        or traits.feed
    ):
        return False
    if traits.opaque_on_cpu and "device:CPU" in node.device:
        return False
    return bool(node.op_def.kernels.by_device) or node.op_def.kernels.inline is not None


_DRAWN, _ATTENTION = Ops("RandomUniform", "RandomStandardNormal"), Ops("_AttentionForward")


def is_drawn_anywhere(node: Node) -> bool:
    """Whether these are random numbers without a seed, on an accelerator: nobody can tell where they come from.

    A compiler makes them in the kernel that reads them.  Others come from the node's generator, the same for the same seed.
    So do those of other types than float32: the compiler rounds its own to them, and then some are 1.  Attention that is trained
    has no seed, and torch's generator for the device draws what its dropout drops.
    """
    if node in _ATTENTION:
        return True
    if node not in _DRAWN or node.attrs["dtype"] != float32 or "device:CPU" in node.device or SAVED in node.attrs:
        return False
    return not node.attrs["seed"] and not node.attrs["seed2"]


def compilable(node: Node, dynamic: bool = False) -> bool:
    """Whether a compiler may look inside this node.  ``dynamic``: sizes may be unknown, and decided by other nodes."""
    if not may_compile(node) or (dynamic and node.op_def.traits.random):  # torch draws for known sizes
        return False
    if "device:CPU" in node.device and (_may_divide_by_zero(node) or _may_refuse_exponents(node)):
        return False
    for value in (*node.inputs, *node.outputs):
        if value.dtype.name == "string" or value.shape.ndims is None:
            return False
        if not value.dtype._is_ref_dtype and not value.shape.is_fully_defined() and not dynamic:
            return False
        if value.dtype._is_ref_dtype and not _is_fixed(root(value)):
            return False
    if dynamic:
        return True
    for arg, value_or_list in zip(
        node.op_def.signature.inputs, group_inputs(node.op_def, node.inputs, node.attrs), strict=True
    ):
        if arg.host and any(
            not v.op.op_def.traits.constant for v in (value_or_list if arg.is_list else [value_or_list])
        ):
            return False
    return True


def _is_fixed(handle: Value) -> bool:
    """Whether every step changes the same buffer, whose shape is known: a temporary variable has a new one each time."""
    traits = handle.op.op_def.traits
    return (traits.handle or traits.feed) and handle.shape.is_fully_defined()


_DIVISIONS = Ops("Div", "FloorDiv", "TruncateDiv", "FloorMod", "Mod", "TruncateMod")


def _may_divide_by_zero(node: Node) -> bool:
    """Whether integers may be divided by 0: compiled code misses it, or sees it in the unused end of a vector (torch 2.13)."""
    if node not in _DIVISIONS or not node.outputs[0].dtype.is_integer:
        return False
    divisor = node.inputs[1].op
    return not divisor.op_def.traits.constant or not divisor.attrs["value"].all()


_POWER = Ops("Pow")


def _may_refuse_exponents(node: Node) -> bool:
    """Whether integers are raised to powers that may be negative, which compiled code would not refuse."""
    if node not in _POWER or not node.outputs[0].dtype.is_integer:
        return False
    exponent = node.inputs[1].op
    return not exponent.op_def.traits.constant or bool((exponent.attrs["value"] < 0).any())


def is_free(node: Node) -> bool:
    """Constants, handles and feeds cost nothing and stay outside."""
    return node.op_def.traits.constant or node.op_def.traits.handle or node.op_def.traits.feed


def move_waits(graph: StepGraph) -> StepGraph:
    """Has the users of a constant wait for what it waits for: constants then come before every region."""
    users: dict[Node, list[Node]] = {}
    for node in graph.nodes:
        for p in node.predecessors():
            users.setdefault(p, []).append(node)
    roots = {v.op for v in graph.fetches} | set(graph.targets)
    for node in graph.nodes:
        if node.op_def.traits.constant and node.control_inputs and node not in roots:
            for user in users.get(node, ()):
                user.control_inputs = list(dict.fromkeys([*user.control_inputs, *node.control_inputs]))
            node.control_inputs = []
    return graph


def find_regions(
    order: list[Node], fetches: list[Value], smallest: int = SMALLEST, dynamic: bool = False,
    accept: Callable[..., bool] = compilable,
) -> list[Region]:  # fmt: skip
    """Groups of compilable nodes of one device, each replaceable by one node.

    What needs nothing but constants and feeds (random numbers, say) can run before every region, so it splits none.
    """
    depends: dict[Node, frozenset[Node]] = {}
    groups: dict[tuple[frozenset[Node], str], list[Node]] = {}
    taken: set[Node] = set()
    free: set[Node] = set()
    for node in order:
        before: frozenset[Node] = frozenset()
        for p in node.predecessors():
            before |= depends[p]
            if p not in free and (p not in taken or p.device != node.device):
                before |= {p}
        depends[node] = before
        if is_free(node):
            free.add(node)
        elif accept(node, dynamic):
            taken.add(node)
            groups.setdefault((before, node.device), []).append(node)
        elif not node.op_def.traits.waits and all(p in free for p in node.predecessors()):
            free.add(node)
    return [describe(nodes, device, order, fetches) for (_, device), nodes in groups.items() if len(nodes) >= smallest]


def describe(nodes: list[Node], device: str, order: list[Node], fetches: list[Value]) -> Region:
    """What crosses the border of these nodes, as the graph is now."""
    inside = set(nodes)
    inputs: dict[Value, None] = {}
    refs: dict[Value, None] = {}
    for node in nodes:
        for i, value in enumerate(node.inputs):
            if value.dtype._is_ref_dtype:
                handle = root(value)
                refs[handle] = None
                if value is not handle and value.op not in inside:  # an assignment outside: use the handle after it
                    node.inputs[i] = handle
                    node.control_inputs.append(value.op)
            elif value.op not in inside:
                inputs[value] = None
    used = {v for n in order if n not in inside for v in n.inputs} | set(fetches)
    outputs = [v for n in nodes for v in n.outputs if v in used and not v.dtype._is_ref_dtype]
    fetched = [i for i, v in enumerate(outputs) if v in set(fetches)]
    return Region(nodes, list(inputs), list(refs), outputs, device, fetched)


def replace_region(graph: StepGraph, region: Region, call: Callable[..., object], index: object) -> StepGraph:
    """Puts one ``_Region`` node in the place of the region's nodes."""
    inside = set(region.nodes)
    controls = dict.fromkeys(c for n in region.nodes for c in n.control_inputs if c not in inside)
    plain = region.plain
    node = Node(
        f"_region/{index}", REGISTRY.get("_Region"), [*plain, *region.refs],
        {
            "call": call, "Tin": tuple(v.dtype for v in plain), "Tref": tuple(r.dtype.base_dtype for r in region.refs),
            "Tout": tuple(v.dtype.base_dtype for v in region.outputs), "written": _written(region),
            "made": tuple(origin_of(v) for v in region.outputs),
        },
        region.nodes[0].order, list(controls), region.device, region.nodes[0].source,
    )  # fmt: skip
    node.add_outputs((v.dtype.base_dtype, v.shape) for v in region.outputs)
    values = dict(zip(region.outputs, node.outputs, strict=True))
    for n in region.nodes:  # handles passed on by assignments are the variables themselves
        for v in n.outputs:
            if v.dtype._is_ref_dtype:
                values[v] = root(v)
    graph.nodes = [n for n in graph.nodes if n not in inside] + [node]
    graph.replace(values, dict.fromkeys(region.nodes, node))
    graph.sort()
    return graph


def origin_of(value: Value) -> tuple[str, int]:
    """The node that makes a value, by its name before it became part of a region, and which of its outputs it is."""
    made: tuple[tuple[str, int], ...] = value.op.attrs.get("made", ())
    return made[value.value_index] if made else (value.op.name, value.value_index)


_SAME_NUMBERS = Ops("ExpandDims", "Identity", "Reshape", "Squeeze")


def _written(region: Region) -> tuple[tuple[int, int | None], ...]:
    """The positions of the handles that the region writes, each with that of the input that has the numbers of the rows.

    None for all rows, and where the numbers are made inside.
    """
    refs = {v: i for i, v in enumerate(region.refs)}
    plain = {v: i for i, v in enumerate(region.plain)}
    written: dict[tuple[int, int | None], None] = {}
    for node in region.nodes:
        if node.op_def.traits.writes:
            rows = _rows_at(node, plain)
            written.update(((refs[root(node.inputs[at])], rows), None) for at in sorted(ref_positions(node)))
    return tuple(written)


def _rows_at(node: Node, plain: dict[Value, int]) -> int | None:
    """Which input has the numbers of the rows that a node writes."""
    name = node.op_def.traits.rows
    if not name:
        return None
    value = node.inputs[[a.name for a in node.op_def.signature.inputs].index(name)]
    while value not in plain and value.op in _SAME_NUMBERS:
        value = value.op.inputs[0]
    return plain.get(value)
