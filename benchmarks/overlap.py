"""A model over both devices: input and embedding on the CPU, the network on the GPU, overlapped by a queue.

    python -m benchmarks.overlap [--seconds 10]

Prints the time of the CPU's part alone, of the GPU's part alone, and of the whole, per step.  Perfect overlap is the larger of
the two.  Needs a GPU.
"""

from __future__ import annotations

import argparse
import json
import threading
import time
from collections.abc import Callable
from typing import Any

import numpy as np

import headrace as tf

ROWS, WIDTH, BATCH, LAYERS = 500_000, 128, 2048, 6
CASES = ((24, 4096), (24, 8192), (1024, 4096))  # ids an example, width of the network


class Model:
    """Looks rows up on the CPU, averages them, puts them into a queue; trains a network on the GPU on what it takes out."""

    def __init__(self, ids: int, hidden: int) -> None:
        with tf.device("/cpu:0"):
            table = tf.get_variable("table", [ROWS, WIDTH], initializer=tf.random_uniform_initializer(-0.1, 0.1))
            self.ids = tf.placeholder(tf.int32, [BATCH, ids])
            self.looked_up = tf.reduce_mean(tf.nn.embedding_lookup(table, self.ids), 1)
            queue = tf.FIFOQueue(4, tf.float32, [[BATCH, WIDTH]])
            self.put = queue.enqueue(self.looked_up)
            taken = queue.dequeue()
        with tf.device("/gpu:0"):
            self.fed = tf.get_variable(
                "fed", [BATCH, WIDTH], trainable=False, initializer=tf.random_uniform_initializer()
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
    """Seconds a step, over about so many seconds, after some to warm up."""
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


def measure(ids: int, hidden: int, seconds: float) -> dict[str, float]:
    with tf.Graph().as_default():
        model = Model(ids, hidden)
        batches = [np.random.RandomState(i).randint(0, ROWS, [BATCH, ids]).astype(np.int32) for i in range(8)]
        with tf.Session(config=tf.ConfigProto(compile="off")) as sess:
            sess.run(tf.global_variables_initializer())
            wait = sess.make_callable(tf.reduce_sum(model.fed[:1, :1]))
            turn = iter(range(10**9))
            cpu = per_step(
                lambda: sess.run(model.looked_up.op, {model.ids: batches[next(turn) % 8]}), seconds, lambda: None
            )
            gpu = per_step(lambda: sess.run(model.train_alone), seconds, wait)
            stop = threading.Event()

            def feed() -> None:
                while not stop.is_set():
                    try:
                        sess.run(
                            model.put, {model.ids: batches[next(turn) % 8]}, options=tf.RunOptions(timeout_in_ms=2000)
                        )
                    except tf.errors.DeadlineExceededError:
                        return

            feeder = threading.Thread(target=feed)
            feeder.start()
            both = per_step(lambda: sess.run(model.train), seconds, wait)
            stop.set()
            feeder.join()
    return {"ids": ids, "hidden": hidden, "cpu": cpu, "gpu": gpu, "both": both, "ratio": both / max(cpu, gpu)}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=4.0)
    seconds = parser.parse_args().seconds
    results = [measure(*case, seconds) for case in CASES]
    for one in results:
        times = ", ".join(f"{name} {one[name] * 1e3:.2f} ms" for name in ("cpu", "gpu", "both"))
        print(f"{one['ids']} ids, hidden {one['hidden']}: {times}, {one['ratio']:.3f} of the larger part")
    print(json.dumps(results))


if __name__ == "__main__":
    main()
