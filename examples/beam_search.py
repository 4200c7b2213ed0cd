"""A recurrent network with attention that sorts digits, and beam search in the graph to read its answers.

An encoder reads the digits, a decoder writes them in order until it writes the end. One set of weights is decoded in three
ways, each a loop in the graph that ends when every sequence has: with the right digits as inputs, for training; greedily, each
input being the likeliest digit of the step before; and by beam search, which keeps the `--width` likeliest beginnings of an
answer. Where the network is unsure, the likeliest answer need not begin with the likeliest digit: stop training early and the
beam is right more often than the greedy reader.

Run it with `python examples/beam_search.py`; it takes some ten seconds. It needs `tf.contrib.seq2seq`.
"""

import argparse

import numpy as np
from progress import say, steps

import headrace as tf

END, START = 10, 11  # beside the digits
SYMBOLS = 12
SHORTEST, LONGEST = 3, 7
EMBEDDING = 16
UNITS = 48
BATCH = 64
RATE = 0.01


def main(argv=None):
    """Trains; returns the losses, and the shares of answers that are right: greedy, beam."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--steps", type=int, default=100, help="training steps (default: %(default)s)")
    parser.add_argument("--seed", type=int, default=0, help="of weights and digits (default: %(default)s)")
    parser.add_argument("--width", type=int, default=8, help="of the beam (default: %(default)s)")
    options = parser.parse_args(argv)
    if options.width < 1:
        parser.error(f"--width must be at least 1, not {options.width}")
    random = np.random.RandomState(options.seed)

    with tf.Graph().as_default():
        tf.set_random_seed(options.seed)
        digits = tf.placeholder(tf.int32, [None, None], name="digits")
        lengths = tf.placeholder(tf.int32, [None], name="lengths")
        answers = tf.placeholder(tf.int32, [None, None], name="answers")
        network = Network(digits, lengths)
        loss = network.loss(answers)
        train_op = tf.train.AdamOptimizer(RATE).minimize(loss)
        greedy, beam = network.greedy(), network.beam(options.width)

        losses = []
        with tf.Session() as session:
            session.run(tf.global_variables_initializer())
            for i in steps(options.steps):
                feeds = dict(zip((digits, lengths, answers), problems(random, BATCH), strict=True))
                _, value = session.run([train_op, loss], feeds)
                losses.append(float(value))
                if i % 20 == 0 or i == options.steps - 1:
                    say(f"step {i:4d}  loss {value:.4f}")
            given, sizes, wanted = problems(random, 500)
            found = session.run([greedy, beam], {digits: given, lengths: sizes})
    shares = [share_right(ids, wanted) for ids in found]
    for row in range(3):
        say(f"{text(given[row])}: greedy {text(found[0][row])}, beam {text(found[1][row])}")
    say(f"right of 500: greedy {shares[0]:.1%}, beam of {options.width} {shares[1]:.1%}")
    return losses, shares


class Network:
    """The encoder, and the decoder in its three uses, which share their variables."""

    def __init__(self, digits, lengths):
        self._lengths = lengths
        self._table = tf.get_variable("embedding", [SYMBOLS, EMBEDDING])
        with tf.variable_scope("encoder"):
            inputs = tf.nn.embedding_lookup(self._table, digits)
            forward, backward = tf.nn.rnn_cell.GRUCell(UNITS // 2), tf.nn.rnn_cell.GRUCell(UNITS // 2)
            outputs, states = tf.nn.bidirectional_dynamic_rnn(forward, backward, inputs, lengths, dtype=tf.float32)
            self._memory = tf.concat(outputs, axis=2)
            self._state = tf.concat(states, axis=1)
        self._starts = tf.fill(tf.shape(lengths), START)
        self._layer = tf.layers.Dense(SYMBOLS, use_bias=False, name="symbols")

    def loss(self, answers):
        """How unlikely the right answers are."""
        inputs = tf.concat([self._starts[:, tf.newaxis], answers[:, :-1]], axis=1)
        lengths = self._lengths + 1  # with the end
        helper = tf.contrib.seq2seq.TrainingHelper(tf.nn.embedding_lookup(self._table, inputs), lengths)
        logits = self._decode(lambda *cell: tf.contrib.seq2seq.BasicDecoder(cell[0], helper, *cell[1:])).rnn_output
        counts = tf.sequence_mask(lengths, tf.shape(answers)[1], tf.float32)
        return tf.contrib.seq2seq.sequence_loss(logits, answers, counts)

    def greedy(self):
        """The answers [batch, time] that follow the likeliest symbol at every step."""
        helper = tf.contrib.seq2seq.GreedyEmbeddingHelper(self._table, self._starts, END)
        return self._decode(lambda *cell: tf.contrib.seq2seq.BasicDecoder(cell[0], helper, *cell[1:])).sample_id

    def beam(self, width):
        """The best answers [batch, time] of a beam search."""

        def decoder(cell, state, layer):
            return tf.contrib.seq2seq.BeamSearchDecoder(
                cell, self._table, self._starts, END, state, width, output_layer=layer
            )

        return self._decode(decoder, width).predicted_ids[:, :, 0]

    def _decode(self, make, copies=1):
        """Runs the decoder that `make` gives for a cell, its first state and the output layer; a beam needs copies of both."""
        memory, state, lengths = self._memory, self._state, self._lengths
        if copies > 1:
            memory, state, lengths = (tf.contrib.seq2seq.tile_batch(t, copies) for t in (memory, state, lengths))
        with tf.variable_scope("decoder", reuse=tf.AUTO_REUSE):
            attention = tf.contrib.seq2seq.LuongAttention(UNITS, memory, lengths)
            cell = tf.contrib.seq2seq.AttentionWrapper(tf.nn.rnn_cell.GRUCell(UNITS), attention, UNITS)
            first = cell.zero_state(tf.shape(lengths)[0], tf.float32).clone(cell_state=state)
            decoder = make(cell, first, self._layer)
            return tf.contrib.seq2seq.dynamic_decode(decoder, maximum_iterations=LONGEST + 2)[0]


def problems(random, count):
    """Digits [count, LONGEST] with END after the last, how many there are, and the answers, which have an END at least."""
    lengths = random.randint(SHORTEST, LONGEST + 1, count)
    digits = np.where(np.arange(LONGEST) < lengths[:, None], random.randint(0, 10, (count, LONGEST)), END)
    answers = np.concatenate([np.sort(digits, axis=1), np.full((count, 1), END)], axis=1)
    return digits, lengths, answers


def share_right(found, wanted):
    """The share of answers that are right from the first digit to the end."""
    return float(np.mean([text(a) == text(b) for a, b in zip(found, wanted, strict=True)]))


def text(symbols):
    """The digits before the end."""
    symbols = list(symbols)
    return "".join(str(s) for s in symbols[: symbols.index(END) if END in symbols else None])


if __name__ == "__main__":
    main()
