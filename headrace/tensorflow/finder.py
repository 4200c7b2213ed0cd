"""The import system's part: modules named ``tensorflow...`` whose names are Headrace's."""

from __future__ import annotations

import difflib
import importlib
import sys
from collections.abc import Iterable, Iterator, Sequence
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec
from types import ModuleType
from typing import Any

import headrace
from headrace.tensorflow.names import places

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
        if name == "__all__":
            return [name for name in dir(self) if not name.startswith("_")]
        if name.startswith("__") or name in _OWN:
            raise AttributeError(f"module {self.__name__!r} has no attribute {name!r}")
        raise AttributeError(missing_name(_shown(self.__name__), name, targets), name=name, obj=self)

    def __dir__(self) -> list[str]:
        return sorted(
            {name for target in self.__dict__["_targets"] for name in _public(target)} | _names(self.__dict__)
        )


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


def _shown(module: str) -> str:
    return "tf" + module.removeprefix(ROOT).removeprefix(".compat.v1")


def missing_name(module: str, name: str, targets: Sequence[Any] = ()) -> str:
    """Says that Headrace lacks a TensorFlow name, and which of those it has come nearest."""
    near = [f"{module}.{one}" for target in targets for one in difflib.get_close_matches(name, _public(target), 3, 0.7)]
    elsewhere = [where for where, one in _everything() if one == name and where != f"{module}.{name}"]
    nearest = list(dict.fromkeys([*elsewhere, *near]))[:4]
    hint = f"; nearest: {', '.join(nearest)}" if nearest else ""
    return f"Headrace has no {module}.{name}{hint}"


def _public(target: Any) -> list[str]:
    names = _names(dir(target))
    return sorted(names - headrace._PARTS if target is headrace else names)


def _everything() -> Iterator[tuple[str, str]]:
    """Every public name: (where, last part)."""
    modules: list[tuple[str, Any]] = [("tf", headrace)]
    seen = {id(headrace), id(headrace.compat.v1)}
    for where, module in modules:
        for name in _public(module):
            value = getattr(module, name)
            yield f"{where}.{name}", name
            if isinstance(value, ModuleType) and value.__name__.startswith("headrace.") and id(value) not in seen:
                seen.add(id(value))
                modules.append((f"{where}.{name}", value))


def target(place: str) -> Any:
    """What is at a dotted place below ``headrace``; None if nothing is."""
    member: Any = headrace
    walked = "headrace"
    for part in place.split(".") if place else ():
        walked = f"{walked}.{part}"
        value = getattr(member, part, None)
        if value is None and isinstance(member, ModuleType):
            try:
                value = importlib.import_module(walked)
            except ModuleNotFoundError as error:
                if error.name != walked:
                    raise
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


class Finder(MetaPathFinder, Loader):
    """Finds and makes the modules.  Never lets an import of ``tensorflow...`` go on to an installed TensorFlow."""

    def find_spec(self, fullname: str, path: Any = None, target: Any = None) -> ModuleSpec | None:
        """The spec of a TensorFlow module; ModuleNotFoundError if Headrace has nothing of it."""
        if fullname != ROOT and not fullname.startswith(f"{ROOT}."):
            return None
        if targets(fullname) is None:
            parent, _, name = fullname.rpartition(".")
            module = sys.modules.get(parent)
            message = missing_name(_shown(parent), name, getattr(module, "_targets", ()))
            # No `name`: with one, ``from tensorflow import nothing`` would drop this message for one that says less.
            raise ModuleNotFoundError(f"No module named {fullname!r}: {message}")
        return ModuleSpec(fullname, self, origin="headrace", is_package=True)

    def create_module(self, spec: ModuleSpec) -> ModuleType:
        """The module, with nothing in it yet."""
        return Module(spec.name, targets(spec.name) or [])

    def exec_module(self, module: ModuleType) -> None:
        """Nothing to run: names are looked up as they are used."""
