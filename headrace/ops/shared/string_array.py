"""Kernels on strings: arrays of bytes on the host, element by element; and the hashes TF1 uses for buckets."""

from __future__ import annotations

import struct
from bisect import bisect_left

import numpy as np
import torch

from headrace.resources.calling.value import FROM_TORCH, as_tensor

_MASK = (1 << 64) - 1


def listed(value):
    """The strings of a value in a list."""
    return value.tolist() if value.ndim == 1 else value.reshape(-1).tolist()


def array_of(items, shape=None):
    """A string value from a list of bytes (numpy would take a list of equal lengths apart)."""
    array = np.fromiter(items, object, len(items))
    return array if shape is None or len(shape) == 1 else array.reshape(shape)


def scalar_of(item):
    """One string as a value without dimensions."""
    scalar = np.empty((), object)
    scalar[()] = item
    return scalar


def on_host(definition, array_kernel):
    """Registers a function of arrays as the kernel; it gets dtypes as numpy's."""
    definition.kernel(lambda *arguments: as_tensors(array_kernel(*map(as_arrays, arguments))))


def as_arrays(argument):
    """A kernel's argument as an array.  Strings and attributes stay as they are; a dtype becomes numpy's."""
    if isinstance(argument, torch.Tensor):
        return argument.numpy()
    if isinstance(argument, (list, tuple)) and argument and not isinstance(argument[0], int):
        return type(argument)(map(as_arrays, argument))
    return np.dtype(FROM_TORCH[argument].as_numpy_dtype) if isinstance(argument, torch.dtype) else argument


def as_tensors(result):
    """The result of a function of arrays as a kernel's result; strings stay as they are."""
    if isinstance(result, (list, tuple)):
        return type(result)(map(as_tensors, result))
    return result if result.dtype.kind == "O" else as_tensor(result)


def each(convert):
    """A kernel that gives a string for every string."""

    def kernel(input, *attrs):
        items = listed(input)
        changed = [convert(v, *attrs) for v in items] if attrs else list(map(convert, items))
        return array_of(changed, input.shape)

    return kernel


def decode(value: bytes) -> str:
    """Reads UTF-8; bytes that are not UTF-8 come back unchanged through ``encode``."""
    return value.decode("utf-8", "surrogateescape")


def encode(value: str) -> bytes:
    return value.encode("utf-8", "surrogateescape")


# ---- FarmHash Fingerprint64

_K0, _K1, _K2 = 0xC3A5C85C97CB3127, 0xB492B66FBE98F273, 0x9AE16A3B2F90404F


def _word(data, at, size=8):
    return int.from_bytes(data[at : at + size], "little")


def _rotate(value, by):
    """The word rotated to the right."""
    value &= _MASK
    return (value >> by | value << (64 - by)) & _MASK


def _shift_mix(value):
    value &= _MASK
    return value ^ (value >> 47)


def _pair(u, v, mul):
    a = ((u ^ v) & _MASK) * mul & _MASK
    a ^= a >> 47
    b = ((v ^ a) & _MASK) * mul & _MASK
    b ^= b >> 47
    return b * mul & _MASK


def _upto3(data, n):
    y = data[0] + (data[n >> 1] << 8)
    z = n + (data[n - 1] << 2)
    return _shift_mix(y * _K2 ^ z * _K0) * _K2 & _MASK


def _upto7(data, n):
    first, last = _word(data, 0, 4), _word(data, n - 4, 4)
    return _pair(n + (first << 3), last, _K2 + n * 2)


def _upto16(data, n):
    mul = _K2 + n * 2
    a = _word(data, 0) + _K2
    b = _word(data, n - 8)
    return _pair(_rotate(b, 37) * mul + a & _MASK, (_rotate(a, 25) + b) * mul & _MASK, mul)


def _upto32(data, n):
    mul = _K2 + n * 2
    a, b = _word(data, 0) * _K1, _word(data, 8)
    c, d = _word(data, n - 8) * mul, _word(data, n - 16) * _K2
    return _pair(_rotate(a + b, 43) + _rotate(c, 30) + d & _MASK, a + _rotate(b + _K2, 18) + c & _MASK, mul)


def _upto64(data, n):
    mul = _K2 + n * 2
    a, b = _word(data, 0) * _K2, _word(data, 8)
    c, d = _word(data, n - 8) * mul, _word(data, n - 16) * _K2
    y = _rotate(a + b, 43) + _rotate(c, 30) + d & _MASK
    z = _pair(y, a + _rotate(b + _K2, 18) + c & _MASK, mul)
    e, f = _word(data, 16) * mul, _word(data, 24)
    g, h = (y + _word(data, n - 32)) * mul, (z + _word(data, n - 24)) * mul
    return _pair(_rotate(e + f, 43) + _rotate(g, 30) + h & _MASK, e + _rotate(f + a, 18) + g & _MASK, mul)


def _weak(data, at, a, b):
    w, x, y, z = (_word(data, at + i) for i in (0, 8, 16, 24))
    a += w
    b = _rotate(b + a + z, 21)
    c = a
    a += x + y
    b += _rotate(a, 44)
    return a + z & _MASK, b + c & _MASK


def fingerprint64(data: bytes) -> int:
    """FarmHash's 64-bit fingerprint, which TF1's fast hash buckets take modulo their number."""
    n = len(data)
    if n <= 64:
        return _BY_LENGTH[bisect_left(_LENGTHS, n)](data, n)
    x, y = 81, 81 * _K1 + 113 & _MASK
    z = _shift_mix(y * _K2 + 113) * _K2 & _MASK
    v, w = (0, 0), (0, 0)
    x = x * _K2 + _word(data, 0) & _MASK
    end = (n - 1) // 64 * 64
    for s in range(0, end, 64):
        x, y, z, v, w = _round(data, s, x, y, z, v, w, _K1, 1)
    mul = _K1 + ((z & 0xFF) << 1)
    w = (w[0] + ((n - 1) & 63), w[1])
    v = (v[0] + w[0], v[1])
    w = (w[0] + v[0], w[1])
    x, y, z, v, w = _round(data, n - 64, x, y, z, v, w, mul, 9)
    return _pair(_pair(v[0], w[0], mul) + _shift_mix(y) * _K0 + z & _MASK, _pair(v[1], w[1], mul) + x & _MASK, mul)


_LENGTHS = (0, 3, 7, 16, 32, 64)  # the greatest for each of the functions
_BY_LENGTH = (lambda data, n: _K2, _upto3, _upto7, _upto16, _upto32, _upto64)


def _round(data, s, x, y, z, v, w, mul, weight):
    x = _rotate(x + y + v[0] + _word(data, s + 8), 37) * mul & _MASK
    y = _rotate(y + v[1] + _word(data, s + 48), 42) * mul & _MASK
    x ^= w[1] * weight & _MASK
    y = y + v[0] * weight + _word(data, s + 40) & _MASK
    z = _rotate(z + w[0], 33) * mul & _MASK
    v = _weak(data, s, v[1] * mul, x + w[0])
    w = _weak(data, s + 32, z + w[1], y + _word(data, s + 16))
    return z, y, x, v, w


# ---- SipHash-2-4, keyed


def siphash(data: bytes, key: tuple[int, int]) -> int:
    """The keyed hash behind TF1's strong hash buckets."""
    k0, k1 = (k & _MASK for k in key)
    state = [k0 ^ 0x736F6D6570736575, k1 ^ 0x646F72616E646F6D, k0 ^ 0x6C7967656E657261, k1 ^ 0x7465646279746573]
    padded = data + bytes(7 - len(data) % 8) + bytes([len(data) & 0xFF])
    for (word,) in struct.iter_unpack("<Q", padded):
        state[3] ^= word
        _sip_round(state, 2)
        state[0] ^= word
    state[2] ^= 0xFF
    _sip_round(state, 4)
    return state[0] ^ state[1] ^ state[2] ^ state[3]


def _sip_round(state, times):
    a, b, c, d = state
    for _ in range(times):
        a, c = a + b & _MASK, c + d & _MASK
        b, d = _rotate(b, 51) ^ a, _rotate(d, 48) ^ c  # to the left by 13 and 16
        a = _rotate(a, 32)
        c, a = c + b & _MASK, a + d & _MASK
        b, d = _rotate(b, 47) ^ c, _rotate(d, 43) ^ a  # to the left by 17 and 21
        c = _rotate(c, 32)
    state[:] = a, b, c, d


# ---- MurmurHash64A


def murmur64(data: bytes, seed: int = 0xDECAFCAFFE) -> int:
    """The hash behind TF1's plain (and deprecated) hash buckets."""
    m = 0xC6A4A7935BD1E995
    whole = len(data) // 8 * 8
    h = seed ^ (len(data) * m & _MASK)
    for (word,) in struct.iter_unpack("<Q", data[:whole]):
        word = word * m & _MASK
        word = (word ^ word >> 47) * m & _MASK
        h = (h ^ word) * m & _MASK
    if whole < len(data):
        h = (h ^ int.from_bytes(data[whole:], "little")) * m & _MASK
    h = (h ^ h >> 47) * m & _MASK
    return h ^ h >> 47
