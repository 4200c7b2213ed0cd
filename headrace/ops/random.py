"""Random ops.  Each node owns a generator for the life of a session, so every step goes on where the last one stopped.

A node with seeds starts its stream from them each time a session starts; one without starts anywhere.  A torch
generator locks itself during a fill, and every kernel draws with one call, so concurrent steps share a node safely.
"""

from __future__ import annotations

import math

import torch

from headrace.core.dtypes import ANY, FLOATING, INDEX, REAL, bfloat16, float16, float32, float64, int32, int64, string
from headrace.core.registry import op
from headrace.core.shape import TensorShape, broadcast_shape
from headrace.graph import raw_ops
from headrace.ops.shared.bounds import check_bounds, check_order
from headrace.ops.shared.gamma import sample_slope
from headrace.ops.shared.generator import make_generator
from headrace.ops.shared.whole import whole_of
from headrace.resources.calling.torch_names import standard_gamma

_SQRT_2 = math.sqrt(2.0)
_WITHIN_2_SIGMA = 0.9544996  # just inside erf(2 / sqrt(2)), so that rounding never reaches the bound


def dims(shape) -> TensorShape:
    """The output shape a host input stands for."""
    if shape is None:
        return TensorShape(None)
    if not isinstance(shape, list):
        raise ValueError(f"shape must be a vector of int32 or int64, got the scalar {shape}")
    for size in shape:
        if size is not None and size < 0:
            raise ValueError(f"Dimension {size} must be >= 0")
    return TensorShape(shape)


def _random(signature, **types):
    definition = op(signature, random=True, stateful=True, **types)
    definition.state(make_generator)
    return definition


def _plain(name):
    """An op that fills a tensor of a given shape and dtype."""
    definition = _random(
        f"{name}(shape: host T[1]; dtype: type, seed: int = 0, seed2: int = 0) -> (output: dtype)",
        T=INDEX,
        dtype=FLOATING,
    )
    definition.not_differentiable()
    definition.shape(lambda shape, dtype, seed, seed2: dims(shape))
    return definition


uniform = _plain("RandomUniform")


@uniform.kernel
def _(shape, dtype, seed, seed2, *, state, device):
    return torch.rand(shape, generator=state, dtype=dtype, device=device)


normal = _plain("RandomStandardNormal")


@normal.kernel
def _(shape, dtype, seed, seed2, *, state, device):
    return torch.randn(shape, generator=state, dtype=dtype, device=device)


# sqrt(2) erfinv(x) / x, within two sigmas, as a polynomial of log(1 - x * x), from the highest power.  It is at most 3e-7
# from the exact value, like torch's own, and takes a seventh of the time: torch's computes number by number.
_QUANTILE = (
    -6.4967526522125316e-06, -9.164448665291617e-05, -0.0002181418368473748, 0.003273937091300038, 0.01632262986286059,
    -0.3281183836969922, 1.25331410184671,
)  # fmt: skip
_CONSTANTS = [torch.tensor(n, dtype=torch.float32) for n in _QUANTILE[2:]]
_BLOCK = 1 << 16  # elements that stay in the cache


def _quantiles(drawn):
    """Turns uniform float32 numbers into normal ones within two sigmas, in place."""
    first, second, *_ = _QUANTILE
    for x in drawn.view(-1).split(_BLOCK):
        v = torch.mul(x, x).neg_().add_(1).log_()
        p = torch.mul(v, first).add_(second)
        for constant in _CONSTANTS:
            p = torch.addcmul(constant, p, v)
        x.mul_(p)
    return drawn


truncated = _plain("TruncatedNormal")


@truncated.kernel
def _(shape, dtype, seed, seed2, *, state, device):
    # The inverse of the distribution function needs one draw for each element; resampling would need several.
    drawn = torch.empty(shape, dtype=dtype, device=device)
    drawn.uniform_(-_WITHIN_2_SIGMA, _WITHIN_2_SIGMA, generator=state)
    if type(drawn) is torch.Tensor and drawn.is_cpu and dtype is torch.float32:
        return _quantiles(drawn)
    return drawn.erfinv_().mul_(_SQRT_2)


@truncated.kernel(dtype=(float16, bfloat16))
def _(shape, dtype, seed, seed2, *, state, device):
    drawn = torch.empty(shape, device=device)
    return drawn.uniform_(-_WITHIN_2_SIGMA, _WITHIN_2_SIGMA, generator=state).erfinv_().mul_(_SQRT_2).to(dtype)


uniform_int = _random(
    "RandomUniformInt(shape: host T[1], minval: host Tout, maxval: host Tout; seed: int = 0, seed2: int = 0)"
    " -> (output: Tout)",
    T=INDEX, Tout=INDEX,
)  # fmt: skip
uniform_int.not_differentiable()


@uniform_int.shape
def _(shape, minval, maxval, seed, seed2):
    check_bounds(minval, maxval)
    return dims(shape)


def _draw_int(dtype):
    def draw(shape, minval, maxval, seed, seed2, *, state, device):
        check_order(math.prod(shape), minval, maxval)
        return torch.randint(minval, max(maxval, minval + 1), shape, generator=state, dtype=dtype, device=device)

    return draw


uniform_int.kernel(_draw_int(torch.int32), Tout=int32)
uniform_int.kernel(_draw_int(torch.int64), Tout=int64)

shuffle = _random("RandomShuffle(value: T; seed: int = 0, seed2: int = 0) -> (output: T)", T=ANY)
shuffle.shape(lambda value, seed, seed2: value)
shuffle.not_differentiable()


@shuffle.kernel(T=tuple(t for t in ANY if t is not string))
def _(value, seed, seed2, *, state, device):
    if not value.ndim:
        return value.clone()
    return value.index_select(0, torch.randperm(value.shape[0], generator=state, device=device))


@shuffle.kernel(device="cpu", T=string)
def _(value, seed, seed2, *, state):
    if not value.ndim:
        return value.copy()
    return value[torch.randperm(value.shape[0], generator=state).numpy()]


multinomial = _random(
    "Multinomial(logits: T[2], num_samples: host int32[0]; seed: int = 0, seed2: int = 0, output_dtype: type = int64)"
    " -> (output: output_dtype)",
    T=REAL, output_dtype=INDEX,
)  # fmt: skip
multinomial.not_differentiable()


def multinomial_shape(logits, num_samples):
    rows = logits.with_rank(2).tuple
    if rows is not None and rows[1] == 0:
        raise ValueError("num_classes should be positive, got 0")
    if num_samples is not None and num_samples < 0:
        raise ValueError(f"num_samples should be nonnegative, got {num_samples}")
    return (None if rows is None else rows[0], num_samples)


def choose(logits, drawn, dtype):
    """For each row of ``logits``, the classes on which the uniform numbers ``drawn`` fall; non-finite logits never win."""
    if not logits.shape[1]:
        raise ValueError(f"num_classes should be positive, got 0: logits of shape {list(logits.shape)}")
    logits = logits.to(drawn.dtype)
    logits = torch.where(logits.isfinite(), logits, -math.inf)
    bounds = (logits - logits.amax(1, keepdim=True)).exp_().cumsum(1)
    return _fall(bounds, drawn, dtype)


def _fall(bounds, drawn, dtype):
    classes = torch.searchsorted(bounds, drawn * bounds[:, -1:], right=True)
    return classes.clamp_(max=bounds.shape[1] - 1).to(dtype)


def _choose_on_host(logits, drawn, dtype):
    """``choose`` for float32 on the host, with exponentials of that precision; None if some are not finite."""
    bounds = (logits - logits.amax(1, keepdim=True)).exp_().cumsum(1, dtype=drawn.dtype)
    if not torch.isfinite(bounds[:, -1]).all():
        return None
    return _fall(bounds, drawn, dtype)


def exact(device) -> torch.dtype:
    """The dtype for sums of many probabilities: double, if the device has it."""
    return torch.float32 if device.type == "mps" else torch.float64


multinomial.shape(lambda logits, num_samples, seed, seed2, output_dtype: multinomial_shape(logits, num_samples))


@multinomial.kernel
def _(logits, num_samples, seed, seed2, output_dtype, *, state, device):
    drawn = torch.rand((logits.shape[0], num_samples), generator=state, dtype=exact(device), device=device)
    if type(logits) is torch.Tensor and logits.is_cpu and logits.dtype is torch.float32 and logits.numel():
        samples = _choose_on_host(logits, drawn, output_dtype)
        if samples is not None:
            return samples
    return choose(logits, drawn, output_dtype)


gamma = _random(
    "RandomGamma(shape: host S[1], alpha: T; seed: int = 0, seed2: int = 0) -> (output: T)",
    S=INDEX, T=(float16, float32, float64),
)  # fmt: skip
gamma.shape(lambda shape, alpha, seed, seed2: dims(shape).concatenate(alpha))


@gamma.gradient
def _(node, grad):
    alpha, sample = node.inputs[1], node.outputs[0]
    partial = raw_ops.Mul(grad, raw_ops.RandomGammaGrad(alpha, sample))
    return [None, raw_ops._SumToShape(partial, raw_ops.Shape(alpha))]


@gamma.kernel
def _(shape, alpha, seed, seed2, *, state):
    wide = alpha.float() if alpha.dtype is torch.float16 else alpha
    smallest = torch.finfo(alpha.dtype).tiny
    drawn = standard_gamma(wide.expand(*shape, *alpha.shape), generator=state)
    return drawn.to(alpha.dtype).clamp_(min=smallest)


gamma_grad = op("RandomGammaGrad(alpha: T, sample: T) -> (output: T)", T=(float32, float64))

gamma_grad.shape(broadcast_shape)
gamma_grad.kernel(sample_slope)


poisson = _random(
    "RandomPoissonV2(shape: host S[1], rate: R; seed: int = 0, seed2: int = 0, dtype: type = int64) -> (output: dtype)",
    S=INDEX, R=(float16, float32, float64, int32, int64), dtype=(float16, float32, float64, int32, int64),
)  # fmt: skip
poisson.not_differentiable()
poisson.shape(lambda shape, rate, seed, seed2, dtype: dims(shape).concatenate(rate))


@poisson.refuse
def _(shape, rate, seed, seed2, dtype):
    if not bool((rate >= 0).all()):
        raise ValueError(f"rates must be non-negative numbers, got {rate.reshape(-1)[:8].tolist()}")


@poisson.kernel
def _(shape, rate, seed, seed2, dtype, *, state):
    wide = rate if rate.dtype in (torch.float32, torch.float64) else rate.float()
    drawn = torch.poisson(wide.expand(*shape, *rate.shape), generator=state)
    return drawn.to(dtype) if dtype.is_floating_point else whole_of(drawn, dtype)


parameterized = _random(
    "ParameterizedTruncatedNormal(shape: host T[1], means: dtype[1-], stdevs: dtype[1-], minvals: dtype[1-], maxvals: dtype[1-];"
    " seed: int = 0, seed2: int = 0) -> (output: dtype)",
    T=INDEX, dtype=FLOATING,
)  # fmt: skip
parameterized.not_differentiable()


@parameterized.shape
def _(shape, means, stdevs, minvals, maxvals, seed, seed2):
    for parameter in (means, stdevs, minvals, maxvals):
        parameter.with_rank_at_most(1)
    return dims(shape)


@parameterized.kernel
def _(shape, means, stdevs, minvals, maxvals, seed, seed2, *, state, device):
    dtype = exact(device)
    trailing = (1,) * (len(shape) - 1)
    mean, deviation, low, high = (
        p.to(dtype).reshape(p.shape + trailing) if p.ndim else p.to(dtype) for p in (means, stdevs, minvals, maxvals)
    )
    low, high = (low - mean) / deviation, (high - mean) / deviation
    # Drawing in the lower tail keeps its precision: the distribution function is close to 0 there, not to 1.
    mirrored = low > 0
    low, high = torch.where(mirrored, -high, low), torch.where(mirrored, -low, high)
    start, end = torch.erfc(low / -_SQRT_2) / 2, torch.erfc(high / -_SQRT_2) / 2  # torch's ndtr is 0 from -9 on
    drawn = torch.rand(shape, generator=state, dtype=dtype, device=device)
    x = torch.special.ndtri(start + drawn * (end - start)).clamp(low, high)
    return (torch.where(mirrored, -x, x) * deviation + mean).to(means.dtype)
