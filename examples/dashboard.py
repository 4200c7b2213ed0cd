"""A training to look at in TensorBoard: scalars, histograms, images, text, the graph with traced steps, the projector.

A small convolutional network learns the digits.  The log has two runs, `train` and `test`.

    python examples/dashboard.py --folder /tmp/digits
    tensorboard --logdir /tmp/digits
"""

import argparse
import os
from pathlib import Path

import numpy as np
from PIL import Image

import headrace as tf

DIGITS = Path(__file__).resolve().parents[1] / "headrace" / "models" / "digits" / "digits.npz"
BATCH = 64
TESTED = 400  # digits that are not trained on
FEATURES = 32  # numbers by which the network describes a digit
COLORS = np.array([[255, 255, 255], [255, 204, 128], [239, 108, 0], [62, 12, 2]])  # from 0 to 1
SETTINGS = """| setting | value |
| --- | --- |
| network | two convolutions, {features} features, ten logits |
| trained on | {trained} digits, in batches of {batch} |
| tested on | {tested} other digits |
| optimizer | **Adam**, from a rate of 0.003 |
| steps | {steps} |
"""


def main(argv=None):
    """Trains; returns the loss of every step."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--folder", required=True, help="for the log")
    parser.add_argument("--steps", type=int, default=600, help="training steps (default: %(default)s)")
    parser.add_argument("--seed", type=int, default=0, help="of the weights and the batches (default: %(default)s)")
    options = parser.parse_args(argv)
    if options.steps < 1:
        parser.error(f"--steps must be at least 1, not {options.steps}")
    random = np.random.RandomState(options.seed)
    with np.load(DIGITS) as arrays:
        images, labels = arrays["images"].reshape(-1, 8, 8, 1) / np.float32(16), arrays["labels"].astype(np.int64)
    with tf.Graph().as_default(), tf.Session() as session:
        network = Network(random)
        shown = Shown(network, options, len(labels))
        session.run(tf.global_variables_initializer())
        train_log = tf.summary.FileWriter(os.path.join(options.folder, "train"), session.graph)
        test_log = tf.summary.FileWriter(os.path.join(options.folder, "test"))
        train_log.add_summary(session.run(shown.settings), 0)
        test = {network.images: images[:TESTED], network.labels: labels[:TESTED]}
        losses = []
        for step in range(options.steps):
            rows = random.randint(TESTED, len(labels), BATCH)
            batch = {network.images: images[rows], network.labels: labels[rows]}
            last = step == options.steps - 1
            if step % 300 == 100 or last:  # a traced step
                trace, metadata = tf.RunOptions(trace_level=tf.RunOptions.FULL_TRACE), tf.RunMetadata()
                _, loss = session.run([network.train, network.loss], batch, trace, metadata)
                train_log.add_run_metadata(metadata, f"step {step}", step)
            else:
                _, loss = session.run([network.train, network.loss], batch)
            losses.append(float(loss))
            if step % 10 == 0 or last:
                train_log.add_summary(session.run(shown.curves, batch), step)
                test_log.add_summary(session.run(shown.curves, test), step)
            if step % 50 == 0 or last:
                train_log.add_summary(session.run(shown.network, batch), step)
                test_log.add_summary(session.run(shown.mistakes, test), step)
                print(f"step {step:4d}  loss {loss:.4f}")
        write_embedding(test_log, session.run(network.features, test), images[:TESTED], labels[:TESTED])
        print(f"accuracy {session.run(network.accuracy, test):.4f} on {TESTED} other digits")
        train_log.close()
        test_log.close()
    return losses


class Network:
    """Two convolutions, the features of a digit, ten logits; the loss and the training."""

    def __init__(self, random):
        self._random = random
        with tf.name_scope("input"):
            self.images = tf.placeholder(tf.float32, [None, 8, 8, 1], name="images")
            self.labels = tf.placeholder(tf.int64, [None], name="labels")
        hidden = self._convolution("conv1", self.images, 16)
        hidden = self._convolution("conv2", hidden, 32)
        self.features = self._dense("features", tf.layers.flatten(hidden), FEATURES, tf.nn.relu)
        logits = self._dense("logits", self.features, 10)
        with tf.name_scope("loss"):
            losses = tf.nn.sparse_softmax_cross_entropy_with_logits(labels=self.labels, logits=logits)
            self.loss = tf.reduce_mean(losses)
        with tf.name_scope("accuracy"):
            self.guesses = tf.argmax(logits, 1)
            self.accuracy = tf.reduce_mean(tf.cast(tf.equal(self.guesses, self.labels), tf.float32))
        with tf.name_scope("train"):
            step = tf.train.get_or_create_global_step()
            self.rate = tf.train.exponential_decay(3e-3, step, 100, 0.7, name="rate")
            optimizer = tf.train.AdamOptimizer(self.rate)
            self.gradients = optimizer.compute_gradients(self.loss)
            self.train = optimizer.apply_gradients(self.gradients, step, "update")

    def _convolution(self, name, inputs, channels):
        with tf.variable_scope(name):
            filters = self._weights([3, 3, int(inputs.shape[3]), channels])
            outputs = tf.nn.conv2d(inputs, filters, strides=[1, 1, 1, 1], padding="SAME")
            outputs = tf.nn.relu(tf.nn.bias_add(outputs, self._biases(channels)))
            return tf.nn.max_pool(outputs, ksize=[1, 2, 2, 1], strides=[1, 2, 2, 1], padding="SAME")

    def _dense(self, name, inputs, units, activation=tf.identity):
        with tf.variable_scope(name):
            weights = self._weights([int(inputs.shape[1]), units])
            return activation(tf.nn.xw_plus_b(inputs, weights, self._biases(units)))

    def _weights(self, shape):
        start = self._random.standard_normal(shape) * np.sqrt(2.0 / np.prod(shape[:-1]))
        return tf.get_variable("weights", initializer=start.astype(np.float32))

    def _biases(self, size):
        return tf.get_variable("biases", [size], initializer=tf.constant_initializer(0.1))


class Shown:
    """The summaries: some for every tenth step, some for every fiftieth, one for the beginning."""

    def __init__(self, network, options, total):
        text = SETTINGS.format(
            features=FEATURES, trained=total - TESTED, batch=BATCH, tested=TESTED, steps=options.steps
        )
        self.settings = tf.summary.text("configuration", tf.constant(text))
        with tf.name_scope("quality"):
            quality = [tf.summary.scalar("loss", network.loss), tf.summary.scalar("accuracy", network.accuracy)]
        with tf.name_scope("training"):
            rate = tf.summary.scalar("rate", network.rate)
        self.curves = tf.summary.merge([*quality, rate])
        weights = [(g, v, v.op.name.partition("/")[0]) for g, v in network.gradients if v.op.name.endswith("weights")]
        with tf.name_scope("weights"):
            histograms = [tf.summary.histogram(layer, variable) for _, variable, layer in weights]
            filters = tf.transpose(weights[0][1][:, :, 0], [2, 0, 1])
            filters = tf.summary.image("filters", sheet(colored(tf.nn.sigmoid(3 * filters)), 2, 8, 24), 1)
        with tf.name_scope("gradients"):
            histograms += [tf.summary.histogram(layer, gradient) for gradient, _, layer in weights]
        self.network = tf.summary.merge([*histograms, filters])
        with tf.name_scope("mistakes"):
            is_wrong = tf.not_equal(network.guesses, network.labels)
            digits = sheet(colored(tf.boolean_mask(network.images[..., 0], is_wrong)), 3, 6, 8)
            counts = tf.confusion_matrix(network.labels, network.guesses, 10, tf.float32)
            colors = colored(tf.sqrt(counts / tf.reduce_sum(counts, 1, keepdims=True)))
            confusion = tf.image.resize_nearest_neighbor(colors[tf.newaxis], [240, 240])
            rows = [tf.as_string(tf.boolean_mask(x, is_wrong)[:10]) for x in (network.labels, network.guesses)]
            table = tf.concat([[["digit"], ["taken for"]], tf.stack(rows)], 1)
            mistakes = [tf.summary.image("digits", digits, 1), tf.summary.text("table", table)]
            self.mistakes = tf.summary.merge([*mistakes, tf.summary.image("confusion", confusion, 1)])


def sheet(images, rows, columns, scale):
    """The first images of [n, height, width, 3] beside and below each other, enlarged, with a gap between them."""
    height, width = images.shape.as_list()[1:3]
    count = rows * columns
    images = tf.concat([images, tf.fill([count, height, width, 3], np.uint8(255))], 0)[:count]
    images = tf.image.resize_nearest_neighbor(images, [height * scale, width * scale])
    images = tf.pad(images, [[0, 0], [0, 8], [0, 8], [0, 0]], constant_values=255)
    height, width = images.shape.as_list()[1:3]
    images = tf.transpose(tf.reshape(images, [rows, columns, height, width, 3]), [0, 2, 1, 3, 4])
    return tf.reshape(images, [1, rows * height, columns * width, 3])


def colored(values):
    """Numbers from 0 to 1 as colors."""
    stops = np.linspace(0, 255, len(COLORS))
    palette = np.stack([np.interp(np.arange(256), stops, channel) for channel in COLORS.T], 1)
    return tf.gather(palette.astype(np.uint8), tf.cast(255 * values, tf.int32))


def write_embedding(log, features, images, labels):
    """What the projector shows: a point for each digit, its label, and its picture."""
    folder = log.get_logdir()
    centered = features - features.mean(0)  # the projector's PCA takes points as they are
    np.savetxt(os.path.join(folder, "features.tsv"), centered, "%.5f", delimiter="\t")
    np.savetxt(os.path.join(folder, "labels.tsv"), labels, "%d")
    side = int(np.ceil(len(images) ** 0.5))
    pictures = np.full([side * side, 8, 8], 255, np.uint8)
    pictures[: len(images)] -= (255 * images[..., 0]).astype(np.uint8)
    sprite = Image.fromarray(pictures.reshape(side, side, 8, 8).swapaxes(1, 2).reshape(side * 8, side * 8))
    sprite.resize([side * 32, side * 32]).save(os.path.join(folder, "digits.png"))
    projector = tf.contrib.tensorboard.plugins.projector
    config = projector.ProjectorConfig()
    embedding = config.embeddings.add(tensor_name="features", tensor_path="features.tsv", metadata_path="labels.tsv")
    embedding.sprite.image_path = "digits.png"
    embedding.sprite.single_image_dim.extend([32, 32])
    projector.visualize_embeddings(log, config)


if __name__ == "__main__":
    main()
