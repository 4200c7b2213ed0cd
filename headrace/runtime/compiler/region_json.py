"""A region as JSON and back, so that another process of the same Headrace can compile it.

It is the step graph of `passes.portable`, made neutral: no code and no Python object is sent, and nodes have numbers in place of
their names and lines, so that regions that compute the same (two bodies, say) have the same text.  What the region reads from
outside comes as stand-ins: the compiler needs their dtypes and shapes, and the values of constants.  A region with ops or kernels
of the user's own cannot be sent, for the other process does not have them.
"""

from __future__ import annotations

import base64
import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from headrace.core.registry import REGISTRY, is_own_code
from headrace.passes.portable import Portable, from_portable, to_portable
from headrace.passes.region import Region
from headrace.passes.step_graph import Node, StepGraph, Value
from headrace.runtime.code.codegen import Binder

LARGEST = 1 << 20  # bytes of a constant of floats above which zeros are sent: only whole numbers decide shapes

_NAMES = ("container", "shared_name")  # of state, which the other process does not have

Strides = Sequence[Sequence[int] | None]


class CannotSend(Exception):
    """A region that only this process can compile; carries the reason."""


def encode(region: Region, binder: Binder, strides: Strides) -> dict[str, Any]:
    """The region and the ``strides`` of its variables as JSON values."""
    kernel_type = binder.torch_device(region.device).type
    nodes: list[Node] = []
    sent: dict[Value, Value] = {}
    for value in (*region.inputs, *region.refs):
        nodes.append(_stand_in(value, len(nodes)))
        sent[value] = nodes[-1].outputs[0]
    outside = len(nodes)
    for node in region.nodes:
        _check_own(node, binder, kernel_type)
        copied = _copy(node, len(nodes), [sent[v] for v in node.inputs], node.attrs, node.outputs)
        sent.update(zip(node.outputs, copied.outputs, strict=True))
        nodes.append(copied)
    data = to_portable(StepGraph(nodes, [n.outputs[0] for n in nodes[:outside]], [sent[v] for v in region.outputs], []))
    if data.objects or len(data.graphs) > 1:
        of = type(data.objects[0]) if data.objects else StepGraph
        raise CannotSend(f"an attribute is a {of.__name__}")
    return {
        "graphs": data.graphs, "sources": data.sources, "arrays": [_array(one) for one in data.arrays],
        "inputs": len(region.inputs), "refs": len(region.refs), "device": region.device, "fetched": region.fetched,
        "recompute": region.recompute,
        "strides": [s if s is None else list(s) for s in strides],
    }  # fmt: skip


def decode(text: dict[str, Any]) -> tuple[Region, Strides]:
    """The region and the strides that were passed to ``encode``."""
    graph = from_portable(Portable(text["graphs"], text["sources"], [_values(*one) for one in text["arrays"]]))
    inputs, refs = graph.feeds[: text["inputs"]], graph.feeds[text["inputs"] :]
    inside = graph.nodes[text["inputs"] + text["refs"] :]
    region = Region(inside, inputs, refs, graph.fetches, text["device"], text["fetched"], text["recompute"])
    return region, text["strides"]


def _copy(node: Node, number: int, inputs: list[Value], attrs: dict[str, Any], outputs: Sequence[Value]) -> Node:
    """A node that says nothing of where the user made it."""
    copied = Node(f"n{number}", node.op_def, inputs, attrs, number, device=node.device)
    return copied.add_outputs((v.dtype, v.shape) for v in outputs)


def _stand_in(value: Value, number: int) -> Node:
    """A stand-in for what makes the value: the constant, the variable's handle, or a node with such an output."""
    node = value.op
    if node.op_def.traits.constant:
        attrs = {**node.attrs, "value": _constant(np.asarray(node.attrs["value"]))}
    elif node.op_def.traits.handle:
        attrs = {k: "" if k in _NAMES else v for k, v in node.attrs.items()}
    else:
        attrs = {}
        node = Node(node.name, REGISTRY.get("Placeholder"), [], {}, 0, device=node.device)
    return _copy(node, number, [], attrs, [value])


def _constant(array: Any) -> Any:
    if array.nbytes > LARGEST and array.dtype.kind == "f":
        return np.broadcast_to(np.zeros((), array.dtype), array.shape)
    return array


def _check_own(node: Node, binder: Binder, kernel_type: str) -> None:
    """The other process has Headrace's ops and kernels, not those of the user's program."""
    if not node.op_def.built_in:
        raise CannotSend(f"op {node.type} is declared by the program ({node.op_def.location})")
    if node.op_def.kernels.inline is None:
        function = binder.kernel(node, kernel_type).call
        if not is_own_code(function):
            raise CannotSend(f"op {node.type} has a kernel of the program's own, {function.__qualname__}")


def _array(array: Any) -> tuple[str, list[int], str]:
    """The type, the shape and the elements; one element if it is everywhere."""
    if array.dtype.kind not in "biufc":
        raise CannotSend(f"an attribute is an array of {array.dtype}")
    elements = array[(0,) * array.ndim] if array.size and not any(array.strides) else array
    return array.dtype.str, list(array.shape), base64.b64encode(elements.tobytes()).decode("ascii")


def _values(dtype: str, shape: list[int], data: str) -> Any:
    elements = np.frombuffer(base64.b64decode(data), dtype)
    return elements.reshape(shape) if elements.size == math.prod(shape) else np.broadcast_to(elements[0], shape)
