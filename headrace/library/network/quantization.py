"""tf.quantization: simulated quantization, and to and from quantized dtypes."""

from __future__ import annotations

from typing import Any

from headrace.graph import raw_ops
from headrace.graph.operation import Tensor


def fake_quant_with_min_max_args(
    inputs: Any, min: float = -6, max: float = 6, num_bits: int = 8, narrow_range: bool = False, name: str | None = None
) -> Tensor:
    """Floats rounded as ``num_bits`` integers over a fixed range would be; gradients pass inside the range."""
    return raw_ops.FakeQuantWithMinMaxArgs(inputs, min, max, num_bits, narrow_range, name=name)


def fake_quant_with_min_max_args_gradient(
    gradients: Any, inputs: Any, min: float = -6, max: float = 6, num_bits: int = 8, narrow_range: bool = False,
    name: str | None = None,
) -> Tensor:  # fmt: skip
    """The gradient of ``fake_quant_with_min_max_args``."""
    return raw_ops.FakeQuantWithMinMaxArgsGradient(gradients, inputs, min, max, num_bits, narrow_range, name=name)


def fake_quant_with_min_max_vars(
    inputs: Any, min: Any, max: Any, num_bits: int = 8, narrow_range: bool = False, name: str | None = None
) -> Tensor:
    """Floats rounded as ``num_bits`` integers over a learned range would be; the range gets gradients too."""
    return raw_ops.FakeQuantWithMinMaxVars(inputs, min, max, num_bits, narrow_range, name=name)


def fake_quant_with_min_max_vars_gradient(
    gradients: Any, inputs: Any, min: Any, max: Any, num_bits: int = 8, narrow_range: bool = False,
    name: str | None = None,
) -> Any:  # fmt: skip
    """The gradients of ``fake_quant_with_min_max_vars`` with respect to inputs, min and max."""
    return raw_ops.FakeQuantWithMinMaxVarsGradient(gradients, inputs, min, max, num_bits, narrow_range, name=name)


def fake_quant_with_min_max_vars_per_channel(
    inputs: Any, min: Any, max: Any, num_bits: int = 8, narrow_range: bool = False, name: str | None = None
) -> Tensor:
    """``fake_quant_with_min_max_vars`` with a range for each channel (the last dimension)."""
    return raw_ops.FakeQuantWithMinMaxVarsPerChannel(inputs, min, max, num_bits, narrow_range, name=name)


def fake_quant_with_min_max_vars_per_channel_gradient(
    gradients: Any, inputs: Any, min: Any, max: Any, num_bits: int = 8, narrow_range: bool = False,
    name: str | None = None,
) -> Any:  # fmt: skip
    """The gradients of ``fake_quant_with_min_max_vars_per_channel`` with respect to inputs, min and max."""
    return raw_ops.FakeQuantWithMinMaxVarsPerChannelGradient(
        gradients, inputs, min, max, num_bits, narrow_range, name=name
    )


def quantize(
    input: Any, min_range: Any, max_range: Any, T: Any, mode: str = "MIN_COMBINED",
    round_mode: str = "HALF_AWAY_FROM_ZERO", name: str | None = None,
) -> Any:  # fmt: skip
    """Floats as quantized integers of dtype ``T``, and the range they stand for."""
    return raw_ops.QuantizeV2(input, min_range, max_range, T, mode, round_mode, name=name)


def dequantize(
    input: Any, min_range: Any, max_range: Any, mode: str = "MIN_COMBINED", name: str | None = None
) -> Tensor:
    """Quantized integers as the floats they stand for."""
    return raw_ops.Dequantize(input, min_range, max_range, mode, name=name)


def quantize_and_dequantize(
    input: Any, input_min: Any, input_max: Any, signed_input: bool = True, num_bits: int = 8, range_given: bool = False,
    round_mode: str = "HALF_TO_EVEN", name: str | None = None, narrow_range: bool = False,
) -> Tensor:  # fmt: skip
    """Floats rounded as a round trip through integers would round them; gradients pass straight through."""
    return raw_ops.QuantizeAndDequantizeV2(
        input, input_min, input_max, signed_input, num_bits, range_given, round_mode, narrow_range, name=name
    )
