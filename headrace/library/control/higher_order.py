"""Functions over the rows of tensors: map_fn, foldl, foldr, scan.  Each is a while_loop over tensor arrays."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from headrace.core import dtypes
from headrace.core.shape import TensorShape
from headrace.graph import raw_ops
from headrace.graph.convert import constant, convert_to_tensor
from headrace.graph.operation import Tensor
from headrace.library import nest
from headrace.library.control.tensor_array import TensorArray
from headrace.library.control.while_loop import while_loop
from headrace.library.scope import name_scope


class _Rows:
    """The rows of (nested) tensors, to be read by index."""

    def __init__(self, elems: Any) -> None:
        self.elems = elems
        self.flat = [convert_to_tensor(e, name="elem") for e in nest.flatten(elems)]
        if not self.flat:
            raise ValueError("elems must hold at least one tensor.")
        for tensor in self.flat:
            if tensor.shape.ndims == 0:
                raise ValueError(
                    f"elements in elems must be 1+ dimensional Tensors, not scalars: {tensor.name} has shape ()"
                )
        merged = TensorShape([None])
        for tensor in self.flat:
            if tensor.shape.ndims is not None:
                merged = merged.merge_with(tensor.shape[:1])
        self.static = merged.tuple[0] if merged.tuple else None
        if self.static is not None:
            self.count: Tensor = constant(self.static, dtypes.int32)
        else:
            self.count = raw_ops.GatherV2(raw_ops.Shape(self.flat[0]), 0, 0, name="strided_slice")
        self.arrays = [self._array(t) for t in self.flat]

    def _array(self, tensor: Tensor) -> TensorArray:
        size = self.static if self.static is not None else self.count
        array = TensorArray(tensor.dtype.base_dtype, size=size, infer_shape=True)
        return array.unstack(tensor)

    def at(self, index: Any) -> Any:
        return nest.pack_sequence_as(self.elems, [a.read(index) for a in self.arrays])


def _results(dtypes_: list[Any], rows: _Rows, infer_shape: bool) -> list[TensorArray]:
    size = rows.static if rows.static is not None else rows.count
    return [TensorArray(d, size=size, infer_shape=infer_shape) for d in dtypes_]


def _stacked(arrays: list[TensorArray], rows: _Rows) -> list[Tensor]:
    tensors = [a.stack() for a in arrays]
    for tensor in tensors:
        tensor.set_shape(TensorShape([rows.static]).concatenate(TensorShape(None)))
    return tensors


def map_fn(
    fn: Callable[..., Any], elems: Any, dtype: Any = None, parallel_iterations: int | None = None,
    back_prop: bool = True, swap_memory: bool = False, infer_shape: bool = True, name: str | None = None,
) -> Any:  # fmt: skip
    """``fn`` applied to each row of ``elems``; the results stacked.  ``dtype`` if they are not of the structure of elems.

    Args:
      fn: A function of one row of ``elems`` (of its structure, where that is nested).
      elems: A tensor of rank 1 or more, or a nested structure of them with equally many rows.
      dtype: The type of what ``fn`` returns, or a structure of types; None for the structure and types of ``elems``.
      parallel_iterations: How many calls may run at the same time; None for 10.
      back_prop: Whether gradients go through the loop.
      swap_memory: Whether the values that gradients need wait in the host's memory instead of the GPU's.
      infer_shape: Whether all results of ``fn`` must have the same shape.
      name: A name for the op.

    Returns:
      The results of ``fn``, stacked along a new first dimension.

    >>> squares = tf.map_fn(lambda x: x * x, tf.constant([1, 2, 3]))
    """
    if not callable(fn):
        raise TypeError("fn must be callable.")
    with name_scope(name, "map", nest.flatten(elems)):
        rows = _Rows(elems)
        like = elems if dtype is None else dtype
        element_types = [t.dtype.base_dtype for t in rows.flat] if dtype is None else nest.flatten(dtype)
        arrays = _results(element_types, rows, infer_shape)

        def compute(i: Tensor, results: list[TensorArray]) -> Any:
            value = fn(rows.at(i))
            nest.assert_same_structure(like, value)
            return i + 1, [a.write(i, v) for a, v in zip(results, nest.flatten(value), strict=True)]

        _, arrays = while_loop(
            lambda i, _: i < rows.count, compute, (constant(0), arrays), parallel_iterations=parallel_iterations or 10,
            back_prop=back_prop, swap_memory=swap_memory, maximum_iterations=rows.count,
        )  # fmt: skip
        return nest.pack_sequence_as(like, _stacked(arrays, rows))


def foldl(
    fn: Callable[..., Any], elems: Any, initializer: Any = None, parallel_iterations: int = 10, back_prop: bool = True,
    swap_memory: bool = False, name: str | None = None,
) -> Any:  # fmt: skip
    """``fn(fn(fn(initializer, row 0), row 1), ...)``; without an initializer the first row starts.

    Args:
      fn: A function of what has been computed so far and one row of ``elems``.
      elems: A tensor of rank 1 or more, or a nested structure of them with equally many rows.
      initializer: The first value; None for the first row.
      parallel_iterations: How many calls may run at the same time, as far as they do not wait for each other.
      back_prop: Whether gradients go through the loop.
      swap_memory: Whether the values that gradients need wait in the host's memory instead of the GPU's.
      name: A name for the op.

    Returns:
      What the last call of ``fn`` returned.

    >>> total = tf.foldl(lambda a, x: a + x, tf.constant([1, 2, 3]))
    """
    return _fold(fn, elems, initializer, False, parallel_iterations, back_prop, swap_memory, name or "foldl")


def foldr(
    fn: Callable[..., Any], elems: Any, initializer: Any = None, parallel_iterations: int = 10, back_prop: bool = True,
    swap_memory: bool = False, name: str | None = None,
) -> Any:  # fmt: skip
    """``foldl`` from the last row to the first.

    Args:
      fn: A function of what has been computed so far and one row of ``elems``.
      elems: A tensor of rank 1 or more, or a nested structure of them with equally many rows.
      initializer: The first value; None for the last row.
      parallel_iterations: How many calls may run at the same time, as far as they do not wait for each other.
      back_prop: Whether gradients go through the loop.
      swap_memory: Whether the values that gradients need wait in the host's memory instead of the GPU's.
      name: A name for the op.

    Returns:
      What the last call of ``fn`` returned.

    >>> tf.Session().run(tf.foldr(lambda a, x: a * 10 + x, tf.constant([1, 2, 3])))
    np.int32(321)
    """
    return _fold(fn, elems, initializer, True, parallel_iterations, back_prop, swap_memory, name or "foldr")


def _fold(
    fn: Any, elems: Any, initializer: Any, reverse: bool, parallel_iterations: int, back_prop: bool,
    swap_memory: bool, name: str,
) -> Any:  # fmt: skip
    if not callable(fn):
        raise TypeError("fn must be callable.")
    with name_scope(name, "fold", nest.flatten(elems)):
        rows = _Rows(elems)
        n = rows.count
        if initializer is None:
            start, total = (n - 1, rows.at(n - 1)) if reverse else (constant(1), rows.at(0))
        else:
            start, total = (n if reverse else constant(0)), nest.map_structure(convert_to_tensor, initializer)

        def compute(i: Tensor, so_far: Any) -> Any:
            if reverse:
                return i - 1, fn(so_far, rows.at(i - 1))
            return i + 1, fn(so_far, rows.at(i))

        _, result = while_loop(
            (lambda i, _: i > 0) if reverse else (lambda i, _: i < n), compute, (start, total),
            parallel_iterations=parallel_iterations, back_prop=back_prop, swap_memory=swap_memory, maximum_iterations=n,
        )  # fmt: skip
        return result


def scan(
    fn: Callable[..., Any], elems: Any, initializer: Any = None, parallel_iterations: int = 10, back_prop: bool = True,
    swap_memory: bool = False, infer_shape: bool = True, reverse: bool = False, name: str | None = None,
) -> Any:  # fmt: skip
    """``foldl`` that keeps every intermediate result, stacked; with ``reverse``, from the last row to the first.

    Args:
      fn: A function of what has been computed so far and one row of ``elems``.
      elems: A tensor of rank 1 or more, or a nested structure of them with equally many rows.
      initializer: The first value; None for the first row, which then is the first result too.
      parallel_iterations: How many calls may run at the same time, as far as they do not wait for each other.
      back_prop: Whether gradients go through the loop.
      swap_memory: Whether the values that gradients need wait in the host's memory instead of the GPU's.
      infer_shape: Whether all results of ``fn`` must have the same shape.
      reverse: Whether to begin with the last row.
      name: A name for the op.

    Returns:
      The results of ``fn``, each at the place of its row.

    >>> sums = tf.scan(lambda a, x: a + x, tf.constant([1, 2, 3]))
    """
    if not callable(fn):
        raise TypeError("fn must be callable.")
    with name_scope(name, "scan", nest.flatten(elems)):
        rows = _Rows(elems)
        n = rows.count
        if initializer is None:
            like = elems
            first = n - 1 if reverse else constant(0)
            so_far = [a.read(first) for a in rows.arrays]
            begin = 1
        else:
            like = initializer
            so_far = [convert_to_tensor(v) for v in nest.flatten(initializer)]
            begin = 0
        arrays = _results([t.dtype.base_dtype for t in so_far], rows, infer_shape)
        if initializer is None:
            arrays = [a.write(first, t) for a, t in zip(arrays, so_far, strict=True)]
        start = (n - 1 - begin) if reverse else constant(begin)

        def compute(i: Tensor, carried: list[Tensor], results: list[TensorArray]) -> Any:
            value = fn(nest.pack_sequence_as(like, carried), rows.at(i))
            nest.assert_same_structure(like if initializer is not None else elems, value)
            flat = nest.flatten(value)
            written = [a.write(i, v) for a, v in zip(results, flat, strict=True)]
            return (i - 1 if reverse else i + 1), flat, written

        _, _, arrays = while_loop(
            (lambda i, *_: i >= 0) if reverse else (lambda i, *_: i < n), compute, (start, so_far, arrays),
            parallel_iterations=parallel_iterations, back_prop=back_prop, swap_memory=swap_memory, maximum_iterations=n,
        )  # fmt: skip
        return nest.pack_sequence_as(like, _stacked(arrays, rows))
