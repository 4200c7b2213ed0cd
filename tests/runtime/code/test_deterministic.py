"""HEADRACE_DETERMINISTIC=1: bit-identical reruns, and nothing rewritten that would round differently."""

import subprocess
import sys

import numpy as np
import pytest
import torch

import headrace as tf
from headrace.runtime.host.device import deterministic
from headrace.runtime.host.threads import ThreadChoice


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("HEADRACE_DETERMINISTIC", "1")
    yield
    torch.use_deterministic_algorithms(False)


def _train(mode: str) -> list[bytes]:
    with tf.Graph().as_default():
        tf.set_random_seed(7)
        rng = np.random.RandomState(0)
        x = tf.placeholder(tf.float32, [None, 64])
        w = tf.Variable(tf.random_normal([64, 512]))
        v = tf.Variable(tf.random_normal([512, 8]))
        loss = tf.reduce_mean(tf.square(tf.matmul(tf.nn.dropout(tf.tanh(tf.matmul(x, w)), rate=0.5), v)))
        train = tf.train.MomentumOptimizer(0.1, 0.9).minimize(loss)
        batch = rng.randn(32, 64).astype(np.float32)
        with tf.Session(config=tf.ConfigProto(compile=mode)) as sess:
            sess.run(tf.global_variables_initializer())
            losses = [sess.run([loss, train], {x: batch})[0].tobytes() for _ in range(6)]
            return [*losses, sess.run(w).tobytes(), sess.run(v).tobytes()]


@pytest.mark.parametrize("mode", ["off", "always"])
def test_reruns_are_bit_identical(asked, mode: str) -> None:
    assert deterministic()
    assert _train(mode) == _train(mode)


def test_no_run_depends_on_how_many_came_before(asked) -> None:
    """Neither time nor the number of runs moves a step to code that rounds differently: a job that resumes could not follow."""
    x = tf.placeholder(tf.float32, [None, 3])
    with tf.Session(config=tf.ConfigProto(compile="auto")) as sess:
        assert sess._master.planner.compile_mode == "off"
        y = tf.reduce_sum(tf.tanh(x) * 3.0)
        sess.run(y, {x: np.ones((2, 3), np.float32)})
        plan = sess._calls[next(iter(sess._calls))].plan
        first = plan.variants.choose([torch.ones(2, 3)])[0]
        assert all(plan.variants.choose([torch.ones(2, 3)])[0] is first for _ in range(40))
        assert first is not plan


def test_threads_are_fixed() -> None:
    choice = ThreadChoice(4, fixed=True)
    for _ in range(30):
        assert choice.pick() == 4
        choice.note(4, 1.0)


def test_off_by_default(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("HEADRACE_DETERMINISTIC", raising=False)
    assert not deterministic()
    monkeypatch.setenv("HEADRACE_DETERMINISTIC", "0")
    assert not deterministic()


def test_asked_for_by_a_config_in_a_process_of_its_own() -> None:
    program = """
import headrace as tf, torch
from headrace.runtime.host.device import deterministic
assert not deterministic()
x = tf.constant([1.0, 2.0])
with tf.Session(config=tf.ConfigProto(deterministic=True, precision="highest")) as session:
    session.run(x * 2.0)
print(deterministic(), torch.are_deterministic_algorithms_enabled())
try:
    tf.ConfigProto(precision="exact")
except ValueError as error:
    print("highest" in str(error))
"""
    ended = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=60)
    assert (ended.stdout.split(), ended.stderr) == (["True", "True", "True"], "")
