"""Sentences that praise or complain: lines of a text file, a table of words, buckets of lengths, a recurrent network.

Run it with `python examples/text_classifier.py`. Without `--file` it writes sentences of its own, in which a "not" turns the
meaning, so that the order of words matters. A file has lines such as `1<tab>a fine film`, and is split into words at spaces.
"""

import argparse
import os
import tempfile

import numpy as np

import headrace as tf

BATCH, SIZE = 32, 24
SUBJECTS = "the film;this book;her new song;the third act;all of it".split(";")
GOOD, BAD = "good great moving funny clever".split(), "bad dull slow sad clumsy".split()


def main(argv=None):
    """Trains; returns the loss of every step."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--steps", type=int, default=150, help="training steps (default: %(default)s)")
    parser.add_argument("--seed", type=int, default=0, help="of sentences, order and weights (default: %(default)s)")
    parser.add_argument("--file", help="lines of a label, 0 or 1, a tab and a sentence")
    options = parser.parse_args(argv)
    with tempfile.TemporaryDirectory() as folder, tf.Graph().as_default():
        path = options.file
        if path is None:
            path = write_sentences(os.path.join(folder, "sentences.txt"), np.random.RandomState(options.seed))
            print("no --file: trains on sentences that it has made up")
        words = os.path.join(folder, "words.txt")
        return train(path, words, write_words(path, words), options)


def train(path, words, count, options):
    """Trains on nine lines of ten, and tells how many of the others it gets right."""
    random = np.random.RandomState(options.seed)
    lines = tf.lookup.TextFileInitializer(
        words, tf.string, tf.lookup.TextFileIndex.WHOLE_LINE, tf.int64, tf.lookup.TextFileIndex.LINE_NUMBER
    )
    table = tf.lookup.StaticVocabularyTable(lines, 1)  # one number more, for all words that are not in the file
    is_test = tf.placeholder(tf.bool, [])
    numbered = tf.data.TextLineDataset(path).enumerate()
    chosen = numbered.filter(lambda number, line: tf.equal(tf.equal(number % 10, 0), is_test))
    sentences = chosen.map(lambda number, line: parsed(line, table))
    buckets = tf.data.experimental.bucket_by_sequence_length(
        lambda sentence, label: tf.size(sentence), [5, 7], [BATCH] * 3, padded_shapes=([None], [])
    )
    training = sentences.shuffle(1000, seed=options.seed + 1).repeat().apply(buckets).prefetch(2)
    test = sentences.padded_batch(100, padded_shapes=([None], []))
    iterator = tf.data.Iterator.from_structure(training.output_types, training.output_shapes)
    sentence, label = iterator.get_next()
    begin = {False: iterator.make_initializer(training), True: iterator.make_initializer(test)}

    logits = network(sentence, count + 1, random)
    loss = tf.reduce_mean(tf.nn.sparse_softmax_cross_entropy_with_logits(labels=label, logits=logits))
    right = tf.cast(tf.equal(tf.argmax(logits, 1), tf.cast(label, tf.int64)), tf.float32)
    sizes = tf.shape(sentence)
    train_op = tf.train.AdamOptimizer(0.01).minimize(loss)

    losses = []
    with tf.Session() as session:
        session.run([tf.global_variables_initializer(), tf.tables_initializer()])
        session.run(begin[False], {is_test: False})
        for i in range(options.steps):
            _, value, shape = session.run([train_op, loss, sizes])
            losses.append(float(value))
            if i % 30 == 0 or i == options.steps - 1:
                print(f"step {i:4d}  loss {value:.4f}  {shape[0]} sentences of up to {shape[1]} words")
        session.run(begin[True], {is_test: True})
        results = []
        while True:
            try:
                results.extend(session.run(right))
            except tf.errors.OutOfRangeError:
                break
        print(f"accuracy {np.mean(results):.4f} of {len(results)} sentences that it has not seen")
    return losses


def parsed(line, table):
    """The numbers of the words of a line, from 1 on, and its label."""
    fields = tf.string_split([line], "\t").values
    words = tf.string_split(fields[1:2]).values
    return table.lookup(words) + 1, tf.string_to_number(fields[0], tf.int32)


def network(sentence, count, random):
    """Logits of the two classes: a gated recurrent network over the words; 0 is padding, which changes nothing."""
    embedding = weights("embedding", [count + 1, SIZE], random)
    inputs = tf.transpose(tf.nn.embedding_lookup(embedding, sentence), [1, 0, 2])
    is_word = tf.cast(tf.transpose(tf.not_equal(sentence, 0)), tf.float32)[:, :, None]
    gates = weights("gates", [2 * SIZE, 2 * SIZE], random)
    candidate = weights("candidate", [2 * SIZE, SIZE], random)

    def step(state, now):
        word, here = now
        reset, keep = tf.split(tf.sigmoid(tf.matmul(tf.concat([word, state], 1), gates)), 2, axis=1)
        new = tf.tanh(tf.matmul(tf.concat([word, reset * state], 1), candidate))
        keep = 1.0 - (1.0 - keep) * here
        return keep * state + (1.0 - keep) * new

    states = tf.scan(step, (inputs, is_word), initializer=tf.zeros_like(inputs[0]))
    return tf.matmul(states[-1], weights("logits", [SIZE, 2], random))


def weights(name, shape, random):
    """A variable that starts with values from `random`."""
    start = random.standard_normal(shape) / np.sqrt(shape[0])
    return tf.get_variable(name, initializer=start.astype(np.float32))


def write_sentences(path, random):
    """Writes 2000 sentences with their labels."""
    with open(path, "w") as file:
        for _ in range(2000):
            good, turned = random.randint(2), random.randint(2)
            words = [
                SUBJECTS[random.randint(len(SUBJECTS))],
                "is",
                "not" if turned else "",
                "really"[: 6 * random.randint(2)],
            ]
            words.append([BAD, GOOD][good][random.randint(5)])
            if random.randint(2):
                words += ["and", "not" * (1 - turned), [GOOD, BAD][good][random.randint(5)]]
            file.write(f"{good ^ turned}\t{' '.join(word for word in words if word)}\n")
    return path


def write_words(path, words):
    """Writes the words of the sentences, the most frequent first; returns how many there are."""
    counts = {}
    with open(path) as lines:
        for line in lines:
            for word in line.split("\t")[1].split():
                counts[word] = counts.get(word, 0) + 1
    with open(words, "w") as file:
        file.writelines(f"{word}\n" for word in sorted(counts, key=lambda word: (-counts[word], word)))
    return len(counts)


if __name__ == "__main__":
    main()
