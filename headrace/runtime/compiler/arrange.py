"""Arranging a traced region before the compiler sees it.

Results of blocks are joined by the library.  What library calls read is stored once:

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
from headrace.runtime.compiler.torch_door.node import RESHAPES, base, op_name

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
