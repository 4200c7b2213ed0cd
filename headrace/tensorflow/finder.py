"""The import system's part: modules named ``tensorflow...`` whose names are Headrace's."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Iterable, Sequence
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec, PathFinder
from types import ModuleType
from typing import Any

import headrace
from headrace.tensorflow.gap import Missing, missing_name, public
from headrace.tensorflow.keras_names import MODULES, VERSION, keras_places
from headrace.tensorflow.names import KNOWN, places

ROOT = "tensorflow"


class Module(ModuleType):
    """A TensorFlow module: every name in it is that of one of its places in Headrace, looked up when first used.

    A module of Headrace is given as the TensorFlow module of the same place, so that whatever is missing, however deep,
    is reported under TensorFlow's name.
    """

    def __init__(self, name: str, targets: Sequence[Any]) -> None:
        super().__init__(name, f"TensorFlow's ``{name}``, by Headrace.")
        self.__dict__["_targets"] = tuple(targets)

    def __getattr__(self, name: str) -> Any:
        targets = self.__dict__["_targets"]
        for target in targets:
            value = _attribute(target, name)
            if value is not _missing:
                member = _renamed(self.__name__, name, value)
                self.__dict__[name] = member
                return member
        if f"{_below(self.__name__)}.{name}".lstrip(".") in KNOWN:  # a module below that nobody has imported yet
            return importlib.import_module(f"{self.__name__}.{name}")
        if name == "__all__":
            return [name for name in dir(self) if not name.startswith("_")]
        if name.startswith("__") or name in _OWN:
            raise AttributeError(f"module {self.__name__!r} has no attribute {name!r}")
        raise Missing(shown(self.__name__), name, targets)

    def __dir__(self) -> list[str]:
        return sorted({name for target in self.__dict__["_targets"] for name in public(target)} | _names(self.__dict__))


_missing = object()
_OWN = {"__spec__", "__loader__", "__path__", "__file__", "__package__", "__cached__", "__builtins__"}


def _attribute(target: Any, name: str) -> Any:
    if name in _OWN or (target is headrace and name in headrace._PARTS):
        return _missing
    return getattr(target, name, _missing)


def _names(names: Iterable[str]) -> set[str]:
    return {name for name in names if not name.startswith("_")}


def _renamed(parent: str, name: str, value: Any) -> Any:
    """A public module of Headrace as TensorFlow's; anything else as it is."""
    own = isinstance(value, ModuleType) and (value.__name__ + ".").startswith("headrace.")
    return importlib.import_module(f"{parent}.{name}") if own and places(_below(f"{parent}.{name}")) else value


def _below(full: str) -> str:
    return full.partition(".")[2]


def shown(module: str) -> str:
    """A module of TensorFlow's or of the face as users write it: ``tensorflow.compat.v1.nn`` -> ``tf.nn``."""
    return f"tf.{_below(module)}".rstrip(".").replace("tf.compat.v1", "tf")


def target(place: str) -> Any:
    """What is at a dotted place below ``headrace``; None if nothing is."""
    member: Any = headrace
    walked = "headrace"
    for part in place.split(".") if place else ():
        walked = f"{walked}.{part}"
        value = getattr(member, part, None)
        if value is None and PathFinder.find_spec(walked, getattr(member, "__path__", [])) is not None:
            value = importlib.import_module(walked)
        if value is None:
            return None
        member = value
    return member


def targets(full: str) -> list[Any] | None:
    """What a TensorFlow module stands for; None if Headrace has nothing of it."""
    where = places(_below(full))
    if where is None:
        return None
    values = [one for one in map(target, where) if one is not None]
    return values if values or not where else None


def missing_here(module: ModuleType, name: str) -> Missing:
    """The error for a name that a public module of Headrace lacks."""
    return Missing(shown(module.__name__), name, [headrace if module is headrace.compat.v1 else module])


def find_here(fullname: str) -> ModuleSpec | None:
    """``headrace.python.ops.array_ops`` and kin, which have no file; ModuleNotFoundError for what TensorFlow might have."""
    below = _below(fullname)
    if (below in KNOWN or ".python." in f".{below}.") and targets(fullname) is not None:
        return ModuleSpec(fullname, Finder(), origin="headrace", is_package=True)
    parent, _, name = fullname.rpartition(".")
    if name.startswith("_") or below.partition(".")[0] in headrace._PARTS:
        return None
    near = sys.modules.get(parent)
    raise ModuleNotFoundError(_no_module(fullname, getattr(near, "_targets", [near])))


def _no_module(fullname: str, near: Sequence[Any]) -> str:
    parent, _, name = fullname.rpartition(".")
    return f"No module named {fullname!r}: {missing_name(shown(parent), name, near)}"


class Finder(MetaPathFinder, Loader):
    """Finds and makes the modules.  Never lets an import of ``tensorflow...`` go on to an installed TensorFlow."""

    def find_spec(self, fullname: str, path: Any = None, target: Any = None) -> ModuleSpec | None:
        """The spec of a TensorFlow module; ModuleNotFoundError if Headrace has nothing of it."""
        if fullname != ROOT and not fullname.startswith(f"{ROOT}."):
            return None
        if targets(fullname) is None:
            module = sys.modules.get(fullname.rpartition(".")[0])
            # No `name`: with one, ``from tensorflow import nothing`` would drop this message for one that says less.
            raise ModuleNotFoundError(_no_module(fullname, getattr(module, "_targets", ())))
        return ModuleSpec(fullname, self, origin="headrace", is_package=True)

    def create_module(self, spec: ModuleSpec) -> ModuleType:
        """The module, with nothing in it yet."""
        return Module(spec.name, targets(spec.name) or [])

    def exec_module(self, module: ModuleType) -> None:
        """Nothing to run: names are looked up as they are used."""


class KerasFinder(Finder):
    """Finds and makes ``keras`` and the modules below it, as standalone Keras 2 had them."""

    root = "keras"

    def find_spec(self, fullname: str, path: Any = None, target: Any = None) -> ModuleSpec | None:
        """The spec of a module of Keras; ModuleNotFoundError if Headrace has nothing of it."""
        if fullname != self.root and not fullname.startswith(f"{self.root}."):
            return None
        if not self._targets(fullname):
            parent, _, name = fullname.rpartition(".")
            near = getattr(sys.modules.get(parent), "_targets", ())
            shown = f"tf.{parent}"
            raise ModuleNotFoundError(f"No module named {fullname!r}: {missing_name(shown, name, near)}")
        return ModuleSpec(fullname, self, origin="headrace", is_package=True)

    def _targets(self, fullname: str) -> list[Any]:
        return [one for one in map(target, keras_places(_below(fullname))) if one is not None]

    def create_module(self, spec: ModuleSpec) -> ModuleType:
        """The module, with nothing in it yet."""
        module = KerasModule(spec.name, self._targets(spec.name))
        if spec.name == self.root:
            module.__dict__["__version__"] = VERSION
        return module


class KerasModule(Module):
    """A module of standalone Keras: its names are those of tf.keras, in the places that Keras had for them."""

    def __getattr__(self, name: str) -> Any:
        below = f"{_below(self.__name__)}.{name}".lstrip(".")
        if below in MODULES or any(module.startswith(f"{below}.") for module in MODULES):
            return importlib.import_module(f"{self.__name__}.{name}")
        for one in self.__dict__["_targets"]:
            value = _attribute(one, name)
            if value is not _missing:
                own = isinstance(value, ModuleType) and value.__name__.startswith("headrace.keras.")
                self.__dict__[name] = importlib.import_module(f"{self.__name__}.{name}") if own else value
                return self.__dict__[name]
        if name == "__all__":
            return [name for name in dir(self) if not name.startswith("_")]
        if name.startswith("__") or name in _OWN:
            raise AttributeError(f"module {self.__name__!r} has no attribute {name!r}")
        raise Missing(f"tf.{self.__name__}", name, self.__dict__["_targets"])
