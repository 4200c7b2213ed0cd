"""The components of a queue's elements: their types, shapes and names as users give them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from headrace.core.dtypes import DType, as_dtype
from headrace.core.shape import TensorShape
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
    if partial and (not isinstance(shapes, list) or any(s is None for s in shapes)):
        raise ValueError(
            "When providing partial shapes, a list of shapes must be provided, and each must have a known rank; got "
            f"{shapes!r} {at()}"
        )
    if shapes is None:
        return None
    several = shapes if isinstance(shapes, (list, tuple)) and any(map(_is_shape, shapes)) else [shapes]
    result = [TensorShape(s) for s in several]
    if len(result) != len(dtypes):
        raise ValueError(
            f"Queue shapes must have the same length as dtypes, received len(shapes)={len(result)}, "
            f"len(dtypes)={len(dtypes)} {at()}"
        )
    if not partial and not all(s.is_fully_defined() for s in result):
        raise ValueError(f"All shapes must be fully defined: {result} {at()}")
    return result


def _is_shape(value: Any) -> bool:
    return isinstance(value, (list, tuple, TensorShape)) or value is None


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
