"""``tf.test.StubOutForTesting``: attributes that a test replaces, and puts back afterwards."""

from __future__ import annotations

import inspect
from typing import Any


class StubOutForTesting:
    """Replaces attributes of modules, classes and objects until `CleanUp`, or the end of a ``with`` block.

    >>> import os
    >>> with tf.test.StubOutForTesting() as stubs:
    ...     stubs.Set(os, 'getcwd', lambda: '/nowhere')
    ...     os.getcwd()
    '/nowhere'
    """

    def __init__(self) -> None:
        self._smart: list[tuple[Any, str, Any]] = []
        self._plain: list[tuple[Any, str, Any]] = []

    def __enter__(self) -> StubOutForTesting:
        return self

    def __exit__(self, *error: Any) -> None:
        self.CleanUp()

    def __del__(self) -> None:
        self.CleanUp()

    def Set(self, parent: Any, child_name: str, new_child: Any) -> None:
        """Replaces an attribute of a module, a class or one object."""
        self._plain.append((parent, child_name, _stored(parent, child_name)))
        setattr(parent, child_name, new_child)

    def SmartSet(self, obj: Any, attr_name: str, new_attr: Any) -> None:
        """Replaces an attribute where it is defined: for an object, in its class."""
        owner = obj
        if not inspect.ismodule(obj) and attr_name not in vars(obj):
            family = inspect.getmro(obj if inspect.isclass(obj) else type(obj))
            owner = next((c for c in family if attr_name in vars(c)), None)
            if owner is None:
                raise AttributeError(f"Attribute not found: {attr_name} of {obj!r}")
        self._smart.append((owner, attr_name, _stored(owner, attr_name)))
        setattr(owner, attr_name, new_attr)

    def CleanUp(self) -> None:
        """Puts everything back."""
        self.SmartUnsetAll()
        self.UnsetAll()

    def SmartUnsetAll(self) -> None:
        """Puts back what `SmartSet` replaced."""
        _restore(self._smart)

    def UnsetAll(self) -> None:
        """Puts back what `Set` replaced."""
        _restore(self._plain)


def _stored(parent: Any, name: str) -> Any:
    """The attribute; a staticmethod or classmethod as it is stored, not as it is called."""
    value = getattr(parent, name)
    attribute = vars(parent).get(name) if hasattr(parent, "__dict__") else None
    return attribute if isinstance(attribute, (staticmethod, classmethod)) else value


def _restore(replaced: list[tuple[Any, str, Any]]) -> None:
    while replaced:
        setattr(*replaced.pop())
