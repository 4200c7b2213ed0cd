"""K.function: tensors of a graph as a function of arrays; and what else goes from tensors to values."""

from __future__ import annotations

import sys
import weakref
from collections.abc import Callable, Sequence
from typing import Any

from headrace.autodiff.gradients import gradients as tf_gradients
from headrace.graph import context, raw_ops
from headrace.graph.convert import convert_to_tensor
from headrace.graph.operation import Operation
from headrace.library import nest
from headrace.library.backend.graph import get_graph
from headrace.library.backend.graph_copy import computed_again
from headrace.library.backend.session import get_session, get_value
from headrace.library.backend.shaping import to_dense
from headrace.library.control import higher_order
from headrace.library.control.dependency import group, identity
from headrace.library.control.host import print_
from headrace.library.state.assign import assign


class GraphFunction:
    """Computes tensors for arrays that are fed, in Keras's session.  Made by `tf.keras.backend.function`."""

    def __init__(
        self, inputs: Any, outputs: Any, updates: Sequence[Any] | None = None, name: str | None = None, **kwargs: Any
    ) -> None:
        if updates is not None and not isinstance(updates, (list, tuple)):
            raise TypeError(f"`updates` in a Keras backend function should be a list or tuple, got {updates!r}")
        self.inputs = nest.flatten(inputs)
        self._structure = outputs
        self.outputs = [convert_to_tensor(t) for t in nest.flatten(outputs)]
        self.name = name
        fetches = kwargs.pop("fetches", [])
        self.fetches = fetches if isinstance(fetches, list) else [fetches]
        self.feed_dict = kwargs.pop("feed_dict", None) or {}
        if kwargs:
            raise ValueError(f"Some keys in session_kwargs are not supported at this time: {list(kwargs)}")
        with get_graph().control_dependencies(self.outputs[:1]):
            self.updates_op = group(*[assign(*u) if isinstance(u, tuple) else u for u in updates or ()])
        self._callables: weakref.WeakKeyDictionary[Any, Callable[..., Any]] = weakref.WeakKeyDictionary()

    def __call__(self, inputs: Any) -> Any:
        """The outputs for these inputs: arrays in the order of the tensors that the function was made with."""
        session = get_session(self.outputs or [self.updates_op])
        call = self._callables.get(session)
        if call is None:
            fetches = [*self.outputs, self.updates_op, *self.fetches]
            call = session.make_callable(fetches, [*self.inputs, *self.feed_dict])
            self._callables[session] = call
        results = call(*_values(inputs, len(self.inputs)), *self.feed_dict.values())
        return nest.pack_sequence_as(self._structure, results[: len(self.outputs)])


def _values(inputs: Any, count: int) -> list[Any]:
    """What is fed: a list with a value for each tensor, or a structure of values."""
    return list(inputs) if isinstance(inputs, (list, tuple)) and len(inputs) == count else nest.flatten(inputs)


class EagerFunction:
    """Computes tensors of the Keras graph for values, eagerly.  Made by `tf.keras.backend.function`."""

    def __init__(
        self, inputs: Any, outputs: Any, updates: Sequence[Any] | None = None, name: str | None = None
    ) -> None:
        self.inputs = nest.flatten(inputs)
        self._structure = outputs
        self.outputs = nest.flatten(outputs)
        self.updates = [u for u in updates or () if isinstance(u, Operation) or hasattr(u, "op")]
        self.name = name

    def __call__(self, inputs: Any) -> Any:
        """The outputs for these inputs, as arrays."""
        given = [
            convert_to_tensor(value, dtype=tensor.dtype)
            for tensor, value in zip(self.inputs, _values(inputs, len(self.inputs)), strict=True)
        ]
        target = context.get_default_graph()
        every = computed_again([*self.outputs, *self.updates], dict(zip(self.inputs, given, strict=True)), target)
        return nest.pack_sequence_as(self._structure, [value.numpy() for value in every[: len(self.outputs)]])


def function(
    inputs: Any, outputs: Any, updates: Sequence[Any] | None = None, name: str | None = None, **kwargs: Any
) -> Any:
    """Tensors as a function of others.

    Args:
      inputs: The tensors to be fed: placeholders, or inputs of models.
      outputs: The tensors to be computed.
      updates: Operations, or pairs of a variable and its new value, that happen with each call.
      name: A name.
      **kwargs: `fetches`, further tensors to compute, and `feed_dict`, further values to feed.

    Returns:
      A function of a list of arrays, whose result is structured as `outputs`.

    >>> x = tf.keras.backend.placeholder((2,))
    >>> double = tf.keras.backend.function([x], [x * 2.0])
    >>> double([np.array([1.0, 3.0])])
    [array([2., 6.], dtype=float32)]
    """
    if context.executing_eagerly():
        if kwargs:
            raise ValueError(f"Session keyword arguments are not supported during eager execution: {list(kwargs)}")
        return EagerFunction(inputs, outputs, updates, name)
    return GraphFunction(inputs, outputs, updates, name, **kwargs)


def gradients(loss: Any, variables: Any) -> list[Any]:
    """The gradients of a tensor.

    Args:
      loss: A tensor.
      variables: A list of tensors or variables.

    Returns:
      A list of tensors, None for what `loss` does not depend on.

    >>> x = tf.keras.backend.variable(3.0)
    >>> tf.keras.backend.get_value(tf.keras.backend.gradients(x * x, [x])[0])
    np.float32(6.0)
    """
    return tf_gradients(loss, variables)


def stop_gradient(variables: Any) -> Any:
    """A tensor through which no gradient goes.

    Args:
      variables: A tensor or variable, or a list of them.

    Returns:
      A tensor or a list of tensors.

    >>> x = tf.keras.backend.variable(3.0)
    >>> tf.keras.backend.gradients(tf.keras.backend.stop_gradient(x), [x])
    [None]
    """
    if isinstance(variables, (list, tuple)):
        return [raw_ops.StopGradient(v) for v in variables]
    return raw_ops.StopGradient(variables)


def eval(x: Any) -> Any:  # noqa: A001 - Keras's name
    """The value of a variable or tensor, a sparse one as a dense array.

    Args:
      x: A variable or tensor.

    Returns:
      An array.

    >>> tf.keras.backend.eval(tf.keras.backend.variable([1.0, 2.0]))
    array([1., 2.], dtype=float32)
    """
    return get_value(to_dense(x))


def print_tensor(x: Any, message: str = "") -> Any:
    """A tensor that is printed whenever it is computed.

    Args:
      x: A tensor.
      message: What is printed before it.

    Returns:
      The same tensor; use it in place of `x`.

    >>> x = tf.keras.backend.print_tensor(tf.constant([1.0, 2.0]), message="x is: ")
    >>> x.shape.as_list()
    [2]
    """
    printed = print_(message, x, output_stream=sys.stdout)
    if context.executing_eagerly():
        return x
    with context.get_default_graph().control_dependencies([printed]):
        return identity(x)


def map_fn(fn: Callable[[Any], Any], elems: Any, name: str | None = None, dtype: Any = None) -> Any:
    """A function of each element along the first axis.

    Args:
      fn: A function of an element.
      elems: A tensor.
      name: A name for the ops.
      dtype: The dtype of the result; None for that of `elems`.

    Returns:
      A tensor.

    >>> tf.keras.backend.get_value(tf.keras.backend.map_fn(lambda x: x * x, tf.constant([1.0, 3.0])))
    array([1., 9.], dtype=float32)
    """
    return higher_order.map_fn(fn, elems, name=name, dtype=dtype)


def foldl(fn: Callable[[Any, Any], Any], elems: Any, initializer: Any = None, name: str | None = None) -> Any:
    """Combines the elements along the first axis, from the first to the last.

    Args:
      fn: A function of what was combined so far and an element.
      elems: A tensor.
      initializer: What to begin with; None for the first element.
      name: A name for the ops.

    Returns:
      A tensor.

    >>> tf.keras.backend.get_value(tf.keras.backend.foldl(lambda a, x: a - x, tf.constant([5.0, 1.0, 2.0])))
    np.float32(2.0)
    """
    return higher_order.foldl(fn, elems, initializer=initializer, name=name)


def foldr(fn: Callable[[Any, Any], Any], elems: Any, initializer: Any = None, name: str | None = None) -> Any:
    """Combines the elements along the first axis, from the last to the first.

    Args:
      fn: A function of what was combined so far and an element.
      elems: A tensor.
      initializer: What to begin with; None for the last element.
      name: A name for the ops.

    Returns:
      A tensor.

    >>> tf.keras.backend.get_value(tf.keras.backend.foldr(lambda a, x: a - x, tf.constant([5.0, 1.0, 2.0])))
    np.float32(-4.0)
    """
    return higher_order.foldr(fn, elems, initializer=initializer, name=name)
