"""Rearranging: shapes, slices, joins, gathers, scatters, paddings, blocks."""

from __future__ import annotations

from functools import partial

import numpy as np
from conformance.call import Call
from conformance.draw import Draw, Tensor


def some(d: Draw, op: str, low: int = 0, high: int = 3) -> Tensor:
    return d.values(d.shape(low, high), d.dtype(op), "plain")


def reshape(d: Draw) -> Call:
    x = some(d, "Reshape")
    sizes = list(np.random.RandomState(d.int(0, 99)).permutation(x.shape)) if x.shape else []
    if sizes and d.bool():
        sizes[d.int(0, len(sizes) - 1)] = -1
    if d.bool():
        sizes.insert(0, 1)
    return d.call("Reshape", x, d.ints(sizes))


def transpose(op: str, d: Draw) -> Call:
    x = some(d, op, 0, 4)
    order = np.random.RandomState(d.int(0, 99)).permutation(len(x.shape))
    return d.call(op, x, d.ints(order))


def expand(d: Draw) -> Call:
    x = some(d, "ExpandDims")
    return d.call("ExpandDims", x, d.ints(d.axis(len(x.shape) + 1)))


def squeeze(d: Draw) -> Call:
    x = some(d, "Squeeze", 0, 4)
    return d.call("Squeeze", x, squeeze_dims=[a for a in d.axes(len(x.shape)) if x.shape[a] == 1 or d.rarely()])


def tile(d: Draw) -> Call:
    x = some(d, "Tile")
    return d.call("Tile", x, d.ints([d.int(0, 3) for _ in x.shape]))


def broadcast_to(d: Draw) -> Call:
    small, full = d.broadcast()
    return d.call("BroadcastTo", d.values(small, d.dtype("BroadcastTo"), "plain"), d.ints(full))


def reverse(d: Draw) -> Call:
    x = some(d, "ReverseV2")
    return d.call("ReverseV2", x, d.ints(d.axes(len(x.shape))))


def reverse_flags(d: Draw) -> Call:
    x = some(d, "Reverse")
    return d.call("Reverse", x, np.array([d.bool() for _ in x.shape], bool))


def reverse_sequence(d: Draw) -> Call:
    shape = d.solid(2, 4)
    seq, batch = (0, 1) if d.bool() else (1, 0)
    lengths = d.indices(shape[seq] + 1, (shape[batch],))
    return d.call(
        "ReverseSequence", d.values(shape, d.dtype("ReverseSequence"), "plain"), lengths, seq_dim=seq, batch_dim=batch
    )


def roll(d: Draw) -> Call:
    x = some(d, "Roll", 1)
    count = d.int(1, len(x.shape))
    shift = [d.int(-4, 4) for _ in range(count)]
    return d.call("Roll", x, d.ints(shift), d.ints([d.axis(len(x.shape)) for _ in range(count)]))


def fill(d: Draw) -> Call:
    return d.call("Fill", d.ints(d.shape()), d.values((), d.dtype("Fill")))


def span(d: Draw) -> Call:
    dtype = d.choice(("int32", "int64", "float32", "float64"))
    start, stop, step = (np.array(d.int(-5, 9) * (0.5 if "f" in dtype else 1), dtype) for _ in range(3))
    return d.call("Range", start, stop, step, gradient=False)


def lin_space(d: Draw) -> Call:
    return d.call(
        "LinSpace",
        d.values((), "float32", "plain"),
        d.values((), "float32", "plain"),
        d.ints(d.int(0, 5)),
        gradient=False,
    )


def one_hot(d: Draw) -> Call:
    shape = d.shape()
    indices = Tensor(np.random.RandomState(d.int(0, 99)).randint(-1, 5, shape).astype(d.choice(("int32", "int64"))))
    dtype = d.dtype("OneHot")
    return d.call(
        "OneHot", indices, np.int32(d.int(0, 4)), d.values((), dtype), d.values((), dtype), axis=d.axis(len(shape) + 1)
    )


def pad(op: str, d: Draw) -> Call:
    x = some(d, op)
    pairs = d.ints([[d.int(0, 2), d.int(0, 2)] for _ in x.shape] or np.zeros((0, 2)))
    if op == "PadV2":
        return d.call(op, x, pairs, d.values((), x.dtype))
    if op == "MirrorPad":
        return d.call(op, x, pairs, mode=d.choice(("REFLECT", "SYMMETRIC")))
    return d.call(op, x, pairs)


def cut(d: Draw) -> Call:
    x = some(d, "Slice")
    begin = [d.int(0, n) for n in x.shape]
    size = [-1 if d.int(0, 3) == 0 else d.int(0, n - b + d.rarely()) for n, b in zip(x.shape, begin, strict=True)]
    kind = d.choice(("int32", "int64"))
    return d.call("Slice", x, d.ints(begin, kind), d.ints(size, kind))


def strided(d: Draw) -> Call:
    x = some(d, "StridedSlice", 0, 4)
    count = d.int(0, len(x.shape))
    kind = d.choice(("int32", "int64"))
    begin, end = ([d.int(-6, 6) for _ in range(count)] for _ in range(2))
    step = [d.choice((1, 1, 2, -1, -2, 3)) for _ in range(count)]
    masks = {
        f"{m}_mask": d.int(0, 2**count - 1) if d.bool() else 0 for m in ("begin", "end", "new_axis", "shrink_axis")
    }
    ellipsis = 1 << d.int(0, count - 1) if count and d.int(0, 3) == 0 else 0
    return d.call(
        "StridedSlice", x, d.ints(begin, kind), d.ints(end, kind), d.ints(step, kind), ellipsis_mask=ellipsis, **masks
    )


def concat(d: Draw) -> Call:
    shape, dtype = list(d.shape(1, 3)), d.dtype("ConcatV2")
    axis = d.axis(len(shape))
    parts = []
    for _ in range(d.int(2, 4)):
        if -len(shape) <= axis < len(shape):
            shape[axis] = d.size()
        parts.append(d.values(shape, dtype, "plain"))
    return d.call("ConcatV2", parts, d.ints(axis))


def pack(d: Draw) -> Call:
    shape, dtype = d.shape(), d.dtype("Pack")
    return d.call("Pack", [d.values(shape, dtype, "plain") for _ in range(d.int(1, 3))], axis=d.axis(len(shape) + 1))


def unpack(d: Draw) -> Call:
    x = some(d, "Unpack", 1)
    axis = d.axis(len(x.shape), outside=False)
    return d.call("Unpack", x, num=x.shape[axis], axis=axis)


def split(d: Draw) -> Call:
    x = some(d, "Split", 1)
    return d.call("Split", np.int32(d.axis(len(x.shape))), x, num_split=d.int(1, 4))


def split_v(d: Draw) -> Call:
    x = some(d, "SplitV", 1)
    axis = d.axis(len(x.shape), outside=False)
    first = d.int(0, x.shape[axis])
    sizes = [first, d.choice((-1, x.shape[axis] - first))]
    return d.call("SplitV", x, d.ints(sizes), np.int32(axis), num_split=2)


def gather(d: Draw) -> Call:
    if d.int(0, 3) == 0:
        return gather_batch(d)
    x = d.values(d.shape(1, 3), d.dtype("GatherV2", "Tparams"), "plain")
    axis = d.axis(len(x.shape))
    count = x.shape[axis] if -len(x.shape) <= axis < len(x.shape) else 1
    return d.call("GatherV2", x, d.indices(count, d.shape(0, 2)), d.ints(axis))


def gather_batch(d: Draw) -> Call:
    x = d.values(d.solid(2, 4), "float32", "plain")
    batch = d.int(1, len(x.shape) - 1)
    axis = d.int(batch, len(x.shape) - 1)
    return d.call(
        "GatherV2", x, d.indices(x.shape[axis], x.shape[:batch] + d.shape(0, 2)), d.ints(axis), batch_dims=batch
    )


def gather_first(d: Draw) -> Call:
    x = d.values(d.shape(1, 3), d.dtype("Gather", "Tparams"), "plain")
    return d.call("Gather", x, d.indices(x.shape[0], d.shape(0, 2)))


def _coordinates(d: Draw, shape: tuple[int, ...], dtype: str = "") -> tuple[Tensor, int]:
    depth, rows = d.int(0 if d.rarely() else 1, len(shape)), d.shape(1, 2)
    columns = [np.random.RandomState(d.int(0, 999)).randint(0, max(n, 1), rows) for n in shape[:depth]]
    found = np.stack(columns, -1) if columns else np.zeros((*rows, 0), int)
    return d.ints(found, dtype), depth


def gather_nd(d: Draw) -> Call:
    x = d.values(d.solid(1, 3), d.dtype("GatherNd", "Tparams"), "plain")
    return d.call("GatherNd", x, _coordinates(d, x.shape)[0])


def scatter_nd(d: Draw) -> Call:
    shape = d.solid(1, 3)
    indices, depth = _coordinates(d, shape)
    updates = d.values(indices.shape[:-1] + shape[depth:], d.dtype("ScatterNd"), "plain")
    return d.call("ScatterNd", indices, updates, d.ints(shape, indices.dtype))


def tensor_scatter(op: str, d: Draw) -> Call:
    x = d.values(d.solid(1, 3), d.dtype(op), "grid")
    indices, depth = _coordinates(d, x.shape)
    if op == "TensorScatterUpdate" and depth:  # the order of equal places is open
        indices = Tensor(np.unique(indices.array.reshape(-1, depth), axis=0))
    return d.call(op, x, indices, d.values(indices.shape[:-1] + x.shape[depth:], x.dtype, "grid"))


def where(d: Draw) -> Call:
    return d.call("Where", d.values(d.shape(0, 4), d.dtype("Where"), "grid"))


def unique(op: str, d: Draw) -> Call:
    return d.call(op, d.values(d.shape(1, 1), d.dtype(op), "grid"), out_idx=d.choice(("int32", "int64")))


def list_diff(d: Draw) -> Call:
    dtype = d.dtype("ListDiff")
    return d.call("ListDiff", d.values(d.shape(1, 1), dtype, "grid"), d.values(d.shape(1, 1), dtype, "grid"))


def invert(d: Draw) -> Call:
    order = np.random.RandomState(d.int(0, 99)).permutation(d.int(0, 5))
    return d.call("InvertPermutation", d.ints(order))


def partition(d: Draw) -> Call:
    shape = d.shape(0, 2)
    count = d.int(1, 3)
    x = d.values(shape + d.shape(0, 1), d.dtype("DynamicPartition"), "plain")
    return d.call("DynamicPartition", x, d.indices(count, shape, "int32"), num_partitions=count)


def stitch(op: str, d: Draw) -> Call:
    order = np.random.RandomState(d.int(0, 99)).permutation(d.int(1, 6)).astype(np.int32)
    cut = d.int(0, len(order))
    rest = d.shape(0, 2)
    dtype = d.dtype(op)
    parts = [order[:cut], order[cut:]]
    return d.call(op, parts, [d.values((len(p), *rest), dtype, "plain") for p in parts])


def space(op: str, d: Draw) -> Call:
    block = d.int(2, 3)
    shape = [d.int(1, 2), d.int(1, 2), d.int(1, 2), d.int(1, 2)]
    if op == "SpaceToDepth":
        shape[1:3] = [n * block for n in shape[1:3]]
    else:
        shape[3] *= block * block
    return d.call(op, d.values(shape, d.dtype(op), "plain"), block_size=block)


def space_to_batch(d: Draw) -> Call:
    block = [d.int(1, 3), d.int(1, 2)]
    pads = [[d.int(0, 2), d.int(0, 2)] for _ in block]
    inner = [b * d.int(1, 3) - sum(p) for b, p in zip(block, pads, strict=True)]
    inner = [max(n, 1) for n in inner]
    x = d.values((d.int(1, 2), *inner, *d.solid(0, 1)), d.dtype("SpaceToBatchND"), "plain")
    return d.call("SpaceToBatchND", x, d.ints(block), d.ints(pads))


def batch_to_space(d: Draw) -> Call:
    block = [d.int(1, 3), d.int(1, 2)]
    inner = [d.int(1, 3) for _ in block]
    crops = [[d.int(0, 1), d.int(0, 1)] for _ in block]
    x = d.values((d.int(1, 2) * block[0] * block[1], *inner, *d.solid(0, 1)), d.dtype("BatchToSpaceND"), "plain")
    return d.call("BatchToSpaceND", x, d.ints(block), d.ints(crops))


def diagonal(op: str, d: Draw) -> Call:
    shape = d.shape(1, 3)
    if op == "DiagPart":
        half = d.solid(1, 2)
        shape = half + half
    elif op == "MatrixDiagPart":
        shape = d.shape(2, 4)
    return d.call(op, d.values(shape, d.dtype(op), "plain"))


def band(d: Draw) -> Call:
    x = some(d, "MatrixBandPart", 2, 4)
    kind = d.choice(("int32", "int64"))
    return d.call("MatrixBandPart", x, d.ints(d.int(-1, 3), kind), d.ints(d.int(-1, 3), kind))


def set_diag(d: Draw) -> Call:
    shape, dtype = d.shape(2, 3), d.dtype("MatrixSetDiag")
    return d.call(
        "MatrixSetDiag", d.values(shape, dtype, "plain"), d.values((*shape[:-2], min(shape[-2:])), dtype, "plain")
    )


def shape_of(op: str, d: Draw) -> Call:
    attrs = {} if op == "Rank" else {"out_type": d.choice(("int32", "int64"))}
    return d.call(op, some(d, op), **attrs)


def unravel(d: Draw) -> Call:
    dims = d.solid(1, 3)
    kind = d.choice(("int32", "int64"))
    return d.call("UnravelIndex", d.indices(int(np.prod(dims)), d.shape(0, 1), kind), d.ints(dims, kind))


def broadcast_args(op: str, d: Draw) -> Call:
    kind = d.choice(("int32", "int64"))
    return d.call(op, *(d.ints(s, kind) for s in d.broadcast()))


def patches(d: Draw) -> Call:
    one = {k: [1, d.int(1, 3), d.int(1, 3), 1] for k in ("ksizes", "strides")}
    rates = [1, d.int(1, 2), d.int(1, 2), 1]
    x = d.values((d.int(1, 2), d.int(3, 6), d.int(3, 6), d.int(1, 2)), d.dtype("ExtractImagePatches"), "plain")
    return d.call("ExtractImagePatches", x, rates=rates, padding=d.choice(("SAME", "VALID")), **one)


OPS = {
    "Reshape": reshape,
    "Transpose": partial(transpose, "Transpose"),
    "ConjugateTranspose": partial(transpose, "ConjugateTranspose"),
    "ExpandDims": expand,
    "Squeeze": squeeze,
    "Tile": tile,
    "BroadcastTo": broadcast_to,
    "ReverseV2": reverse,
    "Reverse": reverse_flags,
    "ReverseSequence": reverse_sequence,
    "Roll": roll,
    "Fill": fill,
    "Range": span,
    "LinSpace": lin_space,
    "OneHot": one_hot,
    **{op: partial(pad, op) for op in ("Pad", "PadV2", "MirrorPad")},
    "Slice": cut,
    "StridedSlice": strided,
    "ConcatV2": concat,
    "Pack": pack,
    "Unpack": unpack,
    "Split": split,
    "SplitV": split_v,
    "GatherV2": gather,
    "Gather": gather_first,
    "GatherNd": gather_nd,
    "ScatterNd": scatter_nd,
    **{
        op: partial(tensor_scatter, op)
        for op in (
            "TensorScatterUpdate",
            "TensorScatterAdd",
            "TensorScatterSub",
            "TensorScatterMax",
            "TensorScatterMin",
        )
    },
    "Where": where,
    **{op: partial(unique, op) for op in ("Unique", "UniqueWithCounts")},
    "ListDiff": list_diff,
    "InvertPermutation": invert,
    "DynamicPartition": partition,
    **{op: partial(stitch, op) for op in ("DynamicStitch", "ParallelDynamicStitch")},
    **{op: partial(space, op) for op in ("SpaceToDepth", "DepthToSpace")},
    "SpaceToBatchND": space_to_batch,
    "BatchToSpaceND": batch_to_space,
    **{op: partial(diagonal, op) for op in ("Diag", "DiagPart", "MatrixDiag", "MatrixDiagPart")},
    "MatrixBandPart": band,
    "MatrixSetDiag": set_diag,
    **{op: partial(shape_of, op) for op in ("Shape", "Size", "Rank")},
    "UnravelIndex": unravel,
    **{op: partial(broadcast_args, op) for op in ("BroadcastArgs", "BroadcastGradientArgs")},
    "ExtractImagePatches": patches,
}
