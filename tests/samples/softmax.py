"""Samples of softmax and the cross entropies."""

import numpy as np

from headrace.core import errors
from headrace.library.testing.opcheck import Sample

LOGITS = np.array([[0.5, -1.0, 2.0, 0.1], [3.0, 0.2, -0.4, 1.1], [0.0, 0.3, 0.7, -2.0]], np.float32)
GRAD = np.array([[1.0, -0.5, 0.3, 0.2], [0.4, 1.2, -0.7, 0.9], [-1.1, 0.6, 0.8, 0.1]], np.float32)
# Rows sum to one: the loss's gradient takes that for granted.
LABELS = np.array([[0.1, 0.2, 0.3, 0.4], [0.25, 0.25, 0.5, 0.0], [0.0, 0.0, 1.0, 0.0]], np.float32)
CLASSES = np.array([2, 0, 3])
PROBABILITY = np.exp(LOGITS) / np.exp(LOGITS).sum(-1, keepdims=True)


def _plain() -> list[Sample]:
    return [
        Sample([LOGITS]),
        Sample([LOGITS.astype(np.float64)]),
        Sample([LOGITS.astype(np.float16)], gradient=False),
        Sample([LOGITS[0]], note="vector"),
        Sample([np.stack([LOGITS, GRAD])], note="rank 3"),
        Sample([np.array([[1000.0, 0.0, -1000.0]])], gradient=False, note="large"),
        Sample([np.zeros((0, 3), np.float32)], note="empty"),
        Sample([np.float32(1.0)], error=ValueError),
    ]


def _gradient(second: np.ndarray) -> list[Sample]:
    return [
        Sample([GRAD, second]),
        Sample([GRAD.astype(np.float64), second.astype(np.float64)]),
        Sample([GRAD[0], second[0]], note="vector"),
        Sample([np.zeros((0, 3), np.float32)] * 2, note="empty"),
        Sample([GRAD, second[:2]], error=ValueError),
    ]


SAMPLES = {
    "Softmax": _plain(),
    "LogSoftmax": _plain(),
    "_SoftmaxGrad": _gradient(PROBABILITY),
    "_LogSoftmaxGrad": _gradient(np.log(PROBABILITY)),
    "SoftmaxCrossEntropyWithLogits": [
        # As in TF1, labels get no gradient through the backprop output.
        Sample([LOGITS, LABELS], wrt=["features"]),
        Sample([LOGITS.astype(np.float64), LABELS.astype(np.float64)], wrt=["features"]),
        Sample([LOGITS.astype(np.float16), LABELS.astype(np.float16)], gradient=False),
        Sample([LOGITS, LABELS[:1]], wrt=["features"], note="labels broadcast"),
        Sample([LOGITS[:1], LABELS], wrt=["features"], note="features broadcast"),
        Sample([np.zeros((0, 3), np.float32)] * 2, wrt=["features"], note="no rows"),
        Sample([LOGITS, LABELS[:2]], error=ValueError),
        Sample([LOGITS[0], LABELS[0]], error=ValueError),
    ],
    "SparseSoftmaxCrossEntropyWithLogits": [
        Sample([LOGITS, CLASSES.astype(np.int32)]),
        Sample([LOGITS.astype(np.float64), CLASSES.astype(np.int64)]),
        Sample([LOGITS.astype(np.float16), CLASSES.astype(np.int64)], gradient=False),
        Sample([np.zeros((0, 3), np.float32), np.zeros(0, np.int32)], note="no rows"),
        Sample([LOGITS, np.array([0, 1, 4], np.int32)], error=errors.InvalidArgumentError),
        Sample([LOGITS, np.array([0, -1, 1], np.int64)], error=errors.InvalidArgumentError),
        Sample([LOGITS, CLASSES[:2].astype(np.int32)], error=ValueError),
        Sample([LOGITS[0], CLASSES.astype(np.int32)], error=ValueError),
    ],
}
