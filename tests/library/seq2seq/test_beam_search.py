"""Beam search against a plain search in numpy; tile_batch and gather_tree."""

import numpy as np
import pytest
from running import run

import headrace as tf

cells, seq2seq = tf.contrib.rnn, tf.contrib.seq2seq

BATCH, SIZE, SYMBOLS, END = 3, 4, 6, 0
START = np.cos(1.3 * np.arange(BATCH * SIZE, dtype=np.float32)).reshape(BATCH, SIZE)


def test_tile_batch():
    tiled = seq2seq.tile_batch((tf.constant([1, 2]), tf.constant([[1.0, 2.0], [3.0, 4.0]])), 2)
    assert tiled[1].shape.as_list() == [4, 2]
    first, second = run(tiled)
    assert first.tolist() == [1, 1, 2, 2]
    assert second.tolist() == [[1, 2], [1, 2], [3, 4], [3, 4]]
    with pytest.raises(ValueError, match="rank"):
        seq2seq.tile_batch(tf.constant(1), 2)


def test_gather_tree():
    ids = np.array([[1, 2, 3], [4, 5, 6], [7, 8, 9]], np.int32).reshape(3, 1, 3)
    parents = np.array([[0, 0, 0], [0, 1, 1], [2, 1, 2]], np.int32).reshape(3, 1, 3)
    beams = seq2seq.gather_tree(ids, parents, [3], 10)
    assert run(beams)[:, 0].tolist() == [[2, 2, 2], [6, 5, 6], [7, 8, 9]]


def search(rows, kernel, bias, out, width, steps, penalty):
    """[(ids, log-probability, length)] of the best beams for each sequence, in plain Python."""
    every = []
    for h in START:
        beams = [([], 0.0, h, False, 0)]
        for _ in range(steps):
            if all(b[3] for b in beams):
                break
            options = []
            for ids, log_prob, h, finished, length in beams:
                if finished:
                    options.append((ids + [END], log_prob, h, True, length))
                    continue
                symbol = ids[-1] if ids else 1
                new_h = np.tanh(np.concatenate([rows[symbol], h]) @ kernel + bias)
                scores = new_h @ out
                scores = scores - np.log(np.exp(scores).sum())
                for s in range(SYMBOLS):
                    options.append((ids + [s], log_prob + scores[s], new_h, s == END, length + 1))

            def score(b):
                counted = b[4] - (1 if b[3] and b[0][-2:] != [END, END] and b[0].count(END) == 1 else 0)
                return b[1] / (((5.0 + counted) / 6.0) ** penalty)

            beams = sorted(options, key=score, reverse=True)[:width]
        every.append(beams)
    return every


def decoded(width, steps, penalty=0.0, coverage=0.0, seed=0):
    random = np.random.RandomState(seed)
    rows = random.randn(SYMBOLS, 3).astype(np.float32)
    cell = cells.BasicRNNCell(SIZE)
    layer = tf.layers.Dense(SYMBOLS, use_bias=False)
    state = seq2seq.tile_batch(tf.constant(START), width)
    decoder = seq2seq.BeamSearchDecoder(
        cell,
        tf.constant(rows),
        tf.fill([BATCH], 1),
        END,
        state,
        width,
        output_layer=layer,
        length_penalty_weight=penalty,
    )
    outputs, final, lengths = seq2seq.dynamic_decode(decoder, maximum_iterations=steps)
    variables = tf.trainable_variables()
    weights = [random.randn(*v.shape.as_list()).astype(np.float32) for v in variables]
    with tf.Session() as session:
        for variable, value in zip(variables, weights, strict=True):
            variable.load(value, session)
        found = session.run([outputs.predicted_ids, final.log_probs, final.lengths, lengths])
    return found, (rows, *weights)


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize(("width", "penalty"), [(1, 0.0), (3, 0.0), (5, 0.0), (3, 0.7)])
def test_beam_search_finds_what_a_plain_search_finds(width, penalty, seed):
    (ids, log_probs, lengths, _), weights = decoded(width, 6, penalty, seed=seed)
    for b, beams in enumerate(search(*weights, width, 6, penalty)):
        for k, (wanted, log_prob, _, _, length) in enumerate(beams):
            np.testing.assert_allclose(log_probs[b, k], log_prob, rtol=1e-3, atol=1e-4)
            assert ids[b, : len(wanted), k].tolist() == wanted
            assert lengths[b, k] == length


def test_reordered_alignments_and_coverage(session):
    width, memory = 3, np.cos(np.arange(BATCH * 5 * SIZE, dtype=np.float32)).reshape(BATCH, 5, SIZE)
    attention = seq2seq.LuongAttention(
        SIZE, seq2seq.tile_batch(tf.constant(memory), width), seq2seq.tile_batch(tf.constant([5, 4, 2]), width)
    )
    cell = seq2seq.AttentionWrapper(cells.BasicLSTMCell(SIZE), attention, alignment_history=True)
    table = tf.get_variable("table", [SYMBOLS, 3])
    decoder = seq2seq.BeamSearchDecoder(
        cell, table, tf.fill([BATCH], 1), END, cell.zero_state(BATCH * width, tf.float32), width,
        output_layer=tf.layers.Dense(SYMBOLS), coverage_penalty_weight=0.1,
    )  # fmt: skip
    outputs, state, _ = seq2seq.dynamic_decode(decoder, maximum_iterations=4)
    assert outputs.predicted_ids.shape.as_list() == [BATCH, None, width]
    session.run(tf.global_variables_initializer())
    ids, history, scores = session.run(
        [outputs.predicted_ids, state.cell_state.alignment_history, outputs.beam_search_decoder_output.scores]
    )
    assert history.shape == (ids.shape[1], BATCH * width, 5)
    np.testing.assert_allclose(history.sum(2), 1, rtol=1e-5)
    np.testing.assert_array_equal(history[:, 2 * width :, 2:], 0)
    assert np.isfinite(scores[:, 0]).all()
