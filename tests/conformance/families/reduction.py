"""Along axes: reductions, running sums, places of extremes, segments."""

from __future__ import annotations

from functools import partial

import numpy as np
from conformance.call import Call
from conformance.draw import Draw, Tensor


def reduce(op: str, d: Draw) -> Call:
    shape = d.shape(0, 4)
    dtype = "bool" if op in ("All", "Any") else d.dtype(op)
    axes = d.axis(len(shape)) if d.rarely() else d.axes(len(shape))
    return d.call(op, d.values(shape, dtype), d.ints(axes), keep_dims=d.bool())


def place(op: str, d: Draw) -> Call:
    shape = d.shape(1, 3)
    kind = {"output_type": d.choice(("int32", "int64"))} if d.bool() else {}
    return d.call(op, d.values(shape, d.dtype(op)), d.ints(d.axis(len(shape))), **kind)


def running(op: str, d: Draw) -> Call:
    shape = d.shape(1, 3)
    return d.call(op, d.values(shape, d.dtype(op)), d.ints(d.axis(len(shape))), exclusive=d.bool(), reverse=d.bool())


def segment(op: str, d: Draw) -> Call:
    rows = d.size()
    data = d.values((rows, *d.shape(0, 2)), d.dtype(op))
    ids = np.sort(d.indices(4, (rows,), "int64").array)
    return d.call(op, data, d.ints(np.abs(ids)))


def unsorted(op: str, d: Draw) -> Call:
    shape = d.shape(0, 2)
    count = d.int(0, 5)
    ids = d.indices(max(count, 1), shape)
    return d.call(op, d.values(shape + d.shape(0, 2), d.dtype(op)), ids, d.ints(count))


def sparse_segment(op: str, d: Draw) -> Call:
    rows, count = d.int(1, 4), d.size()
    ids = np.sort(np.abs(d.indices(4, (count,)).array)).astype(np.int32)
    more = [d.ints(d.int(4, 6))] if op.endswith("WithNumSegments") else []
    return d.call(
        op, d.values((rows, *d.shape(0, 2)), d.choice(("float32", "float64"))), d.indices(rows, (count,)), ids, *more
    )


def sparse_segment_grad(op: str, d: Draw) -> Call:
    count = d.int(1, 4)
    ids = np.sort(np.abs(d.indices(3, (count,), "int32").array))
    rows = int(ids.max()) + 1
    grad = d.values((rows, *d.shape(0, 2)), d.choice(("float32", "float64")))
    return d.call(op, grad, d.indices(4, (count,), "int32"), ids, np.int32(d.int(4, 6)))


def bincount(d: Draw) -> Call:
    ids = np.abs(d.indices(5, d.shape(0, 1), "int32").array)
    weights = d.values(ids.shape if d.bool() else (0,), d.dtype("Bincount"), "plain")
    return d.call("Bincount", ids, np.int32(d.int(0, 7)), weights)


def top_k(d: Draw) -> Call:
    shape = d.shape(1, 3)
    return d.call("TopKV2", d.values(shape, d.dtype("TopKV2")), np.int32(d.int(0, shape[-1] + d.rarely())), sorted=True)


def in_top_k(op: str, d: Draw) -> Call:
    rows, classes = d.size(), d.int(1, 5)
    targets = d.indices(classes, (rows,))
    k = Tensor(np.array(d.int(0, 4), targets.dtype))
    if op == "InTopK":
        return d.call(op, d.values((rows, classes)), targets, k=int(k.array))
    return d.call(op, d.values((rows, classes)), targets, k)


def nth(d: Draw) -> Call:
    shape = d.solid(1, 3)
    return d.call(
        "NthElement",
        d.values(shape, d.dtype("NthElement"), "plain"),
        np.int32(d.int(0, shape[-1] - 1)),
        reverse=d.bool(),
    )


def bound(op: str, d: Draw) -> Call:
    rows = d.int(1, 3)
    dtype = d.choice(("float32", "int32", "int64", "float64"))
    values = np.sort(d.values((rows, d.int(1, 5)), dtype, "plain").array, axis=-1)
    return d.call(op, values, d.values((rows, d.int(0, 4)), dtype, "plain"))


def bucketize(d: Draw) -> Call:
    return d.call(
        "Bucketize",
        d.values(d.shape(), d.choice(("float32", "int32", "int64", "float64"))),
        boundaries=[-1.0, 0.5, 2.0],
    )


def histogram(d: Draw) -> Call:
    dtype = d.choice(("float32", "float64", "int32"))
    limits = np.array([-2, 3], dtype)
    return d.call("HistogramFixedWidth", d.values(d.shape(), dtype, "plain"), limits, np.int32(d.int(1, 6)))


OPS = {
    **{op: partial(reduce, op) for op in "Sum Mean Prod Max Min All Any EuclideanNorm".split()},
    **{op: partial(place, op) for op in ("ArgMax", "ArgMin")},
    **{op: partial(running, op) for op in ("Cumsum", "Cumprod", "CumulativeLogsumexp")},
    **{op: partial(segment, op) for op in "SegmentSum SegmentMean SegmentProd SegmentMax SegmentMin".split()},
    **{
        op: partial(unsorted, op)
        for op in "UnsortedSegmentSum UnsortedSegmentProd UnsortedSegmentMax UnsortedSegmentMin".split()
    },
    **{f"SparseSegment{k}": partial(sparse_segment, f"SparseSegment{k}") for k in ("Sum", "Mean", "SqrtN")},
    **{
        f"SparseSegment{k}WithNumSegments": partial(sparse_segment, f"SparseSegment{k}WithNumSegments")
        for k in ("Sum", "Mean", "SqrtN")
    },
    **{f"SparseSegment{k}Grad": partial(sparse_segment_grad, f"SparseSegment{k}Grad") for k in ("Mean", "SqrtN")},
    "Bincount": bincount,
    "TopKV2": top_k,
    "NthElement": nth,
    "Bucketize": bucketize,
    "HistogramFixedWidth": histogram,
    "InTopK": partial(in_top_k, "InTopK"),
    "InTopKV2": partial(in_top_k, "InTopKV2"),
    "LowerBound": partial(bound, "LowerBound"),
    "UpperBound": partial(bound, "UpperBound"),
}
