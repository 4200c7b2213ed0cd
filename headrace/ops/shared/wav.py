"""Sound as a WAV file of 16-bit samples, as TensorFlow writes it."""

from __future__ import annotations

import struct

import numpy as np

PCM = 1


def wav_bytes(sound: np.ndarray, rate: int) -> bytes:
    """A file of float32 ``sound``, [frames, channels] in -1..1; louder samples are cut off, NaN is silence."""
    channels = sound.shape[1]
    scaled = np.nan_to_num(sound.astype(np.float64), posinf=2.0, neginf=-2.0) * 32768
    rounded = np.trunc(scaled + np.copysign(0.5, scaled))  # halves go away from zero
    body = rounded.clip(-32768, 32767).astype("<i2").tobytes()
    head = struct.pack("<4sI4s4sIHHIIHH", b"RIFF", 36 + len(body), b"WAVE", b"fmt ", 16, PCM, channels, rate,
                       rate * channels * 2, channels * 2, 16)  # fmt: skip
    return head + struct.pack("<4sI", b"data", len(body)) + body
