"""TF1's special functions: error, gamma, zeta, beta and Bessel functions, element by element."""

from __future__ import annotations

from functools import partial
from typing import Any

from headrace.graph import raw_ops
from headrace.graph.convert import convert_to_tensor
from headrace.graph.operation import Tensor
from headrace.library.numeric.math import FLOAT, unary
from headrace.library.scope import name_scope

_float = partial(unary, of=FLOAT, module=__name__)

erf = _float("erf", "Erf", "The Gauss error function.", "[0.0, 1.0]", "[0. , 0.842...]", sparse=True)
erfc = _float("erfc", "Erfc", "One minus the Gauss error function.", "[0.0, 1.0]", "[1. , 0.157...]")
lgamma = _float(
    "lgamma",
    "Lgamma",
    "The logarithm of the absolute value of the gamma function.",
    "[3.0, 5.0]",
    "[0.693..., 3.178...]",
)
digamma = _float("digamma", "Digamma", "The derivative of ``lgamma``.", "[1.0, 2.0]", "[-0.577..., 0.422...]")
bessel_i0e = _float(
    "bessel_i0e",
    "BesselI0e",
    "The modified Bessel function of order 0 times ``exp(-|x|)``.",
    "[1.0, 2.0]",
    "[0.465..., 0.308...]",
    prefix="tf.math",
)
bessel_i1e = _float(
    "bessel_i1e",
    "BesselI1e",
    "The modified Bessel function of order 1 times ``exp(-|x|)``.",
    "[1.0, 2.0]",
    "[0.207..., 0.215...]",
    prefix="tf.math",
)


def igamma(a: Any, x: Any, name: str | None = None) -> Tensor:
    """The lower regularized incomplete gamma function P(a, x).

    Args:
      a, x: Tensors of one type, float32 or float64, whose shapes broadcast.
      name: A name for the op.

    Returns:
      A tensor of their type.

    >>> tf.Session().run(tf.igamma(1.0, [0.0, 1.0]))
    array([0.        , 0.632...], dtype=float32)
    """
    return raw_ops.Igamma(a, x, name=name)


def igammac(a: Any, x: Any, name: str | None = None) -> Tensor:
    """The upper regularized incomplete gamma function Q(a, x).

    Args:
      a, x: Tensors of one type, float32 or float64, whose shapes broadcast.
      name: A name for the op.

    Returns:
      A tensor of their type.

    >>> tf.Session().run(tf.igammac(1.0, [0.0, 1.0]))
    array([1.       , 0.367...], dtype=float32)
    """
    return raw_ops.Igammac(a, x, name=name)


def zeta(x: Any, q: Any, name: str | None = None) -> Tensor:
    """The Hurwitz zeta function.

    Args:
      x: A tensor of float32 or float64: the power, above 1.
      q: A tensor of the type of ``x``: the first base; 1 gives Riemann's function.
      name: A name for the op.

    Returns:
      A tensor of their type, of the shape that they broadcast to.

    >>> tf.Session().run(tf.zeta(2.0, 1.0))
    np.float32(1.644...)
    """
    return raw_ops.Zeta(x, q, name=name)


def polygamma(a: Any, x: Any, name: str | None = None) -> Tensor:
    """The ``a``-th derivative of ``digamma``.

    Args:
      a: A tensor of float32 or float64: the orders, whole numbers.
      x: A tensor of the type of ``a``.
      name: A name for the op.

    Returns:
      A tensor of their type, of the shape that they broadcast to.

    >>> tf.Session().run(tf.polygamma(1.0, 1.0))
    np.float32(1.644...)
    """
    return raw_ops.Polygamma(a, x, name=name)


def betainc(a: Any, b: Any, x: Any, name: str | None = None) -> Tensor:
    """The regularized incomplete beta function.

    Args:
      a, b: Tensors of one type, float32 or float64: the parameters, positive.
      x: A tensor of their type: the upper limit of the integral, from 0 to 1.
      name: A name for the op.

    Returns:
      A tensor of their type; arguments that are not scalars have its shape.

    >>> tf.Session().run(tf.betainc(1.0, 1.0, [0.25, 0.5]))
    array([0.25, 0.5 ], dtype=float32)
    """
    return raw_ops.Betainc(a, b, x, name=name)


def bessel_i0(x: Any, name: str | None = None) -> Tensor:
    """The modified Bessel function of order 0.

    Args:
      x: A tensor of floating-point numbers.
      name: A name for the op.

    Returns:
      A tensor of the type and shape of ``x``.

    >>> tf.Session().run(tf.math.bessel_i0([1.0, 2.0]))
    array([1.266... , 2.279...], dtype=float32)
    """
    with name_scope(name, "bessel_i0", [x]):
        tensor = convert_to_tensor(x, name="x")
        return raw_ops.Mul(raw_ops.Exp(raw_ops.Abs(tensor)), raw_ops.BesselI0e(tensor))


def bessel_i1(x: Any, name: str | None = None) -> Tensor:
    """The modified Bessel function of order 1.

    Args:
      x: A tensor of floating-point numbers.
      name: A name for the op.

    Returns:
      A tensor of the type and shape of ``x``.

    >>> tf.Session().run(tf.math.bessel_i1([1.0, 2.0]))
    array([0.565..., 1.590...], dtype=float32)
    """
    with name_scope(name, "bessel_i1", [x]):
        tensor = convert_to_tensor(x, name="x")
        return raw_ops.Mul(raw_ops.Exp(raw_ops.Abs(tensor)), raw_ops.BesselI1e(tensor))


def lbeta(x: Any, name: str | None = None) -> Tensor:
    """The logarithm of the absolute value of the beta function, reducing the last dimension.

    Args:
      x: A tensor of floating-point numbers of rank 1 or more: the last dimension holds the parameters.
      name: A name for the op.

    Returns:
      A tensor of the type of ``x``, without its last dimension.

    >>> tf.Session().run(tf.lbeta([[1.0, 1.0], [2.0, 3.0]]))
    array([ 0.       , -2.484...], dtype=float32)
    """
    with name_scope(name, "lbeta", [x]):
        tensor = convert_to_tensor(x, name="x")
        of_each = raw_ops.Sum(raw_ops.Lgamma(tensor), [-1])
        of_sum = raw_ops.Lgamma(raw_ops.Sum(tensor, [-1]))
        return raw_ops.Sub(of_each, of_sum, name="sub")
