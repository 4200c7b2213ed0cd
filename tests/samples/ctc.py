"""Samples of connectionist temporal classification, the edit distance, mutexes and quantization."""

import numpy as np
from sample_forms import plain as s
from sample_forms import wrong

from headrace.core import dtypes
from headrace.core.errors import FailedPreconditionError
from headrace.graph import raw_ops
from headrace.library.testing.opcheck import Sample

LOGITS = (np.round(np.random.RandomState(0).randn(5, 2, 4) * 64) / 64).astype(np.float32)  # few bits: alike everywhere
LABELS = (np.array([[0, 0], [0, 1], [0, 2], [1, 0]], np.int64), np.array([0, 0, 2, 1], np.int32))
LENGTHS = np.array([5, 3], np.int32)
SHORT = np.array([3, 1], np.int32)


X = np.array([[-7.0, -1.24, 0.0, 0.33], [2.71, 5.5, 6.7, 9.0]], np.float32)
LOW, HIGH = np.float32(-2.0), np.float32(3.0)
LOWS, HIGHS = np.float32([-1, -2, -0.5, 0]), np.float32([1, 2, 3, 4])
WORDS = np.array([b"a", b"bc", b"d", b"e"], object)
PLACES = np.array([[0, 0], [0, 1], [1, 0], [2, 0]], np.int64)
OTHER = np.array([[0, 0], [1, 0], [1, 1]], np.int64)


def mutex():
    return raw_ops.MutexV2()


def lock():
    return raw_ops.MutexLock(raw_ops.MutexV2())


MODES = ("MIN_COMBINED", "MIN_FIRST", "SCALED")


def quantized(kind, mode):
    return lambda: raw_ops.QuantizeV2(X, LOW, HIGH, T=kind, mode=mode).output


_VARS = [
    s(X, LOW, HIGH),
    s(X, LOW, HIGH, num_bits=4, narrow_range=True),
    wrong(X, LOW, HIGH, num_bits=1, error=ValueError),
]
_QUANTIZED = [s(X, LOW, HIGH, T=kind, mode=mode) for kind in (dtypes.quint8, dtypes.qint8) for mode in MODES]

SAMPLES: dict[str, list[Sample]] = {
    "CTCLoss": [
        Sample((LOGITS, *LABELS, LENGTHS), wrt=["inputs"], gradient=False),
        # TensorFlow adds in single precision here
        Sample((LOGITS.astype(np.float64), *LABELS, LENGTHS), gradient=False, rtol=1e-5),
        s(LOGITS, *LABELS, LENGTHS, preprocess_collapse_repeated=True),
        s(LOGITS, *LABELS, LENGTHS, ctc_merge_repeated=False),
        s(LOGITS, *LABELS, SHORT, ignore_longer_outputs_than_inputs=True),
        s(LOGITS, *LABELS, SHORT),
        s(LOGITS, LABELS[0], np.array([2, 2, 4, 1], np.int32), LENGTHS),
        s(LOGITS, *LABELS, np.array([2, 1], np.int32), ignore_longer_outputs_than_inputs=True),
        wrong(LOGITS, *LABELS, np.array([2, 1], np.int32)),
        wrong(LOGITS, LABELS[0][:0], LABELS[1][:0], LENGTHS),
        wrong(LOGITS, LABELS[0], -LABELS[1], LENGTHS),
        wrong(LOGITS, LABELS[0], LABELS[1][::-1] * 2 + 1, LENGTHS),
        wrong(LOGITS, *LABELS, LENGTHS + 1),
        wrong(LOGITS, *LABELS, LENGTHS[:1], error=ValueError),
    ],
    "CTCGreedyDecoder": [
        s(LOGITS, LENGTHS), s(LOGITS, LENGTHS, merge_repeated=True), s(LOGITS.astype(np.float64), SHORT),
        wrong(LOGITS, LENGTHS + 1, error=FailedPreconditionError),
    ],
    "CTCBeamSearchDecoder": [
        s(LOGITS, LENGTHS, beam_width=4, top_paths=1),
        s(LOGITS, LENGTHS, beam_width=6, top_paths=3, merge_repeated=False),
        s(LOGITS.astype(np.float64), SHORT, beam_width=20, top_paths=2),
        wrong(LOGITS, LENGTHS, beam_width=1, top_paths=2, error=ValueError),
    ],
    "EditDistance": [
        s(PLACES, WORDS, np.int64([3, 2]), OTHER, WORDS[:3], np.int64([2, 2])),
        s(PLACES, WORDS, np.int64([3, 2]), OTHER, WORDS[:3], np.int64([2, 2]), normalize=False),
        s(PLACES, np.int64([1, 2, 3, 4]), np.int64([3, 3]), PLACES, np.int64([1, 3, 3, 4]), np.int64([3, 3])),
        s(PLACES[:0], WORDS[:0], np.int64([3, 2]), OTHER, WORDS[:3], np.int64([3, 2])),
        wrong(PLACES, WORDS, np.int64([3, 2]), OTHER, WORDS[:3], np.int64([3, 2, 1]), error=ValueError),
    ],
    "MutexV2": [s(), s(shared_name="shared")],
    "MutexLock": [s(mutex)],
    "ConsumeMutexLock": [s(lock)],
    "FakeQuantWithMinMaxArgs": [
        s(X), s(X, min=-1.0, max=4.0, num_bits=3), s(X, narrow_range=True), wrong(X, min=2.0, max=1.0, error=ValueError),
    ],
    "FakeQuantWithMinMaxArgsGradient": [s(X, X[::-1].copy()), s(X, X, min=-1.0, max=4.0, narrow_range=True)],
    "FakeQuantWithMinMaxVars": _VARS,
    "FakeQuantWithMinMaxVarsGradient": [s(X, X[::-1].copy(), LOW, HIGH), s(X, X, LOW, HIGH, num_bits=4)],
    "FakeQuantWithMinMaxVarsPerChannel": [s(X, LOWS, HIGHS), s(X[0], LOWS, HIGHS, num_bits=4)],
    "FakeQuantWithMinMaxVarsPerChannelGradient": [s(X, X[::-1].copy(), LOWS, HIGHS), s(X[0], X[1], LOWS, HIGHS)],
    "QuantizeV2": [
        *_QUANTIZED,
        s(X, LOW, HIGH, T=dtypes.qint8, mode="SCALED", round_mode="HALF_TO_EVEN"),
        wrong(X, LOW, HIGH, T=dtypes.qint8, mode="OTHER", error=ValueError),
    ],
    "Dequantize": [s(quantized(kind, mode), LOW, HIGH, mode=mode) for kind in (dtypes.quint8, dtypes.qint8) for mode in MODES],
    "QuantizeAndDequantizeV2": [
        s(X, LOW, HIGH), s(X, LOW, HIGH, range_given=True), s(X, LOW, HIGH, signed_input=False, range_given=True),
        s(X, LOW, HIGH, num_bits=4, narrow_range=True, round_mode="HALF_UP"),
    ],
}  # fmt: skip
