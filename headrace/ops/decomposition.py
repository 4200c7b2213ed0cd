"""Inverses, determinants, decompositions and solvers of matrices, in batches; Einstein sums.

Where TensorFlow writes gradients by hand and torch has them too, the kernel is differentiated.
"""

from __future__ import annotations

from contextlib import contextmanager

import torch

from headrace.core import dtypes
from headrace.core.dtypes import FLOAT_OR_COMPLEX, INDEX
from headrace.core.registry import op
from headrace.core.shape import TensorShape
from headrace.graph import raw_ops
from headrace.ops.declare.regular import conjugate
from headrace.ops.shared.unknown import any_nan, blotted, replaced

MATRIX = (dtypes.float64, dtypes.float32, dtypes.float16, dtypes.complex64, dtypes.complex128)


def _square(input):
    shape = input.with_rank_at_least(2)
    if shape.tuple is not None:
        rows, columns = shape.tuple[-2:]
        if rows is not None and columns is not None and rows != columns:
            raise ValueError(f"Dimensions must be equal, but are {rows} and {columns}")
        size = columns if rows is None else rows
        shape = TensorShape([*shape.tuple[:-2], size, size])
    return shape


def _batch(shape):
    return TensorShape(None) if shape.tuple is None else TensorShape(shape.tuple[:-2])


# ---- inverses and determinants


@contextmanager
def _refusing(message):
    """Says in TensorFlow's words that matrices cannot be decomposed."""
    try:
        yield
    except torch.linalg.LinAlgError:
        raise ValueError(message) from None


# Those that refuse matrices are opaque: torch's compiler drops the refusal, or cannot take it.
inverse = op("MatrixInverse(input: T[2+]; adjoint: bool = False) -> (output: T)", T=MATRIX, opaque=True)
inverse.shape(lambda input, adjoint: _square(input))


@inverse.kernel
def _(input, adjoint):
    with _refusing("Input is not invertible."):
        return torch.linalg.inv(input.mH if adjoint else input)


@inverse.gradient
def _(node, grad):
    """-inv' grad inv', and the adjoint of that if the op inverted the adjoint of its input."""
    y = node.outputs[0]
    product = raw_ops.BatchMatMulV2
    if node.attrs["adjoint"]:
        return raw_ops.Neg(product(y, product(grad, y, adj_x=True)))
    return raw_ops.Neg(product(y, product(grad, y, adj_y=True), adj_x=True))


determinant = op("MatrixDeterminant(input: T[2+]) -> (output: T)", T=MATRIX)
determinant.shape(lambda input: _batch(_square(input)))
determinant.kernel(torch.linalg.det)

log_determinant = op("LogMatrixDeterminant(input: T[2+]) -> (sign: T, log_abs_determinant: T)", T=MATRIX)
log_determinant.shape(lambda input: [_batch(_square(input))] * 2)


@log_determinant.kernel
def _(input):
    sign, logarithm = torch.linalg.slogdet(input)
    sign = torch.where(torch.isnan(logarithm), torch.full_like(sign, float("nan")), sign)  # torch says 0 there
    return sign, logarithm.to(input.dtype)


exponential = op("MatrixExponential(input: T) -> (output: T)", T=MATRIX)
exponential.shape(_square)
exponential.kernel(torch.linalg.matrix_exp)

square_root = op("MatrixSquareRoot(input: T[2+]) -> (output: T)", T=MATRIX)
square_root.shape(_square)


@square_root.refuse
def _(input):
    raise ValueError("The matrix square root was not found. The input might not be valid.")


@square_root.kernel
def _(input):
    """Uses the eigenvalues, so it serves matrices that have a full set of eigenvectors."""
    values, vectors = torch.linalg.eig(input)
    root = torch.linalg.solve(vectors.mH, (vectors * torch.sqrt(values).unsqueeze(-2)).mH).mH
    return (root if input.is_complex() else root.real).to(input.dtype).contiguous().resolve_conj()


# ---- decompositions

cholesky = op("Cholesky(input: T[2+]) -> (output: T)", T=MATRIX, opaque=True)
cholesky.shape(_square)


@cholesky.kernel
def _(input):
    unknown = any_nan(input.tril())  # what lies above is not read
    with _refusing("Cholesky decomposition was not successful. The input might not be valid."):
        factor = torch.linalg.cholesky(replaced(input, unknown))
    return blotted(factor, unknown).tril()


cholesky.gradient(lambda node, grad: [raw_ops._CholeskyGrad(node.outputs[0], grad)])

cholesky_grad = op("_CholeskyGrad(factor: T, grad: T) -> (output: T)", T=MATRIX)
cholesky_grad.shape(lambda factor, grad: _square(factor).merge_with(grad))


@cholesky_grad.kernel
def _(factor, grad):
    """inv(L)' phi(L' grad) inv(L), of which only the symmetric part counts; phi keeps the lower triangle, half its diagonal."""
    phi = torch.matmul(factor.mH, grad).tril_()
    phi.diagonal(0, -2, -1).mul_(0.5)
    inner = torch.linalg.solve_triangular(factor.mH, phi, upper=True)
    result = torch.linalg.solve_triangular(factor, inner, upper=False, left=False)
    return (result + result.mH).mul_(0.5)


def _thin(input, full_matrices):
    """(batch, rows, columns, the smaller of both) or None for an unknown rank."""
    shape = input.with_rank_at_least(2)
    if shape.tuple is None:
        return None
    rows, columns = shape.tuple[-2:]
    least = None if rows is None or columns is None else min(rows, columns)
    return shape.tuple[:-2], rows, columns, least


qr = op("Qr(input: T[2+]; full_matrices: bool = False) -> (q: T, r: T)", T=MATRIX)


@qr.shape
def _(input, full_matrices):
    parts = _thin(input, full_matrices)
    if parts is None:
        return [None, None]
    batch, rows, columns, least = parts
    inner = rows if full_matrices else least
    return [(*batch, rows, inner), (*batch, inner, columns)]


qr.kernel(lambda input, full_matrices: tuple(torch.linalg.qr(input, "complete" if full_matrices else "reduced")))

svd = op("Svd(input: T[2+]; compute_uv: bool = True, full_matrices: bool = False) -> (s: T, u: T, v: T)", T=MATRIX)


@svd.shape
def _(input, compute_uv, full_matrices):
    parts = _thin(input, full_matrices)
    if parts is None:
        return [None, None, None] if compute_uv else [None, (0,), (0,)]
    batch, rows, columns, least = parts
    if not compute_uv:
        return [(*batch, least), (0,), (0,)]
    inner = (rows, columns) if full_matrices else (least, least)
    return [(*batch, least), (*batch, rows, inner[0]), (*batch, columns, inner[1])]


@svd.refuse
def _(input, compute_uv, full_matrices):
    raise ValueError("Singular value decomposition was not successful. The input might not be valid.")


@svd.kernel
def _(input, compute_uv, full_matrices):
    if not compute_uv:
        nothing = input.new_empty((0,))
        return torch.linalg.svdvals(input).to(input.dtype), nothing, nothing.clone()
    u, s, vh = torch.linalg.svd(input, full_matrices=full_matrices)
    return s.to(input.dtype), u, vh.mH.contiguous().resolve_conj()


eigen = op("SelfAdjointEigV2(input: T[2+]; compute_v: bool = True) -> (e: T, v: T)", T=MATRIX)


@eigen.shape
def _(input, compute_v):
    shape = _square(input)
    if shape.tuple is None:
        return [None, None if compute_v else (0,)]
    return [shape.tuple[:-1], shape if compute_v else (0,)]


@eigen.refuse
def _(input, compute_v):
    raise ValueError("Self-adjoint eigen decomposition was not successful. The input might not be valid.")


@eigen.kernel
def _(input, compute_v):
    # Only the lower triangle counts, for the gradient too.
    lower = input.tril()
    input = lower + lower.tril(-1).mH
    if not compute_v:
        return torch.linalg.eigvalsh(input).to(input.dtype), input.new_empty((0,))
    values, vectors = torch.linalg.eigh(input)
    return values.to(input.dtype), vectors


lu = op(
    "Lu(input: T[2+]; output_idx_type: type = int32) -> (lu: T, p: output_idx_type)",
    T=MATRIX,
    output_idx_type=INDEX,
    lenient=True,
)


@lu.shape
def _(input, output_idx_type):
    shape = _square(input)
    return [shape, None if shape.tuple is None else shape.tuple[:-1]]


@lu.refuse
def _(input, output_idx_type):
    raise ValueError("Input is not invertible.")


@lu.kernel
def _(input, output_idx_type):
    packed, pivots = torch.linalg.lu_factor(input)
    permutation, _, _ = torch.lu_unpack(packed, pivots, unpack_data=False)
    return packed, permutation.real.argmax(-2).to(output_idx_type)


# ---- solvers


def _solution(matrix, rhs):
    square, right = _square(matrix), rhs.with_rank_at_least(2)
    if square.tuple is not None and right.tuple is None:
        return TensorShape([*square.tuple[:-1], None])
    if square.tuple is None or right.tuple is None:
        return right
    size, rows = square.tuple[-1], right.tuple[-2]
    if size is not None and rows is not None and size != rows:
        raise ValueError(f"Dimensions must be equal, but are {size} and {rows}")
    batch = TensorShape(square.tuple[:-2]).merge_with(right.tuple[:-2])
    return batch.concatenate([size if rows is None else rows, right.tuple[-1]])


solve = op(
    "MatrixSolve(matrix: T[2+], rhs: T[2+]; adjoint: bool = False) -> (output: T)", T=MATRIX, lenient=True, opaque=True
)
solve.shape(lambda matrix, rhs, adjoint: _solution(matrix, rhs))


@solve.kernel
def _(matrix, rhs, adjoint):
    with _refusing("Input matrix is not invertible."):
        return torch.linalg.solve(matrix.mH if adjoint else matrix, rhs)


@solve.gradient
def _(node, grad):
    matrix, adjoint, x = node.inputs[0], node.attrs["adjoint"], node.outputs[0]
    grad_b = raw_ops.MatrixSolve(matrix, grad, adjoint=not adjoint)
    pair = (x, grad_b) if adjoint else (grad_b, x)
    return [raw_ops.Neg(raw_ops.BatchMatMulV2(*pair, adj_y=True)), grad_b]


triangular = op(
    "MatrixTriangularSolve(matrix: T[2+], rhs: T[2+]; lower: bool = True, adjoint: bool = False) -> (output: T)",
    T=MATRIX,
)
triangular.shape(lambda matrix, rhs, lower, adjoint: _solution(matrix, rhs))


@triangular.kernel
def _(matrix, rhs, lower, adjoint):
    if adjoint:
        return torch.linalg.solve_triangular(matrix.mH, rhs, upper=lower)
    return torch.linalg.solve_triangular(matrix, rhs, upper=not lower)


# ---- Einstein sums

einsum = op(
    "Einsum(inputs: N*T; equation: string) -> (output: T)",
    T=(*FLOAT_OR_COMPLEX, dtypes.int32, dtypes.int64), view=True,
)  # fmt: skip


def _labels(equation, count):
    """The subscripts of each input and of the output.  An output that is left out has the labels seen once, as in numpy."""
    equation = equation.replace(" ", "")
    left, arrow, right = equation.partition("->")
    parts = left.split(",")
    if len(parts) != count:
        raise ValueError(f"Got {count} arguments for equation {equation!r}, expecting {len(parts)}")
    if not arrow:
        letters = left.replace(",", "").replace("...", "")
        right = ("..." if "..." in left else "") + "".join(sorted(c for c in set(letters) if letters.count(c) == 1))
    return parts, right


@einsum.shape
def _(inputs, equation):
    parts, result = _labels(equation, len(inputs))
    sizes, free = {}, 0
    for part, shape in zip(parts, inputs, strict=True):
        if "..." in part:
            if shape.ndims is None:
                return None
            part, count = _spelled_out(part, shape.ndims - len(part) + 3)
            free = max(free, count)
        dims = shape.with_rank(len(part)).tuple
        for label, size in zip(part, dims, strict=True):
            previous = sizes.get(label)
            if previous is not None and size is not None and previous != size and 1 not in (previous, size):
                raise ValueError(f"Dimensions must be equal, but are {previous} and {size} (label {label!r})")
            sizes[label] = size if previous is None or previous == 1 else previous
    if "..." in result:
        result, _ = _spelled_out(result, free)
    unknown = [c for c in result if c not in sizes]
    if unknown:
        raise ValueError(f"Label {unknown[0]!r} of the output of {equation!r} is not in its inputs")
    return tuple(sizes[c] for c in result)


def _spelled_out(part, count):
    """The labels with numbers, counted from the right, in place of the ellipsis -> labels, how many numbers."""
    if count < 0:
        raise ValueError(f"the labels {part!r} are more than the input has dimensions")
    left, _, right = part.partition("...")
    return [*left, *range(count, 0, -1), *right], count


@einsum.kernel(T=FLOAT_OR_COMPLEX)
@einsum.kernel(device="cpu")  # torch has no products of integers for accelerators
def _(inputs, equation):
    return torch.einsum(equation, *inputs)


@einsum.gradient
def _(node, grad):
    """Each input's gradient is again an Einstein sum, of the gradient and the other inputs."""
    inputs = list(node.inputs)
    parts, result = _labels(node.attrs["equation"], len(inputs))
    if any("..." in p or len(set(p)) != len(p) for p in parts):
        return raw_ops._Vjp(
            inputs, [grad], op_type="Einsum", op_attrs=node.attrs, trainable=list(range(len(inputs))),
            Tout=[grad.dtype.base_dtype] * len(inputs),
        )  # fmt: skip
    return [_einsum_gradient(i, inputs, parts, result, grad) for i in range(len(inputs))]


def _einsum_gradient(i, inputs, parts, result, grad):
    others = [j for j in range(len(inputs)) if j != i]
    present = set(result).union(*[parts[j] for j in others])
    labels = "".join(c for c in parts[i] if c in present)
    equation = ",".join([result, *[parts[j] for j in others]]) + "->" + labels
    gradient = raw_ops.Einsum([grad, *[conjugate(inputs[j]) for j in others]], equation=equation)
    if labels == parts[i]:
        return gradient
    # Labels summed over in this input alone: the gradient is the same along them.
    for axis, label in enumerate(parts[i]):
        if label not in present:
            gradient = raw_ops.ExpandDims(gradient, axis)
    return raw_ops.BroadcastTo(gradient, raw_ops.Shape(inputs[i]))
