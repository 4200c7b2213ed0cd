"""tf.quantization: simulated quantization, and to and from quantized dtypes."""

from __future__ import annotations

from typing import Any

from headrace.graph import raw_ops
from headrace.graph.operation import Tensor


def fake_quant_with_min_max_args(
    inputs: Any, min: float = -6, max: float = 6, num_bits: int = 8, narrow_range: bool = False, name: str | None = None
) -> Tensor:
    """Floats rounded as ``num_bits`` integers over a fixed range would be; gradients pass inside the range.

    Args:
      inputs: A tensor of float32.
      min: The lower end of the range, a number below `max`.
      max: The upper end of the range. Both ends move a little so that 0 is kept exactly.
      num_bits: How many bits an integer has, 2 to 16.
      narrow_range: Whether the lowest integer is left out.
      name: A name for the op.

    Returns:
      A float32 tensor of the shape of `inputs`.

    >>> tf.Session().run(tf.fake_quant_with_min_max_args([-1.0, 0.6, 99.0], min=0, max=3, num_bits=2)).tolist()
    [0.0, 1.0, 3.0]
    """
    return raw_ops.FakeQuantWithMinMaxArgs(inputs, min, max, num_bits, narrow_range, name=name)


def fake_quant_with_min_max_args_gradient(
    gradients: Any, inputs: Any, min: float = -6, max: float = 6, num_bits: int = 8, narrow_range: bool = False,
    name: str | None = None,
) -> Tensor:  # fmt: skip
    """The gradient of ``fake_quant_with_min_max_args``.

    Args:
      gradients: The gradient of the rounded numbers, float32.
      inputs: The tensor that was rounded, float32.
      min: The lower end of the range, a number below `max`.
      max: The upper end of the range.
      num_bits: How many bits an integer has, 2 to 16.
      narrow_range: Whether the lowest integer is left out.
      name: A name for the op.

    Returns:
      The gradient of `inputs`: `gradients` inside the range, 0 outside.

    >>> tf.Session().run(tf.fake_quant_with_min_max_args_gradient([1.0, 1.0], [0.5, 99.0])).tolist()
    [1.0, 0.0]
    """
    return raw_ops.FakeQuantWithMinMaxArgsGradient(gradients, inputs, min, max, num_bits, narrow_range, name=name)


def fake_quant_with_min_max_vars(
    inputs: Any, min: Any, max: Any, num_bits: int = 8, narrow_range: bool = False, name: str | None = None
) -> Tensor:
    """Floats rounded as ``num_bits`` integers over a learned range would be; the range gets gradients too.

    Args:
      inputs: A tensor of float32.
      min: The lower end of the range, a float32 scalar.
      max: The upper end of the range, a float32 scalar. Both ends move a little so that 0 is kept exactly.
      num_bits: How many bits an integer has, 2 to 16.
      narrow_range: Whether the lowest integer is left out.
      name: A name for the op.

    Returns:
      A float32 tensor of the shape of `inputs`.

    >>> tf.Session().run(tf.fake_quant_with_min_max_vars([-1.0, 0.6, 99.0], 0.0, 3.0, num_bits=2)).tolist()
    [0.0, 1.0, 3.0]
    """
    return raw_ops.FakeQuantWithMinMaxVars(inputs, min, max, num_bits, narrow_range, name=name)


def fake_quant_with_min_max_vars_gradient(
    gradients: Any, inputs: Any, min: Any, max: Any, num_bits: int = 8, narrow_range: bool = False,
    name: str | None = None,
) -> Any:  # fmt: skip
    """The gradients of ``fake_quant_with_min_max_vars`` with respect to inputs, min and max.

    Args:
      gradients: The gradient of the rounded numbers, float32.
      inputs: The tensor that was rounded, float32.
      min: The lower end of the range, a float32 scalar.
      max: The upper end of the range, a float32 scalar.
      num_bits: How many bits an integer has, 2 to 16.
      narrow_range: Whether the lowest integer is left out.
      name: A name for the op.

    Returns:
      A named tuple of float32 tensors: `backprops_wrt_input`, `backprop_wrt_min` and `backprop_wrt_max`.

    >>> grads = tf.fake_quant_with_min_max_vars_gradient([1.0, 2.0], [0.5, 99.0], 0.0, 3.0)
    >>> tf.Session().run([grads[0], grads[2]])
    [array([1., 0.], dtype=float32), np.float32(2.0)]
    """
    return raw_ops.FakeQuantWithMinMaxVarsGradient(gradients, inputs, min, max, num_bits, narrow_range, name=name)


def fake_quant_with_min_max_vars_per_channel(
    inputs: Any, min: Any, max: Any, num_bits: int = 8, narrow_range: bool = False, name: str | None = None
) -> Tensor:
    """``fake_quant_with_min_max_vars`` with a range for each channel (the last dimension).

    Args:
      inputs: A float32 tensor [..., channels].
      min: The lower ends of the ranges, a float32 vector [channels].
      max: The upper ends of the ranges, a float32 vector [channels]. The ends move a little so that 0 is kept
        exactly.
      num_bits: How many bits an integer has, 2 to 16.
      narrow_range: Whether the lowest integer is left out.
      name: A name for the op.

    Returns:
      A float32 tensor of the shape of `inputs`.

    >>> y = tf.fake_quant_with_min_max_vars_per_channel([[0.6, 0.6]], [0.0, 0.0], [3.0, 6.0], num_bits=2)
    >>> tf.Session().run(y).tolist()
    [[1.0, 0.0]]
    """
    return raw_ops.FakeQuantWithMinMaxVarsPerChannel(inputs, min, max, num_bits, narrow_range, name=name)


def fake_quant_with_min_max_vars_per_channel_gradient(
    gradients: Any, inputs: Any, min: Any, max: Any, num_bits: int = 8, narrow_range: bool = False,
    name: str | None = None,
) -> Any:  # fmt: skip
    """The gradients of ``fake_quant_with_min_max_vars_per_channel`` with respect to inputs, min and max.

    Args:
      gradients: The gradient of the rounded numbers, float32 [..., channels].
      inputs: The tensor that was rounded, float32 [..., channels].
      min: The lower ends of the ranges, a float32 vector [channels].
      max: The upper ends of the ranges, a float32 vector [channels].
      num_bits: How many bits an integer has, 2 to 16.
      narrow_range: Whether the lowest integer is left out.
      name: A name for the op.

    Returns:
      A named tuple of float32 tensors: `backprops_wrt_input`, `backprop_wrt_min` and `backprop_wrt_max`.

    >>> grads = tf.fake_quant_with_min_max_vars_per_channel_gradient([[1.0, 2.0]], [[0.5, 99.0]], [0.0, 0.0], [3.0, 3.0])
    >>> tf.Session().run([grads[0], grads[2]])
    [array([[1., 0.]], dtype=float32), array([0., 2.], dtype=float32)]
    """
    return raw_ops.FakeQuantWithMinMaxVarsPerChannelGradient(
        gradients, inputs, min, max, num_bits, narrow_range, name=name
    )


def quantize(
    input: Any, min_range: Any, max_range: Any, T: Any, mode: str = "MIN_COMBINED",
    round_mode: str = "HALF_AWAY_FROM_ZERO", name: str | None = None,
) -> Any:  # fmt: skip
    """Floats as quantized integers of dtype ``T``, and the range they stand for.

    Args:
      input: A tensor of float32.
      min_range: The lower end of the range, a float32 scalar; above 0 it counts as 0.
      max_range: The upper end of the range, a float32 scalar; below 0 it counts as 0.
      T: The type of the integers: `tf.quint8`, `tf.qint8`, `tf.quint16`, `tf.qint16` or `tf.qint32`.
      mode: "MIN_COMBINED", "MIN_FIRST" or "SCALED": how integers stand for numbers. "SCALED" keeps 0 at 0.
      round_mode: "HALF_AWAY_FROM_ZERO", or "HALF_TO_EVEN" with "SCALED" only.
      name: A name for the op.

    Returns:
      A named tuple: `output` of the type `T` and the shape of `input`, and the scalars `output_min` and `output_max`.

    >>> quantized = tf.quantize([0.0, 0.5, 1.0], 0.0, 1.0, tf.quint8)
    >>> tf.Session().run(quantized.output).tolist()
    [0, 128, 255]
    """
    return raw_ops.QuantizeV2(input, min_range, max_range, T, mode, round_mode, name=name)


def dequantize(
    input: Any, min_range: Any, max_range: Any, mode: str = "MIN_COMBINED", name: str | None = None
) -> Tensor:
    """Quantized integers as the floats they stand for.

    Args:
      input: A tensor of a quantized type, such as `tf.quint8`.
      min_range: The lower end of the range, a float32 scalar.
      max_range: The upper end of the range, a float32 scalar.
      mode: "MIN_COMBINED", "MIN_FIRST" or "SCALED", as `tf.quantize` had it.
      name: A name for the op.

    Returns:
      A float32 tensor of the shape of `input`.

    >>> quantized = tf.quantize([0.0, 1.0], 0.0, 1.0, tf.quint8)
    >>> tf.Session().run(tf.dequantize(quantized.output, 0.0, 1.0)).tolist()
    [0.0, 1.0]
    """
    return raw_ops.Dequantize(input, min_range, max_range, mode, name=name)


def quantize_and_dequantize(
    input: Any, input_min: Any, input_max: Any, signed_input: bool = True, num_bits: int = 8, range_given: bool = False,
    round_mode: str = "HALF_TO_EVEN", name: str | None = None, narrow_range: bool = False,
) -> Tensor:  # fmt: skip
    """Floats rounded as a round trip through integers would round them; gradients pass straight through.

    Args:
      input: A tensor of float32.
      input_min: The lower end of the range, a scalar, if `range_given`.
      input_max: The upper end of the range, a scalar, if `range_given`.
      signed_input: Whether the integers have a sign.
      num_bits: How many bits an integer has.
      range_given: Whether the range is given, or that of `input`.
      round_mode: "HALF_TO_EVEN", or "HALF_UP".
      name: A name for the op.
      narrow_range: Whether the lowest integer of a signed type is left out.

    Returns:
      A float32 tensor of the shape of `input`.

    >>> y = tf.quantization.quantize_and_dequantize([0.3, 9.0], -1.0, 1.0, range_given=True)
    >>> tf.Session().run(y).round(3)
    array([0.299, 1.   ], dtype=float32)
    """
    return raw_ops.QuantizeAndDequantizeV2(
        input, input_min, input_max, signed_input, num_bits, range_given, round_mode, narrow_range, name=name
    )
