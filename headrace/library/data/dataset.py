"""tf.data.Dataset: a description of elements and where they come from, made of other datasets step by step."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

import numpy as np

from headrace.core import dtypes
from headrace.core.card import card
from headrace.core.shape import TensorShape
from headrace.core.source import at
from headrace.core.tensor_spec import TensorSpec
from headrace.graph import raw_ops
from headrace.graph.convert import convert_to_tensor
from headrace.graph.infer import partial_value
from headrace.graph.operation import Tensor
from headrace.library.data import nest, structure
from headrace.library.data.function import Traced, either, settled, trace_function
from headrace.library.data.generate import starter
from headrace.library.data.iterator import (
    Iterator,
    eager_iterator,
    make_initializable_iterator,
    make_one_shot_iterator,
    on_device,
)
from headrace.library.data.options import Options
from headrace.library.data.pad import padding_values_of, shapes_to_pad_to
from headrace.library.data.structure import DatasetSpec, flat_shapes, flat_types
from headrace.library.numeric.random import get_seed

AUTOTUNE = -1


@DatasetSpec.describes
class Dataset:
    """A sequence of elements, each a structure of tensors: tuples, dictionaries, sparse tensors, datasets.

    ``from_tensor_slices``, ``range``, ``from_generator`` and the classes that read files begin one; methods such as ``map``,
    ``shuffle`` and ``batch`` make another of it.  Nothing is computed until an iterator takes elements.

    A class of your own has ``_as_variant_tensor``, ``_inputs`` and ``element_spec``, as in TensorFlow.

    >>> dataset = tf.data.Dataset.range(10).map(lambda n: n * n).batch(4)
    >>> tf.Session().run(dataset.make_one_shot_iterator().get_next())
    array([0, 1, 4, 9])
    """

    def __init__(self) -> None:
        self._set(self._as_variant_tensor(), self._inputs())

    def _set(self, variant: Tensor, inputs: Any) -> None:
        self._variant_tensor = variant
        self._given_options = Options()
        self._device = ""  # where its elements are; "": on the host
        self._last = ""  # why nothing may be made of it
        for one in inputs:
            self._given_options = self._given_options.merge(one.options())
            self._device = self._device or one._device

    def _as_variant_tensor(self) -> Tensor:
        """The dataset as a tensor, for classes of your own."""
        raise NotImplementedError(f"{type(self).__name__} has no _as_variant_tensor {at()}")

    def _inputs(self) -> list[Dataset]:
        """The datasets that this one is made of."""
        return []

    @classmethod
    def _of(cls, variant: Tensor, spec: Any, *inputs: Dataset) -> Dataset:
        return _Made(variant, spec, inputs)

    def _then(self, op_type: str, *arguments: Any, spec: Any = None, **attrs: Any) -> Dataset:
        """The dataset of a node that takes this one first."""
        return made(
            op_type, self.element_spec if spec is None else spec, [self], self._variant_tensor, *arguments, **attrs
        )

    def _called(
        self, op_type: str, f: Traced, *arguments: Any, spec: Any = None, attr: str = "f", **attrs: Any
    ) -> Dataset:
        """The dataset of a node that takes this one, what a function has captured, and further arguments."""
        attrs[attr] = f.attr
        return f.make(  # type: ignore[no-any-return]
            lambda: self._then(op_type, f.values, *arguments, f.refs, spec=f.spec if spec is None else spec, **attrs)
        )

    # ---- what elements are like

    @property
    def element_spec(self) -> Any:
        """What an element is like."""
        if type(self).output_types is Dataset.output_types:
            raise NotImplementedError(f"{type(self).__name__} has no element_spec {at()}")
        return structure.from_legacy(self.output_types, self.output_shapes, self.output_classes)

    @property
    def output_types(self) -> Any:
        """The types of the components of an element, in its structure."""
        return structure.types_of(self.element_spec)

    @property
    def output_shapes(self) -> Any:
        """The shapes of the components of an element, in its structure."""
        return structure.shapes_of(self.element_spec)

    @property
    def output_classes(self) -> Any:
        """The classes of the components of an element, in its structure."""
        return structure.classes_of(self.element_spec)

    def _repr_html_(self) -> str:
        steps: list[str] = []
        tensor: Tensor | None = self._variant_tensor
        while tensor is not None and hasattr(tensor.op, "inputs"):
            steps.append(tensor.op.type.removesuffix("V2").removesuffix("Dataset"))
            tensor = next((t for t in tensor.op.inputs if t.dtype == dtypes.variant), None)
        facts = {"types": self.output_types, "shapes": self.output_shapes, "steps": " → ".join(reversed(steps))}
        return card("tf.data.Dataset", facts)

    def __repr__(self) -> str:
        shapes = str(nest.map_structure(str, self.output_shapes)).replace("'", "")
        types = str(nest.map_structure(_type_name, self.output_types)).replace("'", "")
        name = "DatasetV1Adapter" if type(self) is _Made else type(self).__name__
        return f"<{name} shapes: {shapes}, types: {types}>"

    # ---- sources

    @staticmethod
    def from_tensors(tensors: Any) -> Dataset:
        """One element."""
        element = structure.normalized(tensors)
        spec = structure.specs_of(element)
        return made("TensorDataset", spec, [], structure.to_flat(element), types=False)

    @staticmethod
    def from_tensor_slices(tensors: Any) -> Dataset:
        """The rows of tensors."""
        element = structure.normalized(tensors)
        spec = structure.specs_of(element)
        rows = structure.of_rows(spec)
        _check_rows(nest.flatten(spec))
        return made("TensorSliceDataset", rows, [], structure.to_flat(element), types=False)

    @staticmethod
    def from_sparse_tensor_slices(sparse_tensor: Any) -> Dataset:
        """The rows of a sparse tensor."""
        return Dataset.from_tensor_slices(sparse_tensor)

    @staticmethod
    def range(*args: Any) -> Dataset:
        """``range(stop)``, ``range(start, stop)`` or ``range(start, stop, step)``, as int64."""
        if not 1 <= len(args) <= 3:
            raise ValueError(f"Invalid `args`: {args!r}: range takes 1 to 3 numbers {at()}")
        start, stop, step = {1: (0, *args, 1), 2: (*args, 1), 3: args}[len(args)]
        return made("RangeDataset", TensorSpec([], dtypes.int64), [], start, stop, step)

    @staticmethod
    def from_generator(
        generator: Callable[..., Any], output_types: Any, output_shapes: Any = None, args: Any = None
    ) -> Dataset:
        """The elements that a Python generator gives: ``generator`` is a function that makes one.

        It runs in this process.  A position in it is restored by making a new one and taking elements.
        """
        if not callable(generator):
            raise TypeError(f"`generator` must be callable. {at()}")
        spec = structure.from_legacy(output_types, output_shapes)
        values = [convert_to_tensor(a) for a in args or ()]
        return made("_IterableDataset", spec, [], values, func=starter(generator, spec))

    @staticmethod
    def list_files(file_pattern: Any, shuffle: Any = None, seed: int | None = None) -> Dataset:
        """The names of the files that match a pattern, or one of several; shuffled unless ``shuffle`` is False."""
        names = raw_ops._MatchedFiles(convert_to_tensor(file_pattern, dtypes.string))
        dataset = Dataset.from_tensor_slices(names)
        if shuffle is not None and not shuffle:
            return dataset
        return dataset.shuffle(raw_ops.Size(names, out_type=dtypes.int64), seed=seed)

    @staticmethod
    def zip(datasets: Any) -> Dataset:
        """Elements of several datasets side by side, in the structure of ``datasets``; ends with the shortest."""
        leaves = nest.flatten(datasets)
        for one in leaves:
            if not isinstance(one, Dataset):
                if isinstance(one, list):
                    raise TypeError(
                        "The argument to `Dataset.zip()` must be a nested structure of `Dataset` objects. Nested structures do "
                        f"not support Python lists; please use a tuple instead. {at()}"
                    )
                raise TypeError(
                    f"The argument to `Dataset.zip()` must be a nested structure of `Dataset` objects, got {one!r} {at()}"
                )
        spec = nest.map_structure(lambda d: d.element_spec, datasets)
        return made("ZipDataset", spec, leaves, [d._variant_tensor for d in leaves])

    # ---- which elements

    def take(self, count: Any) -> Dataset:
        """At most ``count`` elements; -1: all."""
        return self._then("TakeDataset", _int64(count))

    def skip(self, count: Any) -> Dataset:
        """The elements after the first ``count``; -1: none."""
        return self._then("SkipDataset", _int64(count))

    def shard(self, num_shards: Any, index: Any) -> Dataset:
        """Every ``num_shards``-th element, from ``index`` on."""
        number, place = _known(_int64(num_shards)), _known(_int64(index))
        if number is not None and number < 1:
            raise ValueError(f"num_shards must be >= 1; got {number} {at()}")
        if place is not None and place < 0:
            raise ValueError(f"index must be >= 0; got {place} {at()}")
        if number is not None and place is not None and place >= number:
            raise ValueError(f"index must be <= num_shards; {place} is not < {number} {at()}")
        return self._then("ShardDataset", _int64(num_shards), _int64(index))

    def repeat(self, count: Any = None) -> Dataset:
        """The elements ``count`` times; None or -1: for ever."""
        return self._then("RepeatDataset", _int64(-1 if count is None else count))

    def concatenate(self, dataset: Dataset) -> Dataset:
        """These elements, then those of another dataset."""
        mine, theirs = self.element_spec, dataset.element_spec
        for what, get in (("types", structure.types_of), ("classes", structure.classes_of)):
            if str(get(mine)) != str(get(theirs)):
                raise TypeError(
                    f"Two datasets to concatenate have different {what} {get(mine)} and {get(theirs)} {at()}"
                )
        spec = nest.map_structure(either, mine, theirs)
        return made("ConcatenateDataset", spec, [self, dataset], self._variant_tensor, dataset._variant_tensor)

    def shuffle(
        self, buffer_size: Any, seed: int | None = None, reshuffle_each_iteration: bool | None = None
    ) -> Dataset:
        """Elements drawn at random from a buffer of ``buffer_size``, which the next elements fill again."""
        first, second = get_seed(seed)
        anew = reshuffle_each_iteration is None or reshuffle_each_iteration
        return self._then("ShuffleDataset", _int64(buffer_size), first or 0, second or 0, reshuffle_each_iteration=anew)

    def cache(self, filename: Any = "") -> Dataset:
        """The elements kept, in memory or in a file, when they have been taken once."""
        return self._then("CacheDataset", convert_to_tensor(filename, dtypes.string))

    def prefetch(self, buffer_size: Any) -> Dataset:
        """Computes up to ``buffer_size`` elements ahead; ``AUTOTUNE``: as many as are needed."""
        return self._then("PrefetchDataset", _int64(AUTOTUNE if buffer_size is None else buffer_size))

    def enumerate(self, start: Any = 0) -> Dataset:
        """Pairs of a number, counted from ``start``, and an element."""
        return Dataset.zip((Dataset.range(start, sys.maxsize), self))

    # ---- batches

    def batch(self, batch_size: Any, drop_remainder: Any = False) -> Dataset:
        """``batch_size`` elements as one, with a dimension in front; the last may be smaller unless ``drop_remainder``."""
        spec = _batch_spec(self.element_spec, batch_size, drop_remainder)
        return self._then("BatchDatasetV2", *_batched(batch_size, drop_remainder), spec=spec)

    def padded_batch(
        self, batch_size: Any, padded_shapes: Any, padding_values: Any = None, drop_remainder: Any = False
    ) -> Dataset:
        """Batches of elements of different sizes: each is padded to ``padded_shapes``, where None is the longest of a batch."""
        spec = self.element_spec
        shapes, static = shapes_to_pad_to(spec, padded_shapes)
        values = padding_values_of(spec, padding_values)
        padded = nest.pack_sequence_as(
            spec, [TensorSpec(s, one.dtype) for s, one in zip(static, nest.flatten(spec), strict=True)]
        )
        size, drop = _batched(batch_size, drop_remainder)
        spec = _batch_spec(padded, batch_size, drop_remainder)
        return self._then("PaddedBatchDatasetV2", size, shapes, values, drop, spec=spec, types=False)

    def unbatch(self) -> Dataset:
        """The rows of each element."""
        for one in nest.flatten(self.element_spec):
            if one.shape.ndims == 0:
                raise ValueError(f"Cannot unbatch an input with scalar components. {at()}")
        return self._then("UnbatchDataset", spec=structure.of_rows(self.element_spec))

    def window(self, size: Any, shift: Any = None, stride: Any = 1, drop_remainder: Any = False) -> Dataset:
        """Datasets of ``size`` elements each, ``shift`` apart, of every ``stride``-th element."""
        spec = nest.map_structure(DatasetSpec, self.element_spec)
        arguments = [_int64(size), _int64(size if shift is None else shift), _int64(stride)]
        return self._then("WindowDataset", *arguments, convert_to_tensor(drop_remainder, dtypes.bool), spec=spec)

    # ---- functions

    def map(self, map_func: Callable[..., Any], num_parallel_calls: Any = None) -> Dataset:
        """The results of a function of each element, computed for ``num_parallel_calls`` elements together."""
        f = trace_function(map_func, "map", self.element_spec)
        if num_parallel_calls is None:
            return self._called("MapDataset", f)
        calls = convert_to_tensor(num_parallel_calls, dtypes.int32)
        return self._called("ParallelMapDataset", f, calls, sloppy=self._is_sloppy())

    map_with_legacy_function = map

    def _is_sloppy(self) -> bool:
        return self.options().experimental_deterministic is False

    def filter(self, predicate: Callable[..., Any]) -> Dataset:
        """The elements for which a function gives True."""
        f = trace_function(predicate, "filter", self.element_spec)
        if not isinstance(f.spec, TensorSpec) or f.spec.dtype != dtypes.bool or f.spec.shape.ndims not in (0, None):
            raise ValueError(f"`predicate` must return a scalar boolean tensor, got {f.spec!r}. {at()}")
        return self._called("FilterDataset", f, spec=self.element_spec, attr="predicate")

    filter_with_legacy_function = filter

    def flat_map(self, map_func: Callable[..., Any]) -> Dataset:
        """The elements of the datasets that a function makes of each element, one dataset after the other."""
        f = trace_function(map_func, "flat_map", self.element_spec)
        return self._called("FlatMapDataset", f, spec=_element_spec_of(f, "map_func"))

    def interleave(
        self,
        map_func: Callable[..., Any],
        cycle_length: Any = -1,
        block_length: Any = 1,
        num_parallel_calls: Any = None,
    ) -> Dataset:
        """The elements of the datasets that a function makes: ``block_length`` of each of ``cycle_length`` in turn."""
        f = trace_function(map_func, "interleave", self.element_spec)
        cycle = _int64(cycle_length)
        spec = _element_spec_of(f, "map_func")
        if num_parallel_calls is None:
            return self._called("InterleaveDataset", f, cycle, _int64(block_length), spec=spec)
        return self._called(
            "ParallelInterleaveDatasetV2", f, cycle, _int64(block_length), _int64(num_parallel_calls), spec=spec,
            sloppy=self._is_sloppy(),
        )  # fmt: skip

    def reduce(self, initial_state: Any, reduce_func: Callable[..., Any]) -> Any:
        """What becomes of a state when a function has been called with it and each element: a tensor, not a dataset."""
        state = structure.normalized(initial_state)
        spec = structure.specs_of(state)
        f, spec = settled(reduce_func, "reduce()", spec, self.element_spec)
        components = f.make(
            lambda: raw_ops.ReduceDataset(
                self._variant_tensor, structure.to_flat(state), f.values, f.refs, f=f.attr,
                output_types=flat_types(spec), output_shapes=flat_shapes(spec),
            )
        )  # fmt: skip
        return structure.from_flat(spec, components)

    def apply(self, transformation_func: Callable[[Dataset], Dataset]) -> Dataset:
        """What a function makes of this dataset."""
        dataset = transformation_func(self)
        if not isinstance(dataset, Dataset):
            raise TypeError(f"`transformation_func` must return a Dataset, got {dataset!r}. {at()}")
        return dataset

    # ---- options and iterators

    def options(self) -> Options:
        """The options of this dataset and of those it is made of."""
        return self._given_options

    def with_options(self, options: Options) -> Dataset:
        """A dataset with the same elements, read in the way that the options say."""
        processes = options.checked_processes()
        if processes:
            dataset = self._then("_ProcessesDataset", processes=processes)
        elif options.experimental_optimization.map_vectorization.enabled is False:
            dataset = self._then("_OneByOneDataset")
        else:
            dataset = _Made(self._variant_tensor, self.element_spec, [self])
        dataset._given_options = self.options().merge(options)
        return dataset

    def _applied(self) -> Dataset:
        """The dataset as iterators read it: with what its options add."""
        return with_statistics(self, self.options().experimental_stats)

    def __iter__(self) -> Iterator:
        """An iterator that has begun, for ``for element in dataset``, where ops run eagerly."""
        return eager_iterator(self)

    def make_one_shot_iterator(self) -> Iterator:
        """An iterator that begins with the first step that uses it, and cannot begin again."""
        return make_one_shot_iterator(self)

    def make_initializable_iterator(self, shared_name: str | None = None) -> Iterator:
        """An iterator that begins when its ``initializer`` runs."""
        return make_initializable_iterator(self, shared_name)


class _Made(Dataset):
    """What functions of this module make."""

    def __init__(self, variant: Tensor, spec: Any, inputs: Any) -> None:
        self._spec = spec
        self._made_of = list(inputs)
        self._set(variant, self._made_of)

    def _inputs(self) -> list[Dataset]:
        return list(self._made_of)

    def _as_variant_tensor(self) -> Tensor:
        return self._variant_tensor

    @property
    def element_spec(self) -> Any:
        return self._spec


def _type_name(dtype: Any) -> str:
    return f"tf.{dtype.name}" if isinstance(dtype, dtypes.DType) else repr(dtype)


def made(op_type: str, spec: Any, inputs: Any, *arguments: Any, types: bool = True, **attrs: Any) -> Dataset:
    """The dataset of a node.  ``types``: whether the node has the attribute ``output_types``."""
    if types:
        attrs["output_types"] = flat_types(spec)
    device = next((one._device for one in inputs if one._device), "")
    if device and op_type not in ("PrefetchDataset", "SetStatsAggregatorDataset"):
        raise ValueError(
            f"copy_to_device and prefetch_to_device must be the last transformation: only prefetch may follow them, got "
            f"{op_type} {at()}"
        )
    for one in inputs:
        if one._last:
            raise ValueError(f"{op_type} cannot follow: {one._last} {at()}")
    with on_device(device):
        return _Made(getattr(raw_ops, op_type)(*arguments, output_shapes=flat_shapes(spec), **attrs), spec, inputs)


def with_statistics(dataset: Dataset, stats: Any) -> Dataset:
    """The dataset with the aggregator of `StatsOptions`, if they have one."""
    if stats is None or stats.aggregator is None:
        return dataset
    tag, counters = stats.prefix or "", stats.counter_prefix or ""
    resource = stats.aggregator._resource
    return dataset._then("SetStatsAggregatorDataset", resource, tag, counters, _all_edges=bool(stats.latency_all_edges))


def to_variant(dataset: Dataset) -> Tensor:
    """The dataset as a tensor.

    Args:
      dataset: A dataset.

    Returns:
      A variant scalar, from which `from_variant` makes a dataset again.

    >>> tf.data.experimental.to_variant(tf.data.Dataset.range(3)).dtype
    tf.variant
    """
    return dataset._variant_tensor


def from_variant(variant: Tensor, structure: Any) -> Dataset:
    """The dataset of a tensor that `to_variant` has given; its elements are like ``structure``.

    Args:
      variant: A variant scalar that stands for a dataset.
      structure: What an element is like: a `tf.TensorSpec`, or a nested structure of specs.

    Returns:
      A dataset.

    >>> variant = tf.data.experimental.to_variant(tf.data.Dataset.range(3))
    >>> tf.data.experimental.from_variant(variant, tf.TensorSpec([], tf.int64))
    <DatasetV1Adapter shapes: (), types: tf.int64>
    """
    return _Made(variant, structure, [])


def _int64(value: Any) -> Tensor:
    return convert_to_tensor(value, dtypes.int64)


def _batched(batch_size: Any, drop_remainder: Any) -> tuple[Tensor, Tensor]:
    return _int64(batch_size), convert_to_tensor(drop_remainder, dtypes.bool)


def _batch_spec(spec: Any, batch_size: Any, drop_remainder: Any) -> Any:
    return structure.with_batch(spec, _known(batch_size) if _known(drop_remainder) else None)


def _known(number: Any) -> Any:
    """A number, or that of a tensor; None where it is known only when the tensor is computed."""
    value = partial_value(number) if isinstance(number, Tensor) else number
    return value.item() if isinstance(value, (np.ndarray, np.generic)) else value


def _check_rows(specs: Any) -> None:
    count = TensorShape([None])
    for one in specs:
        if one.shape.ndims == 0:
            raise ValueError(
                f"Unbatching a tensor is only supported for rank >= 1: from_tensor_slices got a scalar {at()}"
            )
        rows = TensorShape([None]) if one.shape.ndims is None else TensorShape(one.shape.as_list()[:1])
        if not count.is_compatible_with(rows):
            raise ValueError(f"Dimensions {count.as_list()[0]} and {rows.as_list()[0]} are not compatible {at()}")
        count = count.merge_with(rows)


def _element_spec_of(f: Traced, argument: str) -> Any:
    if not isinstance(f.spec, DatasetSpec):
        raise TypeError(f"`{argument}` must return a `Dataset` object, got {f.spec!r}. {at()}")
    return f.spec.element_spec
