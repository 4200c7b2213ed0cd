"""Tensors from a few numbers: zeros, ones, fill, range, linspace, one_hot, eye, meshgrid; and placeholders."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from headrace.core import dtypes
from headrace.core.dtypes import DType
from headrace.core.shape import TensorShape
from headrace.core.source import at
from headrace.eager.entry import learned
from headrace.graph import context, raw_ops
from headrace.graph.convert import constant, convert_to_tensor, located
from headrace.graph.infer import constant_value_as_shape
from headrace.graph.operation import Tensor
from headrace.graph.structures import SparseTensor
from headrace.library.scope import name_scope
from headrace.library.tensor.array import concat, expand_dims, reshape, shape_of, size, stack

_LARGEST_CONSTANT = 1000  # elements; more are filled in at run time, as TF1 does


# ---- zeros and ones


@learned
def zeros(shape: Any, dtype: Any = dtypes.float32, name: str | None = None) -> Tensor:
    """A tensor of zeros (empty strings, False): ``tf.zeros([3, 4], tf.int32)``.

    Args:
      shape: The shape, as a list, a TensorShape or an integer tensor.
      dtype: The type of the elements.
      name: A name for the op.

    Returns:
      A tensor of ``dtype``.

    >>> tf.zeros([2, 3])
    <tf.Tensor 'zeros:0' shape=(2, 3) dtype=float32>
    >>> tf.Session().run(tf.zeros([2], tf.int32))
    array([0, 0], dtype=int32)
    """
    dtype = dtypes.as_dtype(dtype).base_dtype
    zero = {dtypes.bool: False, dtypes.string: ""}.get(dtype, 0)
    return _filled(shape, zero, dtype, name, "zeros")


@learned
def ones(shape: Any, dtype: Any = dtypes.float32, name: str | None = None) -> Tensor:
    """A tensor of ones (True).

    Args:
      shape: The shape, as a list, a TensorShape or an integer tensor.
      dtype: The type of the elements.
      name: A name for the op.

    Returns:
      A tensor of ``dtype``.

    >>> tf.Session().run(tf.ones([2, 2], tf.int32))
    array([[1, 1],
           [1, 1]], dtype=int32)
    """
    dtype = dtypes.as_dtype(dtype).base_dtype
    return _filled(shape, True if dtype == dtypes.bool else 1, dtype, name, "ones")


def _filled(shape: Any, value: Any, dtype: DType, name: str | None, default: str) -> Tensor:
    with name_scope(name, default, [shape]) as scope:
        if not isinstance(shape, Tensor):
            dims = _static_dims(shape)
            if dims is not None and context.executing_eagerly():
                return raw_ops.Fill(dims, constant(value, dtype))
            if dims is not None and math.prod(dims) < _LARGEST_CONSTANT:
                return constant(value, dtype, dims, name=scope)
            shape = convert_to_tensor(shape if dims is None else TensorShape(dims), dtypes.int32)
        if shape.shape.ndims not in (None, 1):
            shape = reshape(shape, [-1])
        return raw_ops.Fill(shape, constant(value, dtype), name=scope)


def _static_dims(shape: Any) -> list[int] | None:
    """The sizes of a shape made of Python numbers; None when it holds tensors."""
    try:
        static_shape = TensorShape(shape)
    except (TypeError, ValueError):
        return None
    if not static_shape.is_fully_defined():
        error_class = ValueError if isinstance(shape, TensorShape) else TypeError
        raise error_class(
            f"Cannot convert a partially known TensorShape {static_shape} to a Tensor; use tf.shape for sizes known later"
        )
    return [d for d in static_shape.as_list() if d is not None]


@learned
def zeros_like(tensor: Any, dtype: Any = None, name: str | None = None, optimize: bool = True) -> Tensor:
    """Zeros of the shape (and dtype, unless given) of ``tensor``; ``optimize`` uses its static shape where known.

    Args:
      tensor: The tensor whose shape to take.
      dtype: The type of the elements; None for that of ``tensor``.
      name: A name for the op.
      optimize: Whether a known static shape gives a constant.

    Returns:
      A tensor of the shape of ``tensor``.

    >>> tf.Session().run(tf.zeros_like([[1, 2], [3, 4]]))
    array([[0, 0],
           [0, 0]], dtype=int32)
    """
    with name_scope(name, "zeros_like", [tensor]) as scope:
        tensor = convert_to_tensor(tensor, name="tensor")
        own = tensor.dtype.base_dtype
        dtype = own if dtype is None else dtypes.as_dtype(dtype).base_dtype
        if optimize and tensor.shape.is_fully_defined() and own != dtypes.variant:
            return zeros(tensor.shape, dtype, name=scope)
        if dtype != own:
            return zeros(shape_of(tensor, None, dtypes.int32, optimize), dtype, name=scope)
        return raw_ops.ZerosLike(tensor, name=scope)


@learned
def ones_like(tensor: Any, dtype: Any = None, name: str | None = None, optimize: bool = True) -> Tensor:
    """Ones of the shape (and dtype, unless given) of ``tensor``.

    Args:
      tensor: The tensor whose shape to take.
      dtype: The type of the elements; None for that of ``tensor``.
      name: A name for the op.
      optimize: Whether a known static shape gives a constant.

    Returns:
      A tensor of the shape of ``tensor``.

    >>> tf.Session().run(tf.ones_like([[1, 2], [3, 4]], dtype=tf.float32))
    array([[1., 1.],
           [1., 1.]], dtype=float32)
    """
    with name_scope(name, "ones_like", [tensor]) as scope:
        tensor = convert_to_tensor(tensor, name="tensor")
        dims = shape_of(tensor, None, dtypes.int32, optimize)
        filled = ones(dims, tensor.dtype if dtype is None else dtype, name=scope)
        filled.set_shape(tensor.shape)
        return filled


@learned
def fill(dims: Any, value: Any, name: str | None = None) -> Tensor:
    """A tensor of shape ``dims`` holding one scalar everywhere.

    Args:
      dims: The shape, as a list or an integer tensor.
      value: A scalar of any type.
      name: A name for the op.

    Returns:
      A tensor of the type of ``value``.

    >>> tf.Session().run(tf.fill([2, 3], 7))
    array([[7, 7, 7],
           [7, 7, 7]], dtype=int32)
    """
    return raw_ops.Fill(dims, value, name=name)


# ---- placeholders


def placeholder(dtype: Any, shape: Any = None, name: str | None = None) -> Tensor:
    """A value that every step must be fed: ``x = tf.placeholder(tf.float32, [None, 784])``.

    Args:
      dtype: The type of the values that will be fed.
      shape: The shape they have, with None for sizes that vary; None for any shape.
      name: A name for the op.

    Returns:
      A tensor without a value of its own.

    >>> x = tf.placeholder(tf.float32, [None, 3], name='x')
    >>> x
    <tf.Tensor 'x:0' shape=(?, 3) dtype=float32>
    >>> with tf.Session() as sess:
    ...     print(sess.run(x + 1.0, feed_dict={x: [[1, 2, 3]]}))
    [[2. 3. 4.]]
    """
    try:
        element_type = dtypes.as_dtype(dtype).base_dtype
    except (TypeError, ValueError) as e:
        raise located(TypeError(f"placeholder(dtype, shape): {e}"), at()) from None
    return raw_ops.Placeholder(dtype=element_type, shape=TensorShape(None) if shape is None else shape, name=name)


def placeholder_with_default(input: Any, shape: Any, name: str | None = None) -> Tensor:  # noqa: A002 - TF1's name
    """Passes ``input`` on unless another value is fed.

    Args:
      input: The value where nothing is fed.
      shape: The shape that values have, with None for sizes that vary.
      name: A name for the op.

    Returns:
      A tensor of the type of ``input``.

    >>> rate = tf.placeholder_with_default(0.5, [])
    >>> with tf.Session() as sess:
    ...     print(sess.run(rate), sess.run(rate, {rate: 0.25}))
    0.5 0.25
    """
    return raw_ops.PlaceholderWithDefault(input, shape=shape, name=name)


def sparse_placeholder(dtype: Any, shape: Any = None, name: str | None = None) -> SparseTensor:
    """Placeholders for the three parts of a SparseTensor; feed it a SparseTensorValue.

    Args:
      dtype: The type of the values that will be fed.
      shape: The dense shape, as a list or a tensor, with None or -1 for sizes that vary; None for any shape.
      name: A name for the three placeholders: they are called ``name/shape``, ``name/values`` and ``name/indices``.

    Returns:
      A SparseTensor.

    >>> x = tf.sparse_placeholder(tf.float32, [2, 3])
    >>> fed = tf.SparseTensorValue([[0, 1]], [5.0], [2, 3])
    >>> tf.Session().run(tf.sparse_tensor_to_dense(x), {x: fed})
    array([[0., 5., 0.],
           [0., 0., 0.]], dtype=float32)
    """

    def part(suffix: str) -> str | None:
        return None if name is None else f"{name}/{suffix}"

    declared: TensorShape | None = None
    if shape is None:
        dense_shape = placeholder(dtypes.int64, [None], part("shape"))
    else:
        if isinstance(shape, Tensor):
            declared = constant_value_as_shape(shape)
            default = raw_ops.Cast(shape, DstT=dtypes.int64) if shape.dtype != dtypes.int64 else shape
        else:
            if not isinstance(shape, (TensorShape, list, tuple, np.ndarray)):
                raise TypeError(f"shape must be a list of sizes, a TensorShape or a tensor, got {shape!r}. {at()}")
            declared = TensorShape([None if size == -1 else size for size in shape])
            dims = [-1 if size is None else size for size in declared.as_list()]
            default = constant(dims, dtypes.int64, name=part("shape_default") or "Const")
        dense_shape = placeholder_with_default(default, default.shape, part("shape"))
    rank = None if declared is None else declared.ndims
    values = placeholder(dtype, [None], part("values"))
    sparse = SparseTensor(placeholder(dtypes.int64, [None, rank], part("indices")), values, dense_shape)
    sparse._declared_shape = declared
    return sparse


# ---- sequences

_ORDER = (dtypes.int32, dtypes.int64, dtypes.float32, dtypes.float64)


@learned
def range(start: Any, limit: Any = None, delta: Any = 1, dtype: Any = None, name: str = "range") -> Tensor:  # noqa: A001
    """``tf.range(limit)`` or ``tf.range(start, limit, delta)``: numbers from start, below limit, delta apart.

    Args:
      start: The first number; with one argument only, the limit, and the first number is 0.
      limit: The end, which is not included.
      delta: The step between numbers; negative counts down.
      dtype: The type of the numbers; None for the widest type among the arguments.
      name: A name for the op.

    Returns:
      A 1-D tensor.

    >>> tf.Session().run(tf.range(2, 10, 3))
    array([2, 5, 8], dtype=int32)
    """
    if limit is None:
        start, limit = 0, start
    with name_scope(name, "Range", [start, limit, delta]) as scope:
        target = None if dtype is None else dtypes.as_dtype(dtype)
        parts = [
            v if isinstance(v, Tensor) else convert_to_tensor(v, target, name=part)
            for v, part in ((start, "start"), (limit, "limit"), (delta, "delta"))
        ]
        if target is None:
            element_types = [p.dtype.base_dtype for p in parts]
            target = max(element_types, key=lambda d: _ORDER.index(d) if d in _ORDER else -1)
        parts = [p if p.dtype.base_dtype == target else raw_ops.Cast(p, DstT=target) for p in parts]
        return raw_ops.Range(*parts, name=scope)


@learned
def lin_space(start: Any, stop: Any, num: Any, name: str | None = None) -> Tensor:
    """``num`` numbers evenly spaced from start to stop, both included.

    Args:
      start, stop: The first and the last number, scalars of one floating-point type.
      num: How many numbers.
      name: A name for the op.

    Returns:
      A 1-D tensor of the type of ``start``.

    >>> tf.Session().run(tf.linspace(0.0, 1.0, 5))
    array([0.  , 0.25, 0.5 , 0.75, 1.  ], dtype=float32)
    """
    return raw_ops.LinSpace(start, stop, num, name=name)


linspace = lin_space


@learned
def one_hot(
    indices: Any, depth: Any, on_value: Any = None, off_value: Any = None, axis: int | None = None, dtype: Any = None,
    name: str | None = None,
) -> Tensor:  # fmt: skip
    """``on_value`` at each index along a new dimension of ``depth``, ``off_value`` elsewhere (also for bad indices).

    Args:
      indices: A tensor of integers.
      depth: The size of the new dimension.
      on_value: The scalar at an index; None for 1.
      off_value: The scalar elsewhere; None for 0.
      axis: Where the new dimension is in the result; None or -1 for the end.
      dtype: The type of the result; None for that of ``on_value`` or ``off_value``, or float32.
      name: A name for the op.

    Returns:
      A tensor with one dimension more than ``indices``.

    >>> tf.Session().run(tf.one_hot([0, 2], depth=3))
    array([[1., 0., 0.],
           [0., 0., 1.]], dtype=float32)
    """
    with name_scope(name, "one_hot", [indices, depth, on_value, off_value, axis, dtype]) as scope:
        base_dtype = None if dtype is None else dtypes.as_dtype(dtype).base_dtype
        on = None if on_value is None else convert_to_tensor(on_value, preferred_dtype=base_dtype)
        off = None if off_value is None else convert_to_tensor(off_value, preferred_dtype=base_dtype)
        if base_dtype is not None:
            for value, label in ((on, "on_value"), (off, "off_value")):
                if value is not None and value.dtype.base_dtype != base_dtype:
                    raise TypeError(
                        f"dtype {value.dtype.name} of {label} does not match dtype parameter {base_dtype.name}"
                    )
        chosen = on if on is not None else off
        element_type = base_dtype or (dtypes.float32 if chosen is None else chosen.dtype.base_dtype)
        on = convert_to_tensor(1, element_type, name="on_value") if on is None else on
        off = convert_to_tensor(0, element_type, name="off_value") if off is None else off
        if on.dtype.base_dtype != off.dtype.base_dtype:
            raise TypeError(f"dtype {on.dtype!r} of on_value does not match dtype {off.dtype!r} of off_value")
        return raw_ops.OneHot(indices, depth, on, off, axis=-1 if axis is None else axis, name=scope)


@learned
def sequence_mask(lengths: Any, maxlen: Any = None, dtype: Any = dtypes.bool, name: str | None = None) -> Tensor:
    """``mask[..., j]`` is whether j < lengths[...]; ``maxlen`` defaults to the largest length.

    Args:
      lengths: A tensor of integers.
      maxlen: The size of the last dimension, a scalar; None for the largest of ``lengths``.
      dtype: The type of the result; numbers are 1 where the mask holds, else 0.
      name: A name for the op.

    Returns:
      A tensor of shape ``lengths.shape + [maxlen]``.

    >>> tf.Session().run(tf.sequence_mask([1, 3], 3))
    array([[ True, False, False],
           [ True,  True,  True]])
    """
    with name_scope(name, "SequenceMask", [lengths, maxlen]):
        lengths = convert_to_tensor(lengths)
        if maxlen is None:
            largest = raw_ops.Max(lengths, constant(np.arange(lengths.shape.ndims or 0, dtype=np.int32)))
            maxlen = raw_ops.Maximum(constant(0, largest.dtype), largest)
        else:
            maxlen = convert_to_tensor(maxlen)
        if maxlen.shape.ndims not in (None, 0):
            raise ValueError(f"maxlen must be scalar for sequence_mask, got shape {maxlen.shape}")
        element_type = maxlen.dtype
        row = raw_ops.Range(constant(0, element_type), maxlen, constant(1, element_type))
        column = raw_ops.Cast(expand_dims(lengths, -1), DstT=element_type)
        mask = raw_ops.Less(row, column)
        dtype = dtypes.as_dtype(dtype).base_dtype
        return mask if dtype == dtypes.bool else raw_ops.Cast(mask, DstT=dtype)


def meshgrid(*args: Any, **kwargs: Any) -> list[Tensor]:
    """Coordinate matrices from coordinate vectors, as numpy's: ``indexing`` is "xy" or "ij".

    Args:
      *args: 1-D tensors of coordinates.
      **kwargs: ``indexing``: "xy" (the default) exchanges the first two dimensions of the results, "ij" does not.
        ``name``: a name for the ops.

    Returns:
      A list with one tensor for each argument, all of one shape.

    >>> x, y = tf.meshgrid([1, 2], [30, 40, 50])
    >>> tf.Session().run(x + y)
    array([[31, 32],
           [41, 42],
           [51, 52]], dtype=int32)
    """
    indexing = kwargs.pop("indexing", "xy")
    name = kwargs.pop("name", "meshgrid")
    if kwargs:
        raise TypeError(f"'{next(iter(kwargs))}' is an invalid keyword argument for this function")
    if indexing not in ("xy", "ij"):
        raise ValueError(f"indexing parameter must be either 'xy' or 'ij', got {indexing!r}")
    with name_scope(name, "meshgrid", args):
        count = len(args)
        if not args:
            return []
        lines = [reshape(stack(x), [1] * i + [-1] + [1] * (count - i - 1)) for i, x in enumerate(args)]
        sizes = [size(x) for x in args]
        dtype = lines[0].dtype.base_dtype
        if indexing == "xy" and count > 1:
            lines[0] = reshape(lines[0], [1, -1] + [1] * (count - 2))
            lines[1] = reshape(lines[1], [-1, 1] + [1] * (count - 2))
            sizes[0], sizes[1] = sizes[1], sizes[0]
        everywhere = ones(sizes, dtype)
        return [raw_ops.Mul(x, everywhere, name="mul") for x in lines]


def eye(
    num_rows: Any,
    num_columns: Any = None,
    batch_shape: Any = None,
    dtype: Any = dtypes.float32,
    name: str | None = None,
) -> Tensor:
    """Identity matrices: ones on the diagonal, zeros elsewhere.

    Args:
      num_rows: The number of rows.
      num_columns: The number of columns; None for as many as rows.
      batch_shape: The leading dimensions of a batch of matrices; None for one matrix.
      dtype: The type of the elements.
      name: A name for the op.

    Returns:
      A tensor of shape ``batch_shape + [num_rows, num_columns]``.

    >>> tf.Session().run(tf.eye(2))
    array([[1., 0.],
           [0., 1.]], dtype=float32)
    """
    with name_scope(name, "eye", [num_rows, num_columns, batch_shape]):
        square = num_columns is None
        columns = num_rows if square else num_columns
        batch = [] if batch_shape is None else batch_shape
        fixed = all(isinstance(v, (int, np.integer)) for v in (num_rows, columns))
        if fixed and isinstance(batch, (list, tuple, TensorShape)) and not any(isinstance(b, Tensor) for b in batch):
            lead = TensorShape(batch).as_list()
            diagonal: Any = [*lead, min(num_rows, columns)]
            whole: Any = [*lead, num_rows, columns]
        else:
            lead_tensor = convert_to_tensor(batch, dtypes.int32, name="shape")
            shorter = raw_ops.Minimum(num_rows, columns)
            diagonal = concat([lead_tensor, [shorter]], 0)
            whole = None if square else concat([lead_tensor, [num_rows, columns]], 0)
        line = ones(diagonal, dtype)
        if square:
            return raw_ops.MatrixDiag(line, name="diag")
        return raw_ops.MatrixSetDiag(zeros(whole, dtype), line, name="set_diag")
