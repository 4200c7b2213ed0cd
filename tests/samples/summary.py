"""Samples of summaries."""

import numpy as np

from headrace.core.errors import InvalidArgumentError
from headrace.library.testing.opcheck import Sample

REAL = (
    np.float16, np.float32, np.float64, np.int8, np.int16, np.int32, np.int64, np.uint8, np.uint16, np.uint32, np.uint64,
)  # fmt: skip
# Numbers of few bits: their squares are exact, so that it does not matter whether TensorFlow adds them by one instruction (on
# Arm) or by two, and they are the same wherever this file is imported, which sines are not.
SPREAD = (np.arange(58) * 37 % 101 - 50) * 2.0 ** (np.arange(58) * 3 - 66)
LIMITS = np.array([0.0, 0.0, -0.0, 1e-12, 1.1e-12, -1e-12, -1.1e-12])
WAVE = ((np.arange(24) * 29 % 31 - 15) / 12).astype(np.float32)
HALVES = (np.arange(-6, 6, dtype=np.float32) + np.float32(0.5)) / np.float32(32768)
PIXELS = (np.arange(36, dtype=np.float32) * 0.21 - 2).reshape(1, 3, 4, 3)


def s(*inputs, note="", **attrs):
    return Sample(inputs, attrs, gradient=False, note=note)


def wrong(*inputs, error=InvalidArgumentError, **attrs):
    return Sample(inputs, attrs, gradient=False, error=error)


def words(*items):
    array = np.empty(len(items), object)
    array[:] = items
    return array


def word(item):
    return words(item).reshape(())


def number(tag, value):
    return word(b"\n" + bytes([len(tag) + 7]) + b"\n" + bytes([len(tag)]) + tag + b"\x15" + np.float32(value).tobytes())


TAG = word(b"scope/tag")

SAMPLES: dict[str, list[Sample]] = {
    "ScalarSummary": [
        *[s(TAG, dtype(3)) for dtype in REAL],
        *[s(TAG, np.float64(value)) for value in (0, -0.0, 0.1, 1e300, -1e300, np.nan, np.inf, 2.0**24 + 1)],
        s(TAG, np.int64(2**62 + 1)),
        s(words(b"a", b"b"), np.array([1.5, 2], np.float32)),
        s(words(b"a", b"b", b"c", b"d").reshape(2, 2), np.arange(4, dtype=np.int32).reshape(2, 2)),
        s(words(), np.zeros(0, np.float32)),
        s(word(b"t" * 300), np.float32(1)),
        s(word(b""), np.float32(1)),
        s(word("größe".encode()), np.float32(1)),
        wrong(TAG, np.array([1.0], np.float32)),
        wrong(words(b"a"), np.float32(1)),
        wrong(words(b"a", b"b"), np.zeros(3, np.float32)),
    ],
    "HistogramSummary": [
        *[s(TAG, (np.arange(12) * 7 % 5).astype(dtype)) for dtype in REAL],
        s(TAG, SPREAD),
        s(TAG, LIMITS),
        s(TAG, ((np.arange(400) * 7919 % 1013 - 506) / 512).reshape(20, 20)),
        s(TAG, (2.0 ** (np.arange(400) * 7919 % 27 - 13) * (np.arange(400) % 8 + 8)).astype(np.float32)),
        s(TAG, np.float32(0.0)),
        s(TAG, np.array([0.0, -0.0])),
        s(TAG, np.array([-0.0, 0.0])),
        s(TAG, np.zeros(0, np.float32)),
        s(TAG, np.array([-1e300, 1e300])),
        wrong(TAG, np.array([1, np.nan, np.inf], np.float32)),
        wrong(TAG, np.array([1, np.inf], np.float32)),
        wrong(words(b"a"), np.float32(1)),
    ],
    "ImageSummary": [
        s(TAG, np.arange(48, dtype=np.uint8).reshape(2, 2, 4, 3)),
        *[s(TAG, PIXELS.astype(dtype)) for dtype in (np.float16, np.float32, np.float64)],
        s(TAG, PIXELS[..., :1], max_images=1),
        s(TAG, np.zeros((0, 2, 2, 1), np.float32)),
        s(TAG, np.full((1, 2, 2, 4), np.nan, np.float32), bad_color=np.array([1, 2, 3, 4, 5], np.uint8)),
        wrong(TAG, PIXELS[0]),
        wrong(TAG, PIXELS[..., :2]),
        wrong(TAG, PIXELS[:, :0]),
        wrong(TAG, PIXELS, max_images=0, error=ValueError),
        wrong(TAG, PIXELS, bad_color=np.array([1, 2], np.uint8)),
        wrong(TAG, PIXELS, bad_color=np.array([1, 2, 3, 4], np.int32)),
        wrong(words(b"a"), PIXELS),
    ],
    "AudioSummaryV2": [
        s(TAG, WAVE.reshape(2, 12), np.float32(8000)),
        s(TAG, WAVE.reshape(2, 6, 2), np.float32(44100.5)),
        s(TAG, WAVE.reshape(6, 4), np.float32(0.2)),
        s(TAG, WAVE.reshape(2, 12), np.float32(22.5), max_outputs=1),
        s(TAG, HALVES.reshape(1, 12), np.float32(8000), note="halves"),
        s(TAG, WAVE[:0].reshape(2, 0), np.float32(8000)),
        s(TAG, WAVE[:0].reshape(0, 4), np.float32(8000)),
        wrong(TAG, WAVE, np.float32(8000)),
        wrong(TAG, WAVE.reshape(2, 12), np.float32(0)),
        wrong(TAG, WAVE[:0].reshape(2, 3, 0), np.float32(8000)),
        wrong(TAG, WAVE.reshape(2, 12), np.float32(8000), max_outputs=0, error=ValueError),
        wrong(words(b"a"), WAVE.reshape(2, 12), np.float32(8000)),
    ],
    "AudioSummary": [s(TAG, WAVE.reshape(2, 12), sample_rate=8000.0)],
    "TensorSummaryV2": [
        *[s(TAG, np.arange(6).reshape(2, 3).astype(dtype), word(b"\x1a\x04text")) for dtype in (*REAL, np.bool_)],
        s(TAG, np.array([1 + 2j], np.complex64), word(b"")),
        s(TAG, words(b"a", b"", b"\xff"), word(b"\n\x06\n\x04text")),
        s(TAG, word(b"markdown"), word(b"\n\x06\n\x04text")),
        s(TAG, np.zeros((0, 3), np.float32), word(b"")),
        wrong(words(b"a"), np.float32(1), word(b"")),
        wrong(TAG, np.float32(1), words(b"")),
    ],
    "TensorSummary": [
        s(np.arange(3, dtype=np.float32), description='{"typeHint": "x"}', labels=["a", "b"], display_name="shown"),
        s(words(b"a", b"b")),
    ],
    "MergeSummary": [
        s([number(b"a", 1), number(b"b", 0)]),
        s([number(b"a", 1)]),
        s([words(number(b"a", 1)[()], number(b"b", 2)[()]), number(b"c", 3)], note="several strings in one input"),
        s([word(b""), number(b"a", 1)]),
        s([word(b"\n\x05\x15\x00\x00\x80?"), word(b"\n\x05\x15\x00\x00\x00@")], note="values without tags"),
        wrong([number(b"a", 1), number(b"a", 2)]),
        wrong([number(b"a", 1), word(b"junk")]),
        wrong([word(b"\n\x03\n\x7fa")]),
    ],
}  # fmt: skip
