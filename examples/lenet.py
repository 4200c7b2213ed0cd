"""LeNet for 8 x 8 digits: two convolutions with max pools, two dense layers, trained by Adam.

Run it with `python examples/lenet.py`.
"""

import argparse
from pathlib import Path

import numpy as np

import headrace as tf

DIGITS = Path(__file__).resolve().parents[1] / "headrace" / "models" / "digits" / "digits.npz"
BATCH = 32


def main(argv=None):
    """Trains; returns the loss of every step."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--steps", type=int, default=300, help="training steps (default: %(default)s)")
    parser.add_argument("--seed", type=int, default=0, help="of the weights and the batches (default: %(default)s)")
    options = parser.parse_args(argv)
    random = np.random.RandomState(options.seed)
    images, labels = load()

    with tf.Graph().as_default():
        x = tf.placeholder(tf.float32, [None, 8, 8, 1], name="images")
        y = tf.placeholder(tf.int64, [None], name="labels")
        logits = lenet(x, random)
        one_hot = tf.one_hot(y, 10)
        loss = tf.reduce_mean(tf.nn.softmax_cross_entropy_with_logits_v2(labels=one_hot, logits=logits), name="loss")
        accuracy = tf.reduce_mean(tf.cast(tf.equal(tf.argmax(logits, 1), y), tf.float32), name="accuracy")
        train_op = tf.train.AdamOptimizer(1e-3).minimize(loss)

        losses = []
        with tf.Session() as session:
            session.run(tf.global_variables_initializer())
            for i in range(options.steps):
                rows = random.randint(0, len(labels), BATCH)
                _, value = session.run([train_op, loss], {x: images[rows], y: labels[rows]})
                losses.append(float(value))
                if i % 50 == 0 or i == options.steps - 1:
                    print(f"step {i:4d}  loss {value:.4f}")
            print(f"accuracy {session.run(accuracy, {x: images, y: labels}):.4f}")
    return losses


def lenet(images, random):
    """Logits of the ten classes."""
    hidden = convolution(images, 16, random, "conv1")
    hidden = tf.nn.max_pool(hidden, ksize=[1, 2, 2, 1], strides=[1, 2, 2, 1], padding="SAME")
    hidden = convolution(hidden, 32, random, "conv2")
    hidden = tf.nn.max_pool(hidden, ksize=[1, 2, 2, 1], strides=[1, 2, 2, 1], padding="SAME")
    hidden = tf.reshape(hidden, [-1, 2 * 2 * 32])
    with tf.variable_scope("dense"):
        hidden = tf.nn.relu(tf.nn.xw_plus_b(hidden, weights([128, 64], random), biases(64)))
    with tf.variable_scope("logits"):
        return tf.nn.xw_plus_b(hidden, weights([64, 10], random), biases(10))


def convolution(inputs, channels, random, name):
    """A 3 x 3 convolution, a bias and a ReLU."""
    with tf.variable_scope(name):
        filters = weights([3, 3, int(inputs.shape[3]), channels], random)
        outputs = tf.nn.conv2d(inputs, filters, strides=[1, 1, 1, 1], padding="SAME")
        return tf.nn.relu(tf.nn.bias_add(outputs, biases(channels)))


def weights(shape, random):
    """A variable that starts with values from `random`, scaled by the number of inputs (He et al., 2015)."""
    start = random.standard_normal(shape) * np.sqrt(2.0 / np.prod(shape[:-1]))
    return tf.get_variable("W", initializer=start.astype(np.float32))


def biases(size):
    """A variable that starts at 0.1."""
    return tf.get_variable("b", [size], initializer=tf.constant_initializer(0.1))


def load():
    """Images as float32 [n, 8, 8, 1] from 0 to 1, labels as int64 [n]."""
    with np.load(DIGITS) as arrays:
        return arrays["images"].reshape(-1, 8, 8, 1).astype(np.float32) / 16.0, arrays["labels"].astype(np.int64)


if __name__ == "__main__":
    main()
