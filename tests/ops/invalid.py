"""Invalid calls of every op that has samples: each sample with one input or attribute spoilt.

Deterministic.  A spoilt call may still be valid; what matters is the text of the error when it is not.
"""

from __future__ import annotations

import importlib
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from headrace.core import dtypes
from headrace.core.registry import REGISTRY, OpDef
from headrace.core.shape import TensorShape
from headrace.core.signature import Attr
from headrace.library.testing.opcheck import Built, Sample, Slot, build, flatten

SAMPLE_FILES = Path(__file__).parent.parent / "samples"
BIG = 1000


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
class Spoilt:
    """One call with a fault: what was done to it, and the exception, if it raised one."""

    op: str
    fault: str
    phase: str
    error: Exception | None


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
        for value in (-1, 0, 7, BIG):
            if value >= 0 or array.dtype.kind == "i":
                for place in {0, array.size - 1}:
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


def attempts(op_def: OpDef, sample: Sample) -> Iterator[Spoilt]:
    """Calls the op with every fault, with everything known while building and with nothing known until it runs."""
    slots = flatten(op_def, sample)
    yield from _while_building(op_def, sample, slots)
    yield from _while_running(op_def, sample, slots)
    for attr in op_def.signature.attrs:
        value = sample.attrs.get(attr.name, attr.default)
        if attr.name in ("container", "shared_name"):
            continue
        for other in spoilt_attrs(attr, value):
            changed = replace(sample, attrs={**sample.attrs, attr.name: other})
            yield _with_attrs(op_def, changed, f"{attr.name}={other!r}")


def _while_building(op_def: OpDef, sample: Sample, slots: list[Slot]) -> Iterator[Spoilt]:
    for i, what, changed in _spoilt_slots(slots):
        error = None
        try:
            build(op_def, sample, changed, constant=True)
        except Exception as e:  # noqa: BLE001 - whatever it is, the caller looks at it
            error = e
        yield Spoilt(op_def.name, f"input {i}: {what}", "building", error)


def _spoilt_slots(slots: list[Slot]) -> Iterator[tuple[int, str, list[Slot]]]:
    for i, slot in enumerate(slots):
        if slot.made or slot.value is None:
            continue
        for what, array in spoilt_arrays(np.asarray(slot.value)):
            changed = Slot(slot.arg, array, slot.dtype)
            yield i, what, [*slots[:i], changed, *slots[i + 1 :]]


def _while_running(op_def: OpDef, sample: Sample, slots: list[Slot]) -> Iterator[Spoilt]:
    built = _open(op_def, sample, slots)
    with built.session() as session:
        fetches = _fetches(built)
        for i, what, changed in _spoilt_slots(slots):
            if built.inputs[i] not in built.feed:
                continue
            error = None
            try:
                session.run(fetches, {**built.feed, built.inputs[i]: changed[i].value})
            except Exception as e:  # noqa: BLE001 - whatever it is, the caller looks at it
                error = e
            yield Spoilt(op_def.name, f"input {i}: {what}", "running", error)


def _with_attrs(op_def: OpDef, sample: Sample, fault: str) -> Spoilt:
    error = None
    try:
        built = _open(op_def, sample, flatten(op_def, sample))
        with built.session() as session:
            session.run(_fetches(built), built.feed)
    except Exception as e:  # noqa: BLE001 - whatever it is, the caller looks at it
        error = e
    return Spoilt(op_def.name, fault, "running", error)


def _open(op_def: OpDef, sample: Sample, slots: list[Slot]) -> Built:
    """The op with placeholders of unknown rank for all its inputs."""
    return build(op_def, sample, slots, shapes=[TensorShape(None)] * len(slots), hosts=False)


def _fetches(built: Built) -> Any:
    outputs = [t for t in built.node.outputs if t.dtype.base_dtype not in (dtypes.resource, dtypes.variant)]
    return outputs or built.node
