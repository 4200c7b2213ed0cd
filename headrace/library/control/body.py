"""What goes in and out of bodies: nested structures of tensors as flat lists, and back.

Besides tensors a structure may hold Python values, variables, operations (which stand for "done"), IndexedSlices and
SparseTensors, and tensor arrays, which travel as the value they wrap.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from headrace.graph import raw_ops
from headrace.graph.body import FuncGraph
from headrace.graph.convert import convert_to_tensor
from headrace.graph.handle import value_of
from headrace.graph.operation import Operation, Tensor
from headrace.library import nest
from headrace.library.control.tensor_array import TensorArray


def flat_tensors(structure: Any, body: FuncGraph, done: Tensor) -> list[Tensor]:
    """The leaves as tensors of the body, which must be the default graph.  An operation becomes ``done`` after it."""
    tensors = []
    for leaf in nest.flatten(structure, expand_composites=True):
        if isinstance(leaf, Operation):
            with body.control_dependencies([leaf]):
                tensor: Tensor = raw_ops.Identity(done)
        elif isinstance(leaf, TensorArray):
            tensor = leaf.flow
        else:
            tensor = convert_to_tensor(leaf)
        tensors.append(body._own(value_of(tensor), "result of the body"))
    return tensors


def pack_tensors(structure: Any, tensors: Sequence[Any]) -> Any:
    """The structure with tensors for leaves; tensor arrays hold the tensor that travelled for them."""
    leaves = nest.flatten(structure, expand_composites=True)
    packed = [
        leaf.with_flow(tensor) if isinstance(leaf, TensorArray) else tensor
        for leaf, tensor in zip(leaves, tensors, strict=True)
    ]
    return nest.pack_sequence_as(structure, packed, expand_composites=True)
