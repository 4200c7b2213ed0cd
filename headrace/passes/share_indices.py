"""Share indices: a max pool whose gradient is in the same step keeps the positions of its maxima for it.

    %y = MaxPool(%x)   %d = MaxPoolGrad(%x, %y, %g)      ->      %y, %i = _MaxPoolIndices(%x)   %d = _MaxPoolIndexGrad(%x, %g, %i)

TF1's MaxPoolGrad takes input and output only, so it has to find the maxima again.
"""

from __future__ import annotations

from headrace.core.dtypes import int64
from headrace.core.registry import REGISTRY
from headrace.core.shape import TensorShape
from headrace.passes.match import Ops
from headrace.passes.step_graph import Node, StepGraph, Value

POOL, GRADIENT = Ops("MaxPool"), Ops("MaxPoolGrad")


def share_indices(graph: StepGraph) -> StepGraph:
    """Rewrites pools of two spatial axes and their gradients where window, stride, padding and layout agree."""
    indices: dict[Node, Value] = {}
    for node in graph.nodes:
        if node not in GRADIENT:
            continue
        pool = node.inputs[1].op
        if pool not in indices:
            if pool not in POOL or pool.inputs[0] is not node.inputs[0] or not _same_window(pool, node):
                continue
            pool.op_def = REGISTRY.get("_MaxPoolIndices")
            positions = Value(pool, 1, int64, TensorShape([None] * 4))
            pool.outputs.append(positions)
            indices[pool] = positions
        elif pool.inputs[0] is not node.inputs[0] or not _same_window(pool, node):
            continue
        node.op_def = REGISTRY.get("_MaxPoolIndexGrad")
        node.inputs = [node.inputs[0], node.inputs[2], indices[pool]]
    return graph


def _same_window(pool: Node, grad: Node) -> bool:
    names = ("ksize", "strides", "padding", "explicit_paddings", "data_format")
    if pool.attrs["T"] not in REGISTRY.get("_MaxPoolIndices").signature.allowed["T"]:
        return False
    window = pool.attrs["ksize"]
    depth = window[3] if pool.attrs["data_format"] == "NHWC" else window[1]
    return depth == 1 and pool.device == grad.device and all(pool.attrs[n] == grad.attrs[n] for n in names)
