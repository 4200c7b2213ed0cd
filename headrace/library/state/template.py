"""``make_template``: a function whose variables are made on its first call and shared by all later ones."""

from __future__ import annotations

import functools
import threading
import traceback
from collections.abc import Callable
from typing import Any

from headrace.graph import context
from headrace.graph.collection import GraphKeys
from headrace.library.state.variable_scope import VariableScope, pure_variable_scope, unique_scope, variable_scope


def make_template(
    name_: str, func_: Callable[..., Any], create_scope_now_: bool = False, unique_name_: str | None = None,
    custom_getter_: Callable[..., Any] | None = None, **kwargs: Any,
) -> Template:  # fmt: skip
    """``func_`` with ``kwargs`` bound, in a variable scope of its own that later calls reuse.

    Args:
      name_: The name of the scope.
      func_: The function; its variables must come from ``tf.get_variable``.
      create_scope_now_: Whether the scope is chosen now, not at the first call.
      unique_name_: A name for the scope that is taken as it is, even if another scope has it; None for ``name_``, made
        unique.
      custom_getter_: A function that ``tf.get_variable`` calls inside in place of its own; None for none.
      **kwargs: Arguments that every call passes to ``func_``.

    Returns:
      A Template: a callable with the variables as attributes.

    >>> def scale(x):
    ...     return x * tf.get_variable("factor", initializer=2.0)
    >>> double = tf.make_template("scale", scale)
    >>> a, b = double(tf.constant(1.0)), double(tf.constant(3.0))
    >>> [v.name for v in double.variables]
    ['scale/factor:0']
    """
    if kwargs:
        func_ = functools.partial(func_, **kwargs)
    return Template(name_, func_, create_scope_now_, unique_name_, custom_getter_)


class Template:
    """A callable that makes variables once.  Calls from several threads take turns until the first has finished."""

    def __init__(
        self, name: str, func: Callable[..., Any], create_scope_now: bool = False, unique_name: str | None = None,
        custom_getter: Callable[..., Any] | None = None,
    ) -> None:  # fmt: skip
        if not name:
            raise ValueError("name cannot be None.")
        self._func = func
        self._name = name
        self._unique_name = unique_name
        self._custom_getter = custom_getter
        self._made_at = traceback.format_stack(limit=3)[:-2]
        self._lock = threading.RLock()
        self._variables_created = False
        self._variable_scope: VariableScope | None = None
        if create_scope_now:
            self._create_scope()

    def _create_scope(self) -> None:
        chosen = self._unique_name or unique_scope(self._name)
        with pure_variable_scope(chosen, custom_getter=self._custom_getter) as scope:
            self._variable_scope = scope

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        with self._lock:
            if self._variable_scope is None:
                return self._first_call(args, kwargs)
            with variable_scope(self._variable_scope, reuse=True if self._variables_created else None):
                return self._call(args, kwargs)

    def _first_call(self, args: Any, kwargs: Any) -> Any:
        with variable_scope(self._unique_name, self._name, custom_getter=self._custom_getter) as scope:
            self._variable_scope = scope
            return self._call(args, kwargs)

    def _call(self, args: Any, kwargs: Any) -> Any:
        try:
            if self._variables_created:
                before = _count(GraphKeys.TRAINABLE_VARIABLES)
                result = self._func(*args, **kwargs)
                if before != _count(GraphKeys.TRAINABLE_VARIABLES):
                    raise ValueError(
                        "Trainable variable created when calling a template after the first time, perhaps you used "
                        "tf.Variable when you meant tf.get_variable: "
                        f"{context.get_default_graph().get_collection(GraphKeys.TRAINABLE_VARIABLES)[before:]}"
                    )
                return result
            result = self._func(*args, **kwargs)
            self._variables_created = True
            return result
        except Exception as error:
            where = "".join(self._made_at).strip()
            error.add_note(f"in template {self._name!r}, originally defined at:\n{where}")
            raise

    # ---- what it is

    @property
    def name(self) -> str:
        return self._name

    @property
    def func(self) -> Callable[..., Any]:
        return self._func

    @property
    def variable_scope(self) -> VariableScope | None:
        return self._variable_scope

    @property
    def variable_scope_name(self) -> str | None:
        """The scope's name, without a trailing "/"; None before the first call."""
        return self._variable_scope.name if self._variable_scope is not None else None

    var_scope = variable_scope

    @property
    def variables(self) -> list[Any]:
        return self.global_variables + self.local_variables

    @property
    def trainable_variables(self) -> list[Any]:
        return self._collection(GraphKeys.TRAINABLE_VARIABLES)

    @property
    def non_trainable_variables(self) -> list[Any]:
        trainable = set(self.trainable_variables)
        return [v for v in self.variables if v not in trainable]

    @property
    def global_variables(self) -> list[Any]:
        return self._collection(GraphKeys.GLOBAL_VARIABLES)

    @property
    def local_variables(self) -> list[Any]:
        return self._collection(GraphKeys.LOCAL_VARIABLES)

    trainable_weights = trainable_variables
    non_trainable_weights = non_trainable_variables
    weights = variables

    def _collection(self, key: str) -> list[Any]:
        return self._variable_scope.get_collection(key) if self._variable_scope is not None else []


def _count(key: str) -> int:
    return len(context.get_default_graph().get_collection(key))
