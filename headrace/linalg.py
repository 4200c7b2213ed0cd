"""tf.linalg: products, norms, decompositions and solvers of matrices."""

from headrace.library.numeric.clip import global_norm as global_norm
from headrace.library.linalg.decomposition import (
    cholesky as cholesky, cholesky_solve as cholesky_solve, expm as expm, logdet as logdet, lu as lu,
    matrix_determinant as det, matrix_inverse as inv, matrix_rank as matrix_rank, matrix_solve as solve,
    matrix_solve_ls as lstsq, matrix_triangular_solve as triangular_solve, pinv as pinv, qr as qr,
    self_adjoint_eig as eigh, self_adjoint_eigvals as eigvalsh, slogdet as slogdet, svd as svd,
    matrix_square_root as sqrtm,
)
from headrace.library.linalg.matrix import (
    adjoint as adjoint, cross as cross, einsum as einsum, matmul as matmul, matvec as matvec, norm as norm,
    normalize as normalize, trace as trace,
)
from headrace.library.linalg.tensordot import tensordot as tensordot
from headrace.library.tensor.array import matrix_transpose as matrix_transpose, matrix_transpose as transpose
from headrace.library.tensor.creation import eye as eye
from headrace.library.tensor.indexing import (
    diag as tensor_diag, diag_part as tensor_diag_part, matrix_band_part as band_part, matrix_diag as diag,
    matrix_diag_part as diag_part, matrix_set_diag as set_diag,
)
from headrace.library.network.normalization import l2_normalize as l2_normalize
from headrace.library.linalg.tridiagonal import (
    tridiagonal_matmul as tridiagonal_matmul, tridiagonal_solve as tridiagonal_solve,
)
from headrace.library.linalg.linear_operator import (
    LinearOperator as LinearOperator, LinearOperatorDiag as LinearOperatorDiag,
    LinearOperatorFullMatrix as LinearOperatorFullMatrix,
    LinearOperatorLowerTriangular as LinearOperatorLowerTriangular,
)
