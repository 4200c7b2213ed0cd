"""Sound: WAV files in and out, spectrograms, and the cepstral coefficients speech models use.

DecodeWav, EncodeWav, AudioSpectrogram, Mfcc.
"""

from __future__ import annotations

import math
import struct

import numpy as np
import torch

from headrace.core.registry import op
from headrace.ops.shared.string_array import array_of
from headrace.ops.shared.wav import PCM, wav_bytes
from headrace.resources.calling.value import from_numpy

# ---- files


def _chunks(data):
    """The chunks of a RIFF file: (name, contents)."""
    if len(data) < 12 or data[:4] != b"RIFF" or data[8:12] != b"WAVE":
        raise ValueError(f"Data is not a WAV file: it starts with {data[:12]!r}")
    at = 12
    while at + 8 <= len(data):
        name, size = data[at : at + 4], struct.unpack("<I", data[at + 4 : at + 8])[0]
        yield name, data[at + 8 : at + 8 + size]
        at += 8 + size + size % 2


def _samples(data):
    """-> [frames, channels] in [-1, 1), and the rate."""
    channels = rate = None
    for name, contents in _chunks(data):
        if name == b"fmt ":
            if len(contents) < 16:
                raise ValueError(f"The chunk 'fmt ' of the WAV file has {len(contents)} bytes, not 16")
            format, channels, rate, _, _, bits = struct.unpack("<HHIIHH", contents[:16])
            if not channels or rate >= 1 << 31:
                raise ValueError(f"A WAV file needs channels and a rate below 2**31, got {channels} and {rate}")
            if format != PCM or bits != 16:
                raise ValueError(f"Can only read 16-bit PCM WAV files, but got format {format} with {bits} bits")
        elif name == b"data" and channels is not None:
            frames = np.frombuffer(contents[: len(contents) // 2 * 2], "<i2").astype(np.float32) / 32768
            return frames[: len(frames) // channels * channels].reshape(-1, channels), rate
    raise ValueError("Could not find a chunk 'data' after a chunk 'fmt ' in the WAV file")


decode = op(
    "DecodeWav(contents: string[0]; desired_channels: int = -1, desired_samples: int = -1) "
    "-> (audio: float32, sample_rate: int32)",
    host=True,
    dynamic_shape=True,
)
decode.not_differentiable()


@decode.shape
def _(contents, desired_channels, desired_samples):
    contents.with_rank(0)
    return [(None if desired_samples < 0 else desired_samples, None if desired_channels < 0 else desired_channels), ()]


@decode.kernel
def _(contents, desired_channels, desired_samples):
    sound, rate = _samples(contents[()])
    frames = len(sound) if desired_samples < 0 else desired_samples
    channels = sound.shape[1] if desired_channels < 0 else desired_channels
    signal = np.zeros((frames, channels), np.float32)
    cut = sound[:frames]
    for channel in range(channels):  # missing channels repeat the last one
        signal[: len(cut), channel] = cut[:, min(channel, sound.shape[1] - 1)]
    return from_numpy(signal), torch.tensor(rate, dtype=torch.int32)


encode = op("EncodeWav(audio: float32[2], sample_rate: int32[0]) -> (contents: string)", host=True, lenient=True)


@encode.shape
def _(audio, sample_rate):
    audio.with_rank(2)
    sample_rate.with_rank(0)
    return ()


@encode.kernel
def _(audio, sample_rate):
    channels = audio.shape[1]
    rate = int(sample_rate)
    if not 0 < channels <= 65535 or not rate > 0:
        raise ValueError(f"a WAV file needs channels and a positive rate, got {channels} channels and rate {rate}")
    return array_of([wav_bytes(audio.numpy(), rate)], ())


# ---- spectra

spectrogram = op(
    "AudioSpectrogram(input: float32[2]; window_size: int, stride: int, magnitude_squared: bool = False) "
    "-> (spectrogram: float32)",
    view=False,
    lenient=True,
)


def _width(window_size):
    """The number of frequencies: half the transform's length, which is a power of two, plus one."""
    return (1 << (window_size - 1).bit_length()) // 2 + 1


@spectrogram.shape
def _(input, window_size, stride, magnitude_squared):
    if window_size < 2 or stride < 1:
        raise ValueError(f"window_size must be at least 2 and stride at least 1, got {window_size} and {stride}")
    frames, channels = input.with_rank(2).tuple
    count = None if frames is None else max(0, 1 + (frames - window_size) // stride) if frames >= window_size else 0
    return (channels, count, _width(window_size))


@spectrogram.kernel
def _(input, window_size, stride, magnitude_squared):
    width = _width(window_size)
    if input.shape[0] < window_size:
        return input.new_zeros((input.shape[1], 0, width))
    window = torch.hann_window(window_size, dtype=torch.float64, device=input.device).to(input.dtype)
    frames = input.t().unfold(1, window_size, stride) * window
    if not frames.shape[0]:
        return input.new_zeros((0, frames.shape[1], width))  # not every library transforms nothing
    spectrum = torch.fft.rfft(frames, n=2 * (width - 1))
    power = spectrum.real.square() + spectrum.imag.square()
    return power if magnitude_squared else power.sqrt()


mfcc = op(
    "Mfcc(spectrogram: float32[3], sample_rate: host int32[0]; upper_frequency_limit: float = 4000.0, "
    "lower_frequency_limit: float = 20.0, filterbank_channel_count: int = 40, dct_coefficient_count: int = 13) "
    "-> (output: float32)",
    view=False,
    lenient=True,
)


@mfcc.shape
def _(spectrogram, sample_rate, upper, lower, channels, coefficients):
    if not 0 <= lower < upper or channels < 1 or not 1 <= coefficients <= channels:
        raise ValueError(
            f"frequency limits must rise from 0 and there can be 1 to filterbank_channel_count coefficients, got limits "
            f"{lower} and {upper}, {channels} channels, {coefficients} coefficients"
        )
    sound, frames, _ = spectrogram.with_rank(3).tuple
    return (sound, frames, coefficients)


def _mel(frequency):
    return 1127.0 * math.log1p(frequency / 700.0)


def _bank(width, rate, upper, lower, channels):
    """[frequencies, channels]: triangles of equal width on the mel scale."""
    low, high = _mel(lower), _mel(upper)
    spacing = (high - low) / (channels + 1)
    centers = low + spacing * np.arange(1, channels + 2)
    hertz = 0.5 * rate / (width - 1)
    first, last = int(1.5 + lower / hertz), int(upper / hertz)
    bank = np.zeros((width, channels))
    for i in range(max(first, 0), min(last, width - 1) + 1):
        mel = _mel(i * hertz)
        above = int(np.searchsorted(centers, mel))  # the first centre not below it
        channel = above - 1
        if channel >= 0:
            weight = (centers[above] - mel) / (centers[above] - centers[channel]) if above <= channels else 0.0
        else:
            weight = (centers[0] - mel) / (centers[0] - low)
        if channel >= 0:
            bank[i, channel] += weight
        if above < channels:
            bank[i, above] += 1 - weight
    return bank


def _cosines(channels, coefficients):
    rows = np.arange(coefficients)[:, None]
    return math.sqrt(2.0 / channels) * np.cos(rows * math.pi / channels * (np.arange(channels) + 0.5))


@mfcc.kernel
def _(spectrogram, sample_rate, upper, lower, channels, coefficients):
    bank = torch.from_numpy(_bank(spectrogram.shape[-1], sample_rate, upper, lower, channels)).to(spectrogram.device)
    cosines = torch.from_numpy(_cosines(channels, coefficients)).to(spectrogram.device)
    energies = torch.sqrt(spectrogram.double()) @ bank
    return (torch.log(torch.clamp(energies, min=1e-12)) @ cosines.t()).float()
