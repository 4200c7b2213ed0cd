"""Trying compiled code that has left its compiler: it must do what it did there.

The code runs beside the compiler's own on the same invented inputs, and is used if results and inputs are the same afterwards.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import torch

from headrace.runtime.compiler.torch_door.launching import NeedsCompiler

LARGEST = 1 << 28  # bytes of inputs that may be invented on the CPU
NOISE = 1e-2  # of the largest value: on a GPU two runs of one kernel may add in different orders

Code = Callable[[list[Any]], Any]


class NotTried(Exception):
    """Perhaps it does the same: it refused the inputs that were invented for it."""


def see_same(compilers: Code, loose: Code, fakes: Sequence[Any], largest: int = LARGEST) -> None:
    """Raises NeedsCompiler if the two functions differ.  ``loose`` is called for the first time after the other has run."""
    if size(fakes) > largest:
        raise NeedsCompiler(f"its inputs take {size(fakes)} bytes, more than {largest}, too many for a try")
    for integer in (0, 1):  # 0 is no length, 1 may be no index
        try:
            if not _are_same(compilers, loose, fakes, integer):
                raise NeedsCompiler("by itself it does something else")
            return
        except (NeedsCompiler, torch.OutOfMemoryError):  # with other values too
            raise
        except Exception as e:  # noqa: BLE001 - a refused value (a matrix that has no inverse) says nothing
            refused = e
    raise NotTried(f"it refuses invented inputs: {type(refused).__name__}: {refused}") from refused


def size(fakes: Sequence[Any]) -> int:
    """How many bytes the inputs take."""
    return sum(f.numel() * f.element_size() for f in fakes)


def _are_same(one: Code, other: Code, fakes: Sequence[Any], integer: int) -> bool:
    """Whether the two give the same results and leave the same values in their inputs."""
    first, second = ([_invented(f, i, integer) for i, f in enumerate(fakes)] for _ in range(2))
    torch.manual_seed(integer)
    expected = list(one(list(first)))
    torch.manual_seed(integer)  # the same random numbers
    results = list(other(list(second)))
    if len(results) != len(expected):
        return False
    for a, b in zip([*expected, *first], [*results, *second], strict=True):
        if not isinstance(b, torch.Tensor) or a.shape != b.shape or a.dtype != b.dtype or a.stride() != b.stride():
            return False
        if not _same(torch.nan_to_num(a), torch.nan_to_num(b)):
            return False
    return True


def _same(a: Any, b: Any) -> bool:
    if a.device.type == "cpu" or not a.dtype.is_floating_point or not a.numel():
        return torch.equal(a, b)
    return bool((a - b).abs().max() <= NOISE * a.abs().max())


def _invented(fake: Any, seed: int, integer: int = 0) -> Any:
    """Invented values; the same small number for all integers, which may be indices."""
    value = torch.empty_strided(fake.shape, fake.stride(), dtype=fake.dtype, device=fake.device)
    if not fake.dtype.is_floating_point:
        return value.fill_(integer)
    exact = torch.float64 if fake.device.type == "cpu" else torch.float32
    count = torch.arange(fake.numel(), dtype=exact, device=fake.device).reshape(fake.shape)
    return value.copy_(torch.sin(count * 0.7 + seed) * 0.5 + 0.6)
