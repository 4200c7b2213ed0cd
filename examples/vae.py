"""A variational autoencoder of handwritten digits (Kingma and Welling, 2014).

The encoder gives a normal distribution over codes, a code is drawn from it (reparametrised: mean + noise * deviation),
the decoder turns the code into an image. The loss is what the image lost plus how far the codes are from a standard
normal. Run it with `python examples/vae.py`.
"""

import argparse
from pathlib import Path

import numpy as np

import headrace as tf

DIGITS = Path(__file__).resolve().parents[1] / "headrace" / "models" / "digits" / "digits.npz"
PIXELS = 64
HIDDEN = 64
CODE = 8
BATCH = 32


def main(argv=None):
    """Trains; returns the loss of every step."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--steps", type=int, default=500, help="training steps (default: %(default)s)")
    parser.add_argument("--seed", type=int, default=0, help="of weights, batches and noise (default: %(default)s)")
    options = parser.parse_args(argv)
    random = np.random.RandomState(options.seed)
    images = load()

    with tf.Graph().as_default():
        x = tf.placeholder(tf.float32, [None, PIXELS], name="images")
        noise = tf.placeholder(tf.float32, [None, CODE], name="noise")
        mean, log_variance = encode(x, random)
        code = mean + noise * tf.exp(0.5 * log_variance)
        logits = decode(code, random)

        lost = tf.reduce_sum(tf.nn.sigmoid_cross_entropy_with_logits(labels=x, logits=logits), axis=1)
        divergence = -0.5 * tf.reduce_sum(1 + log_variance - tf.square(mean) - tf.exp(log_variance), axis=1)
        loss = tf.reduce_mean(lost + divergence, name="loss")
        train_op = tf.train.AdamOptimizer(2e-3).minimize(loss)

        losses = []
        with tf.Session() as session:
            session.run(tf.global_variables_initializer())
            for i in range(options.steps):
                rows = random.randint(0, len(images), BATCH)
                feeds = {x: images[rows], noise: random.standard_normal((BATCH, CODE))}
                _, value = session.run([train_op, loss], feeds)
                losses.append(float(value))
                if i % 50 == 0 or i == options.steps - 1:
                    print(f"step {i:4d}  loss {value:.3f}")
            show(session.run(tf.sigmoid(logits), {code: random.standard_normal((4, CODE))}))
    return losses


def encode(images, random):
    """The mean and the logarithm of the variance of each image's code."""
    hidden = tf.nn.relu(dense(images, HIDDEN, random, "encoder"))
    return dense(hidden, CODE, random, "mean"), dense(hidden, CODE, random, "log_variance")


def decode(code, random):
    """Logits of the pixels."""
    hidden = tf.nn.relu(dense(code, HIDDEN, random, "decoder"))
    return dense(hidden, PIXELS, random, "pixels")


def dense(inputs, units, random, name):
    """inputs @ W + b; the first weights come from `random`."""
    with tf.variable_scope(name):
        fan_in = int(inputs.shape[1])
        start = random.standard_normal((fan_in, units)) / np.sqrt(fan_in)
        weights = tf.get_variable("W", initializer=start.astype(np.float32))
        biases = tf.get_variable("b", [units], initializer=tf.zeros_initializer())
        return tf.matmul(inputs, weights) + biases


def load():
    """Images as float32 [n, 64] from 0 to 1."""
    with np.load(DIGITS) as arrays:
        return arrays["images"].reshape(-1, PIXELS).astype(np.float32) / 16.0


def show(images):
    """Prints images side by side."""
    print("new digits:")
    for row in range(8):
        print(
            "   ".join("".join(" .:*#"[int(v * 4.999)] * 2 for v in image[row * 8 : row * 8 + 8]) for image in images)
        )


if __name__ == "__main__":
    main()
