"""Examples as tensors: ParseExample, ParseSingleExample, ParseSingleSequenceExample, ParseSequenceExample.

Runs on the host.

Dense features have a shape and a default; in a batch, those of variable length (an unknown first dimension) are padded.
Sparse features become the three parts of a sparse tensor.
"""

from __future__ import annotations

import math

import numpy as np
import torch

from headrace.core import dtypes
from headrace.core.example import from_json, read_all_features, read_feature, read_feature_lists, read_features
from headrace.core.registry import op
from headrace.ops.shared.sparse_entry import runs
from headrace.ops.shared.string_array import array_of
from headrace.resources.calling.value import from_numpy

VALUES = (dtypes.float32, dtypes.int64, dtypes.string)
_KINDS = {torch.float32: "float_list", torch.int64: "int64_list", dtypes.string: "bytes_list"}
_NAMES = {"float_list": "float", "int64_list": "int64", "bytes_list": "string"}


def _tensor(values, dtype, shape):
    if dtype is dtypes.string:
        return array_of(list(values), shape)
    array = np.array(values, np.float32 if dtype is torch.float32 else np.int64)
    return from_numpy(array.reshape(shape))


def _joined(parts, dtype):
    """Runs of values one after another."""
    if dtype is dtypes.string:
        return array_of([v for part in parts for v in part])
    return _tensor(np.concatenate(parts) if parts else [], dtype, (-1,))


def _vector(numbers):
    return torch.tensor(numbers, dtype=torch.int64)


def _read(parse, data, what="example"):
    try:
        return parse(data)
    except ValueError as e:
        raise ValueError(f"Could not parse {what} input, value: {data[:80]!r} ({e})") from None


def _values(encoded, name, dtype, where):
    """A feature's values; None if it has none.  Its type must be the one that was asked for."""
    if name not in encoded:
        return None
    kind, values = _read(read_feature, encoded[name])
    if kind is None:
        return None
    if kind != _KINDS[dtype]:
        raise ValueError(
            f"{where}, Feature: {name}.  Data types don't match. Data type: {_NAMES[kind]} but expected type: "
            f"{_NAMES[_KINDS[dtype]]}"
        )
    return values


def _size(value):
    return value.size if isinstance(value, np.ndarray) else value.numel()


def _listed(default):
    """A default's elements."""
    return list(default.reshape(-1)) if isinstance(default, np.ndarray) else default.reshape(-1).numpy()


def _dense(encoded, name, dtype, shape, default, where, index=None):
    """The values of a dense feature of known shape, or its default; ``index`` is the place of the example in a batch."""
    values = _values(encoded, name, dtype, where)
    if values is None:
        if not _size(default):
            raise ValueError(
                f"{where}, Feature: {name} (data type: {_NAMES[_KINDS[dtype]]}) is required but could not be found."
            )
        if _size(default) != math.prod(shape):
            raise ValueError(
                f"{where}, Feature: {name}: the default has {_size(default)} values, the shape is {list(shape)}"
            )
        return _listed(default)
    if len(values) != math.prod(shape):
        place = "" if index is None else f", Index: {index}"
        raise ValueError(
            f"{where}, Key: {name}{place}.  Number of {_NAMES[_KINDS[dtype]]} values != expected.  "
            f"Values size: {len(values)} but output shape: {list(shape)}"
        )
    return values


def _steps(encoded, name, dtype, shape, where):
    """The values of a dense feature of variable length, and how many steps of ``shape`` they make."""
    values = _values(encoded, name, dtype, where)
    values = () if values is None else values
    width = math.prod(shape)
    if width and len(values) % width:
        raise ValueError(
            f"{where}, Key: {name}.  Number of {_NAMES[_KINDS[dtype]]} values is not a multiple of stride length. Saw "
            f"{len(values)} values but output shape is: {list(shape)}"
        )
    return values, len(values) // width if width else 0


def _padded(rows, dtype, shape, default):
    """A batch of runs of different lengths, filled up with the default."""
    longest = max((steps for _, steps in rows), default=0)
    width = math.prod(shape)
    fill = _listed(default)[0] if _size(default) else (b"" if dtype is dtypes.string else 0)
    numpy_dtype = object if dtype is dtypes.string else np.float32 if dtype is torch.float32 else np.int64
    batch: np.ndarray = np.empty((len(rows), longest * width), numpy_dtype)
    batch.fill(fill)  # np.full takes zeros off the end of bytes
    for row, (values, _) in zip(batch, rows, strict=True):
        row[: len(values)] = values
    batch = batch.reshape(len(rows), longest, *shape)
    return batch if dtype is dtypes.string else from_numpy(batch)


def _is_variable(shape):
    return bool(shape) and shape[0] is None


def _name(names, i):
    listed = np.atleast_1d(np.asarray(names, dtype=object))
    if listed.size and i >= len(listed):
        raise ValueError(f"Expected names to be a vector with a name for each example, got {len(listed)}")
    return f"Name: {listed[i].decode('utf-8', 'replace')}" if listed.size else "Name: <unknown>"


def _text(keys):
    try:
        return [np.asarray(key)[()].decode("utf-8") for key in keys]
    except UnicodeDecodeError as e:
        raise ValueError(f"the keys of features must be UTF-8, got {e.object!r}") from None


def _check_shapes(label, shapes):
    """A dense feature has a shape of known rank, of which the first dimension alone may be unknown."""
    for i, shape in enumerate(shapes):
        if shape.tuple is None or None in shape.tuple[1:]:
            raise ValueError(f"{label}[{i}] has unknown rank or unknown inner dimensions: {shape}")


# ---- a batch of examples

parse_example = op(
    "ParseExample(serialized: string[1], names: string[1], sparse_keys: Nsparse*string[0], dense_keys: Ndense*string[0],"
    " dense_defaults: list(Tdense); sparse_types: list(type), dense_shapes: list(shape))"
    " -> (sparse_indices: Nsparse*int64, sparse_values: list(sparse_types), sparse_shapes: Nsparse*int64,"
    " dense_values: list(Tdense))",
    sparse_types=VALUES, Tdense=VALUES, Nsparse=0, Ndense=0, host=True, dynamic_shape=True,
)  # fmt: skip
parse_example.not_differentiable()


@parse_example.shape
def _(serialized, names, sparse_keys, dense_keys, dense_defaults, sparse_types, dense_shapes):
    rows = serialized.with_rank(1).tuple
    names.with_rank(1)
    _check_shapes("dense_shapes", dense_shapes)
    count = len(sparse_keys)
    if len(dense_shapes) != len(dense_keys) or len(sparse_types) != count:
        raise ValueError(
            f"{len(dense_keys)} dense keys need as many shapes, got {len(dense_shapes)}; {count} sparse keys need as many "
            f"types, got {len(sparse_types)}"
        )
    batch = rows[0] if rows else None
    return (
        [(None, 2)] * count + [(None,)] * count + [(2,)] * count
        + [None if s.tuple is None else (batch, *s.tuple) for s in dense_shapes]
    )  # fmt: skip


@parse_example.kernel
def _(serialized, names, sparse_keys, dense_keys, dense_defaults, sparse_types, dense_shapes):
    batch = _read_batch(serialized.tolist())
    sparse = [_sparse_batch(batch, names, k, t) for k, t in zip(_text(sparse_keys), sparse_types, strict=True)]
    dense = [
        _dense_batch(batch, names, k, shape, default)
        for k, shape, default in zip(_text(dense_keys), dense_shapes, dense_defaults, strict=True)
    ]
    return [s[0] for s in sparse], [s[1] for s in sparse], [s[2] for s in sparse], dense


def _read_batch(serialized):
    try:
        return read_all_features(serialized)
    except ValueError:
        return [_read(read_features, data) for data in serialized]  # names the one that is damaged


def _sparse_batch(batch, names, key, dtype):
    runs = []
    for i, encoded in enumerate(batch):
        values = _values(encoded, key, dtype, _name(names, i))
        runs.append(() if values is None else values)
    counts = np.array([len(r) for r in runs], np.int64)
    return _sparse_parts(counts, _joined([r for r in runs if len(r)], dtype))


def _sparse_parts(counts, values):
    indices, shape = runs(counts, len(values))
    return torch.from_numpy(indices), values, torch.from_numpy(shape)


def _dense_batch(batch, names, key, shape, default):
    dtype = dtypes.string if isinstance(default, np.ndarray) else default.dtype
    if _is_variable(shape):
        rows = [_steps(encoded, key, dtype, shape[1:], _name(names, i)) for i, encoded in enumerate(batch)]
        return _padded(rows, dtype, shape[1:], default)
    values = _plain_batch(batch, key, dtype, math.prod(shape))
    if values is None:
        runs = [_dense(encoded, key, dtype, shape, default, _name(names, i), i) for i, encoded in enumerate(batch)]
        return _joined(runs, dtype).reshape(len(batch), *shape)
    return _tensor(values, dtype, (len(batch), *shape))


def _plain_batch(batch, key, dtype, count):
    """The values of all examples in one list, if each example has just as many of the feature; else None.

    A feature with values of one kind has none of another.
    """
    kind = _KINDS[dtype]
    joined = []
    for encoded in batch:
        feature = encoded.get(key)
        values = () if feature is None else getattr(feature, kind).value[:]  # a list, made in less time than its parts
        if len(values) != count or not count:
            return None
        joined += values
    return joined


parse_example_v2 = op(
    "ParseExampleV2(serialized: string[1-], names: string[1-], sparse_keys: string[1], dense_keys: string[1],"
    " ragged_keys: string[1], dense_defaults: list(Tdense); num_sparse: int, sparse_types: list(type),"
    " ragged_value_types: list(type), ragged_split_types: list(type), dense_shapes: list(shape))"
    " -> (sparse_indices: num_sparse*int64, sparse_values: list(sparse_types), sparse_shapes: num_sparse*int64,"
    " dense_values: list(Tdense), ragged_values: list(ragged_value_types), ragged_row_splits: list(ragged_split_types))",
    sparse_types=VALUES, Tdense=VALUES, ragged_value_types=VALUES, ragged_split_types=(dtypes.int32, dtypes.int64),
    host=True, dynamic_shape=True, lenient=True,
)  # fmt: skip
parse_example_v2.not_differentiable()


@parse_example_v2.shape
def _(serialized, names, sparse_keys, dense_keys, ragged_keys, defaults, count, sparse_types, ragged_types, *attrs):
    _, dense_shapes = attrs
    _check_shapes("dense_shapes", dense_shapes)
    for label, keys, number in (
        ("sparse_keys", sparse_keys, count),
        ("dense_keys", dense_keys, len(dense_shapes)),
        ("ragged_keys", ragged_keys, len(ragged_types)),
    ):
        if keys.ndims == 1 and keys.tuple[0] not in (None, number):
            raise ValueError(f"{label} must have {number} elements, one for each type or shape; got shape {keys}")
    if len(sparse_types) != count:
        raise ValueError(f"num_sparse ({count}) must match len(sparse_types) ({len(sparse_types)})")
    rows, width = serialized.tuple, None if serialized.ndims is None else serialized.ndims + 1
    dense = [None if rows is None or s.tuple is None else (*rows, *s.tuple) for s in dense_shapes]
    splits = None if not rows or rows[0] is None else rows[0] + 1
    return (
        [(None, width)] * count + [(None,)] * count + [(width,)] * count + dense + [(None,)] * len(ragged_types)
        + [(0 if rows == () else splits,)] * len(ragged_types)
    )  # fmt: skip


@parse_example_v2.kernel
def _(
    serialized, names, sparse_keys, dense_keys, ragged_keys, defaults, count, sparse_types, ragged_types, split_types,
    dense_shapes,
):  # fmt: skip
    sparse_keys, dense_keys, ragged_keys = (_text(k.reshape(-1)) for k in (sparse_keys, dense_keys, ragged_keys))
    names = names.reshape(-1)
    batch = _read_batch(serialized.reshape(-1).tolist())
    if serialized.ndim:
        sparse = [_sparse_batch(batch, names, k, t) for k, t in zip(sparse_keys, sparse_types, strict=True)]
        dense = [
            _dense_batch(batch, names, *feature) for feature in zip(dense_keys, dense_shapes, defaults, strict=True)
        ]
    else:
        where = _name(names, 0)
        sparse = [_sparse_single(batch[0], k, t, where) for k, t in zip(sparse_keys, sparse_types, strict=True)]
        dense = [
            _dense_single(batch[0], *feature, where) for feature in zip(dense_keys, dense_shapes, defaults, strict=True)
        ]
    ragged = [
        _ragged_batch(batch, names, *feature, serialized.ndim)
        for feature in zip(ragged_keys, ragged_types, split_types, strict=True)
    ]
    return [s[0] for s in sparse], [s[1] for s in sparse], [s[2] for s in sparse], dense, *(
        [r[i] for r in ragged] for i in range(2)
    )  # fmt: skip


def _ragged_batch(batch, names, key, dtype, split_type, rank):
    """The values of all examples, and where each example's begin and end."""
    rows = [_values(encoded, key, dtype, _name(names, i)) for i, encoded in enumerate(batch)]
    rows = [() if values is None else values for values in rows]
    splits = np.cumsum([0, *(len(r) for r in rows)]) if rank else np.zeros(0, np.int64)
    return _joined([r for r in rows if len(r)], dtype), torch.tensor(splits, dtype=split_type)


# ---- one example

parse_single = op(
    "ParseSingleExample(serialized: string[0], dense_defaults: list(Tdense); num_sparse: int, sparse_keys: list(string),"
    " dense_keys: list(string), sparse_types: list(type), dense_shapes: list(shape))"
    " -> (sparse_indices: num_sparse*int64, sparse_values: list(sparse_types), sparse_shapes: num_sparse*int64,"
    " dense_values: list(Tdense))",
    sparse_types=VALUES, Tdense=VALUES, host=True, dynamic_shape=True,
)  # fmt: skip
parse_single.not_differentiable()


@parse_single.shape
def _(serialized, dense_defaults, num_sparse, sparse_keys, dense_keys, sparse_types, dense_shapes):
    serialized.with_rank(0)
    _check_shapes("dense_shapes", dense_shapes)
    if not len(sparse_keys) == len(sparse_types) == num_sparse:
        raise ValueError(f"num_sparse ({num_sparse}) must match len(sparse_keys) ({len(sparse_keys)})")
    if not len(dense_keys) == len(dense_shapes) == len(dense_defaults):
        raise ValueError(f"len(dense_keys) ({len(dense_keys)}) must match len(dense_shapes) ({len(dense_shapes)})")
    return [(None, 1)] * num_sparse + [(None,)] * num_sparse + [(1,)] * num_sparse + list(dense_shapes)


@parse_single.kernel
def _(serialized, dense_defaults, num_sparse, sparse_keys, dense_keys, sparse_types, dense_shapes):
    if serialized.ndim:
        raise ValueError(f"Expected serialized to be a scalar, got shape: {list(serialized.shape)}")
    encoded = _read(read_features, serialized[()])
    sparse = [_sparse_single(encoded, k, t, "Name: <unknown>") for k, t in zip(sparse_keys, sparse_types, strict=True)]
    dense = [
        _dense_single(encoded, k, shape, default, "Name: <unknown>")
        for k, shape, default in zip(dense_keys, dense_shapes, dense_defaults, strict=True)
    ]
    return [s[0] for s in sparse], [s[1] for s in sparse], [s[2] for s in sparse], dense


def _sparse_single(encoded, key, dtype, where):
    values = _values(encoded, key, dtype, where)
    values = () if values is None else values
    return torch.arange(len(values))[:, None], _joined([values] if len(values) else [], dtype), _vector([len(values)])


def _dense_single(encoded, key, shape, default, where):
    dtype = dtypes.string if isinstance(default, np.ndarray) else default.dtype
    if _is_variable(shape):
        values, steps = _steps(encoded, key, dtype, shape[1:], where)
        return _tensor(values, dtype, (steps, *shape[1:]))
    return _tensor(_dense(encoded, key, dtype, shape, default, where), dtype, shape)


# ---- one sequence

parse_sequence = op(
    "ParseSingleSequenceExample(serialized: string, feature_list_dense_missing_assumed_empty: string,"
    " context_sparse_keys: Ncontext_sparse*string[0], context_dense_keys: Ncontext_dense*string[0],"
    " feature_list_sparse_keys: Nfeature_list_sparse*string[0], feature_list_dense_keys: Nfeature_list_dense*string[0],"
    " context_dense_defaults: list(Tcontext_dense), debug_name: string; context_sparse_types: list(type) = [],"
    " feature_list_dense_types: list(type) = [], context_dense_shapes: list(shape) = [],"
    " feature_list_sparse_types: list(type) = [], feature_list_dense_shapes: list(shape) = [])"
    " -> (context_sparse_indices: Ncontext_sparse*int64, context_sparse_values: list(context_sparse_types),"
    " context_sparse_shapes: Ncontext_sparse*int64, context_dense_values: list(Tcontext_dense),"
    " feature_list_sparse_indices: Nfeature_list_sparse*int64,"
    " feature_list_sparse_values: list(feature_list_sparse_types),"
    " feature_list_sparse_shapes: Nfeature_list_sparse*int64,"
    " feature_list_dense_values: list(feature_list_dense_types))",
    context_sparse_types=VALUES, Tcontext_dense=VALUES, feature_list_sparse_types=VALUES,
    feature_list_dense_types=VALUES, Ncontext_sparse=0, Ncontext_dense=0, Nfeature_list_sparse=0,
    Nfeature_list_dense=0, host=True, dynamic_shape=True, lenient=True,
)  # fmt: skip
parse_sequence.not_differentiable()


@parse_sequence.shape
def _(
    serialized, missing, context_sparse, context_dense, list_sparse, list_dense, defaults, debug_name, *attrs
):  # fmt: skip
    _, _, context_shapes, _, list_shapes = attrs
    serialized.with_rank(0)
    debug_name.with_rank(0)
    _check_shapes("context_dense_shapes", context_shapes)
    _check_shapes("feature_list_dense_shapes", list_shapes)
    n, m = len(context_sparse), len(list_sparse)
    return (
        [(None, 1)] * n + [(None,)] * n + [(1,)] * n + list(context_shapes)
        + [(None, 2)] * m + [(None,)] * m + [(2,)] * m
        + [None if s.tuple is None else (None, *s.tuple) for s in list_shapes]
    )  # fmt: skip


@parse_sequence.kernel
def _(
    serialized, missing, context_sparse_keys, context_dense_keys, list_sparse_keys, list_dense_keys, defaults,
    debug_name, context_sparse_types, list_dense_types, context_dense_shapes, list_sparse_types, list_dense_shapes,
):  # fmt: skip
    data = serialized[()]
    where = (
        f"Name: {debug_name[()].decode('utf-8', 'replace')}"
        if debug_name.size and debug_name[()]
        else "Name: <unknown>"
    )
    context = _read(read_features, data, "sequence example")
    lists = _read(read_feature_lists, data, "sequence example")
    sparse = [
        _sparse_single(context, k, t, where)
        for k, t in zip(_text(context_sparse_keys), context_sparse_types, strict=True)
    ]
    dense = [
        _dense_single(context, k, shape, default, where)
        for k, shape, default in zip(_text(context_dense_keys), context_dense_shapes, defaults, strict=True)
    ]
    steps_sparse = [
        _sparse_batch([{k: step} for step in lists.get(k, [])], (), k, t)
        for k, t in zip(_text(list_sparse_keys), list_sparse_types, strict=True)
    ]
    allowed = {k.decode("utf-8", "surrogateescape") for k in missing.reshape(-1)}
    steps_dense = [
        _list_dense(lists, k, t, shape, allowed, where)
        for k, t, shape in zip(_text(list_dense_keys), list_dense_types, list_dense_shapes, strict=True)
    ]
    return (
        *([s[i] for s in sparse] for i in range(3)), dense, *([s[i] for s in steps_sparse] for i in range(3)), steps_dense
    )  # fmt: skip


def _list_dense(lists, key, dtype, shape, allowed, where):
    """The values of all steps, one after another; every step has the same shape."""
    if key not in lists and key not in allowed:
        raise ValueError(
            f"{where}, Feature list '{key}' is required but could not be found.  Did you mean to include it in "
            "feature_list_dense_missing_assumed_empty or feature_list_dense_defaults?"
        )
    runs = []
    for i, step in enumerate(lists.get(key, [])):
        values = _values({key: step}, key, dtype, where)
        if values is None or len(values) != math.prod(shape):
            raise ValueError(
                f"{where}, Key: {key}, Index: {i}.  Number of {_NAMES[_KINDS[dtype]]} values != expected.  values size: "
                f"{0 if values is None else len(values)} but output shape: {list(shape)}"
            )
        runs.append(values)
    return _joined(runs, dtype).reshape(len(runs), *shape)


# ---- a batch of sequences

parse_sequences = op(
    "ParseSequenceExample(serialized: string[1], debug_name: string[1], context_dense_defaults: list(Tcontext_dense);"
    " feature_list_dense_missing_assumed_empty: list(string), context_sparse_keys: list(string),"
    " context_dense_keys: list(string), feature_list_sparse_keys: list(string), feature_list_dense_keys: list(string),"
    " Ncontext_sparse: int = 0, Ncontext_dense: int = 0, Nfeature_list_sparse: int = 0, Nfeature_list_dense: int = 0,"
    " context_sparse_types: list(type) = [], feature_list_dense_types: list(type) = [],"
    " context_dense_shapes: list(shape) = [], feature_list_sparse_types: list(type) = [],"
    " feature_list_dense_shapes: list(shape) = [])"
    " -> (context_sparse_indices: Ncontext_sparse*int64, context_sparse_values: list(context_sparse_types),"
    " context_sparse_shapes: Ncontext_sparse*int64, context_dense_values: list(Tcontext_dense),"
    " feature_list_sparse_indices: Nfeature_list_sparse*int64,"
    " feature_list_sparse_values: list(feature_list_sparse_types),"
    " feature_list_sparse_shapes: Nfeature_list_sparse*int64,"
    " feature_list_dense_values: list(feature_list_dense_types),"
    " feature_list_dense_lengths: Nfeature_list_dense*int64)",
    context_sparse_types=VALUES, Tcontext_dense=VALUES, feature_list_sparse_types=VALUES,
    feature_list_dense_types=VALUES, host=True, dynamic_shape=True,
)  # fmt: skip
parse_sequences.not_differentiable()


@parse_sequences.shape
def _(serialized, debug_name, defaults, *attrs):
    n, dense, m, lists = attrs[5:9]
    context_shapes, list_shapes = attrs[11], attrs[13]
    _check_shapes("context_dense_shapes", context_shapes)
    _check_shapes("feature_list_dense_shapes", list_shapes)
    received = [len(keys) for keys in attrs[1:5]]
    if received != [n, dense, m, lists]:
        raise ValueError(
            f"there must be as many context sparse, context dense, list sparse and list dense keys as the attributes say, "
            f"{[n, dense, m, lists]}; got {received}"
        )
    if len(context_shapes) != dense or len(list_shapes) != lists:
        raise ValueError(
            f"{dense} and {lists} dense keys need as many shapes, got {len(context_shapes)}, {len(list_shapes)}"
        )
    rows = serialized.with_rank(1).tuple[0]
    return (
        [(None, 2)] * n + [(None,)] * n + [(2,)] * n
        + [None if s.tuple is None else (rows, *s.tuple) for s in context_shapes]
        + [(None, 3)] * m + [(None,)] * m + [(3,)] * m
        + [None if s.tuple is None else (rows, None, *s.tuple) for s in list_shapes] + [(rows,)] * lists
    )  # fmt: skip


@parse_sequences.kernel
def _(
    serialized, debug_name, defaults, missing, context_sparse_keys, context_dense_keys, list_sparse_keys,
    list_dense_keys, n, dense_count, m, lists_count, context_sparse_types, list_dense_types, context_dense_shapes,
    list_sparse_types, list_dense_shapes,
):  # fmt: skip
    contexts = [_read(read_features, data, "sequence example") for data in serialized]
    lists = [_read(read_feature_lists, data, "sequence example") for data in serialized]
    sparse = [
        _sparse_batch(contexts, debug_name, k, t)
        for k, t in zip(context_sparse_keys, context_sparse_types, strict=True)
    ]
    dense = [
        _dense_batch(contexts, debug_name, k, shape, default)
        for k, shape, default in zip(context_dense_keys, context_dense_shapes, defaults, strict=True)
    ]
    steps_sparse = [
        _sparse_steps(lists, debug_name, k, t) for k, t in zip(list_sparse_keys, list_sparse_types, strict=True)
    ]
    steps_dense = [
        _dense_steps(lists, debug_name, k, t, shape, set(missing))
        for k, t, shape in zip(list_dense_keys, list_dense_types, list_dense_shapes, strict=True)
    ]
    return (
        *([s[i] for s in sparse] for i in range(3)), dense, *([s[i] for s in steps_sparse] for i in range(3)),
        *([s[i] for s in steps_dense] for i in range(2)),
    )  # fmt: skip


def _sparse_steps(lists, names, key, dtype):
    """The values of every step of every sequence, at (sequence, step, place)."""
    places, runs, steps, longest = [], [], 0, 0
    for row, features in enumerate(lists):
        encoded = features.get(key, [])
        steps = max(steps, len(encoded))
        for step, one in enumerate(encoded):
            values = _values({key: one}, key, dtype, _name(names, row))
            values = () if values is None else values
            places += [(row, step, i) for i in range(len(values))]
            longest = max(longest, len(values))
            if len(values):
                runs.append(values)
    indices = torch.tensor(places, dtype=torch.int64).reshape(len(places), 3)
    return indices, _joined(runs, dtype), _vector([len(lists), steps, longest])


def _dense_steps(lists, names, key, dtype, shape, allowed):
    """Steps of one shape, shorter sequences filled up with zeros; and how many steps each has."""
    rows = []
    for row, features in enumerate(lists):
        values = _list_dense(features, key, dtype, shape, allowed, _name(names, row))
        rows.append((_listed(values), len(values)))
    like = array_of([]) if dtype is dtypes.string else torch.zeros(0, dtype=dtype)
    return _padded(rows, dtype, shape, like), _vector([steps for _, steps in rows])


# ---- examples written as JSON

decode_json = op("DecodeJSONExample(json_examples: string) -> (binary_examples: string)", host=True)
decode_json.shape(lambda json_examples: json_examples)


@decode_json.kernel
def _(json_examples):
    return array_of([_from_json(text) for text in json_examples.reshape(-1)], json_examples.shape)


def _from_json(text):
    try:
        return from_json(text)
    except ValueError as error:
        raise ValueError(f"Error while parsing JSON: {error}: {text[:80]!r}") from None
