"""Which layers and variables the attributes of a layer hold, in the order in which they were set.

An attribute may be a layer, a variable, or lists, tuples and dictionaries of them, which may grow later: they are looked
into whenever somebody asks.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, ClassVar

from headrace.library.state.partitioned_variable import PartitionedVariable
from headrace.library.state.variable import Variable


class Tracked:
    """An object that knows the layers and variables in its attributes."""

    _OWN: ClassVar[frozenset[str]] = frozenset()  # attributes that hold the bookkeeping itself
    _tracked_attributes: dict[str, Any]
    _trainable_weights: list[Any]
    _non_trainable_weights: list[Any]

    def __setattr__(self, name: str, value: Any) -> None:
        if name not in self._OWN and "_tracked_attributes" in self.__dict__:
            if name in self._tracked_attributes:
                self._untrack(name)
            if not hasattr(getattr(type(self), name, None), "__set__"):  # a property decides for itself what it keeps
                self._track(name, value)
        try:
            object.__setattr__(self, name, value)
        except AttributeError:
            raise AttributeError(
                f"Can't set the attribute {name!r} of {type(self).__name__}: the class has a property of that name. Choose "
                "a different name."
            ) from None

    def __delattr__(self, name: str) -> None:
        if name in self.__dict__.get("_tracked_attributes", ()):
            self._untrack(name)
        object.__delattr__(self, name)

    def _track(self, name: str, value: Any) -> None:
        if isinstance(value, Variable):
            self._tracked_attributes[name] = value
            self._own_variable(value)
        elif has_weights(value) or isinstance(value, (list, dict)):
            self._tracked_attributes[name] = value
        elif isinstance(value, tuple) and next(members(value), None) is not None:
            self._tracked_attributes[name] = value

    def _untrack(self, name: str) -> None:
        value = self._tracked_attributes.pop(name)
        if isinstance(value, Variable) and not any(value is other for other in self._tracked_attributes.values()):
            for weights in (self._trainable_weights, self._non_trainable_weights):
                weights[:] = [weight for weight in weights if weight is not value]

    def _own_variable(self, variable: Any) -> None:
        """Adds a variable to the layer's own, once."""
        weights = self._trainable_weights if variable.trainable else self._non_trainable_weights
        every = (*self._trainable_weights, *self._non_trainable_weights)
        if not any(variable is weight for weight in every):
            weights.append(variable)

    def _held(self) -> Iterator[Any]:
        """The layers and variables in the attributes, but for variables that are attributes themselves."""
        for value in self.__dict__.get("_tracked_attributes", {}).values():
            if not isinstance(value, Variable):
                yield from members(value)

    def _sub_layers(self) -> list[Any]:
        """The layers in the attributes, each once."""
        return unique(value for value in self._held() if has_weights(value))

    def _checkpoint_children(self) -> Iterator[tuple[str, Any]]:
        """What the layer is in a checkpoint of objects: its attributes."""
        yield from self.__dict__.get("_tracked_attributes", {}).items()

    def _held_variables(self) -> list[Any]:
        """The variables in lists and dictionaries of the attributes."""
        return unique(value for value in self._held() if isinstance(value, Variable))


def has_weights(value: Any) -> bool:
    """Whether this is a layer, or something like one."""
    return hasattr(type(value), "trainable_weights") and hasattr(type(value), "non_trainable_weights")


def members(value: Any) -> Iterator[Any]:
    """The layers and variables in a structure."""
    if has_weights(value) or isinstance(value, Variable):
        yield value
    elif isinstance(value, dict):
        for item in value.values():
            yield from members(item)
    elif isinstance(value, (list, tuple)) and not isinstance(value, PartitionedVariable):
        for item in value:
            yield from members(item)


def unique(items: Iterable[Any]) -> list[Any]:
    """The items in their order, each object once."""
    return list({id(item): item for item in items}.values())
