"""What became of an attempt to get an element, kept until somebody takes it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from headrace.core.errors import OpError, exception_type_from_error_code, from_python
from headrace.resources.calling.batch import Element
from headrace.resources.data.stage import State


class Outcome:
    """What became of an attempt to get an element: an element, the end, or an error."""

    __slots__ = ("element", "error")

    def __init__(self, element: Element | None = None, error: OpError | None = None) -> None:
        self.element, self.error = element, error

    @staticmethod
    def of(call: Callable[..., Element | None], *arguments: Any) -> Outcome:
        try:
            return Outcome(call(*arguments))
        except Exception as e:  # noqa: BLE001 - whoever takes the element raises it
            return Outcome(error=from_python(e))

    @property
    def is_end(self) -> bool:
        return self.error is None and self.element is None

    def get(self) -> Element | None:
        if self.error is not None:
            raise self.error
        return self.element

    def save(self) -> State:
        if self.error is not None:
            return {"code": self.error.error_code, "message": self.error.message}
        return None if self.element is None else list(self.element)

    @staticmethod
    def restored(state: State) -> Outcome:
        if isinstance(state, dict):
            error_class: Any = exception_type_from_error_code(state["code"])
            return Outcome(error=error_class(None, None, state["message"]))
        return Outcome(None if state is None else tuple(state))
