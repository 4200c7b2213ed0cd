"""The session that Keras computes in: the default session if there is one, else one of its own for each graph.

Before a session is given out the variables that Keras made are initialised in it, unless
`manual_variable_initialization` says that the user does so.
"""

from __future__ import annotations

import weakref
from collections.abc import Sequence
from typing import Any

from headrace.client.session import Session
from headrace.graph import context
from headrace.graph.graph import Graph
from headrace.library.backend.graph import forget_keras_graph, graph_state
from headrace.library.backend.naming import reset_uids
from headrace.library.backend.phase import forget_learning_phases
from headrace.library.state.values import as_value, load_values
from headrace.library.state.variables import is_variable_initialized, variables_initializer
from headrace.library.train.saver import objects


class _State:
    session: Any = None  # Keras's own
    manual = False


_initialized: weakref.WeakKeyDictionary[Any, weakref.WeakSet[Any]] = weakref.WeakKeyDictionary()  # session -> variables


def track_variable(variable: Any) -> None:
    """From here on `get_session` initialises the variable."""
    if not variable.graph.executing_eagerly:
        graph_state(variable.graph).variables.add(variable)


def get_session(op_input_list: Sequence[Any] = ()) -> Any:
    """The session that Keras computes in, with its variables initialised.

    Args:
      op_input_list: Tensors or operations that say which graph is meant; empty for the default graph.

    Returns:
      The default session if there is one, else one that Keras keeps for the graph.

    >>> x = tf.keras.backend.variable([1.0, 2.0])
    >>> tf.keras.backend.get_session().run(x)
    array([1., 2.], dtype=float32)
    """
    session = _session(op_input_list)
    if not _State.manual:
        initialize_variables(session)
    return session


def _session(op_input_list: Sequence[Any]) -> Any:
    default = context.get_default_session()
    if default is not None:
        return default
    graph = _graph_of(op_input_list)
    if graph.executing_eagerly:
        raise RuntimeError("Keras has no session where ops run eagerly: tensors have their values in `.numpy()`.")
    if _State.session is None or _State.session.graph is not graph:
        _State.session = Session(graph=graph)
    return _State.session


def _graph_of(op_input_list: Sequence[Any]) -> Any:
    for item in op_input_list:
        graph = getattr(item, "graph", None)
        if isinstance(graph, Graph):
            return getattr(graph, "root", graph)
    graph = context.get_default_graph()
    return getattr(graph, "root", graph)


def initialize_variables(session: Any) -> None:
    """Initialises what Keras made in the session's graph and the session does not have yet."""
    tracked = graph_state(session.graph).variables
    known = _initialized.setdefault(session, weakref.WeakSet())
    if len(known) == len(tracked):
        return
    asked = [variable for variable in tracked if variable not in known]
    with session.graph.as_default():
        flags = session.run([_is_initialized(variable) for variable in asked])
        missing = [variable for variable, there in zip(asked, flags, strict=True) if not there]
        if missing:
            session.run(variables_initializer(missing))
    known.update(asked)


def _is_initialized(variable: Any) -> Any:
    tests = graph_state(variable.graph).tests
    if variable not in tests:
        tests[variable] = is_variable_initialized(variable)
    return tests[variable]


def set_session(session: Any) -> None:
    """Makes Keras compute in this session where there is no default session.

    Args:
      session: A `tf.Session`.

    >>> session = tf.Session()
    >>> tf.keras.backend.set_session(session)
    >>> tf.keras.backend.get_session() is session
    True
    """
    _State.session = session


def clear_session() -> None:
    """Forgets all that Keras keeps: its session, the default graph, the numbers in names and the learning phase.

    >>> tf.keras.backend.clear_session()
    >>> tf.get_default_graph().get_operations()
    []
    """
    forget_keras_graph()
    context.reset_default_graph()
    reset_uids()
    forget_learning_phases()
    if _State.session is not None:
        _State.session.close()
        _State.session = None


def manual_variable_initialization(value: bool) -> None:
    """Whether the user initialises the variables of layers, so that `get_session` does not.

    Args:
      value: True if the user does.

    >>> tf.keras.backend.manual_variable_initialization(True)
    >>> x = tf.keras.backend.variable(1.0)
    >>> session = tf.keras.backend.get_session()
    >>> bool(session.run(tf.is_variable_initialized(x)))
    False
    >>> tf.keras.backend.manual_variable_initialization(False)
    """
    _State.manual = value


# ---- values of variables


def get_value(x: Any) -> Any:
    """The value of a variable or tensor.

    Args:
      x: A variable or tensor, or a number or an array, which is returned as it is.

    Returns:
      An array.

    >>> tf.keras.backend.get_value(tf.keras.backend.variable([1.0, 2.0]))
    array([1., 2.], dtype=float32)
    """
    if not hasattr(x, "graph"):
        return x
    if x.graph.executing_eagerly:
        return x.numpy()
    return get_session((x,)).run(x)


def batch_get_value(tensors: Sequence[Any]) -> list[Any]:
    """The values of several variables or tensors, computed together.

    Args:
      tensors: A list of variables or tensors.

    Returns:
      A list of arrays.

    >>> x, y = tf.keras.backend.variable(1.0), tf.keras.backend.variable([2.0])
    >>> tf.keras.backend.batch_get_value([x, y])
    [np.float32(1.0), array([2.], dtype=float32)]
    """
    if not tensors:
        return []
    if tensors[0].graph.executing_eagerly:
        return [x.numpy() for x in tensors]
    result: list[Any] = get_session(tensors).run(list(tensors))
    return result


def set_value(x: Any, value: Any) -> None:
    """Sets the value of a variable.

    Args:
      x: A variable.
      value: An array, or what numpy makes one of.

    >>> x = tf.keras.backend.variable([1.0, 2.0])
    >>> tf.keras.backend.set_value(x, [3.0, 4.0])
    >>> tf.keras.backend.get_value(x)
    array([3., 4.], dtype=float32)
    """
    batch_set_value([(x, value)])


def batch_set_value(tuples: Sequence[tuple[Any, Any]]) -> None:
    """Sets the values of several variables.

    Args:
      tuples: Pairs of a variable and its new value.

    >>> x, y = tf.keras.backend.variable(1.0), tf.keras.backend.variable([2.0])
    >>> tf.keras.backend.batch_set_value([(x, 3.0), (y, [4.0])])
    >>> tf.keras.backend.batch_get_value([x, y])
    [np.float32(3.0), array([4.], dtype=float32)]
    """
    if not tuples:
        return
    values = [(x, as_value(x, value)) for x, value in tuples]
    if tuples[0][0].graph.executing_eagerly:
        for x, value in values:
            x.assign(value)
        return
    load_values(get_session([x for x, _ in tuples]), values)


objects.use_session(get_session)
