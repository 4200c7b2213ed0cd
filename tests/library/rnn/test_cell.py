"""Behaviour of cells and wrappers that needs no TensorFlow beside it: names, reuse, dropout, errors, contrib's cells."""

import copy

import numpy as np
import pytest
from running import initialize_and_run as evaluate
from running import initialized_session

import headrace as tf

cells = tf.contrib.rnn


def sigmoid(x):
    return 1 / (1 + np.exp(-x))


def names():
    return [v.name for v in tf.trainable_variables()]


X = np.cos(np.arange(24, dtype=np.float32)).reshape(2, 4, 3)


# ---- variables


def test_a_cell_keeps_its_variables_between_calls():
    cell = tf.nn.rnn_cell.GRUCell(2)
    state = cell.zero_state(2, tf.float32)
    for _ in range(3):
        _, state = cell(tf.constant(X[:, 0]), state)
    assert len(tf.trainable_variables()) == 4
    assert cell.trainable_weights == tf.trainable_variables()


def test_scopes_name_variables():
    with tf.variable_scope("outer"):
        tf.nn.dynamic_rnn(tf.nn.rnn_cell.BasicRNNCell(2), tf.constant(X), dtype=tf.float32, scope="net")
    assert names() == ["outer/net/basic_rnn_cell/kernel:0", "outer/net/basic_rnn_cell/bias:0"]


def test_two_cells_in_one_scope_need_reuse():
    with tf.variable_scope("net"):
        first, _ = tf.nn.rnn_cell.BasicRNNCell(2)(tf.constant(X[:, 0]), tf.zeros([2, 2]))
    with tf.variable_scope("net", reuse=True):
        second, _ = tf.nn.rnn_cell.BasicRNNCell(2)(tf.constant(X[:, 0]), tf.zeros([2, 2]))
    assert len(names()) == 2
    np.testing.assert_array_equal(*evaluate([first, second]))


def test_weights_of_a_cell_built_in_a_loop_can_be_read_and_set():
    cell = tf.nn.rnn_cell.BasicRNNCell(2)
    tf.nn.dynamic_rnn(cell, tf.constant(X), dtype=tf.float32)
    with tf.Session() as session, session.as_default():
        session.run(tf.global_variables_initializer())
        cell.set_weights([np.ones([5, 2]), np.zeros([2])])
        np.testing.assert_array_equal(cell.get_weights()[0], np.ones([5, 2]))


def test_a_copied_cell_has_variables_of_its_own():
    cell = tf.nn.rnn_cell.MultiRNNCell([tf.nn.rnn_cell.BasicLSTMCell(2)])
    other = copy.deepcopy(cell)
    for i, one in enumerate((cell, other)):
        with tf.variable_scope(f"net{i}"):
            one(tf.constant(X[:, 0]), one.zero_state(2, tf.float32))
    assert [n.split("/")[0] for n in names()] == ["net0", "net0", "net1", "net1"]


def test_zero_states():
    cell = tf.nn.rnn_cell.MultiRNNCell([tf.nn.rnn_cell.BasicLSTMCell(2), tf.nn.rnn_cell.GRUCell(3)])
    batch = tf.placeholder(tf.int32, [])
    state = cell.zero_state(batch, tf.float64)
    assert isinstance(state[0], tf.nn.rnn_cell.LSTMStateTuple)
    assert state[1].shape.as_list() == [None, 3]
    values = evaluate(state, {batch: 4})
    assert values[0].c.shape == (4, 2)
    assert values[1].dtype == np.float64


# ---- errors


def test_errors_say_what_is_wrong():
    cell = tf.nn.rnn_cell.BasicLSTMCell(2)
    with pytest.raises(ValueError, match="must give a dtype"):
        tf.nn.dynamic_rnn(cell, tf.constant(X))
    with pytest.raises(TypeError, match="not an RNNCell"):
        tf.nn.dynamic_rnn(lambda x, s: (x, s), tf.constant(X), dtype=tf.float32)
    with pytest.raises(ValueError, match="vector of length batch_size"):
        tf.nn.dynamic_rnn(cell, tf.constant(X), [[1, 2]], dtype=tf.float32)
    with pytest.raises(ValueError, match="state_is_tuple is not set"):
        tf.nn.rnn_cell.MultiRNNCell([cell], state_is_tuple=False)
    with pytest.raises(ValueError, match="at least one cell"):
        tf.nn.rnn_cell.MultiRNNCell([])
    with pytest.raises(ValueError, match="between 0 and 1"):
        tf.nn.rnn_cell.DropoutWrapper(cell, 1.5)
    with pytest.raises(ValueError, match="input_size must be provided"):
        tf.nn.rnn_cell.DropoutWrapper(cell, 0.5, variational_recurrent=True, dtype=tf.float32)
    with pytest.raises(TypeError, match="sequence"):
        tf.nn.static_rnn(cell, tf.constant(X), dtype=tf.float32)
    with pytest.raises(ValueError, match="must not be empty"):
        tf.nn.static_rnn(cell, [], dtype=tf.float32)


def test_lengths_that_do_not_fit_the_batch_fail_when_they_run():
    lengths = tf.placeholder(tf.int32, [None])
    outputs, _ = tf.nn.dynamic_rnn(tf.nn.rnn_cell.GRUCell(2), tf.constant(X), lengths, dtype=tf.float32)
    with pytest.raises(tf.errors.InvalidArgumentError, match="Expected shape for Tensor"):
        evaluate(outputs, {lengths: [1, 2, 3]})


# ---- dropout


def test_dropout_spares_what_an_lstm_remembers():
    cell = tf.nn.rnn_cell.DropoutWrapper(tf.nn.rnn_cell.BasicLSTMCell(50), state_keep_prob=0.5)
    _, state = cell(tf.constant(X[:, 0]), cell.zero_state(2, tf.float32))
    c, h = evaluate(state)
    assert np.count_nonzero(c) == c.size
    assert 0 < np.count_nonzero(h) < h.size


def test_variational_dropout_drops_the_same_at_every_step():
    wrap = tf.nn.rnn_cell.DropoutWrapper(
        tf.nn.rnn_cell.BasicRNNCell(40), output_keep_prob=0.5, variational_recurrent=True, dtype=tf.float32, seed=7
    )
    outputs, _ = tf.nn.dynamic_rnn(wrap, tf.constant(X), dtype=tf.float32)
    values = evaluate(outputs)
    dropped = (values == 0).all(axis=(0, 1))
    assert 0 < dropped.sum() < 40
    assert ((values == 0) == dropped).all()


def test_keep_probabilities_may_be_tensors():
    keep = tf.placeholder_with_default(1.0, [])
    cell = tf.nn.rnn_cell.DropoutWrapper(tf.nn.rnn_cell.BasicRNNCell(30), keep, keep, keep)
    outputs, _ = tf.nn.dynamic_rnn(cell, tf.constant(X), dtype=tf.float32)
    with initialized_session() as session:
        assert np.count_nonzero(session.run(outputs)) == 240
        assert np.count_nonzero(session.run(outputs, {keep: 0.5})) < 200


def test_a_device_wrapper_places_its_cell():
    cell = tf.nn.rnn_cell.DeviceWrapper(tf.nn.rnn_cell.BasicRNNCell(2), "/cpu:0")
    output, _ = cell(tf.constant(X[:, 0]), cell.zero_state(2, tf.float32))
    assert output.op.device.lower().endswith("cpu:0")


# ---- contrib.rnn


def test_layer_norm_lstm():
    cell = cells.LayerNormBasicLSTMCell(4)
    output, state = cell(tf.constant(X[:, 0]), cell.zero_state(2, tf.float32))
    kernel, value, c = evaluate([cell.trainable_weights[0], output, state.c])

    def norm(x):
        return (x - x.mean(1, keepdims=True)) / np.sqrt(x.var(1, keepdims=True) + 1e-12)

    i, j, f, o = (norm(p) for p in np.split(np.concatenate([X[:, 0], np.zeros([2, 4])], 1) @ kernel, 4, axis=1))
    new_c = norm(sigmoid(i) * np.tanh(j))
    np.testing.assert_allclose(c, new_c, rtol=1e-4, atol=1e-5)
    np.testing.assert_allclose(value, np.tanh(new_c) * sigmoid(o), rtol=1e-4, atol=1e-5)
    assert names()[:2] == ["layer_norm_basic_lstm_cell/kernel:0", "layer_norm_basic_lstm_cell/input/gamma:0"]


def test_update_gate_cell():
    cell = cells.UGRNNCell(3)
    output, _ = cell(tf.constant(X[:, 0]), tf.ones([2, 3]))
    kernel, value = evaluate([cell.trainable_weights[0], output])
    gate, candidate = np.split(np.concatenate([X[:, 0], np.ones([2, 3])], 1) @ kernel, 2, axis=1)
    gate = sigmoid(gate + 1)
    np.testing.assert_allclose(value, gate + (1 - gate) * np.tanh(candidate), rtol=1e-5, atol=1e-6)


def test_block_cells_are_the_plain_ones():
    with tf.variable_scope("a"):
        first, _ = cells.LSTMBlockCell(3, use_peephole=True)(tf.constant(X[:, 0]), (tf.ones([2, 3]), tf.ones([2, 3])))
    with tf.variable_scope("a", reuse=True):
        plain = tf.nn.rnn_cell.LSTMCell(3, use_peepholes=True)
        second, _ = plain(tf.constant(X[:, 0]), (tf.ones([2, 3]), tf.ones([2, 3])))
    assert len(names()) == 5
    np.testing.assert_array_equal(*evaluate([first, second]))


@pytest.mark.parametrize(
    ("make", "size", "first"),
    [
        (lambda: cells.InputProjectionWrapper(cells.GRUCell(4), 2), 4, "input_projection_wrapper/kernel:0"),
        (
            lambda: cells.OutputProjectionWrapper(cells.BasicRNNCell(4), 2),
            2,
            "output_projection_wrapper/basic_rnn_cell",
        ),
        (lambda: cells.NASCell(4, num_proj=2, use_bias=True), 2, "nas_cell/kernel:0"),
        (lambda: cells.AttentionCellWrapper(cells.BasicLSTMCell(4), 3, 5), 5, "attention_cell_wrapper/kernel:0"),
        (
            lambda: cells.AttentionCellWrapper(cells.GRUCell(4), 3, state_is_tuple=False),
            4,
            "attention_cell_wrapper/kernel:0",
        ),
    ],
)
def test_cells_unroll_alike_in_the_graph_and_in_a_loop(make, size, first):
    cell = make()
    dynamic, _ = tf.nn.dynamic_rnn(cell, tf.constant(X), dtype=tf.float32, scope="net")
    steps = [tf.constant(X[:, t]) for t in range(4)]
    static, _ = tf.nn.static_rnn(cell, steps, dtype=tf.float32, scope="net")
    assert dynamic.shape.as_list() == [2, 4, size]
    assert names()[0].startswith(f"net/{first}")
    gradients = [tf.gradients(tf.reduce_sum(y * y), tf.trainable_variables()) for y in (dynamic, tf.stack(static, 1))]
    one, two, (first_grads, second_grads) = evaluate([dynamic, tf.stack(static, 1), gradients])
    np.testing.assert_allclose(one, two, rtol=1e-5, atol=1e-6)
    for a, b in zip(first_grads, second_grads, strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-4, atol=1e-5)


def test_embedding_wrapper_takes_ids():
    cell = cells.EmbeddingWrapper(cells.BasicRNNCell(4), 5, 2)
    outputs, _ = tf.nn.static_rnn(cell, [tf.constant([1, 2]), tf.constant([2, 0])], dtype=tf.float32)
    assert names()[0] == "rnn/embedding_wrapper/embedding:0"
    assert evaluate(outputs)[1].shape == (2, 4)


def test_fused_cell_and_its_reverse():
    fused = cells.LSTMBlockFusedCell(3)
    turned = cells.TimeReversedFusedRNN(fused)
    x = tf.constant(X.transpose(1, 0, 2))
    forward, _ = fused(tf.reverse(x, [0]), dtype=tf.float32)
    backward, _ = turned(x, dtype=tf.float32)
    one, two = evaluate([forward, backward])
    np.testing.assert_allclose(one[::-1], two, rtol=1e-6)
    assert names() == ["lstm_fused_cell/kernel:0", "lstm_fused_cell/bias:0"]


def test_stacked_bidirectional_layers():
    make = lambda: [cells.GRUCell(2), cells.GRUCell(3)]  # noqa: E731
    outputs, fw, bw = cells.stack_bidirectional_dynamic_rnn(make(), make(), tf.constant(X), dtype=tf.float32)
    assert outputs.shape.as_list() == [2, 4, 6]
    assert [s.shape.as_list() for s in (*fw, *bw)] == [[2, 2], [2, 3], [2, 2], [2, 3]]
    assert names()[0] == "stack_bidirectional_rnn/cell_0/bidirectional_rnn/fw/gru_cell/gates/kernel:0"


def test_a_saved_state_carries_over():
    class Saver:
        def __init__(self):
            self.kept = tf.Variable(tf.zeros([2, 2]), trainable=False)

        def state(self, name):
            return self.kept.read_value()

        def save_state(self, name, value):
            return tf.assign(self.kept, value)

    steps = [tf.constant(X[:, 0])]
    outputs, _ = tf.nn.static_state_saving_rnn(tf.nn.rnn_cell.BasicRNNCell(2), steps, Saver(), "s")
    with initialized_session() as session:
        first, second = session.run(outputs[0]), session.run(outputs[0])
    assert np.abs(first - second).max() > 1e-4
