"""Losses of embeddings against their definitions, pair by pair in NumPy; their gradients numerically."""

import numpy as np
import pytest

import headrace as tf

learning = tf.contrib.losses.metric_learning
RANDOM = np.random.default_rng(3)
LABELS = np.array([0, 1, 0, 2, 1, 0], np.int32)
VECTORS = RANDOM.normal(size=(6, 4)).astype(np.float32)
OTHERS = RANDOM.normal(size=(6, 4)).astype(np.float32)
SQUARED = ((VECTORS[:, None] - VECTORS[None]) ** 2).sum(-1).astype(np.float64)
PAIRS = [(i, j) for i in range(6) for j in range(6) if i != j and LABELS[i] == LABELS[j]]


def _contrastive(labels: np.ndarray) -> float:
    d2 = ((VECTORS - OTHERS) ** 2).sum(1)
    return float(np.mean(labels * d2 + (1 - labels) * np.maximum(3.0 - np.sqrt(d2), 0) ** 2))


def _triplet() -> float:
    total = 0.0
    for i, j in PAIRS:
        negatives = SQUARED[i][LABELS[i] != LABELS]
        beyond = negatives[negatives > SQUARED[i, j]]
        total += max(1.0 + SQUARED[i, j] - (beyond.min() if beyond.size else negatives.max()), 0)
    return total / len(PAIRS)


def _entropy(same: np.ndarray) -> float:
    similarity = VECTORS @ OTHERS.T
    logs = similarity - np.log(np.exp(similarity).sum(1, keepdims=True))
    goal = same / same.sum(1, keepdims=True)
    penalty = 0.25 * 0.002 * ((VECTORS**2).sum(1).mean() + (OTHERS**2).sum(1).mean())
    return float(penalty - (goal * logs).sum(1).mean())


def _lifted() -> float:
    distance = np.sqrt(SQUARED)
    total = 0.0
    for i, j in PAIRS:
        negatives = [np.exp(1.0 - distance[a][LABELS[a] != LABELS]).sum() for a in (i, j)]
        total += max(np.log(sum(negatives)) + distance[i, j], 0) ** 2
    return total / (2 * len(PAIRS))


def _multilabel() -> list[tf.SparseTensor]:
    return [tf.SparseTensor([[0, int(label)], [0, 3]], [1, 1], [1, 4]) for label in LABELS]


def test_against_their_definitions() -> None:
    ones = (LABELS == 0).astype(np.int32)
    same = (LABELS[:, None] == LABELS[None]).astype(np.float64)
    x = tf.constant(VECTORS)
    cases = [
        (learning.contrastive_loss(ones, x, OTHERS, margin=3.0), _contrastive(ones)),
        (learning.triplet_semihard_loss(LABELS, x), _triplet()),
        (learning.npairs_loss(LABELS, x, OTHERS), _entropy(same)),
        (learning.npairs_loss_multilabel(_multilabel(), x, OTHERS), _entropy(same + 1)),
        (learning.lifted_struct_loss(LABELS, x), _lifted()),
    ]
    gradients = tf.gradients(tf.add_n([loss for loss, _ in cases]), x)[0]
    with tf.Session() as sess:
        values, gradient = sess.run([[loss for loss, _ in cases], gradients])
    np.testing.assert_allclose(values, [expected for _, expected in cases], rtol=1e-5)
    assert np.isfinite(gradient).all() and np.abs(gradient).max() > 0.1


@pytest.mark.parametrize("name", ["contrastive", "triplet_semihard", "npairs", "lifted_struct"])
def test_gradients(name: str) -> None:
    x = tf.constant(VECTORS)
    loss = getattr(learning, f"{name}_loss")
    both = name in ("contrastive", "npairs")
    y = loss((LABELS == 0).astype(np.int32), x, OTHERS, 3.0) if both else loss(LABELS, x)
    with tf.Session():
        assert tf.test.compute_gradient_error(x, [6, 4], y, [], VECTORS, delta=1e-3) < 0.05


def test_equal_embeddings_have_finite_gradients() -> None:
    x = tf.zeros([4, 3])
    labels = [0, 0, 1, 1]
    loss = learning.lifted_struct_loss(labels, x) + learning.triplet_semihard_loss(labels, x)
    loss += learning.contrastive_loss(labels, x, x)
    with tf.Session() as sess:
        assert np.isfinite(sess.run(tf.gradients(loss, x)[0])).all()
