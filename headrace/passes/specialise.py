"""Specialise: the feeds' actual shapes, carried through the whole graph.

%x = _Feed : float32[?,3]   %y = Relu(%x) : float32[?,3]      --{x: (8, 3)}->      %y = Relu(%x) : float32[8,3]
"""

from __future__ import annotations

from collections.abc import Sequence

from headrace.core.shape import TensorShape
from headrace.graph.infer import infer_shapes
from headrace.passes.step_graph import StepGraph


def specialise(graph: StepGraph, shapes: Sequence[Sequence[int]]) -> StepGraph:
    """``shapes`` are those of the feeds, in order.  Output shapes are inferred again, node by node."""
    for value, dims in zip(graph.feeds, shapes, strict=True):
        value.shape = TensorShape(list(dims))
    for node in graph.nodes:
        if node.op_def.traits.feed or not node.inputs or not node.outputs:
            continue
        inferred = infer_shapes(node.op_def, node.inputs, node.attrs, len(node.outputs))  # type: ignore[arg-type]
        for value, shape in zip(node.outputs, inferred, strict=True):
            value.shape = value.shape.merge_with(shape)
    return graph
