"""``tensorflow.python.util.tf_inspect``: Python's own ``inspect``, and ``getargspec``, which Python no longer has."""

from __future__ import annotations

import inspect as _inspect
from collections.abc import Callable
from inspect import FullArgSpec as FullArgSpec
from inspect import Parameter as Parameter
from inspect import currentframe as currentframe
from inspect import getcallargs as getcallargs
from inspect import getdoc as getdoc
from inspect import getfile as getfile
from inspect import getframeinfo as getframeinfo
from inspect import getmembers as getmembers
from inspect import getmodule as getmodule
from inspect import getmro as getmro
from inspect import getsource as getsource
from inspect import getsourcefile as getsourcefile
from inspect import getsourcelines as getsourcelines
from inspect import isbuiltin as isbuiltin
from inspect import isclass as isclass
from inspect import isframe as isframe
from inspect import isfunction as isfunction
from inspect import isgenerator as isgenerator
from inspect import isgeneratorfunction as isgeneratorfunction
from inspect import ismethod as ismethod
from inspect import ismodule as ismodule
from inspect import isroutine as isroutine
from inspect import signature as signature
from inspect import stack as stack
from typing import Any, NamedTuple


class ArgSpec(NamedTuple):
    """What ``getargspec`` gives."""

    args: list[str]
    varargs: str | None
    keywords: str | None
    defaults: tuple[Any, ...] | None


def getfullargspec(obj: Callable[..., Any]) -> FullArgSpec:
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
