"""Programs on signals and sound; see program.py."""

from __future__ import annotations

import importlib
from typing import Any

import numpy as np
from golden.program import Programs

PROGRAMS = Programs()
add = PROGRAMS.add
SIGNAL = np.sin(np.arange(60, dtype=np.float32) * 0.37).reshape(2, 30) + 0.1
SOUND = (np.sin(np.arange(120) * 0.2) * 0.8).astype(np.float32).reshape(60, 2)


def audio(tf: Any) -> Any:
    """The ops of contrib's audio_ops."""
    if hasattr(tf, "contrib"):
        return importlib.import_module("headrace.library.signal.audio")
    return importlib.import_module("tensorflow.python.ops.gen_audio_ops")


@add("windows", names=False)
def _(tf: Any) -> Any:
    return [
        getattr(tf.signal, f"{kind}_window")(size, periodic=periodic, dtype=dtype)
        for kind in ("hann", "hamming") for size, dtype in ((1, tf.float32), (4, tf.float32), (5, tf.float64))
        for periodic in (True, False)
    ]  # fmt: skip


@add("frames", names=False)
def _(tf: Any) -> Any:
    x = tf.constant(SIGNAL)
    framed = tf.signal.frame(x, 7, 4)
    return [
        framed, tf.signal.frame(x, 7, 4, pad_end=True, pad_value=2.0), tf.signal.frame(x, 2, 1, axis=0),
        tf.signal.frame(x[:, :3], 7, 4), tf.signal.overlap_and_add(framed, 4), *tf.gradients(framed * framed, x),
    ]  # fmt: skip


@add("stft", names=False)
def _(tf: Any) -> Any:
    x = tf.constant(SIGNAL)
    found = tf.signal.stft(x, 8, 4)
    back = tf.signal.inverse_stft(found, 8, 4, window_fn=tf.signal.inverse_stft_window_fn(4))
    power = tf.abs(tf.signal.stft(x, 6, 3, fft_length=16, pad_end=True, window_fn=None))
    return [
        found, back, power, tf.signal.inverse_stft(found, 6, 3, fft_length=8), tf.gradients(tf.abs(found), x)[0],
        tf.signal.inverse_stft_window_fn(3)(8, dtype=tf.float32),
    ]  # fmt: skip


for _type in (1, 2, 3, 4):

    @add(f"dct_{_type}", names=False)
    def _(tf: Any, type: int = _type) -> Any:
        x = tf.constant(SIGNAL[:, :9])
        norms = (None,) if type == 1 else (None, "ortho")
        found = [f(x, type=type, norm=norm) for f in (tf.signal.dct, tf.signal.idct) for norm in norms]
        return [*found, tf.signal.dct(x, type=type, n=5), *tf.gradients(found[0] ** 2, x)]


@add("mel", names=False)
def _(tf: Any) -> Any:
    matrix = tf.signal.linear_to_mel_weight_matrix(8, 17, 8000, 80.0, 3800.0)
    return [matrix, tf.signal.mfccs_from_log_mel_spectrograms(tf.constant(SIGNAL))]


@add("shifts", names=False)
def _(tf: Any) -> Any:
    x = tf.constant(np.arange(15).reshape(3, 5))
    return [f(x, axes) for f in (tf.signal.fftshift, tf.signal.ifftshift) for axes in (None, 1, [0, 1], -1)]


@add("wav", names=False)
def _(tf: Any) -> Any:
    contents = tf.audio.encode_wav(tf.constant(SOUND) * 1.5, 16000)
    found = [contents]
    for channels, samples in ((-1, -1), (1, 20), (3, 70)):
        found += tf.audio.decode_wav(contents, channels, samples)
    return found


@add("spectrogram", names=False)
def _(tf: Any) -> Any:
    sound = tf.constant(SOUND)
    squared = audio(tf).audio_spectrogram(sound, window_size=20, stride=10, magnitude_squared=True)
    return [
        squared, audio(tf).audio_spectrogram(sound, window_size=16, stride=16),
        audio(tf).mfcc(squared, 16000, dct_coefficient_count=7),
        audio(tf).mfcc(squared, 8000, upper_frequency_limit=3000, lower_frequency_limit=100, filterbank_channel_count=10,
                       dct_coefficient_count=5),
    ]  # fmt: skip


@add("tridiagonal", names=False)
def _(tf: Any) -> Any:
    diagonals = tf.constant([[[1.0, 2.0, 0.5, 0.0], [4.0, 5.0, 6.0, 7.0], [0.0, 1.0, -1.0, 2.0]]])
    rhs = tf.constant(np.arange(8, dtype=np.float32).reshape(1, 4, 2))
    found = tf.linalg.tridiagonal_solve(diagonals, rhs)
    parts = [diagonals[0, 0, :-1], diagonals[0, 1], diagonals[0, 2, 1:]]
    whole = tf.constant([[4.0, 1.0, 0.0], [2.0, 5.0, -1.0], [0.0, 0.5, 3.0]])
    product = tf.linalg.tridiagonal_matmul(diagonals, rhs)
    return [
        found, tf.linalg.tridiagonal_solve(parts, rhs[0], "sequence"),
        tf.linalg.tridiagonal_solve(whole, tf.constant([1.0, 2.0, 3.0]), "matrix"), product,
        tf.linalg.tridiagonal_solve(diagonals[0], tf.transpose(rhs[0]), transpose_rhs=True),
        *tf.gradients(found * found, [diagonals, rhs]), *tf.gradients(product * product, [diagonals, rhs]),
    ]  # fmt: skip
