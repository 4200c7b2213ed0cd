"""Diagonals and bands of matrices.  The V2 ops take a range of diagonals, packed to the left, as TF 1.15 has them."""

from __future__ import annotations

import math

import torch
from torch.nn.functional import pad

from headrace.core.dtypes import INDEX, NUMERIC
from headrace.core.dtypes import bool as bool_dtype
from headrace.core.registry import op
from headrace.graph import raw_ops
from headrace.ops.declare.unsigned import move_as_signed

_TYPES = (*NUMERIC, bool_dtype)


def _diagonal_size(rows, columns, lower=0, upper=0):
    """The length of the longest diagonal between ``lower`` and ``upper``."""
    if None in (rows, columns, lower, upper):
        return None
    return min(rows + min(upper, 0), columns - max(lower, 0))


# ---- whole tensors: Diag

diag = op("Diag(diagonal: T[1+]) -> (output: T)", T=NUMERIC, lenient=True)
diag.shape(lambda diagonal: None if diagonal.tuple is None else diagonal.tuple * 2)
diag.gradient(lambda node, grad: [raw_ops.DiagPart(grad)])
diag.kernel(lambda diagonal: torch.diag(diagonal.reshape(-1)).reshape(diagonal.shape * 2))

diag_part = op("DiagPart(input: T) -> (diagonal: T)", T=NUMERIC, view=True)
diag_part.gradient(lambda node, grad: [raw_ops.Diag(grad)])


@diag_part.shape
def _(input):
    dims = input.tuple
    if dims is None:
        return None
    if len(dims) % 2 or not dims:
        raise ValueError(f"Input must have even and non-zero rank, input rank is {len(dims)}")
    half = len(dims) // 2
    for i in range(half):
        a, b = dims[i], dims[i + half]
        if None not in (a, b) and a != b:
            raise ValueError(f"Dimensions must be equal, but are {a} and {b}")
    return [a if a is not None else b for a, b in zip(dims[:half], dims[half:], strict=True)]


@diag_part.kernel
def _(input):
    shape = input.shape[: input.ndim // 2]
    if input.ndim % 2 or shape != input.shape[input.ndim // 2 :]:
        raise ValueError(f"the two halves of the shape must be equal, got {list(input.shape)}")
    size = math.prod(shape)
    return input.reshape(size, size).diagonal().reshape(shape)


# ---- the last two dimensions

matrix_diag = op("MatrixDiag(diagonal: T[1+]) -> (output: T)", T=_TYPES)
matrix_diag.gradient(lambda node, grad: [raw_ops.MatrixDiagPart(grad)])
matrix_diag.kernel(torch.diag_embed)


@matrix_diag.shape
def _(diagonal):
    dims = diagonal.with_rank_at_least(1).tuple
    return None if dims is None else (*dims, dims[-1])


matrix_diag_part = op("MatrixDiagPart(input: T[2+]) -> (diagonal: T)", T=_TYPES, view=True)
matrix_diag_part.kernel(lambda input: input.diagonal(dim1=-2, dim2=-1))


@matrix_diag_part.shape
def _(input):
    dims = input.with_rank_at_least(2).tuple
    return None if dims is None else (*dims[:-2], _diagonal_size(*dims[-2:]))


@matrix_diag_part.gradient
def _(node, grad):
    dims = node.inputs[0].shape.tuple
    if dims is not None and None not in dims[-2:] and dims[-2] == dims[-1]:
        return [raw_ops.MatrixDiag(grad)]
    return [raw_ops.MatrixSetDiag(raw_ops.ZerosLike(node.inputs[0]), grad)]


matrix_set_diag = op("MatrixSetDiag(input: T[2+], diagonal: T[1+]) -> (output: T)", T=_TYPES)
matrix_set_diag.kernel(lambda input, diagonal: torch.diagonal_scatter(input, diagonal, 0, -2, -1))


@matrix_set_diag.shape
def _(input, diagonal):
    dims, line = input.with_rank_at_least(2).tuple, diagonal.tuple
    if dims is None and line is not None:
        return (*line[:-1], None, None)
    if dims is None or line is None:
        return input
    if len(line) != len(dims) - 1:
        raise ValueError(f"Shape must be rank {len(dims) - 1} but is rank {len(line)}: diagonal of {diagonal}")
    size = _diagonal_size(*dims[-2:])
    if None not in (size, line[-1]) and size != line[-1]:
        raise ValueError(f"Dimensions must be equal, but are {line[-1]} and {size}")
    lead = input[: len(dims) - 2].merge_with(diagonal[: len(line) - 1])
    return lead.concatenate(input[len(dims) - 2 :])


@matrix_set_diag.gradient
def _(node, grad):
    return [raw_ops.MatrixSetDiag(grad, raw_ops.ZerosLike(node.inputs[1])), raw_ops.MatrixDiagPart(grad)]


band_part = op(
    "MatrixBandPart(input: T, num_lower: host Tindex[0], num_upper: host Tindex[0]) -> (band: T)",
    T=_TYPES, Tindex=INDEX, view=True,
)  # fmt: skip
band_part.shape(lambda input, num_lower, num_upper: input.with_rank_at_least(2))
band_part.gradient(lambda node, grad: [raw_ops.MatrixBandPart(grad, *node.inputs[1:]), None, None])


@band_part.kernel
def _(input, num_lower, num_upper):
    rows, columns = input.shape[-2:]
    for name, number, side, most in (
        ("num_lower", num_lower, "rows", rows),
        ("num_upper", num_upper, "columns", columns),
    ):
        if number > most:
            raise ValueError(f"{name} must be negative or less or equal to number of {side} ({most}) got: {number}")
    if num_lower >= 0:
        input = input.triu(-num_lower)
    return input.tril(num_upper) if num_upper >= 0 else input


move_as_signed(band_part)

# ---- several diagonals


def _range(k):
    """``k`` as (lower, upper): a number, or a list of one or two."""
    if k is None:
        return None, None
    if not isinstance(k, list):
        return k, k
    if len(k) not in (1, 2):
        raise ValueError(f"k must have one or two elements, got {k}")
    lower, upper = k[0], k[-1]
    if lower is not None and upper is not None and lower > upper:
        raise ValueError(f"lower_diag_index must not be larger than upper_diag_index: {lower} > {upper}")
    return lower, upper


part_v2 = op("MatrixDiagPartV2(input: T[2+], k: host int32[1-], padding_value: host T[0]) -> (diagonal: T)", T=_TYPES)


@part_v2.shape
def _(input, k, padding_value):
    dims = input.with_rank_at_least(2).tuple
    lower, upper = _range(k)
    if dims is None or lower is None or upper is None:
        return None
    longest = _diagonal_size(*dims[-2:], lower, upper)
    return (*dims[:-2], longest) if lower == upper else (*dims[:-2], upper - lower + 1, longest)


@part_v2.kernel
def _(input, k, padding_value):
    lower, upper = _range(k)
    longest = _diagonal_size(*input.shape[-2:], lower, upper)
    if longest <= 0 and min(input.shape[-2:]):
        raise ValueError(f"diagonals {lower} to {upper} are outside of a matrix of shape {list(input.shape[-2:])}")
    lines = []
    for d in range(upper, lower - 1, -1):
        line = input.diagonal(d, -2, -1)
        lines.append(pad(line, (0, longest - line.shape[-1]), value=padding_value))
    return lines[0].clone() if lower == upper else torch.stack(lines, -2)


@part_v2.gradient
def _(node, grad):
    return [raw_ops.MatrixSetDiagV2(raw_ops.ZerosLike(node.inputs[0]), grad, node.inputs[1]), None, None]


def _put(matrix, diagonal, lower, upper):
    longest = _diagonal_size(*matrix.shape[-2:], lower, upper)
    lines = [] if lower == upper else [upper - lower + 1]
    if list(diagonal.shape) != [*matrix.shape[:-2], *lines, longest]:
        raise ValueError(
            f"diagonal of shape {list(diagonal.shape)} does not fit diagonals {lower} to {upper} of input of shape "
            f"{list(matrix.shape)}: must be {[*matrix.shape[:-2], *lines, longest]}"
        )
    if lower == upper:
        return torch.diagonal_scatter(matrix, diagonal, lower, -2, -1)
    for row, d in enumerate(range(upper, lower - 1, -1)):
        size = _diagonal_size(*matrix.shape[-2:], d, d)
        matrix = torch.diagonal_scatter(matrix, diagonal[..., row, :size], d, -2, -1)
    return matrix


set_v2 = op("MatrixSetDiagV2(input: T[2+], diagonal: T[1+], k: host int32[1-]) -> (output: T)", T=_TYPES)


@set_v2.shape
def _(input, diagonal, k):
    dims = input.with_rank_at_least(2).tuple
    lower, upper = _range(k)
    line = diagonal.tuple
    if dims is None and line is not None and None not in (lower, upper):
        return (*(line[:-1] if lower == upper else line[:-2]), None, None)
    if dims is None or lower is None or upper is None:
        return input
    lines = [] if lower == upper else [upper - lower + 1]
    longest = None if None in dims[-2:] else _diagonal_size(*dims[-2:], lower, upper)
    diagonal.merge_with([*dims[:-2], *lines, longest])
    return input


set_v2.kernel(lambda input, diagonal, k: _put(input, diagonal, *_range(k)))


@set_v2.gradient
def _(node, grad):
    _, diagonal, k = node.inputs
    cleared = raw_ops.MatrixSetDiagV2(grad, raw_ops.ZerosLike(diagonal), k)
    return [cleared, raw_ops.MatrixDiagPartV2(grad, k, 0), None]


def _matrix_size(longest, lower, upper, rows, columns):
    """Rows and columns of the smallest matrix that holds the diagonals, where they are not given (-1)."""
    least_rows, least_columns = longest - min(upper, 0), longest + max(lower, 0)
    if rows == -1 and columns == -1:
        rows = columns = max(least_rows, least_columns)
    rows = least_rows if rows == -1 else rows
    columns = least_columns if columns == -1 else columns
    if rows < least_rows or columns < least_columns:
        raise ValueError(f"a {rows} by {columns} matrix is too small for diagonals of length {longest}")
    return rows, columns


diag_v2 = op(
    "MatrixDiagV2(diagonal: T[1+], k: host int32[1-], num_rows: host int32[0], num_cols: host int32[0], "
    "padding_value: host T[0]) -> (output: T)",
    T=_TYPES,
)


@diag_v2.shape
def _(diagonal, k, num_rows, num_cols, padding_value):
    dims = diagonal.with_rank_at_least(1).tuple
    lower, upper = _range(k)
    if dims is None or lower is None or upper is None:
        return None
    lead = dims[:-1] if lower == upper else dims[:-2]
    if None in (dims[-1], num_rows, num_cols):
        return (*lead, *(n if n is not None and n >= 0 else None for n in (num_rows, num_cols)))
    return (*lead, *_matrix_size(dims[-1], lower, upper, num_rows, num_cols))


@diag_v2.kernel
def _(diagonal, k, num_rows, num_cols, padding_value):
    lower, upper = _range(k)
    rows, columns = _matrix_size(diagonal.shape[-1], lower, upper, num_rows, num_cols)
    lead = diagonal.shape[:-1] if lower == upper else diagonal.shape[:-2]
    return _put(diagonal.new_full((*lead, rows, columns), padding_value), diagonal, lower, upper)


@diag_v2.gradient
def _(node, grad):
    return [raw_ops.MatrixDiagPartV2(grad, node.inputs[1], 0), None, None, None, None]
