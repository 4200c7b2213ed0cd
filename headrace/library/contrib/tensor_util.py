"""contrib.framework.tensor_util: checks of shapes and types, and sums of several tensors."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from headrace.core.shape import as_shape
from headrace.core.source import at
from headrace.graph.convert import convert_to_tensor
from headrace.graph.operation import Tensor
from headrace.graph.structures import SparseTensor, convert_to_tensor_or_sparse_tensor
from headrace.library.control.assertion import Assert
from headrace.library.control.assertion import assert_same_float_dtype as assert_same_float_dtype
from headrace.library.control.assertion import assert_scalar as assert_scalar
from headrace.library.control.dependency import identity
from headrace.library.losses.weights import remove_squeezable_dimensions as remove_squeezable_dimensions
from headrace.library.numeric import math, reduction
from headrace.library.scope import control_dependencies, name_scope
from headrace.library.state.tensor_value import is_tensor as is_tensor
from headrace.library.tensor import array


def reduce_sum_n(tensors: Sequence[Any], name: str | None = None) -> Tensor:
    """The sum of all elements of all tensors.

    Args:
      tensors: A list of tensors of numbers of one type.
      name: A name for the op.

    Returns:
      A scalar.

    >>> print(tf.Session().run(tf.contrib.framework.reduce_sum_n([[1.0, 2.0], 3.0])))
    6.0
    """
    if not tensors:
        raise ValueError(f"No tensors provided. {at()}")
    sums = [reduction.reduce_sum(tensor, name=f"tensor{i}/sum") for i, tensor in enumerate(tensors)]
    return sums[0] if len(sums) == 1 else math.add_n(sums, name=name or "reduce_sum_n")


def assert_scalar_int(tensor: Any, name: str | None = None) -> Tensor:
    """The tensor, if it is an integer of rank 0; else ValueError.

    Args:
      tensor: A tensor.
      name: A name for the ops.

    Returns:
      The tensor.

    >>> tf.contrib.framework.assert_scalar_int(tf.constant(3)).shape
    TensorShape([])
    """
    with name_scope(name, "assert_scalar_int", [tensor]):
        tensor = convert_to_tensor(tensor)
        if not tensor.dtype.base_dtype.is_integer:
            raise ValueError(f"Expected integer type for {tensor.name}, received type: {tensor.dtype}. {at()}")
        if tensor.shape.ndims != 0:
            raise ValueError(f"Expected scalar shape for {tensor.name}, received shape: {tensor.shape}. {at()}")
        return tensor


def with_shape(expected_shape: Any, tensor: Any) -> Any:
    """The tensor with this shape; checked now as far as it is known, else when the graph runs.

    Args:
      expected_shape: A list of integers, a `tf.TensorShape`, or a tensor.
      tensor: A tensor.

    Returns:
      The tensor, or one that is the same and checks its shape.

    >>> tf.contrib.framework.with_shape([2], tf.constant([1, 2])).shape.as_list()
    [2]
    """
    tensor = convert_to_tensor_or_sparse_tensor(tensor)
    if isinstance(tensor, SparseTensor):
        raise ValueError(f"SparseTensor not supported, got {tensor} {at()}")
    if isinstance(expected_shape, Tensor):
        actual = array.shape(tensor)
        same = reduction.reduce_all(math.equal(actual, math.cast(expected_shape, "int32")))
        wrong = [f"Wrong shape for {tensor.name} [expected] [actual].", expected_shape, actual]
        with control_dependencies([Assert(same, wrong)]):
            return identity(tensor)
    expected = as_shape(expected_shape)
    if not tensor.shape.is_compatible_with(expected):
        raise ValueError(f"Invalid shape for {tensor.name}: expected {expected}, got {tensor.shape}. {at()}")
    if tensor.shape.is_fully_defined() or not expected.is_fully_defined():
        tensor.set_shape(expected)
        return tensor
    checked = with_shape(convert_to_tensor(expected.as_list(), "int32"), tensor)
    checked.set_shape(expected)
    return checked


def with_same_shape(expected_tensor: Any, tensor: Any) -> Any:
    """The tensor with the shape of another one; see `with_shape`.

    Args:
      expected_tensor: A tensor.
      tensor: A tensor.

    Returns:
      The second tensor, or one that is the same and checks its shape.

    >>> tf.contrib.framework.with_same_shape(tf.zeros([2]), tf.constant([1, 2])).shape.as_list()
    [2]
    """
    expected = convert_to_tensor(expected_tensor)
    shape = expected.shape
    return with_shape(shape if shape.is_fully_defined() else array.shape(expected), tensor)
