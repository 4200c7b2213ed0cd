"""Losses, run by real TensorFlow (make_cases.py) and by Headrace (tests/library/losses/test_losses.py)."""

import numpy as np

_STATE = np.random.RandomState(0)
LABELS = _STATE.randint(0, 2, [3, 4]).astype(np.float32)
PREDICTIONS = _STATE.rand(3, 4).astype(np.float32)
CUBES = _STATE.rand(2, 2, 3, 2).astype(np.float32)
REDUCTIONS = (
    "none",
    "weighted_sum",
    "weighted_mean",
    "weighted_sum_over_batch_size",
    "weighted_sum_by_nonzero_weights",
)
FUNCTIONS = (
    "absolute_difference", "cosine_distance", "hinge_loss", "huber_loss", "log_loss", "mean_pairwise_squared_error",
    "mean_squared_error", "sigmoid_cross_entropy", "softmax_cross_entropy",
)  # fmt: skip


def _call(tf, function, labels=LABELS, predictions=PREDICTIONS, **options):
    if function == "cosine_distance":
        options["axis"] = 1
    return getattr(tf.losses, function)(tf.constant(labels), tf.constant(predictions), **options)


def _cases():
    for function in FUNCTIONS:
        columns = [1.0, 0.0, 2.0] if function == "softmax_cross_entropy" else [[1.0], [0.0], [2.0]]
        yield function, lambda tf, f=function: _call(tf, f)
        yield f"{function} weights", lambda tf, f=function, w=columns: _call(tf, f, weights=w)
        yield f"{function} scalar weight", lambda tf, f=function: _call(tf, f, weights=0.5)
        yield f"{function} no weight", lambda tf, f=function: _call(tf, f, weights=0.0)
        if function != "mean_pairwise_squared_error":
            for how in REDUCTIONS:
                yield f"{function} {how}", lambda tf, f=function, h=how, w=columns: _call(tf, f, weights=w, reduction=h)
    yield "delta", lambda tf: _call(tf, "huber_loss", delta=0.4)
    yield "epsilon", lambda tf: _call(tf, "log_loss", epsilon=0.1)
    yield "sparse", lambda tf: tf.losses.sparse_softmax_cross_entropy([0, 1, 3], tf.constant(PREDICTIONS))
    yield (
        "sparse column",
        lambda tf: tf.losses.sparse_softmax_cross_entropy(
            tf.constant([[0], [1], [3]]), tf.constant(PREDICTIONS), weights=tf.constant([1.0, 0.0, 2.0])
        ),
    )
    yield "smoothing", lambda tf: _call(tf, "softmax_cross_entropy", label_smoothing=0.1)
    yield "sigmoid smoothing", lambda tf: _call(tf, "sigmoid_cross_entropy", label_smoothing=0.1)
    yield "integers", lambda tf: tf.losses.mean_squared_error(tf.constant([1, 2]), tf.constant([2, 4]))
    yield "scope", lambda tf: _call(tf, "mean_squared_error", scope="hey")
    yield "cubes", lambda tf: _call(tf, "mean_pairwise_squared_error", CUBES[0], CUBES[1], weights=np.float32(2))
    yield "weighted", lambda tf: tf.losses.compute_weighted_loss(PREDICTIONS, PREDICTIONS[:1] + 1)


CASES = dict(_cases())
