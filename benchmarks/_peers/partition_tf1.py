"""Programs over two virtual CPUs, for `partitions.py`: the same text for Headrace and TensorFlow (compat.v1)."""

import os

import numpy as np

PIXELS, CLASSES, BATCH = 28, 10, 128
ITERATIONS = 100
THREADS = int(os.environ.get("HEADRACE_BENCH_THREADS", "0"))


def _session(tf, graph, cpus):
    config = tf.ConfigProto(device_count={"CPU": cpus}, intra_op_parallelism_threads=THREADS)
    return tf.Session(graph=graph, config=config)


# ---- LeNet


def _weights(tf, name, shape):
    random = np.random.RandomState(sum(map(ord, name)))
    value = random.standard_normal(shape).astype(np.float32) * np.float32((2 / np.prod(shape[:-1])) ** 0.5)
    return tf.get_variable(name, initializer=value), tf.get_variable(
        f"{name}_bias", initializer=np.zeros(shape[-1], "f4")
    )


def _convolution(tf, x, name, shape):
    weights, bias = _weights(tf, name, shape)
    x = tf.nn.relu(tf.nn.conv2d(x, weights, strides=[1, 1, 1, 1], padding="SAME") + bias)
    return tf.nn.max_pool(x, ksize=[1, 2, 2, 1], strides=[1, 2, 2, 1], padding="SAME")


def _first_layers(tf, images):
    return _convolution(tf, _convolution(tf, images, "conv1", [5, 5, 1, 32]), "conv2", [5, 5, 32, 64])


def _last_layers(tf, hidden, labels):
    weights, bias = _weights(tf, "dense", [49 * 64, 512])
    hidden = tf.nn.relu(tf.matmul(tf.reshape(hidden, [-1, 49 * 64]), weights) + bias)
    weights, bias = _weights(tf, "logits", [512, CLASSES])
    logits = tf.matmul(hidden, weights) + bias
    return tf.reduce_mean(tf.nn.sparse_softmax_cross_entropy_with_logits(labels=labels, logits=logits))


def _batch():
    random = np.random.RandomState(0)
    images = random.standard_normal([BATCH, PIXELS, PIXELS, 1]).astype(np.float32)
    return images, random.randint(0, CLASSES, BATCH)


class _Training:
    """A training step of LeNet; a call runs one."""

    def __init__(self, tf, cpus, loss_and_step):
        with tf.Graph().as_default() as graph:
            images = tf.placeholder(tf.float32, [BATCH, PIXELS, PIXELS, 1])
            labels = tf.placeholder(tf.int64, [BATCH])
            self._fetches = loss_and_step(tf, images, labels)
            initialise = tf.global_variables_initializer()
        self._session = _session(tf, graph, cpus)
        self._session.run(initialise)
        self._feeds = dict(zip((images, labels), _batch(), strict=True))

    def __call__(self):
        return self._session.run(self._fetches, self._feeds)[0]

    def values(self):
        """Three losses."""
        return [float(self()) for _ in range(3)]

    def close(self):
        self._session.close()


def _one(tf, images, labels):
    loss = _last_layers(tf, _first_layers(tf, images), labels)
    return loss, tf.train.GradientDescentOptimizer(0.01).minimize(loss)


def _split(tf, images, labels):
    """Convolutions on the first CPU, dense layers on the second, gradients beside their layers."""
    with tf.device("/cpu:0"):
        hidden = _first_layers(tf, images)
    with tf.device("/cpu:1"):
        loss = _last_layers(tf, hidden, labels)
    optimizer = tf.train.GradientDescentOptimizer(0.01)
    return loss, optimizer.apply_gradients(optimizer.compute_gradients(loss, colocate_gradients_with_ops=True))


def _towers(tf, images, labels):
    """Each CPU does half of the batch; variables and updates are on the first."""
    optimizer = tf.train.GradientDescentOptimizer(0.01)
    halves = zip(tf.split(images, 2), tf.split(labels, 2), strict=True)
    losses, slopes = [], []

    def place(op, i):
        return "/cpu:0" if op.type in ("Variable", "VariableV2", "VarHandleOp") else f"/cpu:{i}"

    for i, (x, y) in enumerate(halves):
        with tf.device(lambda op, i=i: place(op, i)), tf.variable_scope("model", reuse=i > 0):
            losses.append(_last_layers(tf, _first_layers(tf, x), y))
            slopes.append(optimizer.compute_gradients(losses[-1], tf.trainable_variables()))
    with tf.device("/cpu:0"):
        mean = [(tf.add_n([g for g, _ in both]) / 2.0, both[0][1]) for both in zip(*slopes, strict=True)]
        return tf.add_n(losses) / 2.0, optimizer.apply_gradients(mean)


# ---- costs


def _two(tf, exchanges):
    """A value that goes between two CPUs that many times."""
    with tf.Graph().as_default() as graph:
        x = tf.placeholder(tf.float32, [4])
        value = x
        for i in range(exchanges + 1):
            with tf.device(f"/cpu:{i % 2}"):
                value = tf.sin(value)
    session = _session(tf, graph, 2)
    step = session.make_callable(value, [x])
    fed = np.ones(4, np.float32)
    return lambda: step(fed)


def _loop(tf, cpus):
    """A loop of which each CPU computes a part, and needs the other's part of the iteration before."""
    with tf.Graph().as_default() as graph:
        x = tf.placeholder(tf.float32, [4])

        def body(i, a, b):
            with tf.device("/cpu:0"):
                first = tf.sin(a) + b
            with tf.device(f"/cpu:{cpus - 1}"):
                second = tf.cos(b) + a
            return i + 1, first, second

        with tf.device("/cpu:0"):
            result = tf.while_loop(lambda i, a, b: i < ITERATIONS, body, [0, x, x])[1]
    session = _session(tf, graph, cpus)
    step = session.make_callable(result, [x])
    fed = np.ones(4, np.float32)

    def call():
        return step(fed)

    call.correct = lambda seconds: seconds / ITERATIONS
    return call


CASES = {
    "LeNet, one CPU": lambda tf: _Training(tf, 1, _one),
    "LeNet, split": lambda tf: _Training(tf, 2, _split),
    "LeNet, two towers": lambda tf: _Training(tf, 2, _towers),
    "step, one CPU": lambda tf: _two(tf, 0),
    "step, one transfer": lambda tf: _two(tf, 1),
    "step, two transfers": lambda tf: _two(tf, 2),
    "step, six transfers": lambda tf: _two(tf, 6),
    "iteration, one CPU": lambda tf: _loop(tf, 1),
    "iteration, two CPUs": lambda tf: _loop(tf, 2),
}
