"""Python generators and iterables as sources: what they give is checked and becomes values of the declared types."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

from headrace.core.errors import InvalidArgumentError
from headrace.graph.constant import make_array
from headrace.library.data import nest


def starter(
    generator: Callable[..., Any], spec: Any, called: str = "`generator`"
) -> Callable[..., Iterator[tuple[Any, ...]]]:
    """What starts the generator, with the values of its arguments, as an iterator of elements."""
    flat = nest.flatten(spec)
    plain = _plain(spec) if type(spec) is tuple and len(spec) == len(flat) else None

    def converted(returned: Any) -> tuple[Any, ...]:
        element = None if plain is None else plain(returned)
        if element is not None:
            return element
        try:
            leaves = nest.flatten_up_to(spec, returned)
        except (TypeError, ValueError):
            raise InvalidArgumentError(
                None, None,
                f"{called} yielded an element that did not match the expected structure. The expected structure was "
                f"{nest.map_structure(lambda s: s.dtype, spec)}, but the yielded element was {returned!r}.",
            ) from None  # fmt: skip
        return tuple([_converted(leaf, one, returned, called) for leaf, one in zip(leaves, flat, strict=True)])

    def start(*values: Any) -> Iterator[tuple[Any, ...]]:
        return map(converted, generator(*values))  # which goes on after an element that is refused

    return start


def _plain(spec: Sequence[Any]) -> Callable[[Any], tuple[Any, ...] | None]:
    """What takes a tuple of values that need no more than a look, and gives None for anything else."""
    expected = []
    for one in spec:
        dtype = np.dtype(one.dtype.as_numpy_dtype)
        number = {"i": int, "f": float}.get(dtype.kind) if dtype.itemsize >= 4 else None
        expected.append((dtype, dtype.type, one.shape.tuple, number))

    def take(returned: Any) -> tuple[Any, ...] | None:
        if type(returned) is not tuple or len(returned) != len(expected):
            return None
        element = []
        for leaf, (dtype, make, shape, number) in zip(returned, expected, strict=True):
            python_type = type(leaf)
            if python_type is np.ndarray and leaf.dtype == dtype and leaf.shape == shape:
                element.append(leaf.copy())
            elif python_type is number and shape == () and (number is float or -1 << 31 <= leaf < 1 << 31):
                element.append(make(leaf))
            else:
                return None
        return tuple(element)

    return take


def _converted(leaf: Any, spec: Any, returned: Any, called: str) -> Any:
    try:
        array = make_array(leaf, spec.dtype)
    except (TypeError, ValueError):
        raise InvalidArgumentError(
            None, None,
            f"{called} yielded an element that could not be converted to the expected type. The expected type was "
            f"{spec.dtype.name}, but the yielded element was {returned!r}.",
        ) from None  # fmt: skip
    if not spec.shape.is_compatible_with(array.shape):
        raise InvalidArgumentError(
            None, None,
            f"{called} yielded an element of shape {array.shape} where an element of shape {spec.shape} was expected.",
        )  # fmt: skip
    return array if array.base is None and array is not leaf else array.copy()  # the program may use its memory again
