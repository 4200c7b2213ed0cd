"""TF1's functions on strings: joining, splitting, parts, patterns, hash buckets, numbers; raw bytes, CSV and files."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from headrace.core import dtypes
from headrace.graph import raw_ops
from headrace.graph.convert import constant, convert_to_tensor
from headrace.graph.operation import Operation, Tensor
from headrace.graph.structures import SparseTensor
from headrace.library.argument import either
from headrace.library.scope import name_scope
from headrace.library.sparse.tensor import sparse_reshape
from headrace.library.tensor import array, creation

_TEXT = (str, bytes)


# ---- joining and splitting


def string_join(inputs: Sequence[Any], separator: str = "", name: str | None = None) -> Tensor:
    """Joins strings element by element; scalars go with everything: ``tf.string_join([folder, "/", names])``."""
    return raw_ops.StringJoin(list(inputs), separator, name=name)


def reduce_join(
    inputs: Any, axis: Any = None, keep_dims: bool | None = None, separator: str = "", name: str | None = None,
    reduction_indices: Any = None, keepdims: bool | None = None,
) -> Tensor:  # fmt: skip
    """Joins along ``axis``, or along several, one after another; everything in row-major order by default."""
    keepdims = either("keepdims", keepdims, "keep_dims", keep_dims)
    axis = either("axis", axis, "reduction_indices", reduction_indices)
    with name_scope(None, "ReduceJoin", [inputs, axis]):
        inputs = convert_to_tensor(inputs)
        if axis is None:
            axis = _all_axes(inputs)
        return raw_ops.ReduceJoin(inputs, axis, bool(keepdims), separator, name=name)


def _all_axes(inputs: Tensor) -> Tensor:
    """The last axis first, so that neighbours stay neighbours."""
    rank = inputs.shape.ndims
    if rank is not None:
        return constant(np.arange(rank - 1, -1, -1), dtypes.int32)
    last: Any = raw_ops.Rank(inputs)
    return creation.range(last - 1, -1, -1)


def unsorted_segment_join(
    inputs: Any, segment_ids: Any, num_segments: Any, separator: str = "", name: str | None = None
) -> Tensor:
    """Joins the strings that have the same segment id."""
    return raw_ops.UnsortedSegmentJoin(inputs, segment_ids, num_segments, separator, name=name)


def string_split(
    source: Any, sep: Any = None, skip_empty: bool = True, delimiter: Any = None, result_type: str = "SparseTensor",
    name: str | None = None,
) -> SparseTensor:  # fmt: skip
    """The parts of each string of a vector, as a sparse matrix; separated by any of the characters of ``sep`` (" ").

    ``tf.string_split(["hello world", "a b c"])`` has two rows, of two and of three parts.  An empty ``sep`` splits into
    single bytes.
    """
    delimiter = either("sep", sep, "delimiter", delimiter)
    delimiter = " " if delimiter is None else delimiter
    _check_result(result_type)
    with name_scope(name, "StringSplit", [source]):
        separator = convert_to_tensor(delimiter, dtypes.string)
        source = convert_to_tensor(source, dtypes.string)
        return SparseTensor(*raw_ops.StringSplit(source, separator, skip_empty))


def strings_split(
    input: Any = None, sep: Any = None, maxsplit: int = -1, result_type: str = "SparseTensor",  # noqa: A002
    source: Any = None, name: str | None = None,
) -> SparseTensor:  # fmt: skip
    """The parts of each string, at every ``sep`` (by default: at white space), ``maxsplit`` times at most."""
    input = either("input", input, "source", source)  # noqa: A001 - TF1's name
    _check_result(result_type)
    with name_scope(name, "StringSplit", [input]):
        strings = convert_to_tensor(input, dtypes.string, name="input")
        if strings.shape.ndims == 0:
            strings = array.expand_dims(strings, 0)
        separator = convert_to_tensor("" if sep is None else sep, dtypes.string)
        rank = strings.shape.ndims
        if rank is None or rank == 1:
            return SparseTensor(*raw_ops.StringSplitV2(strings, separator, maxsplit))
        parts = SparseTensor(*raw_ops.StringSplitV2(array.reshape(strings, [-1]), separator, maxsplit))
        most: Any = parts.dense_shape
        shape = array.concat([array.shape(strings, out_type=dtypes.int64), most[1:]], 0)
        return sparse_reshape(parts, shape)


def _check_result(result_type: str) -> None:
    if result_type == "RaggedTensor":
        raise NotImplementedError("ragged tensors are not available; use result_type='SparseTensor'")
    if result_type != "SparseTensor":
        raise ValueError("result_type must be 'RaggedTensor' or 'SparseTensor'.")


# ---- parts, case, patterns


def substr(input: Any, pos: Any, len: Any, name: str | None = None, unit: str = "BYTE") -> Tensor:  # noqa: A002
    """``len`` bytes (or UTF-8 characters) from ``pos``, which may be negative to count from the end."""
    return raw_ops.Substr(input, pos, len, unit, name=name)


def string_length(input: Any, name: str | None = None, unit: str = "BYTE") -> Tensor:  # noqa: A002 - TF1's name
    """The number of bytes, or of UTF-8 characters with ``unit="UTF8_CHAR"``."""
    return raw_ops.StringLength(input, unit, name=name)


def string_strip(input: Any, name: str | None = None) -> Tensor:  # noqa: A002 - TF1's name
    """Without white space at both ends."""
    return raw_ops.StringStrip(input, name=name)


def string_lower(input: Any, encoding: str = "", name: str | None = None) -> Tensor:  # noqa: A002 - TF1's name
    """In lower case: ASCII letters only, unless ``encoding`` is "utf-8"."""
    return raw_ops.StringLower(input, encoding, name=name)


def string_upper(input: Any, encoding: str = "", name: str | None = None) -> Tensor:  # noqa: A002 - TF1's name
    """In upper case: ASCII letters only, unless ``encoding`` is "utf-8"."""
    return raw_ops.StringUpper(input, encoding, name=name)


def regex_replace(
    input: Any,
    pattern: Any,
    rewrite: Any,
    replace_global: bool = True,
    name: str | None = None,  # noqa: A002
) -> Tensor:
    r"""Every match (or the first) replaced by ``rewrite``, in which \1 to \9 stand for groups and \0 for the match."""
    if isinstance(pattern, _TEXT) and isinstance(rewrite, _TEXT):
        return raw_ops.StaticRegexReplace(input, pattern, rewrite, replace_global, name=name)
    return raw_ops.RegexReplace(input, pattern, rewrite, replace_global, name=name)


def regex_full_match(input: Any, pattern: Any, name: str | None = None) -> Tensor:  # noqa: A002 - TF1's name
    """Whether the pattern matches the whole string."""
    if isinstance(pattern, _TEXT):
        return raw_ops.StaticRegexFullMatch(input, pattern, name=name)
    return raw_ops.RegexFullMatch(input, pattern, name=name)


# ---- hash buckets, numbers


def string_to_hash_bucket_fast(input: Any, num_buckets: int, name: str | None = None) -> Tensor:  # noqa: A002
    """A bucket for each string by its FarmHash fingerprint: the same on every machine and in every version."""
    return raw_ops.StringToHashBucketFast(input, num_buckets, name=name)


def string_to_hash_bucket_strong(
    input: Any,
    num_buckets: int,
    key: Sequence[int],
    name: str | None = None,  # noqa: A002 - TF1's name
) -> Tensor:
    """A bucket for each string by a keyed hash (SipHash), for strings an adversary may choose."""
    return raw_ops.StringToHashBucketStrong(input, num_buckets, key, name=name)


def string_to_hash_bucket(
    string_tensor: Any = None,
    num_buckets: int | None = None,
    name: str | None = None,
    input: Any = None,  # noqa: A002
) -> Tensor:
    """A bucket for each string by an old hash; prefer the fast one."""
    string_tensor = either("input", input, "string_tensor", string_tensor)
    return raw_ops.StringToHashBucket(string_tensor, num_buckets, name=name)


def string_to_number(
    string_tensor: Any = None,
    out_type: Any = dtypes.float32,
    name: str | None = None,
    input: Any = None,  # noqa: A002
) -> Tensor:
    """Each string as a number."""
    string_tensor = either("input", input, "string_tensor", string_tensor)
    return raw_ops.StringToNumber(string_tensor, out_type, name=name)


# ---- what strings hold


def decode_raw(
    input_bytes: Any = None, out_type: Any = None, little_endian: bool = True, name: str | None = None,
    bytes: Any = None,  # noqa: A002 - TF1's name
) -> Tensor:  # fmt: skip
    """The bytes of each string as numbers, in one more dimension."""
    input_bytes = either("input_bytes", input_bytes, "bytes", bytes)
    if out_type is None:
        raise ValueError("decode_raw() missing 1 positional argument: 'out_type'")
    return raw_ops.DecodeRaw(input_bytes, out_type, little_endian, name=name)


def decode_compressed(bytes: Any, compression_type: str = "", name: str | None = None) -> Tensor:  # noqa: A002
    """The strings without their compression: "", "ZLIB" or "GZIP"."""
    return raw_ops.DecodeCompressed(bytes, compression_type, name=name)


def decode_csv(
    records: Any, record_defaults: Sequence[Any], field_delim: str = ",", use_quote_delim: bool = True,
    name: str | None = None, na_value: str = "", select_cols: Sequence[int] | None = None,
) -> list[Tensor]:  # fmt: skip
    """One tensor for each column of comma-separated records.

    ``record_defaults`` give each column's type and what stands in for an empty field; an empty list means that the
    field must be there.

    ``x, y = tf.decode_csv(line, [[0.0], [0]])``
    """
    if select_cols is not None and any(b <= a for a, b in zip(select_cols, list(select_cols)[1:], strict=False)):
        raise ValueError("select_cols is not strictly increasing.")
    if select_cols is not None and len(select_cols) and select_cols[0] < 0:
        raise ValueError("select_cols contains negative values.")
    if select_cols is not None and len(select_cols) != len(record_defaults):
        raise ValueError("Length of select_cols and record_defaults do not match.")
    return raw_ops.DecodeCSV(
        records, list(record_defaults), field_delim, use_quote_delim, na_value, select_cols, name=name
    )


# ---- files


def read_file(filename: Any, name: str | None = None) -> Tensor:
    """The whole contents of a file."""
    return raw_ops.ReadFile(filename, name=name)


def write_file(filename: Any, contents: Any, name: str | None = None) -> Operation:
    """Writes a file, with its folders if they are missing."""
    return raw_ops.WriteFile(filename, contents, name=name)


def matching_files(pattern: Any, name: str | None = None) -> Tensor:
    """The names of the files that match one of the patterns, sorted."""
    return raw_ops.MatchingFiles(pattern, name=name)


def fingerprint(data: Any, method: str = "farmhash64", name: str | None = None) -> Tensor:
    """Eight bytes for each row, the same for the same contents on every machine."""
    return raw_ops.Fingerprint(data, method, name=name)
