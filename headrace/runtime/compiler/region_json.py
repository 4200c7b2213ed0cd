"""A region as JSON and back, so that another process of the same Headrace can compile it.

Neutral on purpose: op names, attributes, shapes, dtypes; no code and no Python object is sent.  Nodes have numbers in place of
their names, so that regions that compute the same (two bodies, say) have the same text.  What the region reads from outside
comes as stand-ins: the compiler needs their dtypes and shapes, and the values of constants.  A region with ops or kernels of
the user's own cannot be sent, for the other process does not have them.
"""

from __future__ import annotations

import base64
from collections.abc import Sequence
from typing import Any

import numpy as np

from headrace.core.dtypes import DType, as_dtype
from headrace.core.registry import REGISTRY, is_own_code
from headrace.core.shape import TensorShape
from headrace.passes.region import Region
from headrace.passes.step_graph import Node, Value
from headrace.runtime.code.codegen import Binder

LARGEST = 1 << 20  # bytes of a constant of floats above which zeros are sent: only whole numbers decide shapes

_NAMES = ("container", "shared_name")  # of state, which the other process does not have

Strides = Sequence[Sequence[int] | None]


class CannotSend(Exception):
    """A region that only this process can compile; carries the reason."""


def encode(region: Region, binder: Binder, strides: Strides) -> dict[str, Any]:
    """The region and the ``strides`` of its variables as JSON values."""
    nodes: list[dict[str, Any]] = []
    places: dict[Value, tuple[int, int]] = {}
    kernel_type = binder.torch_device(region.device).type
    for value in (*region.inputs, *region.refs):
        places[value] = len(nodes), 0
        nodes.append(_outside(value, len(nodes)))
    outside = len(nodes)
    for node in region.nodes:
        _check_own(node, binder, kernel_type)
        nodes.append(
            _node(
                node,
                len(nodes),
                {k: _encode(v) for k, v in node.attrs.items()},
                [places[v] for v in node.inputs],
                node.outputs,
            )
        )
        places.update((v, (len(nodes) - 1, i)) for i, v in enumerate(node.outputs))
    return {
        "nodes": nodes, "outside": outside, "device": region.device, "fetched": region.fetched,
        "inputs": [places[v] for v in region.inputs], "refs": [places[v] for v in region.refs],
        "outputs": [places[v] for v in region.outputs], "strides": [s if s is None else list(s) for s in strides],
    }  # fmt: skip


def decode(text: dict[str, Any]) -> tuple[Region, Strides]:
    """The region and the strides that were passed to ``encode``."""
    nodes: list[Node] = []
    for order, item in enumerate(text["nodes"]):
        inputs = [nodes[n].outputs[i] for n, i in item["inputs"]]
        attrs = {k: _decode(v) for k, v in item["attrs"].items()}
        node = Node(item["name"], REGISTRY.get(item["type"]), inputs, attrs, order, device=item["device"])
        nodes.append(node.add_outputs((as_dtype(d), TensorShape(s)) for d, s in item["outputs"]))

    def values(key: str) -> list[Value]:
        return [nodes[n].outputs[i] for n, i in text[key]]

    inside = nodes[text["outside"] :]
    region = Region(inside, values("inputs"), values("refs"), values("outputs"), text["device"], text["fetched"])
    return region, text["strides"]


def _node(
    node: Node, number: int, attrs: dict[str, Any], inputs: list[tuple[int, int]], outputs: Sequence[Value]
) -> dict[str, Any]:
    return {
        "name": f"n{number}", "type": node.type, "device": node.device, "attrs": attrs, "inputs": inputs,
        "outputs": [(v.dtype.as_datatype_enum, _dims(v.shape)) for v in outputs],
    }  # fmt: skip


def _outside(value: Value, number: int) -> dict[str, Any]:
    """A stand-in for what makes the value: the constant, the variable's handle, or a node with such an output."""
    node = value.op
    if node.op_def.traits.constant:
        array = np.asarray(node.attrs["value"])
        attrs = {**{k: _encode(v) for k, v in node.attrs.items() if k != "value"}, "value": _constant(array)}
    elif node.op_def.traits.handle:
        attrs = {k: "" if k in _NAMES else _encode(v) for k, v in node.attrs.items()}
    else:
        attrs = {}
        node = Node(node.name, REGISTRY.get("Placeholder"), [], {}, 0, device=node.device)
    return _node(node, number, attrs, [], [value])


def _constant(array: Any) -> dict[str, Any]:
    if array.nbytes > LARGEST and array.dtype.kind == "f":
        return {"zeros": [array.dtype.str, list(array.shape)]}
    return _array(array)


def _check_own(node: Node, binder: Binder, kernel_type: str) -> None:
    """The other process has Headrace's ops and kernels, not those of the user's program."""
    if not node.op_def.built_in:
        raise CannotSend(f"op {node.type} is declared by the program ({node.op_def.location})")
    if node.op_def.kernels.inline is None:
        function = binder.kernel(node, kernel_type).call
        if not is_own_code(function):
            raise CannotSend(f"op {node.type} has a kernel of the program's own, {function.__qualname__}")


def _dims(shape: TensorShape) -> list[int | None] | None:
    return None if shape.ndims is None else list(shape.tuple or ())


def _array(array: Any) -> dict[str, Any]:
    if array.dtype.kind not in "biufc":
        raise CannotSend(f"an attribute is an array of {array.dtype}")
    return {"array": [array.dtype.str, list(array.shape), _bytes(array.tobytes())]}


def _bytes(data: bytes) -> str:
    return base64.b64encode(data).decode("ascii")


def _encode(value: Any) -> Any:
    """An attribute: plain values as they are, others as an object with one key that says what they are."""
    if value is None or type(value) in (bool, int, float, str):
        return value
    if isinstance(value, DType):
        return {"dtype": value.as_datatype_enum}
    if isinstance(value, TensorShape):
        return {"shape": _dims(value)}
    if isinstance(value, np.ndarray):
        return _array(value)
    if isinstance(value, bytes):
        return {"bytes": _bytes(value)}
    if type(value) is tuple:
        return {"tuple": [_encode(v) for v in value]}
    if type(value) is list:
        return [_encode(v) for v in value]
    raise CannotSend(f"an attribute is a {type(value).__name__}")


def _decode(value: Any) -> Any:
    if isinstance(value, list):
        return [_decode(v) for v in value]
    if not isinstance(value, dict):
        return value
    ((tag, content),) = value.items()
    if tag == "dtype":
        return as_dtype(content)
    if tag == "shape":
        return TensorShape(content)
    if tag == "tuple":
        return tuple(_decode(v) for v in content)
    if tag == "zeros":
        return np.broadcast_to(np.zeros((), content[0]), content[1])
    if tag == "bytes":
        return base64.b64decode(content)
    return np.frombuffer(base64.b64decode(content[2]), content[0]).reshape(content[1])
