"""contrib.seq2seq: losses, helpers, attention and decoders against the same thing written in numpy or with dynamic_rnn."""

import numpy as np
import pytest
from running import initialize_and_run as evaluate
from running import initialized_session

import headrace as tf

cells, seq2seq = tf.contrib.rnn, tf.contrib.seq2seq

BATCH, TIME, SIZE, SYMBOLS = 2, 5, 4, 7
MEMORY = np.cos(0.7 * np.arange(BATCH * TIME * SIZE, dtype=np.float32)).reshape(BATCH, TIME, SIZE)


@pytest.fixture(autouse=True)
def fresh_graph():
    with tf.Graph().as_default():
        tf.set_random_seed(3)
        yield


def softmax(x):
    e = np.exp(x - x.max(-1, keepdims=True))
    return e / e.sum(-1, keepdims=True)


def names():
    return [v.name for v in tf.trainable_variables()]


# ---- loss


def test_sequence_loss():
    logits = np.sin(np.arange(24, dtype=np.float32)).reshape(2, 3, 4)
    targets, weights = np.array([[0, 1, 2], [3, 0, 1]]), np.array([[1, 1, 0], [1, 0.5, 0.0]], np.float32)
    each = -np.log(np.take_along_axis(softmax(logits), targets[..., None], 2)[..., 0]) * weights
    options = [
        ({}, each.sum() / weights.sum()),
        ({"average_across_batch": False}, each.sum(1) / weights.sum(1)),
        ({"average_across_timesteps": False}, each.sum(0) / (weights.sum(0) + 1e-12)),
        ({"average_across_timesteps": False, "average_across_batch": False}, each),
        (
            {
                "average_across_timesteps": False, "average_across_batch": False, "sum_over_timesteps": True,
                "sum_over_batch": True,
            },
            each.sum() / 4,
        ),
    ]  # fmt: skip
    for chosen, expected in options:
        loss = seq2seq.sequence_loss(tf.constant(logits), tf.constant(targets), tf.constant(weights), **chosen)
        np.testing.assert_allclose(evaluate(loss), expected, rtol=1e-5, atol=1e-6)
    with pytest.raises(ValueError, match="Logits must be"):
        seq2seq.sequence_loss(tf.zeros([2, 3]), tf.constant(targets), tf.constant(weights))


# ---- decoding


def table():
    return tf.get_variable("table", [SYMBOLS, 3], initializer=tf.random_normal_initializer())


def test_training_is_dynamic_rnn_over_the_true_inputs():
    cell = cells.BasicLSTMCell(SIZE)
    x = tf.constant(MEMORY)
    helper = seq2seq.TrainingHelper(x, [5, 2])
    decoder = seq2seq.BasicDecoder(cell, helper, cell.zero_state(BATCH, tf.float32))
    outputs, state, lengths = seq2seq.dynamic_decode(decoder, impute_finished=True, scope="net")
    expected, last = tf.nn.dynamic_rnn(cell, x, [5, 2], dtype=tf.float32)
    assert names() == ["net/basic_lstm_cell/kernel:0", "net/basic_lstm_cell/bias:0"]
    pairs = [(outputs.rnn_output, expected), (state.c, last.c), (state.h, last.h)]
    pairs += [
        (tf.gradients(tf.reduce_sum(a * a), v)[0], tf.gradients(tf.reduce_sum(b * b), v)[0])
        for a, b in pairs[:1]
        for v in tf.trainable_variables()
    ]
    values, lengths = evaluate([pairs, lengths])
    for got, wanted in values:
        np.testing.assert_allclose(got, wanted, rtol=1e-5, atol=1e-6)
    assert lengths.tolist() == [5, 2]


def decode(cell, helper, state, **options):
    layer = tf.layers.Dense(SYMBOLS, name="out", _reuse=tf.AUTO_REUSE)
    decoder = seq2seq.BasicDecoder(cell, helper, state, output_layer=layer)
    with tf.variable_scope("net", reuse=tf.AUTO_REUSE) as scope:
        return seq2seq.dynamic_decode(decoder, scope=scope, **options)


def test_greedy_decoding_follows_the_most_likely_symbols():
    cell, embedding = cells.BasicRNNCell(SIZE), table()
    state = tf.constant(MEMORY[:, 0])
    helper = seq2seq.GreedyEmbeddingHelper(embedding, tf.fill([BATCH], 1), end_token=0)
    outputs, _, lengths = decode(cell, helper, state, maximum_iterations=6)
    ids, logits, lengths, rows, weights = evaluate(
        [outputs.sample_id, outputs.rnn_output, lengths, embedding, tf.trainable_variables()[1:]]
    )
    kernel, bias, out_kernel, out_bias = weights
    h, symbol, finished, wanted = MEMORY[:, 0], np.array([1, 1]), np.zeros(2, bool), np.zeros(2, int)
    for t in range(ids.shape[1]):
        h = np.tanh(np.concatenate([rows[symbol], h], 1) @ kernel + bias)
        scores = h @ out_kernel + out_bias
        np.testing.assert_allclose(logits[:, t], scores, rtol=1e-4, atol=1e-5)
        symbol = scores.argmax(1)
        assert ids[:, t].tolist() == symbol.tolist()
        wanted += ~finished
        finished |= symbol == 0
    assert lengths.tolist() == wanted.tolist()


def test_sampling_stops_at_the_end_token_or_the_limit():
    cell = cells.BasicRNNCell(SIZE)
    helper = seq2seq.SampleEmbeddingHelper(table(), tf.fill([BATCH], 1), 0, softmax_temperature=0.5, seed=1)
    outputs, _, lengths = decode(cell, helper, tf.zeros([BATCH, SIZE]), maximum_iterations=9)
    for _ in range(3):
        ids, length = evaluate([outputs.sample_id, lengths])
        assert ids.shape[1] == length.max() <= 9
        for row, n in zip(ids, length, strict=True):
            assert 0 not in row[: n - 1]
            assert n == 9 or row[n - 1] == 0


@pytest.mark.parametrize("probability", [0.0, 1.0])
def test_scheduled_sampling(probability):
    cell, embedding = cells.BasicRNNCell(SIZE), table()
    x, state = tf.constant(MEMORY[:, :, :3]), tf.zeros([BATCH, SIZE])
    helper = seq2seq.ScheduledEmbeddingTrainingHelper(x, [5, 5], embedding, probability)
    outputs, _, _ = decode(cell, helper, state)
    plain, _, _ = decode(cell, seq2seq.TrainingHelper(x, [5, 5]), state)
    got, ids, expected = evaluate([outputs.rnn_output, outputs.sample_id, plain.rnn_output])
    assert (ids == -1).all() if probability == 0 else (ids >= 0).all()
    np.testing.assert_allclose(got[:, 0], expected[:, 0], rtol=1e-5)
    assert np.allclose(got, expected) == (probability == 0)


def test_a_custom_helper_and_no_steps():
    helper = seq2seq.CustomHelper(
        initialize_fn=lambda: (tf.fill([BATCH], False), tf.ones([BATCH, 3])),
        sample_fn=lambda time, outputs, state: tf.cast(tf.argmax(outputs, -1), tf.int32),
        next_inputs_fn=lambda time, outputs, state, sample_ids: (tf.fill([BATCH], time >= 2), outputs[:, :3], state),
    )
    cell = cells.GRUCell(SIZE)
    decoder = seq2seq.BasicDecoder(cell, helper, tf.zeros([BATCH, SIZE]))
    limit = tf.placeholder_with_default(10, [])
    helper.initialize()
    outputs, _, lengths = seq2seq.dynamic_decode(decoder, maximum_iterations=limit)
    assert evaluate(lengths).tolist() == [3, 3]
    assert evaluate(outputs.rnn_output, {limit: 0}).shape == (BATCH, 0, SIZE)


# ---- attention


def test_bahdanau_scores():
    attention = seq2seq.BahdanauAttention(3, tf.constant(MEMORY), [5, 2])
    query = tf.constant(MEMORY[:, 0])
    alignments, _ = attention(query, attention.initial_state(BATCH, tf.float32))
    got, w_memory, w_query, v = evaluate([alignments, *tf.trainable_variables()])
    assert names() == [
        "memory_layer/kernel:0",
        "bahdanau_attention/query_layer/kernel:0",
        "bahdanau_attention/attention_v:0",
    ]
    masked = MEMORY * (np.arange(TIME) < np.array([[5], [2]]))[..., None]
    scores = (v * np.tanh(masked @ w_memory + (MEMORY[:, 0] @ w_query)[:, None])).sum(2)
    scores[1, 2:] = -np.inf
    np.testing.assert_allclose(got, softmax(scores), rtol=1e-4, atol=1e-6)


def test_luong_scores():
    attention = seq2seq.LuongAttention(SIZE, tf.constant(MEMORY), scale=True)
    alignments, _ = attention(tf.constant(MEMORY[:, 0]), None)
    got, w_memory, g = evaluate([alignments, *tf.trainable_variables()])
    scores = g * np.einsum("bd,btd->bt", MEMORY[:, 0], MEMORY @ w_memory)
    np.testing.assert_allclose(got, softmax(scores), rtol=1e-4, atol=1e-6)
    with pytest.raises(ValueError, match="inner dimensions between query and keys"):
        attention(tf.zeros([BATCH, 3]), None)


def test_attention_wrapper_step():
    attention = seq2seq.LuongAttention(SIZE, tf.constant(MEMORY))
    cell = seq2seq.AttentionWrapper(cells.BasicRNNCell(SIZE), attention, attention_layer_size=3)
    state = cell.zero_state(BATCH, tf.float32).clone(cell_state=tf.constant(MEMORY[:, 1]))
    output, state = cell(tf.constant(MEMORY[:, 0]), state)
    got, alignments, values = evaluate([output, state.alignments, tf.trainable_variables()])
    w_memory, kernel, bias, layer = values
    h = np.tanh(np.concatenate([MEMORY[:, 0], np.zeros([BATCH, 3]), MEMORY[:, 1]], 1) @ kernel + bias)
    weights = softmax(np.einsum("bd,btd->bt", h, MEMORY @ w_memory))
    context = np.einsum("bt,btd->bd", weights, MEMORY)
    np.testing.assert_allclose(alignments, weights, rtol=1e-4, atol=1e-6)
    np.testing.assert_allclose(got, np.concatenate([h, context], 1) @ layer, rtol=1e-4, atol=1e-6)
    assert names()[1:] == [
        "attention_wrapper/basic_rnn_cell/kernel:0",
        "attention_wrapper/basic_rnn_cell/bias:0",
        "attention_wrapper/attention_layer/kernel:0",
    ]


def test_attending_decoder_trains_and_keeps_its_alignments():
    memory, lengths = tf.constant(MEMORY), tf.constant([5, 3])
    mechanisms = [
        seq2seq.BahdanauAttention(SIZE, memory, lengths, normalize=True),
        seq2seq.LuongAttention(SIZE, memory, lengths),
    ]
    cell = seq2seq.AttentionWrapper(
        cells.BasicLSTMCell(SIZE), mechanisms, attention_layer_size=[3, 2], alignment_history=True
    )
    ids = tf.constant([[1, 2, 3], [3, 1, 0]])
    helper = seq2seq.TrainingHelper(tf.nn.embedding_lookup(table(), ids), [3, 2])
    outputs, state, _ = decode(cell, helper, cell.zero_state(BATCH, tf.float32), impute_finished=True)
    loss = seq2seq.sequence_loss(outputs.rnn_output, ids, tf.sequence_mask([3, 2], 3, tf.float32))
    train = tf.train.AdamOptimizer(0.05).minimize(loss)
    histories = [history.stack() for history in state.alignment_history]
    with initialized_session() as session:
        first = session.run(loss)
        for _ in range(30):
            session.run(train)
        assert session.run(loss) < 0.3 * first
        for history in session.run(histories):
            assert history.shape == (3, BATCH, TIME)
            np.testing.assert_allclose(history.sum(2), 1, rtol=1e-5)
            np.testing.assert_array_equal(history[:, 1, 3:], 0)


def test_attention_is_checked_against_the_batch():
    attention = seq2seq.LuongAttention(SIZE, tf.constant(MEMORY))
    cell = seq2seq.AttentionWrapper(cells.GRUCell(SIZE), attention)
    with pytest.raises((ValueError, tf.errors.InvalidArgumentError), match="tile_batch"):
        evaluate(cell.zero_state(BATCH * 3, tf.float32).cell_state)


def test_hardmax():
    assert evaluate(seq2seq.hardmax(tf.constant([[1.0, 3.0, 2.0], [0.0, -1.0, -2.0]]))).tolist() == [
        [0, 1, 0],
        [1, 0, 0],
    ]


def test_the_batch_size_of_helpers_is_a_tensor():
    inputs, starts = tf.zeros([2, 5, 3]), tf.constant([1, 2])
    helpers = [
        tf.contrib.seq2seq.TrainingHelper(inputs, [5, 2]),
        tf.contrib.seq2seq.GreedyEmbeddingHelper(tf.zeros([4, 3]), starts, 0),
        tf.contrib.seq2seq.InferenceHelper(
            lambda o: o, [3], tf.float32, inputs[:, 0], lambda ids: tf.equal(ids[:, 0], 0)
        ),
    ]
    sizes = [helper.batch_size for helper in helpers]
    assert all(size.dtype == tf.int32 and size.shape == () for size in sizes)
    assert tf.Session().run(sizes) == [2, 2, 2]
    decoder = tf.contrib.seq2seq.BasicDecoder(tf.nn.rnn_cell.GRUCell(4), helpers[0], tf.zeros([2, 4]))
    outputs, state, _ = tf.contrib.seq2seq.dynamic_decode(decoder)
    assert outputs.rnn_output.shape.as_list() == [2, None, 4] and state.shape.as_list() == [2, 4]
