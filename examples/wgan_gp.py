"""A Wasserstein GAN with gradient penalty on handwritten digits (Gulrajani et al., 2017).

The critic's loss contains the gradient of the critic itself, so training it takes second derivatives. Two optimizers
share one graph, each with the variables of its own network. Run it with `python examples/wgan_gp.py`.
"""

import argparse
from pathlib import Path

import numpy as np

import headrace as tf

DIGITS = Path(__file__).resolve().parents[1] / "headrace" / "models" / "digits" / "digits.npz"
PIXELS = 64
HIDDEN = 64
CODE = 16
BATCH = 32
CRITIC_STEPS = 3  # for each step of the generator
PENALTY = 10.0


def main(argv=None):
    """Trains; returns the critic's loss after every step of the generator."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--steps", type=int, default=500, help="steps of the generator (default: %(default)s)")
    parser.add_argument("--seed", type=int, default=0, help="of weights, batches and noise (default: %(default)s)")
    options = parser.parse_args(argv)
    random = np.random.RandomState(options.seed)
    images = load()
    start = first_weights(random)

    with tf.Graph().as_default():
        real = tf.placeholder(tf.float32, [None, PIXELS], name="real")
        noise = tf.placeholder(tf.float32, [None, CODE], name="noise")
        mix = tf.placeholder(tf.float32, [None, 1], name="mix")
        fake = generator(noise, start)
        between = mix * real + (1 - mix) * fake
        slope = tf.gradients(critic(between, start), [between])[0]
        length = tf.sqrt(tf.reduce_sum(tf.square(slope), axis=1) + 1e-8)
        penalty = tf.reduce_mean(tf.square(length - 1.0))
        critic_loss = tf.reduce_mean(critic(fake, start)) - tf.reduce_mean(critic(real, start)) + PENALTY * penalty
        generator_loss = -tf.reduce_mean(critic(fake, start))

        def optimizer():
            return tf.train.AdamOptimizer(1e-3, beta1=0.5, beta2=0.9)

        critic_op = optimizer().minimize(critic_loss, var_list=tf.trainable_variables("critic"))
        generator_op = optimizer().minimize(generator_loss, var_list=tf.trainable_variables("generator"))

        losses = []
        with tf.Session() as session:
            session.run(tf.global_variables_initializer())
            for i in range(options.steps):
                for _ in range(CRITIC_STEPS):
                    feeds = {
                        real: images[random.randint(0, len(images), BATCH)],
                        noise: random.standard_normal((BATCH, CODE)),
                        mix: random.uniform(size=(BATCH, 1)),
                    }
                    _, value = session.run([critic_op, critic_loss], feeds)
                session.run(generator_op, {noise: random.standard_normal((BATCH, CODE))})
                losses.append(float(value))
                if i % 50 == 0 or i == options.steps - 1:
                    print(f"step {i:4d}  critic's loss {value:.4f}")
    return losses


def generator(noise, start):
    """Images from noise."""
    with tf.variable_scope("generator", reuse=tf.AUTO_REUSE):
        hidden = tf.nn.relu(dense(noise, start, "generator/hidden"))
        return tf.sigmoid(dense(hidden, start, "generator/pixels"))


def critic(images, start):
    """A score for each image: high for real ones."""
    with tf.variable_scope("critic", reuse=tf.AUTO_REUSE):
        hidden = tf.nn.softplus(dense(images, start, "critic/hidden"))
        return dense(hidden, start, "critic/score")


def dense(inputs, start, name):
    """inputs @ W + b, sharing the variables of the name."""
    with tf.variable_scope(name.rpartition("/")[2]):
        weights = tf.get_variable("W", initializer=start[name])
        biases = tf.get_variable("b", [start[name].shape[1]], initializer=tf.zeros_initializer())
        return tf.matmul(inputs, weights) + biases


def first_weights(random):
    """The first values of all weights."""
    shapes = {
        "generator/hidden": (CODE, HIDDEN),
        "generator/pixels": (HIDDEN, PIXELS),
        "critic/hidden": (PIXELS, HIDDEN),
        "critic/score": (HIDDEN, 1),
    }
    return {
        name: (random.standard_normal(shape) / np.sqrt(shape[0])).astype(np.float32) for name, shape in shapes.items()
    }


def load():
    """Images as float32 [n, 64] from 0 to 1."""
    with np.load(DIGITS) as arrays:
        return arrays["images"].reshape(-1, PIXELS).astype(np.float32) / 16.0


if __name__ == "__main__":
    main()
