"""Datasets that pass on the elements of others: some of them, several times, in another order, in batches, ahead."""

from __future__ import annotations

import os

from headrace.core.dtypes import ANY
from headrace.core.errors import InvalidArgumentError
from headrace.ops.dataset.declare import TYPES, check_dataset, dataset
from headrace.resources.data.ahead import Prefetch
from headrace.resources.data.cache import FileCache, MemoryCache
from headrace.resources.data.chain import Concatenate, Repeat, Shard, Skip, Take, Window, Zip
from headrace.resources.data.elsewhere import Processes
from headrace.resources.data.group import Batch, PaddedBatch, SparseBatch, Unbatch
from headrace.resources.data.shuffle import Shuffle


def _counted(name, stage_class):
    @dataset(f"{name}(input_dataset: variant, count: host int64; {TYPES})")
    def _(input_dataset, count):
        check_dataset(input_dataset)
        return stage_class(input_dataset, max(count, -1))


_counted("RepeatDataset", Repeat)
_counted("TakeDataset", Take)
_counted("SkipDataset", Skip)


@dataset(
    "ShardDataset(input_dataset: variant, num_shards: host int64, index: host int64; require_non_empty: bool = False, "
    f"{TYPES})"
)
def _(input_dataset, num_shards, index):
    check_dataset(input_dataset)
    return Shard(input_dataset, num_shards, index)


@dataset(
    "BatchDatasetV2(input_dataset: variant, batch_size: host int64, drop_remainder: host bool; "
    f"parallel_copy: bool = False, {TYPES})"
)
def _(input_dataset, batch_size, drop_remainder):
    check_dataset(input_dataset)
    return Batch(input_dataset, batch_size, drop_remainder)


@dataset(
    "PaddedBatchDatasetV2(input_dataset: variant, batch_size: host int64, padded_shapes: N*int64, "
    "padding_values: list(Toutput_types), drop_remainder: host bool; parallel_copy: bool = False, "
    "output_shapes: list(shape) >= 1)",
    keeps=True,
    Toutput_types=ANY,
)
def _(input_dataset, batch_size, padded_shapes, padding_values, drop_remainder):
    check_dataset(input_dataset)
    for value in padding_values:
        if value.ndim:
            raise InvalidArgumentError(None, None, "All padding values must be scalars")
    return PaddedBatch(input_dataset, batch_size, drop_remainder, [s.tolist() for s in padded_shapes], padding_values)


@dataset(
    f"DenseToSparseBatchDataset(input_dataset: variant, batch_size: host int64, row_shape: host int64[1]; {TYPES})"
)
def _(input_dataset, batch_size, row_shape):
    check_dataset(input_dataset)
    return SparseBatch(input_dataset, batch_size, row_shape)


@dataset(f"UnbatchDataset(input_dataset: variant; {TYPES})")
def _(input_dataset):
    check_dataset(input_dataset)
    return Unbatch(input_dataset)


@dataset(
    "ShuffleDataset(input_dataset: variant, buffer_size: host int64, seed: host int64, seed2: host int64; "
    f"reshuffle_each_iteration: bool = True, {TYPES})"
)
def _(input_dataset, buffer_size, seed, seed2, reshuffle_each_iteration):
    check_dataset(input_dataset)
    return Shuffle(input_dataset, buffer_size, seed, seed2, reshuffle_each_iteration)


@dataset(
    "ShuffleAndRepeatDataset(input_dataset: variant, buffer_size: host int64, seed: host int64, seed2: host int64, "
    f"count: host int64; {TYPES})"
)
def _(input_dataset, buffer_size, seed, seed2, count):
    check_dataset(input_dataset)
    return Shuffle(input_dataset, buffer_size, seed, seed2, count=count)


@dataset(
    "PrefetchDataset(input_dataset: variant, buffer_size: host int64; "
    f"{TYPES}, slack_period: int = 0, legacy_autotune: bool = True)"
)
def _(input_dataset, buffer_size):
    check_dataset(input_dataset)
    if buffer_size < -1:
        raise InvalidArgumentError(
            None, None, f"buffer_size must be >= 0 or set buffer_size to be -1 for auto-tuning, got {buffer_size}"
        )
    return Prefetch(input_dataset, buffer_size)


@dataset(f"CacheDataset(input_dataset: variant, filename: string; {TYPES})")
def _(input_dataset, filename):
    check_dataset(input_dataset)
    path = os.fsdecode(filename.item())
    return FileCache(input_dataset, path) if path else MemoryCache(input_dataset)


@dataset(f"ZipDataset(input_datasets: N*variant; {TYPES})")
def _(input_datasets):
    for one in input_datasets:
        check_dataset(one)
    return Zip(input_datasets)


@dataset(f"ConcatenateDataset(input_dataset: variant, another_dataset: variant; {TYPES})")
def _(input_dataset, another_dataset):
    check_dataset(input_dataset)
    check_dataset(another_dataset)
    return Concatenate(input_dataset, another_dataset)


@dataset(
    "WindowDataset(input_dataset: variant, size: host int64, shift: host int64, stride: host int64, "
    f"drop_remainder: host bool; {TYPES})"
)
def _(input_dataset, size, shift, stride, drop_remainder):
    check_dataset(input_dataset)
    return Window(input_dataset, size, shift, stride, drop_remainder)


@dataset(f"_ProcessesDataset(input_dataset: variant; processes: int >= 1, {TYPES})")
def _(input_dataset, processes):
    check_dataset(input_dataset)
    return Processes(input_dataset, processes)
