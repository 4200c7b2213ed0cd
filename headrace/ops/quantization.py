"""Quantization: simulated in floating point (FakeQuant), and to and from quantized dtypes."""

from __future__ import annotations

import torch

from headrace.core.dtypes import QUANTIZED, float32
from headrace.core.registry import op
from headrace.core.shape import TensorShape
from headrace.graph import raw_ops
from headrace.ops.shared.whole import whole_of

# ---- simulated


def _bounds(low, high, num_bits, narrow_range):
    """The range moved a little so that zero is one of the steps: -> lowest, highest value, size of a step."""
    first, last = (1.0 if narrow_range else 0.0), 2.0**num_bits - 1
    scale = (high - low) / (last - first)
    zero = torch.clamp(torch.floor(first - low / scale + 0.5), first, last)
    return (first - zero) * scale, (last - zero) * scale, scale


def _fake(inputs, low, high, num_bits, narrow_range):
    lowest, highest, scale = _bounds(low, high, num_bits, narrow_range)
    clamped = torch.minimum(torch.maximum(inputs, lowest), highest)
    quantized = torch.floor((clamped - lowest) / scale + 0.5) * scale + lowest
    return torch.where((low == 0) & (high == 0), torch.zeros_like(quantized), quantized)


def _check_args(min, max, num_bits):
    if not 2 <= num_bits <= 16:
        raise ValueError(f"num_bits must be between 2 and 16, inclusive, got {num_bits}")
    if min is not None and min >= max:
        raise ValueError(f"min must be smaller than max, got {min} and {max}")


_ARGS = "min: float = -6.0, max: float = 6.0, num_bits: int = 8, narrow_range: bool = False"
_BITS = "num_bits: int = 8, narrow_range: bool = False"

by_args = op(f"FakeQuantWithMinMaxArgs(inputs: float32; {_ARGS}) -> (outputs: float32)")


def _as_tensors(like, *numbers):
    return [torch.full((), n, dtype=like.dtype, device=like.device) for n in numbers]


@by_args.shape
def _(inputs, min, max, num_bits, narrow_range):
    _check_args(min, max, num_bits)
    return inputs


@by_args.kernel
def _(inputs, min, max, num_bits, narrow_range):
    low, high = _as_tensors(inputs, min, max)
    return _fake(inputs, low, high, num_bits, narrow_range)


by_args.gradient(lambda node, grad: [raw_ops.FakeQuantWithMinMaxArgsGradient(grad, node.inputs[0], **node.attrs)])

by_args_grad = op(
    f"FakeQuantWithMinMaxArgsGradient(gradients: float32, inputs: float32; {_ARGS}) -> (backprops: float32)",
    lenient=True,
)
by_args_grad.gradient(
    lambda node, grad: [raw_ops.FakeQuantWithMinMaxArgsGradient(grad, node.inputs[1], **node.attrs), None]
)


@by_args_grad.shape
def _(gradients, inputs, min, max, num_bits, narrow_range):
    _check_args(min, max, num_bits)
    return gradients.merge_with(inputs)


@by_args_grad.kernel
def _(gradients, inputs, min, max, num_bits, narrow_range):
    """Inside the range the op is taken for the identity."""
    lowest, highest, _ = _bounds(*_as_tensors(inputs, min, max), num_bits, narrow_range)
    return torch.where((inputs >= lowest) & (inputs <= highest), gradients, torch.zeros_like(gradients))


def _by_variables(name, per_channel):
    inputs, bound = ("[1+]", "[1]") if per_channel else ("", "[0]")
    forward = op(
        f"{name}(inputs: float32{inputs}, min: float32{bound}, max: float32{bound}; {_BITS}) -> (outputs: float32)",
        lenient=True,
    )
    bound = "" if per_channel else "[0]"  # TensorFlow's gradient asks for no rank of a channel's bounds
    backward = op(
        f"{name}Gradient(gradients: float32, inputs: float32, min: float32{bound}, max: float32{bound}; {_BITS})"
        " -> (backprops_wrt_input: float32, backprop_wrt_min: float32, backprop_wrt_max: float32)",
        lenient=True,
    )
    rank = 1 if per_channel else 0

    @forward.shape
    def _(inputs, min, max, num_bits, narrow_range):
        _check_args(None, None, num_bits)
        check_channels(inputs, min.with_rank(rank).merge_with(max))
        return inputs

    def check_channels(inputs, bounds):
        """One pair of bounds for each channel, the last dimension."""
        if rank and inputs.ndims and not TensorShape(inputs.tuple[-1:]).is_compatible_with(bounds):
            raise ValueError(f"Dimensions must be equal, but are {inputs[-1]} and {bounds[0]}: channels, min and max")

    forward.kernel(_fake)

    @forward.gradient
    def _(node, grad):
        inputs, low, high = node.inputs
        return list(getattr(raw_ops, f"{name}Gradient")(grad, inputs, low, high, **node.attrs))

    @backward.shape
    def _(gradients, inputs, min, max, num_bits, narrow_range):
        _check_args(None, None, num_bits)
        bounds = min.with_rank(rank).merge_with(max).with_rank(rank)
        check_channels(inputs, bounds)
        if rank and inputs.ndims:
            bounds = bounds.merge_with(inputs.tuple[-1:])
        return [gradients.merge_with(inputs), bounds, bounds]

    @backward.kernel
    def _(gradients, inputs, min, max, num_bits, narrow_range):
        lowest, highest, _ = _bounds(min, max, num_bits, narrow_range)
        zero = torch.zeros((), dtype=gradients.dtype, device=gradients.device)
        below, above = inputs < lowest, inputs > highest
        axes = list(range(inputs.ndim - rank))
        shares = [torch.where(where, gradients, zero) for where in (below, above)]
        sums = [share.sum(axes) if axes else share.clone() for share in shares]
        return torch.where(below | above, zero, gradients), *sums


_by_variables("FakeQuantWithMinMaxVars", False)
_by_variables("FakeQuantWithMinMaxVarsPerChannel", True)

# ---- quantized dtypes

_MODES = ("MIN_COMBINED", "MIN_FIRST", "SCALED")


def _check_mode(mode):
    if mode not in _MODES:
        raise ValueError(f"mode must be one of {', '.join(_MODES)}, got {mode!r}")


def _limits(dtype):
    info = torch.iinfo(dtype)
    return info.min, info.max


quantize = op(
    'QuantizeV2(input: float32, min_range: float32[0], max_range: float32[0]; T: type, mode: string = "MIN_COMBINED",'
    ' round_mode: string = "HALF_AWAY_FROM_ZERO") -> (output: T, output_min: float32, output_max: float32)',
    T=QUANTIZED,
)  # fmt: skip
quantize.not_differentiable()


@quantize.shape
def _(input, min_range, max_range, T, mode, round_mode):
    _check_mode(mode)
    if round_mode not in ("HALF_AWAY_FROM_ZERO", "HALF_TO_EVEN"):
        raise ValueError(f"Round mode string must be 'HALF_AWAY_FROM_ZERO' or 'HALF_TO_EVEN', is '{round_mode}'")
    if round_mode == "HALF_TO_EVEN" and mode != "SCALED":
        raise ValueError(f"Round mode 'HALF_TO_EVEN' only supported for mode 'SCALED', but mode is '{mode}'.")
    return [input, (), ()]


def _away(x):
    """Halves are rounded away from zero."""
    return torch.sign(x) * torch.floor(x.abs() + 0.5)


@quantize.kernel
def _(input, min_range, max_range, T, mode, round_mode):
    low, high = (
        torch.minimum(min_range, torch.zeros_like(min_range)),
        torch.maximum(max_range, torch.zeros_like(max_range)),
    )
    # A range too small to tell its ends apart is widened.
    high = torch.maximum(high, low + torch.clamp(torch.maximum(low.abs(), high.abs()), min=1.0) / 100)
    first, last = _limits(T)
    if mode == "SCALED":
        scale = torch.maximum(low.abs() / abs(first) if first else low * 0, high / last)
        rounded = (_away if round_mode == "HALF_AWAY_FROM_ZERO" else torch.round)(input / scale)
        return whole_of(rounded, T), first * scale, last * scale
    if mode == "MIN_COMBINED":
        scale = (last - first) / (high.double() - low)
        x = torch.minimum(torch.maximum(input, low), high)
        moved = (x.double() - low) * scale + (0 if first == 0 else -(last - first + 1) / 2)
        return whole_of(_away(moved), T), low, high
    steps = float(last) - first
    scale = steps / (high.double() - low)
    moved = _away(input.double() * scale) - _away(low.double() * scale) + first
    return whole_of(moved, T), low, high


dequantize = op(
    "Dequantize(input: T, min_range: float32, max_range: float32; mode: string = \"MIN_COMBINED\")"
    " -> (output: float32)",
    T=QUANTIZED,
)  # fmt: skip
dequantize.not_differentiable()


@dequantize.shape
def _(input, min_range, max_range, mode):
    _check_mode(mode)
    return input


@dequantize.kernel
def _(input, min_range, max_range, mode):
    first, last = _limits(input.dtype)
    if mode == "SCALED":
        scale = torch.maximum(min_range / first if first else min_range * 0, max_range / last)
        return input.float() * scale
    span = max_range.double() - min_range
    if mode == "MIN_COMBINED":
        half = 0 if first == 0 else (last - first + 1) / 2
        return ((input.double() + half) * (span / (last - first)) + min_range).float()
    scale = span / (float(last) - first)
    base = torch.round(min_range / scale) * scale
    return ((input.double() - first) * scale + base).float()


round_trip = op(
    "QuantizeAndDequantizeV2(input: T, input_min: T[0], input_max: T[0]; signed_input: bool = True, num_bits: int = 8,"
    ' range_given: bool = False, round_mode: string = "HALF_TO_EVEN", narrow_range: bool = False) -> (output: T)',
    T=(float32,),
)  # fmt: skip
round_trip.shape(lambda input, *rest: input)
round_trip.gradient(lambda node, grad: [grad, None, None])  # the gradient passes unchanged


@round_trip.kernel
def _(input, input_min, input_max, signed_input, num_bits, range_given, round_mode, narrow_range):
    if not input.numel():
        return input.clone()
    low, high = (input_min, input_max) if range_given else (input.min(), input.max())
    first = 0.0 if not signed_input else -(2.0 ** (num_bits - 1)) + (1 if narrow_range else 0)
    last = 2.0 ** (num_bits - 1 if signed_input else num_bits) - 1
    unlimited = torch.full_like(low, torch.finfo(low.dtype).max)
    by_low = torch.where(first * low > 0, first / low, unlimited)
    by_high = torch.where(last * high > 0, last / high, unlimited)
    scale = torch.minimum(by_low, by_high)
    clamped = torch.minimum(torch.maximum(input, first / scale), last / scale) if range_given else input
    rounding = torch.round if round_mode == "HALF_TO_EVEN" else lambda x: torch.floor(x + 0.5)
    return rounding(clamped * scale) / scale
