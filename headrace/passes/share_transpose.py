"""Share transpose: a matrix multiplied transposed many times in one step is transposed once.

    %a = MatMul(%x, %w) {transpose_b} ...      ->      %t = _TransposeCopy(%w)   %a = MatMul(%x, %t) ...

For the CPU: a product with few rows reads the whole matrix, and reads it twice as fast in its own order (measured, 8 rows,
1024 x 2048: 3.2 ms transposed, 1.6 ms straight, 3.4 ms to transpose).  Recurrent networks do this at every step.  On 64-bit Arm
it pays for small matrices and many rows, too (128 rows, 65 x 256: 0.154 ms, 0.135 ms, 0.026 ms).
"""

from __future__ import annotations

from headrace.core.registry import REGISTRY
from headrace.core.shape import TensorShape
from headrace.passes.match import Ops
from headrace.passes.step_graph import Node, StepGraph, Value

PRODUCT = Ops("MatMul")
FEWEST = 5  # products that share the matrix
SMALLEST = 1 << 14  # elements: products of up to 16 rows with smaller matrices may run on arrays (passes/arrays.py)


def share_transpose(graph: StepGraph) -> StepGraph:
    """Only the second factor, only on the CPU, no tiny matrices."""
    uses: dict[tuple[Value, str], list[Node]] = {}
    for node in graph.nodes:
        if node in PRODUCT and node.attrs["transpose_b"] and "device:CPU" in node.device:
            size = node.inputs[1].shape.num_elements()
            if node.attrs["T"].is_floating and size is not None and size >= SMALLEST:
                uses.setdefault((node.inputs[1], node.device), []).append(node)
    copies: list[Node] = []
    for (value, device), nodes in uses.items():
        if len(nodes) < FEWEST:
            continue
        others = sum(copy.inputs[0] is value for copy in copies)  # on other devices
        suffix = (f"_{value.value_index}" if value.value_index else "") + (f"_on_{others}" if others else "")
        copy = Node(
            f"{value.op.name}/transposed{suffix}",
            REGISTRY.get("_TransposeCopy"), [value], {"T": value.dtype.base_dtype}, nodes[0].order - 0.5,
            device=device, source=nodes[0].source, origin=nodes[0].origin,
        )  # fmt: skip
        dims = value.shape.tuple or (None, None)
        copy.add_outputs([(value.dtype.base_dtype, TensorShape([dims[1], dims[0]]))])
        copies.append(copy)
        for node in nodes:
            node.inputs = [node.inputs[0], copy.outputs[0]]
            node.attrs = {**node.attrs, "transpose_b": False}
    if copies:
        graph.nodes = graph.nodes + copies
        graph.sort()
    return graph
