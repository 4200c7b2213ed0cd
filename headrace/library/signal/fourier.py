"""Discrete Fourier transforms."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from headrace.core import dtypes
from headrace.graph import raw_ops
from headrace.graph.convert import convert_to_tensor
from headrace.graph.operation import Tensor
from headrace.library.factory import called
from headrace.library.scope import name_scope


def _transform(name: str, op_type: str, text: str) -> Callable[..., Any]:
    @called(name, text)
    def transform(input: Any, name: str | None = None) -> Any:
        return getattr(raw_ops, op_type)(input, name=name)

    return transform


fft = _transform("fft", "FFT", "The Fourier transform over the last dimension.")
fft2d = _transform("fft2d", "FFT2D", "The Fourier transform over the last two dimensions.")
fft3d = _transform("fft3d", "FFT3D", "The Fourier transform over the last three dimensions.")
ifft = _transform("ifft", "IFFT", "The inverse of ``fft``.")
ifft2d = _transform("ifft2d", "IFFT2D", "The inverse of ``fft2d``.")
ifft3d = _transform("ifft3d", "IFFT3D", "The inverse of ``fft3d``.")


def _real(name: str, rank: int, inverse: bool, text: str) -> Callable[..., Any]:
    suffix = "" if rank == 1 else f"{rank}D"
    op_type = f"{'I' if inverse else ''}RFFT{suffix}"

    @called(name, text)
    def transform(input_tensor: Any, fft_length: Any = None, name: str | None = None) -> Any:
        with name_scope(name, op_type.lower(), [input_tensor, fft_length]) as scope:
            x = convert_to_tensor(input_tensor, name="input")
            base = x.dtype.base_dtype
            lengths = _lengths(x, rank, inverse) if fft_length is None else convert_to_tensor(fft_length, dtypes.int32)
            if inverse:
                return getattr(raw_ops, op_type)(x, lengths, Treal=base.real_dtype, name=scope)
            whole = dtypes.complex128 if base == dtypes.float64 else dtypes.complex64
            return getattr(raw_ops, op_type)(x, lengths, Tcomplex=whole, name=scope)

    return transform


def _lengths(x: Any, rank: int, inverse: bool) -> Tensor:
    """The sizes to transform: the input's, of which an inverse has only half the last."""
    sizes: Any = raw_ops.StridedSlice(raw_ops.Shape(x), [-rank], [0], [1], end_mask=1)
    if not inverse:
        return sizes  # type: ignore[no-any-return]
    change = [0] * (rank - 1) + [1]
    scale = [1] * (rank - 1) + [2]
    return raw_ops.Maximum((sizes - change) * scale, [0] * rank)  # type: ignore[no-any-return]


rfft = _real("rfft", 1, False, "The Fourier transform of real numbers over the last dimension: the first half and one.")
rfft2d = _real("rfft2d", 2, False, "The Fourier transform of real numbers over the last two dimensions.")
rfft3d = _real("rfft3d", 3, False, "The Fourier transform of real numbers over the last three dimensions.")
irfft = _real("irfft", 1, True, "The inverse of ``rfft``.")
irfft2d = _real("irfft2d", 2, True, "The inverse of ``rfft2d``.")
irfft3d = _real("irfft3d", 3, True, "The inverse of ``rfft3d``.")
