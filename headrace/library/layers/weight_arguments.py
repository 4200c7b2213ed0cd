"""The arguments that describe one weight of a layer: its initializer, regularizer and constraint.

A layer keeps them under the names of its constructor: ``kernel_initializer``, ``kernel_regularizer``, ``kernel_constraint``.
"""

from __future__ import annotations

from typing import Any

from headrace.library.layers import constraints, initializers, regularizers

_PARTS = {"initializer": initializers, "regularizer": regularizers, "constraint": constraints}


def keep_arguments(layer: Any, name: str, initializer: Any, regularizer: Any = None, constraint: Any = None) -> None:
    """Keeps what the weight ``name`` will be made with; strings and dicts become what they stand for."""
    setattr(layer, f"{name}_initializer", initializers.get(initializer))
    setattr(layer, f"{name}_regularizer", regularizers.get(regularizer))
    setattr(layer, f"{name}_constraint", constraints.get(constraint))


def make(layer: Any, name: str, shape: Any, dtype: Any = None, suffix: str = "") -> Any:
    """The trainable weight ``name + suffix`` of a layer, made with the arguments that were kept for ``name``."""
    parts = {part: getattr(layer, f"{name}_{part}") for part in _PARTS}
    return layer.add_weight(name=name + suffix, shape=shape, dtype=dtype, trainable=True, **parts)


def config(layer: Any, *names: str) -> dict[str, Any]:
    """The kept arguments as plain data."""
    return {
        f"{name}_{part}": module.serialize(getattr(layer, f"{name}_{part}"))
        for part, module in _PARTS.items()
        for name in names
    }
