"""Layers over whole sequences beside cells with the same weights: outputs, states, lengths, names, checkpoints, dropout."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import headrace as tf

cudnn = tf.contrib.cudnn_rnn
ROWS = np.random.RandomState(0).randn(4, 2, 3).astype(np.float32)  # [time, batch, size]


def _sigmoid(x: Any) -> Any:
    return 1 / (1 + np.exp(-x))


@pytest.mark.parametrize(
    ("layer", "cell", "parts"),
    [
        (cudnn.CudnnLSTM, lambda: cudnn.CudnnCompatibleLSTMCell(3), 2),
        (cudnn.CudnnGRU, lambda: cudnn.CudnnCompatibleGRUCell(3), 1),
        (cudnn.CudnnRNNTanh, lambda: tf.nn.rnn_cell.BasicRNNCell(3, name="basic_rnn_cell"), 1),
        (cudnn.CudnnRNNRelu, lambda: tf.nn.rnn_cell.BasicRNNCell(3, tf.nn.relu, name="basic_rnn_cell"), 1),
    ],
)
@pytest.mark.parametrize("direction", ["unidirectional", "bidirectional"])
def test_cells_take_over_a_checkpoint(layer: Any, cell: Any, parts: int, direction: str, tmp_path: Path) -> None:
    lengths = [4, 2]
    with tf.Graph().as_default():
        net = layer(2, 3, direction=direction, bias_initializer=tf.random_normal_initializer(seed=1), name="net")
        outputs, state = net(tf.constant(ROWS), sequence_lengths=lengths)
        assert isinstance(state, tuple) and len(state) == parts
        assert [s.shape.as_list() for s in state] == [list(s) for s in net.state_shape(2)]
        assert net.trainable_weights == tf.trainable_variables()
        assert all(g is not None for g in tf.gradients(tf.reduce_sum(outputs), tf.trainable_variables()))
        with tf.Session() as sess:
            sess.run(tf.global_variables_initializer())
            expected, expected_state = sess.run([outputs, state])
            path = tf.train.Saver().save(sess, str(tmp_path / "model"))
    with tf.Graph().as_default(), tf.Session() as sess:
        with tf.variable_scope("net"):
            if direction == "unidirectional":
                both = tf.nn.rnn_cell.MultiRNNCell([cell(), cell()])
                outputs, last = tf.nn.dynamic_rnn(both, tf.constant(ROWS), lengths, dtype=tf.float32, time_major=True)
            else:
                outputs, *last = tf.contrib.rnn.stack_bidirectional_dynamic_rnn(
                    [cell(), cell()], [cell(), cell()], tf.constant(ROWS), sequence_length=lengths, dtype=tf.float32,
                    time_major=True,
                )  # fmt: skip
                last = [s for pair in zip(*last, strict=True) for s in pair]
        tf.train.Saver().restore(sess, path)
        got, last = sess.run([outputs, list(last)])
    np.testing.assert_allclose(expected, got, rtol=1e-5, atol=1e-6)
    names = ("h", "c") if parts == 2 else (None,)
    for name, whole in zip(names, expected_state, strict=True):
        np.testing.assert_allclose(
            whole, np.stack([getattr(s, name) if name else s for s in last]), rtol=1e-5, atol=1e-6
        )


def test_the_formula_of_the_gru_cell() -> None:
    cell = cudnn.CudnnCompatibleGRUCell(3)
    h = np.float32([[0.1, -0.5, 0.3]] * 2)
    output, _ = cell(tf.constant(ROWS[0]), tf.constant(h))
    with tf.Session() as sess:
        sess.run(tf.global_variables_initializer())
        w = {v.op.name.partition("/")[2]: sess.run(v) for v in tf.trainable_variables()}
        got = sess.run(output)
    assert (w["gates/bias"] == 1).all()
    r, u = np.split(_sigmoid(np.concatenate([ROWS[0], h], 1) @ w["gates/kernel"] + w["gates/bias"]), 2, 1)
    hidden = h @ w["candidate/hidden_projection/kernel"] + w["candidate/hidden_projection/bias"]
    inputs = ROWS[0] @ w["candidate/input_projection/kernel"] + w["candidate/input_projection/bias"]
    np.testing.assert_allclose(got, (1 - u) * np.tanh(inputs + r * hidden) + u * h, rtol=1e-5, atol=1e-6)


def test_a_sequence_goes_on_and_layouts_agree() -> None:
    net = cudnn.CudnnLSTM(1, 5, kernel_initializer=tf.constant_initializer(0.1))
    whole, end = net(tf.constant(ROWS))
    _, state = net(tf.constant(ROWS[:2]))
    rest, rest_end = net(tf.constant(ROWS[2:]), initial_state=state)
    turned, turned_end = net(tf.constant(ROWS.transpose(1, 0, 2)), time_major=False)
    assert len(net.trainable_weights) == 2 and len(tf.global_variables()) == 2
    assert tf.global_variables()[0].op.name == "cudnn_lstm/rnn/multi_rnn_cell/cell_0/cudnn_compatible_lstm_cell/kernel"
    with tf.Session() as sess:
        sess.run(tf.global_variables_initializer())
        whole, end, rest, rest_end, turned, turned_end = sess.run([whole, end, rest, rest_end, turned, turned_end])
    np.testing.assert_allclose(whole[2:], rest, rtol=1e-5)
    np.testing.assert_allclose(end, rest_end, rtol=1e-5)
    np.testing.assert_allclose(whole, turned.transpose(1, 0, 2), rtol=1e-5)
    np.testing.assert_allclose(end[0], turned_end[0].transpose(1, 0, 2), rtol=1e-5)


def test_dropout_is_between_layers_while_training() -> None:
    net = cudnn.CudnnGRU(2, 16, dropout=0.5, seed=3)
    training = tf.placeholder_with_default(False, [])
    outputs, _ = net(tf.constant(ROWS), training=training)
    with tf.Session() as sess:
        sess.run(tf.global_variables_initializer())
        quiet = [sess.run(outputs) for _ in range(2)]
        noisy = [sess.run(outputs, {training: True}) for _ in range(2)]
    np.testing.assert_array_equal(*quiet)
    assert np.abs(noisy[0] - quiet[0]).max() > 1e-3 < np.abs(noisy[0] - noisy[1]).max()


def test_matrices_of_gates_start_one_by_one() -> None:
    net = cudnn.CudnnLSTM(1, 50)
    net(tf.zeros([1, 1, 10]))
    with tf.Session() as sess:
        sess.run(tf.global_variables_initializer())
        kernel, bias = sess.run(net.trainable_weights)
    assert (bias == 0).all()
    for rows, size in ((kernel[:10], 60), (kernel[10:], 100)):
        assert 0.9 * np.sqrt(6 / size) < np.abs(rows).max() <= np.sqrt(6 / size)  # Glorot's bound for one gate


@pytest.mark.parametrize(
    ("make", "error", "match"),
    [
        (
            lambda: cudnn.CudnnLSTM(1, 2, direction="both"),
            ValueError,
            "direction must be one of unidirectional, bidirectional",
        ),
        (lambda: cudnn.CudnnLSTM(1, 2, input_mode="skip_input"), NotImplementedError, "use 'linear_input'"),
        (lambda: cudnn.CudnnLSTM(1, 2, dtype=tf.int32), ValueError, "float64, provided <?.*int32"),
        (lambda: cudnn.CudnnLSTM(1, 2)(tf.zeros([2, 3])), ValueError, r"must be \[time, batch, size\]"),
        (lambda: cudnn.CudnnLSTM(1, 2)(tf.zeros([1, 1, 1]), initial_state=(1,)), ValueError, "a tuple of 2 tensors"),
    ],
)
def test_mistakes(make: Any, error: type[Exception], match: str) -> None:
    with pytest.raises(error, match=match):
        make()
