"""What both sides of a comparison share: how calls and results are written down, for the pipe to TensorFlow's process and for
the kept results, and how a call goes through a graph.

A message is JSON, with every array replaced by its dtype, shape and place in the bytes that follow.  Strings are byte
strings one after another, behind their lengths.  Needs numpy only, since both sides import it.
"""

from __future__ import annotations

import hashlib
import json
import struct
from collections.abc import Callable
from typing import IO, Any

import numpy as np

_LENGTHS = struct.Struct("<II")


def encode(message: Any) -> bytes:
    """The message as bytes.  It may hold dicts, lists, numbers, text, None, bytes and arrays."""
    parts: list[bytes] = []

    def plain(item: Any) -> Any:
        if isinstance(item, dict):
            return {key: plain(value) for key, value in item.items()}
        if isinstance(item, (list, tuple)):
            return [plain(value) for value in item]
        if isinstance(item, bytes):
            return {"bytes": item.decode("latin-1")}
        if isinstance(item, (np.ndarray, np.generic)):
            kind, data = _array_bytes(np.asarray(item))
            parts.append(data)
            return {"array": [kind, list(np.shape(item)), len(data)]}
        return item

    header = json.dumps(plain(message), separators=(",", ":")).encode()
    payload = b"".join(parts)
    return _LENGTHS.pack(len(header), len(payload)) + header + payload


def _array_bytes(array: np.ndarray) -> tuple[str, bytes]:
    if array.dtype.kind in "OSU":
        items = [v if isinstance(v, bytes) else str(v).encode() for v in array.reshape(-1).tolist()]
        return "string", np.array([len(v) for v in items], "<u4").tobytes() + b"".join(items)
    return array.dtype.str, array.tobytes()


def decode(data: bytes) -> Any:
    """What `encode` was given (arrays of strings as object arrays of bytes)."""
    length, _ = _LENGTHS.unpack_from(data)
    place = _LENGTHS.size + length

    def rich(item: Any) -> Any:
        nonlocal place
        if isinstance(item, list):
            return [rich(value) for value in item]
        if not isinstance(item, dict):
            return item
        if set(item) == {"bytes"}:
            return item["bytes"].encode("latin-1")
        if set(item) == {"array"}:
            kind, shape, size = item["array"]
            place += size
            return _array(kind, shape, data[place - size : place])
        return {key: rich(value) for key, value in item.items()}

    return rich(json.loads(data[_LENGTHS.size : place]))


def _array(kind: str, shape: list[int], data: bytes) -> np.ndarray:
    if kind != "string":
        return np.frombuffer(data, np.dtype(kind)).reshape(shape).copy()
    count = int(np.prod(shape, dtype=np.int64))
    lengths = np.frombuffer(data, "<u4", count)
    found = np.empty(count, object)
    place = 4 * count
    for i, length in enumerate(lengths.tolist()):
        found[i] = data[place : place + length]
        place += length
    return found.reshape(shape)


def send(stream: IO[bytes], message: Any) -> None:
    stream.write(encode(message))
    stream.flush()


def receive(stream: IO[bytes]) -> Any:
    """The next message; EOFError at the end of the stream."""
    head = _exactly(stream, _LENGTHS.size)
    return decode(head + _exactly(stream, sum(_LENGTHS.unpack(head))))


def _exactly(stream: IO[bytes], count: int) -> bytes:
    data = stream.read(count)
    if data is None or len(data) < count:
        raise EOFError("the other side has gone")
    return data


def digest(message: Any) -> str:
    """Sixteen letters that differ when the messages do."""
    return hashlib.blake2b(encode(message), digest_size=8).hexdigest()


def weights(shape: tuple[int, ...], dtype: str) -> np.ndarray:
    """What the output is multiplied with before it is summed up and differentiated: all different, none zero."""
    count = int(np.prod(shape, dtype=np.int64))
    steps = (np.arange(count) * 37 % 101) / 101 - 0.37
    if dtype.startswith("complex"):
        return (steps + 1j * (steps[::-1] * 0.7 + 0.2)).reshape(shape).astype(dtype)
    return steps.reshape(shape).astype(np.float32 if dtype == "bfloat16" else dtype)


DIFFERENTIABLE = ("float16", "bfloat16", "float32", "float64", "complex64", "complex128")


class CallRun:
    """One call on its way through a graph of its own, in the library ``tf``.

    Who runs it says what one ``input`` is (noted in ``flat``), what ``call_op`` makes of all, what an attribute that is a
    ``tensor`` is, and how a value crosses the pipe, as an ``array``.
    """

    input: Callable[[dict[str, Any]], Any]
    call_op: Callable[[list[Any], dict[str, Any]], Any]
    tensor: Callable[[Any, str], Any]
    array: Callable[[Any, str], Any]

    def __init__(self, tf: Any, config: Any, call: dict[str, Any]) -> None:
        self.tf, self.config, self.call = tf, config, call
        self.feed: dict[Any, Any] = {}
        self.setup: list[
            tuple[Any, dict[Any, Any]]
        ] = []  # targets that give variables their values, and what they are fed
        self.flat: list[Any] = []
        self.refs: list[Any] = []

    def attribute(self, value: Any) -> Any:
        """An attribute from its description."""
        if not isinstance(value, dict):
            return value
        ((kind, content),) = value.items()
        if kind == "type":
            return self.tf.as_dtype(content)
        if kind == "types":
            return [self.tf.as_dtype(name) for name in content]
        if kind == "shape":
            return self.tf.TensorShape(content)
        if kind == "shapes":
            return [self.tf.TensorShape(shape) for shape in content]
        if kind == "tensor":
            return self.tensor(content["value"], content["dtype"])
        raise ValueError(f"unknown kind of attribute {kind!r}")

    def build(self) -> Any:
        grouped = [[self.input(i) for i in x] if isinstance(x, list) else self.input(x) for x in self.call["inputs"]]
        made = self.call_op(grouped, {name: self.attribute(value) for name, value in self.call["attrs"].items()})
        return made if isinstance(made, self.tf.Operation) else self.tf.get_default_graph().get_operations()[-1]

    def static(self, node: Any) -> list[Any]:
        return [None if t.shape.rank is None else t.shape.as_list() for t in node.outputs]

    def run_node(self, session: Any, node: Any) -> tuple[list[Any], list[Any]]:
        """The outputs that have values, and these."""
        for target, feed in self.setup:
            session.run(target, feed)
        plain = [t for t in node.outputs if t.dtype.base_dtype not in (self.tf.resource, self.tf.variant)]
        return plain, session.run(plain or node, self.feed) or []

    def run(self) -> dict[str, Any]:
        """The result of the call."""
        with self.tf.Graph().as_default() as graph, self.tf.Session(graph=graph, config=self.config) as session:
            node = self.build()
            found: dict[str, Any] = {"static": self.static(node)}
            plain, values = self.run_node(session, node)
            found["outputs"] = [self._out(t, v) for t, v in zip(plain, values, strict=True)]
            if self.refs:
                found["state"] = [self._out(t, v) for t, v in zip(self.refs, session.run(self.refs), strict=True)]
            elif self.call.get("gradient", True):
                found["gradients"] = self._gradients(session, plain, values)
            return found

    def _out(self, tensor: Any, value: Any) -> dict[str, Any]:
        dtype = tensor.dtype.base_dtype.name
        return {"dtype": dtype, "value": self.array(value, dtype)}

    def _gradients(self, session: Any, outputs: list[Any], values: list[Any]) -> Any:
        """One entry per flat input: None, or the gradient; a text where there is none or it fails."""
        ys = [(t, v) for t, v in zip(outputs, values, strict=True) if t.dtype.name in DIFFERENTIABLE]
        xs = [t for t in self.flat if t.dtype.name in DIFFERENTIABLE and t in self.feed]
        if not ys or not xs:
            return []
        grads = [self.tf.constant(weights(np.shape(v), t.dtype.name), t.dtype) for t, v in ys]
        try:
            made = self.tf.gradients([t for t, _ in ys], xs, grads)
            dense = [None if g is None else self.tf.convert_to_tensor(g) for g in made]
            fetched = iter(session.run([g for g in dense if g is not None], self.feed))
        except Exception as e:
            return f"{type(e).__name__}: {e}"[:200]
        return [None if g is None else self._out(g, next(fetched)) for g in dense]
