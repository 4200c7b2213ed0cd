"""Functional nodes: conditionals and loops as single nodes that hold their bodies as FuncGraphs.

    If(cond, captured values, handles; then_branch, else_branch) -> outputs
    While(loop variables, captured values, handles; cond, body) -> iterations, final loop variables
    _Repeat(count, loop variables, captured values, handles; body) -> final loop variables
    PartitionedCall(arguments, captured values, handles; f) -> results

``Stateless...`` is the node when its bodies only compute (a call is ``Stateful...`` when its function does more).  A gradient
may later add a *stash* to a node it differentiates: one more output (of a loop: one more loop variable) that holds what the
backward pass needs.  Stashes come after the outputs the user sees, so whoever holds an output keeps it; a step that does not
use the stash does not make it.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from headrace.core import dtypes
from headrace.core.registry import REGISTRY
from headrace.core.shape import TensorShape
from headrace.graph import context, raw_ops
from headrace.graph.body import FuncGraph, needed_controls, order_effects, share_captures
from headrace.graph.body_read import read_inside, read_outside
from headrace.graph.graph import Graph
from headrace.graph.operation import Operation, Tensor

_SCALAR = TensorShape([])


def is_loop(op: Any) -> bool:
    return "body" in op.attrs and isinstance(op.attrs["body"], FuncGraph)


def first_variable(op: Any) -> int:
    """The position of the first loop variable among a loop's inputs."""
    return 1 if op.type.endswith("Repeat") else 0


def first_result(op: Any) -> int:
    """The position of the first result among a functional node's outputs (a While first gives its iterations)."""
    return 1 if op.type.endswith("While") else 0


def build_if(cond: Tensor, then_branch: FuncGraph, else_branch: FuncGraph, name: str) -> Operation:
    """Makes the node in the default graph; it has the outputs of its branches."""
    shapes = [
        a._shape.most_specific_compatible_shape(b._shape)
        for a, b in zip(then_branch.outputs, else_branch.outputs, strict=True)
    ]
    attrs = {
        "then_branch": then_branch, "else_branch": else_branch, "output_shapes": tuple(shapes), "visible": len(shapes),
        "Tout": tuple(t.dtype.base_dtype for t in then_branch.outputs),
    }  # fmt: skip
    out_dtypes = list(attrs["Tout"])  # type: ignore[call-overload]
    return _create("If", [cond], [then_branch, else_branch], out_dtypes, attrs, name)


def build_while(
    variables: Sequence[Tensor], cond: FuncGraph, body: FuncGraph, shapes: Sequence[TensorShape], name: str,
    **options: Any,
) -> Operation:  # fmt: skip
    """``cond`` and ``body`` take the loop variables as arguments; ``shapes`` hold in every iteration."""
    variable_dtypes = tuple(t.dtype.base_dtype for t in body.outputs)
    attrs = {
        "cond": cond, "body": body, "output_shapes": tuple(shapes), "visible": len(shapes), "T": variable_dtypes,
        "parallel_iterations": 10, "back_prop": True, "swap_memory": False, **options,
    }  # fmt: skip
    return _create("While", list(variables), [cond, body], [dtypes.int32, *variable_dtypes], attrs, name)


def build_repeat(count: Tensor, variables: Sequence[Tensor], body: FuncGraph, name: str, **options: Any) -> Operation:
    """A loop whose number of iterations is known when it starts."""
    variable_dtypes = tuple(t.dtype.base_dtype for t in body.outputs)
    shapes = tuple(
        a._shape.most_specific_compatible_shape(b._shape) for a, b in zip(variables, body.outputs, strict=True)
    )
    attrs = {
        "body": body, "output_shapes": shapes, "visible": len(shapes), "T": variable_dtypes, "parallel_iterations": 10,
        "back_prop": True, "swap_memory": False, **options,
    }  # fmt: skip
    return _create("_Repeat", [count, *variables], [body], list(variable_dtypes), attrs, name)


def build_call(
    f: FuncGraph, args: Sequence[Tensor], captured: Sequence[Tensor], outputs: Sequence[Tensor], name: str,
    stateful: bool | None = None, controls: Sequence[Operation] = (),
) -> Operation:  # fmt: skip
    """A call of a function.  Captures are passed as this graph has them, values first; the results resemble ``outputs``."""
    graph = context.get_default_graph()
    inputs = [graph._own(t, "call") for t in (*args, *captured)]
    inputs.sort(key=lambda t: t.dtype._is_ref_dtype)  # handles last
    op_type, attrs = call_attributes(f, inputs, outputs, stateful)
    with graph.control_dependencies(controls):
        return graph.create_op(REGISTRY.get(op_type), inputs, attrs["Tout"], name=name or op_type, attrs=attrs)


def call_attributes(
    f: FuncGraph, inputs: Sequence[Tensor], outputs: Sequence[Tensor], stateful: bool | None = None
) -> tuple[str, dict[str, Any]]:
    """The type and the attributes of a call's node."""
    out_dtypes = tuple(t.dtype.base_dtype for t in outputs)
    attrs = {
        "f": f, "Tin": tuple(t.dtype for t in inputs if not t.dtype._is_ref_dtype),
        "Tref": tuple(t.dtype.base_dtype for t in inputs if t.dtype._is_ref_dtype), "Tout": out_dtypes,
        "output_shapes": tuple(t._shape for t in outputs), "visible": len(out_dtypes), "config": "", "config_proto": "",
        "executor_type": "",
    }  # fmt: skip
    return "StatefulPartitionedCall" if (f.stateful if stateful is None else stateful) else "PartitionedCall", attrs


def is_call(op: Any) -> bool:
    return holds_function(op.attrs)


def holds_function(attrs: dict[str, Any]) -> bool:
    """Whether these are the attributes of a call."""
    return isinstance(attrs.get("f"), FuncGraph)


def extend_call(op: Operation, count: int) -> None:
    """Gives a call the first ``count`` outputs of its function, those that gradients added among them."""
    for tensor in op.attrs["f"].outputs[len(op._outputs) : count]:
        _append_output(op, dtypes.variant if tensor is None else tensor.dtype.base_dtype, "Tout")


def _create(
    op_type: str,
    inputs: list[Tensor],
    bodies: Sequence[FuncGraph],
    outputs: Sequence[Any],
    attrs: dict[str, Any],
    name: str,
) -> Operation:
    graph = context.get_default_graph()
    different = list(dict.fromkeys(bodies))  # while a recursive function is traced, both branches may be one
    for body in different:
        if body.reads_anew:
            _run_effects(body)
    read_inside(different)
    if op_type == "While":
        read_outside(different, inputs)
    captured = share_captures(bodies)
    refs = [t for t in captured if t.dtype._is_ref_dtype]
    values = [t for t in captured if not t.dtype._is_ref_dtype]
    attrs["Tin"] = tuple(t.dtype.base_dtype for t in values)
    attrs["Tref"] = tuple(t.dtype.base_dtype for t in refs)
    if not any(body.stateful for body in bodies):
        op_type = f"_Stateless{op_type[1:]}" if op_type.startswith("_") else f"Stateless{op_type}"
    with graph.control_dependencies(needed_controls(bodies)):
        return graph.create_op(REGISTRY.get(op_type), [*inputs, *values, *refs], outputs, name=name, attrs=attrs)


def _run_effects(body: FuncGraph) -> None:
    """Makes all effects of a body in a function run, in the order they were built, before there are results."""
    last = order_effects(body)
    if last:
        with body.as_default(), body.control_dependencies(last):
            body.outputs = [raw_ops.Identity(t) for t in body.outputs]


# ---- stashes


def add_output(op: Operation, branch_outputs: Sequence[Tensor]) -> Tensor:
    """One more output of an If: what each branch gives for it."""
    for body, tensor in zip((op.attrs["then_branch"], op.attrs["else_branch"]), branch_outputs, strict=True):
        body.outputs.append(tensor)
    return _append_output(op, branch_outputs[0].dtype.base_dtype, "Tout")


def add_variable(op: Operation, initial: Tensor, make_next: Any) -> Tensor:
    """One more loop variable; ``make_next(argument)`` gives its next value, built in the body.  Returns its final value."""
    body: FuncGraph = op.attrs["body"]
    dtype = initial.dtype.base_dtype
    argument = body.add_arg(dtype, initial._shape, "stash")
    with body.as_default():
        body.outputs.append(make_next(argument))
    if "cond" in op.attrs:
        op.attrs["cond"].add_arg(dtype, initial._shape, "stash")
    position = first_variable(op) + len(body.args) - 1
    op.inputs = (*op.inputs[:position], initial, *op.inputs[position:])
    initial._consumers.append(op)
    return _append_output(op, dtype, "T")


def _append_output(op: Operation, dtype: Any, attr: str) -> Tensor:
    tensor = Tensor(op, len(op._outputs), dtype, _SCALAR)
    op._outputs = (*op._outputs, tensor)
    op._attrs[attr] = (*op._attrs[attr], dtype)
    op._attrs["output_shapes"] = (*op._attrs["output_shapes"], _SCALAR)
    op.graph._mutated()
    return tensor


def outside(graph: Graph) -> Any:
    """A scope to add nodes to ``graph`` as if no block of the user's were open."""
    return graph.plain_scopes() if isinstance(graph, FuncGraph) else graph.control_dependencies(None)
