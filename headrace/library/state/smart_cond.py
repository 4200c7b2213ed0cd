"""Choices that may be known while building: a Python bool takes one branch, a tensor decides at every step."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from headrace.graph.infer import constant_value
from headrace.graph.operation import Tensor
from headrace.library.control.control_flow import cond
from headrace.library.state.variable import Variable


def smart_constant_value(pred: Any) -> bool | None:
    """The truth of ``pred`` where it is known now: a bool, 0, 1, or a constant tensor; None otherwise.

    Args:
      pred: A bool, 0, 1, a scalar bool tensor or a variable.

    Returns:
      True, False or None.

    >>> tf.contrib.framework.smart_constant_value(tf.constant(True))
    True
    """
    if isinstance(pred, bool):
        return pred
    if isinstance(pred, (Tensor, Variable)):
        value = constant_value(pred) if isinstance(pred, Tensor) else None
        return None if value is None else bool(value)
    if pred in (0, 1):  # also numpy's bools
        return bool(pred)
    raise TypeError(f"`pred` must be a Tensor, a Python bool, or 1 or 0. Found instead: {pred!r}")


def smart_cond(pred: Any, true_fn: Callable[[], Any], false_fn: Callable[[], Any], name: str | None = None) -> Any:
    """``true_fn()`` or ``false_fn()``, decided now where ``pred`` is known and by a conditional where it is a tensor.

    Args:
      pred: A bool, 0, 1, a scalar bool tensor or a variable.
      true_fn, false_fn: Functions without arguments that make and return the tensors of each branch.
      name: A name for the op.

    Returns:
      What the function returned; where both were built, the values of the one that is taken.

    >>> tf.contrib.framework.smart_cond(True, lambda: "taken", lambda: "not taken")
    'taken'
    """
    value = smart_constant_value(pred)
    if value is not None:
        return true_fn() if value else false_fn()
    return cond(pred, true_fn=true_fn, false_fn=false_fn, name=name)
