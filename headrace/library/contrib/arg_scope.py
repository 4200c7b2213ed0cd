"""Argument scopes: default arguments for functions, in force inside a ``with``.

    with arg_scope([conv2d, fully_connected], weights_regularizer=l2_regularizer(1e-4)) as scope:
        with arg_scope([conv2d], padding="SAME"):
            net = conv2d(inputs, 64, [3, 3])          # both defaults
    with arg_scope(scope):                            # the outer defaults again
        ...

Only functions decorated with ``add_arg_scope`` take part.  Scopes belong to a thread.
"""

from __future__ import annotations

import functools
import inspect
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, TypeVar

Scope = dict[str, dict[str, Any]]
Function = TypeVar("Function", bound=Callable[..., Any])

_arguments: dict[str, tuple[str, ...]] = {}
"""The names of the arguments with defaults, for each function that takes part."""


class _Stack(threading.local):
    def __init__(self) -> None:
        self.scopes: list[Scope] = [{}]


_stack = _Stack()


def arg_scope_func_key(op: Any) -> str:
    """What stands for a function in a scope.

    Args:
      op: A function.

    Returns:
      The key of the function in a scope, a string.

    >>> key = tf.contrib.framework.arg_scope_func_key(tf.contrib.layers.conv2d)
    >>> key in tf.contrib.framework.current_arg_scope()
    False
    """
    return getattr(op, "_key_op", str(op))


def current_arg_scope() -> Scope:
    """The arguments that the scopes entered so far give to functions.

    Returns:
      A dictionary from the keys of functions to dictionaries of arguments.

    >>> tf.contrib.framework.current_arg_scope()
    {}
    """
    return _stack.scopes[-1]


def has_arg_scope(func: Any) -> bool:
    """Whether the function was decorated with ``add_arg_scope``.

    Args:
      func: A function.

    Returns:
      A bool.

    >>> tf.contrib.framework.has_arg_scope(tf.contrib.layers.conv2d), tf.contrib.framework.has_arg_scope(tf.nn.conv2d)
    (True, False)
    """
    return arg_scope_func_key(func) in _arguments


def arg_scoped_arguments(func: Any) -> tuple[str, ...]:
    """The names of the arguments that a scope may set.

    Args:
      func: A function that was decorated with `add_arg_scope`.

    Returns:
      A tuple of names: those of the arguments with defaults.

    >>> tf.contrib.framework.arg_scoped_arguments(tf.contrib.layers.flatten)
    ('outputs_collections', 'scope')
    """
    if not has_arg_scope(func):
        raise ValueError(f"{func} is not decorated with @add_arg_scope")
    return _arguments[arg_scope_func_key(func)]


def add_arg_scope(func: Function) -> Function:
    """Lets scopes set the function's arguments; arguments given in a call win.

    Args:
      func: The function; for a decorator.

    Returns:
      A function like `func`, whose defaults `arg_scope` can change.

    >>> @tf.contrib.framework.add_arg_scope
    ... def scaled(x, factor=1):
    ...     return x * factor
    >>> with tf.contrib.framework.arg_scope([scaled], factor=3):
    ...     scaled(2)
    6
    """
    key = arg_scope_func_key(func)

    @functools.wraps(func)
    def with_scope(*args: Any, **kwargs: Any) -> Any:
        defaults = _stack.scopes[-1].get(key)
        return func(*args, **({**defaults, **kwargs} if defaults else kwargs))

    parameters = inspect.signature(func).parameters.values()
    _arguments[key] = tuple(p.name for p in parameters if p.default is not p.empty)
    with_scope._key_op = key  # type: ignore[attr-defined]
    return with_scope  # type: ignore[return-value]


@contextmanager
def arg_scope(list_ops_or_scope: Sequence[Any] | Mapping[str, Any], **kwargs: Any) -> Iterator[Scope]:
    """Sets defaults for a list of functions, or enters a scope again that an earlier ``arg_scope`` gave.

    Args:
      list_ops_or_scope: A list of functions that were decorated with `add_arg_scope`, or a scope to enter again.
      **kwargs: The arguments and their new defaults; none if a scope is entered again.

    Returns:
      A context manager for ``with``, which gives the scope.

    >>> with tf.contrib.framework.arg_scope([tf.contrib.layers.conv2d], padding="VALID"):
    ...     tf.contrib.layers.conv2d(tf.zeros([1, 8, 8, 3]), 4, kernel_size=3).shape.as_list()
    [1, 6, 6, 4]
    """
    if isinstance(list_ops_or_scope, Mapping):
        if kwargs:
            raise ValueError("When attempting to re-use a scope by suppling a dictionary, kwargs must be empty.")
        scope: Scope = dict(list_ops_or_scope)
    elif not isinstance(list_ops_or_scope, (list, tuple)):
        raise TypeError("list_ops_or_scope must either be a list/tuple or reused scope (i.e. dict)")
    else:
        scope = dict(current_arg_scope())
        for op in list_ops_or_scope:
            if not has_arg_scope(op):
                name = getattr(op, "__name__", str(op))
                raise ValueError(f"{getattr(op, '__module__', '')}.{name} is not decorated with @add_arg_scope")
            key = arg_scope_func_key(op)
            scope[key] = {**scope.get(key, {}), **kwargs}
    _stack.scopes.append(scope)
    try:
        yield scope
    finally:
        _stack.scopes.pop()
