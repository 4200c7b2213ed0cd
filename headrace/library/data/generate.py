"""Python generators and iterables as sources: what they give is checked and becomes values of the declared types."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from headrace.core.errors import InvalidArgumentError
from headrace.graph.constant import make_array
from headrace.library.data import nest


def starter(
    generator: Callable[..., Any], spec: Any, called: str = "`generator`"
) -> Callable[..., Iterator[tuple[Any, ...]]]:
    """What starts the generator, with the values of its arguments, as an iterator of elements."""
    flat = nest.flatten(spec)

    def start(*values: Any) -> Iterator[tuple[Any, ...]]:
        for returned in iter(generator(*values)):
            try:
                leaves = nest.flatten_up_to(spec, returned)
            except (TypeError, ValueError):
                raise InvalidArgumentError(
                    None, None,
                    f"{called} yielded an element that did not match the expected structure. The expected structure was "
                    f"{nest.map_structure(lambda s: s.dtype, spec)}, but the yielded element was {returned!r}.",
                ) from None  # fmt: skip
            yield tuple([_converted(leaf, one, returned, called) for leaf, one in zip(leaves, flat, strict=True)])

    return start


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
    return array
