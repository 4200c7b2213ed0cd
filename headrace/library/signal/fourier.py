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


def _transform(name: str, op_type: str, rank: int, inverse: bool, summary: str) -> Callable[..., Any]:
    values = [1, 0] if inverse else [1, 1]
    text = f"""{summary}

Args:
  input: A tensor of complex64 or complex128, of rank {rank} or more.
  name: A name for the op.

Returns:
  A tensor of the type and shape of `input`.

>>> x = tf.cast(tf.reshape({values}, {[1] * (rank - 1) + [2]}), tf.complex64)
>>> tf.Session().run(tf.{name}(x)).flatten().tolist()
{"[(0.5+0j), (0.5+0j)]" if inverse else "[(2+0j), 0j]"}
"""

    @called(name, text)
    def transform(input: Any, name: str | None = None) -> Any:
        return getattr(raw_ops, op_type)(input, name=name)

    return transform


fft = _transform("fft", "FFT", 1, False, "The Fourier transform over the last dimension.")
fft2d = _transform("fft2d", "FFT2D", 2, False, "The Fourier transform over the last two dimensions.")
fft3d = _transform("fft3d", "FFT3D", 3, False, "The Fourier transform over the last three dimensions.")
ifft = _transform("ifft", "IFFT", 1, True, "The inverse of ``fft``, over the last dimension.")
ifft2d = _transform("ifft2d", "IFFT2D", 2, True, "The inverse of ``fft2d``, over the last two dimensions.")
ifft3d = _transform("ifft3d", "IFFT3D", 3, True, "The inverse of ``fft3d``, over the last three dimensions.")


def _real(name: str, rank: int, inverse: bool, summary: str) -> Callable[..., Any]:
    suffix = "" if rank == 1 else f"{rank}D"
    op_type = f"{'I' if inverse else ''}RFFT{suffix}"

    text = _help_of_inverse(name, rank, summary) if inverse else _help_of_real(name, rank, summary)

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


def _help_of_real(name: str, rank: int, summary: str) -> str:
    return f"""{summary}

Args:
  input_tensor: A tensor of float32 or float64, of rank {rank} or more.
  fft_length: {_sizes_in_words(rank)} to transform; the input is cut off or filled with zeros. None takes its own.
  name: A name for the op.

Returns:
  A tensor of complex64 or complex128 whose last size is ``fft_length[-1] // 2 + 1``.

>>> tf.Session().run(tf.signal.{name}(tf.ones({[1] * (rank - 1) + [2]}))).flatten().tolist()
[(2+0j), 0j]
"""


def _help_of_inverse(name: str, rank: int, summary: str) -> str:
    return f"""{summary}

Args:
  input_tensor: A tensor of complex64 or complex128, of rank {rank} or more, as `tf.signal.{name[1:]}` gives it.
  fft_length: {_sizes_in_words(rank)} of the result. None takes those of the input, the last one as ``2 * (size - 1)``.
  name: A name for the op.

Returns:
  A tensor of float32 or float64.

>>> x = tf.signal.{name[1:]}(tf.ones({[1] * (rank - 1) + [2]}))
>>> tf.Session().run(tf.signal.{name}(x)).flatten().tolist()
[1.0, 1.0]
"""


def _sizes_in_words(rank: int) -> str:
    return "A vector with the size" if rank == 1 else f"A vector with the last {rank} sizes"


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
irfft = _real("irfft", 1, True, "The inverse of ``rfft``: real numbers over the last dimension.")
irfft2d = _real("irfft2d", 2, True, "The inverse of ``rfft2d``: real numbers over the last two dimensions.")
irfft3d = _real("irfft3d", 3, True, "The inverse of ``rfft3d``: real numbers over the last three dimensions.")
