"""Elements through a queue: small ones and of 1 MB, one by one and many together, one thread or up to eight at each end;
and examples from files through `shuffle_batch` to a training step.

Side by side with TensorFlow (compat.v1) in an environment of its own: give its Python with `--tf-python` or
$HEADRACE_TF_PYTHON, else one is made in `.bench`.  Headrace interprets here (HEADRACE_COMPILE=off).  Each row runs one step to
add and one to take, by `Session.run`, and is given as elements through the queue in a second.
"""

import argparse
import itertools
import tempfile
from concurrent.futures import ThreadPoolExecutor

import numpy as np

from benchmarks import _harness

KINDS = ("FIFO", "shuffle")
SIZES = {"small": 4, "1 MB": 2**18}  # floats
MANY = {"small": 100, "1 MB": 8}  # elements that a step of `many` moves
PAIRS = (0, 1, 2, 4, 8)  # threads that add, and as many that take; 0: one thread that does both in turn
STEPS = {"small": 480, "1 MB": 32}  # that add, and as many that take, in one call with threads
STAY = 16  # elements that stay in the queue that shuffles
PATIENCE_S = 120.0
PIXELS, BATCH = 784, 32  # of the examples to train on
BATCHES = 20  # in one call
READERS = (1, 2, 4)  # threads that read examples


# ---- workloads: each prepares a session and returns what is timed


class Through:
    """Elements through one queue of the kind; a call moves `elements(title)` of them."""

    def __init__(self, tf, kind, size, many, pairs):
        batch = MANY[size] if many else 1
        self._ends, self._steps = pairs, STEPS[size] // max(pairs, 1)
        with tf.Graph().as_default() as graph:
            queue = _queue(tf, kind, [SIZES[size]], 4 * batch)
            value = np.ones([batch, SIZES[size]] if many else [SIZES[size]], np.float32)
            source = tf.get_variable("source", initializer=value) + 1.0  # memory of its own in both libraries
            self._add = queue.enqueue_many(source) if many else queue.enqueue(source)
            taken = queue.dequeue_many(batch) if many else queue.dequeue()
            self._take = taken.op  # a fetched array would be copied once more in one of the two libraries
            fill = queue.enqueue_many(np.zeros([STAY, SIZES[size]], np.float32))
            initialise = tf.global_variables_initializer()
        self._session = tf.Session(graph=graph)
        self._session.run(initialise)
        if kind == "shuffle":
            self._session.run(fill)
        self._threads = ThreadPoolExecutor(2 * pairs) if pairs else None

    def __call__(self):
        if self._threads is None:
            self._session.run(self._add)
            self._session.run(self._take)
            return
        ends = [self._threads.submit(self._repeat, op) for op in (self._add, self._take) * self._ends]
        try:
            for end in ends:
                end.result(PATIENCE_S)
        except BaseException:
            self._session.close()  # what waits would wait for ever
            raise

    def _repeat(self, op):
        run = self._session.run
        for _ in range(self._steps):
            run(op)

    def close(self):
        self._session.close()
        if self._threads is not None:
            self._threads.shutdown()


def _queue(tf, kind, shape, room):
    """A queue with room for that many elements besides those that stay."""
    if kind == "FIFO":
        return tf.FIFOQueue(room, [tf.float32], [shape])
    return tf.RandomShuffleQueue(room + STAY, STAY, [tf.float32], [shape], seed=1)


class Training:
    """Steps that train on batches of examples, which threads read from TFRecord files, parse and shuffle; a call runs `BATCHES`.

    The queue has room for two batches, so that little is ready when a call begins, and nothing is done between calls.
    """

    def __init__(self, tf, readers):
        self._folder = tempfile.TemporaryDirectory()
        files = _write_records(tf, self._folder.name)
        with tf.Graph().as_default() as graph:
            images, labels = _batches(tf, files, readers)
            weights = tf.get_variable("weights", [PIXELS, 10], initializer=tf.zeros_initializer())
            logits = tf.matmul(images, weights)
            loss = tf.reduce_mean(tf.nn.sparse_softmax_cross_entropy_with_logits(labels=labels, logits=logits))
            self._train = tf.train.GradientDescentOptimizer(0.1).minimize(loss)
            initialise = tf.global_variables_initializer()
            self._session = tf.Session(graph=graph)
            self._session.run(initialise)
            self._coordinator = tf.train.Coordinator()
            self._threads = tf.train.start_queue_runners(self._session, self._coordinator)

    def __call__(self):
        for _ in range(BATCHES):
            self._session.run(self._train)

    def close(self):
        self._coordinator.request_stop()
        self._coordinator.join(self._threads)
        self._session.close()
        self._folder.cleanup()


def _write_records(tf, folder):
    """The names of files with examples: an image of `PIXELS` bytes and a label."""
    random = np.random.RandomState(0)
    names = [f"{folder}/{i}.tfrecord" for i in range(4)]
    for name in names:
        with tf.python_io.TFRecordWriter(name) as writer:
            for _ in range(500):
                image = random.bytes(PIXELS)
                features = {
                    "image": tf.train.Feature(bytes_list=tf.train.BytesList(value=[image])),
                    "label": tf.train.Feature(int64_list=tf.train.Int64List(value=[image[0] % 10])),
                }
                writer.write(tf.train.Example(features=tf.train.Features(feature=features)).SerializeToString())
    return names


def _batches(tf, files, readers):
    _, record = tf.TFRecordReader().read(tf.train.string_input_producer(files))
    features = {"image": tf.FixedLenFeature([], tf.string), "label": tf.FixedLenFeature([], tf.int64)}
    example = tf.parse_single_example(record, features)
    image = tf.cast(tf.reshape(tf.decode_raw(example["image"], tf.uint8), [PIXELS]), tf.float32) / 255.0
    return tf.train.shuffle_batch([image, example["label"]], BATCH, 200 + 2 * BATCH, 200, readers)


def _title(kind, size, many, pairs):
    threads = f"{pairs} + {pairs} threads" if pairs else "in turn"
    return f"{kind}, {size}, {f'{MANY[size]} together' if many else 'one by one'}, {threads}"


ROWS = {_title(*row): row for row in itertools.product(KINDS, SIZES, (False, True), PAIRS)}
TRAINING = {f"shuffle_batch of TFRecords to a training step, {n} threads": n for n in READERS}
CASES = {title: (lambda tf, row=row: Through(tf, *row)) for title, row in ROWS.items()}
CASES |= {title: (lambda tf, n=n: Training(tf, n)) for title, n in TRAINING.items()}


def elements(title):
    """How many elements a call of the row moves."""
    if title in TRAINING:
        return BATCHES * BATCH
    _, size, many, pairs = ROWS[title]
    return (STEPS[size] if pairs else 1) * (MANY[size] if many else 1)


# ---- the comparison


def main(argv=None):
    """Prints the table and saves the samples."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--tf-python", help="a Python that has TensorFlow")
    parser.add_argument("--rounds", type=int, default=9, help="samples of each row (default: %(default)s)")
    parser.add_argument("--seconds", type=float, default=8.0, help="for the rounds of a row (default: %(default)s)")
    parser.add_argument("--rows", default="", help="only rows whose title contains this; they are not saved")
    options = parser.parse_args(argv)
    titles = [title for title in CASES if options.rows in title]
    tf_python = _harness.tensorflow_python(options.tf_python)
    with _harness.side_by_side("benchmarks.queues", tf_python, HEADRACE_COMPILE="off") as (ours, theirs):
        versions = {"headrace": ours.version, "tensorflow": theirs.version}
        comparisons = [_compare(ours, theirs, title, options) for title in titles]
    result = {**versions, "rows": {c.case: _row(c) for c in comparisons}}
    print(f"\n{caption({**_harness.machine(), **result})}")
    header, *lines = table(result)
    print(_harness.table(header, lines))
    if titles == list(CASES):
        print(f"saved to {_harness.save('queues', result)}")


def caption(result):
    """What was measured, where and how."""
    return (
        f"{result['processor']}, {result['cpus']} cores; Headrace {result['headrace']} (interpreted), TensorFlow "
        f"{result['tensorflow']}; interleaved. Elements per second at best; ratios of time, median and range over rounds: "
        "below 1, Headrace is faster."
    )


def _compare(ours, theirs, title, options):
    comparison = _harness.interleave(ours, theirs, title, options.rounds, options.seconds)
    for worker in (ours, theirs):
        worker.forget(title)
    print(".", end="", flush=True)
    return comparison


def _row(comparison):
    return {
        "elements": elements(comparison.case),
        "headrace": comparison.ours,
        "tensorflow": comparison.theirs,
        "ratio": comparison.ratio,
    }


def table(result):
    """A saved result as lines of text, the header first."""
    lines = [("queue, element, step, threads", "Headrace", "TensorFlow", "ratio", "range")]
    for title, row in result["rows"].items():
        ratios = [a / b for a, b in zip(row["headrace"], row["tensorflow"], strict=True)]
        rates = [f"{row['elements'] / min(row[side]):,.0f}" for side in ("headrace", "tensorflow")]
        lines.append((title, *rates, f"{row['ratio']:.2f}", f"{min(ratios):.2f}-{max(ratios):.2f}"))
    return lines


if __name__ == "__main__":
    main()
