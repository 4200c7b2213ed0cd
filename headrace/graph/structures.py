"""Values made of several tensors: IndexedSlices (rows of a larger tensor) and SparseTensor (coordinates and values)."""

from __future__ import annotations

from typing import Any, NamedTuple

from headrace.core import dtypes
from headrace.core.dtypes import DType
from headrace.core.shape import TensorShape
from headrace.core.source import warn
from headrace.graph import convert, raw_ops
from headrace.graph.build import graph_of_inputs
from headrace.graph.infer import constant_value_as_shape
from headrace.graph.operation import Operation, Tensor, default_session


class Composite:
    """A value that one tensor stands for.  The tensor travels for it in and out of bodies.

    >>> issubclass(tf.data.experimental.Optional, tf.contrib.framework.nest.Composite)
    True
    """

    _variant_tensor: Any
    element_spec: Any

    @classmethod
    def _of(cls, variant: Any, element_spec: Any) -> Any:
        """The value that the tensor stands for."""
        raise NotImplementedError


class _Sparse:
    """What a value of indices and values has whatever its indices say."""

    __slots__ = ("_indices", "_values")
    _indices: Tensor
    _values: Tensor

    @property
    def values(self) -> Tensor:
        return self._values

    @property
    def indices(self) -> Tensor:
        return self._indices

    @property
    def shape(self) -> TensorShape:
        raise NotImplementedError

    def get_shape(self) -> TensorShape:
        return self.shape

    @property
    def op(self) -> Operation:
        return self._values.op

    @property
    def dtype(self) -> DType:
        return self._values.dtype

    @property
    def graph(self) -> Any:
        return self._values.graph


class IndexedSlices(_Sparse):
    """``values[i]`` belongs to row ``indices[i]`` of a tensor of ``dense_shape``; rows may repeat and then add up.

    Args:
      values: The rows.
      indices: The number of each row, a vector of integers.
      dense_shape: The shape of the whole tensor, a vector of integers; None if it is not known.

    >>> slices = tf.IndexedSlices(tf.constant([[1.0], [2.0]]), tf.constant([0, 2]), tf.constant([3, 1]))
    >>> tf.Session().run(tf.convert_to_tensor(slices)).ravel()
    array([1., 0., 2.], dtype=float32)
    """

    __slots__ = ("_dense_shape",)

    def __init__(self, values: Tensor, indices: Tensor, dense_shape: Tensor | None = None) -> None:
        self._values = values
        self._indices = indices
        self._dense_shape = dense_shape

    @property
    def dense_shape(self) -> Tensor | None:
        """The shape of the whole tensor, as a tensor; None if it is not known."""
        return self._dense_shape

    @property
    def shape(self) -> TensorShape:
        """What is known of the shape of the whole tensor."""
        return TensorShape(None) if self._dense_shape is None else constant_value_as_shape(self._dense_shape)

    @property
    def name(self) -> str:
        """The name of the tensor of rows."""
        return self._values.name

    @property
    def device(self) -> str:
        """The device of the tensor of rows."""
        return self._values.device

    def __neg__(self) -> IndexedSlices:
        return IndexedSlices(raw_ops.Neg(self._values), self._indices, self._dense_shape)

    def __repr__(self) -> str:
        shape = f", dense_shape={self._dense_shape}" if self._dense_shape is not None else ""
        return f"IndexedSlices(indices={self._indices}, values={self._values}{shape})"


class IndexedSlicesValue(NamedTuple):
    """An evaluated IndexedSlices."""

    values: Any
    indices: Any
    dense_shape: Any


def indexed_slices_to_tensor(
    value: IndexedSlices, dtype: Any = None, name: str | None = None, as_ref: bool = False
) -> Any:
    """Adds the rows up into a dense tensor; memory may be large."""
    if dtype is not None and not dtype.is_compatible_with(value.dtype):
        raise ValueError(
            f"Tensor conversion requested dtype {dtype.name} for IndexedSlices with dtype {value.dtype.name}"
        )
    if value.dense_shape is None:
        raise ValueError(
            f"Tensor conversion requested for IndexedSlices without dense_shape: {value!r}. "
            "Give dense_shape, or keep the slices sparse."
        )
    static = value.shape
    if not static.is_fully_defined():
        warn(
            "Converting sparse IndexedSlices to a dense Tensor of unknown shape. This may consume a large amount of memory."
        )
    elif (static.num_elements() or 0) >= 100_000_000:
        warn(
            f"Converting sparse IndexedSlices to a dense Tensor with {static.num_elements()} elements. "
            "This may consume a large amount of memory."
        )
    rows = raw_ops.StridedSlice(value.dense_shape, [0], [1], [1], shrink_axis_mask=1)
    return raw_ops.UnsortedSegmentSum(value.values, value.indices, rows, name=name or "UnsortedSegmentSum")


convert.register_tensor_conversion_function(IndexedSlices, indexed_slices_to_tensor, 100)


class SparseTensor(_Sparse):
    """A sparse tensor in coordinate form: ``indices`` [n, rank] int64, ``values`` [n], ``dense_shape`` [rank] int64.

    Args:
      indices: The place of each value, [n, rank] of int64; sorted by rows for most ops.
      values: The values, [n] of any type.
      dense_shape: The shape of the whole tensor, [rank] of int64.

    >>> sparse = tf.SparseTensor(indices=[[0, 1], [1, 0]], values=[5, 7], dense_shape=[2, 2])
    >>> tf.Session().run(tf.sparse_tensor_to_dense(sparse))
    array([[0, 5],
           [7, 0]], dtype=int32)
    """

    __slots__ = ("_declared_shape", "_dense_shape")

    def __init__(self, indices: Any, values: Any, dense_shape: Any) -> None:
        self._declared_shape: TensorShape | None = None  # what is known of a shape that is fed
        with graph_of_inputs([indices, values, dense_shape]).name_scope("SparseTensor"):
            self._indices = convert.convert_to_tensor(indices, dtypes.int64, name="indices")
            self._values = convert.convert_to_tensor(values, name="values")
            self._dense_shape = convert.convert_to_tensor(dense_shape, dtypes.int64, name="dense_shape")
        indices_shape = self._indices.shape.with_rank(2)
        values_shape = self._values.shape.with_rank(1)
        shape_shape = self._dense_shape.shape.with_rank(1)
        indices_shape[0].merge_with(values_shape[0])
        indices_shape[1].merge_with(shape_shape[0])

    @classmethod
    def from_value(cls, value: Any) -> SparseTensor:
        """A SparseTensorValue as a sparse tensor; a sparse tensor as it is."""
        if isinstance(value, SparseTensor):
            return value
        if isinstance(value, SparseTensorValue):
            return cls(value.indices, value.values, value.dense_shape)
        raise TypeError(f"Neither a SparseTensor nor SparseTensorValue: {value!r}.")

    @property
    def dense_shape(self) -> Tensor:
        """The shape of the whole tensor, as a tensor."""
        return self._dense_shape

    @property
    def shape(self) -> TensorShape:
        """What is known of the shape of the whole tensor."""
        if self._declared_shape is not None:
            return self._declared_shape
        return constant_value_as_shape(self._dense_shape)

    def eval(self, feed_dict: Any = None, session: Any = None) -> SparseTensorValue:
        """Computes the three parts in ``session`` or the default session."""
        indices, values, shape = _evaluate([self._indices, self._values, self._dense_shape], feed_dict, session)
        return SparseTensorValue(indices, values, shape)

    def __repr__(self) -> str:
        return f"SparseTensor(indices={self._indices}, values={self._values}, dense_shape={self._dense_shape})"


class SparseTensorValue(NamedTuple):
    """An evaluated SparseTensor."""

    indices: Any
    values: Any
    dense_shape: Any


def _evaluate(tensors: list[Tensor], feed_dict: Any, session: Any) -> Any:
    return default_session(session, tensors[0].graph, "eval").run(tensors, feed_dict)


def _refuse_sparse(value: Any, dtype: Any = None, name: str | None = None, as_ref: bool = False) -> Any:
    raise TypeError(
        f"Failed to convert {value!r} to a Tensor: a SparseTensor is not dense. Use tf.sparse_tensor_to_dense."
    )


convert.register_tensor_conversion_function((SparseTensor, SparseTensorValue), _refuse_sparse, 50)


def convert_to_tensor_or_indexed_slices(value: Any, dtype: Any = None, name: str | None = None) -> Any:
    """Leaves IndexedSlices as they are, converts everything else.

    Args:
      value: A `tf.IndexedSlices`, or anything that `tf.convert_to_tensor` takes.
      dtype: The type of the elements; None for that of `value`.
      name: A name for the op, if one is made.

    Returns:
      A `tf.Tensor` or a `tf.IndexedSlices`.

    >>> tf.convert_to_tensor_or_indexed_slices([1.0, 2.0]).shape.as_list()
    [2]
    """
    if isinstance(value, IndexedSlices):
        if dtype is not None and not dtypes.as_dtype(dtype).is_compatible_with(value.dtype):
            raise ValueError(f"Tensor conversion requested dtype {dtypes.as_dtype(dtype).name} for {value!r}")
        return value
    return convert.convert_to_tensor(value, dtype, name)


def convert_to_tensor_or_sparse_tensor(value: Any, dtype: Any = None, name: str | None = None) -> Any:
    """Leaves sparse tensors as they are, converts everything else.

    Args:
      value: A `tf.SparseTensor` or SparseTensorValue, or anything that `tf.convert_to_tensor` takes.
      dtype: The type of the elements; None for that of `value`.
      name: A name for the op, if one is made.

    Returns:
      A `tf.Tensor` or a `tf.SparseTensor`.

    >>> tf.convert_to_tensor_or_sparse_tensor([1.0, 2.0]).shape.as_list()
    [2]
    """
    if isinstance(value, SparseTensorValue):
        value = SparseTensor.from_value(value)
    if isinstance(value, SparseTensor):
        if dtype is not None and not dtypes.as_dtype(dtype).is_compatible_with(value.dtype):
            raise RuntimeError(f"Sparse dtype: requested = {dtypes.as_dtype(dtype).name}, actual = {value.dtype.name}")
        return value
    return convert.convert_to_tensor(value, dtype, name)
