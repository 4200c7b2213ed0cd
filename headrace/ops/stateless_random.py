"""Random numbers as pure functions of a seed pair: Philox 4x32-10 in plain tensor arithmetic.

The same seeds give the same numbers on every device, in every process and in TensorFlow (to rounding).  A counter is
four 32-bit words; block i of the stream is the scrambled counter + i and yields four words.
"""

from __future__ import annotations

import math
from functools import lru_cache

import numpy as np
import torch

from headrace.core.dtypes import FLOATING, INDEX, REAL, int32, int64, uint32, uint64
from headrace.core.registry import op
from headrace.core.shape import TensorShape
from headrace.ops.shared.bounds import check_bounds, check_order

_WORD = 0xFFFFFFFF
_FACTORS = np.array([[0xCD9E8D57], [0xD2511F53]], np.uint64)
_FRACTION, _ONE = np.array((1 << 23) - 1, np.uint32), np.array(127 << 23, np.uint32)  # of a float's bits
_SINGLE = np.array(1, np.float32)
_LOWER, _UPPER = np.array(_WORD, np.uint64), np.array(32, np.uint64)
_CHUNK = 1 << 13  # blocks that stay in the cache
_TRIED = 32  # numbers drawn to get four within two sigmas; 29 of 32 outside do not happen


def _round(x, k0, k1):
    # Products of two 32-bit words fill 64 bits; as int64 the sign is wrong but the bits are right.
    a, b = x[0] * 0xD2511F53, x[2] * 0xCD9E8D57
    return ((b >> 32) & _WORD) ^ x[1] ^ k0, b & _WORD, ((a >> 32) & _WORD) ^ x[3] ^ k1, a & _WORD


def philox(counter, key):
    """Scrambles four words (int64 tensors holding 32 bits each) with a key of two."""
    k0, k1 = key
    for _ in range(10):
        counter = _round(counter, k0, k1)
        k0, k1 = (k0 + 0x9E3779B9) & _WORD, (k1 + 0xBB67AE85) & _WORD
    return counter


@lru_cache(maxsize=1024)
def _start_on_host(first, second):
    """The key, and the upper half of the counter, that a seed pair stands for."""
    start = (first & _WORD, first >> 32 & _WORD, second & _WORD, second >> 32 & _WORD)
    return philox(start, (0x3EC8F720, 0x02461E29))


def _words_on_host(seed, blocks):
    """[blocks, 4] words as uint32, part by part, in NumPy, which takes a twentieth of torch's time."""
    keys, c2, c3 = _keys_on_host(*seed)
    flat = blocks.reshape(-1).view(np.uint64)
    output = np.empty((len(flat), 4), np.uint32)
    for i in range(0, len(flat), _CHUNK):
        part = flat[i : i + _CHUNK]
        high, low = np.empty((2, len(part)), np.uint64), np.empty((2, len(part)), np.uint64)
        high[0], high[1], low[0], low[1] = c2, part & _LOWER, part >> _UPPER, c3  # words 2 and 0; words 1 and 3
        product, spare = np.empty((2, len(part)), np.uint64), np.empty((2, len(part)), np.uint64)
        for first, second in keys:
            low[0] ^= first
            low[1] ^= second
            np.multiply(high, _FACTORS, out=product)
            np.right_shift(product, _UPPER, out=spare)
            spare ^= low
            np.bitwise_and(product, _LOWER, out=low)
            high, spare = spare[::-1], high[::-1] if high.strides[0] < 0 else high
        output[i : i + _CHUNK, 0], output[i : i + _CHUNK, 2] = high[1], high[0]
        output[i : i + _CHUNK, 1::2] = low.T
    return output


@lru_cache(maxsize=1024)
def _keys_on_host(first, second):
    """The keys of ten rounds, and the upper half of the counter."""
    k0, k1, c2, c3 = _start_on_host(first, second)
    rounds = [(k0 + r * 0x9E3779B9 & _WORD, k1 + r * 0xBB67AE85 & _WORD) for r in range(10)]
    return [tuple(np.array(k, np.uint64) for k in pair) for pair in rounds], c2, c3


def words(seed, blocks):
    """``[*blocks.shape, 4]`` words of the stream of ``seed``: ``blocks`` are block numbers."""
    if type(seed) is torch.Tensor and type(blocks) is torch.Tensor and blocks.is_cpu:
        array = _words_on_host(seed.tolist(), blocks.numpy())
        return torch.from_numpy(array.astype(np.int64)).view(*blocks.shape, 4)
    s = seed.to(torch.int64)
    start = (s[0] & _WORD, (s[0] >> 32) & _WORD, s[1] & _WORD, (s[1] >> 32) & _WORD)
    k0, k1, c2, c3 = philox(start, (0x3EC8F720, 0x02461E29))
    zero = torch.zeros_like(blocks)
    return torch.stack(philox((blocks & _WORD, (blocks >> 32) & _WORD, c2 + zero, c3 + zero), (k0, k1)), -1)


def stream(seed, count, device):
    """The first ``count`` words."""
    blocks = torch.arange((count + 3) // 4, device=device)
    return words(seed, blocks).reshape(-1)


_MANTISSA = {torch.float16: 10, torch.bfloat16: 7, torch.float32: 23}


def to_uniform(drawn, dtype):
    """Words to numbers in [0, 1): a double takes two of them, the others one."""
    if dtype is torch.float64:
        pair = drawn.reshape(-1, 2)
        return (((pair[:, 0] & 0xFFFFF) << 32) | pair[:, 1]).to(dtype) * 2.0**-52
    bits = _MANTISSA[dtype]
    return ((drawn & ((1 << bits) - 1)).to(torch.float32) * 2.0**-bits).to(dtype)


def _uniform_on_host(seed, shape):
    """Uniform float32 numbers in [0, 1).  The words become the bits of numbers in [1, 2)."""
    count = math.prod(shape)
    drawn = _words_on_host(seed, np.arange((count + 3) // 4)).reshape(-1)[:count]
    drawn &= _FRACTION
    drawn |= _ONE
    numbers = drawn.view(np.float32)
    numbers -= _SINGLE
    return numbers.reshape(shape)


def uniform(seed, shape, dtype, device):
    count = math.prod(shape)
    if dtype is torch.float32 and type(seed) is torch.Tensor and seed.is_cpu and torch.device(device).type == "cpu":
        return torch.from_numpy(_uniform_on_host(seed.tolist(), shape))
    drawn = stream(seed, 2 * count if dtype is torch.float64 else count, device)
    return to_uniform(drawn, dtype)[:count].reshape(shape)


def normal(seed, shape, dtype, device):
    """Normal numbers by Box and Muller: two uniform numbers give two normal ones."""
    wide = dtype is torch.float64
    work_dtype = torch.float64 if wide else torch.float32
    count = math.prod(shape)
    needed = (2 * count if wide else count) + 3
    pairs = box_muller(stream(seed, needed - needed % 4, device), work_dtype)
    return pairs.reshape(-1)[:count].reshape(shape).to(dtype)


def box_muller(drawn, dtype):
    """Words to normal numbers, in pairs."""
    u = to_uniform(drawn, dtype).reshape(-1, 2)
    radius = (-2.0 * u[:, 0].clamp(min=1e-7).log()).sqrt()
    angle = (2.0 * math.pi) * u[:, 1]
    return torch.stack((angle.sin() * radius, angle.cos() * radius), -1)


# ---- ops


def _shape(shape) -> TensorShape:
    if shape is not None and not isinstance(shape, list):
        raise ValueError(f"shape must be a vector of int32 or int64, got the scalar {shape}")
    return TensorShape(shape)


def check_seed(seed: TensorShape) -> None:
    if not seed.is_compatible_with([2]):
        raise ValueError(f"seed must have shape [2], not {seed}")


def _plain(name):
    definition = op(
        f"{name}(shape: host T[1], seed: Tseed[1]; dtype: type = float32) -> (output: dtype)",
        T=INDEX, Tseed=INDEX, dtype=FLOATING, lenient=True,
    )  # fmt: skip
    definition.not_differentiable()

    @definition.shape
    def _(shape, seed, dtype):
        check_seed(seed)
        return _shape(shape)

    return definition


stateless_uniform = _plain("StatelessRandomUniform")
stateless_uniform.kernel(lambda shape, seed, dtype: uniform(seed, shape, dtype, seed.device))

stateless_normal = _plain("StatelessRandomNormal")
stateless_normal.kernel(lambda shape, seed, dtype: normal(seed, shape, dtype, seed.device))

stateless_truncated = _plain("StatelessTruncatedNormal")


@stateless_truncated.kernel
def _(shape, seed, dtype):
    """Takes, from the numbers drawn for a group, the first within two sigmas: four floats or two doubles."""
    wide = dtype is torch.float64
    size, skipped = (2, 128) if wide else (4, 256)
    count = math.prod(shape)
    groups = torch.arange((count + size - 1) // size, device=seed.device).unsqueeze(1) * skipped
    blocks = groups + torch.arange(_TRIED * (2 if wide else 1) // 4, device=seed.device)
    work_dtype = torch.float64 if wide else torch.float32
    drawn = box_muller(words(seed, blocks).reshape(-1), work_dtype).reshape(-1, _TRIED)
    first = torch.sort((drawn.abs() >= 2.0).to(torch.uint8), dim=1, stable=True).indices[:, :size]
    return drawn.gather(1, first).reshape(-1)[:count].reshape(shape).to(dtype)


stateless_int = op(
    "StatelessRandomUniformInt(shape: host T[1], seed: Tseed[1], minval: host dtype, maxval: host dtype)"
    " -> (output: dtype)",
    T=INDEX, Tseed=INDEX, dtype=INDEX, lenient=True,
)  # fmt: skip


@stateless_int.shape
def _(shape, seed, minval, maxval):
    check_seed(seed)
    check_bounds(minval, maxval)
    return _shape(shape)


@stateless_int.kernel(dtype=int32)
def _(shape, seed, minval, maxval):
    count = math.prod(shape)
    check_order(count, minval, maxval)
    drawn = stream(seed, count, seed.device)[:count]
    return (minval + drawn % max(maxval - minval, 1)).to(torch.int32).reshape(shape)


@stateless_int.kernel(dtype=int64)
def _(shape, seed, minval, maxval):
    count = math.prod(shape)
    check_order(count, minval, maxval)
    pair = stream(seed, 2 * count, seed.device).reshape(-1, 2)[:count]
    span = max(maxval - minval, 1)
    # The number is unsigned: first its half is divided, because int64 can hold that.
    half = ((pair[:, 1] << 31) & 0x7FFFFFFFFFFFFFFF) | (pair[:, 0] >> 1)
    rest = (half % span) * 2 + (pair[:, 0] & 1)
    return (minval + rest % span).reshape(shape)


stateless_full_int = op(
    "StatelessRandomUniformFullInt(shape: host T[1], seed: Tseed[1]; dtype: type = uint64) -> (output: dtype)",
    T=INDEX, Tseed=(*INDEX, uint32, uint64), dtype=(int32, int64, uint32, uint64), lenient=True,
)  # fmt: skip


@stateless_full_int.shape
def _(shape, seed, dtype):
    check_seed(seed)
    return _shape(shape)


@stateless_full_int.kernel
def _(shape, seed, dtype):
    count = math.prod(shape)
    if dtype in (torch.int32, torch.uint32):
        low = stream(seed, count, seed.device)[:count].reshape(shape)
        return low.to(torch.int32) if dtype is torch.int32 else low.to(torch.int32).view(torch.uint32)
    pair = stream(seed, 2 * count, seed.device).reshape(-1, 2)[:count]
    both = ((pair[:, 1] << 32) | pair[:, 0]).reshape(shape)
    return both if dtype is torch.int64 else both.view(torch.uint64)


stateless_multinomial = op(
    "StatelessMultinomial(logits: T[2], num_samples: host int32[0], seed: Tseed[1]; output_dtype: type = int64)"
    " -> (output: output_dtype)",
    T=REAL, Tseed=INDEX, output_dtype=INDEX, lenient=True,
)  # fmt: skip


@stateless_multinomial.shape
def _(logits, num_samples, seed, output_dtype):
    check_seed(seed)
    return (logits.with_rank(2)[0], num_samples)


@stateless_multinomial.kernel
def _(logits, num_samples, seed, output_dtype):
    if not logits.shape[1]:
        raise ValueError(f"num_classes should be positive, got 0: logits of shape {list(logits.shape)}")
    if num_samples < 0:
        raise ValueError(f"num_samples should be non-negative, got {num_samples}")
    rows = logits.shape[0]
    if not rows:
        return torch.empty((0, num_samples), dtype=output_dtype, device=logits.device)
    # Each row sets aside a block for every sample, although two samples fit in one.
    per_row = (num_samples + 3) // 4 * 4
    first = torch.arange(rows, device=seed.device).unsqueeze(1) * per_row
    blocks = first + torch.arange((num_samples + 1) // 2, device=seed.device)
    dtype = torch.float32 if seed.device.type == "mps" else torch.float64
    drawn = to_uniform(words(seed, blocks).reshape(-1), torch.float64).to(dtype).reshape(rows, -1)[:, :num_samples]
    scores = logits.to(dtype)
    scores = torch.where(scores.isfinite(), scores, -math.inf)
    bounds = (scores - scores.amax(1, keepdim=True)).exp().cumsum(1)
    classes = torch.searchsorted(bounds, drawn * bounds[:, -1:], right=True)
    return classes.clamp(max=logits.shape[1] - 1).to(output_dtype)
