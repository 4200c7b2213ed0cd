"""What counts as a tensor."""

from __future__ import annotations

from typing import Any

from headrace.graph.operation import Tensor
from headrace.graph.structures import IndexedSlices, SparseTensor
from headrace.library.state.variable import Variable


def is_tensor(x: Any) -> bool:
    """Whether this is a tensor, a sparse one, or a variable: what ops take as it is.

    Args:
      x: Anything.

    Returns:
      A Python bool.

    >>> tf.is_tensor(tf.constant(1)), tf.is_tensor([1, 2])
    (True, False)
    """
    return isinstance(x, (Tensor, SparseTensor, IndexedSlices, Variable))
