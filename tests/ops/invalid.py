"""Invalid calls of every op that has samples: each sample with one input or attribute spoilt.

Deterministic.  A spoilt call may still be valid.  Each is made in two forms: ``static``, where everything is known while the
graph is built, and ``late``, where nothing is known until it runs.
"""

from __future__ import annotations

import importlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from headrace.client.session import Session
from headrace.core import dtypes
from headrace.core.dtypes import DType
from headrace.core.registry import REGISTRY, OpDef
from headrace.core.shape import TensorShape
from headrace.core.signature import Attr
from headrace.library.testing.opcheck import Built, Sample, Slot, build, flatten

SAMPLE_FILES = Path(__file__).parent.parent / "samples"
BIG = 1000
FORMS = ("static", "late")


def samples() -> dict[str, list[Sample]]:
    """The samples of every op that users can build, can run by itself and does not wait."""
    by_op: dict[str, list[Sample]] = {}
    for path in sorted(SAMPLE_FILES.glob("*.py")):
        if path.stem != "__init__":
            for name, listed in importlib.import_module(f"samples.{path.stem}").SAMPLES.items():
                by_op.setdefault(name, []).extend(s for s in listed if s.error is None)
    return {
        name: by_op[name]
        for name in sorted(by_op)
        if by_op[name] and not name.startswith("_") and not REGISTRY.get(name).traits.waits
    }


@dataclass(frozen=True)
class Fault:
    """One thing done to a sample: to the flat input ``slot`` or, where that is -1, to its attributes."""

    what: str
    form: str
    sample: Sample
    slots: Sequence[Slot]
    slot: int = -1

    def __str__(self) -> str:
        return self.what


@dataclass(frozen=True)
class Spoilt:
    """One call with a fault: what was done to it, and in which phase it raised what, if it did."""

    op: str
    fault: str
    phase: str
    error: Exception | None
    form: str = "late"


def spoilt_arrays(array: np.ndarray[Any, Any]) -> Iterator[tuple[str, np.ndarray[Any, Any]]]:
    """The array with another rank, with other sizes, empty, and with values out of range."""
    yield "one dimension more", array[np.newaxis]
    if array.ndim:
        nothing = b"" if array.dtype == object else 0
        yield "a scalar", array.reshape(-1)[:1].reshape([]) if array.size else np.full([], nothing, array.dtype)
        yield "flat", array.reshape(-1)
        yield "no rows", array[:0]
        yield "one row less", array[:-1]
        yield "one row more", np.concatenate([array, array[:1]])
        yield "one column more", np.concatenate([array, array[..., :1]], axis=-1)
        yield "no columns", array[..., :0]
    if array.dtype.kind in "iu" and array.size:
        for value in (-7, -1, 0, 7, BIG):
            if value >= 0 or array.dtype.kind == "i":
                for place in sorted({0, array.size - 1}):
                    other = array.copy().reshape(-1)
                    other[place] = min(value, np.iinfo(array.dtype).max)
                    yield f"{value} at {place}", other.reshape(array.shape)
    if array.dtype.kind == "f" and array.size:
        yield "nan", np.full_like(array, np.nan)
        yield "negative", -np.abs(array) - 1
        yield "zeros", np.zeros_like(array)
    if array.dtype == object and array.size:
        yield "no text", np.full_like(array, b"")
        yield "other text", np.full_like(array, b"\xff?[{")


def other_dtypes(slot: Slot) -> Iterator[tuple[DType, np.ndarray[Any, Any]]]:
    """The input with dtypes that it does not have: text, floats, integers, truth values."""
    shape = np.shape(slot.value)
    for dtype in (dtypes.string, dtypes.float32, dtypes.int32, dtypes.bool):
        if dtype != slot.dtype:
            fill: Any = b"text" if dtype == dtypes.string else 1
            yield dtype, np.full(shape, fill, object if dtype == dtypes.string else dtype.as_numpy_dtype)


def spoilt_attrs(attr: Attr, value: Any) -> Iterator[Any]:
    """Values of the attribute's kind that make little sense."""
    kind = attr.kind.removeprefix("list(").removesuffix(")")
    single: dict[str, list[Any]] = {
        "int": [-1, 0, BIG], "float": [-1.0, float("nan")], "string": ["nonsense"],
        "type": [dtypes.int32, dtypes.string, dtypes.complex64], "shape": [TensorShape([7]), TensorShape(None)],
    }  # fmt: skip
    others = single.get(kind, [])
    if not attr.is_list:
        yield from others
        return
    listed = list(value) if isinstance(value, (list, tuple)) else []
    yield []
    yield [*listed, *others[:1]]
    if listed:
        for other in others[:2]:
            yield [other, *listed[1:]]
            yield [*listed[:-1], other]


# ---- faults


def faults(op_def: OpDef, sample: Sample) -> list[Fault]:
    """Every fault of a sample: of its inputs in both forms, of their dtypes, of its attributes in both forms."""
    slots = flatten(op_def, sample)
    listed = [
        Fault(f"input {i}: {what}", form, sample, _replaced(slots, i, Slot(slot.arg, array, slot.dtype)), i)
        for form in FORMS
        for i, slot in _data(slots)
        for what, array in spoilt_arrays(np.asarray(slot.value))
    ]
    listed += [
        Fault(f"input {i}: {dtype.name}", "static", sample, _replaced(slots, i, Slot(slot.arg, array, dtype)), i)
        for i, slot in _data(slots)
        for dtype, array in other_dtypes(slot)
    ]
    for attr in op_def.signature.attrs:
        if attr.name in ("container", "shared_name"):
            continue
        for other in spoilt_attrs(attr, sample.attrs.get(attr.name, attr.default)):
            changed = replace(sample, attrs={**sample.attrs, attr.name: other})
            listed += [Fault(f"{attr.name}={_text(other)}", form, changed, slots) for form in FORMS]
    return listed


def _data(slots: Sequence[Slot]) -> Iterator[tuple[int, Slot]]:
    for i, slot in enumerate(slots):
        if not slot.made and slot.value is not None:
            yield i, slot


def _replaced(slots: Sequence[Slot], i: int, slot: Slot) -> list[Slot]:
    return [*slots[:i], slot, *slots[i + 1 :]]


def _text(value: Any) -> str:
    if isinstance(value, list):
        return "[" + ", ".join(map(_text, value)) + "]"
    return value.name if isinstance(value, DType) else str(value)


# ---- calls


def attempts(op_def: OpDef, sample: Sample) -> Iterator[Spoilt]:
    """Calls the op with every fault."""
    late = _Late(op_def, sample)
    with late.session:
        for fault in faults(op_def, sample):
            if fault.form == "static":
                yield _built(op_def, fault)
            elif fault.slot < 0:
                yield _run(op_def, fault)
            else:
                yield late.attempt(fault)


def _built(op_def: OpDef, fault: Fault) -> Spoilt:
    error = None
    try:
        build(op_def, fault.sample, list(fault.slots), constant=True)
    except Exception as e:  # noqa: BLE001 - whatever it is, the caller looks at it
        error = e
    return Spoilt(op_def.name, fault.what, "building", error, fault.form)


def _run(op_def: OpDef, fault: Fault) -> Spoilt:
    error, phase = None, "building"
    try:
        built = _open(op_def, fault.sample, list(fault.slots))
        phase = "running"
        with built.session() as session:
            session.run(fetches(built), built.feed)
    except Exception as e:  # noqa: BLE001 - whatever it is, the caller looks at it
        error = e
    return Spoilt(op_def.name, fault.what, phase, error, fault.form)


class _Late:
    """The op with placeholders of unknown rank for all its inputs, and one session for all its faults."""

    def __init__(self, op_def: OpDef, sample: Sample) -> None:
        self._op_def = op_def
        self._built = _open(op_def, sample, flatten(op_def, sample))
        self._fetches = fetches(self._built)
        self.session: Session = self._built.session()

    def attempt(self, fault: Fault) -> Spoilt:
        placeholder = self._built.inputs[fault.slot]
        if placeholder not in self._built.feed:
            return _run(self._op_def, fault)  # a reference: its variable has another value
        error = None
        try:
            self.session.run(self._fetches, {**self._built.feed, placeholder: fault.slots[fault.slot].value})
        except Exception as e:  # noqa: BLE001 - whatever it is, the caller looks at it
            error = e
        return Spoilt(self._op_def.name, fault.what, "running", error, fault.form)


def _open(op_def: OpDef, sample: Sample, slots: list[Slot]) -> Built:
    return build(op_def, sample, slots, shapes=[TensorShape(None)] * len(slots), hosts=False)


def fetches(built: Built) -> Any:
    """What to run of a node: its values, or the node where it has none."""
    outputs = [t for t in built.node.outputs if t.dtype.base_dtype not in (dtypes.resource, dtypes.variant)]
    return outputs or built.node
