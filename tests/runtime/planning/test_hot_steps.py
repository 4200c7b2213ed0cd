"""From interpreted to compiled while a program runs, and compiled code kept on disk for the next process."""

import secrets
import subprocess
import sys
from functools import partial

import numpy as np
import pytest
from resources.calls import run_threads

import headrace as tf
from headrace.runtime.compiler import archive
from headrace.runtime.compiler.background import queue
from headrace.runtime.planning import tier


@pytest.fixture(autouse=True)
def archive_of_its_own(tmp_path, monkeypatch):
    monkeypatch.setattr(archive, "folder", lambda: tmp_path / "headrace")


@pytest.mark.usefixtures("accelerator")
def test_a_hot_step_is_compiled_in_the_background_and_swapped_in(monkeypatch):
    monkeypatch.setattr(tier.Tier, "compiled", lambda self, key: None)  # no trial: the compiled plan is used

    def losses(mode, steps):
        with tf.Graph().as_default():
            tf.set_random_seed(5)
            x = tf.placeholder(tf.float32, [None, 4])
            loss = tf.reduce_mean(tf.square(tf.layers.dense(tf.tanh(x) * 2.0 + 1.0, 3) - 1.0))
            train = tf.train.GradientDescentOptimizer(0.1).minimize(loss)
            rng = np.random.RandomState(0)
            with tf.Session(config=tf.ConfigProto(compile=mode)) as session:
                session.run(tf.global_variables_initializer())
                tiers = session._master.plan((x,), (loss,), (train,)).variants
                found, when = [], None
                for step in range(steps):
                    if step == steps // 2:
                        queue.wait(120)  # half of the steps have run while it compiled, or before
                    found.append(session.run([loss, train], {x: rng.randn(8, 4)})[0])
                    if when is None and tiers.compiled:
                        when = step
                if mode == "auto":
                    session.run(loss, {x: rng.randn(5, 4)})  # a shape that was not seen: interpreted, not compiled
                    assert list(tiers.compiled) == [((8, 4),)]
        return found, when

    found, when = losses("auto", 60)
    assert when is not None and when >= tier.RUNS  # interpreted at first
    np.testing.assert_allclose(found, losses("off", 60)[0], rtol=1e-5)


def test_a_hot_step_on_the_cpu_stays_interpreted():
    x = tf.placeholder(tf.float32, [4])
    y = tf.reduce_sum(tf.exp(x))
    with tf.Session(config=tf.ConfigProto(compile="auto")) as session:
        for _ in range(2 * tier.RUNS):
            session.run(y, {x: np.ones(4)})
        assert session._master.plan((x,), (y,), ()).variants is None
        assert [strand.tier for strand in session.explain(y, feeds=[x]).strands] == ["interpreted"]


@pytest.mark.usefixtures("full_length")
def test_the_program_itself_never_imports_the_compiler():
    """What it costs to import torch's compiler is the compiling process's alone; ops that only compiled code calls are there."""
    ended = run(WITHOUT_COMPILER)
    assert ended == ["1", "1", "[]"]


WITHOUT_COMPILER = """
import sys

import numpy as np

import headrace as tf
from headrace import extend
from headrace.runtime.compiler.background import queue

extend.register_device("ACCELERATOR", "cpu", 1, priority=200)
x = tf.placeholder(tf.float32, [4])
pooled = tf.nn.max_pool(tf.reshape(tf.exp(x) * tf.tanh(x), [1, 2, 2, 1]), [1, 2, 2, 1], [1, 2, 2, 1], "VALID")
y = tf.reduce_sum(pooled + 1.0)
with tf.Session() as session:
    for _ in range(12):
        session.run(y, {x: np.ones(4)})
    queue.wait(200)
    print(len(session._master.plan((x,), (y,), ()).variants.compiled))
    print(len({round(float(session.run(y, {x: np.ones(4)})), 4) for _ in range(2)}))  # either plan's turn
print(sorted({"torch._inductor", "sympy"} & set(sys.modules)))
"""

PROGRAM = """
import sys

import numpy as np

import headrace as tf
from headrace import extend
from headrace.runtime.compiler.background import queue

extend.register_device("ACCELERATOR", "cpu", 1, priority=200)
asked, ask = [], queue.process.ask
queue.process.ask = lambda request: asked.append(request) or ask(request)
x = tf.placeholder(tf.float32, [4])
y = tf.reduce_sum(tf.exp(x) * tf.tanh(x) + float(sys.argv[1]))
with tf.Session() as session:
    for _ in range(12):
        session.run(y, {x: np.ones(4)})
    queue.wait(200)
    print(session.run(y, {x: np.ones(4)}))
print(len(asked))
"""


def run(program, *arguments):
    """The words that a program prints."""
    command = [sys.executable, "-c", program, *arguments]
    return subprocess.run(command, capture_output=True, text=True, timeout=300, check=True).stdout.split()


def test_compiled_code_is_found_on_disk_by_the_next_process():
    """The folder is the user's, which has the compiler's headers; the number is one that no earlier program had."""
    number = str(secrets.randbits(20) / 2**20)
    (first, asked), (second, asked_again) = [run(PROGRAM, number) for _ in range(2)]
    assert first == second
    assert (asked, asked_again) == ("1", "0")


def test_threads_that_compile_at_once_take_turns():
    """Inductor is not made for two at a time: sessions of several threads each compile their own step."""

    def work(i):
        with tf.Graph().as_default():
            x = tf.placeholder(tf.float32, [i + 2])
            y = tf.reduce_sum(tf.exp(x) * (i + 1.0) + tf.tanh(x))
            with tf.Session(config=tf.ConfigProto(compile="always")) as session:
                value = session.run(y, {x: np.ones(i + 2)})
                plan = session._master.plan((x,), (y,), ())
                assert plan.variants.compiled[((i + 2,),)].regions == 1
        np.testing.assert_allclose(value, (i + 2) * (np.e * (i + 1) + np.tanh(1.0)), rtol=1e-6)

    run_threads(*(partial(work, i) for i in range(3)), limit_s=300)
