"""Arranging a traced region before the compiler sees it.

Results of blocks are joined by the library.  An addition to one element of each row is a comparison.  What library calls read is
stored once:

Inductor computes a cheap value again in every kernel that reads it, unless it was stored before.  A library call that
reads it through a view (TF1's channels-last tensors seen channels first, say) gets a copy of its own.  In a convolutional
network's backward pass that meant three copies of each gradient: for the gradient of the input, for that of the filter, and
for that of the bias.  So the value behind such a view is marked as stored where it is made, and all read the one buffer.
"""

from __future__ import annotations

import operator
from typing import Any, Final

import torch

from headrace.runtime.compiler.torch_door.lowering import joined, stored_op
from headrace.runtime.compiler.torch_door.node import RESHAPES, base, is_symbolic, op_name

aten = torch.ops.aten
CONVOLUTIONS = (aten.convolution.default, aten.convolution_backward.default)
STORED = (*CONVOLUTIONS, aten.mm.default, aten.addmm.default, aten.bmm.default, aten.cat.default)  # in memory anyway
UNLIKE_LIBRARIES: Final = ("owned", "stored", "joined", "max_pool2d_gather")  # ops of ours for which nothing is stored


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
    mark = stored_op()
    for origin in origins:
        with graph.inserting_after(origin):
            stored = graph.call_function(mark, (origin,))
        stored.meta = dict(origin.meta)
        origin.replace_all_uses_with(stored, delete_user_cb=lambda user, stored=stored: user is not stored)
    if origins:
        module.recompile()


def compare_for_one_element(module: Any) -> None:
    """Has a number that is added to one element of each row (a label's, in a gradient) added where the position is equal.

    A scatter needs the whole matrix in memory first.  A comparison is part of the kernel that makes the matrix, or reads it.
    """
    graph = module.graph
    scatters = [n for n in graph.nodes if _adds_to_one_element(n)]
    for node in scatters:
        matrix, dimension, index, added = node.args
        value = matrix.meta["val"]
        shape = [1] * value.dim()
        shape[dimension] = -1
        with graph.inserting_before(node):

            def call(target: Any, *args: Any, **kwargs: Any) -> Any:
                made = graph.call_function(target, args, kwargs)
                given = torch.fx.node.map_arg((args, kwargs), lambda n: n.meta["val"])
                made.meta["val"] = target(*given[0], **given[1])
                return made

            with value.fake_mode:
                places = call(
                    torch.ops.prims.iota.default, value.shape[dimension], start=0, step=1, dtype=torch.int64,
                    device=value.device, requires_grad=False,
                )  # fmt: skip
                equal = call(aten.eq.Tensor, call(aten.view.default, places, shape), index)
                changed = call(aten.add.Scalar, matrix, added.args[1])
                node.replace_all_uses_with(call(aten.where.self, equal, changed, matrix))
        graph.erase_node(node)
    if scatters:
        module.recompile()


def _adds_to_one_element(node: Any) -> bool:
    if node.target is not aten.scatter_add.default:
        return False
    matrix, dimension, index, added = node.args
    if added.target is not aten.full.default or is_symbolic(matrix):
        return False
    rows = list(matrix.meta["val"].shape)
    rows[dimension] = 1
    return rows == list(index.meta["val"].shape) == list(added.meta["val"].shape)


FEWEST_PIECES: Final = 4  # results of blocks in a concatenation


def join_in_the_library(module: Any) -> None:
    """Has the library concatenate where several pieces are results of shared blocks.

    Those are in memory already.  The compiler would write a kernel for each piece, only to copy it to its place.
    """
    for node in module.graph.nodes:
        if node.target is aten.cat.default and sum(map(_is_of_a_block, node.args[0])) >= FEWEST_PIECES:
            node.target = joined()


def _is_of_a_block(node: Any) -> bool:
    node = base(node)
    return node.target is operator.getitem and node.args[0].target is torch.ops.higher_order.invoke_subgraph


def _is_library_call(node: Any) -> bool:
    if node.op != "call_function":
        return False
    if node.target in CONVOLUTIONS:
        return True
    return getattr(node.target, "namespace", "") == "headrace" and op_name(node) not in UNLIKE_LIBRARIES


def _origin(node: Any) -> Any:
    while node.op == "call_function" and node.target in RESHAPES:
        node = node.args[0]
    return node


def _is_computed(node: Any) -> bool:
    """Whether this is a single value that the compiler would make in a kernel of its own."""
    if node.op != "call_function" or node.target in STORED or _is_library_call(node):
        return False
    if node.target is operator.getitem:
        return getattr(node.args[0].target, "namespace", "") == "prims"
    return isinstance(node.meta.get("val"), torch.Tensor)
