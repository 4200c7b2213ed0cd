"""Python functions by name: how a function of a module is found in another process.  Nothing executable travels."""

from __future__ import annotations

import importlib
import sys
from functools import reduce
from typing import Any


def name_of(function: Any) -> tuple[str, str] | None:
    """The module and the name by which another process finds the very same object; None where it would not."""
    module = getattr(function, "__module__", None)
    name = getattr(function, "__qualname__", None) or getattr(function, "__name__", None)
    if not isinstance(module, str) or not isinstance(name, str) or module == "__main__":
        return None
    try:
        found = reduce(getattr, name.split("."), sys.modules[module])
    except (AttributeError, KeyError):
        return None
    return (module, name) if found is function else None


def named(module: str, name: str) -> Any:
    """The object; its module is imported."""
    return reduce(getattr, name.split("."), importlib.import_module(module))
