"""The global step: the variable that counts training steps, found by collection or by name."""

from __future__ import annotations

from typing import Any

from headrace.core import dtypes
from headrace.graph import context
from headrace.graph.collection import GraphKeys
from headrace.graph.graph import Graph
from headrace.graph.operation import Tensor
from headrace.library.state.initializers import Zeros
from headrace.library.state.variable import Variable
from headrace.library.state.variable_creator import VariableAggregation
from headrace.library.state.variable_scope import get_variable


def get_global_step(graph: Graph | None = None) -> Any:
    """The global step of the graph, or None.

    Args:
      graph: The graph to look in; None for the default one.

    Returns:
      A variable or tensor, or None.

    >>> tf.train.get_global_step() is None
    True
    """
    graph = graph or context.get_default_graph()
    steps = graph.get_collection(GraphKeys.GLOBAL_STEP)
    if len(steps) > 1:
        raise ValueError(f"Multiple items in the GLOBAL_STEP collection: {steps}")
    if steps:
        step = steps[0]
    else:
        try:
            step = graph.get_tensor_by_name("global_step:0")
        except KeyError:
            return None
    assert_global_step(step)
    return step


def create_global_step(graph: Graph | None = None) -> Variable:
    """Creates the global step: int64, starting at 0, not trained.

    Args:
      graph: The graph to make it in; None for the default one.  It must not have a global step yet.

    Returns:
      The variable.

    >>> tf.train.create_global_step().name
    'global_step:0'
    """
    graph = graph or context.get_default_graph()
    if get_global_step(graph) is not None:
        raise ValueError('"global_step" already exists.')
    with graph.as_default(), graph.name_scope(None):
        return get_variable(
            GraphKeys.GLOBAL_STEP,
            shape=[],
            dtype=dtypes.int64,
            initializer=Zeros(),
            trainable=False,
            collections=[GraphKeys.GLOBAL_VARIABLES, GraphKeys.GLOBAL_STEP],
            aggregation=VariableAggregation.ONLY_FIRST_REPLICA,
        )


def get_or_create_global_step(graph: Graph | None = None) -> Any:
    """The global step of the graph, created if there is none.

    Args:
      graph: The graph to look in; None for the default one.

    Returns:
      A variable or tensor.

    >>> step = tf.train.get_or_create_global_step()
    >>> step is tf.train.get_or_create_global_step()
    True
    """
    graph = graph or context.get_default_graph()
    step = get_global_step(graph)
    return create_global_step(graph) if step is None else step


def assert_global_step(global_step_tensor: Any) -> None:
    """Raises unless it is a scalar integer variable or tensor.

    Args:
      global_step_tensor: What to check.

    >>> tf.train.assert_global_step(tf.Variable(0))
    """
    if not isinstance(global_step_tensor, (Variable, Tensor)) and not hasattr(global_step_tensor, "_as_graph_element"):
        raise TypeError(f'Existing "global_step" must be a Variable or Tensor: {global_step_tensor!r}.')
    if not global_step_tensor.dtype.base_dtype.is_integer:
        raise TypeError(f'Existing "global_step" does not have integer type: {global_step_tensor.dtype}')
    shape = global_step_tensor.get_shape()
    if shape.ndims != 0 and shape.is_fully_defined():
        raise TypeError(f'Existing "global_step" is not scalar: {shape}')


def global_step(sess: Any, global_step_tensor: Any) -> int:
    """The value of the global step in the session.

    Args:
      sess: The session to ask.
      global_step_tensor: The global step.

    Returns:
      A Python number.

    >>> step = tf.train.get_or_create_global_step()
    >>> with tf.Session() as sess:
    ...     sess.run(tf.global_variables_initializer())
    ...     tf.train.global_step(sess, step)
    0
    """
    return int(sess.run(global_step_tensor))
