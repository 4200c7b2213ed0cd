"""The logistic loss and its gradient as one node each: what is recognised, what is not, and the same values."""

import numpy as np
import pytest
from passes.steps import piped

import headrace as tf

EXTREME = np.array([[-np.inf, -1e4, -88.0, -1e-7], [-0.0, 0.0, 1e-7, np.nan], [30.0, 88.0, 1e4, np.inf]], np.float32)


def types(*fetches, feeds=()):  # type: ignore[no-untyped-def]
    return [n.type for n in piped(list(fetches), list(feeds)).nodes]


def loss_of(shape, dtype=tf.float32):  # type: ignore[no-untyped-def]
    """Logits, labels, the loss of each element, and the gradient of their weighted sum."""
    x, z = tf.placeholder(dtype, shape), tf.placeholder(dtype, shape)
    loss = tf.nn.sigmoid_cross_entropy_with_logits(labels=z, logits=x)
    weights = tf.constant(np.arange(12).reshape(3, 4) / 7 - 0.5, dtype)
    return x, z, loss, tf.gradients(tf.reduce_sum(loss * weights), [x])[0]


def test_loss_and_gradient_are_one_node_each() -> None:
    x, z, loss, grad = loss_of([3, 4])
    left = types(loss, grad, feeds=(x, z))
    assert left.count("_LogisticLoss") == left.count("_TimesSigmoid") == 1
    assert not {"Select", "Exp", "Log1p", "GreaterEqual", "RealDiv"} & set(left)


@pytest.mark.parametrize("shape", [[3, 4], [None, 4]])
@pytest.mark.parametrize("dtype", [tf.float32, tf.float64])
def test_same_values(shape, dtype, monkeypatch: pytest.MonkeyPatch) -> None:  # type: ignore[no-untyped-def]
    random = np.random.RandomState(0)
    x, z, loss, grad = loss_of(shape, dtype)
    for logits in (random.randn(3, 4) * 5, EXTREME):
        got = []
        for off in ("", "simplify", "arrays"):
            monkeypatch.setenv("HEADRACE_PASSES_OFF", off)
            with tf.Session(config=tf.ConfigProto(compile="off")) as session:
                feeds = {x: logits, z: np.eye(3, 4)}
                for _ in range(15):  # the plan for fed shapes is made after some runs
                    last = session.run([loss, grad], feeds)
                got.append(last)
        for a, b, c in zip(*got, strict=True):
            np.testing.assert_allclose(a, b, rtol=1e-5, atol=1e-7)
            np.testing.assert_allclose(c, b, rtol=1e-5, atol=1e-7)


def test_of_scalars() -> None:
    x, z = tf.placeholder(tf.float32, []), tf.placeholder(tf.float32, [])
    loss = tf.nn.sigmoid_cross_entropy_with_logits(labels=z * 0.5, logits=x - 1.0)
    likelihood = tf.exp(-loss)  # enough nodes for a plan on arrays
    assert "_LogisticLoss" in types(likelihood, feeds=(x, z))
    with tf.Session(config=tf.ConfigProto(compile="off")) as session:
        got = session.run(likelihood, {x: 3.0, z: 1.0})
    assert got == pytest.approx(np.exp(-1.0) / (1.0 + np.exp(-2.0)))


def test_a_fetched_part_stays() -> None:
    x, z, loss, grad = loss_of([3, 4])
    exponential = next(op for op in tf.get_default_graph().get_operations() if op.type == "Exp").outputs[0]
    assert "Exp" in types(loss, grad, exponential, feeds=(x, z))


def test_part_of_another_device_or_that_waits_is_left_alone() -> None:
    x, z = tf.placeholder(tf.float32, [2]), tf.placeholder(tf.float32, [2])
    v = tf.Variable([1.0, 2.0])
    zeros = tf.zeros_like(x)
    positive = tf.greater_equal(x, zeros)
    with tf.control_dependencies([v.assign_add([1.0, 1.0])]):
        decay = tf.exp(tf.where(positive, -x, x))
    loss = tf.where(positive, x, zeros) - x * z + tf.log1p(decay)
    assert "_LogisticLoss" not in types(loss, feeds=(x, z))


def test_other_formulas_are_left_alone() -> None:
    x, z = tf.placeholder(tf.float32, [2]), tf.placeholder(tf.float32, [2])
    zeros = tf.zeros_like(x)
    positive = tf.greater_equal(x, zeros)
    usual = tf.exp(tf.where(positive, -x, x))
    for loss in (
        tf.where(positive, x, zeros) - z * z + tf.log1p(usual),
        tf.where(positive, x, tf.ones_like(x)) - x * z + tf.log1p(usual),
        tf.where(positive, x, zeros) - x * z + tf.log1p(tf.exp(tf.where(positive, x, -x))),
        tf.where(tf.greater_equal(z, zeros), x, zeros) - x * z + tf.log1p(usual),
        tf.where(positive, x, zeros) - x * tf.reshape(z, [2, 1]) + tf.log1p(usual),
    ):
        assert "_LogisticLoss" not in types(loss, feeds=(x, z))
