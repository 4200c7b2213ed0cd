"""Arranging a region before the compiler sees it.

What library calls read is stored once; results of blocks are joined by the library; rows are written where nobody else reads;
bad indices stay bad.  The first of these:

Inductor computes a cheap value again in every kernel that reads it, unless it was stored before.  A library call that
reads it through a view (TF1's channels-last tensors seen channels first, say) gets a copy of its own.  In a convolutional
network's backward pass that meant three copies of each gradient: for the gradient of the input, for that of the filter, and
for that of the bias.  So the value behind such a view is marked as stored where it is made, and all read the one buffer.
"""

from __future__ import annotations

import operator
from contextlib import AbstractContextManager, nullcontext
from functools import cache
from typing import Any, Final

import torch
from torch.utils._python_dispatch import TorchDispatchMode

from headrace.runtime.compiler.blocks import is_view, node_arguments, own

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


FEWEST_PIECES: Final = 4  # results of blocks in a concatenation
WRITE_ROWS: Final = ("index_put", "index_copy", "index_add", "scatter")  # in the names of ops
BY_INDEX = (
    aten.index_select.default, aten.index_copy.default, aten.index_copy_.default, aten.index_add.default,
    aten.index_add_.default,
)  # fmt: skip


def write_rows_of_copies(module: Any) -> None:
    """Has rows of an input written in a copy of it, if the outcome is read and the input is written again after that.

    Torch's compiler would write them into the input itself.  It forgets that what reads the outcome, or returns it, must be done
    before the input gets its last value.
    """
    graph = module.graph
    last = {n.args[0]: _base(n.args[1]) for n in graph.nodes if n.target is aten.copy_.default}
    for node in list(graph.nodes):
        if _writes_rows(node) and last.get(_written(node), node) is not node and not _is_only_written(node):
            with graph.inserting_before(node):
                node.update_arg(0, own(graph, node.args[0]))


def writes_rows_and_more(module: Any) -> bool:
    """Whether a graph that writes inputs in place writes rows of one, and then writes it again: see ``write_rows_of_copies``."""
    seen: dict[Any, list[Any]] = {}
    for node in module.graph.nodes:
        if _writes(node):
            written = node
            while _writes(written) or is_view(written):
                written = written.args[0]
            seen.setdefault(written, []).append(node)
    return any(any(map(_writes_rows, writes[:-1])) for writes in seen.values())


def _writes(node: Any) -> bool:
    return isinstance(node.target, torch._ops.OpOverload) and node.target._schema.is_mutable


def _is_only_written(node: Any) -> bool:
    """Whether all that happens with a value is that rows of it are written, once."""
    if len(node.users) != 1:
        return False
    user = next(iter(node.users))
    return _is_only_written(user) if is_view(user) else _writes_rows(user) and node_arguments(user).count(node) == 1


def _base(node: Any) -> Any:
    """What a value shows the memory of."""
    while is_view(node):
        node = node.args[0]
    return node


def _writes_rows(node: Any) -> bool:
    return any(word in _name(node) for word in WRITE_ROWS)


def _name(node: Any) -> str:
    """The name of a node's op; empty if it is none of torch's."""
    return node.target._schema.name.split("::")[1] if isinstance(node.target, torch._ops.OpOverload) else ""


def _written(node: Any) -> Any:
    """The value whose rows are written, perhaps more than once."""
    while _writes_rows(node):
        node = _base(node.args[0])
    return node


def join_in_the_library(module: Any) -> None:
    """Has the library concatenate where several pieces are results of shared blocks.

    Those are in memory already.  The compiler would write a kernel for each piece, only to copy it to its place.
    """
    for node in module.graph.nodes:
        if node.target is aten.cat.default and sum(map(_is_of_a_block, node.args[0])) >= FEWEST_PIECES:
            node.target = _joined()


def _is_of_a_block(node: Any) -> bool:
    node = _base(node)
    return node.target is operator.getitem and node.args[0].target is torch.ops.higher_order.invoke_subgraph


@cache
def _joined() -> Any:
    """Concatenation that stays a library call."""
    from torch._inductor.lowering import fallback_handler, register_lowering

    op = torch.library.custom_op(
        "headrace::joined", torch.cat, mutates_args=(), schema="(Tensor[] pieces, int dim=0) -> Tensor"
    )  # fmt: skip
    op.register_fake(torch.cat)
    call = fallback_handler(aten.cat.default, add_to_fallback_set=False)  # type: ignore[no-untyped-call]
    register_lowering(torch.ops.headrace.joined.default, type_promotion_kind=None)(call)
    return torch.ops.headrace.joined.default


class _RefusesNegativeIndices(TorchDispatchMode):  # type: ignore[no-untyped-call]
    """Sends negative indices past the end."""

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        if func in BY_INDEX:
            tensor, dimension, index, *rest = args
            past = torch.iinfo(index.dtype).max
            args = (tensor, dimension, torch.where(index < 0, past, index), *rest)
        return func(*args, **(kwargs or {}))


def refusing_negative_indices(device: torch.device) -> AbstractContextManager[Any]:
    """Meanwhile negative indices are traced as ones past the end, where compiled code for the CPU refuses them as torch does.

    Left alone, inductor counts them from the end, and reads or writes a row that nobody named.
    """
    return _RefusesNegativeIndices() if device.type == "cpu" else nullcontext()  # type: ignore[no-untyped-call]


def _is_library_call(node: Any) -> bool:
    if node.op != "call_function":
        return False
    if node.target in CONVOLUTIONS:
        return True
    return getattr(node.target, "namespace", "") == "headrace" and _name(node) not in ("owned", "stored", "joined")


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
