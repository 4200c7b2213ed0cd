"""The demo: trains a small convolutional network on handwritten digits and says how well it reads unseen ones.

Run it with `make demo`, `headrace demo` or `python -m headrace.tools.demo`. It is an ordinary TensorFlow 1 program: everything
it uses of Headrace is public API. It leaves a folder with a checkpoint, an event file for TensorBoard, the timeline of one step
and a picture of which digits are taken for which.
"""

import argparse
import shutil
import sys
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

import headrace as tf
from headrace.models import digits

GOAL = 0.97
FOLDER = "headrace-demo"
OWN = ("checkpoint", "confusion.png", "events.out.tfevents.*", "graph.pbtxt", "model.ckpt-*", "timeline-*.json")
SCALE = 4  # pixels of the picture for one of a digit, in each direction
WIDTH = 40  # of a command


class Classifier(NamedTuple):
    """The graph's ends: three to feed (the last defaults to 1, no dropout), four to fetch."""

    images: Any
    labels: Any
    keep_prob: Any
    train_op: Any
    loss: Any
    accuracy: Any
    confusion: Any


def main(argv: Sequence[str] | None = None) -> int:
    """Trains, reports, and returns 0 if the test accuracy reached the goal."""
    options = _parse(argv)
    train, test = digits.load()
    print(f"Headrace demo: {len(train.labels)} digits to learn from, {len(test.labels)} to be tested on", flush=True)
    for pattern in OWN:  # of an earlier run, from which this one would go on
        for path in options.folder.glob(pattern):
            path.unlink()

    with tf.Graph().as_default():
        tf.set_random_seed(options.seed)
        model = build()
        begin = time.perf_counter()
        fit(model, train, options)
        elapsed = time.perf_counter() - begin
        accuracy = evaluate(model, test, options.folder)

    print(f"Trained {options.steps} steps in {elapsed:.1f} s ({options.steps / elapsed:.0f} steps per second)")
    print(f"Test accuracy: {accuracy:.4f} (goal: {options.goal})")
    if accuracy < options.goal:
        print("The goal was not reached.", file=sys.stderr)
        return 1
    print(f"In {options.folder}: model.ckpt-{options.steps} (the checkpoint), an event file, a timeline, confusion.png")
    print("\nWhat to try next:")
    for command, purpose in next_commands(options.folder):
        print(f"  {command:<{WIDTH}}  # {purpose}")
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
    tf.summary.histogram("hidden", hidden)
    hidden = tf.nn.dropout(hidden, keep_prob)
    logits = _dense(hidden, 128, digits.CLASSES, scope="logits")

    one_hot = tf.one_hot(labels, digits.CLASSES)
    loss = tf.reduce_mean(tf.nn.softmax_cross_entropy_with_logits_v2(labels=one_hot, logits=logits), name="loss")
    answers = tf.argmax(logits, 1)
    accuracy = tf.reduce_mean(tf.cast(tf.equal(answers, labels), tf.float32), name="accuracy")
    tf.summary.scalar("training/loss", loss)
    tf.summary.scalar("training/accuracy", accuracy)
    train_op = tf.train.AdamOptimizer(1e-3).minimize(loss, tf.train.get_or_create_global_step())
    confusion = tf.confusion_matrix(labels, answers, digits.CLASSES)
    return Classifier(images, labels, keep_prob, train_op, loss, accuracy, confusion)


def fit(model: Classifier, train: digits.Examples, options: argparse.Namespace) -> None:
    """Runs the training steps on shuffled batches, showing progress; the folder gets a checkpoint, events and a timeline."""
    batches = _batches(train, options.batch_size, options.seed)
    hooks = [
        tf.train.StopAtStepHook(options.steps),
        tf.train.ProfilerHook(save_steps=options.steps, output_dir=str(options.folder)),
        tf.train.ProgressHook(options.steps, {"loss": model.loss}, every_secs=4.0),
    ]
    with tf.train.MonitoredTrainingSession(
        checkpoint_dir=str(options.folder), hooks=hooks, save_checkpoint_steps=options.steps, save_summaries_steps=20
    ) as session:
        while not session.should_stop():
            batch = next(batches)
            feeds = {model.images: batch.images, model.labels: batch.labels, model.keep_prob: 0.5}
            session.run(model.train_op, feeds)


def evaluate(model: Classifier, test: digits.Examples, folder: Path) -> float:
    """The accuracy of the newest checkpoint; leaves the picture of its mistakes as a file and as a summary."""
    pixels = tf.placeholder(tf.uint8, [None, None, 1])
    png, summary = tf.image.encode_png(pixels), tf.summary.image("confusion", pixels[tf.newaxis], max_outputs=1)
    with tf.Session() as session:
        tf.train.Saver().restore(session, tf.train.latest_checkpoint(str(folder)))
        step, accuracy, counts = session.run(
            [tf.train.get_global_step(), model.accuracy, model.confusion],
            {model.images: test.images, model.labels: test.labels},
        )
        file, event = session.run([png, summary], {pixels: draw(counts, test)})
    (folder / "confusion.png").write_bytes(file)
    tf.summary.FileWriterCache.get(str(folder)).add_summary(event, step)
    tf.summary.FileWriterCache.clear()  # which closes the file
    return float(accuracy)


def draw(counts: Any, examples: digits.Examples) -> Any:
    """The confusion matrix as a picture: a row for each digit, a column for each answer, a digit at the head of both.

    A cell is the darker the more of its row's digits are in it; by the square root, so that single mistakes are seen.
    """
    side = digits.IMAGE_SHAPE[0] + 2  # a margin around each digit
    picture = np.zeros([1 + digits.CLASSES, side, 1 + digits.CLASSES, side])
    picture[1:, :, 1:, :] = np.sqrt(counts / np.maximum(counts.sum(1, keepdims=True), 1))[:, None, :, None]
    for digit in range(digits.CLASSES):
        head = examples.images[np.argmax(examples.labels == digit), :, :, 0]
        picture[1 + digit, 1:-1, 0, 1:-1] = picture[0, 1:-1, 1 + digit, 1:-1] = head
    pixels = 255 * (1 - picture.reshape((1 + digits.CLASSES) * side, -1))
    return np.kron(pixels, np.ones([SCALE, SCALE])).astype(np.uint8)[..., None]


def next_commands(folder: Path) -> Iterator[tuple[str, str]]:
    """Commands that work as they are in the shell that has run this program, and what each is for."""
    if sys.prefix != sys.base_prefix and Path(shutil.which("python") or "").parent != Path(sys.prefix, "bin"):
        yield f". {_short(Path(sys.prefix, 'bin', 'activate'))}", "once in a shell: finds the commands below"
    yield f"tensorboard --logdir {folder}", "curves, graph, pictures: open http://localhost:6006"
    yield f"headrace inspect {folder}", "the variables in the checkpoint"
    yield f"cp {_short(Path(__file__))} mine.py", "this program, to change as you like"
    yield "python mine.py --folder mine", "trains yours; beside the first in tensorboard --logdir ."
    if Path("examples", "vae.py").exists():
        yield "python examples/vae.py", "an example; examples/README.md lists the others"
    yield "headrace doctor", "versions, devices, compiler, and a self-test"


def _short(path: Path) -> str:
    """The path from here if it is below, else the whole."""
    return str(path.relative_to(Path.cwd()) if path.is_relative_to(Path.cwd()) else path)


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


def _parse(argv: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="headrace demo", description=__doc__.partition("\n")[0])
    parser.add_argument("--steps", type=_positive, default=1500, help="training steps (default: %(default)s)")
    parser.add_argument("--batch-size", type=_positive, default=64, help="images per step (default: %(default)s)")
    parser.add_argument("--seed", type=int, default=0, help="of the weights and the order of the images")
    parser.add_argument("--goal", type=float, default=GOAL, help="test accuracy to reach (default: %(default)s)")
    parser.add_argument("--folder", type=Path, default=FOLDER, help="for what it leaves (default: %(default)s)")
    return parser.parse_args(argv)


def _positive(text: str) -> int:
    if not text.isdecimal() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"expected a positive number, got {text!r}")
    return int(text)


if __name__ == "__main__":
    sys.exit(main())
