"""Values of variables in a session, set without adding ops to its graph: the initial value of a variable is fed."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np


def as_value(variable: Any, value: Any) -> Any:
    """The value as an array of the variable's type."""
    return np.asarray(value, dtype=variable.dtype.base_dtype.as_numpy_dtype)


def load_values(session: Any, pairs: Sequence[tuple[Any, Any]]) -> None:
    """Sets variables to arrays in a session; a variable with copies on several devices, all of them."""
    every = [pair for x, value in pairs for pair in getattr(x, "_values_of_copies", lambda v, x=x: [(x, v)])(value)]
    steps: list[dict[Any, Any]] = [{}]  # initial value -> new value; variables that share one take a step each
    for x, value in every:
        if x.initializer.inputs[1] in steps[-1]:
            steps.append({})
        steps[-1][x.initializer.inputs[1]] = value
    done = 0
    for feeds in steps:
        session.run([x.initializer for x, _ in every[done : done + len(feeds)]], feeds)
        done += len(feeds)
