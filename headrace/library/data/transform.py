"""tf.data.experimental: transformations for ``dataset.apply``."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from headrace.core import dtypes
from headrace.core.source import at
from headrace.core.tensor_spec import TensorSpec
from headrace.graph import raw_ops
from headrace.graph.convert import convert_to_tensor
from headrace.graph.operation import Tensor
from headrace.library.data import nest, structure
from headrace.library.data.dataset import (
    AUTOTUNE,
    Dataset,
    _batch_spec,
    _batched,
    _element_spec_of,
    _int64,
    _Made,
    made,
)
from headrace.library.data.function import either, settled, trace_function
from headrace.library.data.structure import flat_shapes, flat_types
from headrace.library.numeric.random import get_seed

Transformation = Callable[[Dataset], Dataset]


def enumerate_dataset(start: Any = 0) -> Transformation:
    """Pairs of a number and an element.

    Args:
      start: The first number.

    Returns:
      A function for `Dataset.apply`. Its dataset gives pairs (int64 number, element).

    >>> dataset = tf.data.Dataset.from_tensor_slices(["a", "b"]).apply(tf.data.experimental.enumerate_dataset(5))
    >>> tf.Session().run(dataset.make_one_shot_iterator().get_next())
    (np.int64(5), b'a')
    """
    return lambda dataset: dataset.enumerate(start)


def unbatch() -> Transformation:
    """The rows of each element.

    Returns:
      A function for `Dataset.apply`.

    >>> dataset = tf.data.Dataset.from_tensors([7, 8, 9]).apply(tf.data.experimental.unbatch())
    >>> tf.Session().run(dataset.make_one_shot_iterator().get_next())
    np.int32(7)
    """
    return lambda dataset: dataset.unbatch()


def batch_and_drop_remainder(batch_size: Any) -> Transformation:
    """``batch`` of whole batches only.

    Args:
      batch_size: The number of elements of a batch.

    Returns:
      A function for `Dataset.apply`.

    >>> tf.data.Dataset.range(5).apply(tf.contrib.data.batch_and_drop_remainder(2)).output_shapes.as_list()
    [2]
    """
    return lambda dataset: dataset.batch(batch_size, drop_remainder=True)


def padded_batch_and_drop_remainder(batch_size: Any, padded_shapes: Any, padding_values: Any = None) -> Transformation:
    """``padded_batch`` of whole batches only.

    Args:
      batch_size: The number of elements of a batch.
      padded_shapes: The shapes to pad to, in the structure of an element; None for a dimension pads it to the longest.
      padding_values: What to pad with, in the same structure; None for 0 and the empty string.

    Returns:
      A function for `Dataset.apply`.

    >>> rows = tf.data.Dataset.from_tensor_slices([1, 2, 3]).map(lambda n: tf.fill([n], n))
    >>> batches = rows.apply(tf.contrib.data.padded_batch_and_drop_remainder(2, [None]))
    >>> tf.Session().run(batches.make_one_shot_iterator().get_next())
    array([[1, 0],
           [2, 2]], dtype=int32)
    """
    return lambda dataset: dataset.padded_batch(batch_size, padded_shapes, padding_values, drop_remainder=True)


def ignore_errors() -> Transformation:
    """Leaves out the elements that cannot be computed.

    Returns:
      A function for `Dataset.apply`.

    >>> dataset = tf.data.Dataset.from_tensor_slices([0.0, 2.0]).map(lambda x: tf.check_numerics(1.0 / x, "one"))
    >>> tf.Session().run(dataset.apply(tf.data.experimental.ignore_errors()).make_one_shot_iterator().get_next())
    np.float32(0.5)
    """
    return lambda dataset: dataset._then("IgnoreErrorsDataset")


def unique() -> Transformation:
    """Leaves out what is equal to an element before it.

    Returns:
      A function for `Dataset.apply`, to a dataset whose elements have one component.

    >>> dataset = tf.data.Dataset.from_tensor_slices([1, 1, 2]).apply(tf.data.experimental.unique())
    >>> tf.Session().run(dataset.batch(2).make_one_shot_iterator().get_next())
    array([1, 2], dtype=int32)
    """
    return lambda dataset: dataset._then("UniqueDataset")


def shuffle_and_repeat(buffer_size: Any, count: Any = None, seed: int | None = None) -> Transformation:
    """``shuffle`` and ``repeat`` in one: the buffer stays full at the border of two epochs.

    Args:
      buffer_size: The number of elements among which one is drawn.
      count: How often the elements are given; None or -1 for ever.
      seed: The seed of the order.

    Returns:
      A function for `Dataset.apply`.

    >>> dataset = tf.data.Dataset.range(3).apply(tf.data.experimental.shuffle_and_repeat(buffer_size=3, count=2))
    >>> sorted(tf.Session().run(dataset.batch(6).make_one_shot_iterator().get_next()).tolist())
    [0, 0, 1, 1, 2, 2]
    """

    def apply(dataset: Dataset) -> Dataset:
        first, second = get_seed(seed)
        number = _int64(-1 if count is None else count)
        return dataset._then("ShuffleAndRepeatDataset", _int64(buffer_size), first or 0, second or 0, number)

    return apply


def map_and_batch(
    map_func: Callable[..., Any], batch_size: Any, num_parallel_batches: Any = None, drop_remainder: Any = False,
    num_parallel_calls: Any = None,
) -> Transformation:  # fmt: skip
    """``map`` and ``batch`` in one.

    Args:
      map_func: A function from an element to a new element.
      batch_size: The number of elements of a batch.
      num_parallel_batches: How many batches are computed together, in place of `num_parallel_calls`.
      drop_remainder: True leaves out a last batch that is not full.
      num_parallel_calls: How many elements are computed together; None for `batch_size`, if both are None.

    Returns:
      A function for `Dataset.apply`.

    >>> dataset = tf.data.Dataset.range(4).apply(tf.data.experimental.map_and_batch(lambda n: n * n, batch_size=4))
    >>> tf.Session().run(dataset.make_one_shot_iterator().get_next())
    array([0, 1, 4, 9])
    """
    if num_parallel_batches is None and num_parallel_calls is None:
        num_parallel_calls = batch_size
    elif num_parallel_batches is not None:
        if num_parallel_calls is not None:
            raise ValueError(
                f"The `num_parallel_batches` and `num_parallel_calls` arguments are mutually exclusive. {at()}"
            )
        num_parallel_calls = batch_size * num_parallel_batches

    def apply(dataset: Dataset) -> Dataset:
        f = trace_function(map_func, "map_and_batch", dataset.element_spec)
        size, drop = _batched(batch_size, drop_remainder)
        spec = _batch_spec(f.spec, batch_size, drop_remainder)
        return dataset._called(
            "MapAndBatchDataset", f, size, _int64(num_parallel_calls), drop, spec=spec, preserve_cardinality=True
        )

    return apply


map_and_batch_with_legacy_function = map_and_batch


def parallel_interleave(
    map_func: Callable[..., Any], cycle_length: Any, block_length: Any = 1, sloppy: Any = False,
    buffer_output_elements: Any = None, prefetch_input_elements: Any = None,
) -> Transformation:  # fmt: skip
    """The elements of the datasets that a function makes of ``cycle_length`` elements in turn, read ahead.

    Args:
      map_func: A function from an element to a dataset.
      cycle_length: The number of datasets that are read in turn.
      block_length: The number of elements that are taken from one before the next.
      sloppy: Accepted and not used: elements come in a fixed order.
      buffer_output_elements: Accepted and not used.
      prefetch_input_elements: Accepted and not used.

    Returns:
      A function for `Dataset.apply`.

    >>> numbers = tf.data.Dataset.range(2).apply(tf.data.experimental.parallel_interleave(
    ...     lambda n: tf.data.Dataset.from_tensors(n).repeat(2), cycle_length=2))
    >>> tf.Session().run(numbers.batch(4).make_one_shot_iterator().get_next())
    array([0, 1, 0, 1])
    """
    return lambda dataset: dataset.interleave(map_func, cycle_length, block_length, AUTOTUNE)


def take_while(predicate: Callable[..., Any]) -> Transformation:
    """The elements before the first for which a function gives False.

    Args:
      predicate: A function from an element to a bool scalar.

    Returns:
      A function for `Dataset.apply`.

    >>> dataset = tf.data.Dataset.range(10).apply(tf.data.experimental.take_while(lambda n: n < 3))
    >>> tf.Session().run(dataset.batch(10).make_one_shot_iterator().get_next())
    array([0, 1, 2])
    """

    def apply(dataset: Dataset) -> Dataset:
        f = trace_function(predicate, "take_while", dataset.element_spec)
        if not isinstance(f.spec, TensorSpec) or f.spec.dtype != dtypes.bool or f.spec.shape.ndims not in (0, None):
            raise ValueError(f"`predicate` must return a scalar boolean tensor, got {f.spec!r}. {at()}")
        return dataset._called("TakeWhileDataset", f, spec=dataset.element_spec, attr="predicate")

    return apply


def scan(initial_state: Any, scan_func: Callable[..., Any]) -> Transformation:
    """Calls ``scan_func(state, element)``, which gives the next state and an element.

    Args:
      initial_state: The state before the first element: a tensor, or a nested structure of tensors.
      scan_func: A function from a state and an element to a pair (next state, new element).

    Returns:
      A function for `Dataset.apply`.

    >>> total = tf.data.experimental.scan(tf.constant(0, tf.int64), lambda state, n: (state + n, state + n))
    >>> tf.Session().run(tf.data.Dataset.range(4).apply(total).batch(4).make_one_shot_iterator().get_next())
    array([0, 1, 3, 6])
    """

    def apply(dataset: Dataset) -> Dataset:
        state = structure.normalized(initial_state)
        spec = structure.specs_of(state)
        f, spec = settled(scan_func, "scan", spec, dataset.element_spec, _checked_pair)
        return f.make(  # type: ignore[no-any-return]
            lambda: dataset._then(
                "ScanDataset", structure.to_flat(state), f.values, f.refs, f=f.attr, spec=f.spec[1],
            )
        )  # fmt: skip

    return apply


def _checked_pair(result: Any) -> Any:
    if type(result) is not tuple or len(result) != 2:
        raise TypeError(f"The scan function must return a pair comprising the new state and the output value. {at()}")
    return result[0]


def choose_from_datasets(datasets: Sequence[Dataset], choice_dataset: Dataset) -> Dataset:
    """Elements of several datasets; another dataset, of integers, says from which the next one is.

    Args:
      datasets: A list of datasets with elements of the same types.
      choice_dataset: A dataset of int64 scalars, the numbers of datasets in the list.

    Returns:
      A dataset. It ends with `choice_dataset`; a dataset that has ended is skipped.

    >>> words = [tf.data.Dataset.from_tensors(word).repeat() for word in ("tick", "tock")]
    >>> dataset = tf.data.experimental.choose_from_datasets(words, tf.data.Dataset.range(2))
    >>> tf.Session().run(dataset.batch(2).make_one_shot_iterator().get_next())
    array([b'tick', b'tock'], dtype=object)
    """
    if choice_dataset.output_types != dtypes.int64 or choice_dataset.output_shapes.ndims != 0:
        raise TypeError(f"`choice_dataset` must be a dataset of scalar `tf.int64` tensors. {at()}")
    return _directed(choice_dataset, datasets)


def _directed(selector: Dataset, datasets: Sequence[Dataset], stop_on_empty: bool = False) -> Dataset:
    spec = datasets[0].element_spec
    for one in datasets[1:]:
        if str(one.output_types) != str(datasets[0].output_types):
            raise TypeError(
                f"All datasets must have the same type: {datasets[0].output_types} and {one.output_types} differ {at()}"
            )
        spec = nest.map_structure(either, spec, one.element_spec)
    variants = [one._variant_tensor for one in datasets]
    return made(
        "DirectedInterleaveDataset", spec, [selector, *datasets], selector._variant_tensor, variants,
        stop_on_empty_dataset=stop_on_empty,
    )  # fmt: skip


class RandomDataset(_Made):
    """Random integers below 2**32, without end, from the seed on.

    Args:
      seed: The seed; None for other numbers in each run, unless `tf.set_random_seed` was called.

    >>> tf.data.experimental.RandomDataset(seed=7).output_types
    tf.int64
    """

    def __init__(self, seed: int | None = None) -> None:
        first, second = get_seed(seed)
        numbers = made("RandomDataset", TensorSpec([], dtypes.int64), [], first or 0, second or 0)
        super().__init__(numbers._variant_tensor, numbers.element_spec, [])


def sample_from_datasets(datasets: Sequence[Dataset], weights: Any = None, seed: int | None = None) -> Dataset:
    """Elements of several datasets, each taken at random; ``weights`` are probabilities, or a dataset of them.

    Args:
      datasets: A list of datasets with elements of the same types.
      weights: The probability of each dataset, or a dataset of such vectors; None if all are equally probable.
      seed: The seed of the choices.

    Returns:
      A dataset.

    >>> datasets = [tf.data.Dataset.from_tensors(n).repeat() for n in (0, 1)]
    >>> dataset = tf.data.experimental.sample_from_datasets(datasets, weights=[0.0, 1.0])
    >>> tf.Session().run(dataset.make_one_shot_iterator().get_next())
    np.int32(1)
    """
    return sampled(datasets, weights, seed)


def sampled(datasets: Sequence[Dataset], weights: Any, seed: int | None, stop_on_empty: bool = False) -> Dataset:
    """`sample_from_datasets`; ``stop_on_empty``: ends when the one that is drawn has ended."""
    datasets = list(datasets)
    seeds = RandomDataset(seed).batch(2)
    if isinstance(weights, Dataset):
        return _directed(
            Dataset.zip((weights, seeds)).map(lambda w, s: _drawn(raw_ops.Log(w), s)), datasets, stop_on_empty
        )
    if weights is None:
        logits = convert_to_tensor([1.0] * len(datasets))
    else:
        if not isinstance(weights, Tensor) and len(weights) == len(datasets):
            drawn = [(one, weight) for one, weight in zip(datasets, weights, strict=True) if weight > 0]
            datasets, weights = zip(*drawn, strict=True) if drawn else ([datasets[0].take(0)], [1.0])
        weights = convert_to_tensor(weights)
        if not weights.shape.is_compatible_with([len(datasets)]):
            raise ValueError(
                f"`weights` must have one number for each of {len(datasets)} datasets, got {weights} {at()}"
            )
        logits = raw_ops.Log(weights)
    if len(datasets) == 1:
        return datasets[0]
    return _directed(seeds.map(lambda s: _drawn(logits, s)), datasets, stop_on_empty)


def _drawn(logits: Any, seed: Any) -> Any:
    """A number drawn by logits."""
    drawn = raw_ops.StatelessMultinomial(raw_ops.Reshape(logits, [1, -1]), 1, seed, output_dtype=dtypes.int64)
    return raw_ops.Squeeze(drawn)


INFINITE_CARDINALITY, UNKNOWN_CARDINALITY = -1, -2


def cardinality(dataset: Dataset) -> Any:
    """How many elements a dataset has, as a tensor: `INFINITE_CARDINALITY`, or `UNKNOWN_CARDINALITY` unless it can be told.

    Args:
      dataset: A dataset.

    Returns:
      An int64 scalar: the number of elements, -1 without an end, or -2 if it cannot be told.

    >>> tf.Session().run(tf.data.experimental.cardinality(tf.data.Dataset.range(5).batch(2)))
    np.int64(3)
    """
    return raw_ops.DatasetCardinality(dataset._variant_tensor)


def get_single_element(dataset: Dataset) -> Any:
    """The only element of a dataset, as tensors: each step computes it.

    Args:
      dataset: A dataset of exactly one element; any other number is an error of the step.

    Returns:
      The element: a tensor, or a nested structure of tensors.

    >>> dataset = tf.data.Dataset.range(5).batch(5)
    >>> tf.Session().run(tf.data.experimental.get_single_element(dataset))
    array([0, 1, 2, 3, 4])
    """
    spec = dataset.element_spec
    tensors = raw_ops.DatasetToSingleElement(
        dataset._variant_tensor, output_types=flat_types(spec), output_shapes=flat_shapes(spec)
    )
    return structure.from_flat(spec, tensors)


def group_by_window(
    key_func: Callable[..., Any], reduce_func: Callable[..., Any], window_size: Any = None, window_size_func: Any = None
) -> Transformation:
    """Collects elements of one key until there are ``window_size``, and gives the elements of ``reduce_func(key, window)``.

    Args:
      key_func: A function from an element to its key, an int64 scalar.
      reduce_func: A function from a key and a dataset, the window, to a dataset.
      window_size: The number of elements of a window. Give either `window_size` or `window_size_func`.
      window_size_func: A function from a key to the number of elements of its windows.

    Returns:
      A function for `Dataset.apply`.

    >>> windows = tf.data.experimental.group_by_window(lambda n: n % 2, lambda key, window: window.batch(3), window_size=3)
    >>> tf.Session().run(tf.data.Dataset.range(6).apply(windows).make_one_shot_iterator().get_next())
    array([0, 2, 4])
    """
    if (window_size is None) == (window_size_func is None):
        raise ValueError(f"Must pass either window_size or window_size_func, but not both. {at()}")
    if window_size_func is None:

        def window_size_func(_: Any) -> Any:
            return _int64(window_size)

    def apply(dataset: Dataset) -> Dataset:
        spec = dataset.element_spec
        key = trace_function(key_func, "group_by_window", spec)
        check_scalar(key.spec, "key_func")
        size = trace_function(window_size_func, "group_by_window", TensorSpec([], dtypes.int64), joined=True)
        check_scalar(size.spec, "window_size_func")
        window = structure.DatasetSpec(spec)
        reduce = trace_function(reduce_func, "group_by_window", TensorSpec([], dtypes.int64), window, joined=True)
        functions = {"key_func": key.attr, "reduce_func": reduce.attr, "window_size_func": size.attr}
        captured = [f.values for f in (key, reduce, size)]
        refs = [f.refs for f in (key, reduce, size)]
        return dataset._then(
            "GroupByWindowDataset", *captured, *refs, spec=_element_spec_of(reduce, "reduce_func"), **functions
        )

    return apply


def check_scalar(spec: Any, name: str) -> None:
    if not isinstance(spec, TensorSpec) or spec.dtype != dtypes.int64 or spec.shape.ndims not in (0, None):
        raise ValueError(f"`{name}` must return a single tf.int64 scalar tensor, got {spec!r}. {at()}")


def Counter(start: Any = 0, step: Any = 1, dtype: Any = dtypes.int64) -> Dataset:  # noqa: N802 - TensorFlow's name
    """The integers from ``start`` on, without end.

    Args:
      start: The first number.
      step: The difference of two numbers, which may be negative.
      dtype: The type of the numbers.

    Returns:
      A dataset.

    >>> dataset = tf.data.experimental.Counter(start=5, step=2)
    >>> tf.Session().run(dataset.batch(3).make_one_shot_iterator().get_next())
    array([5, 7, 9])
    """
    dtype = dtypes.as_dtype(dtype)
    largest = np.iinfo(np.int64).max if int(step) >= 0 else np.iinfo(np.int64).min
    numbers = Dataset.range(start, largest, step)
    if dtype == dtypes.int64:
        return numbers
    f = trace_function(lambda n: raw_ops.Cast(n, DstT=dtype), "Counter", numbers.element_spec)
    return numbers._called("MapDataset", f, preserve_cardinality=True)
