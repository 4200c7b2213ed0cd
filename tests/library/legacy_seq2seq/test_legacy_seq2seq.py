"""contrib.legacy_seq2seq: names, sharing, feeding back, losses, buckets."""

import numpy as np
import pytest
from running import initialize_and_run as evaluate
from running import initialized_session

import headrace as tf

cells, legacy = tf.contrib.rnn, tf.contrib.legacy_seq2seq

ENCODER = [np.array([1, 2]), np.array([3, 0]), np.array([2, 2])]
DECODER = [np.array([1, 2]), np.array([2, 4])]


def names():
    return [v.name for v in tf.trainable_variables()]


def symbols(arrays):
    return [tf.constant(a) for a in arrays]


def test_losses():
    logits = [np.sin(np.arange(8, dtype=np.float32)).reshape(2, 4) + t for t in range(2)]
    targets, weights = [np.array([0, 1]), np.array([2, 3])], [np.ones(2, np.float32), np.array([1, 0], np.float32)]
    each = []
    for x, t, w in zip(logits, targets, weights, strict=True):
        p = np.exp(x) / np.exp(x).sum(1, keepdims=True)
        each.append(-np.log(p[np.arange(2), t]) * w)
    expected = sum(each) / sum(weights)
    given = [[tf.constant(a) for a in part] for part in (logits, targets, weights)]
    by_example, loss, total = evaluate(
        [
            legacy.sequence_loss_by_example(*given),
            legacy.sequence_loss(*given),
            legacy.sequence_loss(*given, average_across_timesteps=False, average_across_batch=False),
        ]
    )
    np.testing.assert_allclose(by_example, expected, rtol=1e-5)
    np.testing.assert_allclose(loss, expected.mean(), rtol=1e-5)
    np.testing.assert_allclose(total, sum(each).sum(), rtol=1e-5)
    with pytest.raises(ValueError, match="must be the same"):
        legacy.sequence_loss(given[0][:1], given[1], given[2])


def test_basic_model_has_two_cells_and_the_tied_one_has_one():
    inputs = [tf.ones([2, 4])] * 3
    legacy.basic_rnn_seq2seq(inputs, inputs, cells.BasicRNNCell(4))
    assert names() == [
        "basic_rnn_seq2seq/rnn/basic_rnn_cell/kernel:0",
        "basic_rnn_seq2seq/rnn/basic_rnn_cell/bias:0",
        "basic_rnn_seq2seq/rnn_decoder/basic_rnn_cell/kernel:0",
        "basic_rnn_seq2seq/rnn_decoder/basic_rnn_cell/bias:0",
    ]
    legacy.tied_rnn_seq2seq(inputs, inputs, cells.BasicRNNCell(4))
    assert names()[4:] == [
        "combined_tied_rnn_seq2seq/tied_rnn_seq2seq/basic_rnn_cell/kernel:0",
        "combined_tied_rnn_seq2seq/tied_rnn_seq2seq/basic_rnn_cell/bias:0",
    ]


def test_rnn_decoder_feeds_back_what_the_loop_function_gives():
    cell = cells.BasicRNNCell(3)
    outputs, _ = legacy.rnn_decoder(
        [tf.ones([2, 3])] * 3, tf.zeros([2, 3]), cell, loop_function=lambda prev, i: prev * i
    )
    kernel, values = evaluate([tf.trainable_variables()[0], outputs])
    x, h = np.ones([2, 3]), np.zeros([2, 3])
    for i, value in enumerate(values):
        x = x if i == 0 else h * i
        h = np.tanh(np.concatenate([x, h], 1) @ kernel)
        np.testing.assert_allclose(value, h, rtol=1e-5, atol=1e-6)


def test_attention_model_names_and_training():
    outputs, state = legacy.embedding_attention_seq2seq(
        symbols(ENCODER), symbols(DECODER), cells.BasicLSTMCell(4), 5, 6, 3, num_heads=2
    )
    scope = "embedding_attention_seq2seq/embedding_attention_decoder"
    assert f"{scope}/embedding:0" in names()
    for name in ("AttnW_0", "AttnV_1", "kernel", "Attention_1/bias", "AttnOutputProjection/kernel"):
        assert f"{scope}/attention_decoder/{name}:0" in names()
    assert "embedding_attention_seq2seq/rnn/embedding_wrapper/embedding:0" in names()
    assert [o.shape.as_list() for o in outputs] == [[2, 6], [2, 6]]
    assert isinstance(state, tf.nn.rnn_cell.LSTMStateTuple)
    loss = legacy.sequence_loss(outputs, symbols(DECODER), [tf.ones([2])] * 2)
    train = tf.train.AdamOptimizer(0.05).minimize(loss)
    with initialized_session() as session:
        first = session.run(loss)
        for _ in range(40):
            session.run(train)
        assert session.run(loss) < 0.2 * first


@pytest.mark.parametrize("model", [legacy.embedding_rnn_seq2seq, legacy.embedding_attention_seq2seq])
def test_whether_to_feed_back_may_be_decided_when_it_runs(model):
    feed = tf.placeholder(tf.bool, [])
    cell = cells.GRUCell(4)
    chosen, _ = model(symbols(ENCODER), symbols(DECODER), cell, 5, 6, 3, feed_previous=feed)
    count = len(names())
    with tf.variable_scope(tf.get_variable_scope(), reuse=True):
        fed, _ = model(symbols(ENCODER), symbols(DECODER), cells.GRUCell(4), 5, 6, 3, feed_previous=True)
        plain, _ = model(symbols(ENCODER), symbols(DECODER), cells.GRUCell(4), 5, 6, 3)
    assert len(names()) == count
    with initialized_session() as session:
        for wanted, value in ((fed, True), (plain, False)):
            got, expected = session.run([chosen, wanted], {feed: value})
            np.testing.assert_allclose(got, expected, rtol=1e-5, atol=1e-6)


def test_tied_embedding():
    outputs, _ = legacy.embedding_tied_rnn_seq2seq(
        symbols(ENCODER), symbols(DECODER), cells.BasicRNNCell(3), 5, 3, feed_previous=True
    )
    assert names()[0] == "embedding_tied_rnn_seq2seq/embedding:0"
    assert evaluate(outputs)[1].shape == (2, 5)


def test_buckets_share_variables():
    encoder, decoder = symbols(ENCODER), symbols(DECODER)

    def model(x, y):
        return legacy.embedding_rnn_seq2seq(x, y, cells.BasicRNNCell(4), 5, 6, 3)

    outputs, losses = legacy.model_with_buckets(
        encoder, decoder, decoder, [tf.ones([2])] * 2, [(1, 1), (3, 2)], model, per_example_loss=True
    )
    assert [len(o) for o in outputs] == [1, 2]
    assert len(names()) == 8
    assert [v.shape for v in evaluate(losses)] == [(2,), (2,)]
    with pytest.raises(ValueError, match="at least that of last bucket"):
        legacy.model_with_buckets(encoder, decoder, decoder, decoder, [(4, 2)], model)
