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

    >>> v = tf.Variable([1.0, 2.0])
    >>> reset = tf.assign(v, [0.0, 0.0])
    """
    own = _owns(ref, "assign")
    if own is not None:
        return own(value, name=name)
    return raw_ops.Assign(ref, value, validate_shape=validate_shape, use_locking=use_locking, name=name)


def assign_add(ref: Any, value: Any, use_locking: bool | None = None, name: str | None = None) -> Any:
    """Adds ``value`` to the variable.

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
    """Subtracts ``value`` from the variable."""
    own = _owns(ref, "assign_sub")
    if own is not None:
        return own(value, name=name)
    return raw_ops.AssignSub(ref, value, use_locking=use_locking, name=name)


def scatter_update(
    ref: Any, indices: Any, updates: Any, use_locking: bool | None = True, name: str | None = None
) -> Any:
    """Sets rows: ``ref[indices, ...] = updates``.

    >>> v = tf.Variable([[1.0], [2.0], [3.0]])
    >>> first_two = tf.scatter_update(v, [1, 0], [[20.0], [10.0]])
    """
    return _scattered("ScatterUpdate", ref, indices, updates, use_locking, name)


def scatter_add(ref: Any, indices: Any, updates: Any, use_locking: bool | None = False, name: str | None = None) -> Any:
    """Adds to rows; rows given twice add up."""
    return _scattered("ScatterAdd", ref, indices, updates, use_locking, name)


def scatter_sub(ref: Any, indices: Any, updates: Any, use_locking: bool | None = False, name: str | None = None) -> Any:
    """Subtracts from rows."""
    return _scattered("ScatterSub", ref, indices, updates, use_locking, name)


def scatter_mul(ref: Any, indices: Any, updates: Any, use_locking: bool | None = False, name: str | None = None) -> Any:
    """Multiplies rows."""
    return _scattered("ScatterMul", ref, indices, updates, use_locking, name)


def scatter_div(ref: Any, indices: Any, updates: Any, use_locking: bool | None = False, name: str | None = None) -> Any:
    """Divides rows."""
    return _scattered("ScatterDiv", ref, indices, updates, use_locking, name)


def scatter_min(ref: Any, indices: Any, updates: Any, use_locking: bool | None = False, name: str | None = None) -> Any:
    """Takes the minimum of rows and updates."""
    return _scattered("ScatterMin", ref, indices, updates, use_locking, name)


def scatter_max(ref: Any, indices: Any, updates: Any, use_locking: bool | None = False, name: str | None = None) -> Any:
    """Takes the maximum of rows and updates."""
    return _scattered("ScatterMax", ref, indices, updates, use_locking, name)


def scatter_nd_update(
    ref: Any, indices: Any, updates: Any, use_locking: bool | None = True, name: str | None = None
) -> Any:
    """Sets elements or slices: the last dimension of ``indices`` holds coordinates."""
    return _scattered("ScatterNdUpdate", ref, indices, updates, use_locking, name)


def scatter_nd_add(
    ref: Any, indices: Any, updates: Any, use_locking: bool | None = False, name: str | None = None
) -> Any:
    """Adds to elements or slices."""
    return _scattered("ScatterNdAdd", ref, indices, updates, use_locking, name)


def scatter_nd_sub(
    ref: Any, indices: Any, updates: Any, use_locking: bool | None = False, name: str | None = None
) -> Any:
    """Subtracts from elements or slices."""
    return _scattered("ScatterNdSub", ref, indices, updates, use_locking, name)


def batch_scatter_update(
    ref: Any, indices: Any, updates: Any, use_locking: bool | None = True, name: str | None = None
) -> Any:
    """``scatter_update`` along the last dimension of ``indices``, for each position of the leading ones.

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
    """Adds one to the variable and gives the value before that; OutOfRangeError once it has reached ``limit``."""
    own = _owns(ref, "count_up_to")
    if own is not None:
        return own(limit)
    return raw_ops.CountUpTo(ref, limit=limit, name=name)
