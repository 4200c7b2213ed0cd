"""What random calls are made of: shapes, values, dtypes and choices, drawn through hypothesis.

`Draw` is handed to the functions of `families/`, which turn what they draw into calls.  Values come from a drawn seed, so that
large arrays cost one draw.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypeVar

import numpy as np
from conformance.call import Call, describe, entry
from hypothesis import strategies as st

from headrace.core import dtypes
from headrace.core.registry import REGISTRY

Value = TypeVar("Value")
SIZES = (1, 2, 3, 4, 1, 2, 3, 5, 0)
SPECIAL = (np.nan, np.inf, -np.inf, 0.0, -0.0, 1e30, -1e30, 1e-30, 0.5, -0.5, 1.0, -1.0, 2.0)
FLOATS = ("float32", "float64", "float16")
INTS = ("int32", "int64", "int8", "uint8")
NUMBERS = (*FLOATS, *INTS)


class Tensor:
    """An input: an array and TensorFlow's name of its dtype (which numpy may not know)."""

    def __init__(self, array: Any, dtype: str = "") -> None:
        self.array = np.asarray(array)
        name = "string" if self.array.dtype.kind in "OSU" else self.array.dtype.name
        self.dtype = dtype or name

    @property
    def shape(self) -> tuple[int, ...]:
        return self.array.shape


class Draw:
    """One example in the making.  ``special`` is set when it holds values no gradient should be compared at."""

    def __init__(self, data: Any) -> None:
        self._data = data
        self.special = False

    def int(self, low: int, high: int) -> int:
        return int(self._data.draw(st.integers(low, high)))

    def bool(self) -> bool:
        return bool(self._data.draw(st.booleans()))

    def rarely(self) -> bool:
        return self.int(0, 7) == 7

    def choice(self, options: Sequence[Value]) -> Value:
        return options[self.int(0, len(options) - 1)]

    def float(self) -> float:
        return float(self.choice((0.0, 1.0, 0.5, -0.25, 2.0, 1e-3)))

    # ---- shapes

    def size(self) -> int:
        return self.choice(SIZES)

    def shape(self, low: int = 0, high: int = 3) -> tuple[int, ...]:
        return tuple(self.size() for _ in range(self.int(low, high)))

    def solid(self, low: int = 0, high: int = 3, most: int = 4) -> tuple[int, ...]:
        """A shape without zeros."""
        return tuple(self.int(1, most) for _ in range(self.int(low, high)))

    def broadcast(self, count: int = 2) -> list[tuple[int, ...]]:
        """Shapes that broadcast together; seldom ones that do not."""
        full = self.shape()
        found = []
        for _ in range(count):
            kept = full[self.int(0, len(full)) if self.bool() else 0 :]
            found.append(tuple(1 if self.int(0, 3) == 0 else n for n in kept))
        if self.rarely():
            found[-1] = self.shape()
        return found

    def axis(self, rank: int, outside: bool = True) -> int:
        """An axis, negative or not; seldom one too far."""
        if rank == 0 or (outside and self.rarely() and self.rarely()):
            return self.choice((rank, -rank - 1))
        return self.int(-rank, rank - 1)

    def axes(self, rank: int) -> list[int]:
        chosen = [a for a in range(rank) if self.bool()]
        return [a - rank if self.bool() else a for a in chosen]

    # ---- values

    def dtype(self, op: str, attr: str = "T", but: Sequence[str] = ()) -> str:
        """One of the dtypes Headrace allows."""
        allowed = [d.name for d in REGISTRY.get(op).signature.allowed.get(attr, ()) if d.name not in but]
        allowed = [d for d in allowed if not d.startswith("q") and d not in ("resource", "variant")]
        common = [d for d in allowed if d in NUMBERS]
        return self.choice(common) if common and self.bool() else self.choice(allowed or ["float32"])

    def values(self, shape: Sequence[int], dtype: str = "float32", kind: str = "any") -> Tensor:
        """An array.  ``kind``: any (with special values and extremes now and then), plain, unit (in (-1, 1)), positive, small."""
        random = np.random.RandomState(self.int(0, 2**16))
        size = tuple(shape)
        special = kind == "any" and dtype not in ("string", "bool") and self.int(0, 3) == 0
        self.special = self.special or special
        if dtype == "string":
            return Tensor(self._strings(random, size))
        if dtype == "bool":
            return Tensor(random.rand(*size) < 0.5)
        kinds = dtypes.as_dtype(dtype)
        if kinds.is_integer:
            return Tensor(self._integers(random, size, np.dtype(dtype), kind, special))
        real = self._reals(random, size, kind, special)
        if kinds.is_complex:
            real = real + 1j * self._reals(random, size, kind, False)
        with np.errstate(over="ignore"):
            array = real.astype(np.float32 if dtype == "bfloat16" else dtype)
        return Tensor(array, dtype)

    def _reals(self, random: Any, size: tuple[int, ...], kind: str, special: bool) -> Any:
        if special:
            return random.choice(SPECIAL, size)
        if kind == "unit":
            return random.uniform(-0.9, 0.9, size)
        if kind == "positive":
            return random.uniform(0.2, 3.0, size)
        if kind == "grid" or (kind == "any" and self.int(0, 2) == 0):
            return random.randint(-4, 5, size) / 2  # ties, zeros, halves
        return random.standard_normal(size) * 2

    def _integers(self, random: Any, size: tuple[int, ...], dtype: Any, kind: str, special: bool) -> Any:
        info = np.iinfo(dtype)
        if special:
            return random.choice(np.array([info.min, info.max, 0, 1, info.max - 1, info.max // 2], dtype), size)
        if kind == "positive":
            return random.randint(1, 10, size).astype(dtype)
        return random.randint(0 if info.min == 0 else -6, 10, size).astype(dtype)

    def _strings(self, random: Any, size: tuple[int, ...]) -> Any:
        words = [
            b"",
            b"a",
            b"Hello world",
            b"x,y,,z",
            b"  pad ",
            b"\xc3\xa9t\xc3\xa9",
            b"12",
            b"-3.5e2",
            b"a b  c",
            b"\x00\xff",
        ]
        found = np.empty(size, object)
        for index in np.ndindex(*size):
            found[index] = words[random.randint(len(words))]
        return found

    def ints(self, values: Any, dtype: str = "") -> Tensor:
        """Integers for an index or a shape, int32 or int64."""
        return Tensor(np.array(values, dtype or self.choice(("int32", "int64"))))

    def indices(self, count: int, shape: Sequence[int], dtype: str = "") -> Tensor:
        """Numbers below ``count``; seldom one too large."""
        random = np.random.RandomState(self.int(0, 2**16))
        found = random.randint(0, max(count, 1), tuple(shape))
        if self.rarely() and found.size:
            found.reshape(-1)[0] = self.choice((count, -1))
        return self.ints(found, dtype)

    # ---- calls

    def call(self, op: str, *inputs: Any, gradient: bool = True, **attrs: Any) -> Call:
        """The call: arrays or Tensors (or lists of them) in signature order, then attributes."""
        definition = REGISTRY.get(op)
        found = []
        for arg, given in zip(definition.signature.inputs, inputs, strict=True):
            items = given if arg.is_list else [given]
            items = [x if isinstance(x, Tensor) else Tensor(x) for x in items]
            made = [entry(x.array, x.dtype, ref=arg.ref, host=arg.host) for x in items]
            found.append(made if arg.is_list else made[0])
        described = {name: describe(definition, name, value) for name, value in attrs.items()}
        return {
            "op": op,
            "inputs": found,
            "attrs": described,
            "gradient": gradient and not self.special,
            "extremes": self.special,
        }
