"""What a node of a traced graph does: read off the schema of its op."""

from __future__ import annotations

import operator
from typing import Any

import torch

aten = torch.ops.aten
RESHAPES = (
    aten.permute.default, aten.view.default, aten.reshape.default, aten.transpose.int, aten.t.default, aten._unsafe_view.default
)  # fmt: skip

CHEAP = (
    aten.full.default,
    aten.scalar_tensor.default,
    torch.ops.prims.iota.default,
    aten.copy.default,
)  # not tagged pointwise
RANDOM = "inductor_random"  # random numbers from a seed


def is_op(target: Any) -> bool:
    """Whether a node calls one of torch's ops."""
    return isinstance(target, torch._ops.OpOverload)


def writes(node: Any) -> bool:
    """Whether the node's op writes an argument."""
    return is_op(node.target) and bool(node.target._schema.is_mutable)


def is_symbolic(node: Any) -> bool:
    """Whether the value's size is not known yet."""
    value = node.meta.get("val")
    return isinstance(value, torch.SymInt) or (isinstance(value, torch.Tensor) and value._has_symbolic_sizes_strides)


def node_arguments(node: Any) -> list[Any]:
    """The nodes among the arguments, one that comes twice listed twice."""
    found: list[Any] = []
    torch.fx.node.map_arg((node.args, node.kwargs), found.append)
    return found


def only_computes(node: Any) -> bool:
    """Whether the node writes nothing, draws no random numbers and refuses no values."""
    if node.target is operator.getitem:
        return True
    if not is_op(node.target) or torch.Tag.nondeterministic_seeded in node.target.tags:
        return False
    return bool(node.target._schema.returns) and not node.target._schema.is_mutable


def is_cheap(node: Any) -> bool:
    """Whether the value is made number by number, in the kernel that reads it."""
    if not only_computes(node):
        return False
    return (
        is_view(node)
        or node.target in CHEAP
        or op_name(node) == RANDOM
        or torch.Tag.pointwise in getattr(node.target, "tags", ())
    )


def is_view(node: Any) -> bool:
    """Whether the result lies in the memory of the first argument."""
    if node.target is operator.getitem:
        return is_view(node.args[0])
    if node.target is aten._unsafe_view.default:
        return True
    schema = getattr(node.target, "_schema", None)
    return schema is not None and not schema.is_mutable and any(r.alias_info is not None for r in schema.returns)


def base(node: Any) -> Any:
    """What a value shows the memory of."""
    while is_view(node):
        node = node.args[0]
    return node


def op_name(node: Any) -> str:
    """The name of a node's op; empty if it is none of torch's."""
    return node.target._schema.name.split("::")[1] if is_op(node.target) else ""
