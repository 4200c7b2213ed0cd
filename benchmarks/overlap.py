"""A model over both devices: input and embedding on the CPU, the network on the GPU, overlapped by a queue.

    python -m benchmarks.overlap [--seconds 1.5] [--rounds 5]

Prints the time of the CPU's part alone, of the GPU's part alone, and of the whole, per step.  Perfect overlap is the larger of
the two.  Needs a GPU.
"""

from __future__ import annotations

import argparse
import contextlib
import itertools
import json
import statistics
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

import headrace as tf

ROWS, WIDTH, BATCH, LAYERS = 500_000, 128, 2048, 6
IDS = 24  # of an example, in each feature
CASES = ((1, 4096), (1, 8192), (8, 2048), (16, 2048))  # features, width of the network


class Model:
    """Looks rows up on the CPU, averages them, puts them into a queue; trains a network on the GPU on what it takes out."""

    def __init__(self, features: int, hidden: int) -> None:
        with tf.device("/cpu:0"):
            table = tf.get_variable("table", [ROWS, WIDTH], initializer=tf.random_uniform_initializer(-0.1, 0.1))
            self.ids = tf.placeholder(tf.int32, [features, BATCH, IDS])
            means = [tf.reduce_mean(tf.nn.embedding_lookup(table, ids), 1) for ids in tf.unstack(self.ids)]
            self.looked_up = tf.concat(means, 1)
            queue = tf.FIFOQueue(4, tf.float32, [[BATCH, features * WIDTH]])
            self.put = queue.enqueue(self.looked_up)
            taken = queue.dequeue()
        with tf.device("/gpu:0"):
            self.fed = tf.get_variable(
                "fed", [BATCH, features * WIDTH], trainable=False, initializer=tf.random_uniform_initializer()
            )
            self.train = self.network(taken, hidden)
            self.train_alone = self.network(self.fed, hidden)

    def network(self, x: Any, hidden: int) -> Any:
        with tf.variable_scope("network", reuse=tf.AUTO_REUSE):
            for i in range(LAYERS):
                x = tf.layers.dense(x, hidden, tf.nn.relu, name=f"layer_{i}")
            loss = tf.reduce_mean(tf.square(tf.layers.dense(x, 1, name="out") - 1.0))
            return tf.train.GradientDescentOptimizer(1e-4).minimize(loss)


def per_step(run: Callable[[], Any], seconds: float, settle: Callable[[], Any]) -> float:
    """Seconds a step, over about that many seconds, after some to warm up."""
    for _ in range(20):
        run()
    settle()
    start, count = time.perf_counter(), 0
    while time.perf_counter() - start < seconds:
        for _ in range(10):
            run()
        count += 10
    settle()
    return (time.perf_counter() - start) / count


def measure(features: int, hidden: int, seconds: float, rounds: int) -> dict[str, Any]:
    """The parts and the whole in turn; the ratio is the median of those of the rounds."""
    with tf.Graph().as_default():
        model = Model(features, hidden)
        batches = [np.random.RandomState(i).randint(0, ROWS, [features, BATCH, IDS]).astype(np.int32) for i in range(8)]
        with tf.Session(config=tf.ConfigProto(compile="off")) as sess:
            sess.run(tf.global_variables_initializer())
            wait = sess.make_callable(tf.reduce_sum(model.fed[:1, :1]))
            turn = itertools.count()
            times: dict[str, list[float]] = {"cpu": [], "gpu": [], "both": []}
            for _ in range(rounds):
                times["cpu"].append(
                    per_step(
                        lambda: sess.run(model.looked_up.op, {model.ids: batches[next(turn) % 8]}),
                        seconds,
                        lambda: None,
                    )
                )
                times["gpu"].append(per_step(lambda: sess.run(model.train_alone), seconds, wait))
                with _feeding(sess, model, batches):
                    times["both"].append(per_step(lambda: sess.run(model.train), seconds, wait))
    ratios = [both / max(cpu, gpu) for cpu, gpu, both in zip(*times.values(), strict=True)]
    middle = {name: statistics.median(values) for name, values in times.items()}
    return {"features": features, "hidden": hidden, **middle, "ratio": statistics.median(ratios), "ratios": ratios}


@contextlib.contextmanager
def _feeding(sess: Any, model: Model, batches: Sequence[Any]) -> Iterator[None]:
    """A thread fills the queue meanwhile."""
    stop = threading.Event()

    def feed() -> None:
        for i in itertools.count():
            if stop.is_set():
                return
            try:
                sess.run(model.put, {model.ids: batches[i % 8]}, options=tf.RunOptions(timeout_in_ms=2000))
            except tf.errors.DeadlineExceededError:
                return

    feeder = threading.Thread(target=feed)
    feeder.start()
    try:
        yield
    finally:
        stop.set()
        feeder.join()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=1.5)
    parser.add_argument("--rounds", type=int, default=5)
    options = parser.parse_args()
    results = [measure(*case, options.seconds, options.rounds) for case in CASES]
    for one in results:
        times = ", ".join(f"{name} {one[name] * 1e3:.2f} ms" for name in ("cpu", "gpu", "both"))
        print(f"{one['features']} features, hidden {one['hidden']}: {times}, {one['ratio']:.3f} of the larger part")
    print(json.dumps(results))


if __name__ == "__main__":
    main()
