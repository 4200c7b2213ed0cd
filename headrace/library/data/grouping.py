"""tf.data.experimental: transformations that put elements of one kind together, or make them as frequent as they should be."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from headrace.core import dtypes
from headrace.core.shape import TensorShape, as_shape
from headrace.core.source import at
from headrace.core.tensor_spec import TensorSpec
from headrace.graph import context, raw_ops
from headrace.graph.convert import convert_to_tensor
from headrace.graph.infer import partial_value
from headrace.library.control.assertion import assert_less
from headrace.library.data import nest, structure
from headrace.library.data.dataset import Dataset, _int64
from headrace.library.data.function import settled, trace_function
from headrace.library.data.structure import SparseTensorSpec
from headrace.library.data.transform import (
    RandomDataset,
    Transformation,
    check_scalar,
    group_by_window,
    sampled,
    scan,
)
from headrace.library.text.parsing import parse_example


def bucket_by_sequence_length(
    element_length_func: Callable[..., Any], bucket_boundaries: Sequence[int], bucket_batch_sizes: Sequence[int],
    padded_shapes: Any = None, padding_values: Any = None, pad_to_bucket_boundary: bool = False,
    no_padding: bool = False, drop_remainder: Any = False,
) -> Transformation:  # fmt: skip
    """Padded batches of elements of about the same length: bucket ``i`` has lengths below ``bucket_boundaries[i]``.

    Args:
      element_length_func: A function from an element to its length, an integer scalar.
      bucket_boundaries: The lengths at which the next bucket begins, in rising order.
      bucket_batch_sizes: The batch size of each bucket: one more than there are boundaries.
      padded_shapes: The shapes to pad to, as of `Dataset.padded_batch`; None pads each batch to its longest element.
      padding_values: What to pad with, as of `Dataset.padded_batch`; None for 0 and the empty string.
      pad_to_bucket_boundary: True pads to the longest element of the bucket, its boundary minus one.
      no_padding: True batches without padding: the elements of a batch must have one shape.
      drop_remainder: True leaves out batches that are not full at the end.

    Returns:
      A function for `Dataset.apply`.

    >>> lengths = tf.data.Dataset.from_tensor_slices([1, 5, 2, 6]).map(lambda n: tf.fill([n], n))
    >>> buckets = lengths.apply(tf.data.experimental.bucket_by_sequence_length(
    ...     tf.size, bucket_boundaries=[4], bucket_batch_sizes=[2, 2]))
    >>> tf.Session().run(buckets.make_one_shot_iterator().get_next())
    array([[1, 0],
           [2, 2]], dtype=int32)
    """
    if len(bucket_batch_sizes) != len(bucket_boundaries) + 1:
        raise ValueError(
            f"`len(bucket_batch_sizes)` must equal `len(bucket_boundaries) + 1` but they are {len(bucket_batch_sizes)} and "
            f"{len(bucket_boundaries)}. {at()}"
        )

    def bucket(*element: Any) -> Any:
        length = raw_ops.Cast(element_length_func(*element), DstT=dtypes.int64)
        reached = raw_ops.LessEqual(_int64(list(bucket_boundaries)), length)
        return raw_ops.Sum(raw_ops.Cast(reached, DstT=dtypes.int64), [0])

    def size_of(number: Any) -> Any:
        return raw_ops.GatherV2(_int64(list(bucket_batch_sizes)), number, 0)

    def batches(number: Any, window: Dataset) -> Dataset:
        size = size_of(number)
        if no_padding:
            return window.batch(size, drop_remainder)
        shapes = window.output_shapes if padded_shapes is None else padded_shapes
        if pad_to_bucket_boundary:
            message = "When pad_to_bucket_boundary=True, elements must have length < max(bucket_boundaries)."
            check = assert_less(number, _int64(len(bucket_boundaries)), message=message)
            with context.get_default_graph().control_dependencies([check]):
                longest = raw_ops.GatherV2(_int64([b - 1 for b in bucket_boundaries]), number, 0)
            flat = nest.flatten_up_to(window.element_spec, shapes)
            shapes = nest.pack_sequence_as(window.element_spec, [_filled(shape, longest) for shape in flat])
        return window.padded_batch(size, shapes, padding_values, drop_remainder)

    return group_by_window(bucket, batches, window_size_func=size_of)


def _filled(shape: Any, size: Any) -> Any:
    """A shape as a vector, with a tensor for each size that is not known."""
    sizes = [size if d is None else _int64(d) for d in as_shape(shape).as_list()]
    return raw_ops.Pack(sizes) if sizes else _int64(np.zeros(0, np.int64))


class Reducer:
    """What `group_by_reducer` does with the elements of a key: ``init_func(key)`` makes a state, ``reduce_func(state, element)``
    the next one, and ``finalize_func(state)`` the element that is given for it.

    Args:
      init_func: A function from a key, an int64 scalar, to the first state.
      reduce_func: A function from a state and an element to the next state.
      finalize_func: A function from the last state to the element that is given.

    >>> sums = tf.data.experimental.Reducer(lambda key: tf.constant(0, tf.int64), lambda s, n: s + n, lambda s: s)
    >>> dataset = tf.data.Dataset.range(6).apply(tf.data.experimental.group_by_reducer(lambda n: n % 2, sums))
    >>> tf.Session().run(dataset.make_one_shot_iterator().get_next())
    np.int64(6)
    """

    def __init__(
        self, init_func: Callable[..., Any], reduce_func: Callable[..., Any], finalize_func: Callable[..., Any]
    ) -> None:
        self._functions = init_func, reduce_func, finalize_func

    @property
    def init_func(self) -> Callable[..., Any]:
        """The function from a key to the first state."""
        return self._functions[0]

    @property
    def reduce_func(self) -> Callable[..., Any]:
        """The function from a state and an element to the next state."""
        return self._functions[1]

    @property
    def finalize_func(self) -> Callable[..., Any]:
        """The function from the last state to the element that is given."""
        return self._functions[2]


def group_by_reducer(key_func: Callable[..., Any], reducer: Reducer) -> Transformation:
    """One element for each key: what a reducer makes of all elements of that key.  They come in the order of the keys.

    Args:
      key_func: A function from an element to its key, an int64 scalar.
      reducer: The `Reducer` of the elements of a key.

    Returns:
      A function for `Dataset.apply`.

    >>> count = tf.data.experimental.Reducer(lambda key: tf.constant(0, tf.int64), lambda s, n: s + 1, lambda s: s)
    >>> dataset = tf.data.Dataset.range(5).apply(tf.data.experimental.group_by_reducer(lambda n: n % 2, count))
    >>> tf.Session().run(dataset.batch(2).make_one_shot_iterator().get_next())
    array([3, 2])
    """

    def apply(dataset: Dataset) -> Dataset:
        key = trace_function(key_func, "group_by_reducer", dataset.element_spec)
        check_scalar(key.spec, "key_func")
        first = trace_function(reducer.init_func, "group_by_reducer", TensorSpec([], dtypes.int64), joined=True)
        reduce, spec = settled(reducer.reduce_func, "group_by_reducer", first.spec, dataset.element_spec)
        final = trace_function(reducer.finalize_func, "group_by_reducer", spec)
        functions = {"key_func": key, "init_func": first, "reduce_func": reduce, "finalize_func": final}
        captured = [f.values for f in functions.values()] + [f.refs for f in functions.values()]
        attrs = {name: f.attr for name, f in functions.items()}
        return dataset._then("GroupByReducerDataset", *captured, spec=final.spec, **attrs)

    return apply


def dense_to_sparse_batch(batch_size: Any, row_shape: Any) -> Transformation:
    """Batches of elements of different sizes as sparse tensors; ``row_shape`` is what an element must fit into.

    Args:
      batch_size: The number of elements of a batch.
      row_shape: The shape that an element must fit into; None for a dimension that is as large as the largest element's.

    Returns:
      A function for `Dataset.apply`. Its dataset gives `tf.SparseTensor`s [batch, ...].

    >>> rows = tf.data.Dataset.from_tensor_slices([1, 2]).map(lambda n: tf.fill([n], n))
    >>> batches = rows.apply(tf.data.experimental.dense_to_sparse_batch(2, row_shape=[3]))
    >>> tf.Session().run(batches.make_one_shot_iterator().get_next()).dense_shape
    array([2, 3])
    """

    def apply(dataset: Dataset) -> Dataset:
        one = dataset.element_spec
        if not isinstance(one, TensorSpec):
            raise TypeError(
                "`dense_to_sparse_batch` requires an input dataset whose elements have a single component, but the given "
                f"dataset has the following component types: {dataset.output_types}. {at()}"
            )
        shape = as_shape(row_shape)
        sizes = [-1 if d is None else d for d in shape.as_list()]
        spec = SparseTensorSpec(TensorShape([None]).concatenate(shape), one.dtype)
        return dataset._then(
            "DenseToSparseBatchDataset", _int64(batch_size), _int64(np.array(sizes, np.int64)), spec=spec
        )

    return apply


def parse_example_dataset(features: Mapping[str, Any], num_parallel_calls: Any = 1) -> Transformation:
    """Batches of encoded Examples as dictionaries of tensors, see `tf.parse_example`.

    Args:
      features: A dictionary from the names of features to what they are, such as `tf.FixedLenFeature([], tf.float32)`.
      num_parallel_calls: How many batches are parsed together.

    Returns:
      A function for `Dataset.apply`, to a dataset of vectors of encoded Examples.

    >>> example = tf.train.Example()
    >>> example.features.feature["age"].float_list.value.append(4.0)
    >>> encoded = tf.data.Dataset.from_tensors([example.SerializeToString()])
    >>> parse = tf.data.experimental.parse_example_dataset({"age": tf.FixedLenFeature([], tf.float32)})
    >>> tf.Session().run(encoded.apply(parse).make_one_shot_iterator().get_next())
    {'age': array([4.], dtype=float32)}
    """
    if features is None:
        raise ValueError(f"Missing: features was {features}. {at()}")

    def apply(dataset: Dataset) -> Dataset:
        if not structure.is_compatible(TensorSpec([None], dtypes.string), dataset.element_spec):
            raise TypeError(
                f"Input dataset should be a dataset of vectors of strings. Instead it is `{dataset.element_spec}`. {at()}"
            )
        return dataset.map(lambda examples: parse_example(examples, features), num_parallel_calls)

    return apply


def rejection_resample(
    class_func: Callable[..., Any], target_dist: Any, initial_dist: Any = None, seed: int | None = None
) -> Transformation:
    """Leaves out elements so that classes are as frequent as ``target_dist`` says; gives pairs of class and element.

    Without ``initial_dist`` it is estimated from the elements that are seen.

    Args:
      class_func: A function from an element to its class, an integer scalar from 0 on.
      target_dist: The share of each class in the new dataset: float numbers that add up to 1.
      initial_dist: The share of each class in the dataset; None estimates it.
      seed: The seed of the choices.

    Returns:
      A function for `Dataset.apply`. Its dataset gives pairs (class, element).

    >>> numbers = tf.data.Dataset.range(100)
    >>> even = tf.data.experimental.rejection_resample(lambda n: n % 2, target_dist=[1.0, 0.0], initial_dist=[0.5, 0.5])
    >>> tf.Session().run(numbers.apply(even).make_one_shot_iterator().get_next())
    (np.int64(0), np.int64(0))
    """

    def with_class(*element: Any) -> Any:
        return class_func(*element), element[0] if len(element) == 1 else element

    def apply(dataset: Dataset) -> Dataset:
        target = raw_ops.Cast(convert_to_tensor(target_dist), DstT=dtypes.float32)
        classes = dataset.map(with_class)
        if initial_dist is None:
            chances = _estimated(target, dataset.map(class_func)).map(lambda initial: _chances(initial, target))
            original = None
        else:
            initial = raw_ops.Cast(convert_to_tensor(initial_dist), DstT=dtypes.float32)
            chances = Dataset.from_tensors(_chances(initial, target)).repeat()
            original = _least(convert_to_tensor(initial_dist), convert_to_tensor(target_dist))
        if original == 1:
            return classes
        # The numbers come from the chain, so that they are part of the iterator's position.
        numbers = RandomDataset(None if seed is None else seed + 1)
        drawn = Dataset.zip((chances, numbers, classes)).filter(
            lambda chance, number, one: _accepts(chance[0], number, one[0])
        )
        accepted = drawn.map(lambda chance, number, one: one).prefetch(3)
        if original == 0:
            return accepted
        weights = chances.map(lambda accept, share: raw_ops.Pack([share, 1.0 - share]))
        return sampled([classes, accepted], weights, seed, stop_on_empty=True)

    return apply


def _least(initial: Any, target: Any) -> float | None:
    """The share of elements that are given without a choice, where it is known now."""
    known = [partial_value(t) for t in (initial, target)]
    if any(value is None or np.asarray(value).dtype == object for value in known):
        return None
    return float(np.min(np.asarray(known[1], np.float32) / np.asarray(known[0], np.float32)))


def _accepts(chances: Any, number: Any, which: Any) -> Any:
    drawn = raw_ops.Cast(number, DstT=dtypes.float32) / 2.0**32
    return raw_ops.Less(drawn, raw_ops.GatherV2(chances, which, 0))


def _chances(initial: Any, target: Any) -> tuple[Any, Any]:
    """With which probability an element of each class is accepted, and how many elements are given without a choice."""
    ratio = target / (initial + float(np.finfo(np.float32).tiny))
    least, most = raw_ops.Min(ratio, [0]), raw_ops.Max(ratio, [0])
    return (ratio - least) / (most - least), least


def _estimated(target: Any, classes: Dataset, size: int = 32, start: int = 10) -> Dataset:
    """How frequent classes are in what was seen so far; looked at in batches, as TensorFlow does."""
    count = raw_ops.Size(target)

    def look(seen: Any, batch: Any) -> Any:
        new = raw_ops.OneHot(batch, count, _int64(1), _int64(0))
        seen = seen + raw_ops.Sum(new, [0])
        share = raw_ops.Cast(seen, DstT=dtypes.float32) / raw_ops.Cast(raw_ops.Sum(seen, [0]), DstT=dtypes.float32)
        return seen, raw_ops.Tile(raw_ops.ExpandDims(share, 0), [size, 1])

    seen = raw_ops.Fill(raw_ops.Shape(target), _int64(start))
    return classes.batch(size).apply(scan(seen, look)).unbatch()
