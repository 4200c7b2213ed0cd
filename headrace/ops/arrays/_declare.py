"""Registering array kernels for ops declared elsewhere."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import Any

import numpy as np

from headrace.core.dtypes import DType
from headrace.core.registry import MOST, REGISTRY, SAVES

FEW = 512  # elements, for functions that numpy computes one by one where torch computes several at once


def on_arrays(
    *names: str, most: int = MOST, saves: float = SAVES, **types: DType | Sequence[DType]
) -> Callable[[Any], Any]:
    """``@on_arrays("Sum")`` before a function, or ``on_arrays("Add", "AddV2")(np.add)``; see `OpDef.on_arrays`."""

    def register(function: Any) -> Any:
        for name in names:
            REGISTRY.get(name).on_arrays(function, most=most, saves=saves, strings=False, **types)
        return function

    return register


@lru_cache(maxsize=1024)
def constant(value: float, dtype: Any) -> Any:
    """A number as an array without axes, which ufuncs take in half the time that a Python number takes them."""
    return np.array(value, dtype)
