"""Kernels make integers of floating point by ``whole`` only, whose results no processor has a say in."""

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import torch
from ops.invalid import fetches, samples
from torch.overrides import TorchFunctionMode

import headrace as tf
from headrace.core.registry import REGISTRY
from headrace.library.testing.opcheck import build, flatten
from headrace.ops.shared import whole as module
from headrace.ops.shared.whole import whole

SAMPLES = samples()
HOLDER = Path(module.__file__).name
FREE = {"Cast": "the user asks for the cast; docs/differences.md says what comes of it"}
PARTS = 8


class Casts(TorchFunctionMode):
    """Notes where tensors of floating point become integers outside `ops/shared/whole.py`."""

    def __init__(self) -> None:
        super().__init__()
        self.places: set[str] = set()

    def __torch_function__(self, function: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        result = function(*args, **(kwargs or {}))
        source = args[0] if args else None
        if isinstance(source, torch.Tensor) and isinstance(result, torch.Tensor) and source.is_floating_point():
            if getattr(function, "__name__", "") in ("to", "type", "long", "int", "short", "char", "byte", "type_as"):
                if not result.is_floating_point() and result.dtype is not torch.bool and not result.is_complex():
                    self.places.update(_caller())
        return result


def _caller() -> Iterator[str]:
    frame = sys._getframe(2)
    while frame.f_back is not None and "torch" in Path(frame.f_code.co_filename).parts:
        frame = frame.f_back
    path = Path(frame.f_code.co_filename)
    if path.name != HOLDER:
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


def test_the_check_sees_casts() -> None:
    with Casts() as casts:
        torch.ones(2).long()
        torch.ones(2).to(torch.uint8)
        torch.ones(2).to(torch.float64)
        torch.ones(2, dtype=torch.int32).long()
        whole(torch.ones(2), 0, 1)
    assert len(casts.places) == 2


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
