"""TF1's functions on complex numbers, which take real ones too: absolute value, parts, conjugate, angle."""

from __future__ import annotations

import math
from typing import Any

from headrace.core import dtypes
from headrace.eager.entry import learned
from headrace.graph import raw_ops
from headrace.graph.convert import convert_to_tensor
from headrace.graph.operation import Tensor
from headrace.graph.structures import SparseTensor
from headrace.library.scope import name_scope


@learned
def abs(x: Any, name: str | None = None) -> Any:  # noqa: A001 - TF1's name
    """The absolute value; of complex numbers the modulus, a float.

    Args:
      x: A tensor or SparseTensor of numbers.
      name: A name for the op.

    Returns:
      A tensor, or a SparseTensor if ``x`` is one, of the shape of ``x``.

    >>> tf.Session().run(tf.abs([-1.5, 2.0]))
    array([1.5, 2. ], dtype=float32)
    >>> tf.Session().run(tf.abs(tf.constant([3 + 4j], tf.complex64)))
    array([5.], dtype=float32)
    """
    if isinstance(x, SparseTensor):
        with name_scope(name, "Abs", [x.values]) as scope:
            return SparseTensor(x.indices, abs(x.values, name=scope), x.dense_shape)
    with name_scope(name, "Abs", [x]) as scope:
        tensor = convert_to_tensor(x, name="x")
        base = tensor.dtype.base_dtype
        if base.is_complex:
            return raw_ops.ComplexAbs(tensor, Tout=base.real_dtype, name=scope)
        return raw_ops.Abs(tensor, name=scope)


@learned
def complex(real: Any, imag: Any, name: str | None = None) -> Tensor:  # noqa: A001 - TF1's name
    """``real + i * imag``.

    Args:
      real, imag: Tensors of one type, float32 or float64, whose shapes broadcast.
      name: A name for the op.

    Returns:
      A tensor of complex64 for float32, of complex128 for float64.

    >>> tf.Session().run(tf.complex([1.0, 2.0], [3.0, 4.0]))
    array([1.+3.j, 2.+4.j], dtype=complex64)
    """
    first = convert_to_tensor(real, name="real")
    second = convert_to_tensor(imag, name="imag")
    with name_scope(name, "Complex", [first, second]) as scope:
        element_types = (first.dtype.base_dtype, second.dtype.base_dtype)
        if element_types == (dtypes.float64, dtypes.float64):
            whole = dtypes.complex128
        elif element_types == (dtypes.float32, dtypes.float32):
            whole = dtypes.complex64
        else:
            raise TypeError(
                f"real and imag have incorrect types: {element_types[0].name} {element_types[1].name}; both must be float32 or "
                "float64"
            )
        return raw_ops.Complex(first, second, Tout=whole, name=scope)


@learned
def real(input: Any, name: str | None = None) -> Tensor:
    """The real part; a real tensor comes back as it is.

    Args:
      input: A tensor of numbers.
      name: A name for the op.

    Returns:
      A tensor of real numbers of the shape of ``input``.

    >>> tf.Session().run(tf.real(tf.constant([1 + 2j, 3 - 4j], tf.complex64)))
    array([1., 3.], dtype=float32)
    """
    with name_scope(name, "Real", [input]) as scope:
        tensor = convert_to_tensor(input, name="input")
        base = tensor.dtype.base_dtype
        return raw_ops.Real(tensor, Tout=base.real_dtype, name=scope) if base.is_complex else tensor


@learned
def imag(input: Any, name: str | None = None) -> Tensor:
    """The imaginary part; zeros for a real tensor.

    Args:
      input: A tensor of numbers.
      name: A name for the op.

    Returns:
      A tensor of real numbers of the shape of ``input``.

    >>> tf.Session().run(tf.imag(tf.constant([1 + 2j, 3 - 4j], tf.complex64)))
    array([ 2., -4.], dtype=float32)
    """
    with name_scope(name, "Imag", [input]) as scope:
        tensor = convert_to_tensor(input, name="input")
        base = tensor.dtype.base_dtype
        return raw_ops.Imag(tensor, Tout=base.real_dtype, name=scope) if base.is_complex else raw_ops.ZerosLike(tensor)


@learned
def conj(x: Any, name: str | None = None) -> Tensor:
    """The complex conjugate; a real tensor comes back as it is.

    Args:
      x: A tensor of numbers.
      name: A name for the op.

    Returns:
      A tensor of the type and shape of ``x``.

    >>> tf.Session().run(tf.conj(tf.constant([1 + 2j, 3 - 4j], tf.complex64)))
    array([1.-2.j, 3.+4.j], dtype=complex64)
    """
    tensor = x if isinstance(x, Tensor) else convert_to_tensor(x, name="x")
    base = tensor.dtype.base_dtype
    if base.is_complex:
        with name_scope(name, "Conj", [tensor]) as scope:
            return raw_ops.Conj(tensor, name=scope)
    if base.is_floating or base.is_integer:
        return tensor
    raise TypeError(f"Expected numeric tensor, got dtype {base!r}")


def angle(input: Any, name: str | None = None) -> Tensor:
    """The argument of each complex number; of a real one 0 or pi.

    Args:
      input: A tensor of floating-point or complex numbers.
      name: A name for the op.

    Returns:
      A tensor of floating-point numbers of the shape of ``input``, from -pi to pi.

    >>> tf.Session().run(tf.angle(tf.constant([1j, -1], tf.complex64)))
    array([1.570..., 3.141...], dtype=float32)
    """
    with name_scope(name, "Angle", [input]) as scope:
        tensor = convert_to_tensor(input, name="input")
        base = tensor.dtype.base_dtype
        result: Tensor
        if base.is_complex:
            result = raw_ops.Angle(tensor, Tout=base.real_dtype, name=scope)
        else:
            turned = math.pi * raw_ops.OnesLike(tensor)
            result = raw_ops.Select(raw_ops.Less(tensor, 0), turned, raw_ops.ZerosLike(tensor))
        return result
