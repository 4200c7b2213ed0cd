"""Products with the second matrix transposed, for 64-bit Arm.

torch hands such products to a library that takes 50 us to prepare each one and starts threads of its own, whatever number of
threads torch is told to use.  The same product with its sides swapped, written into a transposed result, goes to BLAS as all
others do.  Measured (Neoverse N1, torch 2.13, processor time on one core): 128 by 256 with 65 by 256, 160 us against 250;
100 by 500 with 784 by 500, 2.5 ms against 3.3.

Batches have no such way out.  Copying the smaller of two small matrices, with its axes swapped, is quicker: sixteen attention
heads of 64 by 64, 0.4 ms against 5.0.
"""

from __future__ import annotations

import torch

from headrace.ops.internal.opaque import is_traced
from headrace.ops.matmul import batch_matmul, batch_matmul_v2, batched_product, matmul, product

_FEW = 8  # rows, columns or terms: torch itself hands products with no more of them to BLAS
_COPIED = 1 << 14  # elements of a matrix: copying a larger one takes longer than preparing the product


@matmul.kernel(device="cpu", machine="aarch64")
def _(a, b, transpose_a, transpose_b):
    if not transpose_b or transpose_a:
        return product(a, b, transpose_a, transpose_b)
    if a.dtype is not torch.float32 or is_traced(a) or is_traced(b):  # compiled code writes no transposed results
        return torch.mm(*_transposed(a, b))
    rows, terms = a.shape
    columns = b.shape[0]
    if rows <= _FEW or columns <= _FEW or terms <= _FEW or b.shape[1] != terms:
        return product(a, b, False, True)
    result = a.new_empty((rows, columns))
    torch.mm(b, a.t(), out=result.t())
    return result


def _batched(x, y, adj_x, adj_y):
    if adj_y and not adj_x and type(x) is torch.Tensor and not x.is_complex():
        return torch.matmul(*_transposed(x, y))
    return batched_product(x, y, adj_x, adj_y)


batch_matmul.kernel(_batched, device="cpu", machine="aarch64")
batch_matmul_v2.kernel(_batched, device="cpu", machine="aarch64")


def _transposed(a, b):
    """``a``, and ``b`` transposed.  The smaller one is copied into the order that torch multiplies without preparation."""
    rows, columns = a.shape[-2], b.shape[-2]
    if min(rows, columns) * a.shape[-1] > _COPIED:
        return a, b.mT
    return (a.mT.contiguous().mT, b.mT) if rows < columns else (a, b.mT.contiguous())
