"""A family of programs with conditionals and loops, nested up to three deep, grown from a seed; the same for any `tf`."""

from random import Random

import numpy as np

SEEDS = range(40)
INPUTS = {
    "x": np.array([0.5, -0.3, 0.8]),
    "y": np.array([-0.6, 0.2, 0.4]),
}
VARIABLE = np.array([0.7, -0.2, 0.1])


class Program:
    """Grows one program.  Every decision depends on the seed and the place in the program only."""

    def __init__(self, tf, seed):
        self.tf = tf
        self.seed = seed

    def grow(self, path, depth, env):
        """A tensor of shape [3] computed from the tensors in ``env``."""
        rng = Random(f"{self.seed}/{path}")
        value = self.arithmetic(rng, env)
        for i in range(rng.randint(1, 2)):
            kind = rng.choice(["arithmetic", "cond", "while", "while", "data_while"]) if depth else "arithmetic"
            grown = getattr(self, f"grow_{kind}")(rng, f"{path}/{i}", depth - 1, [*env, value])
            value = self.arithmetic(rng, [*env, value, grown])
        return value

    def arithmetic(self, rng, env):
        tf = self.tf
        a, b = rng.choice(env), rng.choice(env)
        return rng.choice([
            lambda: tf.tanh(a) * b,
            lambda: tf.sin(a + b),
            lambda: 0.5 * a - b,
            lambda: tf.exp(-tf.abs(a)) + 0.3 * b,
            lambda: a * tf.reduce_mean(b),
            lambda: tf.sigmoid(a) * 1.5,
        ])()  # fmt: skip

    def grow_arithmetic(self, rng, path, depth, env):
        return self.arithmetic(rng, env)

    def grow_cond(self, rng, path, depth, env):
        pred = self.tf.reduce_sum(rng.choice(env)) > rng.uniform(-0.5, 0.5)
        return self.tf.cond(
            pred, lambda: self.grow(f"{path}/t", depth, env), lambda: self.grow(f"{path}/f", depth, env)
        )

    def grow_while(self, rng, path, depth, env):
        times, start = rng.randint(0, 4), rng.choice(env)

        def body(i, a):
            return i + 1, self.grow(f"{path}/b", depth, [*env, a, a]) * 0.9 + a * 0.1

        return self.tf.while_loop(lambda i, a: i < times, body, [self.tf.constant(0), start])[1]

    def grow_data_while(self, rng, path, depth, env):
        bound = rng.uniform(0.5, 2.5)

        def body(i, a, b):
            return i + 1, self.grow(f"{path}/b", depth, [*env, a]), a + self.tf.abs(b) * 0.5

        start = [self.tf.constant(0), rng.choice(env), rng.choice(env)]
        found = self.tf.while_loop(
            lambda i, a, b: self.tf.logical_and(i < 4, self.tf.reduce_sum(a * b) < bound), body, start
        )
        return found[1] - found[2]


def record(tf, seed, prepare=lambda session: None):
    """The value, the gradients, and the gradients of the gradients' squares; a missing gradient is zero."""
    with tf.Graph().as_default(), tf.Session() as session:
        inputs = {k: tf.placeholder(tf.float64, [3], name=k) for k in INPUTS}
        variable = tf.Variable(VARIABLE, name="v")
        xs = [*inputs.values(), variable]
        result = Program(tf, seed).grow("", 3, [*inputs.values(), variable * 1.0])
        first = _gradients(tf, result, xs)
        second = _gradients(tf, tf.add_n([tf.reduce_sum(g * g) for g in first]), xs)
        prepare(session)
        session.run(tf.global_variables_initializer())
        feeds = {inputs[k]: v for k, v in INPUTS.items()}
        value, first, second = session.run([result, first, second], feeds)
        return [v.tolist() for v in [value, *first, *second]]


def _gradients(tf, y, xs):
    found = tf.gradients(y, xs)
    return [tf.zeros([3], tf.float64) if g is None else tf.convert_to_tensor(g) for g in found]
