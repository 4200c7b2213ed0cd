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
    """Pairs of a number and an element."""
    return lambda dataset: dataset.enumerate(start)


def unbatch() -> Transformation:
    """The rows of each element."""
    return lambda dataset: dataset.unbatch()


def batch_and_drop_remainder(batch_size: Any) -> Transformation:
    """``batch`` of whole batches only."""
    return lambda dataset: dataset.batch(batch_size, drop_remainder=True)


def padded_batch_and_drop_remainder(batch_size: Any, padded_shapes: Any, padding_values: Any = None) -> Transformation:
    """``padded_batch`` of whole batches only."""
    return lambda dataset: dataset.padded_batch(batch_size, padded_shapes, padding_values, drop_remainder=True)


def ignore_errors() -> Transformation:
    """Leaves out the elements that cannot be computed."""
    return lambda dataset: dataset._then("IgnoreErrorsDataset")


def unique() -> Transformation:
    """Leaves out what is equal to an element before it."""
    return lambda dataset: dataset._then("UniqueDataset")


def shuffle_and_repeat(buffer_size: Any, count: Any = None, seed: int | None = None) -> Transformation:
    """``shuffle`` and ``repeat`` in one: the buffer stays full at the border of two epochs."""

    def apply(dataset: Dataset) -> Dataset:
        first, second = get_seed(seed)
        number = _int64(-1 if count is None else count)
        return dataset._then("ShuffleAndRepeatDataset", _int64(buffer_size), first or 0, second or 0, number)

    return apply


def map_and_batch(
    map_func: Callable[..., Any], batch_size: Any, num_parallel_batches: Any = None, drop_remainder: Any = False,
    num_parallel_calls: Any = None,
) -> Transformation:  # fmt: skip
    """``map`` and ``batch`` in one."""
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
    """The elements of the datasets that a function makes of ``cycle_length`` elements in turn, read ahead."""
    return lambda dataset: dataset.interleave(map_func, cycle_length, block_length, AUTOTUNE)


def take_while(predicate: Callable[..., Any]) -> Transformation:
    """The elements before the first for which a function gives False."""

    def apply(dataset: Dataset) -> Dataset:
        f = trace_function(predicate, "take_while", dataset.element_spec)
        if not isinstance(f.spec, TensorSpec) or f.spec.dtype != dtypes.bool or f.spec.shape.ndims not in (0, None):
            raise ValueError(f"`predicate` must return a scalar boolean tensor, got {f.spec!r}. {at()}")
        return dataset._called("TakeWhileDataset", f, spec=dataset.element_spec, attr="predicate")

    return apply


def scan(initial_state: Any, scan_func: Callable[..., Any]) -> Transformation:
    """Calls ``scan_func(state, element)``, which gives the next state and an element."""

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
    """Elements of several datasets; another dataset, of integers, says from which the next one is."""
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
    """Random integers below 2**32, without end, from the seed on."""

    def __init__(self, seed: int | None = None) -> None:
        first, second = get_seed(seed)
        numbers = made("RandomDataset", TensorSpec([], dtypes.int64), [], first or 0, second or 0)
        super().__init__(numbers._variant_tensor, numbers.element_spec, [])


def sample_from_datasets(datasets: Sequence[Dataset], weights: Any = None, seed: int | None = None) -> Dataset:
    """Elements of several datasets, each taken at random; ``weights`` are probabilities, or a dataset of them."""
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
    """How many elements a dataset has, as a tensor: `INFINITE_CARDINALITY`, or `UNKNOWN_CARDINALITY` unless it can be told."""
    return raw_ops.DatasetCardinality(dataset._variant_tensor)


def get_single_element(dataset: Dataset) -> Any:
    """The only element of a dataset, as tensors: each step computes it."""
    spec = dataset.element_spec
    tensors = raw_ops.DatasetToSingleElement(
        dataset._variant_tensor, output_types=flat_types(spec), output_shapes=flat_shapes(spec)
    )
    return structure.from_flat(spec, tensors)


def group_by_window(
    key_func: Callable[..., Any], reduce_func: Callable[..., Any], window_size: Any = None, window_size_func: Any = None
) -> Transformation:
    """Collects elements of one key until there are ``window_size``, and gives the elements of ``reduce_func(key, window)``."""
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
    """The integers from ``start`` on, without end."""
    dtype = dtypes.as_dtype(dtype)
    largest = np.iinfo(np.int64).max if int(step) >= 0 else np.iinfo(np.int64).min
    numbers = Dataset.range(start, largest, step)
    if dtype == dtypes.int64:
        return numbers
    f = trace_function(lambda n: raw_ops.Cast(n, DstT=dtype), "Counter", numbers.element_spec)
    return numbers._called("MapDataset", f, preserve_cardinality=True)
