"""Python functions in graphs by token: what a GraphDef can say of a ``py_func``.  A token is good in the process that made it."""

from __future__ import annotations

import threading
import weakref
from collections.abc import Callable
from typing import Any

_functions: weakref.WeakValueDictionary[str, Any] = weakref.WeakValueDictionary()
_lock = threading.Lock()


def token_of(function: Callable[..., Any]) -> str:
    with _lock:
        for token, known in _functions.items():
            if known is function:
                return token
        token = f"pyfunc_{len(_functions)}_{id(function):x}"
        _functions[token] = function
        return token


def function_of(token: str) -> Callable[..., Any]:
    found: Callable[..., Any] | None = _functions.get(token)
    if found is None:
        raise ValueError(
            f"callback {token} is not found: a Python function (tf.py_func) is not part of a GraphDef and is known only in the "
            "process that wrote it, as long as it lives there"
        )
    return found
