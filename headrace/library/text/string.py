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
    """Joins strings element by element; scalars go with everything: ``tf.string_join([folder, "/", names])``.

    Args:
      inputs: A list of string tensors of one shape, or scalars.
      separator: What stands between two strings.
      name: A name for the op.

    Returns:
      A string tensor of the shape of the inputs.

    >>> tf.Session().run(tf.string_join(["data/", ["a", "b"], ".txt"])).tolist()
    [b'data/a.txt', b'data/b.txt']
    """
    return raw_ops.StringJoin(list(inputs), separator, name=name)


def reduce_join(
    inputs: Any, axis: Any = None, keep_dims: bool | None = None, separator: str = "", name: str | None = None,
    reduction_indices: Any = None, keepdims: bool | None = None,
) -> Tensor:  # fmt: skip
    """Joins along ``axis``, or along several, one after another; everything in row-major order by default.

    Args:
      inputs: A tensor of strings.
      axis: The axis to join along, or a list of them; None for all.
      keep_dims: Another name of `keepdims`; give one of them.
      separator: What stands between two strings.
      name: A name for the op.
      reduction_indices: Another name of `axis`; give one of them.
      keepdims: Whether the axes stay, with size 1.

    Returns:
      A tensor of strings without the axes.

    >>> tf.Session().run(tf.reduce_join([["a", "b"], ["c", "d"]], axis=1)).tolist()
    [b'ab', b'cd']
    """
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
    """Joins the strings that have the same segment id.

    Args:
      inputs: A tensor of strings.
      segment_ids: A tensor of int32 or int64 whose shape is the first part of that of `inputs`.
      num_segments: How many segments there are, an integer.
      separator: What stands between two strings.
      name: A name for the op.

    Returns:
      A tensor of strings with `num_segments` for the dimensions of `segment_ids`.

    >>> tf.Session().run(tf.strings.unsorted_segment_join(["a", "b", "c"], [0, 1, 0], 2, separator="-")).tolist()
    [b'a-c', b'b']
    """
    return raw_ops.UnsortedSegmentJoin(inputs, segment_ids, num_segments, separator, name=name)


def string_split(
    source: Any, sep: Any = None, skip_empty: bool = True, delimiter: Any = None, result_type: str = "SparseTensor",
    name: str | None = None,
) -> SparseTensor:  # fmt: skip
    """The parts of each string of a vector, as a sparse matrix; separated by any of the characters of ``sep`` (" ").

    ``tf.string_split(["hello world", "a b c"])`` has two rows, of two and of three parts.  An empty ``sep`` splits into
    single bytes.

    Args:
      source: A vector of strings.
      sep: The characters to split at, a string; None for a space.
      skip_empty: Whether empty parts are left out.
      delimiter: Another name of `sep`; give one of them.
      result_type: Only "SparseTensor".
      name: A name for the op.

    Returns:
      A `tf.SparseTensor` of strings, [strings, the most parts].

    >>> tf.Session().run(tf.string_split(["hello world", "a b c"])).values.tolist()
    [b'hello', b'world', b'a', b'b', b'c']
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
    """The parts of each string, at every ``sep`` (by default: at white space), ``maxsplit`` times at most.

    Args:
      input: A tensor of strings of any rank.
      sep: The string to split at; None or "" for white space.
      maxsplit: How often a string is split at most; -1 for no limit.
      result_type: Only "SparseTensor".
      source: Another name of `input`; give one of them.
      name: A name for the op.

    Returns:
      A `tf.SparseTensor` of strings with one more dimension, that of the parts; a scalar counts as a vector of one.

    >>> tf.Session().run(tf.strings.split(["a,b,,c"], sep=",")).values.tolist()
    [b'a', b'b', b'', b'c']
    """
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
    """``len`` bytes (or UTF-8 characters) from ``pos``, which may be negative to count from the end.

    Args:
      input: A tensor of strings.
      pos: Where each part starts, int32 or int64; it broadcasts with `input`.
      len: How long each part is, of the type and shape of `pos`; less where the string ends.
      name: A name for the op.
      unit: What is counted: "BYTE" or "UTF8_CHAR".

    Returns:
      A tensor of strings.

    >>> tf.Session().run(tf.substr(["hello", "world"], 1, 3)).tolist()
    [b'ell', b'orl']
    """
    return raw_ops.Substr(input, pos, len, unit, name=name)


def string_length(input: Any, name: str | None = None, unit: str = "BYTE") -> Tensor:  # noqa: A002 - TF1's name
    """The number of bytes, or of UTF-8 characters with ``unit="UTF8_CHAR"``.

    Args:
      input: A tensor of strings.
      name: A name for the op.
      unit: What is counted: "BYTE" or "UTF8_CHAR".

    Returns:
      An int32 tensor of the shape of `input`.

    >>> tf.Session().run(tf.strings.length(["hello", ""])).tolist()
    [5, 0]
    """
    return raw_ops.StringLength(input, unit, name=name)


def string_strip(input: Any, name: str | None = None) -> Tensor:  # noqa: A002 - TF1's name
    """Without white space at both ends.

    Args:
      input: A tensor of strings.
      name: A name for the op.

    Returns:
      A tensor of strings of the shape of `input`.

    >>> tf.Session().run(tf.string_strip(["  a b "])).tolist()
    [b'a b']
    """
    return raw_ops.StringStrip(input, name=name)


def string_lower(input: Any, encoding: str = "", name: str | None = None) -> Tensor:  # noqa: A002 - TF1's name
    """In lower case: ASCII letters only, unless ``encoding`` is "utf-8".

    Args:
      input: A tensor of strings.
      encoding: "" or "utf-8".
      name: A name for the op.

    Returns:
      A tensor of strings of the shape of `input`.

    >>> tf.Session().run(tf.strings.lower(["Hello"])).tolist()
    [b'hello']
    """
    return raw_ops.StringLower(input, encoding, name=name)


def string_upper(input: Any, encoding: str = "", name: str | None = None) -> Tensor:  # noqa: A002 - TF1's name
    """In upper case: ASCII letters only, unless ``encoding`` is "utf-8".

    Args:
      input: A tensor of strings.
      encoding: "" or "utf-8".
      name: A name for the op.

    Returns:
      A tensor of strings of the shape of `input`.

    >>> tf.Session().run(tf.strings.upper(["Hello"])).tolist()
    [b'HELLO']
    """
    return raw_ops.StringUpper(input, encoding, name=name)


def regex_replace(
    input: Any,
    pattern: Any,
    rewrite: Any,
    replace_global: bool = True,
    name: str | None = None,  # noqa: A002
) -> Tensor:
    r"""Every match (or the first) replaced by ``rewrite``, in which \1 to \9 stand for groups and \0 for the match.

    Args:
      input: A tensor of strings.
      pattern: A regular expression, a string or a scalar string tensor.
      rewrite: What a match is replaced by, a string or a scalar string tensor.
      replace_global: Whether all matches are replaced, or the first one.
      name: A name for the op.

    Returns:
      A tensor of strings of the shape of `input`.

    >>> tf.Session().run(tf.regex_replace(["a1b22"], "[0-9]+", "#")).tolist()
    [b'a#b#']
    """
    if isinstance(pattern, _TEXT) and isinstance(rewrite, _TEXT):
        return raw_ops.StaticRegexReplace(input, pattern, rewrite, replace_global, name=name)
    return raw_ops.RegexReplace(input, pattern, rewrite, replace_global, name=name)


def regex_full_match(input: Any, pattern: Any, name: str | None = None) -> Tensor:  # noqa: A002 - TF1's name
    """Whether the pattern matches the whole string.

    Args:
      input: A tensor of strings.
      pattern: A regular expression, a string or a scalar string tensor.
      name: A name for the op.

    Returns:
      A bool tensor of the shape of `input`.

    >>> tf.Session().run(tf.strings.regex_full_match(["12", "1x"], "[0-9]+")).tolist()
    [True, False]
    """
    if isinstance(pattern, _TEXT):
        return raw_ops.StaticRegexFullMatch(input, pattern, name=name)
    return raw_ops.RegexFullMatch(input, pattern, name=name)


# ---- hash buckets, numbers


def string_to_hash_bucket_fast(input: Any, num_buckets: int, name: str | None = None) -> Tensor:  # noqa: A002
    """A bucket for each string by its FarmHash fingerprint: the same on every machine and in every version.

    Args:
      input: A tensor of strings.
      num_buckets: How many buckets, 1 or more.
      name: A name for the op.

    Returns:
      An int64 tensor of the shape of `input`, from 0 to ``num_buckets - 1``.

    >>> tf.Session().run(tf.string_to_hash_bucket_fast(["cat", "dog"], 10)).tolist()
    [6, 2]
    """
    return raw_ops.StringToHashBucketFast(input, num_buckets, name=name)


def string_to_hash_bucket_strong(
    input: Any,
    num_buckets: int,
    key: Sequence[int],
    name: str | None = None,  # noqa: A002 - TF1's name
) -> Tensor:
    """A bucket for each string by a keyed hash (SipHash), for strings an adversary may choose.

    Args:
      input: A tensor of strings.
      num_buckets: How many buckets, 1 or more.
      key: Two integers that make the hash one's own.
      name: A name for the op.

    Returns:
      An int64 tensor of the shape of `input`, from 0 to ``num_buckets - 1``.

    >>> tf.Session().run(tf.string_to_hash_bucket_strong(["cat", "dog"], 10, [1, 2])).tolist()
    [8, 0]
    """
    return raw_ops.StringToHashBucketStrong(input, num_buckets, key, name=name)


def string_to_hash_bucket(
    string_tensor: Any = None,
    num_buckets: int | None = None,
    name: str | None = None,
    input: Any = None,  # noqa: A002
) -> Tensor:
    """A bucket for each string by an old hash; prefer the fast one.

    Args:
      string_tensor: A tensor of strings.
      num_buckets: How many buckets, 1 or more.
      name: A name for the op.
      input: Another name of `string_tensor`; give one of them.

    Returns:
      An int64 tensor of the shape of `string_tensor`, from 0 to ``num_buckets - 1``.

    >>> tf.Session().run(tf.string_to_hash_bucket(["cat", "dog"], 10)).tolist()
    [5, 5]
    """
    string_tensor = either("input", input, "string_tensor", string_tensor)
    return raw_ops.StringToHashBucket(string_tensor, num_buckets, name=name)


def string_to_number(
    string_tensor: Any = None,
    out_type: Any = dtypes.float32,
    name: str | None = None,
    input: Any = None,  # noqa: A002
) -> Tensor:
    """Each string as a number.

    Args:
      string_tensor: A tensor of strings; one that is no number is an error.
      out_type: The type of the numbers: floats or integers of 32 or 64 bits.
      name: A name for the op.
      input: Another name of `string_tensor`; give one of them.

    Returns:
      A tensor of `out_type` of the shape of `string_tensor`.

    >>> tf.Session().run(tf.string_to_number(["1.5", "-2"])).tolist()
    [1.5, -2.0]
    """
    string_tensor = either("input", input, "string_tensor", string_tensor)
    return raw_ops.StringToNumber(string_tensor, out_type, name=name)


# ---- what strings hold


def decode_raw(
    input_bytes: Any = None, out_type: Any = None, little_endian: bool = True, name: str | None = None,
    bytes: Any = None,  # noqa: A002 - TF1's name
) -> Tensor:  # fmt: skip
    """The bytes of each string as numbers, in one more dimension.

    Args:
      input_bytes: A tensor of strings of one length.
      out_type: The type of the numbers, such as `tf.uint8`.
      little_endian: Whether the lowest byte of a number comes first.
      name: A name for the op.
      bytes: Another name of `input_bytes`; give one of them.

    Returns:
      A tensor of `out_type`: the shape of `input_bytes`, then the count of numbers in a string.

    >>> tf.Session().run(tf.decode_raw(["AB"], tf.uint8)).tolist()
    [[65, 66]]
    """
    input_bytes = either("input_bytes", input_bytes, "bytes", bytes)
    if out_type is None:
        raise ValueError("decode_raw() missing 1 positional argument: 'out_type'")
    return raw_ops.DecodeRaw(input_bytes, out_type, little_endian, name=name)


def decode_compressed(bytes: Any, compression_type: str = "", name: str | None = None) -> Tensor:  # noqa: A002
    """The strings without their compression: "", "ZLIB" or "GZIP".

    Args:
      bytes: A tensor of strings.
      compression_type: "" for none, "ZLIB" or "GZIP".
      name: A name for the op.

    Returns:
      A tensor of strings of the shape of `bytes`.

    >>> import zlib
    >>> tf.Session().run(tf.decode_compressed([zlib.compress(b"hello")], "ZLIB")).tolist()
    [b'hello']
    """
    return raw_ops.DecodeCompressed(bytes, compression_type, name=name)


def decode_csv(
    records: Any, record_defaults: Sequence[Any], field_delim: str = ",", use_quote_delim: bool = True,
    name: str | None = None, na_value: str = "", select_cols: Sequence[int] | None = None,
) -> list[Tensor]:  # fmt: skip
    """One tensor for each column of comma-separated records.

    ``record_defaults`` give each column's type and what stands in for an empty field; an empty list means that the
    field must be there.

    ``x, y = tf.decode_csv(line, [[0.0], [0]])``

    Args:
      records: A tensor of strings, each a line of all columns.
      record_defaults: A list with a tensor, or a list, of one element or none for each column that is read.
      field_delim: What stands between two fields, one character.
      use_quote_delim: Whether double quotes enclose fields that hold the delimiter.
      name: A name for the op.
      na_value: A text that counts as an empty field too.
      select_cols: The numbers of the columns to read, rising; None for all.

    Returns:
      A list of tensors of the shape of `records`, of the types of `record_defaults`.

    >>> x, y = tf.decode_csv(["1.5,7", ",8"], [[0.0], [0]])
    >>> [one.tolist() for one in tf.Session().run([x, y])]
    [[1.5, 0.0], [7, 8]]
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
    """The whole contents of a file.

    Args:
      filename: The file's name, a scalar string.
      name: A name for the op.

    Returns:
      A scalar string: the bytes of the file.

    Example: ``tf.image.decode_png(tf.read_file("image.png"))``
    """
    return raw_ops.ReadFile(filename, name=name)


def write_file(filename: Any, contents: Any, name: str | None = None) -> Operation:
    """Writes a file, with its folders if they are missing.

    Args:
      filename: The file's name, a scalar string; a file that is there is replaced.
      contents: The bytes to write, a scalar string.
      name: A name for the op.

    Returns:
      An operation to run.

    Example: ``tf.Session().run(tf.write_file("out/hello.txt", "hello"))``
    """
    return raw_ops.WriteFile(filename, contents, name=name)


def matching_files(pattern: Any, name: str | None = None) -> Tensor:
    """The names of the files that match one of the patterns, sorted.

    Args:
      pattern: A scalar or a vector of paths with ``*``, ``?`` and ``[...]``, which do not stand for a ``/``.
      name: A name for the op.

    Returns:
      A vector of strings.

    Example: ``tf.matching_files("data/train-*.tfrecord")``
    """
    return raw_ops.MatchingFiles(pattern, name=name)


def fingerprint(data: Any, method: str = "farmhash64", name: str | None = None) -> Tensor:
    """Eight bytes for each row, the same for the same contents on every machine.

    Args:
      data: A tensor of rank 1 or more; the first dimension is that of the rows.
      method: Only "farmhash64".
      name: A name for the op.

    Returns:
      A uint8 matrix [rows, 8].

    >>> tf.Session().run(tf.fingerprint(["cat", "dog"])).shape
    (2, 8)
    """
    return raw_ops.Fingerprint(data, method, name=name)
