"""Input of several replicas: datasets whose elements are divided among them, or of which each gets an element of its own.

Input is read on the host.  The parts travel to the devices of the replicas as all values of a step do.
"""

from __future__ import annotations

import enum
import inspect
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

from headrace.core import dtypes
from headrace.core.errors import OutOfRangeError
from headrace.core.source import at
from headrace.core.tensor_spec import TensorSpec
from headrace.graph import context, convert, raw_ops
from headrace.graph.operation import Operation, Tensor
from headrace.graph.structures import SparseTensor
from headrace.library.control.dependency import group
from headrace.library.data import nest
from headrace.library.data.dataset import Dataset
from headrace.library.data.iterator import Iterator as DataIterator
from headrace.library.data.iterator import eager_iterator, make_initializable_iterator, make_one_shot_iterator
from headrace.library.distribute.values import regroup
from headrace.library.scope import control_dependencies, device


class InputReplicationMode(enum.Enum):
    """How often an input function is called.

    Args:
      value: "PER_WORKER".

    >>> tf.distribute.InputReplicationMode.PER_WORKER
    <InputReplicationMode.PER_WORKER: 'PER_WORKER'>
    """

    __signature__ = inspect.Signature([inspect.Parameter("value", inspect.Parameter.POSITIONAL_OR_KEYWORD)])
    PER_WORKER = "PER_WORKER"


class InputContext:
    """What an input function knows of the place that it reads for.

    Args:
      num_input_pipelines: How often the function is called in the cluster: once for each worker.
      input_pipeline_id: Which of these calls this is.
      num_replicas_in_sync: How many replicas train together.

    >>> here = tf.distribute.InputContext(num_replicas_in_sync=4)
    >>> here.get_per_replica_batch_size(32)
    8
    """

    def __init__(self, num_input_pipelines: int = 1, input_pipeline_id: int = 0, num_replicas_in_sync: int = 1) -> None:
        self._pipelines = num_input_pipelines
        self._pipeline = input_pipeline_id
        self._replicas = num_replicas_in_sync

    @property
    def num_replicas_in_sync(self) -> int:
        """How many replicas train together."""
        return self._replicas

    @property
    def input_pipeline_id(self) -> int:
        """Which of the calls this is."""
        return self._pipeline

    @property
    def num_input_pipelines(self) -> int:
        """How often the function is called in the cluster."""
        return self._pipelines

    def get_per_replica_batch_size(self, global_batch_size: int) -> int:
        """The batch of one replica.

        Args:
          global_batch_size: The batch of all replicas together; a multiple of their number.

        Returns:
          A Python number.
        """
        if global_batch_size % self._replicas:
            raise ValueError(
                f"The global batch size {global_batch_size!r} is not divisible by the number of replicas {self._replicas!r} "
                f"{at()}"
            )
        return global_batch_size // self._replicas

    def __repr__(self) -> str:
        return f"tf.distribute.InputContext(input pipeline id {self._pipeline}, total: {self._pipelines})"


class DistributedIterator:
    """An iterator whose elements have a value for each replica."""

    def __init__(self, iterators: Sequence[DataIterator], take: Callable[[], Any]) -> None:
        self._iterators = tuple(iterators)
        self._take = take

    def get_next(self, name: str | None = None) -> Any:
        """The next element: in each step that uses it, another one.

        Args:
          name: Accepted for TensorFlow's sake; it has no effect.

        Returns:
          The structure of an element, with the values of all replicas.
        """
        return self._take()

    def initialize(self) -> list[Operation]:
        """The operations that begin the iterator, and begin it again."""
        return [one.initializer for one in self._iterators if one._initializer is not None]

    @property
    def initializer(self) -> Operation:
        """One operation that begins the iterator, and begins it again."""
        return group(*self.initialize())

    @property
    def output_types(self) -> Any:
        """The types of the components of an element, in its structure."""
        return self._iterators[0].output_types

    @property
    def output_shapes(self) -> Any:
        """The shapes of the components of an element before it is divided, in its structure."""
        return self._iterators[0].output_shapes

    @property
    def output_classes(self) -> Any:
        """The classes of the components of an element, in its structure."""
        return self._iterators[0].output_classes

    def __iter__(self) -> DistributedIterator:
        return self

    def __next__(self) -> Any:
        """The next element, where ops run eagerly; StopIteration at the end."""
        if not context.executing_eagerly():
            raise RuntimeError(f"In a graph, run the tensors of get_next() instead of iterating {at()}")
        try:
            return self._take()
        except OutOfRangeError:
            raise StopIteration from None


class _InputDataset:
    """What the two kinds of distributed datasets have in common: their iterators."""

    def __init__(self, strategy: Any) -> None:
        self._strategy = strategy
        extended = strategy.extended
        self._devices: tuple[str, ...] = extended.worker_devices
        self._host: str = extended._host
        self._dataset: Any = None

    def _element(self, iterator: DataIterator) -> Any:
        """What the replicas get next."""
        raise NotImplementedError

    def _iterator(self, make: Callable[[Dataset], DataIterator]) -> DistributedIterator:
        with device(self._host):
            iterator = make(self._dataset)

        def take() -> Any:
            with device(self._host):
                return self._element(iterator)

        return DistributedIterator([iterator], take)

    def make_initializable_iterator(self) -> DistributedIterator:
        """An iterator that begins when what its ``initialize()`` gives runs."""
        if context.executing_eagerly():
            return self._iterator(eager_iterator)
        return self._iterator(make_initializable_iterator)

    def make_one_shot_iterator(self) -> DistributedIterator:
        """An iterator that begins with the first step that uses it."""
        return self._iterator(make_one_shot_iterator)

    def __iter__(self) -> Iterator[Any]:
        return self._iterator(eager_iterator)

    @property
    def element_spec(self) -> Any:
        """What an element is like before it is divided."""
        return self._dataset.element_spec


class DistributedDataset(_InputDataset):
    """A dataset each element of which, a batch, is divided among all replicas."""

    def __init__(self, strategy: Any, dataset: Any) -> None:
        super().__init__(strategy)
        if not isinstance(dataset, Dataset):
            raise TypeError(f"A strategy distributes a tf.data.Dataset, got {dataset!r} {at()}")
        self._dataset = dataset
        self._count = strategy.num_replicas_in_sync
        if self._count > 1:
            _check_batched(dataset)

    def _element(self, iterator: DataIterator) -> Any:
        element = iterator.get_next()
        first = self._strategy.extended._first_replica
        parts = [
            nest.map_structure(lambda one, number=first + i: rows_of(one, number, self._count), element)
            for i in range(len(self._devices))
        ]
        return regroup(parts) if len(parts) > 1 else parts[0]


def rows_of(batch: Any, number: int, count: int) -> Any:
    """The rows of replica ``number`` of ``count``."""
    if count == 1:
        return batch
    if isinstance(batch, SparseTensor):
        begin, size = _range(raw_ops.Cast(batch.dense_shape, dtypes.int32), number, count)
        begins, sizes = raw_ops.Cast(begin, dtypes.int64), raw_ops.Cast(size, dtypes.int64)
        indices, values, shape = raw_ops.SparseSlice(batch.indices, batch.values, batch.dense_shape, begins, sizes)
        return SparseTensor(indices, values, shape)
    begin, size = _range(raw_ops.Shape(batch), number, count)
    part: Tensor = raw_ops.Slice(batch, begin, size)
    if batch.shape.ndims is not None:
        rows = batch.shape[0].value
        known = rows is not None and rows % count == 0
        part.set_shape([rows // count if known else None, *batch.shape.as_list()[1:]])
    return part


def _range(shape: Tensor, number: int, count: int) -> tuple[Tensor, Tensor]:
    """Where the rows of a replica begin, and the shape of its part: as many for each, the first with one more."""
    rows = shape[:1]
    begin = (rows * number + (count - 1)) // count
    end = (rows * (number + 1) + (count - 1)) // count
    rest = shape[1:]
    begins = raw_ops.ConcatV2([begin, raw_ops.Mul(rest, 0)], 0)
    return begins, raw_ops.ConcatV2([end - begin, rest], 0)


def _check_batched(dataset: Dataset) -> None:
    for spec in nest.flatten(dataset.element_spec):
        shape = getattr(spec, "shape", None)
        if shape is None or shape.ndims is None or shape.ndims == 0:
            raise ValueError(
                "A strategy divides each element of a dataset among the replicas along the first dimension, and an element is "
                f"{dataset.element_spec!r}: batch the dataset first, by the batch of all replicas together {at()}"
            )


class RoundDataset(_InputDataset):
    """A dataset of which each replica takes an element of its own in a step."""

    def __init__(self, strategy: Any, dataset_fn: Callable[..., Any]) -> None:
        super().__init__(strategy)
        dataset = call_input_fn(strategy, dataset_fn)
        if not isinstance(dataset, Dataset):
            raise TypeError(f"The function must give a tf.data.Dataset, and gave {dataset!r} {at()}")
        self._set(dataset)

    def _set(self, dataset: Dataset) -> None:
        with device(self._host):
            self._dataset = _filled(dataset, len(self._devices) - 1)

    @classmethod
    def _of(cls, strategy: Any, dataset: Dataset) -> RoundDataset:
        made = cls.__new__(cls)
        _InputDataset.__init__(made, strategy)
        made._set(dataset)
        return made

    def _element(self, iterator: DataIterator) -> Any:
        elements: list[Any] = []
        before: list[Any] = []
        for _ in self._devices:
            with control_dependencies(before):
                elements.append(iterator.get_next())
            if not context.executing_eagerly():
                before = [_some_tensor(elements[-1]).op]
        return regroup(elements) if len(elements) > 1 else elements[0]


def _some_tensor(element: Any) -> Any:
    leaf = nest.flatten(element)[0]
    return leaf.indices if isinstance(leaf, SparseTensor) else leaf


def _filled(dataset: Dataset, count: int) -> Dataset:
    """The dataset and ``count`` batches without rows, so that the last elements are not lost where they do not go around."""
    specs = nest.flatten(dataset.element_spec)
    if not count or not all(isinstance(spec, TensorSpec) and _has_any_rows(spec) for spec in specs):
        return dataset
    empty = [np.zeros([0, *_rest(spec)], spec.dtype.as_numpy_dtype) for spec in specs]
    tensors = [convert.constant(one, spec.dtype) for one, spec in zip(empty, specs, strict=True)]
    fill = Dataset.from_tensors(nest.pack_sequence_as(dataset.element_spec, tensors))
    return dataset.concatenate(fill.repeat(count))


def _has_any_rows(spec: TensorSpec) -> bool:
    return bool(spec.shape.ndims) and spec.shape[0].value is None


def _rest(spec: TensorSpec) -> list[int]:
    return [size or 0 for size in spec.shape.as_list()[1:]]


def input_context(strategy: Any) -> InputContext:
    """What an input function of this worker is told."""
    extended = strategy.extended
    pipelines, pipeline = getattr(extended, "_input_pipelines", (1, 0))
    return InputContext(pipelines, pipeline, strategy.num_replicas_in_sync)


def call_input_fn(strategy: Any, input_fn: Callable[..., Any]) -> Any:
    """What the input function gives, called on the host."""
    if not callable(input_fn):
        raise TypeError(f"The input function must be callable, got {input_fn!r} {at()}")
    with device(strategy.extended._host):
        return input_fn(input_context(strategy))


def input_fn_iterator(strategy: Any, input_fn: Callable[..., Any]) -> DistributedIterator:
    """An iterator over what an input function gives: a dataset, or a function of no arguments that gives tensors."""
    given = call_input_fn(strategy, input_fn)
    if isinstance(given, Dataset):
        return RoundDataset._of(strategy, given).make_initializable_iterator()
    if not callable(given):
        raise ValueError(
            f"The input function must give a tf.data.Dataset or a function of no arguments, and gave {given!r} {at()}"
        )

    def take() -> Any:
        with device(strategy.extended._host):
            elements = [given() for _ in strategy.extended.worker_devices]
        return regroup(elements) if len(elements) > 1 else elements[0]

    return DistributedIterator([], take)
