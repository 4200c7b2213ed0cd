"""Products of matrices: MatMul, BatchMatMul, BatchMatMulV2, Cross."""

from __future__ import annotations

import numpy as np
import torch

from headrace.core.dtypes import FLOAT_OR_COMPLEX, FLOATING, REAL, bfloat16, float32, int32, int64
from headrace.core.registry import op
from headrace.core.shape import TensorShape, broadcast_shape
from headrace.core.wording import in_brackets
from headrace.graph import raw_ops
from headrace.ops.declare.regular import conjugate, sum_to_shape, widen

INTEGERS = (int32, int64)
TYPES = (*FLOAT_OR_COMPLEX, *INTEGERS)

matmul = op("MatMul(a: T[2], b: T[2]; transpose_a: bool = False, transpose_b: bool = False) -> (product: T)", T=TYPES)


def _inner(x, y):
    if x is not None and y is not None and x != y:
        raise ValueError(f"Dimensions must be equal, but are {x} and {y}")


@matmul.shape
def _product_shape(a, b, transpose_a, transpose_b):
    for name, shape in (("a", a), ("b", b)):
        if shape.ndims not in (None, 2):
            raise ValueError(
                f"Shape must be rank 2 but is rank {shape.ndims}: {name} is {shape}, and matmul takes matrices"
            )
    rows, left = a.with_rank(2).tuple
    right, columns = b.with_rank(2).tuple
    if transpose_a:
        rows, left = left, rows
    if transpose_b:
        right, columns = columns, right
    _inner(left, right)
    return rows, columns


def _refuse_product(a, b, *attrs):
    """Refuses matrices, or batches of them, that cannot be multiplied, in the words of TensorFlow's kernels."""
    flips = [bool(flip) for flip in attrs[:2]]
    for i, value in enumerate((a, b)):
        if value.ndim < 2:
            raise ValueError(f"In[{i}] ndims must be >= 2: {value.ndim}")
    if a.shape[-2 if flips[0] else -1] != b.shape[-1 if flips[1] else -2]:
        raise ValueError(f"Matrix size-incompatible: In[0]: {in_brackets(a.shape)}, In[1]: {in_brackets(b.shape)}")


matmul.refuse(_refuse_product)


@matmul.kernel
def product(a, b, transpose_a, transpose_b):
    return torch.mm(a.t() if transpose_a else a, b.t() if transpose_b else b)


def _integer_product(a, b):
    """Exact products of integers where torch has none (CUDA): broadcast and sum."""
    return (a.unsqueeze(-1) * b.unsqueeze(-3)).sum(-2, dtype=a.dtype)


@matmul.kernel(device="cuda", T=INTEGERS)
def _(a, b, transpose_a, transpose_b):
    return _integer_product(a.t() if transpose_a else a, b.t() if transpose_b else b)


_ONE_THREAD = 64**3  # multiplications: for more, numpy's BLAS starts threads, which disturb torch's


def _on_one_thread(shapes, attrs):
    (rows, columns), b = shapes
    return rows * columns * b[0 if attrs["transpose_b"] else 1] <= _ONE_THREAD


@matmul.array_kernel(fits=_on_one_thread, T=FLOATING)
def _(a, b, transpose_a, transpose_b):
    return np.dot(a.T if transpose_a else a, b.T if transpose_b else b)


@matmul.gradient
def _(node, grad):
    a, b = conjugate(node.inputs[0]), conjugate(node.inputs[1])
    ta, tb = node.attrs["transpose_a"], node.attrs["transpose_b"]
    product = raw_ops.MatMul
    if not ta and not tb:
        return [product(grad, b, transpose_b=True), product(a, grad, transpose_a=True)]
    if not ta:
        return [product(grad, b), product(grad, a, transpose_a=True)]
    if not tb:
        return [product(b, grad, transpose_b=True), product(a, grad)]
    return [product(b, grad, transpose_a=True, transpose_b=True), product(grad, a, transpose_a=True, transpose_b=True)]


SINGLE = (float32, bfloat16)
sparse_matmul = op(
    "SparseMatMul(a: Ta[2], b: Tb[2]; transpose_a: bool = False, transpose_b: bool = False, a_is_sparse: bool = False, "
    "b_is_sparse: bool = False) -> (product: float32)",
    Ta=SINGLE, Tb=SINGLE,
)  # fmt: skip


@sparse_matmul.shape
def _(a, b, transpose_a, transpose_b, a_is_sparse, b_is_sparse):
    return _product_shape(a, b, transpose_a, transpose_b)


@sparse_matmul.kernel
def _(a, b, transpose_a, transpose_b, a_is_sparse, b_is_sparse):
    """The flags for sparse matrices change nothing: zeros are multiplied like other numbers."""
    a, b = a.float(), b.float()
    return torch.mm(a.t() if transpose_a else a, b.t() if transpose_b else b)


# ---- batches


def batched_product(x, y, adj_x, adj_y):
    return torch.matmul(x.mH if adj_x else x, y.mH if adj_y else y)


def _batched(name, broadcasts):
    definition = op(
        f"{name}(x: T[2+], y: T[2+]; adj_x: bool = False, adj_y: bool = False) -> (output: T)",
        T=TYPES,
        lenient=name == "BatchMatMul",
    )

    @definition.shape
    def _(x, y, adj_x, adj_y):
        x, y = x.with_rank_at_least(2), y.with_rank_at_least(2)
        if not broadcasts:  # both have the batch, and the rank, that one of them has
            if x.tuple is None and y.tuple is not None:
                x = TensorShape([*y.tuple[:-2], None, None])
            elif y.tuple is None and x.tuple is not None:
                y = TensorShape([*x.tuple[:-2], None, None])
        if x.tuple is None or y.tuple is None:
            return None
        rows, left = x.tuple[-2:]
        right, columns = y.tuple[-2:]
        if adj_x:
            rows, left = left, rows
        if adj_y:
            right, columns = columns, right
        _inner(left, right)
        batch_x, batch_y = TensorShape(x.tuple[:-2]), TensorShape(y.tuple[:-2])
        batch = broadcast_shape(batch_x, batch_y) if broadcasts else batch_x.merge_with(batch_y)
        return batch.concatenate([rows, columns])

    definition.refuse(_refuse_product)
    definition.kernel(batched_product)

    @definition.kernel(device="cuda", T=INTEGERS)
    def _(x, y, adj_x, adj_y):
        return _integer_product(x.mT if adj_x else x, y.mT if adj_y else y)

    @definition.gradient
    def _(node, grad):
        x, y = node.inputs
        adj_x, adj_y = node.attrs["adj_x"], node.attrs["adj_y"]
        product = raw_ops.BatchMatMulV2
        if not adj_x and not adj_y:
            gx, gy = product(grad, y, adj_y=True), product(x, grad, adj_x=True)
        elif not adj_x:
            gx, gy = product(grad, y), product(grad, x, adj_x=True)
        elif not adj_y:
            gx, gy = product(y, grad, adj_y=True), product(x, grad)
        else:
            gx, gy = product(y, grad, adj_x=True, adj_y=True), product(grad, x, adj_x=True, adj_y=True)
        if not broadcasts or _same_batch(x, y):
            return [gx, gy]
        return [sum_to_shape(gx, x), sum_to_shape(gy, y)]

    return definition


def _same_batch(x, y):
    a, b = x.shape.tuple, y.shape.tuple
    return a is not None and b is not None and a[:-2] == b[:-2] and None not in a[:-2]


batch_matmul = _batched("BatchMatMul", False)
batch_matmul_v2 = _batched("BatchMatMulV2", True)

# ---- cross product

cross = op("Cross(a: T[1+], b: T[1+]) -> (product: T)", T=REAL, lenient=True)


@cross.shape
def _(a, b):
    merged = a.merge_with(b).with_rank_at_least(1)
    if merged.tuple is not None:
        _inner(merged.tuple[-1], 3)
    return merged


@cross.gradient
def _(node, grad):
    a, b = node.inputs
    return [raw_ops.Cross(b, grad), raw_ops.Cross(grad, a)]


cross.kernel(torch.linalg.cross)
widen(cross, torch.linalg.cross)
