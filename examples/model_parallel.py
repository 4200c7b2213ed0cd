"""Model parallelism: an LSTM of three layers, each on a device of its own, trained on the rows of handwritten digits.

Each device holds the weights of its layer and computes its gradients; only outputs and their gradients go from one to the next
(white paper 7).  The layers are unrolled over time, so that a device can compute a time step while the one below computes the
next.  Run it with `python examples/model_parallel.py`, or `--device GPU` for three GPUs.
"""

import argparse
from pathlib import Path

import numpy as np

import headrace as tf

DIGITS = Path(__file__).resolve().parents[1] / "headrace" / "models" / "digits" / "digits.npz"
LAYERS = 3
UNITS = 32
BATCH = 32


def main(argv=None):
    """Trains; returns the loss of every step."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--steps", type=int, default=100, help="training steps (default: %(default)s)")
    parser.add_argument("--seed", type=int, default=0, help="of the weights and the batches (default: %(default)s)")
    parser.add_argument("--devices", type=int, default=LAYERS, help="to put layers on (default: %(default)s)")
    parser.add_argument("--device", choices=["CPU", "GPU"], default="CPU", help="their type (default: %(default)s)")
    options = parser.parse_args(argv)
    if not 1 <= options.devices <= LAYERS:
        parser.error(f"--devices must be from 1 to {LAYERS}, not {options.devices}")
    random = np.random.RandomState(options.seed)
    images, labels = load()

    with tf.Graph().as_default():
        x = tf.placeholder(tf.float32, [BATCH, 8, 8], name="images")
        y = tf.placeholder(tf.int64, [BATCH], name="labels")
        sequence = tf.unstack(x, axis=1)
        for layer in range(LAYERS):
            with tf.device(f"/{options.device}:{layer % options.devices}"), tf.variable_scope(f"layer_{layer}"):
                sequence = lstm(sequence, random)
        with tf.device(f"/{options.device}:{options.devices - 1}"), tf.variable_scope("logits"):
            logits = tf.nn.xw_plus_b(sequence[-1], weights([UNITS, 10], random), biases(10))
            loss = tf.reduce_mean(tf.nn.sparse_softmax_cross_entropy_with_logits(labels=y, logits=logits), name="loss")
        # Gradients are computed where the layer is.
        train_op = tf.train.AdamOptimizer(0.005).minimize(loss, colocate_gradients_with_ops=True)

        losses = []
        with tf.Session(config=config(options)) as session:
            session.run(tf.global_variables_initializer())
            for i in range(options.steps):
                rows = random.randint(0, len(labels), BATCH)
                _, value = session.run([train_op, loss], {x: images[rows], y: labels[rows]})
                losses.append(float(value))
                if i % 20 == 0 or i == options.steps - 1:
                    print(f"step {i:4d}  loss {value:.4f}")
    return losses


def config(options):
    """Of the session: as many virtual CPUs as the layers are put on."""
    cpus = options.devices if options.device == "CPU" else 1
    return tf.ConfigProto(device_count={"CPU": cpus}, allow_soft_placement=True)


def lstm(sequence, random):
    """The outputs of one layer of LSTM cells for all time steps."""
    kernel = weights([int(sequence[0].shape[1]) + UNITS, 4 * UNITS], random)
    bias = biases(4 * UNITS)
    output = state = tf.zeros([BATCH, UNITS])
    outputs = []
    for inputs in sequence:
        gates = tf.nn.xw_plus_b(tf.concat([inputs, output], 1), kernel, bias)
        candidate, write, keep, show = tf.split(gates, 4, axis=1)
        state = state * tf.sigmoid(keep + 1.0) + tf.sigmoid(write) * tf.tanh(candidate)
        output = tf.tanh(state) * tf.sigmoid(show)
        outputs.append(output)
    return outputs


def weights(shape, random):
    """A variable that starts with values from `random`, scaled by the number of inputs."""
    start = random.standard_normal(shape) / np.sqrt(shape[0])
    return tf.get_variable("W", initializer=start.astype(np.float32))


def biases(size):
    """A variable that starts at zero."""
    return tf.get_variable("b", [size], initializer=tf.zeros_initializer())


def load():
    """Images as float32 [n, 8, 8] from 0 to 1, labels as int64 [n]."""
    with np.load(DIGITS) as arrays:
        return arrays["images"].reshape(-1, 8, 8).astype(np.float32) / 16.0, arrays["labels"].astype(np.int64)


if __name__ == "__main__":
    main()
