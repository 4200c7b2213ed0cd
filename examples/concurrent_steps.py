"""Concurrent steps on the same devices: threads of one session bring the parts of each batch through a network at the same time.

The network's two halves are on two devices.  One step alone would leave one of them idle; a few at the same time keep both busy
(white paper 7, Fig. 9).  Each adds its gradients to a sum, which the batch's last step applies, so that the result is
that of one large step, whatever the order.  Run it with `python examples/concurrent_steps.py`, or `--device GPU` for two GPUs.
"""

import argparse
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np

import headrace as tf

DIGITS = Path(__file__).resolve().parents[1] / "headrace" / "models" / "digits" / "digits.npz"
HIDDEN = 128
PARTS = 8  # of a batch
ROWS = 32  # in a part


def main(argv=None):
    """Trains; returns the loss of every batch."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--steps", type=int, default=100, help="batches to train on (default: %(default)s)")
    parser.add_argument("--seed", type=int, default=0, help="of the weights and the batches (default: %(default)s)")
    parser.add_argument("--threads", type=int, default=4, help="steps at the same time (default: %(default)s)")
    parser.add_argument("--devices", type=int, default=2, choices=[1, 2], help="to use (default: %(default)s)")
    parser.add_argument("--device", choices=["CPU", "GPU"], default="CPU", help="their type (default: %(default)s)")
    options = parser.parse_args(argv)
    if options.threads < 1:
        parser.error(f"--threads must be at least 1, not {options.threads}")
    random = np.random.RandomState(options.seed)
    images, labels = load()

    with tf.Graph().as_default():
        x = tf.placeholder(tf.float32, [ROWS, 64], name="images")
        y = tf.placeholder(tf.int64, [ROWS], name="labels")
        with tf.device(f"/{options.device}:0"):
            hidden = tf.nn.relu(dense(tf.nn.relu(dense(x, HIDDEN, random, "first")), HIDDEN, random, "second"))
        with tf.device(f"/{options.device}:{options.devices - 1}"):
            logits = dense(tf.nn.relu(dense(hidden, HIDDEN, random, "third")), 10, random, "logits")
            loss = tf.reduce_mean(tf.nn.sparse_softmax_cross_entropy_with_logits(labels=y, logits=logits), name="loss")
        add_op, train_op = accumulated(tf.train.MomentumOptimizer(0.1, 0.9), loss)

        losses = []
        with tf.Session(config=config(options)) as session, ThreadPoolExecutor(options.threads) as threads:
            session.run(tf.global_variables_initializer())

            def add(rows):
                return session.run([loss, add_op], {x: images[rows], y: labels[rows]})[0]

            for i in range(options.steps):
                batch = random.randint(0, len(labels), [PARTS, ROWS])
                losses.append(float(np.mean(list(threads.map(add, batch)))))  # returns when all parts are added
                session.run(train_op)
                if i % 20 == 0 or i == options.steps - 1:
                    print(f"step {i:4d}  loss {losses[-1]:.4f}")
    return losses


def config(options):
    """Of the session: as many virtual CPUs as the network is put on."""
    cpus = options.devices if options.device == "CPU" else 1
    return tf.ConfigProto(device_count={"CPU": cpus}, allow_soft_placement=True)


def accumulated(optimizer, loss):
    """An operation that adds the gradients of a part to sums, and one that applies their mean and clears them."""
    pairs = optimizer.compute_gradients(loss, colocate_gradients_with_ops=True)
    sums, adds = [], []
    for gradient, variable in pairs:
        with tf.colocate_with(variable):
            sums.append(tf.Variable(tf.zeros(variable.shape), trainable=False))
            adds.append(tf.assign_add(sums[-1], gradient, use_locking=True))
    means = [(total / PARTS, variable) for total, (_, variable) in zip(sums, pairs, strict=True)]
    with tf.control_dependencies([optimizer.apply_gradients(means)]):
        clear = [tf.assign(total, tf.zeros(total.shape)) for total in sums]
    return tf.group(*adds), tf.group(*clear)


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
