"""Datasets that call a function for each element.  The function is a body that is planned by itself, once for each dataset.

What a function captures follows the dataset: values, then handles of variables.
"""

from __future__ import annotations

from functools import partial

import torch

from headrace.core.dtypes import ANY
from headrace.core.errors import InvalidArgumentError
from headrace.core.registry import op
from headrace.ops.dataset.declare import TYPES, check_dataset, dataset, described
from headrace.resources.calling.batch import whole
from headrace.resources.data.ahead import ParallelMap, Prefetch
from headrace.resources.data.cardinality import cardinality
from headrace.resources.data.function import Filter, Interleave, Map, OneByOne, Reduction, Scan, TakeWhile
from headrace.resources.data.group import Batch
from headrace.resources.data.reducer import GroupByReducer
from headrace.resources.data.stage import Run
from headrace.resources.data.window import GroupByWindow

_INPUT = "input_dataset: variant, other_arguments: list(Targuments)"
_CAPTURED = {"Targuments": ANY, "Tref": ANY, "keeps": True}
_REFS = "refs: ref list(Tref)"


@dataset(
    f"MapDataset({_INPUT}, {_REFS}; f: func, {TYPES}, use_inter_op_parallelism: bool = True, "
    "preserve_cardinality: bool = False)",
    **_CAPTURED,
)
def _(input_dataset, other_arguments, refs, f, preserve_cardinality):
    check_dataset(input_dataset)
    mapped = Map(input_dataset, f, [*other_arguments, *refs])
    mapped.preserves = preserve_cardinality
    return mapped


@dataset(
    f"ParallelMapDataset({_INPUT}, num_parallel_calls: host int32, {_REFS}; f: func, {TYPES}, "
    "use_inter_op_parallelism: bool = True, sloppy: bool = False, preserve_cardinality: bool = False)",
    **_CAPTURED,
)
def _(input_dataset, other_arguments, num_parallel_calls, refs, f, sloppy, preserve_cardinality):
    check_dataset(input_dataset)
    _check_calls(num_parallel_calls)
    mapped = ParallelMap(input_dataset, f, [*other_arguments, *refs], num_parallel_calls, sloppy)
    mapped.preserves = preserve_cardinality
    return mapped


@dataset(f"_OneByOneDataset(input_dataset: variant; {TYPES})")
def _(input_dataset):
    check_dataset(input_dataset)
    return OneByOne(input_dataset)


def _check_calls(number):
    if number < 1 and number != -1:
        raise InvalidArgumentError(None, None, f"num_parallel_calls must be greater than zero, got {number}.")


@dataset(
    f"MapAndBatchDataset({_INPUT}, batch_size: host int64, num_parallel_calls: host int64, drop_remainder: host bool, "
    f"{_REFS}; f: func, {TYPES}, preserve_cardinality: bool = False)",
    **_CAPTURED,
)
def _(input_dataset, other_arguments, batch_size, num_parallel_calls, drop_remainder, refs, f, preserve_cardinality):
    check_dataset(input_dataset)
    _check_calls(num_parallel_calls)
    mapped = ParallelMap(input_dataset, f, [*other_arguments, *refs], num_parallel_calls)
    mapped.preserves = preserve_cardinality
    return Batch(mapped, batch_size, drop_remainder, by_place=True)


@dataset(f"FilterDataset({_INPUT}, {_REFS}; predicate: func, {TYPES})", **_CAPTURED)
def _(input_dataset, other_arguments, refs, predicate):
    check_dataset(input_dataset)
    return Filter(input_dataset, predicate, [*other_arguments, *refs])


@dataset(f"TakeWhileDataset({_INPUT}, {_REFS}; predicate: func, {TYPES})", **_CAPTURED)
def _(input_dataset, other_arguments, refs, predicate):
    check_dataset(input_dataset)
    return TakeWhile(input_dataset, predicate, [*other_arguments, *refs])


@dataset(
    "ScanDataset(input_dataset: variant, initial_state: list(Tstate), other_arguments: list(Targuments), "
    f"{_REFS}; f: func, {TYPES}, preserve_cardinality: bool = False, use_default_device: bool = True)",
    Tstate=ANY,
    **_CAPTURED,
)
def _(input_dataset, initial_state, other_arguments, refs, f):
    check_dataset(input_dataset)
    return Scan(input_dataset, initial_state, f, [*other_arguments, *refs])


def _several(name, *functions):
    """Declares a dataset with several functions, each with what it has captured."""
    inputs = [f"{f}_other_arguments: list(T{f}_other_arguments)" for f in functions]
    inputs += [f"{f}_refs: ref list(T{f}_refs)" for f in functions]
    return dataset(
        f"{name}(input_dataset: variant, {', '.join(inputs)}; {', '.join(f'{f}: func' for f in functions)}, {TYPES})",
        keeps=True,
        **{f"T{f}_{what}": ANY for f in functions for what in ("other_arguments", "refs")},
    )


@_several("GroupByReducerDataset", "key_func", "init_func", "reduce_func", "finalize_func")
def _(
    input_dataset, key_func_other_arguments, init_func_other_arguments, reduce_func_other_arguments,
    finalize_func_other_arguments, key_func_refs, init_func_refs, reduce_func_refs, finalize_func_refs, key_func,
    init_func, reduce_func, finalize_func,
):  # fmt: skip
    check_dataset(input_dataset)
    return GroupByReducer(
        input_dataset,
        key_func, [*key_func_other_arguments, *key_func_refs],
        partial(_after, init_func, (*init_func_other_arguments, *init_func_refs)),
        partial(_after, reduce_func, (*reduce_func_other_arguments, *reduce_func_refs)),
        partial(_after, finalize_func, (*finalize_func_other_arguments, *finalize_func_refs)),
    )  # fmt: skip


@_several("GroupByWindowDataset", "key_func", "reduce_func", "window_size_func")
def _(
    input_dataset, key_func_other_arguments, reduce_func_other_arguments, window_size_func_other_arguments, key_func_refs,
    reduce_func_refs, window_size_func_refs, key_func, reduce_func, window_size_func,
):  # fmt: skip
    check_dataset(input_dataset)
    return GroupByWindow(
        input_dataset,
        key_func, [*key_func_other_arguments, *key_func_refs],
        partial(_after, reduce_func, (*reduce_func_other_arguments, *reduce_func_refs)),
        partial(_after, window_size_func, (*window_size_func_other_arguments, *window_size_func_refs)),
    )  # fmt: skip


def _after(function, captured, *values):
    return function(*values, *captured)


@dataset(f"FlatMapDataset({_INPUT}, {_REFS}; f: func, {TYPES})", **_CAPTURED)
def _(input_dataset, other_arguments, refs, f):
    check_dataset(input_dataset)
    return Interleave(input_dataset, f, [*other_arguments, *refs], 1, 1)


@dataset(
    f"InterleaveDataset({_INPUT}, cycle_length: host int64, block_length: host int64, {_REFS}; f: func, {TYPES})",
    **_CAPTURED,
)
def _(input_dataset, other_arguments, cycle_length, block_length, refs, f):
    check_dataset(input_dataset)
    return Interleave(input_dataset, f, [*other_arguments, *refs], cycle_length, block_length)


@dataset(
    f"ParallelInterleaveDatasetV2({_INPUT}, cycle_length: host int64, block_length: host int64, num_parallel_calls: host "
    f"int64, {_REFS}; f: func, {TYPES}, sloppy: bool = False)",
    **_CAPTURED,
)
def _(input_dataset, other_arguments, cycle_length, block_length, num_parallel_calls, refs, f):
    """Each dataset of the cycle computes a block ahead.  The order is that of an interleave that is not parallel."""
    check_dataset(input_dataset)
    _check_calls(num_parallel_calls)
    if num_parallel_calls > cycle_length > 0:
        raise InvalidArgumentError(
            None, None,
            f"num_parallel_calls must be less than or equal to cycle_length, got {num_parallel_calls} and {cycle_length}.",
        )  # fmt: skip
    ahead = partial(Prefetch, size=block_length)
    return Interleave(input_dataset, f, [*other_arguments, *refs], cycle_length, block_length, ahead)


reduce = op(
    "ReduceDataset(input_dataset: variant, initial_state: list(Tstate), other_arguments: list(Targuments), "
    f"{_REFS}; f: func, {TYPES}, use_inter_op_parallelism: bool = True) -> (components: list(output_types))",
    Tstate=ANY, Targuments=ANY, Tref=ANY, host=True, stateful=True, blocking=True,
)  # fmt: skip
reduce.not_differentiable()
reduce.shape(
    lambda input_dataset, initial_state, other_arguments, refs, f, output_types, output_shapes, parallel: list(
        output_shapes
    )
)


@reduce.kernel
def _(
    input_dataset, initial_state, other_arguments, refs, f, output_types, output_shapes, parallel, *, state, node
):  # fmt: skip
    """The state after a function has been called with it and each element."""
    check_dataset(input_dataset)
    stage = described(Reduction(input_dataset, initial_state, f, [*other_arguments, *refs]), node)
    stage.functions = (f,)
    stage.restart()
    run = Run(stage, state.submit, state.cores)
    try:
        return whole(run.cursor.next())
    finally:
        run.close()


reduce.state(lambda context: context)


count = op("DatasetCardinality(input_dataset: variant) -> (cardinality: int64)", host=True)
count.not_differentiable()
count.shape(lambda input_dataset: ())


@count.kernel
def _(input_dataset):
    """The number of elements; -1: endless, -2: not known."""
    check_dataset(input_dataset)
    return torch.tensor(cardinality(input_dataset), dtype=torch.int64)


single = op(
    f"DatasetToSingleElement(dataset: variant; {TYPES}) -> (components: list(output_types))",
    host=True, stateful=True, blocking=True,
)  # fmt: skip
single.not_differentiable()
single.shape(lambda dataset, output_types, output_shapes: list(output_shapes))
single.state(lambda context: context)


@single.kernel
def _(dataset, output_types, output_shapes, *, state):
    """The only element of a dataset."""
    check_dataset(dataset)
    run = Run(dataset, state.submit, state.cores)
    try:
        element = run.cursor.next()
        if element is None:
            raise InvalidArgumentError(None, None, "Dataset was empty.")
        if run.cursor.next() is not None:
            raise InvalidArgumentError(None, None, "Dataset had more than one element.")
        return whole(element)
    finally:
        run.close()
