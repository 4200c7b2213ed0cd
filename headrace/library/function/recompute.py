"""recompute_grad: trade time for memory by computing a function's inner values again for its gradient."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from typing import Any

from headrace.autodiff.custom import custom_gradient
from headrace.autodiff.recompute import recomputed
from headrace.core.source import at
from headrace.eager.tape import GradientTape
from headrace.graph import context

_DEFAULT: Any = object()


def recompute_grad(f: Callable[..., Any]) -> Callable[..., Any]:
    """``f`` with the same results, whose inner values are not kept for the gradient but computed again.

    In a graph ``f`` is called once, and what it made is copied for the gradient, except what draws random numbers or changes
    state: a dropout has the same mask, a moving average moves once.  Executed eagerly, ``f`` is called again.

    Args:
      f: A function of tensors that returns a tensor, or a list of tensors.

    Returns:
      A function with the arguments and results of `f`.

    >>> weights = tf.Variable(tf.ones([4, 4]))
    >>> block = tf.recompute_grad(lambda x: tf.nn.relu(tf.matmul(tf.nn.relu(tf.matmul(x, weights)), weights)))
    >>> slope = tf.gradients(block(tf.ones([1, 4])), weights)[0]
    >>> session = tf.Session()
    >>> session.run(weights.initializer)
    >>> session.run(slope)[0]
    array([8., 8., 8., 8.], dtype=float32)
    """
    return _wrapped(f, False)


def contrib_recompute_grad(
    fn: Callable[..., Any] | None = None, use_data_dep: Any = _DEFAULT, tupleize_grads: bool = False
) -> Callable[..., Any]:
    """``tf.contrib.layers.recompute_grad``: `recompute_grad`, also as a decorator with arguments.

    The second computation always waits for the gradient of the result through data, so ``use_data_dep`` changes nothing.
    ``tupleize_grads``: no gradient is used before all of them are there.  A parameter ``is_recomputing`` of ``fn`` is given
    False, because ``fn`` is called once; executed eagerly it is called again, with True.

    Args:
      fn: A function of tensors; None for a decorator with arguments.
      use_data_dep: Accepted as TensorFlow does; it changes nothing.
      tupleize_grads: Whether no gradient is used before all of them are there.

    Returns:
      A function with the arguments and results of `fn`, or a decorator.

    >>> block = tf.contrib.layers.recompute_grad(lambda x: tf.nn.relu(x * x))
    >>> y = block(tf.constant(3.0))
    """
    if fn is None:
        return lambda f: _wrapped(f, tupleize_grads)
    return _wrapped(fn, tupleize_grads)


def _wrapped(f: Callable[..., Any], tupleize: bool) -> Callable[..., Any]:
    if not callable(f):
        raise TypeError(f"recompute_grad takes a function, got {f!r} {at()}")
    tells = _takes_is_recomputing(f)

    @functools.wraps(f)
    def recomputing(*args: Any, **kwargs: Any) -> Any:
        options = {**kwargs, "is_recomputing": False} if tells else kwargs
        if context.executing_eagerly():
            return _eagerly(f, args, options)
        return recomputed(f, args, options, tupleize)

    return recomputing


def _takes_is_recomputing(f: Callable[..., Any]) -> bool:
    try:
        return "is_recomputing" in inspect.signature(f).parameters
    except (TypeError, ValueError):  # builtins have no signature
        return False


def _eagerly(f: Callable[..., Any], args: Any, kwargs: dict[str, Any]) -> Any:
    def inner(*inputs: Any) -> Any:
        def gradient(*grads: Any, variables: Any = ()) -> Any:
            again = {**kwargs, "is_recomputing": True} if "is_recomputing" in kwargs else kwargs
            with GradientTape() as tape:
                for value in inputs:
                    tape.watch(value)
                outcome = f(*inputs, **again)
            results = list(outcome) if isinstance(outcome, (list, tuple)) else [outcome]
            gradients = tape.gradient(results, [*inputs, *variables], output_gradients=list(grads))
            of_inputs = gradients[: len(inputs)]
            return (of_inputs, gradients[len(inputs) :]) if variables else of_inputs

        return f(*inputs, **kwargs), gradient

    inner.__name__ = getattr(f, "__name__", "function")
    return custom_gradient(inner)(*args)
