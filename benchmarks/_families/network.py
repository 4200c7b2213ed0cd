"""Neural networks: convolutions, pools, normalisation, softmax and losses, candidate samplers, temporal classification."""

import numpy as np

from benchmarks._families.case import add, integers, normal, positive

# ---- convolutions: (batch, side, channels in, channels out)

C = "convolution"
PICTURES = ((1, 14, 16, 16), (4, 28, 16, 32), (8, 28, 64, 64))


def _conv(window):
    def inputs(extent, r):
        batch, side, depth, out = extent
        return normal(r, batch, side, side, depth), normal(r, window, window, depth, out)

    return inputs


def _conv2d(stride=1, padding="SAME", rate=1):
    def build(tf, x, w):
        return tf.nn.conv2d(x, w, [1, stride, stride, 1], padding, dilations=[1, rate, rate, 1])

    return build


add(C, "Conv2D 3x3", _conv2d(), _conv(3), PICTURES, gradient=True, tolerance=1e-3)
add(C, "Conv2D 1x1", _conv2d(), _conv(1), PICTURES, gradient=True, tolerance=1e-3)
add(C, "Conv2D 5x5 stride 2", _conv2d(2, "VALID"), _conv(5), PICTURES, gradient=True, tolerance=1e-3)
add(
    C, "DepthwiseConv2dNative", lambda tf, x, w: tf.nn.depthwise_conv2d(x, w, [1, 1, 1, 1], "SAME"),
    lambda e, r: (normal(r, e[0], e[1], e[1], e[2]), normal(r, 3, 3, e[2], 1)), PICTURES, gradient=True, tolerance=1e-3,
)  # fmt: skip
add(
    C, "conv2d_transpose",
    lambda tf, x, w: tf.nn.conv2d_transpose(
        x, w, [x.shape[0].value, 2 * x.shape[1].value, 2 * x.shape[2].value, w.shape[2].value], [1, 2, 2, 1]),
    lambda e, r: (normal(r, e[0], e[1], e[1], e[2]), normal(r, 3, 3, e[3], e[2])), PICTURES, tolerance=1e-3,
)  # fmt: skip
add(
    C, "Conv3D", lambda tf, x, w: tf.nn.conv3d(x, w, [1, 1, 1, 1, 1], "SAME"),
    lambda e, r: (normal(r, 1, 8, e[1], e[1], e[2]), normal(r, 3, 3, 3, e[2], e[2])),
    ((1, 8, 4, 4), (1, 14, 16, 16), (1, 28, 16, 16)), tolerance=1e-3,
)  # fmt: skip

# ---- pools

P = "pooling"
POOLED = ((1, 14, 14, 32), (4, 28, 28, 32), (8, 56, 56, 64))


def _pool(kind, window, stride, padding="SAME"):
    return lambda tf, x: getattr(tf.nn, kind)(x, [1, window, window, 1], [1, stride, stride, 1], padding)


def _picture(shape, r):
    return (normal(r, *shape),)


add(P, "MaxPool 2x2", _pool("max_pool", 2, 2), _picture, POOLED, gradient=True)
add(P, "MaxPool 3x3 stride 2", _pool("max_pool", 3, 2), _picture, POOLED, gradient=True)
add(P, "AvgPool 2x2", _pool("avg_pool", 2, 2), _picture, POOLED, gradient=True)
add(P, "AvgPool 3x3", _pool("avg_pool", 3, 1), _picture, POOLED, gradient=True)
add(P, "MaxPoolWithArgmax", lambda tf, x: tf.nn.max_pool_with_argmax(x, [1, 2, 2, 1], [1, 2, 2, 1], "SAME"), _picture,
    POOLED)  # fmt: skip
add(P, "MaxPool3D", lambda tf, x: tf.nn.max_pool3d(x, [1, 2, 2, 2, 1], [1, 2, 2, 2, 1], "SAME"),
    lambda s, r: (normal(r, s[0], 8, *s[1:]),), ((1, 8, 8, 16), (1, 28, 28, 16), (2, 56, 56, 32)))  # fmt: skip

# ---- normalisation

N = "normalisation"


def _statistics(shape, r):
    return normal(r, *shape), *(positive(r, shape[-1]) for _ in range(4))


add(N, "FusedBatchNormV3 training", lambda tf, x, s, o: list(tf.nn.fused_batch_norm(x, s, o))[:1],
    lambda s, r: _statistics(s, r)[:3], POOLED, gradient=True, tolerance=1e-3)  # fmt: skip
add(N, "FusedBatchNormV3 inference",
    lambda tf, x, s, o, m, v: list(tf.nn.fused_batch_norm(x, s, o, m, v, is_training=False))[:1], _statistics, POOLED,
    tolerance=1e-3)  # fmt: skip
add(N, "moments", lambda tf, x: tf.nn.moments(x, [0, 1, 2]), _picture, POOLED, tolerance=1e-3)
add(N, "LRN", lambda tf, x: tf.nn.lrn(x), _picture, POOLED, gradient=True, tolerance=1e-3)

# ---- softmax and losses: rows of logits

S = "softmax and losses"
LOGITS = ((32, 128), (128, 1000), (1024, 4000))


def _logits(shape, r):
    return (normal(r, *shape),)


def _labelled(shape, r):
    targets = positive(r, *shape)
    return normal(r, *shape), targets / targets.sum(-1, keepdims=True)


add(S, "Softmax", lambda tf, x: tf.nn.softmax(x), _logits, LOGITS, gradient=True)
add(S, "LogSoftmax", lambda tf, x: tf.nn.log_softmax(x), _logits, LOGITS, gradient=True)
add(S, "SoftmaxCrossEntropyWithLogits",
    lambda tf, x, y: tf.nn.softmax_cross_entropy_with_logits_v2(labels=tf.stop_gradient(y), logits=x), _labelled, LOGITS,
    gradient=True)  # fmt: skip
add(S, "SparseSoftmaxCrossEntropyWithLogits",
    lambda tf, x, y: tf.nn.sparse_softmax_cross_entropy_with_logits(labels=y, logits=x),
    lambda s, r: (normal(r, *s), integers(r, s[1], s[0])), LOGITS, gradient=True)  # fmt: skip
add(S, "sigmoid_cross_entropy", lambda tf, x, y: tf.nn.sigmoid_cross_entropy_with_logits(labels=tf.stop_gradient(y),
    logits=x), _labelled, LOGITS, gradient=True)  # fmt: skip

# ---- candidate samplers

D = "candidate samplers"
RANGES = (1000, 10_000, 100_000)


def _sampler(kind, **options):
    def build(tf, labels, extent=None):
        return list(getattr(tf.nn, f"{kind}_candidate_sampler")(
            labels, 1, labels.shape[0].value, True, range_max=10 * labels.shape[0].value, seed=1, **options))  # fmt: skip

    return build


def _true(n, r):
    return (integers(r, n // 10, n // 10, 1, dtype=np.int64),)


add(D, "UniformCandidateSampler", _sampler("uniform"), _true, RANGES, check="shapes")
add(D, "LogUniformCandidateSampler", _sampler("log_uniform"), _true, RANGES, check="shapes")
add(D, "LearnedUnigramCandidateSampler", _sampler("learned_unigram"), _true, RANGES, check="shapes")
add(D, "ComputeAccidentalHits", lambda tf, t, s: tf.nn.compute_accidental_hits(t, s, 2),
    lambda n, r: (integers(r, n, n // 10, 2, dtype=np.int64), np.arange(n // 10, dtype=np.int64)), RANGES)  # fmt: skip

# ---- temporal classification: (frames, batch, classes, labels)

T = "temporal classification"
SPEECH = ((10, 2, 10, 3), (50, 8, 30, 10), (100, 32, 60, 20))


def _speech(extent, r):
    frames, batch, classes, labels = extent
    return normal(r, frames, batch, classes), integers(r, classes - 1, batch * labels)


def _lengths(x):
    return np.full(x.shape[1].value, x.shape[0].value, np.int32)


def _ctc(tf, x, y):
    batch = x.shape[1].value
    count = y.shape[0].value // batch
    places = np.stack([np.repeat(np.arange(batch), count), np.tile(np.arange(count), batch)], 1).astype(np.int64)
    return tf.nn.ctc_loss(tf.SparseTensor(places, tf.identity(y), [batch, count]), x, _lengths(x),
                          ignore_longer_outputs_than_inputs=True)  # fmt: skip


add(T, "CTCLoss", _ctc, _speech, SPEECH, gradient=True, tolerance=1e-3)
add(T, "CTCGreedyDecoder", lambda tf, x, y: tf.nn.ctc_greedy_decoder(x, _lengths(x)), _speech, SPEECH, tolerance=1e-3)
add(T, "CTCBeamSearchDecoder", lambda tf, x, y: tf.nn.ctc_beam_search_decoder(x, _lengths(x), 10)[1], _speech,
    ((10, 2, 10, 3), (25, 4, 20, 10), (50, 8, 30, 10)), tolerance=1e-2)  # fmt: skip
