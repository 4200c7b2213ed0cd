"""Optionals: an element that may be missing, as one value."""

from __future__ import annotations

from headrace.resources.calling.batch import Element, own


class OptionalValue:
    """An element, or None.  Immutable."""

    __slots__ = ("element",)

    def __init__(self, element: Element | None) -> None:
        self.element = element

    def clone(self) -> OptionalValue:
        """The same in memory of its own."""
        return OptionalValue(None if self.element is None else own(self.element))
