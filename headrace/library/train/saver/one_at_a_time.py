"""One call of a method at a time for each object: a saver that several threads use writes one checkpoint after the other."""

from __future__ import annotations

import threading
from collections.abc import Callable
from functools import wraps
from typing import Any, TypeVar

_Method = TypeVar("_Method", bound=Callable[..., Any])

_creation = threading.Lock()


def one_at_a_time(method: _Method) -> _Method:
    """Lets a thread wait while another is in the method of the same object; the thread itself may call it again."""

    @wraps(method)
    def wrapper(self: Any, *args: Any, **kwargs: Any) -> Any:
        with _creation:
            lock = self.__dict__.setdefault("_one_at_a_time", threading.RLock())
        with lock:
            return method(self, *args, **kwargs)

    return wrapper  # type: ignore[return-value]
