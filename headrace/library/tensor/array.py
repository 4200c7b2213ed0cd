"""TF1's functions on shapes and whole tensors: shape, reshape, transpose, concat, split, stack, tile, pad, reverse.

What is decided here is what TF1 decides in Python: defaults, deprecated spellings, constants where a static shape
already answers.  Everything else is one node.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from headrace.core import dtypes
from headrace.core.dtypes import DType
from headrace.core.shape import Dimension, TensorShape
from headrace.core.source import at
from headrace.eager.entry import learned
from headrace.graph import raw_ops
from headrace.graph.convert import constant, convert_to_tensor
from headrace.graph.infer import constant_value
from headrace.graph.operation import Tensor
from headrace.graph.structures import SparseTensor, SparseTensorValue
from headrace.library.argument import either
from headrace.library.scope import name_scope

# ---- questions about shapes


def shape(input: Any, name: str | None = None, out_type: Any = dtypes.int32) -> Tensor:  # noqa: A002 - TF1's name
    """The shape as a 1-D tensor: ``tf.shape(images)[0]`` is the size of the batch at hand.

    Args:
      input: A tensor or a SparseTensor.
      name: A name for the op.
      out_type: The type of the result: ``tf.int32`` or ``tf.int64``.

    Returns:
      A tensor of ``out_type`` with one size for each dimension; a constant where the static shape is complete.

    >>> x = tf.placeholder(tf.float32, [None, 3])
    >>> tf.Session().run(tf.shape(x), {x: np.zeros((2, 3))})
    array([2, 3], dtype=int32)
    """
    return shape_of(input, name, dtypes.as_dtype(out_type), optimize=True)


def shape_of(input: Any, name: str | None, out_type: DType, optimize: bool) -> Tensor:  # noqa: A002
    """``optimize``: a constant where the static shape is complete."""
    with name_scope(name, "Shape", [input]) as scope:
        if isinstance(input, (SparseTensor, SparseTensorValue)):
            return raw_ops.Cast(input.dense_shape, DstT=out_type)
        tensor = convert_to_tensor(input, name="input")
        if optimize and tensor.shape.is_fully_defined():
            return constant(tensor.shape.as_list(), out_type, name=scope)
        return raw_ops.Shape(tensor, out_type=out_type, name=scope)


def shape_n(input: Sequence[Any], out_type: Any = dtypes.int32, name: str | None = None) -> list[Tensor]:  # noqa: A002
    """The shapes of several tensors.

    Args:
      input: A list of tensors of one type.
      out_type: The type of the results: ``tf.int32`` or ``tf.int64``.
      name: A name for the op.

    Returns:
      A list with the shape of each tensor, as a 1-D tensor of ``out_type``.

    >>> tf.Session().run(tf.shape_n([[1, 2, 3], [[4], [5]]]))
    [array([3], dtype=int32), array([2, 1], dtype=int32)]
    """
    return raw_ops.ShapeN(input, out_type=out_type, name=name)


def size(input: Any, name: str | None = None, out_type: Any = dtypes.int32) -> Tensor:  # noqa: A002 - TF1's name
    """The number of elements.

    Args:
      input: A tensor or a SparseTensor, whose missing elements count too.
      name: A name for the op.
      out_type: The type of the result: ``tf.int32`` or ``tf.int64``.

    Returns:
      A scalar of ``out_type``; a constant where the static shape is complete.

    >>> tf.Session().run(tf.size([[1, 2, 3], [4, 5, 6]]))
    np.int32(6)
    """
    out_type = dtypes.as_dtype(out_type)
    with name_scope(name, "Size", [input]) as scope:
        if isinstance(input, (SparseTensor, SparseTensorValue)):
            return raw_ops.Prod(raw_ops.Cast(input.dense_shape, DstT=out_type), 0, name=scope)
        tensor = convert_to_tensor(input)
        count = tensor.shape.num_elements()
        if count is not None:
            return constant(count, out_type, name=scope)
        return raw_ops.Size(tensor, out_type=out_type, name=scope)


def rank(input: Any, name: str | None = None) -> Tensor:  # noqa: A002 - TF1's name
    """The number of dimensions.

    Args:
      input: A tensor or a SparseTensor.
      name: A name for the op.

    Returns:
      A scalar of int32; a constant where the rank is known.

    >>> tf.Session().run(tf.rank([[1, 2, 3], [4, 5, 6]]))
    np.int32(2)
    """
    with name_scope(name, "Rank", [input]) as scope:
        if isinstance(input, (SparseTensor, SparseTensorValue)):
            return raw_ops.Size(input.dense_shape, name=scope)
        tensor = convert_to_tensor(input)
        if tensor.shape.ndims is not None:
            return constant(tensor.shape.ndims, dtypes.int32, name=scope)
        return raw_ops.Rank(tensor, name=scope)


def get_static_value(tensor: Any, partial: bool = False) -> Any:
    """The value as an array if the graph alone determines it, else None; ``partial`` lets single elements be None.

    Args:
      tensor: The tensor to look at.
      partial: Whether a 1-D value may come back with None in place of the elements that are not known.

    Returns:
      A numpy array, or None.

    >>> tf.get_static_value(tf.constant([1, 2]))
    array([1, 2], dtype=int32)
    >>> tf.get_static_value(tf.placeholder(tf.int32)) is None
    True
    """
    return constant_value(tensor, partial)


# ---- the same elements under another shape


@learned
def reshape(tensor: Any, shape: Any, name: str | None = None) -> Tensor:
    """The elements of ``tensor`` in another shape; one size may be -1: ``tf.reshape(x, [-1, 784])``.

    Args:
      tensor: A tensor.
      shape: The new sizes, as a list or an integer tensor.  A -1 stands for the size that keeps the number of elements.
      name: A name for the op.

    Returns:
      A tensor of the type of ``tensor``, with its elements in the same order.

    >>> tf.Session().run(tf.reshape([1, 2, 3, 4, 5, 6], [2, 3]))
    array([[1, 2, 3],
           [4, 5, 6]], dtype=int32)
    >>> tf.reshape(tf.zeros([4, 5, 6]), [4, -1]).shape
    TensorShape([Dimension(4), Dimension(30)])
    """
    return raw_ops.Reshape(tensor, shape, name=name)


@learned
def expand_dims(input: Any, axis: Any = None, name: str | None = None, dim: Any = None) -> Tensor:  # noqa: A002
    """Inserts a dimension of size one before ``axis`` (negative: counted from the end).

    Args:
      input: A tensor.
      axis: Where the new dimension is in the result; -1 puts it last.
      name: A name for the op.
      dim: The deprecated name of ``axis``.

    Returns:
      A tensor with the elements of ``input`` and one dimension more.

    >>> tf.expand_dims(tf.zeros([2, 3]), 1).shape
    TensorShape([Dimension(2), Dimension(1), Dimension(3)])
    """
    axis = either("axis", axis, "dim", dim)
    if axis is None:
        raise ValueError("Must specify an axis argument to tf.expand_dims()")
    return raw_ops.ExpandDims(input, axis, name=name)


@learned
def squeeze(input: Any, axis: Any = None, name: str | None = None, squeeze_dims: Any = None) -> Tensor:  # noqa: A002
    """Removes dimensions of size one: those in ``axis``, or all of them.

    Args:
      input: A tensor.
      axis: The dimensions to remove, a number or a list; each must have size one.  None for all of size one.
      name: A name for the op.
      squeeze_dims: The deprecated name of ``axis``.

    Returns:
      A tensor with the elements of ``input`` and fewer dimensions.

    >>> tf.squeeze(tf.zeros([1, 3, 1])).shape
    TensorShape([Dimension(3)])
    >>> tf.squeeze(tf.zeros([1, 3, 1]), axis=[2]).shape
    TensorShape([Dimension(1), Dimension(3)])
    """
    axis = either("axis", axis, "squeeze_dims", squeeze_dims)
    if axis is None:
        axis = []
    elif np.isscalar(axis):
        axis = [axis]
    return raw_ops.Squeeze(input, squeeze_dims=axis, name=name)


@learned
def transpose(a: Any, perm: Any = None, name: str = "transpose", conjugate: bool = False) -> Tensor:
    """Permutes dimensions; without ``perm`` their order is reversed.

    Args:
      a: A tensor.
      perm: For each dimension of the result, the dimension of ``a`` that it was; None reverses the order.
      name: A name for the op.
      conjugate: Whether complex numbers are conjugated too.

    Returns:
      A tensor of the type of ``a``.

    >>> tf.Session().run(tf.transpose([[1, 2, 3], [4, 5, 6]]))
    array([[1, 4],
           [2, 5],
           [3, 6]], dtype=int32)
    >>> tf.transpose(tf.zeros([2, 3, 4]), [0, 2, 1]).shape
    TensorShape([Dimension(2), Dimension(4), Dimension(3)])
    """
    with name_scope(name, "transpose", [a]) as scope:
        a = convert_to_tensor(a, name="a")
        transpose_op = raw_ops.ConjugateTranspose if conjugate and a.dtype.base_dtype.is_complex else raw_ops.Transpose
        if perm is not None:
            return transpose_op(a, perm, name=scope)
        ndims = a.shape.ndims
        if ndims is not None:
            return transpose_op(a, np.arange(ndims - 1, -1, -1, dtype=np.int32), name=scope)
        count = raw_ops.Rank(a)
        backwards = raw_ops.Sub(raw_ops.Sub(count, 1, name="sub"), raw_ops.Range(0, count, 1), name="sub")
        turned: Tensor = transpose_op(a, backwards, name=scope)
        turned.set_shape(TensorShape(None))
        return turned


@learned
def matrix_transpose(a: Any, name: str = "matrix_transpose", conjugate: bool = False) -> Tensor:
    """Exchanges the last two dimensions.

    Args:
      a: A tensor of rank 2 or more: one matrix, or a batch of them.
      name: A name for the op.
      conjugate: Whether complex numbers are conjugated too.

    Returns:
      A tensor of the type of ``a``.

    >>> tf.Session().run(tf.matrix_transpose([[[1, 2], [3, 4]]]))
    array([[[1, 3],
            [2, 4]]], dtype=int32)
    """
    with name_scope(name, "matrix_transpose", [a]):
        a = convert_to_tensor(a, name="a")
        ndims = a.shape.ndims
        if ndims is not None:
            if ndims < 2:
                raise ValueError(f"Argument 'a' should be a (batch) matrix, with rank >= 2. Found: {a.shape}")
            return transpose(a, [*range(ndims - 2), ndims - 1, ndims - 2], conjugate=conjugate)
        count = raw_ops.Rank(a)
        batch = raw_ops.Range(0, raw_ops.Sub(count, 2, name="sub"), 1)
        last = [raw_ops.Sub(count, 1, name="sub"), raw_ops.Sub(count, 2, name="sub")]
        return transpose(a, concat([batch, last], 0), conjugate=conjugate)


def invert_permutation(x: Any, name: str | None = None) -> Tensor:
    """The permutation y with y[x[i]] = i.

    Args:
      x: A 1-D tensor of int32 or int64 with each of 0 to n - 1 once.
      name: A name for the op.

    Returns:
      A tensor of the type and shape of ``x``.

    >>> tf.Session().run(tf.invert_permutation([2, 0, 1]))
    array([1, 2, 0], dtype=int32)
    """
    return raw_ops.InvertPermutation(x, name=name)


# ---- joining and cutting


@learned
def concat(values: Any, axis: Any, name: str = "concat") -> Tensor:
    """Joins tensors along an existing dimension: ``tf.concat([a, b], 1)``.

    Args:
      values: A list of tensors of one type, whose sizes differ along ``axis`` at most.
      axis: The dimension to join along; negative counts from the end.
      name: A name for the op.

    Returns:
      A tensor of the type of ``values``.

    >>> tf.Session().run(tf.concat([[[1, 2]], [[3, 4]]], axis=0))
    array([[1, 2],
           [3, 4]], dtype=int32)
    """
    if isinstance(axis, (list, tuple)) and isinstance(values, int):
        raise TypeError(f"concat takes the values first and then the axis: tf.concat(values, {values}) {at()}")
    if not isinstance(values, (list, tuple)):
        values = [values]
    if len(values) == 1:
        with name_scope(name):
            dim = convert_to_tensor(axis, name="concat_dim", dtype=dtypes.int32)
            dim.shape.assert_is_compatible_with(TensorShape([]))
            return raw_ops.Identity(values[0], name=name)
    return raw_ops.ConcatV2(list(values), axis, name=name)


@learned
def split(
    value: Any, num_or_size_splits: Any, axis: Any = 0, num: int | None = None, name: str = "split"
) -> list[Tensor]:
    """Cuts along ``axis``: a number gives equal parts, a list their sizes (one may be -1).

    Args:
      value: The tensor to cut.
      num_or_size_splits: The number of equal parts, or a 1-D list or tensor with the size of each part.
      axis: The dimension to cut; negative counts from the end.
      num: The number of parts, where it cannot be read off a tensor of sizes.
      name: A name for the op.

    Returns:
      A list of tensors of the type of ``value``.

    >>> a, b = tf.split([[1, 2, 3, 4]], 2, axis=1)
    >>> tf.Session().run([a, b])
    [array([[1, 2]], dtype=int32), array([[3, 4]], dtype=int32)]
    """
    if isinstance(axis, (list, tuple)) or (isinstance(axis, Tensor) and axis.shape.ndims not in (None, 0)):
        raise ValueError(
            f"split takes the value first and the axis last: tf.split(value, number, axis), got {axis!r} {at()}"
        )
    if isinstance(num_or_size_splits, (int, np.integer, Dimension)):
        return raw_ops.Split(axis, value, num_split=int(num_or_size_splits), name=name)
    sizes = convert_to_tensor(num_or_size_splits)
    if sizes.shape.ndims == 0:
        raise ValueError("Rank-0 tensors are not supported as the num_or_size_splits argument to split.")
    if num is None:
        num = sizes.shape.tuple[0] if sizes.shape.tuple else None
        if num is None:
            raise ValueError(f"Cannot infer argument `num` from shape {num_or_size_splits}")
    return raw_ops.SplitV(value, sizes, axis, num_split=num, name=name)


@learned
def stack(values: Any, axis: int = 0, name: str = "stack") -> Tensor:
    """Joins tensors along a new dimension: ``tf.stack([a, b])`` has shape [2, ...].

    Args:
      values: A list of tensors of one type and shape.
      axis: Where the new dimension is in the result; negative counts from the end.
      name: A name for the op.

    Returns:
      A tensor with one dimension more than each of ``values``.

    >>> tf.Session().run(tf.stack([[1, 2], [3, 4]], axis=1))
    array([[1, 3],
           [2, 4]], dtype=int32)
    """
    if axis == 0:
        try:
            return convert_to_tensor(values, name=name)
        except (TypeError, ValueError):
            pass  # not convertible as one; the node below says why, or succeeds
    if isinstance(values, (list, tuple)) and values and isinstance(values[0], (Tensor, np.ndarray)):
        ndims = TensorShape(values[0].shape).ndims
        if ndims is not None and not -ndims - 1 <= axis <= ndims:
            raise ValueError(f"axis = {axis} not in [{-ndims - 1}, {ndims + 1})")
    return raw_ops.Pack(values, axis=axis, name=name)


def parallel_stack(values: Sequence[Any], name: str = "parallel_stack") -> Tensor:
    """``stack`` along the first dimension, for tensors whose shapes are known.

    Args:
      values: A list of tensors of one type and one known shape.
      name: A name for the op.

    Returns:
      A tensor of shape ``[len(values), ...]``.

    >>> tf.Session().run(tf.parallel_stack([[1, 2], [3, 4]]))
    array([[1, 2],
           [3, 4]], dtype=int32)
    """
    with name_scope(name, "parallel_stack", values):
        first = convert_to_tensor(values[0])
        return raw_ops.ParallelConcat(
            [raw_ops.ExpandDims(v, 0) for v in values], shape=TensorShape([len(values)]).concatenate(first.shape)
        )


@learned
def unstack(value: Any, num: int | None = None, axis: int = 0, name: str = "unstack") -> list[Tensor]:
    """The inverse of ``stack``: a list with one tensor for each index along ``axis``.

    Args:
      value: The tensor to take apart.
      num: The size of the dimension, where the static shape does not have it.
      axis: The dimension to unstack; negative counts from the end.
      name: A name for the op.

    Returns:
      A list of tensors with one dimension less than ``value``.

    >>> a, b = tf.unstack([[1, 2], [3, 4]])
    >>> tf.Session().run([a, b])
    [array([1, 2], dtype=int32), array([3, 4], dtype=int32)]
    """
    if num is None:
        value = convert_to_tensor(value)
        dims = value.shape.tuple
        if dims is not None:
            if not -len(dims) <= axis < len(dims):
                raise ValueError(f"axis = {axis} not in [{-len(dims)}, {len(dims)})")
            num = dims[axis]
        if num is None:
            raise ValueError(f"Cannot infer argument `num` from shape {value.shape}")
    return raw_ops.Unpack(value, num=num, axis=axis, name=name)


# ---- repeating, padding, reversing


@learned
def tile(input: Any, multiples: Any, name: str | None = None) -> Tensor:  # noqa: A002 - TF1's name
    """Repeats the tensor ``multiples[i]`` times along dimension i.

    Args:
      input: A tensor.
      multiples: How often to repeat along each dimension, as a list or an integer tensor.
      name: A name for the op.

    Returns:
      A tensor of the type of ``input``.

    >>> tf.Session().run(tf.tile([[1, 2]], [2, 2]))
    array([[1, 2, 1, 2],
           [1, 2, 1, 2]], dtype=int32)
    """
    return raw_ops.Tile(input, multiples, name=name)


@learned
def pad(
    tensor: Any, paddings: Any, mode: str = "CONSTANT", name: str | None = None, constant_values: Any = 0
) -> Tensor:
    """Pads each dimension with ``paddings[i]`` = [before, after]; modes CONSTANT, REFLECT and SYMMETRIC.

    Args:
      tensor: A tensor.
      paddings: For each dimension a pair: how many elements to put before and after it.
      mode: "CONSTANT" fills with ``constant_values``, "REFLECT" mirrors without repeating the edge, "SYMMETRIC" repeats
        it.
      name: A name for the op.
      constant_values: The scalar to fill with.

    Returns:
      A tensor of the type of ``tensor``.

    >>> tf.Session().run(tf.pad([[1, 2]], [[0, 1], [1, 1]]))
    array([[0, 1, 2, 0],
           [0, 0, 0, 0]], dtype=int32)
    """
    mode = mode.upper()
    if mode == "CONSTANT":
        if not isinstance(constant_values, Tensor) and np.isscalar(constant_values) and constant_values == 0:
            padded: Tensor = raw_ops.Pad(tensor, paddings, name=name)
        else:
            padded = raw_ops.PadV2(tensor, paddings, constant_values, name=name)
    elif mode in ("REFLECT", "SYMMETRIC"):
        padded = raw_ops.MirrorPad(tensor, paddings, mode=mode, name=name)
    else:
        raise ValueError(
            'Value of argument `mode` expected to be one of "CONSTANT", "REFLECT", or "SYMMETRIC". '
            f"Received `mode` = {mode}"
        )
    return padded


@learned
def reverse(tensor: Any, axis: Any, name: str | None = None) -> Tensor:
    """Reverses the order along the dimensions in ``axis``.

    Args:
      tensor: A tensor.
      axis: A list of the dimensions to reverse; negative ones count from the end.
      name: A name for the op.

    Returns:
      A tensor of the type and shape of ``tensor``.

    >>> tf.Session().run(tf.reverse([[1, 2], [3, 4]], axis=[1]))
    array([[2, 1],
           [4, 3]], dtype=int32)
    """
    return raw_ops.ReverseV2(tensor, axis, name=name)


reverse_v2 = reverse


def reverse_sequence(
    input: Any, seq_lengths: Any, seq_axis: int | None = None, batch_axis: int | None = None,  # noqa: A002
    name: str | None = None, seq_dim: int | None = None, batch_dim: int | None = None,
) -> Tensor:  # fmt: skip
    """Reverses the first ``seq_lengths[i]`` elements along ``seq_axis`` of each slice i along ``batch_axis``.

    Args:
      input: A tensor of rank 2 or more.
      seq_lengths: A 1-D tensor of int32 or int64: how many elements of each sequence to reverse.
      seq_axis: The dimension that holds the sequences; it must be given.
      batch_axis: The dimension that counts the sequences; None for 0.
      name: A name for the op.
      seq_dim, batch_dim: The deprecated names of ``seq_axis`` and ``batch_axis``.

    Returns:
      A tensor of the type and shape of ``input``; elements past the lengths stay.

    >>> tf.Session().run(tf.reverse_sequence([[1, 2, 3], [4, 5, 6]], [2, 3], seq_axis=1))
    array([[2, 1, 3],
           [6, 5, 4]], dtype=int32)
    """
    seq_axis = either("seq_axis", seq_axis, "seq_dim", seq_dim)
    batch_axis = either("batch_axis", batch_axis, "batch_dim", batch_dim)
    if seq_axis is None:
        raise ValueError("seq_axis (or seq_dim) must be given to tf.reverse_sequence()")
    return raw_ops.ReverseSequence(input, seq_lengths, seq_dim=seq_axis, batch_dim=batch_axis or 0, name=name)


@learned
def roll(input: Any, shift: Any, axis: Any, name: str | None = None) -> Tensor:  # noqa: A002 - TF1's name
    """Shifts elements along dimensions, those pushed out coming back in on the other side.

    Args:
      input: A tensor of rank 1 or more.
      shift: By how many places to move, a number or one for each of ``axis``; negative moves toward the start.
      axis: The dimension, or a list of them.
      name: A name for the op.

    Returns:
      A tensor of the type and shape of ``input``.

    >>> tf.Session().run(tf.roll([1, 2, 3, 4], shift=1, axis=0))
    array([4, 1, 2, 3], dtype=int32)
    """
    return raw_ops.Roll(input, shift, axis, name=name)


# ---- the same bytes


def bitcast(input: Any, type: Any, name: str | None = None) -> Tensor:  # noqa: A002 - TF1's names
    """The bytes of ``input`` as another dtype; the last dimension grows or shrinks with the size.

    Args:
      input: A tensor of numbers.
      type: The dtype to read the bytes as.
      name: A name for the op.

    Returns:
      A tensor of ``type``.

    >>> tf.Session().run(tf.bitcast(tf.constant([1.0]), tf.int32))
    array([1065353216], dtype=int32)
    """
    return raw_ops.Bitcast(input, type=type, name=name)
