"""Strings, sparse tensors, updates of variables."""

from __future__ import annotations

from functools import partial

import numpy as np
from conformance.call import Call
from conformance.draw import Draw, Tensor


def word(d: Draw, *options: bytes) -> Tensor:
    return Tensor(np.array(d.choice(options), object))


def plain(op: str, d: Draw) -> Call:
    return d.call(op, d.values(d.shape(), "string"))


def unit(op: str, d: Draw) -> Call:
    return d.call(op, d.values(d.shape(), "string"), unit=d.choice(("BYTE", "UTF8_CHAR")))


def substr(d: Draw) -> Call:
    shape = d.shape()
    where = shape if d.bool() else ()
    x = d.values(shape, "string")
    dtype = d.choice(("int32", "int64"))
    position = np.array(np.random.RandomState(d.int(0, 99)).randint(-3, 4, where), dtype)
    length = np.array(np.random.RandomState(d.int(0, 99)).randint(0, 4, where), dtype)
    return d.call("Substr", x, position, length, unit="BYTE")


def join(d: Draw) -> Call:
    shape = d.shape()
    parts = [d.values(() if d.int(0, 2) == 0 else shape, "string") for _ in range(d.int(1, 3))]
    return d.call("StringJoin", parts, separator=d.choice(("", ", ")))


def reduce_join(d: Draw) -> Call:
    x = d.values(d.shape(0, 3), "string")
    return d.call("ReduceJoin", x, np.int32(d.axes(len(x.shape))), keep_dims=d.bool(), separator=d.choice(("", "-")))


def split(d: Draw) -> Call:
    return d.call(
        "StringSplit",
        d.values(d.shape(1, 1), "string"),
        word(d, b" ", b",", b"", b", "),
        skip_empty=d.bool(),
    )


def split_v2(d: Draw) -> Call:
    return d.call(
        "StringSplitV2",
        d.values(d.shape(1, 1), "string"),
        word(d, b" ", b",", b""),
        maxsplit=d.int(-1, 2),
    )


def ngrams(d: Draw) -> Call:
    x = d.values(d.shape(1, 1), "string")
    (size,) = x.shape
    inner = sorted(d.int(0, size) for _ in range(d.int(0, 3)))
    ends = [0, *inner, size + (1 if d.rarely() else 0)]
    return d.call(
        "StringNGrams",
        x,
        np.array(ends, d.choice(("int32", "int64"))),
        separator=d.choice(("", " ", "--")),
        ngram_widths=[d.int(1, 4) for _ in range(d.int(0, 3))],
        left_pad=d.choice(("", "L")),
        right_pad=d.choice(("", "R")),
        pad_width=d.int(-1, 4),
        preserve_short_sequences=d.bool(),
    )


def hashed(op: str, d: Draw) -> Call:
    attrs = {"key": [d.int(0, 9), 7]} if op.endswith("Strong") else {}
    return d.call(op, d.values(d.shape(), "string"), num_buckets=d.choice((1, 10, 2**40)), **attrs)


def as_string(d: Draw) -> Call:
    dtype = d.choice(("float32", "float64", "int32", "int64", "int8", "bool", "complex64"))
    attrs = {"precision": d.int(-1, 5), "width": d.int(-1, 12), "fill": d.choice(("", "0", "-", " "))}
    if dtype in ("int32", "int64", "int8", "bool"):
        attrs["precision"] = -1
    if dtype.startswith("float"):
        attrs[d.choice(("scientific", "shortest"))] = d.bool()
    return d.call("AsString", d.values(d.shape(), dtype), **attrs)


def to_number(d: Draw) -> Call:
    words = np.array(
        [b"1", b"-2", b"3.5", b"1e3", b" 7 ", b"inf", b"x", b"", b"0x10", b"9999999999", b"+4", b"nan"], object
    )
    found = words[np.random.RandomState(d.int(0, 999)).randint(0, len(words), d.solid(0, 1, 2))]
    return d.call(
        "StringToNumber", Tensor(np.asarray(found, object)), out_type=d.choice(("float32", "float64", "int32", "int64"))
    )


def regex(d: Draw) -> Call:
    pattern, rewrite = d.choice(
        ((b"[aeiou]", b"*"), (b"(\\w+) (\\w+)", b"\\2 \\1"), (b"", b"-"), (b"l+", b""), (b"^\\s+|\\s+$", b""))
    )
    words = (Tensor(np.array(w, object)) for w in (pattern, rewrite))
    return d.call("RegexReplace", d.values(d.shape(), "string"), *words, replace_global=d.bool())


def full_match(d: Draw) -> Call:
    return d.call(
        "RegexFullMatch",
        d.values(d.shape(), "string"),
        word(d, b"a.*", b"[0-9]+", b"", b"\\s*\\w+\\s*"),
    )


def decode_raw(d: Draw) -> Call:
    width = d.choice((0, 4, 8, 16, 3))
    raw = np.empty(d.shape(0, 1), object)
    for index in np.ndindex(*raw.shape):
        raw[index] = np.random.RandomState(d.int(0, 99)).bytes(width)
    kind = d.choice(("uint8", "int16", "int32", "int64", "float32", "uint16", "bool"))
    return d.call("DecodeRaw", Tensor(raw), out_type=kind, little_endian=d.bool(), gradient=False)


def _sparse(d: Draw, shape: tuple[int, ...], dtype: str) -> tuple[Tensor, Tensor, Tensor]:
    dense = np.random.RandomState(d.int(0, 999)).rand(*shape) < 0.5
    where = np.argwhere(dense).astype(np.int64).reshape(-1, len(shape))
    return Tensor(where), d.values((len(where),), dtype, "plain"), Tensor(np.int64(shape))


def to_dense(d: Draw) -> Call:
    indices, values, shape = _sparse(d, d.solid(1, 3), d.dtype("SparseToDense"))
    return d.call("SparseToDense", indices, shape, values, d.values((), values.dtype, "plain"))


def sparse_sum(op: str, d: Draw) -> Call:
    size = d.solid(1, 3)
    parts = _sparse(d, size, d.choice(("float32", "float64")))
    return d.call(op, *parts, np.int32(d.axes(len(size))), keep_dims=d.bool(), gradient=op == "SparseReduceSum")


def sparse_matmul(d: Draw) -> Call:
    n, k, m = d.int(1, 4), d.int(1, 4), d.int(1, 4)
    a, b = d.bool(), d.bool()
    dtype = d.choice(("float32", "float64", "complex64"))
    parts = _sparse(d, (k, n) if a else (n, k), dtype)
    return d.call(
        "SparseTensorDenseMatMul", *parts, d.values((m, k) if b else (k, m), dtype, "plain"), adjoint_a=a, adjoint_b=b
    )


def sparse_add(d: Draw) -> Call:
    size, dtype = d.solid(1, 2), d.choice(("float32", "float64"))
    first, second = _sparse(d, size, dtype), _sparse(d, size, dtype)
    return d.call("SparseAdd", *first, *second, np.array(d.choice((0.0, 1.0)), dtype))


def sparse_one(op: str, d: Draw) -> Call:
    size = d.solid(2, 3) if op == "SparseSoftmax" else d.solid(1, 3)
    parts = _sparse(d, size, "float32" if op == "SparseSoftmax" else d.dtype(op))
    return d.call(op, *parts)


def sparse_concat(d: Draw) -> Call:
    size = d.solid(1, 2)
    parts = [_sparse(d, size, "float32") for _ in range(d.int(2, 3))]
    return d.call(
        "SparseConcat", *([p[i] for p in parts] for i in range(3)), concat_dim=d.int(-len(size), len(size) - 1)
    )


def sparse_slice(d: Draw) -> Call:
    size = d.solid(1, 3)
    start = np.int64([d.int(0, n) for n in size])
    return d.call("SparseSlice", *_sparse(d, size, "float32"), start, np.int64([d.int(0, 4) for _ in size]))


def fill_rows(d: Draw) -> Call:
    return d.call("SparseFillEmptyRows", *_sparse(d, d.solid(2, 2), "float32"), d.values((), "float32", "plain"))


def sparse_dense(op: str, d: Draw) -> Call:
    size = d.solid(1, 3)
    dense = size[d.int(0, len(size)) :] if d.bool() else size
    return d.call(op, *_sparse(d, size, "float32"), d.values(dense, "float32", "positive"))


def scatter(op: str, d: Draw) -> Call:
    rows, rest = d.int(1, 4), d.shape(0, 2)
    dtype = d.choice(("float32", "float64", "int32"))
    distinct = np.random.RandomState(d.int(0, 99)).permutation(rows)[: d.int(0, rows)]
    indices = d.ints(distinct) if op in ("ScatterUpdate", "ScatterDiv") or d.bool() else d.indices(rows, d.shape(0, 2))
    updates = d.values(() if d.rarely() else indices.shape + rest, dtype, "positive")
    return d.call(op, d.values((rows, *rest), dtype, "plain"), indices, updates)


OPS = {
    **{op: partial(plain, op) for op in ("StringStrip", "EncodeBase64", "StringLower", "StringUpper")},
    "StringLength": partial(unit, "StringLength"),
    "Substr": substr,
    "StringJoin": join,
    "ReduceJoin": reduce_join,
    "StringSplit": split,
    "StringSplitV2": split_v2,
    "StringNGrams": ngrams,
    **{f"StringToHashBucket{k}": partial(hashed, f"StringToHashBucket{k}") for k in ("Fast", "Strong")},
    "AsString": as_string,
    "StringToNumber": to_number,
    "RegexReplace": regex,
    "RegexFullMatch": full_match,
    "DecodeRaw": decode_raw,
    "SparseToDense": to_dense,
    **{op: partial(sparse_sum, op) for op in ("SparseReduceSum", "SparseReduceMax")},
    "SparseTensorDenseMatMul": sparse_matmul,
    "SparseAdd": sparse_add,
    **{op: partial(sparse_one, op) for op in ("SparseReorder", "SparseSoftmax")},
    "SparseConcat": sparse_concat,
    "SparseSlice": sparse_slice,
    "SparseFillEmptyRows": fill_rows,
    **{op: partial(sparse_dense, op) for op in ("SparseDenseCwiseAdd", "SparseDenseCwiseMul", "SparseDenseCwiseDiv")},
    **{f"Scatter{k}": partial(scatter, f"Scatter{k}") for k in ("Add", "Sub", "Mul", "Div", "Update", "Min", "Max")},
}
