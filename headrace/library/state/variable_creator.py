"""How a variable comes to be: the enums of distributed variables, and the chain of creators around ``tf.Variable``.

``variable_creator_scope`` lets a program wrap the making of every variable.  The chain is kept per graph and thread.
"""

from __future__ import annotations

import enum
import inspect
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from typing import Any

from headrace.graph import context
from headrace.graph.graph import Graph

Creator = Callable[..., Any]
_CREATORS_KEY = ("__variable_creators",)


class VariableSynchronization(enum.Enum):
    """When a variable with copies on several devices is synchronised.  Only AUTO matters for a single copy.

    Args:
      value: A number from 0 to 3.

    >>> tf.VariableSynchronization(1)
    <VariableSynchronization.NONE: 1>
    """

    __signature__ = inspect.Signature([inspect.Parameter("value", inspect.Parameter.POSITIONAL_OR_KEYWORD)])
    AUTO = 0
    NONE = 1
    ON_WRITE = 2
    ON_READ = 3


class VariableAggregation(enum.Enum):
    """How values written by several replicas are combined.

    Args:
      value: A number from 0 to 3.

    >>> tf.VariableAggregation(1)
    <VariableAggregation.SUM: 1>
    """

    __signature__ = inspect.Signature([inspect.Parameter("value", inspect.Parameter.POSITIONAL_OR_KEYWORD)])
    NONE = 0
    SUM = 1
    MEAN = 2
    ONLY_FIRST_REPLICA = 3
    ONLY_FIRST_TOWER = 3  # noqa: PIE796 - the deprecated name


def checked_enums(
    synchronization: Any, aggregation: Any, trainable: bool | None, name: str | None
) -> tuple[VariableSynchronization, VariableAggregation, bool]:
    """The two enums checked (None means the default), and whether the variable is trainable."""
    if aggregation is None:
        aggregation = VariableAggregation.NONE
    elif not isinstance(aggregation, VariableAggregation):
        raise ValueError(
            f"Invalid variable aggregation mode: {aggregation!r} for variable: {name}. "
            f"Accepted: {', '.join(map(str, VariableAggregation))}"
        )
    if synchronization is None:
        synchronization = VariableSynchronization.AUTO
    elif not isinstance(synchronization, VariableSynchronization):
        raise ValueError(
            f"Invalid variable synchronization mode: {synchronization!r} for variable: {name}. "
            f"Accepted: {', '.join(map(str, VariableSynchronization))}"
        )
    return synchronization, aggregation, trainable_value(synchronization, trainable)


def trainable_value(synchronization: VariableSynchronization, trainable: bool | None) -> bool:
    """ON_READ variables cannot be trained; others are unless the caller says no."""
    if synchronization is VariableSynchronization.ON_READ:
        if trainable:
            raise ValueError(
                "Synchronization value can be set to VariableSynchronization.ON_READ only for non-trainable variables. "
                "You have specified trainable=True and synchronization=VariableSynchronization.ON_READ."
            )
        return False
    return True if trainable is None else trainable


class _Creators(threading.local):
    def __init__(self) -> None:
        self.items: list[Creator] = []


def _creators(graph: Graph) -> _Creators:
    store = graph.get_collection_ref(_CREATORS_KEY)
    if not store:
        store.append(_Creators())
    return store[0]


def creators_in_force() -> list[Creator]:
    """The list of this thread's creators for the default graph, the outermost first."""
    return _creators(context.get_default_graph()).items


class _Default:
    """What ``tf.Variable`` makes when ``use_resource`` is not given."""

    enabled = False  # resource variables, unless the variable scope says otherwise
    resource_class: Any = None  # installed by library/state/resource_variable.py
    scope_choice: Callable[[], bool | None] = staticmethod(lambda: None)  # installed by library/state/variable_scope.py


def enable_resource_variables() -> None:
    """Makes resource variables the default of ``tf.Variable`` and ``tf.get_variable``.

    >>> tf.enable_resource_variables()
    >>> tf.Variable(1.0).op.type
    'VarHandleOp'
    >>> tf.disable_resource_variables()
    """
    _Default.enabled = True


def disable_resource_variables() -> None:
    """Makes reference variables the default again.

    >>> tf.disable_resource_variables()
    >>> tf.Variable(1.0).op.type
    'VariableV2'
    """
    _Default.enabled = False


def resource_variables_enabled() -> bool:
    """Whether variables are resource variables unless they are asked not to be.

    Returns:
      A Python bool.

    >>> tf.resource_variables_enabled()
    False
    """
    return _Default.enabled


def install_resource_class(resource_class: Any) -> None:
    _Default.resource_class = resource_class


def install_scope_choice(scope_choice: Callable[[], bool | None]) -> None:
    _Default.scope_choice = staticmethod(scope_choice)


def variable_class(reference_class: Any, use_resource: bool | None) -> Any:
    """The class of a new variable.  ``use_resource`` None: as the variable scope says, else as is the default."""
    if use_resource is None:
        use_resource = _Default.scope_choice()
    if use_resource is None:
        use_resource = _Default.enabled
    return _Default.resource_class if use_resource else reference_class


@contextmanager
def variable_creator_scope(variable_creator: Creator) -> Iterator[None]:
    """Variables made inside go through ``variable_creator(next_creator, **kwargs)``, the innermost scope first.

    Args:
      variable_creator: A function of the next creator and the arguments of ``tf.Variable`` as keywords, which gives a
        variable.

    Returns:
      A context manager.

    >>> def on_cpu(next_creator, **kwargs):
    ...     with tf.device("/cpu:0"):
    ...         return next_creator(**kwargs)
    >>> with tf.variable_creator_scope(on_cpu):
    ...     v = tf.Variable(1.0)
    """
    creators = _creators(context.get_default_graph())
    creators.items.append(variable_creator)
    try:
        yield
    finally:
        creators.items.pop()


def create(default: Creator, kwargs: dict[str, Any]) -> Any:
    """Runs the chain: ``default(**kwargs)`` makes the variable in the end."""
    creator = default
    for wrapper in _creators(context.get_default_graph()).items:
        creator = partial(wrapper, creator)
    return creator(**kwargs)
