"""tf.Module: an object that knows its variables and the modules in its attributes."""

from __future__ import annotations

import functools
import re
from collections.abc import Callable, Iterator
from typing import Any

from headrace.library.scope import name_scope
from headrace.library.state.variable import Variable


class Module:
    """Finds the variables and modules held by its attributes, in lists and dicts too, in the order of their names.

    Args:
      name: The module's name, a Python identifier; None for the name of its class in lower case, with underscores.

    >>> class Line(tf.Module):
    ...     def __init__(self):
    ...         super().__init__(name="line")
    ...         with self.name_scope:
    ...             self.w = tf.Variable(2.0, name="w")
    >>> [v.name for v in Line().variables]
    ['line/w:0']
    """

    def __init__(self, name: str | None = None) -> None:
        if name is None:
            name = re.sub(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])", "_", type(self).__name__).lower()
        if not re.fullmatch(r"[A-Za-z_]\w*", name):
            raise ValueError(f"{name!r} is not a valid module name. Module names must be valid Python identifiers.")
        self._name = name
        with name_scope(name) as scope:
            self._scope_name = scope

    @property
    def name(self) -> str:
        return self._name

    @property
    def name_scope(self) -> Any:
        """The scope of the module, to be entered as often as wanted."""
        return name_scope(self._scope_name)

    def _members(self) -> Iterator[Any]:
        """Variables and modules in the attributes, each once."""
        seen: set[int] = set()
        waiting = [value for key, value in sorted(vars(self).items()) if not key.startswith("_self_")]
        while waiting:
            value = waiting.pop(0)
            if isinstance(value, dict):
                waiting[:0] = [value[key] for key in sorted(value, key=str)]
            elif isinstance(value, (list, tuple)):
                waiting[:0] = list(value)
            elif isinstance(value, (Variable, Module)) and id(value) not in seen:
                seen.add(id(value))
                yield value

    def _checkpoint_children(self) -> Iterator[tuple[str, Any]]:
        """What the module is in a checkpoint of objects: its attributes."""
        yield from list(vars(self).items())

    @property
    def submodules(self) -> tuple[Module, ...]:
        modules: dict[int, Module] = {}
        for one in self._members():
            if isinstance(one, Module):
                modules.setdefault(id(one), one)
                modules.update({id(m): m for m in one.submodules if id(m) not in modules})
        return tuple(modules.values())

    @property
    def variables(self) -> tuple[Any, ...]:
        variables: dict[int, Any] = {}
        for module in (self, *self.submodules):
            variables.update(
                {id(v): v for v in module._members() if isinstance(v, Variable) and id(v) not in variables}
            )
        return tuple(variables.values())

    @property
    def trainable_variables(self) -> tuple[Any, ...]:
        return tuple(v for v in self.variables if v.trainable)

    @classmethod
    def with_name_scope(cls, method: Callable[..., Any]) -> Callable[..., Any]:
        """A method whose ops are made inside the module's scope."""

        @functools.wraps(method)
        def scoped(self: Module, *args: Any, **kwargs: Any) -> Any:
            with self.name_scope:
                return method(self, *args, **kwargs)

        return scoped
