"""The older way to a partitioned variable: its pieces, counted along each dimension."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from headrace.core import dtypes
from headrace.graph import context
from headrace.library.state.variable_scope import _get_default_variable_store, variable_scope


def create_partitioned_variables(
    shape: Sequence[int], slicing: Sequence[int], initializer: Any, dtype: Any = dtypes.float32, trainable: bool = True,
    collections: Any = None, name: str | None = None, reuse: Any = None,
) -> list[Any]:  # fmt: skip
    """The shards of a variable cut into ``slicing[i]`` pieces along dimension i (only one may be cut).

    Args:
      shape: The shape of the whole.
      slicing: The number of pieces along each dimension.
      initializer: A function of shape and dtype, or a tensor of the whole.
      dtype: The type of the elements.
      trainable: Whether optimizers change the pieces.
      collections: The collections to add the pieces to; None for GLOBAL_VARIABLES.
      name: The name of the whole; None for "PartitionedVariable", made unique.
      reuse: True shares variables, ``tf.AUTO_REUSE`` shares or creates; None or False for the outer scope's.

    Returns:
      A list of variables.

    >>> pieces = tf.create_partitioned_variables([4, 2], [2, 1], tf.zeros_initializer(), name="w")
    >>> [v.name for v in pieces]
    ['w/part_0:0', 'w/part_1:0']
    """
    if len(shape) != len(slicing):
        raise ValueError(
            "The 'shape' and 'slicing' of a partitioned Variable must have the same length: "
            f"shape: {shape}, slicing: {slicing}"
        )
    if not shape:
        raise ValueError(f"A partitioned Variable must have rank at least 1: shape: {shape}")
    with variable_scope(name, "PartitionedVariable", reuse=reuse) as scope:
        with context.get_default_graph().name_scope(None):
            whole = _get_default_variable_store().get_variable(
                scope.name, shape=shape, dtype=dtype, initializer=initializer if initializer is not None else scope.initializer,
                regularizer=scope.regularizer, reuse=scope.reuse or False, trainable=trainable, collections=collections,
                caching_device=scope.caching_device, partitioner=lambda **_: list(slicing), constraint=scope.constraint,
            )  # fmt: skip
        return list(whole)
