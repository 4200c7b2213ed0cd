"""What public modules do with names that they lack: they answer as the shim for ``import tensorflow`` does.

The answers are in `headrace.tensorflow`, which is loaded when the first name is missing.
"""

from __future__ import annotations

import sys
from importlib import import_module
from types import ModuleType
from typing import Any


class Face(ModuleType):
    """A public module.  A public module that is imported below one becomes one too, however it is imported."""

    def __getattr__(self, name: str) -> Any:
        if name == "__path__":  # as if a package, so that ``headrace.contrib.layers.python...`` is asked of `Door`
            return []
        if name.startswith("_"):
            raise AttributeError(f"module {self.__name__!r} has no attribute {name!r}")
        raise import_module("headrace.tensorflow.finder").missing_here(self, name)

    def __setattr__(self, name: str, value: Any) -> None:
        super().__setattr__(name, value)
        below = type(value) is ModuleType and value.__name__ == f"{self.__name__}.{name}"
        if below and name not in vars(self).get("_PARTS", ()):
            make_face(value)


def make_face(module: ModuleType) -> None:
    """Makes a public module, and those below it, answer for names that they lack."""
    module.__class__ = Face
    for name, value in list(vars(module).items()):
        if type(value) is ModuleType:
            setattr(module, name, value)


class Door:
    """The last of the import system's finders: modules of TensorFlow's that have no file here, and what is said of the rest."""

    def find_spec(self, fullname: str, path: Any = None, target: Any = None) -> Any:
        """The spec of ``headrace.python.ops...``; ModuleNotFoundError with an answer for a public name."""
        if not fullname.startswith("headrace.") or fullname.startswith("headrace.tensorflow"):
            return None
        return import_module("headrace.tensorflow.finder").find_here(fullname)


def open_face(name: str) -> None:
    """Makes the package ``name``, which is being imported, the top of the public modules."""
    make_face(sys.modules[name])
    sys.meta_path.append(Door())
