"""The learning phase: whether layers train (1) or not (0), as a value or as a tensor that is fed.

In graph mode it is ``keras_learning_phase``, a placeholder that is False if it is not fed, until it is set to a value.
Each graph has its own, and eager execution one more.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from headrace.graph import context
from headrace.library.backend.graph import all_states, get_graph, graph_state, in_keras_graph
from headrace.library.scope import init_scope, name_scope
from headrace.library.tensor.creation import placeholder_with_default


class _Eager:
    value: int | None = None  # None: never set


def learning_phase() -> Any:
    """The learning phase of the current graph, which layers such as `tf.keras.layers.Dropout` ask for.

    Returns:
      A scalar tensor of bool to be fed, or the int that it was set to.

    >>> tf.keras.backend.learning_phase().name
    'keras_learning_phase:0'
    """
    if in_keras_graph(context.get_default_graph()):
        return symbolic_learning_phase()
    with init_scope():
        if context.executing_eagerly():
            return _Eager.value or 0
        return symbolic_learning_phase()


def symbolic_learning_phase() -> Any:
    """The learning phase of the graph that layers are called in."""
    graph = get_graph()
    state = graph_state(graph)
    if state.phase is None:
        root = graph if in_keras_graph(graph) else getattr(graph, "root", graph)
        with root.as_default(), name_scope(""), root.control_dependencies(None):
            state.phase = placeholder_with_default(False, shape=(), name="keras_learning_phase")
    return state.phase


def learning_phase_is_set() -> bool:
    """Whether eager execution was given a learning phase."""
    return _Eager.value is not None


def set_learning_phase(value: int) -> None:
    """Sets the learning phase of the current graph to a value, for all layers called from here on.

    Args:
      value: 0 (not training) or 1 (training).

    >>> tf.keras.backend.set_learning_phase(1)
    >>> tf.keras.backend.learning_phase()
    1
    """
    _check(value)
    with init_scope():
        if context.executing_eagerly():
            _Eager.value = int(value)
        graph_state().phase = int(value)


def _check(value: Any) -> None:
    if value not in (0, 1):
        raise ValueError(f"Expected learning phase to be 0 or 1, got {value!r}.")


@contextmanager
def learning_phase_scope(value: int) -> Iterator[None]:
    """A block in which the learning phase is a value.

    Args:
      value: 0 (not training) or 1 (training).

    Returns:
      A context manager.

    >>> with tf.keras.backend.learning_phase_scope(1):
    ...     print(tf.keras.backend.learning_phase())
    1
    """
    _check(value)
    with init_scope():
        state = graph_state()
    of_graph, of_eager = state.phase, _Eager.value
    try:
        set_learning_phase(value)
        yield
    finally:
        state.phase, _Eager.value = of_graph, of_eager


def forget_learning_phases() -> None:
    """Every graph begins with the placeholder again, eager execution with 0."""
    for state in all_states():
        state.phase = None
    _Eager.value = None
