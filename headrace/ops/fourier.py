"""Discrete Fourier transforms over the innermost dimensions.  Gradients of the real ones of several dimensions come from
the kernels."""

from __future__ import annotations

import math
from functools import lru_cache

import torch

from headrace.core import dtypes
from headrace.core.dtypes import COMPLEX
from headrace.core.registry import op
from headrace.graph import raw_ops

REAL_TYPES = (dtypes.float32, dtypes.float64)


def _axes(rank):
    return tuple(range(-rank, 0))


def _transform(name, transform, rank):
    definition = op(f"{name}(input: Tcomplex[{rank}+]) -> (output: Tcomplex)", Tcomplex=COMPLEX)
    definition.shape(lambda input: input.with_rank_at_least(rank))

    @definition.kernel
    def _(input):
        if not input.numel():
            return torch.empty_like(input)  # torch refuses an empty axis, and MKL an empty batch
        return transform(input) if rank == 1 else transform(input, dim=_axes(rank))

    opposite, inverse = (name[1:], True) if name.startswith("I") else (f"I{name}", False)

    @definition.gradient
    def _(node, grad):
        """The opposite transform, without (or with) the division by the number of elements."""
        size = _count(node.inputs[0], rank, grad.dtype)
        grad = getattr(raw_ops, opposite)(grad)
        return raw_ops.RealDiv(grad, size) if inverse else raw_ops.Mul(grad, size)


def _count(input, rank, dtype):
    """The number of elements of one transform, as a scalar of the type."""
    dims = (input.shape.tuple or (None,))[-rank:]
    if None not in dims:
        return math.prod(dims)
    axes = raw_ops.StridedSlice(raw_ops.Shape(input), [-rank], [0], [1], end_mask=1)
    return raw_ops.Cast(raw_ops.Prod(axes, [0]), DstT=dtype)


def _length_shape(input, fft_length, rank, halved):
    dims = input.with_rank_at_least(rank).tuple
    if fft_length is not None:
        if len(fft_length) != rank:
            raise ValueError(
                f"Dimension must be {rank} but is {len(fft_length)}: fft_length needs one number for each axis"
            )
        for i, length in enumerate(fft_length):
            if length is not None and length < 1:
                raise ValueError(f"fft_length[{i}] must be >= 1, got {fft_length}")
    if dims is None:
        return None
    lengths = [None] * rank if fft_length is None else list(fft_length)
    if halved and lengths[-1] is not None:
        lengths[-1] = lengths[-1] // 2 + 1
    return (*dims[:-rank], *lengths)


real_grad = op(
    "_RFFTGrad(grad: Tcomplex, shape: host int32, fft_length: host int32; Treal: type) -> (output: Treal)",
    Treal=REAL_TYPES, Tcomplex=COMPLEX,
)  # fmt: skip
real_grad.shape(lambda grad, shape, fft_length, Treal: shape)  # noqa: N803


def _real_gradient(node, grad):
    input, length = node.inputs
    return [raw_ops._RFFTGrad(grad, raw_ops.Shape(input), length, Treal=input.dtype.base_dtype), None]


@real_grad.kernel
def _(grad, shape, fft_length, Treal):  # noqa: N803
    """The inverse transform without the division.  It counts the frequencies in between twice, so they are halved first."""
    length, length_needed = fft_length[0], shape[-1]
    if 0 in shape:
        return grad.new_zeros(shape, dtype=Treal)
    shares = _kept_shares if type(grad) is torch.Tensor else _shares  # a tracer's tensors are not kept
    signal = torch.fft.irfft(grad * shares(length, grad.dtype.to_real(), grad.device), length, norm="forward")
    if length_needed < length:
        signal = signal[..., :length_needed].contiguous()
    elif length_needed > length:
        signal = torch.constant_pad_nd(signal, (0, length_needed - length))
    return signal.to(Treal)


def _shares(length, dtype, device):
    """One for the frequencies without a mirror image, a half for the others."""
    place = torch.arange(length // 2 + 1, device=device)
    return torch.where((place == 0) | (2 * place == length), 1.0, 0.5).to(dtype)


_kept_shares = lru_cache(maxsize=64)(_shares)


def _real_transform(rank, suffix):
    forward = op(
        f"RFFT{suffix}(input: Treal[{rank}+], fft_length: host int32[1]; Tcomplex: type = complex64) -> (output: Tcomplex)",
        Treal=REAL_TYPES, Tcomplex=COMPLEX, lenient=True,
    )  # fmt: skip
    forward.shape(lambda input, fft_length, Tcomplex: _length_shape(input, fft_length, rank, True))  # noqa: N803

    @forward.kernel
    def _(input, fft_length, Tcomplex):  # noqa: N803
        if 0 in input.shape[:-rank]:
            return input.new_empty((*input.shape[:-rank], *fft_length[:-1], fft_length[-1] // 2 + 1), dtype=Tcomplex)
        return torch.fft.rfftn(input, fft_length, _axes(rank)).to(Tcomplex)

    if rank == 1:
        forward.gradient(_real_gradient)
    inverse = op(
        f"IRFFT{suffix}(input: Tcomplex[{rank}+], fft_length: host int32[1]; Treal: type = float32) -> (output: Treal)",
        Treal=REAL_TYPES, Tcomplex=COMPLEX, lenient=True,
    )  # fmt: skip
    inverse.shape(lambda input, fft_length, Treal: _length_shape(input, fft_length, rank, False))  # noqa: N803

    @inverse.kernel
    def _(input, fft_length, Treal):  # noqa: N803
        if 0 in input.shape[:-rank]:
            return input.new_empty((*input.shape[:-rank], *fft_length), dtype=Treal)
        return torch.fft.irfftn(input, fft_length, _axes(rank)).to(Treal)


for _rank, _suffix in ((1, ""), (2, "2D"), (3, "3D")):
    _transform(f"FFT{_suffix}", torch.fft.fftn if _rank > 1 else torch.fft.fft, _rank)
    _transform(f"IFFT{_suffix}", torch.fft.ifftn if _rank > 1 else torch.fft.ifft, _rank)
    _real_transform(_rank, _suffix)
