"""Ops that leave the graph: Python functions, printing, the clock; and numbers as text."""

from __future__ import annotations

import base64
import binascii
import logging
import math
import sys
import threading
import time

import numpy as np
import torch

from headrace.core import errors
from headrace.core.dtypes import ANY, REAL, DType, complex64, complex128, string
from headrace.core.dtypes import bool as bool_
from headrace.core.registry import op
from headrace.graph import raw_ops
from headrace.ops.shared.string_array import array_of, each, listed
from headrace.ops.shared.summarise import summarise, summarise_ends, to_array
from headrace.resources.calling.dispatch import autograd
from headrace.resources.calling.value import FROM_TORCH, from_numpy

# ---- Python functions

_SIGNATURE = "(input: list(Tin); token: string, Tout: list(type), func: any = None) -> (output: list(Tout))"
_TF_NAMES = {"float32": "float", "float64": "double", "float16": "half"}


def _argument(value):
    """An array that the function may keep and change; a scalar becomes a numpy scalar, a string becomes bytes."""
    array = to_array(value)
    return array.copy() if array.ndim else array[()]


def _tf_name(dtype) -> str:
    name = dtype.name if isinstance(dtype, DType) else FROM_TORCH[dtype].name
    return _TF_NAMES.get(name, name)


def _result(value, expected, position, token):
    """What the function returned, as a run-time value.  It must have the dtype that was promised: nothing is cast."""
    array = np.asarray(value)
    if array.dtype.kind == "U":
        array = np.vectorize(str.encode, otypes=[object])(array) if array.size else array.astype(object)
    elif array.dtype.kind == "S":
        array = array.astype(object) if isinstance(value, np.ndarray) else np.array(value, dtype=object)
    if array.dtype == object:
        items = [v.encode() if isinstance(v, str) else v for v in array.reshape(-1).tolist()]
        if not all(isinstance(v, bytes) for v in items):
            raise errors.UnimplementedError(None, None, f"Unsupported object type {type(value).__name__}")
        dtype, result = string, np.array([*items, None], dtype=object)[:-1].reshape(array.shape)
    else:
        result = from_numpy(np.array(array, order="C"))
        dtype = result.dtype
        if expected is torch.bfloat16 and dtype is torch.float32:
            return result.to(expected)
    if dtype is not expected:
        raise errors.InvalidArgumentError(
            None, None,
            f"{position}-th value returned by {token} is {_tf_name(dtype)}, but expects {_tf_name(expected)}",
        )  # fmt: skip
    return result


def _call(input, token, Tout, func):
    if func is None:
        raise errors.FailedPreconditionError(None, None, f"{token} has no Python function in this process")
    try:
        with autograd():
            returned = func(*[_argument(value) for value in input])
    except Exception as error:
        raise errors.from_python(error) from error
    values = list(returned) if isinstance(returned, (list, tuple)) else [] if returned is None else [returned]
    if len(values) != len(Tout):
        raise errors.InvalidArgumentError(
            None, None, f"{token} returns {len(values)} values, but expects to see {len(Tout)} values."
        )
    return [_result(v, dtype, i, token) for i, (v, dtype) in enumerate(zip(values, Tout, strict=True))]


def _unknown_shapes(input, token, Tout, func):
    return [None] * len(Tout)


py_func = op(f"PyFunc{_SIGNATURE}", Tin=ANY, Tout=ANY, stateful=True, host=True, blocking=True)
py_func.not_differentiable()
py_func.shape(_unknown_shapes)
py_func.kernel(_call)

py_func_stateless = op(f"PyFuncStateless{_SIGNATURE}", Tin=ANY, Tout=ANY, host=True, opaque=True, dynamic_shape=True)
py_func_stateless.not_differentiable()
py_func_stateless.shape(_unknown_shapes)
py_func_stateless.kernel(_call)

# A Python function of eager tensors: ``func.backward`` makes the function of its gradient.
eager_py_func = op(
    "EagerPyFunc(input: list(Tin); token: string, Tout: list(type), is_async: bool = False, func: any = None) "
    "-> (output: list(Tout))",
    Tin=ANY, Tout=ANY, stateful=True, host=True, blocking=True,
)  # fmt: skip
eager_py_func.shape(lambda input, token, Tout, is_async, func: [None] * len(Tout))
eager_py_func.kernel(lambda input, token, Tout, is_async, func: _call(input, token, Tout, func))


@eager_py_func.gradient
def _(node, *grads):
    differentiable = [i for i, t in enumerate(node.inputs) if t.dtype.is_floating or t.dtype.is_complex]
    if not differentiable:
        return [None] * len(node.inputs)
    flowing = [g for g, t in zip(grads, node.outputs, strict=True) if t.dtype.is_floating or t.dtype.is_complex]
    backward = node.attrs["func"].backward(len(node.inputs), differentiable, [t.dtype for t in node.outputs])
    input_grads = raw_ops.EagerPyFunc(
        [*node.inputs, *node.outputs, *flowing], token=f"{node.attrs['token']}_grad", func=backward,
        Tout=[node.inputs[i].dtype.base_dtype for i in differentiable],
    )  # fmt: skip
    for i, g in zip(differentiable, input_grads, strict=True):
        g.set_shape(node.inputs[i].shape)
    every = dict(zip(differentiable, input_grads, strict=True))
    return [every.get(i) for i in range(len(node.inputs))]


# ---- printing

show = op(
    'Print(input: T, data: list(U); message: string = "", first_n: int = -1, summarize: int = 3) -> (output: T)',
    T=ANY, U=ANY, stateful=True, view=True, opaque=True,
)  # fmt: skip
show.shape(lambda input, data, message, first_n, summarize: input)
show.gradient(lambda node, grad: [grad] + [None] * (len(node.inputs) - 1))


class Countdown:
    """How often something may still happen; negative means forever.  Thread-safe."""

    def __init__(self, left: int) -> None:
        self._left = left
        self._lock = threading.Lock()

    def take(self) -> bool:
        if self._left < 0:
            return True
        with self._lock:
            if not self._left:
                return False
            self._left -= 1
            return True


show.state(lambda context: Countdown(context.attrs["first_n"]))


@show.kernel
def _(input, data, message, first_n, summarize, *, state):
    if state is None or state.take():
        text = "".join(f"[{summarise(value, summarize)}]" for value in data)
        sys.stderr.write(f"{message}{text}\n")
        sys.stderr.flush()
    return input


_LEVELS = {
    "log(info)": logging.INFO, "log(warning)": logging.WARNING, "log(error)": logging.ERROR,
}  # fmt: skip

print_v2 = op(
    'PrintV2(input: string; output_stream: string = "stderr", end: string = "\\n") -> ()', stateful=True, host=True
)


@print_v2.shape
def _(input, output_stream, end):
    if output_stream not in ("stdout", "stderr", *_LEVELS) and not output_stream.startswith("file://"):
        accepted = ", ".join(("stdout", "stderr", *_LEVELS))
        raise ValueError(f"Unknown output stream: {output_stream}, must be file://<path> or one of: {accepted}")
    if input.ndims:
        raise ValueError(f"input must be a scalar, but has rank: {input.ndims}")
    return []


@print_v2.kernel
def _(input, output_stream, end):
    if input.ndim:
        raise errors.InvalidArgumentError(None, None, f"Input is expected to be scalar, but got {list(input.shape)}")
    text = input[()].decode("utf-8", "replace")
    if output_stream in _LEVELS:
        logging.getLogger("headrace").log(_LEVELS[output_stream], "%s", text)
    elif output_stream.startswith("file://"):
        with open(output_stream[len("file://") :], "a", encoding="utf-8") as file:
            file.write(text + end)
    else:
        stream = sys.stdout if output_stream == "stdout" else sys.stderr
        stream.write(text + end)
        stream.flush()


string_format = op(
    'StringFormat(inputs: list(T); template: string = "%s", placeholder: string = "%s", summarize: int = 3)'
    " -> (output: string)",
    T=ANY, host=True,
)  # fmt: skip


@string_format.shape
def _(inputs, template, placeholder, summarize):
    count = template.count(placeholder)
    if count != len(inputs):
        raise ValueError(f"num placeholders in template and num inputs must match: {count} vs. {len(inputs)}")
    return ()


@string_format.kernel
def _(inputs, template, placeholder, summarize):
    parts = template.split(placeholder)
    shown = [summarise_ends(value, summarize) for value in inputs]
    text = parts[0] + "".join(s + p for s, p in zip(shown, parts[1:], strict=True))
    return _text(text)


def _text(value: str):
    scalar = np.empty((), dtype=object)
    scalar[()] = value.encode("utf-8", "surrogateescape")
    return scalar


# ---- the clock

timestamp = op("Timestamp() -> (ts: float64[0])", stateful=True, host=True)
timestamp.not_differentiable()
timestamp.kernel(lambda: torch.tensor(time.time(), dtype=torch.float64))

# ---- numbers and bytes as text

as_string = op(
    "AsString(input: T; precision: int = -1, scientific: bool = False, shortest: bool = False, width: int = -1,"
    ' fill: string = "") -> (output: string)',
    T=(*REAL, bool_, complex64, complex128, string), host=True,
)  # fmt: skip
as_string.shape(lambda input, precision, scientific, shortest, width, fill: input)


@as_string.kernel
def _(input, precision, scientific, shortest, width, fill):
    array = to_array(input)
    show = _formatter(array.dtype, precision, scientific, shortest, width, fill)
    items = array.reshape(-1).tolist()
    if isinstance(show, bytes):  # one form for all, filled in with one call
        texts = (show + b"\n") * len(items) % tuple(items)
        return array_of(texts.split(b"\n")[:-1], array.shape)
    return array_of(list(map(show, items)), array.shape)


def _formatter(dtype, precision, scientific, shortest, width, fill):
    """A function that formats one value, or one form that suits all values."""
    if scientific and shortest:
        raise ValueError("Cannot select both scientific and shortest notation")
    if len(fill) > 1:
        raise ValueError(f"Fill string must be one or fewer characters, got {fill!r}")
    if fill and fill not in " +-0#":
        raise ValueError(f"Fill argument not supported: {fill!r}")
    if dtype.kind not in "fcO":
        if scientific or shortest:
            raise ValueError(f"scientific and shortest format not supported for datatype {dtype.name}")
        if precision > -1:
            raise ValueError(f"precision not supported for datatype {dtype.name}, got {precision}")
    if dtype.kind == "O":
        return lambda value: value
    if dtype.kind == "b":
        return lambda value: b"true" if value else b"false"
    size = str(width) if width > -1 else ""
    if dtype.kind in "iu":
        return f"%{fill}{size}d".encode()
    digits = f".{precision}" if precision > -1 else ""
    form = f"%{fill}{size}{digits}{'e' if scientific else 'g' if shortest else 'f'}"
    blank = form.replace("%0", "%", 1) if fill == "0" else form  # C pads what is not finite with blanks

    def number(value):
        return (form if math.isfinite(value) else blank) % value

    if dtype.kind == "c":
        return lambda value: f"({number(value.real)},{number(value.imag)})".encode()
    return form.encode() if form == blank else lambda value: number(value).encode()


_URL_SAFE = bytes.maketrans(b"+/", b"-_")


def _decode(value):
    bare = value.rstrip(b"=")
    if len(bare) % 4 == 1:
        raise errors.InvalidArgumentError(None, None, f"Base64 string length cannot be 1 modulo 4: {value!r}")
    try:
        return base64.b64decode(bare + b"=" * (-len(bare) % 4), b"-_", validate=True)
    except ValueError:
        raise errors.InvalidArgumentError(None, None, f"Invalid character found in base64: {value!r}") from None


encode_base64 = op("EncodeBase64(input: string; pad: bool = False) -> (output: string)", host=True)
encode_base64.shape(lambda input, pad: input)


@encode_base64.kernel
def _(input, pad):
    lines = b"".join(map(binascii.b2a_base64, listed(input)))  # each with a line end
    return array_of(lines.translate(_URL_SAFE, b"" if pad else b"=").split(b"\n")[:-1], input.shape)


decode_base64 = op("DecodeBase64(input: string) -> (output: string)", host=True)
decode_base64.shape(lambda input: input)
decode_base64.kernel(each(_decode))
