"""TensorFlow's generated functions, ``gen_nn_ops.max_pool_grad`` and the like: ``raw_ops`` by names in lower case.

TensorFlow 1 put an underscore before those it meant for itself (``_max_pool_grad``); programs use both forms.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

from headrace.core.registry import REGISTRY
from headrace.graph import raw_ops


@cache
def _by_plain_name(count: int) -> dict[str, str]:
    """Op types by their names without case; ``count``, of the ops there are, ends the life of the table."""
    return {d.name.lower(): d.name for d in REGISTRY if not d.name.startswith("_")}


def __getattr__(name: str) -> Callable[..., Any]:
    if name.startswith("__") or name != name.lower():
        raise AttributeError(name)
    op_type = _by_plain_name(len(list(REGISTRY))).get(name.replace("_", ""))
    if op_type is None:
        raise AttributeError(f"no op type is called {name!r}")
    return getattr(raw_ops, op_type)  # type: ignore[no-any-return]
