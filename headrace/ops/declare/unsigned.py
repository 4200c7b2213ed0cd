"""uint16, uint32 and uint64: torch stores them, but few of its functions take them.

Ops that only move or compare elements (or add them modulo 2^n) run on the signed dtype of the same width instead.  Order and
quotients of uint64 are computed from its bits, held as int64.
"""

from __future__ import annotations

from typing import Any

import torch

from headrace.core import dtypes
from headrace.core.registry import OpDef

WIDE = (dtypes.uint16, dtypes.uint32, dtypes.uint64)
_SIGNED = {torch.uint16: torch.int16, torch.uint32: torch.int32, torch.uint64: torch.int64}
_HIGHEST = torch.iinfo(torch.int64).min  # the highest bit: with it turned, int64 has the order of uint64
_UNSIGNED = {v: k for k, v in _SIGNED.items()}


def _as_signed(value: Any) -> Any:
    if isinstance(value, torch.Tensor) and value.dtype in _SIGNED:
        return value.view(_SIGNED[value.dtype])
    if isinstance(value, list):
        return [_as_signed(v) for v in value]
    return value


def _as_unsigned(value: Any) -> Any:
    return [_as_unsigned(v) for v in value] if isinstance(value, (list, tuple)) else value.view(_UNSIGNED[value.dtype])


def move_as_signed(op_def: OpDef, attr: str = "T") -> None:
    """Adds a kernel for the wide unsigned dtypes to an op whose general kernel is already declared."""
    general = next(k.call for k in op_def.kernels.by_device if k.device is None and not k.types)
    outputs = [out.type_attr == attr for out in op_def.signature.outputs]

    def moved(*arguments: Any) -> Any:
        result = general(*[_as_signed(a) for a in arguments])
        if len(outputs) == 1:
            return _as_unsigned(result) if outputs[0] else result
        return tuple(_as_unsigned(r) if mine else r for r, mine in zip(result, outputs, strict=True))

    types: dict[str, Any] = {attr: WIDE}
    op_def.kernel(moved, **types)


def in_order(compare: Any) -> Any:
    """A comparison of int64 as one of the bits of uint64."""
    return lambda x, y: compare(x ^ _HIGHEST, y ^ _HIGHEST)


def chosen_in_order(choose: Any) -> Any:
    """A choice between numbers by their order (the larger, say), for the bits of uint64."""
    return lambda x, y: choose(x ^ _HIGHEST, y ^ _HIGHEST) ^ _HIGHEST


def quotient(x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
    """x // y of the bits of uint64."""
    reaches = in_order(torch.ge)
    halved = (x >> 1) & ~_HIGHEST
    doubled = torch.div(halved, y, rounding_mode="trunc") << 1
    whole = doubled + reaches(x - doubled * y, y)
    return torch.where(y < 0, reaches(x, y).to(torch.int64), whole)  # y of 2**63 and more goes in once at most


def remainder(x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
    """x % y of the bits of uint64."""
    return x - quotient(x, y) * y
