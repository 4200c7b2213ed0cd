"""``tensorflow.python.util.tf_inspect``: Python's own ``inspect``, and ``getargspec``, which Python no longer has."""

from __future__ import annotations

import inspect as _inspect
from collections.abc import Callable
from inspect import *  # noqa: F403 - whatever Python's has
from inspect import FullArgSpec
from typing import Any, NamedTuple


class ArgSpec(NamedTuple):
    """What ``getargspec`` gives."""

    args: list[str]
    varargs: str | None
    keywords: str | None
    defaults: tuple[Any, ...] | None


def getfullargspec(obj: Callable[..., Any]) -> FullArgSpec:  # type: ignore[no-redef]
    """The arguments of the function behind all its decorators.

    >>> getfullargspec(tf.nn.relu).args
    ['features', 'name']
    """
    return _inspect.getfullargspec(_inspect.unwrap(obj))


def getargspec(obj: Callable[..., Any]) -> ArgSpec:
    """The arguments of a function, a method, a class or an object that can be called.

    >>> getargspec(lambda x, *rest, y=2: x).args
    ['x']
    """
    spec = getfullargspec(obj)
    return ArgSpec(spec.args, spec.varargs, spec.varkw, spec.defaults)
