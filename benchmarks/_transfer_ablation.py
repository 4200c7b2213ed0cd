"""Ways for values to cross between devices, left out in turn: messages, bytes, bytes alive and time of a step.

Two programs: a tower that uses the weights of another CPU many times in one training step, and a pass through 20 large
weights that are on another CPU.  Variants run in turn in one process; times are the medians of their ratios to the first.
"""

import statistics
import threading
import time
import weakref

import numpy as np

from benchmarks import _harness

LAYERS, WIDTH = 20, 1024
VARIANTS = {
    "nothing": {},
    "rounds": {"gather": False},
    "one transfer per value": {"share": False},
    "rounds and one transfer per value": {"gather": False, "share": False},
    "32 bits (16 instead)": {"lossy": True},
    "early weights (late instead)": {"late": True},
}


def measure(rounds):
    """{program: {variant: figures}}."""
    return {name: _program(build, rounds) for name, build in PROGRAMS.items()}


def markdown(found):
    lines = [
        "| program | without | messages | MB sent | most MB alive | time |",
        "| --- | --- | --- | --- | --- | --- |",
    ]
    for program, variants in found.items():
        for variant, one in variants.items():
            cells = [program, variant, f"{one['messages']}", f"{one['bytes'] / 1e6:.1f}", f"{one['peak'] / 1e6:.1f}"]
            cells.append(_harness.duration(one["seconds"]) if variant == "nothing" else f"{one['ratio']:.2f}")
            lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines)


def _training(tf):
    """A small network whose variables are on the first CPU, trained on the second; each weight is used twice or more."""
    random = np.random.RandomState(0)
    with tf.device("/cpu:0"):
        weights = [tf.Variable(random.standard_normal([128, 128]).astype("f4") * 0.1) for _ in range(LAYERS)]
    x = tf.placeholder(tf.float32, [64, 128])
    with tf.device("/cpu:1"):
        hidden = x
        for one in weights:
            hidden = tf.tanh(tf.matmul(hidden, one))
        loss = tf.reduce_mean(tf.square(hidden))
        slopes = tf.gradients(loss, weights)
    updates = tf.train.GradientDescentOptimizer(0.01).apply_gradients(zip(slopes, weights, strict=True))
    return x, [loss, updates], random.standard_normal([64, 128]).astype("f4")


def _weights_elsewhere(tf):
    """Large weights on the first CPU, used one after another on the second."""
    random = np.random.RandomState(0)
    with tf.device("/cpu:0"):
        weights = [tf.Variable(random.standard_normal([WIDTH, WIDTH]).astype("f4") / 32) for _ in range(LAYERS)]
    x = tf.placeholder(tf.float32, [64, WIDTH])
    with tf.device("/cpu:1"):
        hidden = x
        for one in weights:
            hidden = tf.tanh(tf.matmul(hidden, one))
        result = tf.reduce_mean(hidden)
    return x, [result], random.standard_normal([64, WIDTH]).astype("f4")


PROGRAMS = {f"training, {LAYERS} weights": _training, f"{LAYERS} weights of 4 MB, used once": _weights_elsewhere}


def _program(build, rounds):
    """Figures of each variant."""
    import headrace as tf
    from headrace.passes.partition.cut import Cutting

    with tf.Graph().as_default() as graph:
        x, fetches, value = build(tf)
        initialise = tf.global_variables_initializer()
    steps, found = {}, {}
    for name, how in VARIANTS.items():
        session = tf.Session(graph=graph, config=tf.ConfigProto(device_count={"CPU": 2}, compile="off"))
        session._master._cutting = Cutting(**how)
        session.run(initialise)
        run = session.make_callable(fetches, [x])
        steps[name] = step = lambda run=run: run(value)
        for _ in range(12):
            step()
        found[name] = _count(session, step)
    seconds = {name: [] for name in steps}
    for _ in range(rounds):
        for name, step in steps.items():
            begin = time.perf_counter()
            step()
            seconds[name].append(time.perf_counter() - begin)
    for name, times in seconds.items():
        ratios = [a / b for a, b in zip(times, seconds["nothing"], strict=True)]
        found[name] |= {"seconds": statistics.median(times), "ratio": statistics.median(ratios)}
    return found


def _count(session, step):
    """Messages and bytes of one step, and the most bytes of sent values that were alive together.

    torch's profiler of memory sees the calling thread only, so each tensor is watched by a weak reference from its sending on.
    """
    send = session._master.worker.rendezvous.send
    counted = {"messages": 0, "bytes": 0, "peak": 0}
    held, lock = [0], threading.RLock()  # a tensor may die while the lock is held

    def hold(bytes):
        with lock:
            held[0] += bytes
            counted["peak"] = max(counted["peak"], held[0])

    def counting(number, key, message):
        counted["messages"] += 1
        for value in message:
            counted["bytes"] += value.nbytes
            weakref.finalize(value, hold, -value.nbytes)
            hold(value.nbytes)
        value = None
        send(number, key, message)

    worker = session._master._local
    before = dict(worker._partitions)
    for handle, one in before.items():
        worker._partitions[handle] = one._replace(sends=dict.fromkeys(one.sends, counting))
    step()
    worker._partitions.update(before)
    return counted
