"""Matrices that are zero but for three diagonals: TridiagonalSolve, TridiagonalMatMul."""

from __future__ import annotations

import torch

from headrace.core.dtypes import FLOAT_OR_COMPLEX, bfloat16, float16
from headrace.core.registry import op
from headrace.ops.shared.unknown import any_nan, blotted, replaced

_TYPES = tuple(t for t in FLOAT_OR_COMPLEX if t not in (float16, bfloat16))


def _dense(above, diagonal, below):
    """The whole matrix.  The last element above the diagonal and the first below it lie outside the matrix."""
    return torch.diag_embed(diagonal) + torch.diag_embed(above[..., :-1], 1) + torch.diag_embed(below[..., 1:], -1)


solve = op(
    "TridiagonalSolve(diagonals: T[2+], rhs: T[2+]; partial_pivoting: bool = True) -> (output: T)",
    T=_TYPES,
    view=False,
)


@solve.shape
def _(diagonals, rhs, partial_pivoting):
    dims, other = diagonals.with_rank_at_least(2).tuple, rhs.with_rank_at_least(2).tuple
    if dims is None or other is None:
        return rhs
    if dims[-2] not in (None, 3):
        raise ValueError(f"diagonals must be [..., 3, size], got {diagonals}")
    if None not in (dims[-1], other[-2]) and dims[-1] != other[-2]:
        raise ValueError(f"Dimensions must be equal, but are {dims[-1]} and {other[-2]}")
    return rhs


@solve.refuse
def _(diagonals, rhs, partial_pivoting):
    raise ValueError("The matrix of the diagonals is not invertible")


@solve.kernel
def _(diagonals, rhs, partial_pivoting):
    unknown = any_nan(diagonals)
    return blotted(torch.linalg.solve(replaced(_dense(*diagonals.unbind(-2)), unknown), rhs), unknown)


product = op(
    "TridiagonalMatMul(superdiag: T[2+], maindiag: T[2+], subdiag: T[2+], rhs: T[2+]) -> (output: T)",
    T=_TYPES,
    view=False,
    lenient=True,
)


@product.shape
def _(superdiag, maindiag, subdiag, rhs):
    for diagonal in (superdiag, maindiag, subdiag):
        dims = diagonal.with_rank_at_least(2).tuple
        if dims is not None and dims[-2] not in (None, 1):
            raise ValueError(f"a diagonal must be [..., 1, size], got {diagonal}")
    rows = (rhs.with_rank_at_least(2).tuple or (None, None))[-2]
    for diagonal in (superdiag, maindiag, subdiag):
        size = (diagonal.tuple or (None,))[-1]
        if None not in (rows, size) and rows != size:
            raise ValueError(f"Dimensions must be equal, but are {size} and {rows}: a diagonal and the rows of rhs")
    return rhs


@product.kernel
def _(superdiag, maindiag, subdiag, rhs):
    above, diagonal, below = (d.squeeze(-2).unsqueeze(-1) for d in (superdiag, maindiag, subdiag))
    up = torch.nn.functional.pad(rhs[..., 1:, :], (0, 0, 0, 1))
    down = torch.nn.functional.pad(rhs[..., :-1, :], (0, 0, 1, 0))
    return above * up + diagonal * rhs + below * down
