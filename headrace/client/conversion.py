"""What users teach sessions: classes of their own that `Session.run` fetches and feeds as if they were tensors."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from headrace.core.source import at

Rebuild = Callable[[Sequence[Any]], Any]


class Conversion(NamedTuple):
    """How objects of a class are fetched: their parts and what puts their values together; how they are fed; what is fed."""

    fetched_type: type
    fetch: Callable[[Any], tuple[Sequence[Any], Rebuild]]
    feed: Callable[[Any, Any], Sequence[tuple[Any, Any]]] | None
    feed_keys: Callable[[Any], Sequence[Any]] | None


_conversions: list[Conversion] = []  # the last one registered first


def register_session_run_conversion_functions(
    tensor_type: type, fetch_function: Any, feed_function: Any = None, feed_function_for_partial_run: Any = None
) -> None:
    """Lets ``Session.run`` take objects of a class, which is not to be a kind of tensor, list, tuple or dict.

    ``fetch_function(object)`` gives a list of tensors and a function that makes the result of their values.
    ``feed_function(object, value)`` gives pairs of a tensor and its value; ``feed_function_for_partial_run(object)`` the tensors.
    """
    for conversion in _conversions:
        if issubclass(conversion.fetched_type, tensor_type):
            raise ValueError(f"{tensor_type} has already been registered so ignore it. {at()}")
    _conversions.insert(0, Conversion(tensor_type, fetch_function, feed_function, feed_function_for_partial_run))


def conversion_of(value: Any) -> Conversion | None:
    """What was registered for the class of the object; None if nothing was."""
    return next((c for c in _conversions if isinstance(value, c.fetched_type)), None)
