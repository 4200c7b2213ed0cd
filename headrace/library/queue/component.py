"""The components of a queue's elements: their types, shapes and names as users give them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from headrace.core.dtypes import DType, as_dtype
from headrace.core.shape import Dimension, TensorShape
from headrace.core.source import at


def dtype_list(dtypes: Any) -> list[DType]:
    """One dtype or several -> a list."""
    several = list(dtypes) if isinstance(dtypes, (list, tuple)) else [dtypes]
    if not several:
        raise ValueError(f"the elements of a queue need at least one type, got dtypes={dtypes!r} {at()}")
    try:
        return [as_dtype(d) for d in several]
    except TypeError as e:
        raise TypeError(f"Expected DataType for argument 'component_types' not {dtypes!r}. {e} {at()}") from None


def shape_list(shapes: Any, dtypes: Sequence[DType], partial: bool = False) -> list[TensorShape] | None:
    """The shape of each component; None where no shapes are given.  ``partial``: some sizes may be open, but not the ranks."""
    several = isinstance(shapes, (list, tuple))
    if partial and (not several or not shapes or any(s is None or _is_size(s) for s in shapes)):
        raise ValueError(
            f"When providing partial shapes, a list of shapes must be provided, one for each component; got {shapes!r} {at()}"
        )
    if shapes is None:
        return None
    if not several and not isinstance(shapes, TensorShape):
        raise TypeError(
            f"Shapes must be a TensorShape or a list or tuple of TensorShapes, got {type(shapes)} instead: {shapes!r} {at()}"
        )
    if not several or all(s is None or _is_size(s) for s in shapes):
        shapes = [shapes]
    result = [s if isinstance(s, TensorShape) else TensorShape(s) for s in shapes]
    if not partial and not all(s.is_fully_defined() for s in result):
        raise ValueError(f"All shapes must be fully defined: {result} {at()}")
    if any(s.rank is None for s in result):
        raise ValueError(f"All shapes must have a defined rank: {result} {at()}")
    if len(result) != len(dtypes):
        raise ValueError(
            (
                f"Shapes must be provided for all components, but received {len(dtypes)} dtypes and {len(result)} shapes"
                if partial
                else "Queue shapes must have the same length as dtypes, received "
                f"len(shapes)={len(result)}, len(dtypes)={len(dtypes)}"
            )
            + f": shapes={result} {at()}"
        )
    return result


def _is_size(value: Any) -> bool:
    """A number, so that the list around it is a shape and not a list of shapes."""
    return isinstance(value, (int, Dimension)) or (hasattr(value, "__index__") and not hasattr(value, "__len__"))


def name_list(names: Any, dtypes: Sequence[DType]) -> list[str] | None:
    """The name of each component; None where they have none."""
    if names is None:
        return None
    if isinstance(names, str):
        names = [names]
    if not isinstance(names, (list, tuple)):
        raise TypeError(f"Argument names must be a string, a list of strings, or None, got {names!r} {at()}")
    if len(names) != len(dtypes):
        raise ValueError(
            "List of names must have the same length as the list of dtypes, received "
            f"len(names)={len(names)},len(dtypes)={len(dtypes)} {at()}"
        )
    return list(names)
