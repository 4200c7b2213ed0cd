"""The demo: trains a small convolutional network on handwritten digits and says how well it reads unseen ones.

Run it with `make demo` or `python -m headrace.tools.demo`. It is an ordinary TensorFlow 1 program: everything it uses
of Headrace is public API.
"""

import argparse
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import closing
from typing import Any, NamedTuple, Protocol

import numpy as np

import headrace as tf
from headrace.models import digits

GOAL = 0.97
NEXT = """What to try next:
  README.md        the same API in fifteen lines
  docs/README.md   how it works inside, page by page
  python -m headrace.tools.demo --help   other lengths, batch sizes and seeds"""


class Classifier(NamedTuple):
    """The graph's ends: three to feed (the last defaults to 1, no dropout), three to fetch."""

    images: Any
    labels: Any
    keep_prob: Any
    train_op: Any
    loss: Any
    accuracy: Any


class Progress(Protocol):
    """Shows how far the training is."""

    def step(self, loss: float) -> None:
        """Counts one step."""

    def close(self) -> None:
        """Leaves the last state on the screen and ends the line."""


def main(argv: Sequence[str] | None = None) -> int:
    """Trains, reports, and returns 0 if the test accuracy reached the goal."""
    options = _parse(argv)
    train, test = digits.load()
    print(f"Headrace demo: {len(train.labels)} digits to learn from, {len(test.labels)} to be tested on")

    with tf.Graph().as_default(), tf.Session() as session:
        tf.set_random_seed(options.seed)
        model = build()
        session.run(tf.global_variables_initializer())
        begin = time.perf_counter()
        fit(session, model, train, steps=options.steps, batch_size=options.batch_size, seed=options.seed)
        elapsed = time.perf_counter() - begin
        accuracy = float(session.run(model.accuracy, {model.images: test.images, model.labels: test.labels}))

    print(f"Trained {options.steps} steps in {elapsed:.1f} s ({options.steps / elapsed:.0f} steps per second)")
    print(f"Test accuracy: {accuracy:.4f} (goal: {options.goal})")
    if accuracy < options.goal:
        print("The goal was not reached.", file=sys.stderr)
        return 1
    print(NEXT)
    return 0


def build() -> Classifier:
    """Adds the classifier to the default graph: two pooled convolutions, two dense layers, dropout between those."""
    images = tf.placeholder(tf.float32, [None, *digits.IMAGE_SHAPE], name="images")
    labels = tf.placeholder(tf.int64, [None], name="labels")
    keep_prob = tf.placeholder_with_default(1.0, [], name="keep_prob")

    hidden = _convolve_and_pool(images, channels_in=1, channels_out=32, scope="conv1")
    hidden = _convolve_and_pool(hidden, channels_in=32, channels_out=64, scope="conv2")
    hidden = tf.reshape(hidden, [-1, 2 * 2 * 64])
    hidden = tf.nn.relu(_dense(hidden, 2 * 2 * 64, 128, scope="dense"))
    hidden = tf.nn.dropout(hidden, keep_prob)
    logits = _dense(hidden, 128, digits.CLASSES, scope="logits")

    one_hot = tf.one_hot(labels, digits.CLASSES)
    loss = tf.reduce_mean(tf.nn.softmax_cross_entropy_with_logits_v2(labels=one_hot, logits=logits), name="loss")
    correct = tf.equal(tf.argmax(logits, 1), labels)
    accuracy = tf.reduce_mean(tf.cast(correct, tf.float32), name="accuracy")
    train_op = tf.train.AdamOptimizer(1e-3).minimize(loss)
    return Classifier(images, labels, keep_prob, train_op, loss, accuracy)


def fit(session: Any, model: Classifier, train: digits.Examples, *, steps: int, batch_size: int, seed: int) -> None:
    """Runs `steps` training steps on shuffled batches, showing progress."""
    batches = _batches(train, batch_size, seed)
    with closing(_progress(steps)) as progress:
        for _ in range(steps):
            batch = next(batches)
            feeds = {model.images: batch.images, model.labels: batch.labels, model.keep_prob: 0.5}
            _, loss = session.run([model.train_op, model.loss], feeds)
            progress.step(float(loss))


def _convolve_and_pool(value: Any, channels_in: int, channels_out: int, scope: str) -> Any:
    with tf.name_scope(scope):
        filters = _weights([3, 3, channels_in, channels_out])
        value = tf.nn.conv2d(value, filters, strides=[1, 1, 1, 1], padding="SAME")
        value = tf.nn.relu(value + _biases(channels_out))
        return tf.nn.max_pool(value, ksize=[1, 2, 2, 1], strides=[1, 2, 2, 1], padding="SAME")


def _dense(value: Any, size_in: int, size_out: int, scope: str) -> Any:
    with tf.name_scope(scope):
        return tf.matmul(value, _weights([size_in, size_out])) + _biases(size_out)


def _weights(shape: Sequence[int]) -> Any:
    return tf.Variable(tf.truncated_normal(shape, stddev=0.1), name="weights")


def _biases(size: int) -> Any:
    return tf.Variable(tf.constant(0.1, shape=[size]), name="biases")


def _batches(examples: digits.Examples, size: int, seed: int) -> Iterator[digits.Examples]:
    """Endless batches, every image once per epoch; a remainder smaller than `size` waits for another shuffle."""
    random = np.random.RandomState(seed)
    count = len(examples.labels)
    while True:
        order = random.permutation(count)
        for begin in range(0, count - size + 1, size):
            rows = order[begin : begin + size]
            yield digits.Examples(examples.images[rows], examples.labels[rows])


class _Bar:
    """A tqdm bar."""

    def __init__(self, tqdm: Any, steps: int) -> None:
        tqdm.monitor_interval = 0  # no monitor thread for a bar that advances many times a second
        interval = 0.1 if sys.stderr.isatty() else 5.0  # in a log every refresh is one more line
        self._bar = tqdm(total=steps, unit="step", desc="training", mininterval=interval)

    def step(self, loss: float) -> None:
        self._bar.set_postfix(loss=f"{loss:.3f}", refresh=False)
        self._bar.update()

    def close(self) -> None:
        self._bar.close()


class _Line:
    """One line of text, rewritten on a terminal; written in ten parts elsewhere."""

    def __init__(self, steps: int) -> None:
        self._steps = steps
        self._done = 0
        self._terminal = sys.stderr.isatty()

    def step(self, loss: float) -> None:
        self._done += 1
        tenth_ended = self._done * 10 // self._steps > (self._done - 1) * 10 // self._steps
        if self._terminal:
            sys.stderr.write(f"\rtraining: step {self._done} of {self._steps}, loss {loss:.3f} ")
        elif tenth_ended:
            sys.stderr.write(f" {self._done * 100 // self._steps}%")
        sys.stderr.flush()

    def close(self) -> None:
        sys.stderr.write("\n")


def _progress(steps: int) -> Progress:
    try:
        from tqdm.auto import tqdm
    except ImportError:
        return _Line(steps)
    return _Bar(tqdm, steps)


def _parse(argv: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m headrace.tools.demo", description=__doc__.partition("\n")[0])
    parser.add_argument("--steps", type=_positive, default=1500, help="training steps (default: %(default)s)")
    parser.add_argument("--batch-size", type=_positive, default=64, help="images per step (default: %(default)s)")
    parser.add_argument("--seed", type=int, default=0, help="of the weights and the order of the images")
    parser.add_argument("--goal", type=float, default=GOAL, help="test accuracy to reach (default: %(default)s)")
    return parser.parse_args(argv)


def _positive(text: str) -> int:
    value = int(text)
    if value < 1:
        raise argparse.ArgumentTypeError(f"expected a positive number, got {text}")
    return value


if __name__ == "__main__":
    sys.exit(main())
