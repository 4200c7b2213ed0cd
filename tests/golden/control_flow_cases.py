"""A family of programs with conditionals and loops, nested up to three deep, grown from a seed; the same for any `tf`."""

from random import Random

import numpy as np

SEEDS = range(112)
ARRAYS = 40  # programs from this seed on also use arrays: scan, map_fn, and loops over rows with products
WIDE = (
    64  # from this one on: arrays written in branches, shapes that grow, fed trip counts, gradients taken inside bodies
)
DRAWN = 1000  # from this one on all three kinds in turn, for those who draw seeds
INPUTS = {
    "x": np.array([0.5, -0.3, 0.8]),
    "y": np.array([-0.6, 0.2, 0.4]),
}
VARIABLE = np.array([0.7, -0.2, 0.1])
CONSTANT = np.array([0.2, 0.9, -0.4])
TIMES = 3  # what is fed as the number of iterations of some loops


def family(seed):
    """The first seed of the programs that this one is like."""
    if seed >= DRAWN:
        return (0, ARRAYS, WIDE)[seed % 3]
    return WIDE if seed >= WIDE else ARRAYS if seed >= ARRAYS else 0


class Program:
    """Grows one program.  Every decision depends on the seed and the place in the program only."""

    def __init__(self, tf, seed, times=None):
        self.tf = tf
        self.seed = seed
        self.times = times
        self.family = family(seed)
        self.kinds = ["arithmetic", "cond", "while", "while", "data_while"]
        if self.family == ARRAYS:
            self.kinds = ["arithmetic", "cond", "while", "data_while", "scan", "map", "network"]
        if self.family == WIDE:
            self.kinds = [
                "cond",
                "case",
                "fed_while",
                "data_while",
                "array",
                "branch_array",
                "growing",
                "fold",
                "slope",
            ]

    def grow(self, path, depth, env):
        """A tensor of shape [3] computed from the tensors in ``env``."""
        rng = Random(f"{self.seed}/{path}")
        value = self.arithmetic(rng, env)
        for i in range(rng.randint(1, 2) if self.family != WIDE else 1):
            kind = rng.choice(self.kinds) if depth else "arithmetic"
            grown = getattr(self, f"grow_{kind}")(rng, f"{path}/{i}", depth - 1, [*env, value])
            value = self.arithmetic(rng, [*env, value, grown])
        return value

    def arithmetic(self, rng, env):
        tf = self.tf
        a, b = rng.choice(env), rng.choice(env)
        if self.family == WIDE:  # what was made last, with a little of something else: most depends on most then
            a, b = env[-1] + 0.1 * a, b - 0.2 * env[-2]
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

    def grow_case(self, rng, path, depth, env):
        tf, bounds = self.tf, [rng.uniform(-0.8, 0.8) for _ in range(2)]
        asked = [tf.reduce_sum(rng.choice(env)) > bound for bound in bounds]
        pairs = [(p, lambda i=i: self.grow(f"{path}/{i}", depth, env)) for i, p in enumerate(asked)]
        return tf.case(pairs, default=lambda: self.grow(f"{path}/d", depth, env))

    def grow_fed_while(self, rng, path, depth, env):
        """How often it goes round is fed; it may also be limited."""
        limit, start = rng.choice([None, None, 2, 5]), rng.choice(env)

        def body(i, a):
            return [i + 1, self.grow(f"{path}/b", depth, [*env, a]) * 0.7 + a * 0.2]

        start = [self.tf.constant(0), start]
        return self.tf.while_loop(lambda i, a: i < self.times, body, start, maximum_iterations=limit)[1]

    def grow_array(self, rng, path, depth, env):
        """Every element is made of the one before it, read back from the array."""
        tf, steps, joined = self.tf, rng.randint(1, 3), rng.random() < 0.4
        array = tf.TensorArray(tf.float64, steps + 1, element_shape=[3], clear_after_read=False)

        def body(i, array):
            return i + 1, array.write(i + 1, self.grow(f"{path}/a", depth, [*env, array.read(i)]) * 0.8)

        _, array = tf.while_loop(lambda i, _: i < steps, body, [tf.constant(0), array.write(0, rng.choice(env))])
        found = tf.reshape(array.concat(), [-1, 3]) if joined else array.stack()
        return tf.reduce_mean(found, 0) + 0.1 * array.read(steps)

    def grow_branch_array(self, rng, path, depth, env):
        """Branches write to the array; those who read it later do so in a loop of their own."""
        tf, steps, bound = self.tf, rng.randint(1, 3), rng.uniform(-0.6, 0.6)
        array = tf.TensorArray(tf.float64, 0, dynamic_size=True, element_shape=[3], clear_after_read=False)

        def fill(i, a, array):
            inner = [*env, a]
            array = tf.cond(
                tf.reduce_sum(a) > bound,
                lambda: array.write(i, self.grow(f"{path}/t", depth, inner)),
                lambda: array.write(i, tf.tanh(a) - 0.2),
            )
            return i + 1, a * 0.5 - array.read(i), array

        start = [tf.constant(0), rng.choice(env), array]
        _, _, array = tf.while_loop(lambda i, *_: i < steps, fill, start)

        def read(i, a):
            return i + 1, tf.sin(a + array.read(steps - 1 - i))

        return tf.while_loop(lambda i, _: i < steps, read, [tf.constant(0), rng.choice(env)])[1]

    def grow_growing(self, rng, path, depth, env):
        """A loop variable whose shape is another in each iteration; TensorFlow has no second gradient of a join there."""
        tf, steps, joins = self.tf, rng.randint(1, 3), self.seed % 2 == 0

        def body(i, a):
            row = self.grow(f"{path}/g", depth, [*env, tf.reduce_mean(a, 0)])
            return i + 1, tf.concat([a, [row * 0.5]], 0) if joins else tf.tile(a * 0.4, [2, 1]) + row

        invariants = [tf.TensorShape([]), tf.TensorShape([None, 3])]
        start = [tf.constant(0), tf.stack([rng.choice(env)])]
        found = tf.while_loop(lambda i, _: i < steps, body, start, shape_invariants=invariants)[1]
        return tf.reduce_sum(found, 0)

    def grow_fold(self, rng, path, depth, env):
        fold = rng.choice([self.tf.foldl, self.tf.foldr])

        def step(a, row):
            return self.grow(f"{path}/f", depth, [*env, a, row]) * 0.5 + row * a

        return fold(step, self.rows(rng, env), initializer=rng.choice(env))

    def grow_slope(self, rng, path, depth, env):
        """A gradient taken inside a body."""
        tf, start = self.tf, rng.choice(env)

        def body(i, a):
            inner = tf.reduce_sum(tf.sin(self.grow(f"{path}/s", min(depth, 1), [*env, a]) * a))
            return i + 1, a - 0.3 * tf.gradients(inner, a)[0]

        return tf.while_loop(lambda i, _: i < 2, body, [tf.constant(0), start])[1]


def record(tf, seed, config=None, depth=3, order=2):
    """The value, the gradients, and the gradients of the gradients' squares; a missing gradient is zero.

    Of the wide programs, those of odd seeds are two deep with second gradients, the others three deep with the first.
    """
    wide = family(seed) == WIDE
    if wide:
        depth, order = (min(depth, 2), order) if seed % 2 else (depth, 1)
    with tf.Graph().as_default(), tf.Session(config=config) as session:
        inputs = {k: tf.placeholder(tf.float64, [3], name=k) for k in INPUTS}
        feeds = {inputs[k]: v for k, v in INPUTS.items()}
        variable = tf.Variable(VARIABLE, name="v")
        xs = [*inputs.values(), variable]
        env = [*inputs.values(), variable * 1.0]
        times = None
        if wide:  # gradients for a constant and for what was computed, both used in bodies
            constant = tf.constant(CONSTANT, name="c")
            outside = tf.tanh(inputs["x"] - constant, name="z")
            xs, env = [*xs, constant, outside], [*env, constant, outside]
            times = tf.placeholder(tf.int32, [], name="times")
            feeds[times] = TIMES
        result = Program(tf, seed, times).grow("", depth, env)
        first = _gradients(tf, result, xs)
        second = _gradients(tf, tf.add_n([tf.reduce_sum(g * g) for g in first]), xs) if order > 1 else []
        session.run(tf.global_variables_initializer())
        value, first, second = session.run([result, first, second], feeds)
        return [v.tolist() for v in [value, *first, *second]]


def _gradients(tf, y, xs):
    found = tf.gradients(y, xs)
    return [tf.zeros([3], tf.float64) if g is None else tf.convert_to_tensor(g) for g in found]
