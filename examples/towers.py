"""Data parallelism in one graph: each tower computes the gradients of its part of a batch on a device of its own.

The variables are on the first CPU; their gradients are averaged there and applied once, as if one device had seen the whole
batch (white paper 7).  Run it with `python examples/towers.py`, or `--device GPU --towers 4` for four GPUs.
"""

import argparse
from pathlib import Path

import numpy as np

import headrace as tf

DIGITS = Path(__file__).resolve().parents[1] / "headrace" / "models" / "digits" / "digits.npz"
HIDDEN = 64
BATCH = 48


def main(argv=None):
    """Trains; returns the loss of every step."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--steps", type=int, default=300, help="training steps (default: %(default)s)")
    parser.add_argument("--seed", type=int, default=0, help="of the weights and the batches (default: %(default)s)")
    parser.add_argument("--towers", type=int, default=2, help="devices to train on (default: %(default)s)")
    parser.add_argument("--device", choices=["CPU", "GPU"], default="CPU", help="their type (default: %(default)s)")
    options = parser.parse_args(argv)
    if options.towers < 1 or BATCH % options.towers:
        parser.error(f"--towers must divide the batch of {BATCH}, {options.towers} does not")
    random = np.random.RandomState(options.seed)
    images, labels = load()

    with tf.Graph().as_default(), tf.device("/cpu:0"):
        x = tf.placeholder(tf.float32, [BATCH, 64], name="images")
        y = tf.placeholder(tf.int64, [BATCH], name="labels")
        create_variables(random)
        optimizer = tf.train.MomentumOptimizer(0.1, 0.9)
        losses, gradients = [], []
        shards = zip(tf.split(x, options.towers), tf.split(y, options.towers), strict=True)
        for i, (part, answers) in enumerate(shards):
            with tf.device(f"/{options.device}:{i}"), tf.name_scope(f"tower_{i}"):
                losses.append(tower_loss(part, answers))
                gradients.append(optimizer.compute_gradients(losses[-1], colocate_gradients_with_ops=True))
        loss = tf.reduce_mean(tf.stack(losses), name="loss")
        train_op = optimizer.apply_gradients(average_gradients(gradients))

        values = []
        with tf.Session(config=config(options)) as session:
            session.run(tf.global_variables_initializer())
            for i in range(options.steps):
                rows = random.randint(0, len(labels), BATCH)
                _, value = session.run([train_op, loss], {x: images[rows], y: labels[rows]})
                values.append(float(value))
                if i % 50 == 0 or i == options.steps - 1:
                    print(f"step {i:4d}  loss {value:.4f}")
    return values


def config(options):
    """Of the session: as many virtual CPUs as there are towers on CPUs."""
    cpus = options.towers if options.device == "CPU" else 1
    return tf.ConfigProto(device_count={"CPU": cpus}, allow_soft_placement=True)


def create_variables(random):
    """Makes the weights of two dense layers, which all towers share."""
    for name, rows, columns in (("hidden", 64, HIDDEN), ("logits", HIDDEN, 10)):
        with tf.variable_scope(name):
            start = random.standard_normal((rows, columns)) * np.sqrt(2.0 / rows)
            tf.get_variable("W", initializer=start.astype(np.float32))
            tf.get_variable("b", [columns], initializer=tf.zeros_initializer())


def tower_loss(images, labels):
    """The mean loss of one tower's images."""
    logits = dense(tf.nn.relu(dense(images, "hidden")), "logits")
    return tf.reduce_mean(tf.nn.sparse_softmax_cross_entropy_with_logits(labels=labels, logits=logits))


def dense(inputs, name):
    """inputs @ W + b, with the variables that are there."""
    with tf.variable_scope(name, reuse=True):
        return tf.matmul(inputs, tf.get_variable("W")) + tf.get_variable("b")


def average_gradients(towers):
    """Of each variable, the mean of its gradients in all towers."""
    average = []
    for pairs in zip(*towers, strict=True):
        gradients = [gradient for gradient, _ in pairs]
        average.append((tf.reduce_mean(tf.stack(gradients), 0), pairs[0][1]))
    return average


def load():
    """Images as float32 [n, 64] from 0 to 1, labels as int64 [n]."""
    with np.load(DIGITS) as arrays:
        return arrays["images"].reshape(-1, 64).astype(np.float32) / 16.0, arrays["labels"].astype(np.int64)


if __name__ == "__main__":
    main()
