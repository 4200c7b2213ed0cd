"""Datasets that begin a chain: values, ranges, Python iterables."""

from __future__ import annotations

import os
from functools import partial

import numpy as np

from headrace.core.dtypes import ANY
from headrace.core.errors import InvalidArgumentError
from headrace.core.file import matching
from headrace.core.registry import op
from headrace.ops.dataset.declare import TYPES, dataset, described
from headrace.ops.shared.string_array import array_of
from headrace.resources.calling.value import to_numpy
from headrace.resources.data import sql
from headrace.resources.data.source import Iterated, Listed, Random, Range, Slices

_COMPONENTS = "components: list(Toutput_types); output_shapes: list(shape) >= 1"


@dataset(f"TensorDataset({_COMPONENTS})", keeps=True, Toutput_types=ANY)
def _(components):
    return Listed([tuple(components)])


@dataset(f"TensorSliceDataset({_COMPONENTS})", keeps=True, Toutput_types=ANY)
def _(components):
    for i, value in enumerate(components):
        if not value.ndim:
            raise InvalidArgumentError(None, None, f"component {i} is a scalar: only what has rows can be sliced")
        if len(value) != len(components[0]):
            raise InvalidArgumentError(
                None, None, "All components must have the same size in the 0th dimension: component 0 has "
                f"{len(components[0])} rows, component {i} has {len(value)}"
            )  # fmt: skip
    return Slices(components)


@dataset(f"RangeDataset(start: host int64, stop: host int64, step: host int64; {TYPES})")
def _(start, stop, step):
    if not step:
        raise InvalidArgumentError(None, None, "step must be a non-zero integer.")
    return Range(range(start, stop, step))


@dataset(f"RandomDataset(seed: host int64, seed2: host int64; {TYPES})")
def _(seed, seed2):
    return Random(seed, seed2)


@dataset(f"_IterableDataset(args: list(Targs); func: any, {TYPES})", Targs=ANY, keeps=True)
def _(args, func):
    values = [to_numpy(value) for value in args]
    go_to = getattr(func, "go_to", None)
    wants_run = getattr(func, "wants_run", False)
    start = (lambda run: func(run, *values)) if wants_run else partial(func, *values)
    return Iterated(start, go_to and partial(go_to, *values), wants_run, getattr(func, "unsaved", ""))


sql_dataset = op(
    f"SqlDataset(driver_name: string, data_source_name: string, query: string; {TYPES}) -> (handle: variant)", host=True
)
sql_dataset.not_differentiable()
sql_dataset.shape(lambda *arguments: ())


@sql_dataset.kernel
def _(driver_name, data_source_name, query, output_types, output_shapes, *, node):
    driver, types = driver_name.item().decode(), node.attrs["output_types"]
    if driver != "sqlite":
        raise InvalidArgumentError(
            None, None,
            f"The database type, {driver}, is not supported by SqlDataset. The set of supported databases is: {{'sqlite'}}.",
        )  # fmt: skip
    if not set(types) <= set(sql.TYPES):
        raise InvalidArgumentError(
            None, None,
            f"Each element of `output_types` must be one of {', '.join(t.name for t in sql.TYPES)}, got "
            f"{', '.join(t.name for t in types)}",
        )  # fmt: skip
    path, text = os.fsdecode(data_source_name.item()), query.item().decode()
    return described(Iterated(lambda: sql.rows(path, text, types)), node)


matched = op("_MatchedFiles(pattern: string[1-]) -> (filenames: string)", host=True)
matched.not_differentiable()
matched.shape(lambda pattern: (None,))


@matched.kernel
def _(pattern):
    """The names of the files that match, sorted; an error if there are none."""
    patterns = [os.fsdecode(one) for one in np.ravel(pattern)]
    found = sorted({os.fsencode(name) for one in patterns for name in matching(one)})
    if not found:
        raise InvalidArgumentError(None, None, f"No files matched pattern: {', '.join(patterns)}")
    return array_of(found, (len(found),))
