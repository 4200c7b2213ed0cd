"""Python functions in graphs by token: what a GraphDef can say of a ``py_func``.  A token is good in the process that made it."""

from __future__ import annotations

import threading
import weakref
from collections.abc import Callable
from typing import Any

_functions: weakref.WeakValueDictionary[str, Any] = weakref.WeakValueDictionary()
_lock = threading.Lock()


def token_of(python_function: Callable[..., Any]) -> str:
    with _lock:
        for token, candidate in _functions.items():
            if candidate is python_function:
                return token
        token = f"pyfunc_{len(_functions)}_{id(python_function):x}"
        _functions[token] = python_function
        return token


def function_of(token: str) -> Callable[..., Any]:
    python_function: Callable[..., Any] | None = _functions.get(token)
    if python_function is None:
        raise ValueError(
            f"callback {token} is not found: a Python function (tf.py_func) is not part of a GraphDef and is known only in the "
            "process that wrote it, as long as it lives there"
        )
    return python_function
