"""Programs of TensorFlow 1 that train through conditionals and loops, built by real TensorFlow with its old control flow.

Each builds a loss and an op ``train`` of its own optimizer; ``x`` and ``p`` are fed.  Nothing is drawn at random.
"""

from __future__ import annotations

from typing import Any

import numpy as np

STEPS = 6
ROWS, COLUMNS = 4, 3


def feeds() -> list[dict[str, Any]]:
    rows = np.sin(np.arange(STEPS * ROWS * COLUMNS, dtype=np.float32)).reshape(STEPS, ROWS, COLUMNS)
    return [{"x:0": rows[i].tolist(), "p:0": i % 3 != 1, "n:0": 2 + i % 2} for i in range(STEPS)]


def fixed(tf: Any) -> Any:
    """An initializer whose values depend on the shape only."""

    def initializer(shape: Any, dtype: Any = None, partition_info: Any = None) -> Any:
        size = int(np.prod(shape))
        values = 0.4 * np.sin(1 + np.arange(size, dtype=np.float32)).reshape(shape)
        return tf.constant(values, dtype or tf.float32)

    return initializer


class Training:
    """What the programs share."""

    def __init__(self, tf: Any, cells: Any, resource: bool) -> None:
        self.tf = tf
        self.cells = cells
        self.resource = resource
        self.x = tf.placeholder(tf.float32, [ROWS, COLUMNS], name="x")
        self.p = tf.placeholder(tf.bool, [], name="p")
        self.n = tf.placeholder(tf.int32, [], name="n")

    def variable(self, name: str, shape: list[int]) -> Any:
        return self.tf.get_variable(name, shape, initializer=fixed(self.tf), use_resource=self.resource)

    def minimize(self, loss: Any, optimizer: Any = None) -> Any:
        optimizer = optimizer or self.tf.train.GradientDescentOptimizer(0.1)
        optimizer.minimize(loss, name="train")
        return loss


def while_loop(t: Training) -> Any:
    tf, w = t.tf, t.variable("w", [3, 3])
    _, h = tf.while_loop(lambda i, h: i < t.n, lambda i, h: (i + 1, tf.tanh(tf.matmul(h, w))), [0, t.x])
    return t.minimize(tf.reduce_mean(tf.square(h - 0.5)))


def growing(t: Training) -> Any:
    tf, w = t.tf, t.variable("w", [3])
    shapes = [tf.TensorShape([]), tf.TensorShape([None, 3])]
    _, h = tf.while_loop(lambda i, h: i < t.n, lambda i, h: (i + 1, tf.concat([h, h * w], 0)), [0, t.x], shapes)
    return t.minimize(tf.reduce_mean(tf.square(h - 0.5)))


def nested(t: Training) -> Any:
    tf, w, v = t.tf, t.variable("w", [3]), t.variable("v", [3])

    def body(i: Any, h: Any) -> Any:
        _, inner = tf.while_loop(lambda j, g: j <= i, lambda j, g: (j + 1, tf.tanh(g * w)), [0, h])
        return i + 1, inner + v

    _, h = tf.while_loop(lambda i, h: i < t.n, body, [0, t.x])
    return t.minimize(tf.reduce_mean(tf.square(h - 0.3)))


def conditional(t: Training) -> Any:
    tf, w, v = t.tf, t.variable("w", [3]), t.variable("v", [3])
    h = tf.cond(t.p, lambda: tf.tanh(t.x * w), lambda: tf.sigmoid(t.x + v))
    return t.minimize(tf.reduce_mean(tf.square(h - 0.5)))


def conditional_in_loop(t: Training) -> Any:
    tf, w, v = t.tf, t.variable("w", [3]), t.variable("v", [3])

    def body(i: Any, h: Any) -> Any:
        taken = tf.cond(tf.equal(i % 2, 0), lambda: tf.tanh(h * w), lambda: h + tf.square(v))
        return i + 1, taken

    _, h = tf.while_loop(lambda i, h: i < t.n, body, [0, t.x])
    return t.minimize(tf.reduce_mean(tf.square(h - 0.5)))


def loop_in_conditional(t: Training) -> Any:
    tf, w = t.tf, t.variable("w", [3])

    def looped() -> Any:
        return tf.while_loop(lambda i, h: i < t.n, lambda i, h: (i + 1, tf.sin(h + w)), [0, t.x])[1]

    h = tf.cond(t.p, looped, lambda: t.x * w)
    return t.minimize(tf.reduce_mean(tf.square(h - 0.5)))


def case(t: Training) -> Any:
    tf, w, v = t.tf, t.variable("w", [3]), t.variable("v", [3])
    h = tf.case([(t.n < 3, lambda: t.x * w), (t.p, lambda: t.x * v * w)], default=lambda: t.x + v)
    return t.minimize(tf.reduce_mean(tf.square(h - 0.5)))


def kept(t: Training) -> Any:
    """Constants in branches, and a loss that two conditionals of one predicate make."""
    tf, w = t.tf, t.variable("w", [3])
    keep = tf.cond(t.p, lambda: tf.constant(0.5), lambda: tf.constant(1.0))
    h = tf.cond(t.p, lambda: tf.tanh(t.x * w) * keep, lambda: t.x * w * keep)
    return t.minimize(tf.reduce_mean(tf.square(h - keep)))


def conditional_update(t: Training) -> Any:
    """The optimizer runs in a branch."""
    tf, w = t.tf, t.variable("w", [3])
    loss = tf.reduce_mean(tf.square(t.x * w - 0.5))
    optimizer = tf.train.MomentumOptimizer(0.1, 0.9)
    gradients = optimizer.compute_gradients(loss)

    def update() -> Any:
        with tf.control_dependencies([optimizer.apply_gradients(gradients)]):
            return tf.constant(1)

    tf.group(tf.cond(t.p, update, lambda: tf.constant(0)), name="train")
    return loss


def second_order(t: Training) -> Any:
    tf, w = t.tf, t.variable("w", [3])
    h = tf.cond(t.p, lambda: tf.reduce_sum(tf.tanh(t.x * w)), lambda: tf.reduce_sum(tf.sin(t.x) * w * w))
    (slope,) = tf.gradients(h, [t.x])
    return t.minimize(tf.reduce_mean(tf.square(slope - 0.1)))


def map_fn(t: Training) -> Any:
    tf, w = t.tf, t.variable("w", [3])
    rows = tf.map_fn(lambda row: tf.tanh(row * w), t.x)
    return t.minimize(tf.reduce_mean(tf.square(rows - 0.5)))


def scan(t: Training) -> Any:
    tf, w = t.tf, t.variable("w", [3])
    rows = tf.scan(lambda a, row: tf.tanh(a * w + row), t.x)
    return t.minimize(tf.reduce_mean(tf.square(rows - 0.5)), tf.train.AdamOptimizer(0.1))


def folds(t: Training) -> Any:
    tf, w = t.tf, t.variable("w", [3])
    left = tf.foldl(lambda a, row: tf.maximum(a, row * w), t.x)
    right = tf.foldr(lambda a, row: a * w + row, t.x)
    return t.minimize(tf.reduce_mean(tf.square(left - right)))


def arrays(t: Training) -> Any:
    """An array that is written twice as often as it is read, and joined."""
    tf, w = t.tf, t.variable("w", [3])
    given = tf.TensorArray(tf.float32, ROWS, clear_after_read=False).unstack(t.x)

    def body(i: Any, made: Any) -> Any:
        row = given.read(i) * w + given.read(tf.minimum(i + 1, ROWS - 1))
        return i + 1, made.write(i, tf.tanh(row))

    _, made = tf.while_loop(lambda i, made: i < ROWS, body, [0, tf.TensorArray(tf.float32, ROWS)])
    return t.minimize(tf.reduce_mean(tf.square(made.stack() - 0.5)), tf.train.AdagradOptimizer(0.2))


def embedding(t: Training) -> Any:
    """Rows of a table, looked up in a loop."""
    tf, table = t.tf, t.variable("table", [5, 3])

    def body(i: Any, h: Any) -> Any:
        return i + 1, tf.tanh(h + tf.nn.embedding_lookup(table, tf.stack([i, i + 2, 1, i])))

    _, h = tf.while_loop(lambda i, h: i < t.n, body, [0, t.x])
    return t.minimize(tf.reduce_mean(tf.square(h - 0.5)))


def clipped(t: Training) -> Any:
    tf, w, v = t.tf, t.variable("w", [3, 3]), t.variable("v", [3])
    _, h = tf.while_loop(lambda i, h: i < t.n, lambda i, h: (i + 1, tf.matmul(h, w) + v), [0, t.x])
    loss = tf.reduce_mean(tf.square(h - 0.5))
    optimizer = tf.train.RMSPropOptimizer(0.05)
    gradients, variables = zip(*optimizer.compute_gradients(loss), strict=True)
    optimizer.apply_gradients(zip(tf.clip_by_global_norm(gradients, 0.5)[0], variables, strict=True), name="train")
    return loss


def _rnn(t: Training, cell: Any, **options: Any) -> Any:
    tf = t.tf
    with tf.variable_scope("rnn", initializer=fixed(tf), use_resource=t.resource):
        steps = tf.stack([t.x, t.x * 0.5, tf.sin(t.x)], 0 if options.get("time_major") else 1)
        outputs, state = t.cells.dynamic_rnn(cell, steps, dtype=tf.float32, **options)
    del state
    return t.minimize(tf.reduce_mean(tf.square(outputs - 0.2)))


def rnn(t: Training) -> Any:
    return _rnn(t, t.cells.BasicRNNCell(3))


def lstm(t: Training) -> Any:
    return _rnn(t, t.cells.BasicLSTMCell(2), sequence_length=t.tf.constant([3, 1, 2, 3]))


def gru(t: Training) -> Any:
    return _rnn(t, t.cells.GRUCell(2), time_major=True, swap_memory=True)


def layers_of_rnns(t: Training) -> Any:
    return _rnn(t, t.cells.MultiRNNCell([t.cells.GRUCell(2), t.cells.BasicRNNCell(3)]))


CASES = {
    (f.__name__, resource): f
    for f, kinds in (
        (while_loop, (True, False)), (growing, (True,)), (nested, (True,)), (conditional, (True, False)),
        (conditional_in_loop, (True,)), (loop_in_conditional, (True, False)), (case, (True,)), (kept, (True,)),
        (conditional_update, (True, False)), (second_order, (True,)), (map_fn, (True,)), (scan, (False,)), (folds, (True,)),
        (arrays, (True,)), (embedding, (True, False)), (clipped, (True,)), (rnn, (True,)), (lstm, (True, False)),
        (gru, (False,)), (layers_of_rnns, (True,)),
    )
    for resource in kinds
}  # fmt: skip
