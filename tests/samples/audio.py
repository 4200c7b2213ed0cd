"""Samples of sound, spectra and matrices of three diagonals."""

import struct

import numpy as np

from headrace.library.testing.opcheck import Sample

HALVES = np.array([[-2.5, -0.5, 0.5, 1.5, 2.5, 40000, -40000]], np.float32).T / np.float32(32768)
_N = np.arange(40)
SOUND = (((_N * _N * 11 + _N) % 127 - 63) / 128).reshape(20, 2).astype(np.float32)  # no frequency is missing in it
_BODY = np.int16([100, -200, 300, 32767]).tobytes()
_HEAD = struct.pack("<4sI4s4sIHHIIHH", b"RIFF", 36 + len(_BODY), b"WAVE", b"fmt ", 16, 1, 2, 8000, 32000, 4, 16)
WAV = _HEAD + struct.pack("<4sI", b"data", len(_BODY)) + _BODY
_DIAGONALS = np.float64([[1.0, 2.0, 0.0], [4.0, 5.0, 6.0], [0.0, 1.0, -1.0]])
_RHS = np.float64([[1.0, 0.5], [2.0, -1.0], [3.0, 0.1]])

SAMPLES: dict[str, list[Sample]] = {
    "DecodeWav": [
        Sample([np.array(WAV, object)]),
        Sample([np.array(WAV, object)], {"desired_channels": 1, "desired_samples": 5}),
        Sample([np.array(b"no sound", object)], error=Exception),
        Sample([np.array(WAV.replace(b"\x10\x00data", b"\x08\x00data"), object)], error=Exception),
    ],
    "EncodeWav": [
        Sample([SOUND, np.int32(8000)], gradient=False),
        Sample([SOUND[:0], np.int32(8000)], gradient=False),
        Sample([HALVES, np.int32(8000)], gradient=False, note="halves, and louder than can be"),
        Sample([SOUND, np.int32(0)], error=Exception),
    ],
    "AudioSpectrogram": [
        Sample([SOUND], {"window_size": 8, "stride": 4, "magnitude_squared": True}),
        Sample([SOUND], {"window_size": 6, "stride": 5}),
        Sample([SOUND[:4]], {"window_size": 8, "stride": 4}, gradient=False),
        Sample([SOUND], {"window_size": 1, "stride": 4}, error=ValueError),
    ],
    "Mfcc": [
        Sample(
            [np.abs(SOUND).reshape(1, 2, 20) + 0.5, np.int32(8000)],
            {"filterbank_channel_count": 5, "dct_coefficient_count": 3},
        ),
        Sample([np.zeros((1, 2, 9), np.float32), np.int32(8000)], gradient=False),
        Sample([SOUND.reshape(1, 2, 20), np.int32(8000)], {"dct_coefficient_count": 99}, error=ValueError),
    ],
    "TridiagonalSolve": [
        Sample([_DIAGONALS, _RHS]),
        Sample([np.stack([_DIAGONALS] * 2).astype(np.float32), np.stack([_RHS, _RHS * 2]).astype(np.float32)]),
        Sample([_DIAGONALS.astype(np.complex128) * (1 + 0.5j), _RHS.astype(np.complex128)], gradient=False),
        Sample([_DIAGONALS, _RHS[:2]], error=ValueError),
    ],
    "TridiagonalMatMul": [
        Sample([*(d[None] for d in _DIAGONALS), _RHS]),
        Sample([_DIAGONALS, _DIAGONALS, _DIAGONALS, _RHS], error=ValueError),
    ],
}
