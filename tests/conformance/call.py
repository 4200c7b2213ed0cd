"""One call of an op, as data; running it with Headrace; comparing what came out with what TensorFlow gave.

A call is a dict: ``op``; ``inputs``, one entry per argument of the signature (a list of entries for a list argument), each
``{"dtype", "value", "ref"?, "host"?}``; ``attrs``, where types, shapes and tensors are wrapped so that JSON can say what they
are; ``gradient``, whether to differentiate; ``known``, whether static shapes are known.

A result is a dict: ``{"error", "message"}``, or ``outputs`` (dtype and value each), ``static`` shapes, and either ``state`` (the
variables afterwards) or ``gradients`` of the sum of the weighted outputs, one per differentiable input.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from conformance.wire import CallRun

import headrace as tf
from headrace.core.dtypes import DType
from headrace.core.registry import REGISTRY, OpDef
from headrace.core.shape import TensorShape
from headrace.graph.build import call as build
from headrace.graph.constant import make_array
from headrace.graph.convert import make_constant
from headrace.library.testing.opcheck import Sample, Slot, flatten

Call = dict[str, Any]
Result = dict[str, Any]


class NotData(Exception):
    """A sample whose inputs are made by functions (handles of tables, queues) cannot be written down."""


# ---- calls


def from_sample(name: str, sample: Sample) -> Call:
    """The sample as a call."""
    op_def = REGISTRY.get(name)
    return from_slots(op_def, sample, flatten(op_def, sample))


def from_slots(op_def: OpDef, sample: Sample, slots: Sequence[Slot]) -> Call:
    """The sample as a call, with other flat inputs than its own."""
    rest = iter(slots)
    inputs: list[Any] = []
    for arg, value in zip(op_def.signature.inputs, sample.inputs, strict=True):
        entries = []
        for _ in value if arg.is_list else [value]:
            slot = next(rest)
            if slot.made:
                raise NotData(f"{arg.name} is made by a function")
            entries.append(entry(slot.value, slot.dtype.name, ref=arg.ref, host=arg.host))
        inputs.append(entries if arg.is_list else entries[0])
    if any(callable(v) and not isinstance(v, type) for v in sample.attrs.values()):
        raise NotData("an attribute is a function")
    attrs = {key: describe(op_def, key, value) for key, value in sample.attrs.items() if key != "name"}
    return {"op": op_def.name, "inputs": inputs, "attrs": attrs}


def entry(value: Any, dtype: str, ref: bool = False, host: bool = False) -> dict[str, Any]:
    """One input."""
    found = {"dtype": dtype, "value": None if value is None else _bare(value)}
    return {**found, **({"ref": True} if ref else {}), **({"host": True} if host else {})}


def _bare(value: Any) -> Any:
    array = np.asarray(value)
    return array.view(array.dtype[0]) if array.dtype.names else array  # quantized types are structured


def describe(op_def: OpDef, name: str, value: Any) -> Any:
    """An attribute in the form that crosses the pipe."""
    declared = next((a for a in (*op_def.signature.attrs, *op_def.signature.inferred) if a.name == name), None)
    kind = declared.kind if declared else ""
    if kind == "type":
        return {"type": tf.as_dtype(value).name}
    if kind == "list(type)":
        return {"types": [tf.as_dtype(v).name for v in value]}
    if kind == "shape":
        return {"shape": _dims(value)}
    if kind == "list(shape)":
        return {"shapes": [_dims(v) for v in value]}
    if kind == "tensor":
        array = make_array(value)
        return {"tensor": {"dtype": _name(array), "value": array}}
    if isinstance(value, (DType, type)):
        return {"type": tf.as_dtype(value).name}
    if isinstance(value, np.generic):
        return value.item()
    return [describe(op_def, "", v) for v in value] if isinstance(value, (list, tuple)) else value


def _dims(shape: Any) -> Any:
    found = TensorShape(shape)
    return None if found.ndims is None else found.as_list()


def _name(array: Any) -> str:
    return "string" if array.dtype.kind in "OSU" else tf.as_dtype(array.dtype).name


# ---- running


class _Run(CallRun):
    def input(self, item: dict[str, Any]) -> Any:
        dtype = tf.as_dtype(item["dtype"])
        value = item["value"]
        if value is not None and dtype.is_quantized:
            value = value.view(dtype.as_numpy_dtype)
        if item.get("ref"):
            made = build(
                REGISTRY.get("VariableV2"), (), {"shape": None if value is None else value.shape, "dtype": dtype}
            )
            self.refs.append(made)
            if value is not None:
                start = make_constant(value, dtype, "start")
                self.setup.append((build(REGISTRY.get("Assign"), (made, start), {}).op, {}))
        elif item.get("host"):
            made = make_constant(value, dtype, "host")
        else:
            made = tf.placeholder(dtype, value.shape if self.call.get("known", True) else None)
            self.feed[made] = value.copy()
        self.flat.append(made)
        return made

    def call_op(self, inputs: list[Any], attrs: dict[str, Any]) -> Any:
        return build(REGISTRY.get(self.call["op"]), inputs, attrs)

    def tensor(self, value: Any, dtype: str) -> Any:
        return make_array(value, tf.as_dtype(dtype))

    def array(self, value: Any, dtype: str) -> Any:
        return np.asarray(value, dtype=object) if dtype == "string" else _bare(value)


def run(call: Call) -> Result:
    """What Headrace makes of a call."""
    try:
        return _Run(tf, tf.ConfigProto(compile="off"), call).run()
    except Exception as e:
        return {"error": type(e).__name__, "message": str(e)[:300]}


# ---- comparing

TOLERANCE = {"float16": 1e-2, "bfloat16": 4e-2, "float32": 1e-4, "complex64": 1e-4, "float64": 1e-7, "complex128": 1e-7}


def precision(call: Call) -> float:
    """The tolerance that the least precise of the inputs asks for."""
    flat = [item for x in call["inputs"] for item in (x if isinstance(x, list) else [x])]
    return max((TOLERANCE.get(item["dtype"], 0.0) for item in flat), default=0.0)


def blank(result: Result) -> Result:
    """A result without the values and gradients, which are drawn at random: dtypes and shapes stay."""
    if "outputs" not in result:
        return result
    outputs = [{**o, "value": np.zeros(o["value"].shape, np.int8)} for o in result["outputs"]]
    return {**{k: v for k, v in result.items() if k not in ("gradients", "state")}, "outputs": outputs}


def compare(ours: Result, theirs: Result, *, rtol: float = 0.0, gradient: bool = True) -> list[str]:
    """What differs, in words that begin with the kind of difference; empty if nothing does."""
    if "crash" in theirs:
        return []  # TensorFlow's process ended, which says nothing
    if "error" in theirs:
        if "error" in ours or theirs.get("unsupported"):
            return []  # it may run here where TensorFlow has no kernel
        return [f"error: TensorFlow raises {theirs['error']}: {theirs['message']}; here it runs"]
    if "error" in ours:
        return [f"error: raises {ours['error']}: {ours['message']}; TensorFlow runs"]
    found = _static_problems(ours["static"], theirs["static"])
    for what in ("outputs", "state"):
        mine, real = ours.get(what, []), theirs.get(what, [])
        if len(mine) != len(real):
            found.append(f"{what}: {len(mine)} of them; TensorFlow gives {len(real)}")
            continue
        found += [
            p
            for i, (a, b) in enumerate(zip(mine, real, strict=True))
            for p in _value_problems(f"{what} {i}", a, b, rtol)
        ]
    if gradient:
        rtol = max([rtol, *(TOLERANCE.get(o["dtype"], 0.0) for o in theirs["outputs"])])
        found += _gradient_problems(ours.get("gradients", []), theirs.get("gradients", []), rtol)
    return found


def _static_problems(ours: Any, theirs: Any) -> list[str]:
    found = []
    for i, (a, b) in enumerate(zip(ours, theirs, strict=False)):
        mine, real = TensorShape(a), TensorShape(b)
        if not mine.is_compatible_with(real):
            found.append(f"static: output {i} is inferred as {mine}; TensorFlow says {real}")
        elif real.is_fully_defined() and not mine.is_fully_defined():
            found.append(f"static: output {i} is only known as {mine}; TensorFlow says {real}")
    return found


def _gradient_problems(ours: Any, theirs: Any, rtol: float) -> list[str]:
    if isinstance(theirs, str):
        return []  # TensorFlow has no gradient here; ours may
    if isinstance(ours, str):
        return [f"gradient: fails with {ours}"] if any(g is not None for g in theirs) else []
    found = []
    for i, (a, b) in enumerate(zip(ours, theirs, strict=True)):
        if b is None and a is not None and np.any(a["value"]):
            found.append(f"gradient {i}: TensorFlow has none; here it is {_short(a['value'])}")
        elif b is not None and a is None:
            if np.any(b["value"]):
                found.append(f"gradient {i}: none; TensorFlow's is {_short(b['value'])}")
        elif a is not None and b is not None:
            found += _value_problems(f"gradient {i}", a, b, rtol)
    return found


def _value_problems(what: str, ours: dict[str, Any], theirs: dict[str, Any], rtol: float) -> list[str]:
    if ours["dtype"] != theirs["dtype"]:
        return [f"{what}: dtype {ours['dtype']}; TensorFlow's is {theirs['dtype']}"]
    mine, real = ours["value"], theirs["value"]
    if mine.shape != real.shape:
        return [f"{what}: shape {list(mine.shape)}; TensorFlow's is {list(real.shape)}"]
    if same(mine, real, max(rtol, TOLERANCE.get(theirs["dtype"], 0.0))):
        return []
    return [f"{what}: {_short(mine)}; TensorFlow's is {_short(real)}"]


def same(mine: np.ndarray, real: np.ndarray, rtol: float) -> bool:
    """Whether two arrays agree to rounding: relative to each value, and a tenth of that to the largest."""
    if real.dtype.kind not in "fc":
        return bool(np.array_equal(mine, real))
    if real.dtype.kind == "c":
        return same(mine.real, real.real, rtol) and same(mine.imag, real.imag, rtol)
    mine, real = mine.astype(np.float64), real.astype(np.float64)
    finite = np.abs(real[np.isfinite(real)])
    scale = float(finite.max()) if finite.size else 0.0
    return bool(np.allclose(mine, real, rtol=rtol, atol=rtol * min(max(scale, 1e-2), 1e6) * 0.1, equal_nan=True))


def _short(value: np.ndarray) -> str:
    text = " ".join(np.array2string(value, precision=6, separator=",", threshold=40).split())
    return text if len(text) <= 150 else text[:147] + "..."
