"""Any Python iterable as a dataset: lists, loaders and datasets of torch, tables and readers of other libraries."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np

from headrace.core import dtypes
from headrace.core.shape import TensorShape
from headrace.core.source import at
from headrace.core.tensor_spec import TensorSpec
from headrace.graph.constant import make_array
from headrace.library.data import nest, structure
from headrace.library.data.dataset import Dataset, made
from headrace.library.data.generate import starter
from headrace.library.data.rows import Seekable, check_start, source_of_rows


def from_iterable(iterable: Any, output_types: Any = None, output_shapes: Any = None) -> Dataset:
    """The elements of a Python iterable: a list, torch's ``Dataset`` or ``DataLoader``, or anything a ``for`` loop takes.

    Tables of pyarrow, Parquet files (a path that ends in ".parquet", or pyarrow's ``ParquetFile``) and datasets of Ray, or of
    others with ``iter_batches`` or ``iter_rows``, give their rows.

    Each epoch begins it again.  Types that are not given are those of the first element; so are shapes, but for the first
    dimension of what has a ``batch_size``.  What has a length and takes an index, tables and files are restored by a position
    in them; others by taking as many elements, which must then come in the same order again.

    Args:
      iterable: What gives the elements: numbers, arrays, or tuples and dictionaries of them.
      output_types: The type of each component, in the structure of an element; None for those of the first element.
      output_shapes: The shape of each component; None for those of the first element, or unknown if types are given.

    Returns:
      A dataset.

    >>> dataset = tf.data.from_iterable([(1, "a"), (2, "b")])
    >>> tf.Session().run(dataset.make_one_shot_iterator().get_next())
    (np.int32(1), b'a')
    """
    source = source_of_rows(iterable) or (Indexed(iterable) if _has_index(iterable) else partial(_elements, iterable))
    if isinstance(iterable, Iterator):
        raise TypeError(
            f"from_iterable needs what can be gone through again, got the iterator {iterable!r}: give what it is made of, or "
            f"a function that makes it to Dataset.from_generator {at()}"
        )
    if output_types is None:
        spec = _spec_of_first(source, iterable)
        if output_shapes is not None:
            spec = structure.from_legacy(structure.types_of(spec), output_shapes)
    else:
        spec = structure.from_legacy(output_types, output_shapes)
    return made("_IterableDataset", spec, [], [], func=_Start(source, spec, type(iterable).__name__))


def _has_index(iterable: Any) -> bool:
    """Whether elements are asked for by their numbers: sequences, and what has no other way, as torch's datasets."""
    if isinstance(iterable, (Sequence, np.ndarray)):
        return True
    return hasattr(iterable, "__getitem__") and hasattr(iterable, "__len__") and not hasattr(iterable, "__iter__")


class _Start:
    """What begins the source: at the first element, or by `go_to` at another one."""

    def __init__(self, source: Any, spec: Any, called: str) -> None:
        self._begin = starter(source, spec, f"the {called}")
        if isinstance(source, Seekable):
            self.go_to = self._begin

    def __call__(self) -> Iterator[tuple[Any, ...]]:
        return self._begin()


class Indexed(Seekable):
    """What has a length and takes an index."""

    def __init__(self, items: Any) -> None:
        self._items = items

    def __call__(self, start: int = 0) -> Iterator[Any]:
        count = len(self._items)
        check_start(start, count)
        return (_plain(self._items[i]) for i in range(start, count))


def _elements(iterable: Any) -> Iterator[Any]:
    return map(_plain, iterable)


def _plain(value: Any) -> Any:
    """An element with arrays in the place of torch's tensors, and a tuple for a list of several components."""
    if hasattr(value, "detach"):
        return value.detach().cpu().numpy()
    if isinstance(value, Mapping):
        return {key: _plain(one) for key, one in value.items()}
    if isinstance(value, tuple):
        items = [_plain(one) for one in value]
        return type(value)(*items) if hasattr(value, "_fields") else tuple(items)
    if isinstance(value, list) and any(map(_is_component, value)):
        return tuple(map(_plain, value))
    return value


def _is_component(value: Any) -> bool:
    """Whether this shows that the list it is in is no single value: loaders of torch give lists of components."""
    if isinstance(value, list):
        return any(map(_is_component, value))
    return hasattr(value, "detach") or isinstance(value, (np.ndarray, Mapping, tuple))


def _spec_of_first(source: Any, iterable: Any) -> Any:
    try:
        first = next(iter(source()))
    except StopIteration:
        raise ValueError(
            f"from_iterable: the {type(iterable).__name__} is empty, so `output_types` are needed {at()}"
        ) from None
    except TypeError as e:
        raise TypeError(f"from_iterable needs something that a for loop takes, got {iterable!r}: {e} {at()}") from None
    batched = getattr(iterable, "batch_size", None) is not None

    def spec_of(leaf: Any) -> TensorSpec:
        array = make_array(leaf)
        shape = [None, *array.shape[1:]] if batched and array.ndim else list(array.shape)
        dtype = dtypes.string if array.dtype == object else dtypes.as_dtype(array.dtype)
        return TensorSpec(TensorShape(shape), dtype)

    return nest.map_structure(spec_of, first)
