"""A multilayer perceptron that reads handwritten digits: two dense layers, momentum, a learning rate that decays.

Run it with `python examples/mlp.py`.
"""

import argparse
from pathlib import Path

import numpy as np

import headrace as tf

DIGITS = Path(__file__).resolve().parents[1] / "headrace" / "models" / "digits" / "digits.npz"
HIDDEN = 64
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
        x = tf.placeholder(tf.float32, [None, 64], name="images")
        y = tf.placeholder(tf.int64, [None], name="labels")
        hidden = tf.nn.relu(dense(x, HIDDEN, random, "hidden"))
        logits = dense(hidden, 10, random, "logits")
        loss = tf.reduce_mean(tf.nn.sparse_softmax_cross_entropy_with_logits(labels=y, logits=logits), name="loss")
        accuracy = tf.reduce_mean(tf.cast(tf.equal(tf.argmax(logits, 1), y), tf.float32), name="accuracy")
        step = tf.train.get_or_create_global_step()
        rate = tf.train.exponential_decay(0.1, step, decay_steps=100, decay_rate=0.7)
        train_op = tf.train.MomentumOptimizer(rate, 0.9).minimize(loss, global_step=step)

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


def dense(inputs, units, random, name):
    """inputs @ W + b; the first weights come from `random`."""
    with tf.variable_scope(name):
        fan_in = int(inputs.shape[1])
        start = random.standard_normal((fan_in, units)) * np.sqrt(2.0 / fan_in)
        weights = tf.get_variable("W", initializer=start.astype(np.float32))
        biases = tf.get_variable("b", [units], initializer=tf.zeros_initializer())
        return tf.matmul(inputs, weights) + biases


def load():
    """Images as float32 [n, 64] from 0 to 1, labels as int64 [n]."""
    with np.load(DIGITS) as arrays:
        return arrays["images"].reshape(-1, 64).astype(np.float32) / 16.0, arrays["labels"].astype(np.int64)


if __name__ == "__main__":
    main()
