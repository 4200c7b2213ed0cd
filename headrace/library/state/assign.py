"""TF1's functions that change a variable: assign, assign_add, assign_sub, the scatter updates, count_up_to.

``ref`` is a Variable, its handle (a ref tensor), or any object with a method of the function's own name.
"""

from __future__ import annotations

from typing import Any

from headrace.graph import convert, raw_ops
from headrace.graph.operation import Tensor


def _owns(ref: Any, method: str) -> Any:
    """The method of an object that is no reference variable but knows how to update itself."""
    dtype = getattr(ref, "dtype", None)
    if isinstance(ref, Tensor) or (dtype is not None and dtype._is_ref_dtype):
        return None
    return getattr(ref, method, None)


def _scattered(op_type: str, ref: Any, indices: Any, updates: Any, use_locking: bool | None, name: str | None) -> Any:
    updated = _owns(ref, "_updated")
    if updated is not None:  # a resource variable
        return updated(f"Resource{op_type}", indices, convert.convert_to_tensor(updates, dtype=ref.dtype), name=name)
    return getattr(raw_ops, op_type)(ref, indices, updates, use_locking=use_locking, name=name)


def assign(
    ref: Any, value: Any, validate_shape: bool | None = None, use_locking: bool | None = None, name: str | None = None
) -> Any:
    """Sets the variable; the result is the variable after that.

    Args:
      ref: A variable, or a reference to one.
      value: The new value, of the variable's type.
      validate_shape: Whether the value must have the variable's shape; None for yes.  Without effect on resource
        variables.
      use_locking: Whether other assignments wait while this one copies; None for yes.  Without effect on resource
        variables.
      name: A name for the op.

    Returns:
      The variable as it is after the assignment.

    >>> v = tf.Variable([1.0, 2.0])
    >>> reset = tf.assign(v, [0.0, 0.0])
    """
    own = _owns(ref, "assign")
    if own is not None:
        return own(value, name=name)
    return raw_ops.Assign(ref, value, validate_shape=validate_shape, use_locking=use_locking, name=name)


def assign_add(ref: Any, value: Any, use_locking: bool | None = None, name: str | None = None) -> Any:
    """Adds ``value`` to the variable.

    Args:
      ref: A variable, or a reference to one.
      value: What to add, of the variable's type and shape.
      use_locking: Whether other assignments wait while this one computes; None for no.  Without effect on resource
        variables.
      name: A name for the op.

    Returns:
      The variable as it is after the addition.

    >>> step = tf.Variable(0)
    >>> count = tf.assign_add(step, 1)
    >>> with tf.Session() as sess:
    ...     sess.run(step.initializer)
    ...     print(sess.run(count), sess.run(count))
    1 2
    """
    own = _owns(ref, "assign_add")
    if own is not None:
        return own(value, name=name)
    return raw_ops.AssignAdd(ref, value, use_locking=use_locking, name=name)


def assign_sub(ref: Any, value: Any, use_locking: bool | None = None, name: str | None = None) -> Any:
    """Subtracts ``value`` from the variable.

    Args:
      ref: A variable, or a reference to one.
      value: What to subtract, of the variable's type and shape.
      use_locking: Whether other assignments wait while this one computes; None for no.  Without effect on resource
        variables.
      name: A name for the op.

    Returns:
      The variable as it is after the subtraction.

    >>> v = tf.Variable(5)
    >>> down = tf.assign_sub(v, 2)
    >>> with tf.Session() as sess:
    ...     sess.run(v.initializer)
    ...     print(sess.run(down))
    3
    """
    own = _owns(ref, "assign_sub")
    if own is not None:
        return own(value, name=name)
    return raw_ops.AssignSub(ref, value, use_locking=use_locking, name=name)


def scatter_update(
    ref: Any, indices: Any, updates: Any, use_locking: bool | None = True, name: str | None = None
) -> Any:
    """Sets rows: ``ref[indices, ...] = updates``.

    Args:
      ref: A variable, or a reference to one.
      indices: The rows, a tensor of int32 or int64 of any shape.
      updates: The new rows, of shape ``indices.shape + ref.shape[1:]``; or a scalar.
      use_locking: Whether other assignments wait while this one copies.  Without effect on resource variables.
      name: A name for the op.

    Returns:
      The variable as it is after the update.

    >>> v = tf.Variable([[1.0], [2.0], [3.0]])
    >>> first_two = tf.scatter_update(v, [1, 0], [[20.0], [10.0]])
    """
    return _scattered("ScatterUpdate", ref, indices, updates, use_locking, name)


def scatter_add(ref: Any, indices: Any, updates: Any, use_locking: bool | None = False, name: str | None = None) -> Any:
    """Adds to rows; rows given twice add up.

    Args:
      ref: A variable of numbers, or a reference to one.
      indices: The rows, a tensor of int32 or int64 of any shape.
      updates: What to add, of shape ``indices.shape + ref.shape[1:]``; or a scalar.
      use_locking: Whether other assignments wait while this one computes.  Without effect on resource variables.
      name: A name for the op.

    Returns:
      The variable as it is after the update.

    >>> v = tf.Variable([1, 2, 3])
    >>> added = tf.scatter_add(v, [0, 2, 2], [10, 20, 30])
    >>> with tf.Session() as sess:
    ...     sess.run(v.initializer)
    ...     print(sess.run(added))
    [11  2 53]
    """
    return _scattered("ScatterAdd", ref, indices, updates, use_locking, name)


def scatter_sub(ref: Any, indices: Any, updates: Any, use_locking: bool | None = False, name: str | None = None) -> Any:
    """Subtracts from rows.

    Args:
      ref: A variable of numbers, or a reference to one.
      indices: The rows, a tensor of int32 or int64 of any shape.
      updates: What to subtract, of shape ``indices.shape + ref.shape[1:]``; or a scalar.
      use_locking: Whether other assignments wait while this one computes.  Without effect on resource variables.
      name: A name for the op.

    Returns:
      The variable as it is after the update.

    >>> v = tf.Variable([1, 2, 3])
    >>> taken = tf.scatter_sub(v, [0, 2], [10, 20])
    >>> with tf.Session() as sess:
    ...     sess.run(v.initializer)
    ...     print(sess.run(taken))
    [ -9   2 -17]
    """
    return _scattered("ScatterSub", ref, indices, updates, use_locking, name)


def scatter_mul(ref: Any, indices: Any, updates: Any, use_locking: bool | None = False, name: str | None = None) -> Any:
    """Multiplies rows.

    Args:
      ref: A variable of numbers, or a reference to one.
      indices: The rows, a tensor of int32 or int64 of any shape.
      updates: What to multiply by, of shape ``indices.shape + ref.shape[1:]``; or a scalar.
      use_locking: Whether other assignments wait while this one computes.  Without effect on resource variables.
      name: A name for the op.

    Returns:
      The variable as it is after the update.

    >>> v = tf.Variable([1, 2, 3])
    >>> scaled = tf.scatter_mul(v, [0, 2], [10, 20])
    >>> with tf.Session() as sess:
    ...     sess.run(v.initializer)
    ...     print(sess.run(scaled))
    [10  2 60]
    """
    return _scattered("ScatterMul", ref, indices, updates, use_locking, name)


def scatter_div(ref: Any, indices: Any, updates: Any, use_locking: bool | None = False, name: str | None = None) -> Any:
    """Divides rows.

    Args:
      ref: A variable of numbers, or a reference to one.
      indices: The rows, a tensor of int32 or int64 of any shape.
      updates: What to divide by, of shape ``indices.shape + ref.shape[1:]``; or a scalar.
      use_locking: Whether other assignments wait while this one computes.  Without effect on resource variables.
      name: A name for the op.

    Returns:
      The variable as it is after the update.

    >>> v = tf.Variable([10.0, 2.0, 30.0])
    >>> scaled = tf.scatter_div(v, [0, 2], [5.0, 10.0])
    >>> with tf.Session() as sess:
    ...     sess.run(v.initializer)
    ...     print(sess.run(scaled))
    [2. 2. 3.]
    """
    return _scattered("ScatterDiv", ref, indices, updates, use_locking, name)


def scatter_min(ref: Any, indices: Any, updates: Any, use_locking: bool | None = False, name: str | None = None) -> Any:
    """Takes the minimum of rows and updates.

    Args:
      ref: A variable of real numbers, or a reference to one.
      indices: The rows, a tensor of int32 or int64 of any shape.
      updates: What to compare with, of shape ``indices.shape + ref.shape[1:]``; or a scalar.
      use_locking: Whether other assignments wait while this one computes.  Without effect on resource variables.
      name: A name for the op.

    Returns:
      The variable as it is after the update.

    >>> v = tf.Variable([1, 2, 3])
    >>> lowest = tf.scatter_min(v, [0, 2], [10, 0])
    >>> with tf.Session() as sess:
    ...     sess.run(v.initializer)
    ...     print(sess.run(lowest))
    [1 2 0]
    """
    return _scattered("ScatterMin", ref, indices, updates, use_locking, name)


def scatter_max(ref: Any, indices: Any, updates: Any, use_locking: bool | None = False, name: str | None = None) -> Any:
    """Takes the maximum of rows and updates.

    Args:
      ref: A variable of real numbers, or a reference to one.
      indices: The rows, a tensor of int32 or int64 of any shape.
      updates: What to compare with, of shape ``indices.shape + ref.shape[1:]``; or a scalar.
      use_locking: Whether other assignments wait while this one computes.  Without effect on resource variables.
      name: A name for the op.

    Returns:
      The variable as it is after the update.

    >>> v = tf.Variable([1, 2, 3])
    >>> highest = tf.scatter_max(v, [0, 2], [10, 0])
    >>> with tf.Session() as sess:
    ...     sess.run(v.initializer)
    ...     print(sess.run(highest))
    [10  2  3]
    """
    return _scattered("ScatterMax", ref, indices, updates, use_locking, name)


def scatter_nd_update(
    ref: Any, indices: Any, updates: Any, use_locking: bool | None = True, name: str | None = None
) -> Any:
    """Sets elements or slices: the last dimension of ``indices`` holds coordinates.

    Args:
      ref: A variable, or a reference to one.
      indices: A tensor of int32 or int64.  Each row of its last dimension is the coordinates of one element or slice.
      updates: The new elements or slices, of shape ``indices.shape[:-1]`` and what the coordinates leave of ``ref``.
      use_locking: Whether other assignments wait while this one copies.  Without effect on resource variables.
      name: A name for the op.

    Returns:
      The variable as it is after the update.

    >>> v = tf.Variable([[1, 2], [3, 4]])
    >>> changed = tf.scatter_nd_update(v, [[0, 1], [1, 0]], [20, 30])
    >>> with tf.Session() as sess:
    ...     sess.run(v.initializer)
    ...     print(sess.run(changed))
    [[ 1 20]
     [30  4]]
    """
    return _scattered("ScatterNdUpdate", ref, indices, updates, use_locking, name)


def scatter_nd_add(
    ref: Any, indices: Any, updates: Any, use_locking: bool | None = False, name: str | None = None
) -> Any:
    """Adds to elements or slices.

    Args:
      ref: A variable of numbers, or a reference to one.
      indices: A tensor of int32 or int64.  Each row of its last dimension is the coordinates of one element or slice.
      updates: What to add, of shape ``indices.shape[:-1]`` and what the coordinates leave of ``ref``.
      use_locking: Whether other assignments wait while this one computes.  Without effect on resource variables.
      name: A name for the op.

    Returns:
      The variable as it is after the update.

    >>> v = tf.Variable([[1, 2], [3, 4]])
    >>> changed = tf.scatter_nd_add(v, [[0, 1], [1, 0]], [20, 30])
    >>> with tf.Session() as sess:
    ...     sess.run(v.initializer)
    ...     print(sess.run(changed))
    [[ 1 22]
     [33  4]]
    """
    return _scattered("ScatterNdAdd", ref, indices, updates, use_locking, name)


def scatter_nd_sub(
    ref: Any, indices: Any, updates: Any, use_locking: bool | None = False, name: str | None = None
) -> Any:
    """Subtracts from elements or slices.

    Args:
      ref: A variable of numbers, or a reference to one.
      indices: A tensor of int32 or int64.  Each row of its last dimension is the coordinates of one element or slice.
      updates: What to subtract, of shape ``indices.shape[:-1]`` and what the coordinates leave of ``ref``.
      use_locking: Whether other assignments wait while this one computes.  Without effect on resource variables.
      name: A name for the op.

    Returns:
      The variable as it is after the update.

    >>> v = tf.Variable([[1, 2], [3, 4]])
    >>> changed = tf.scatter_nd_sub(v, [[0, 1], [1, 0]], [20, 30])
    >>> with tf.Session() as sess:
    ...     sess.run(v.initializer)
    ...     print(sess.run(changed))
    [[  1 -18]
     [-27   4]]
    """
    return _scattered("ScatterNdSub", ref, indices, updates, use_locking, name)


def batch_scatter_update(
    ref: Any, indices: Any, updates: Any, use_locking: bool | None = True, name: str | None = None
) -> Any:
    """``scatter_update`` along the last dimension of ``indices``, for each position of the leading ones.

    Args:
      ref: A variable, or a reference to one.
      indices: A tensor of int32 or int64 whose leading dimensions are known, and are those of ``ref``.
      updates: The new elements or slices: one for each index.
      use_locking: Whether other assignments wait while this one copies.  Without effect on resource variables.
      name: A name for the op.

    Returns:
      The variable as it is after the update.

    >>> v = tf.Variable([[1, 2, 3], [4, 5, 6]])
    >>> changed = tf.batch_scatter_update(v, [[0], [2]], [[10], [60]])  # [[10, 2, 3], [4, 5, 60]]
    """
    where = convert.convert_to_tensor(indices, name="indices")
    leading = where.shape[:-1]
    if not leading.is_fully_defined():
        raise ValueError(f"batch_scatter_update needs the leading dimensions of indices to be known, got {where.shape}")
    sizes = [int(size or 0) for size in leading.as_list()]
    full = raw_ops.Shape(where, out_type=where.dtype.base_dtype)
    coordinates = []
    for axis, size in enumerate(sizes):
        count = convert.constant(list(range(size)), where.dtype.base_dtype)
        column = raw_ops.Reshape(count, [size if i == axis else 1 for i in range(len(sizes) + 1)])
        coordinates.append(raw_ops.BroadcastTo(column, full))
    positions = raw_ops.Pack([*coordinates, where], axis=len(sizes) + 1)
    return _scattered("ScatterNdUpdate", ref, positions, updates, use_locking, name)


def count_up_to(ref: Any, limit: int, name: str | None = None) -> Any:
    """Adds one to the variable and gives the value before that; OutOfRangeError once it has reached ``limit``.

    Args:
      ref: A scalar variable of int32 or int64, or a reference to one.
      limit: The number at which the counting ends; it is never given.
      name: A name for the op.

    Returns:
      A scalar of the variable's type.

    >>> v = tf.Variable(0)
    >>> count = tf.count_up_to(v, 3)
    >>> with tf.Session() as sess:
    ...     sess.run(v.initializer)
    ...     print(sess.run(count), sess.run(count))
    0 1
    """
    own = _owns(ref, "count_up_to")
    if own is not None:
        return own(limit)
    return raw_ops.CountUpTo(ref, limit=limit, name=name)
