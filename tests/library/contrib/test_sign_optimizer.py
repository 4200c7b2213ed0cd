"""contrib.opt's AddSign, PowerSign, LARS, clipped variables and tasks, against numpy; monotonic attention."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from running import initialize_and_run, initialized_session, run

import headrace as tf

opt = tf.contrib.opt
START = np.array([[1.0, -2.0], [3.0, 4.0]])
GRADS = [np.array([[1.0, -0.5], [0.2, -1.0]]), np.array([[-1.0, 0.5], [0.2, 1.0]]), np.array([[0.3, 0.5], [-0.2, 1.0]])]


def _run(make: Callable[[Any], Any], grads: list[np.ndarray], sparse: bool = False) -> np.ndarray:
    v, g = tf.Variable(START), tf.placeholder(tf.float64, [2, 2])
    step = tf.train.get_or_create_global_step()
    train = make(v).apply_gradients([(tf.IndexedSlices(g, [0, 1], [2, 2]) if sparse else g, v)], global_step=step)
    with initialized_session() as session:
        for grad in grads:
            session.run(train, {g: grad})
        return session.run(v)


@pytest.mark.parametrize("sparse", [False, True])
@pytest.mark.parametrize("kind", ["AddSignOptimizer", "PowerSignOptimizer"])
def test_signs(kind: str, sparse: bool) -> None:
    v, m = START.copy(), 0 * START
    for i, g in enumerate(GRADS):
        m = 0.9 * m + 0.1 * g
        agree = (1 - i / 10) * np.sign(g) * np.sign(m)
        v -= 0.1 * (1 + agree if kind == "AddSignOptimizer" else np.exp(agree)) * g
    make = getattr(opt, kind)
    found = _run(lambda _: make(0.1, sign_decay_fn=opt.get_linear_decay_fn(10)), GRADS, sparse)
    np.testing.assert_allclose(found, v, atol=1e-6)


def test_decays(session: tf.Session) -> None:
    step = tf.placeholder(tf.int64, [])
    cosine, restart = (
        opt.get_cosine_decay_fn(10, zero_after=0.8)(step),
        opt.get_restart_decay_fn(10, num_periods=2)(step),
    )
    found = np.array([session.run([cosine, restart], {step: s}) for s in (0, 2, 5, 7, 9)])
    expected = [0.5 * (1 + np.cos(np.pi * s / 10)) if s < 8 else 0.0 for s in (0, 2, 5, 7, 9)]
    np.testing.assert_allclose(found[:, 0], expected, atol=1e-6)
    np.testing.assert_allclose(
        found[:, 1], [0.5 * (1 + np.cos(np.pi * (s / 5 % 1))) for s in (0, 2, 5, 7, 9)], atol=1e-6
    )
    with pytest.raises(ValueError, match="global_step is required"):
        opt.get_linear_decay_fn(3)(None)


def test_lars() -> None:
    v, momentum = START.copy(), 0 * START
    for g in GRADS:
        w_norm, g_norm = np.linalg.norm(v), np.linalg.norm(g)
        rate = 0.1 * 0.001 * w_norm / (g_norm + 1e-4 * w_norm)
        momentum = 0.9 * momentum + g + 1e-4 * v
        v = v - rate * momentum
    np.testing.assert_allclose(_run(lambda _: opt.LARSOptimizer(0.1), GRADS), v, atol=1e-7)


def test_variables_are_clipped_after_the_step() -> None:
    found = _run(
        lambda v: opt.VariableClippingOptimizer(tf.train.GradientDescentOptimizer(0.1), {v: [1]}, 2.0), GRADS[:1]
    )
    moved = START - 0.1 * GRADS[0]
    norms = np.linalg.norm(moved, axis=1, keepdims=True)
    np.testing.assert_allclose(found, moved * np.minimum(1, 2.0 / norms), rtol=1e-5)


def test_a_task_without_gradient_leaves_momentum_alone() -> None:
    def make(_: Any) -> Any:
        return opt.MultitaskOptimizerWrapper(tf.train.MomentumOptimizer(0.1, 0.9))

    np.testing.assert_allclose(_run(make, [GRADS[0], 0 * GRADS[0]]), START - 0.1 * GRADS[0])
    with pytest.raises(TypeError, match="must be an instance of Optimizer"):
        opt.MultitaskOptimizerWrapper(3)  # type: ignore[arg-type]


# ---- monotonic attention

seq2seq = tf.contrib.seq2seq
CHANCES = np.random.RandomState(0).rand(2, 5).astype(np.float32)
BEFORE = np.array([[1, 0, 0, 0, 0], [0.2, 0.3, 0.5, 0, 0]], np.float32)


def _stops() -> np.ndarray:
    """Position after position: what arrives there, and stops with its chance."""
    found = np.zeros((2, 5))
    for row in range(2):
        arriving = 0.0
        for i in range(5):
            arriving = arriving * (1 - CHANCES[row, i - 1] if i else 1) + BEFORE[row, i]
            found[row, i] = CHANCES[row, i] * arriving
    return found


@pytest.mark.parametrize("mode", ["recursive", "parallel"])
def test_monotonic_attention(session: tf.Session, mode: str) -> None:
    p = tf.constant(CHANCES)
    found = seq2seq.monotonic_attention(p, BEFORE, mode)
    slopes = tf.gradients(found * np.arange(5, dtype=np.float32), p)[0]
    np.testing.assert_allclose(session.run(found), _stops(), atol=1e-5)
    assert np.isfinite(session.run(slopes)).all()


def test_hard_attention_moves_to_the_next_stop() -> None:
    chances = np.array([[1, 0, 1, 0, 1.0], [0, 0, 1, 1, 0]], np.float32)
    before = np.array([[0, 1, 0, 0, 0.0], [0, 1, 0, 0, 0]], np.float32)
    found = run(seq2seq.monotonic_attention(chances, before, "hard"))
    assert found.argmax(1).tolist() == [2, 2]
    with pytest.raises(ValueError, match="mode must be"):
        seq2seq.monotonic_attention(chances, before, "soft")


@pytest.mark.parametrize("kind", ["BahdanauMonotonicAttention", "LuongMonotonicAttention"])
def test_in_a_decoder(kind: str) -> None:
    memory = tf.constant(np.random.RandomState(1).randn(2, 5, 3).astype(np.float32))
    options = {"normalize": True} if kind.startswith("B") else {"scale": True}
    attention = getattr(seq2seq, kind)(
        3, memory, memory_sequence_length=[5, 3], score_bias_init=-1.0, sigmoid_noise=0.5, **options
    )
    cell = seq2seq.AttentionWrapper(tf.nn.rnn_cell.LSTMCell(3), attention, alignment_history=True)
    outputs, state = tf.nn.dynamic_rnn(cell, tf.ones([2, 4, 3]), dtype=tf.float32)
    grads = tf.gradients(tf.reduce_sum(outputs), tf.trainable_variables())
    start, last, found = initialize_and_run([attention.initial_alignments(2, tf.float32), state.alignments, grads])
    assert start.tolist() == [[1, 0, 0, 0, 0]] * 2
    assert (last.sum(1) <= 1 + 1e-5).all() and not last[1, 3:].any()
    assert all(np.isfinite(np.asarray(g)).all() for g in found)
    names = {v.op.name.rsplit("/", 1)[1] for v in tf.trainable_variables()}
    assert {"attention_score_bias", "attention_g"} <= names


def test_clipping_changes_the_rows_of_the_gradient_only():
    table = tf.Variable([[3.0, 4.0], [30.0, 40.0], [0.3, 0.4]])
    loss = tf.reduce_sum(tf.gather(table, [0, 0, 2])) * 0.0
    optimizer = opt.VariableClippingOptimizer(tf.train.GradientDescentOptimizer(0.1), {table: [1]}, 1.0)
    train = optimizer.minimize(loss)
    with tf.Session() as sess:
        sess.run(tf.global_variables_initializer())
        sess.run(train)
        np.testing.assert_allclose(sess.run(table), [[0.6, 0.8], [30.0, 40.0], [0.3, 0.4]], rtol=1e-6)
