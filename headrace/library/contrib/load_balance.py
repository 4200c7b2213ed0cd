"""contrib.training: which parameter server gets a variable, by how much it has already."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from typing import Any

import numpy as np


def byte_size_load_fn(op: Any) -> float:
    """The bytes that a variable, or the output of another operation, takes; its shape must be known.

    Args:
      op: An operation with one output, such as that of a variable.

    Returns:
      The number of bytes, a float.

    >>> tf.contrib.training.byte_size_load_fn(tf.Variable(tf.zeros([10])).op)
    40.0
    """
    if len(op.outputs) != 1:
        raise ValueError(f"Op {op} must have a single output")
    output = op.outputs[0]
    dtype = op.get_attr("dtype") if op.type == "VarHandleOp" else output.dtype.base_dtype
    if not output.shape.is_fully_defined():
        raise ValueError(f"The shape of {output.name}, {output.shape}, must be known to say how many bytes it takes")
    return float(output.shape.num_elements() * dtype.size)


class GreedyLoadBalancingStrategy:
    """Gives each variable to the task with the least load: the ``ps_strategy`` of ``tf.train.replica_device_setter``.

    ``load_fn(op)`` says how heavy an operation is.

    Args:
      num_tasks: The number of tasks.
      load_fn: A function from an operation to a number, such as `tf.contrib.training.byte_size_load_fn`.

    >>> strategy = tf.contrib.training.GreedyLoadBalancingStrategy(2, tf.contrib.training.byte_size_load_fn)
    >>> [strategy(tf.Variable(tf.zeros(shape)).op) for shape in ([100], [10], [20], [90])]
    [0, 1, 1, 1]
    """

    def __init__(self, num_tasks: int, load_fn: Callable[[Any], float]) -> None:
        self._num_tasks = num_tasks
        self._load_fn = load_fn
        self._ps_loads = np.zeros(num_tasks)

    def __call__(self, op: Any) -> int:
        """The number of the task the operation goes to."""
        task = int(np.argmin(self._ps_loads))
        self._ps_loads[task] += self._load_fn(op)
        return task


class RandomStrategy:
    """Gives each variable to a task chosen by a hash of its name and ``seed``, the same in every process.

    Args:
      num_ps_tasks: The number of tasks.
      seed: Another seed gives another choice.

    >>> strategy = tf.contrib.training.RandomStrategy(2)
    >>> strategy(tf.Variable(0.0, name="bias").op) in (0, 1)
    True
    """

    def __init__(self, num_ps_tasks: int, seed: int = 0) -> None:
        self._num_tasks = num_ps_tasks
        self._seed = seed

    def __call__(self, op: Any) -> int:
        """The number of the task the operation goes to."""
        digest = hashlib.md5(f"{op.name}_{self._seed}".encode(), usedforsecurity=False)
        return int(digest.hexdigest(), 16) % self._num_tasks
