"""A family of programs with conditionals and loops, nested up to three deep, grown from a seed; the same for any `tf`."""

from random import Random

import numpy as np

SEEDS = range(64)
PLAIN = 40  # programs from this seed on also use arrays: scan, map_fn, and loops over rows with products
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
        self.kinds = ["arithmetic", "cond", "while", "while", "data_while"]
        if seed >= PLAIN:
            self.kinds = ["arithmetic", "cond", "while", "data_while", "scan", "map", "network"]

    def grow(self, path, depth, env):
        """A tensor of shape [3] computed from the tensors in ``env``."""
        rng = Random(f"{self.seed}/{path}")
        value = self.arithmetic(rng, env)
        for i in range(rng.randint(1, 2)):
            kind = rng.choice(self.kinds) if depth else "arithmetic"
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

    def rows(self, rng, env):
        return self.tf.stack([rng.choice(env) * rng.uniform(0.2, 1.2) for _ in range(rng.randint(1, 4))])

    def grow_scan(self, rng, path, depth, env):
        def step(a, row):
            return self.grow(f"{path}/s", depth, [*env, a, row]) * 0.5 + row

        found = self.tf.scan(step, self.rows(rng, env), initializer=rng.choice(env))
        return self.tf.reduce_mean(found, 0)

    def grow_map(self, rng, path, depth, env):
        found = self.tf.map_fn(lambda row: self.grow(f"{path}/m", depth, [*env, row]), self.rows(rng, env))
        return self.tf.reduce_sum(found, 0) * 0.4

    def grow_network(self, rng, path, depth, env):
        """A recurrent network: arrays of rows, products with captured weights, a bias."""
        tf, steps = self.tf, rng.randint(1, 4)
        weights = tf.stack([rng.choice(env) for _ in range(6)])
        bias = rng.choice(env)
        inputs = tf.TensorArray(tf.float64, steps, element_shape=[2, 3]).unstack(
            tf.stack([tf.stack([rng.choice(env), rng.choice(env)]) for _ in range(steps)])
        )
        outputs = tf.TensorArray(tf.float64, steps, element_shape=[2, 3])

        def body(i, h, outputs):
            h = tf.tanh(tf.nn.bias_add(tf.matmul(tf.concat([inputs.read(i), h], 1), weights), bias))
            h = h + 0.1 * self.grow(f"{path}/n", depth, [*env, h[0]])
            return i + 1, h, outputs.write(i, h)

        start = [tf.constant(0), tf.stack([rng.choice(env)] * 2), outputs]
        _, _, outputs = tf.while_loop(lambda i, *_: i < steps, body, start)
        return tf.reduce_sum(outputs.stack(), [0, 1]) * 0.3


def record(tf, seed, config=None, depth=3, order=2):
    """The value, the gradients, and the gradients of the gradients' squares; a missing gradient is zero."""
    with tf.Graph().as_default(), tf.Session(config=config) as session:
        inputs = {k: tf.placeholder(tf.float64, [3], name=k) for k in INPUTS}
        variable = tf.Variable(VARIABLE, name="v")
        xs = [*inputs.values(), variable]
        result = Program(tf, seed).grow("", depth, [*inputs.values(), variable * 1.0])
        first = _gradients(tf, result, xs)
        second = _gradients(tf, tf.add_n([tf.reduce_sum(g * g) for g in first]), xs) if order > 1 else []
        session.run(tf.global_variables_initializer())
        feeds = {inputs[k]: v for k, v in INPUTS.items()}
        value, first, second = session.run([result, first, second], feeds)
        return [v.tolist() for v in [value, *first, *second]]


def _gradients(tf, y, xs):
    found = tf.gradients(y, xs)
    return [tf.zeros([3], tf.float64) if g is None else tf.convert_to_tensor(g) for g in found]
