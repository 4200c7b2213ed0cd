"""Arranging a traced region before the compiler sees it: what library calls read is stored once, bad indices stay bad.

Inductor computes a cheap value again in every kernel that reads it, unless it was stored before.  A library call that
reads it through a view (TF1's channels-last tensors seen channels first, say) gets a copy of its own.  In a convolutional
network's backward pass that meant three copies of each gradient: for the gradient of the input, for that of the filter, and
for that of the bias.  So the value behind such a view is marked as stored where it is made, and all read the one buffer.
"""

from __future__ import annotations

import operator
from functools import cache
from typing import Any

import torch

aten = torch.ops.aten
CONVOLUTIONS = (aten.convolution.default, aten.convolution_backward.default)
VIEWS = (
    aten.permute.default, aten.view.default, aten.reshape.default, aten.transpose.int, aten.t.default, aten._unsafe_view.default
)  # fmt: skip
STORED = (*CONVOLUTIONS, aten.mm.default, aten.addmm.default, aten.bmm.default, aten.cat.default)  # in memory anyway


def store_what_libraries_read(module: Any) -> None:
    """Marks the computed values that a library call and another node read, or that a library call reads through a view."""
    graph = module.graph
    origins: dict[Any, None] = {}
    for node in graph.nodes:
        if _is_library_call(node):
            for argument in node.all_input_nodes:
                origin = _origin(argument)
                if _is_computed(origin) and (origin is not argument or len(origin.users) > 1):
                    origins[origin] = None
    mark = _mark()
    for origin in origins:
        with graph.inserting_after(origin):
            stored = graph.call_function(mark, (origin,))
        stored.meta = dict(origin.meta)
        origin.replace_all_uses_with(stored, delete_user_cb=lambda user, stored=stored: user is not stored)
    if origins:
        module.recompile()


BY_INDEX = (
    aten.index_select.default, aten.index_copy.default, aten.index_copy_.default, aten.index_add.default,
    aten.index_add_.default,
)  # fmt: skip


def refuse_negative_indices(module: Any) -> None:
    """Sends negative indices past the end, where compiled code for the CPU refuses them as torch does.

    Left alone, inductor counts them from the end, and reads or writes a row that nobody named.
    """
    graph = module.graph
    lookups = [n for n in graph.nodes if n.op == "call_function" and n.target in BY_INDEX and _on_cpu(n.args[0])]
    for node in lookups:
        index = node.args[2]
        with graph.inserting_before(node):
            negative = graph.call_function(aten.lt.Scalar, (index, 0))
            past = torch.iinfo(index.meta["val"].dtype).max
            checked = graph.call_function(aten.where.ScalarSelf, (negative, past, index))
        checked.meta = dict(index.meta)
        node.update_arg(2, checked)
    if lookups:
        module.recompile()


def _on_cpu(node: Any) -> bool:
    value = node.meta.get("val")
    return isinstance(value, torch.Tensor) and value.device.type == "cpu"


def _is_library_call(node: Any) -> bool:
    if node.op != "call_function":
        return False
    return node.target in CONVOLUTIONS or getattr(node.target, "namespace", "") == "headrace"


def _origin(node: Any) -> Any:
    while node.op == "call_function" and node.target in VIEWS:
        node = node.args[0]
    return node


def _is_computed(node: Any) -> bool:
    """Whether this is a single value that the compiler would make in a kernel of its own."""
    if node.op != "call_function" or node.target in STORED or _is_library_call(node):
        return False
    if node.target is operator.getitem:
        return getattr(node.args[0].target, "namespace", "") == "prims"
    return isinstance(node.meta.get("val"), torch.Tensor)


@cache
def _mark() -> Any:
    """An op that hands its argument on and has inductor store it there."""
    from torch._inductor.lowering import register_lowering

    op = torch.library.custom_op(
        "headrace::stored", lambda x: x.clone(), mutates_args=(), schema="(Tensor x) -> Tensor"
    )  # fmt: skip
    op.register_fake(torch.empty_like)

    @register_lowering(torch.ops.headrace.stored.default, type_promotion_kind=None)
    def _(x: Any) -> Any:
        x.realize()
        return x

    return torch.ops.headrace.stored.default
