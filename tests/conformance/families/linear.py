"""Products, factorisations, transforms."""

from __future__ import annotations

from functools import partial

import numpy as np
from conformance.call import Call
from conformance.draw import Draw, Tensor


def matmul(d: Draw) -> Call:
    n, k, m = d.size(), d.size(), d.size()
    dtype, a, b = d.dtype("MatMul"), d.bool(), d.bool()
    inner = d.size() if d.rarely() else k
    x, y = ((k, n) if a else (n, k)), ((m, inner) if b else (inner, m))
    return d.call("MatMul", d.values(x, dtype, "plain"), d.values(y, dtype, "plain"), transpose_a=a, transpose_b=b)


def batch_matmul(op: str, d: Draw) -> Call:
    n, k, m = d.size(), d.size(), d.size()
    dtype, a, b = d.dtype(op), d.bool(), d.bool()
    first, second = d.broadcast() if op.endswith("V2") else [d.shape(0, 2)] * 2
    x, y = (*first, *((k, n) if a else (n, k))), (*second, *((m, k) if b else (k, m)))
    return d.call(op, d.values(x, dtype, "plain"), d.values(y, dtype, "plain"), adj_x=a, adj_y=b)


def einsum(d: Draw) -> Call:
    equation = d.choice(
        ("ij,jk->ik", "ij,jk->ki", "bij,bjk->bik", "ij->ji", "ij->", "ii->i", "ij,ij->i", "i,j->ij", "...ij,...jk->...ik",
         "abc,cd->abd", "abc->cb", "ij,kj->ik", "...i->...", "iij->j", "ab,b->a")
    )  # fmt: skip
    sizes = {c: d.size() for c in "abcdijk"}
    sides = equation.split("->")[0].split(",")
    batches = d.broadcast(2)
    shapes = [
        tuple(n for c in s.replace("...", ".") for n in (batches[i] if c == "." else (sizes[c],)))
        for i, s in enumerate(sides)
    ]
    dtype = d.choice(("float32", "float64", "complex64", "int32"))
    return d.call("Einsum", [d.values(s, dtype, "plain") for s in shapes], equation=equation)


def _square(d: Draw, dtype: str, positive: bool = False) -> Tensor:
    n = d.int(1, 3)
    x = d.values((*d.solid(0, 2, 2), n, n), dtype, "unit").array
    if positive:
        return Tensor(x @ np.swapaxes(x.conj(), -1, -2) + 2 * np.eye(n, dtype=x.dtype))
    return Tensor((x + 2 * np.eye(n)).astype(x.dtype))


PRECISE = ("float64", "float64", "complex128", "float32")


def square(op: str, d: Draw) -> Call:
    attrs = {"adjoint": d.bool()} if op == "MatrixInverse" else {}
    return d.call(op, _square(d, d.choice(PRECISE), positive=op == "Cholesky"), **attrs)


def cholesky_grad(d: Draw) -> Call:
    x = np.linalg.cholesky(_square(d, "float64", positive=True).array)
    return d.call("CholeskyGrad", x, d.values(x.shape, "float64", "plain"), gradient=False)


def solve(op: str, d: Draw) -> Call:
    matrix = _square(d, d.choice(("float64", "complex128", "float32")))
    rhs = d.values((*matrix.shape[:-1], d.int(1, 3)), matrix.dtype, "plain")
    if op == "MatrixTriangularSolve":
        return d.call(op, matrix, rhs, lower=d.bool(), adjoint=d.bool())
    if op == "MatrixSolveLs":
        return d.call(op, matrix, rhs, np.float64(0.1), fast=True)
    return d.call(op, matrix, rhs, adjoint=d.bool())


def eigenvalues(d: Draw) -> Call:
    return d.call("SelfAdjointEigV2", _square(d, "float64", positive=True), compute_v=False)


def singular(d: Draw) -> Call:
    return d.call("Svd", d.values((*d.solid(0, 1), *d.solid(2, 2)), "float64", "plain"), compute_uv=False)


def transform(op: str, d: Draw) -> Call:
    rank = int(op[-2]) if op[-1] == "D" else 1
    x = d.values((*d.shape(0, 1), *d.solid(rank, rank)), d.choice(("complex64", "complex128")), "plain")
    return d.call(op, x)


def real_transform(op: str, d: Draw) -> Call:
    rank = int(op[-2]) if op[-1] == "D" else 1
    shape = (*d.shape(0, 1), *d.solid(rank, rank))
    if op.startswith("I"):
        length = [*shape[len(shape) - rank : -1], max(2 * (shape[-1] - 1), 1) + d.int(0, 1)]
        if length[-1] // 2 + 1 > shape[-1]:
            length[-1] = max(2 * (shape[-1] - 1), 1)
        return d.call(op, d.values(shape, "complex64", "plain"), np.int32(length))
    return d.call(op, d.values(shape, "float32", "plain"), np.int32([d.int(1, n) for n in shape[len(shape) - rank :]]))


def cross(d: Draw) -> Call:
    shape, dtype = (*d.shape(0, 2), 3), d.dtype("Cross")
    return d.call("Cross", d.values(shape, dtype, "plain"), d.values(shape, dtype, "plain"))


OPS = {
    "MatMul": matmul,
    "BatchMatMul": partial(batch_matmul, "BatchMatMul"),
    "BatchMatMulV2": partial(batch_matmul, "BatchMatMulV2"),
    "Einsum": einsum,
    **{op: partial(square, op) for op in "MatrixInverse MatrixDeterminant LogMatrixDeterminant Cholesky".split()},
    "CholeskyGrad": cholesky_grad,
    **{op: partial(solve, op) for op in "MatrixSolve MatrixTriangularSolve MatrixSolveLs".split()},
    "SelfAdjointEigV2": eigenvalues,
    "Svd": singular,
    **{op: partial(transform, op) for op in "FFT FFT2D FFT3D IFFT IFFT2D IFFT3D".split()},
    **{op: partial(real_transform, op) for op in "RFFT RFFT2D RFFT3D IRFFT IRFFT2D IRFFT3D".split()},
    "Cross": cross,
}
