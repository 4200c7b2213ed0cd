"""Programs with temporal classification, edit distances and quantization; see program.py."""

from __future__ import annotations

from typing import Any

import numpy as np
from golden.program import Programs

PROGRAMS = Programs()
add = PROGRAMS.add

LOGITS = np.random.RandomState(3).randn(6, 3, 5).astype(np.float32)
PLACES = [[0, 0], [0, 1], [0, 2], [1, 0], [2, 0], [2, 1]]
LABELS = np.array([0, 0, 2, 1, 3, 1], np.int32)
X = np.array([[-7.0, -1.24, 0.0, 0.33], [2.71, 5.5, 6.7, 9.0]], np.float32)

for _i, _options in enumerate(({}, {"preprocess_collapse_repeated": True}, {"ctc_merge_repeated": False})):

    @add(f"ctc_loss_{_i}", names=False)
    def _(tf: Any, options: Any = _options) -> Any:
        logits = tf.constant(LOGITS)
        labels = tf.SparseTensor(PLACES, LABELS, [3, 3])
        loss = tf.nn.ctc_loss(labels, logits, [6, 4, 3], **options)
        return [loss, tf.gradients(loss * [1.0, 2.0, -3.0], logits)[0]]


@add("ctc_loss_batch_first", names=False)
def _(tf: Any) -> Any:
    labels = tf.SparseTensor(PLACES, LABELS, [3, 3])
    return tf.nn.ctc_loss(labels, LOGITS.transpose(1, 0, 2).copy(), [6, 4, 3], time_major=False)


@add("ctc_loss_v2", names=False)
def _(tf: Any) -> Any:
    logits = tf.constant(LOGITS)
    dense = [[1, 1, 2], [4, 0, 0], [3, 1, 0]]
    loss = tf.nn.ctc_loss_v2(dense, logits, [3, 1, 2], [6, 4, 3])
    return [loss, tf.gradients(loss, logits)[0]]


@add("decoders", names=False)
def _(tf: Any) -> Any:
    found = []
    for merge in (True, False):
        found.append(tf.nn.ctc_greedy_decoder(LOGITS, [6, 4, 3], merge))
        found.append(tf.nn.ctc_beam_search_decoder(LOGITS, [6, 4, 3], 8, 2, merge))
    return [*found, tf.nn.ctc_beam_search_decoder_v2(LOGITS, [6, 4, 3])]


@add("edit_distance")
def _(tf: Any) -> Any:
    a = tf.SparseTensor([[0, 0], [0, 1], [1, 0], [2, 0]], ["a", "b", "c", "d"], [3, 2])
    b = tf.SparseTensor([[0, 0], [1, 0], [1, 1]], ["a", "d", "c"], [3, 2])
    return [tf.edit_distance(a, b), tf.edit_distance(a, b, normalize=False)]


@add("fake_quantization", names=False)
def _(tf: Any) -> Any:
    x, low, high = tf.constant(X), tf.constant(-2.0), tf.constant(3.0)
    lows, highs = tf.constant([-1, -2, -0.5, 0]), tf.constant([1, 2, 3, 4.0])
    results = [
        tf.quantization.fake_quant_with_min_max_args(x, -1, 4, 4),
        tf.fake_quant_with_min_max_vars(x, low, high),
        tf.fake_quant_with_min_max_vars_per_channel(x, lows, highs),
    ]
    return [*results, *tf.gradients([r * r for r in results], [x, low, high, lows, highs])]


@add("quantization", names=False)
def _(tf: Any) -> Any:
    found = []
    for kind in (tf.quint8, tf.qint8):
        for mode in ("MIN_COMBINED", "MIN_FIRST", "SCALED"):
            made = tf.quantization.quantize(X, -2.0, 3.0, kind, mode)
            found += [
                tf.bitcast(made.output, tf.uint8 if kind == tf.quint8 else tf.int8),
                made.output_min,
                made.output_max,
            ]
            found.append(tf.quantization.dequantize(made.output, made.output_min, made.output_max, mode))
    x = tf.constant(X)
    trip = tf.quantization.quantize_and_dequantize(x, -2.0, 3.0, range_given=True)
    return [*found, trip]
