"""Digits, with one network and two inputs: iterators that change between training and validation images.

Run it with `python examples/switched_input.py`. With `--iterator structure` one iterator begins anew with the one dataset or the
other; with `--iterator handle` a string that is fed says which of two iterators a step takes from, and each stays where it was.
"""

import argparse
from pathlib import Path

import numpy as np

import headrace as tf

DIGITS = Path(__file__).resolve().parents[1] / "headrace" / "models" / "digits" / "digits.npz"
BATCH, EVERY = 32, 50


def main(argv=None):
    """Trains; returns the losses, and each accuracy on the validation images."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--steps", type=int, default=400, help="training steps (default: %(default)s)")
    parser.add_argument("--seed", type=int, default=0, help="of order, crops and weights (default: %(default)s)")
    parser.add_argument("--iterator", choices=["structure", "handle"], default="structure")
    options = parser.parse_args(argv)
    with tf.Graph().as_default():
        tf.set_random_seed(options.seed)
        training, validation = datasets(options.seed)
        inputs = {"structure": Reinitialized, "handle": Fed}[options.iterator](training, validation)
        images, labels = inputs.element
        logits = network(images, np.random.RandomState(options.seed))
        loss = tf.reduce_mean(tf.nn.sparse_softmax_cross_entropy_with_logits(labels=labels, logits=logits))
        right = tf.cast(tf.equal(tf.argmax(logits, 1), labels), tf.float32)
        train_op = tf.train.AdamOptimizer(3e-3).minimize(loss)

        losses, accuracies = [], []
        with tf.Session() as session:
            session.run(tf.global_variables_initializer())
            inputs.start(session)
            for i in range(options.steps):
                _, value = session.run([train_op, loss], inputs.training)
                losses.append(float(value))
                if (i + 1) % EVERY == 0 or i == options.steps - 1:
                    accuracies.append(inputs.validate(session, right))
                    print(f"step {i:4d}  loss {value:.4f}  accuracy {accuracies[-1]:.4f}")
    return losses, accuracies


class Reinitialized:
    """One iterator, which begins with a dataset each time it is initialized."""

    training = None  # nothing is fed

    def __init__(self, training, validation):
        iterator = tf.data.Iterator.from_structure(training.output_types, training.output_shapes)
        self.element = iterator.get_next()
        self._train, self._validate = iterator.make_initializer(training), iterator.make_initializer(validation)

    def start(self, session):
        session.run(self._train)

    def validate(self, session, right):
        """The accuracy on all validation images; training begins with a new epoch after it."""
        session.run(self._validate)
        accuracy = mean_of_all(session, right, None)
        session.run(self._train)
        return accuracy


class Fed:
    """Two iterators, and a string that says which of them is meant."""

    def __init__(self, training, validation):
        self._which = tf.placeholder(tf.string, [])
        iterator = tf.data.Iterator.from_string_handle(self._which, training.output_types, training.output_shapes)
        self.element = iterator.get_next()
        self._train = training.make_one_shot_iterator().string_handle()
        self._validation = validation.make_initializable_iterator()
        self._validate = self._validation.string_handle()

    def start(self, session):
        train, validate = session.run([self._train, self._validate])
        self.training, self._feed = {self._which: train}, {self._which: validate}

    def validate(self, session, right):
        """The accuracy on all validation images; training goes on where it was."""
        session.run(self._validation.initializer)
        return mean_of_all(session, right, self._feed)


def mean_of_all(session, right, feed):
    results = []
    while True:
        try:
            results.extend(session.run(right, feed))
        except tf.errors.OutOfRangeError:
            return float(np.mean(results))


def datasets(seed):
    """Training images, shuffled and cropped at random, without end; and validation images."""
    with np.load(DIGITS) as arrays:
        images, labels = (
            arrays["images"].reshape(-1, 8, 8, 1).astype(np.float32) / 16.0,
            arrays["labels"].astype(np.int64),
        )
    order = np.random.RandomState(seed).permutation(len(labels))
    images, labels = images[order], labels[order]
    cut = len(labels) * 4 // 5
    training = tf.data.Dataset.from_tensor_slices((images[:cut], labels[:cut]))
    training = training.shuffle(cut, seed=seed).repeat().map(cropped, num_parallel_calls=2).batch(BATCH).prefetch(2)
    return training, tf.data.Dataset.from_tensor_slices((images[cut:], labels[cut:])).batch(100)


def cropped(image, label):
    """The image, moved by up to one pixel, and a little brighter or darker."""
    image = tf.random_crop(tf.image.resize_image_with_crop_or_pad(image, 10, 10), [8, 8, 1])
    return tf.image.random_brightness(image, 0.1), label


def network(images, random):
    """Logits of the ten classes."""
    hidden = images
    for i, channels in enumerate((16, 32)):
        shape = [3, 3, int(hidden.shape[3]), channels]
        filters = random.standard_normal(shape) * np.sqrt(2.0 / np.prod(shape[:3]))
        filters = tf.get_variable(f"filters{i}", initializer=filters.astype(np.float32))
        hidden = tf.nn.relu(tf.nn.conv2d(hidden, filters, strides=[1, 2, 2, 1], padding="SAME"))
    matrix = tf.get_variable("matrix", initializer=(random.standard_normal([128, 10]) / 12.0).astype(np.float32))
    return tf.matmul(tf.reshape(hidden, [-1, 128]), matrix)


if __name__ == "__main__":
    main()
