"""Functions with the gradient of the identity."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from headrace.autodiff.custom import custom_gradient


def grad_pass_through(f: Callable[..., Any]) -> Callable[..., Any]:
    """``f`` with the gradient of the identity: ``tf.grad_pass_through(tf.round)(x)`` rounds, and lets gradients by.

    Args:
      f: A function of tensors with as many results as arguments.

    Returns:
      A function with the arguments and results of `f`.

    >>> x = tf.constant(1.7)
    >>> y = 3 * tf.grad_pass_through(tf.floor)(x)
    >>> tf.Session().run([y, tf.gradients(y, x)[0]])
    [np.float32(3.0), np.float32(3.0)]
    """

    @custom_gradient
    def passing(*args: Any, **kwargs: Any) -> Any:
        result = f(*args, **kwargs)

        def grad(*dys: Any, variables: Any = None) -> Any:
            passed = dys if len(args) > 1 else dys[0]
            return (passed, [None] * len(variables)) if variables is not None else passed

        return result, grad

    @functools.wraps(f)
    def decorated(*args: Any, **kwargs: Any) -> Any:
        return passing(*args, **kwargs)

    return decorated
