"""What must hold on a GPU, without pytest: ``python tests/gpu_check.py`` on a machine with CUDA.  Exits 1 on any failure."""

import sys
import threading
import time
import traceback
from pathlib import Path

import numpy as np
import torch

sys.path.insert(0, str(Path(__file__).parent.parent))

import headrace as tf


def _classifier():
    tf.set_random_seed(3)
    x, y = tf.placeholder(tf.float32, [None, 20]), tf.placeholder(tf.int32, [None])
    logits = tf.layers.dense(tf.layers.dense(x, 32, tf.nn.relu), 5)
    loss = tf.losses.sparse_softmax_cross_entropy(y, logits)
    return x, y, loss, tf.train.MomentumOptimizer(0.1, 0.9).minimize(loss)


def _losses(mode, steps=8, feed_device=None):
    rng = np.random.RandomState(0)
    with tf.Graph().as_default():
        x, y, loss, train = _classifier()
        with tf.Session(config=tf.ConfigProto(compile=mode)) as session:
            session.run(tf.global_variables_initializer())
            return [
                session.run([loss, train], {x: rng.randn(16, 20), y: rng.randint(0, 5, 16)})[0] for _ in range(steps)
            ]


def check_compiled_and_captured_as_interpreted():
    np.testing.assert_allclose(_losses("always"), _losses("off"), rtol=2e-3)


def check_convolutions_whose_filters_are_laid_out_anew():
    def losses(mode):
        with tf.Graph().as_default():
            tf.set_random_seed(1)
            x = tf.constant(np.random.RandomState(0).randn(4, 12, 12, 3).astype(np.float32))
            h = tf.layers.max_pooling2d(tf.layers.conv2d(x, 8, 3, activation=tf.nn.relu, padding="same"), 3, 2)
            h = tf.concat([tf.layers.conv2d(h, 4, 1), tf.layers.conv2d(h, 4, 3, padding="same")], 3)
            loss = tf.reduce_mean(tf.square(h - 1.0))
            train = tf.train.MomentumOptimizer(0.1, 0.9).minimize(loss)
            with tf.Session(config=tf.ConfigProto(compile=mode)) as session:
                session.run(tf.global_variables_initializer())
                found = [session.run([loss, train])[0] for _ in range(6)]
                return found, session.run(tf.trainable_variables())

    (compiled, values), (interpreted, others) = losses("always"), losses("off")
    np.testing.assert_allclose(compiled, interpreted, rtol=2e-3)
    for a, b in zip(values, others, strict=True):
        np.testing.assert_allclose(a, b, rtol=2e-2, atol=2e-3)


def check_a_large_product_is_accumulated_in_place():
    def values(mode):
        with tf.Graph().as_default():
            x = tf.constant(np.random.RandomState(0).randn(8, 1024).astype(np.float32))
            w = tf.get_variable(
                "w", initializer=tf.constant(np.random.RandomState(1).randn(1024, 1024) * 0.01, tf.float32)
            )
            train = tf.train.GradientDescentOptimizer(0.01).minimize(
                tf.reduce_sum(tf.square(tf.nn.relu(tf.matmul(x, w))))
            )
            with tf.Session(config=tf.ConfigProto(compile=mode)) as session:
                session.run(tf.global_variables_initializer())
                before = torch.cuda.max_memory_allocated()
                for _ in range(5):
                    session.run(train)
                return session.run(w), before

    np.testing.assert_allclose(values("always")[0], values("off")[0], rtol=2e-2, atol=2e-4)


def check_fetching_nothing_does_not_wait():
    with tf.Graph().as_default():
        x = tf.placeholder(tf.float32, [4096, 4096])
        total = tf.get_variable("total", [4096, 4096], initializer=tf.zeros_initializer())
        value = x
        for _ in range(40):
            value = tf.matmul(value, x) * 1e-4
        step = total.assign_add(value).op
        with tf.Session(config=tf.ConfigProto(compile="always")) as session:
            session.run(tf.global_variables_initializer())
            fed = np.random.RandomState(0).randn(4096, 4096).astype(np.float32)
            for _ in range(4):
                session.run(step, {x: fed})
            torch.cuda.synchronize()
            start = time.perf_counter()
            session.run(step, {x: fed})
            returned = time.perf_counter() - start
            torch.cuda.synchronize()
            whole = time.perf_counter() - start
            print(f"   returned after {returned * 1e3:.1f} ms of {whole * 1e3:.1f}")
            assert returned < 0.7 * whole


def check_feeds_that_overlap_do_not_mix():
    """Many steps in flight, each with its own batch: every one must be counted once."""
    with tf.Graph().as_default():
        x = tf.placeholder(tf.float32, [256, 256])
        total = tf.get_variable("total", [256, 256], initializer=tf.zeros_initializer())
        step = total.assign_add(tf.tanh(x * 1e-3) * 1e3 * 0.0 + x * 1.0 + 0.0).op
        with tf.Session(config=tf.ConfigProto(compile="always")) as session:
            session.run(tf.global_variables_initializer())
            for i in range(200):
                session.run(step, {x: np.full((256, 256), i, np.float32)})
            np.testing.assert_array_equal(session.run(total), np.full((256, 256), sum(range(200)), np.float32))


def check_concurrent_sessions_and_threads():
    expected = _losses("off")
    found, problems = {}, []

    def work(i):
        try:
            found[i] = _losses("always")
        except Exception as e:  # noqa: BLE001 - reported below
            problems.append(e)

    threads = [threading.Thread(target=work, args=(i,)) for i in range(4)]
    [t.start() for t in threads]
    [t.join() for t in threads]
    assert not problems, problems
    for losses in found.values():
        np.testing.assert_allclose(losses, expected, rtol=2e-3)


def check_memory_is_not_grabbed_up_front():
    assert torch.cuda.memory_reserved() < 0.25 * torch.cuda.get_device_properties(0).total_memory


def check_memory_fraction_is_honoured():
    config = tf.ConfigProto(compile="off")
    config.gpu_options.per_process_gpu_memory_fraction = 0.05
    with tf.Graph().as_default():
        n = 60_000
        y = tf.reduce_sum(tf.ones([n, n]) * 2.0)  # 14 GB each
        with tf.Session(config=config) as session:
            try:
                session.run(y)
            except tf.errors.ResourceExhaustedError as e:
                assert "gpu_check.py" in str(e)
            else:
                raise AssertionError("no limit was kept")
    torch.cuda.set_per_process_memory_fraction(1.0)


def main() -> int:
    failed = 0
    for name, check in list(globals().items()):
        if name.startswith("check_"):
            start = time.time()
            try:
                check()
                print(f"ok      {name[6:]} ({time.time() - start:.1f} s)", flush=True)
            except Exception:  # noqa: BLE001 - every failure is reported
                failed += 1
                print(f"FAILED  {name[6:]}", flush=True)
                traceback.print_exc()
    return int(failed > 0)


if __name__ == "__main__":
    sys.exit(main())
