"""Kernels make integers of floating point by ``whole`` only, whose results no processor has a say in."""

import ast
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import torch
from ops.invalid import fetches, samples
from torch.utils._python_dispatch import TorchDispatchMode

import headrace as tf
from headrace.core.registry import REGISTRY
from headrace.library.testing.opcheck import build, flatten
from headrace.ops.shared import whole as module
from headrace.ops.shared.whole import whole

SAMPLES = samples()
HOLDER = Path(module.__file__)
KERNELS = HOLDER.parent.parent
MAKERS = ("empty", "full", "ones", "zeros", "new_", "rand")  # take only the shape of the tensor they are given
FREE = {"Cast": "the user asks for the cast; docs/differences.md says what comes of it"}
PARTS = 8


class Casts(TorchDispatchMode):
    """Notes where tensors of floating point become integers outside `ops/shared/whole.py`."""

    def __init__(self) -> None:
        super().__init__()
        self.places: set[str] = set()

    def __torch_dispatch__(self, function: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        if _casts(function, args, kwargs or {}):
            self.places.update(_caller())
        return function(*args, **(kwargs or {}))


def _casts(function: Any, args: Any, kwargs: dict[str, Any]) -> bool:
    """Whether the op writes numbers of floating point as integers: a copy from one to the other, or a result of another type."""
    name = function._schema.name.split("::")[1]
    if name == "copy_":
        return _is_integer(args[0].dtype) and args[1].is_floating_point()
    source = args[0] if args else None
    if not isinstance(source, torch.Tensor) or not source.is_floating_point() or name.startswith(MAKERS):
        return False
    return name != "view" and _is_integer(kwargs.get("dtype"))  # a view shows the same bits


def _is_integer(dtype: Any) -> bool:
    return dtype is not None and not (dtype.is_floating_point or dtype.is_complex or dtype is torch.bool)


def _caller() -> Iterator[str]:
    frame = sys._getframe(2)
    while frame.f_back is not None and "torch" in Path(frame.f_code.co_filename).parts:
        frame = frame.f_back
    path = Path(frame.f_code.co_filename)
    if path != HOLDER:
        yield f"{path.parent.name}/{path.name}:{frame.f_lineno}"


@pytest.mark.parametrize("part", range(PARTS))
def test_kernels_cast_by_one_function(part: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HEADRACE_PASSES_OFF", "arrays")  # tensors only
    found: dict[str, set[str]] = {}
    for name in list(SAMPLES)[part::PARTS]:
        op_def = REGISTRY.get(name)
        for sample in SAMPLES[name]:
            built = build(op_def, sample, flatten(op_def, sample))
            with built.session() as session, Casts() as casts:
                session.run(fetches(built), built.feed)
            if casts.places and name not in FREE:
                found.setdefault(name, set()).update(casts.places)
    assert not found, f"these cast floating point to integers; use headrace.ops.shared.whole: {found}"


WAYS = {
    "long": lambda floats, ints: floats.long(),
    "to a type": lambda floats, ints: floats.to(torch.uint8),
    "to a type, as a keyword": lambda floats, ints: floats.to(dtype=torch.int16),
    "to the type of another": lambda floats, ints: floats.to(ints),
    "type_as": lambda floats, ints: floats.type_as(ints),
    "as_tensor": lambda floats, ints: torch.as_tensor(floats, dtype=torch.int32),
    "a sum": lambda floats, ints: floats.sum(0, dtype=torch.int64),
    "a running sum": lambda floats, ints: torch.cumsum(floats, 0, dtype=torch.int64),
    "a copy": lambda floats, ints: ints.copy_(floats),
    "into a slice": lambda floats, ints: ints.__setitem__(slice(1), floats[:1]),
}


@pytest.mark.parametrize("way", WAYS)
def test_the_check_sees_casts(way: str) -> None:
    with Casts() as casts:
        WAYS[way](torch.ones(2), torch.ones(2, dtype=torch.int64))
    (place,) = casts.places
    assert place.startswith(f"shared/{Path(__file__).name}:")


def test_the_check_sees_casts_only() -> None:
    with Casts() as casts:
        floats, ints = torch.ones(2), torch.ones(2, dtype=torch.int32)
        floats.to(torch.float64), floats.bool(), ints.long(), ints.float(), floats.copy_(ints)
        floats.argmax(), floats.sort(), floats.view(torch.int32), torch.zeros_like(floats, dtype=torch.int64)
        whole(floats, 0, 1)
    assert not casts.places


# Casts of arrays to types that may be integers, by what is cast.
ARRAYS = {
    "integers": {
        "(grey >> 8).astype(np.uint8)",
        "(pixels >> 8).astype(np.uint8)",
        "array.astype(np.int64)",
        "array.astype(np.uint16)",
        "colours[at:at + step].astype(np.int64)",
        "grey.astype(np.uint16)",
        "np.where((pixels == transparent).all(-1, keepdims=True), 0, 65535).astype(np.uint16)",
        "pixels.astype('>u2')",
        "pixels.astype(np.uint16)",
        "result[at].astype(np.int16)",
    },
    "numbers that were brought into the range before": {
        "np.exp(self.random.random(count) * self.log_range).astype(np.int64)",
        "(picture[finite] * scale + picture.dtype.type(offset)).astype(np.uint8)",
        "rounded.clip(-32768, 32767).astype('<i2')",
    },
    "numbers of floating point if the type is one": {
        "np.array(values, np.float64 if dtype.kind == 'f' else dtype).astype(dtype, copy=False)",
    },
    "what the user casts": {"x.astype(DstT, copy=False)"},
}
FLOATS = {"np.float16", "np.float32", "np.float64", "'<f8'", "object", "bool", "np.bool_"}


def test_casts_of_arrays_are_known() -> None:
    found = {
        ast.unparse(call)
        for path in KERNELS.rglob("*.py")
        for call in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(call, ast.Call) and isinstance(call.func, ast.Attribute) and call.func.attr == "astype"
        if not call.args or ast.unparse(call.args[0]) not in FLOATS
    }
    assert found == set().union(*ARRAYS.values())


def test_whole() -> None:
    nan, inf = float("nan"), float("inf")
    numbers = torch.tensor([nan, inf, -inf, 1e30, -1e30, 2.7, -1.7, 0.0])
    assert whole(numbers, -5, 9).tolist() == [-5, 9, -5, 9, -5, 2, -1, 0]
    assert whole(numbers, -5, 9).dtype is torch.int64


@pytest.mark.parametrize("mode", ["off", "always"])
def test_compiled_as_interpreted(mode: str) -> None:
    x = tf.placeholder(tf.float32, [4])
    counts = tf.histogram_fixed_width(x, [0.0, 3.0], nbins=3)
    with tf.Session(config=tf.ConfigProto(compile=mode)) as session:
        assert session.run(counts, {x: [float("nan"), 0.5, 1.5, float("inf")]}).tolist() == [2, 1, 1]
