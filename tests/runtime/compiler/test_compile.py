"""Compiled steps: the same values as interpreted ones, one region for a training step, and honest fall-backs."""

import logging
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import torch
from passes.steps import piped
from running import initialized_session

import headrace as tf
from headrace.passes.region import find_regions
from headrace.passes.schedule import schedule
from headrace.passes.specialise import specialise
from headrace.runtime.compiler.background import queue
from headrace.runtime.planning import planner as planners


def _classifier():
    rng = np.random.RandomState(0)
    x = tf.placeholder(tf.float32, [None, 6], name="x")
    y = tf.placeholder(tf.int32, [None], name="y")
    w = tf.Variable(rng.randn(6, 4).astype(np.float32), name="w")
    b = tf.Variable(np.zeros(4, np.float32), name="b")
    logits = tf.matmul(x, w) + b
    loss = tf.reduce_mean(tf.nn.sparse_softmax_cross_entropy_with_logits(labels=y, logits=logits))
    train = tf.train.GradientDescentOptimizer(0.5).minimize(loss)
    feed = {x: rng.randn(8, 6).astype(np.float32), y: rng.randint(0, 4, 8).astype(np.int32)}
    return feed, loss, train, [w, b]


def _compiled_sources(sess: tf.Session) -> list[str]:
    return [
        p.programs[0].source
        for plan in sess._master._plans.values()
        if plan.variants
        for p in plan.variants.compiled.values()
    ]


def test_a_training_step_is_one_region() -> None:
    feed, loss, train, _ = _classifier()
    graph = specialise(piped([loss], list(feed), [train]), [v.shape for v in feed.values()])
    from headrace.passes.fold_shapes import fold_shapes

    graph = fold_shapes(graph)
    regions = find_regions(schedule(graph.nodes), graph.fetches)
    assert len(regions) == 1
    assert {v.op.name for v in regions[0].refs} == {"w", "b"}
    assert [v.name for v in regions[0].outputs] == [graph.fetches[0].name]


def test_compiled_equals_interpreted() -> None:
    feed, loss, train, variables = _classifier()
    curves, ends = [], []
    for mode in ("off", "always"):
        with initialized_session(config=tf.ConfigProto(compile=mode)) as sess:
            curves.append([sess.run([loss, train], feed)[0] for _ in range(4)])
            ends.append(sess.run(variables))
            if mode == "always":
                assert any("[s" in s and "k" in s for s in _compiled_sources(sess))
                assert any(p.variants.compiled and next(iter(p.variants.compiled.values())).regions == 1
                           for p in sess._master._plans.values() if p.variants)  # fmt: skip
    np.testing.assert_allclose(curves[0], curves[1], rtol=1e-5)
    for a, b in zip(*ends, strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-5, atol=1e-6)
    assert curves[0][-1] < curves[0][0]


def test_reads_before_a_write_keep_their_value_when_compiled() -> None:
    v = tf.Variable(np.arange(6, dtype=np.float32).reshape(2, 3))
    before = tf.transpose(v.read_value())  # a view of the buffer
    with tf.control_dependencies([before]):
        write = tf.assign_add(v, np.ones([2, 3], np.float32))
    with tf.control_dependencies([write]):
        after = v.read_value() + 0.0
        late = before * 1.0 + 0.0
    for mode in ("off", "always"):
        with tf.Session(config=tf.ConfigProto(compile=mode)) as sess:
            sess.run(v.initializer)
            first, second, third = sess.run([before, after, late])
            np.testing.assert_array_equal(first, np.arange(6).reshape(2, 3).T)
            np.testing.assert_array_equal(second, np.arange(6).reshape(2, 3) + 1)
            np.testing.assert_array_equal(third, np.arange(6).reshape(2, 3).T)


def test_a_region_may_read_what_an_assignment_outside_wrote(caplog: pytest.LogCaptureFixture) -> None:
    ids = tf.placeholder(tf.int32, [None])
    rows = tf.nn.embedding_lookup(tf.get_variable("rows", initializer=np.ones((6, 3), np.float32)), ids)
    loss = tf.reduce_sum(tf.square(rows - 2.0) * tf.exp(rows))
    train = tf.train.AdamOptimizer(0.1).minimize(loss)  # scatters into its slots, then computes with them
    losses = []
    for mode in ("off", "always"):
        with initialized_session(config=tf.ConfigProto(compile=mode)) as sess:
            losses.append([sess.run([loss, train], {ids: [1, 2, 2]})[0] for _ in range(4)])
    np.testing.assert_allclose(losses[0], losses[1], rtol=1e-6)
    assert len(set(losses[0])) == 4
    assert [r.getMessage() for r in caplog.records if "not compiled" in r.getMessage()] == []


def test_random_numbers_do_not_split_the_region() -> None:
    x = tf.placeholder(tf.float32, [4, 4], name="x")
    noise = tf.raw_ops.RandomUniform([4, 4], dtype=tf.float32)
    y = tf.reduce_sum(tf.nn.relu(tf.square(x) * 2.0 - noise) + 1.0)
    graph = specialise(piped([y], [x], []), [[4, 4]])
    assert len(find_regions(schedule(graph.nodes), graph.fetches)) == 1


def test_a_failing_compiler_leaves_the_step_interpreted(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def refuse(*_: object) -> None:
        raise RuntimeError("no compiler here")

    monkeypatch.setattr(planners, "compile_region", refuse)
    feed, loss, train, _ = _classifier()
    with tf.Session(config=tf.ConfigProto(compile="always")) as sess, caplog.at_level(logging.WARNING):
        sess.run(tf.global_variables_initializer())
        assert sess.run([loss, train], feed)[0] > 0
    assert [r for r in caplog.records if "no compiler here" in r.getMessage() and "test_compile.py" in r.getMessage()]


@pytest.mark.parametrize("threads", [1, 3])
def test_loops_are_written_for_the_sessions_threads(threads: int, monkeypatch: pytest.MonkeyPatch) -> None:
    seen = []

    def compiler(graph: object, fakes: object, dynamic_shapes: str, options: dict) -> None:
        seen.append((torch.get_num_threads(), options["config_patches"]["cpp.dynamic_threads"]))
        raise RuntimeError("seen enough")

    monkeypatch.setattr("torch._inductor.standalone_compile", compiler)
    monkeypatch.setattr("os.cpu_count", lambda: 8)
    before = torch.get_num_threads()
    x = tf.placeholder(tf.float32, [3])
    y = tf.exp(x * 2.0 + 1.0) - x
    config = tf.ConfigProto(compile="always", intra_op_parallelism_threads=threads, device_count={"GPU": 0})
    with tf.Session(config=config) as sess:
        sess._master.planner.compile(sess._master.plan([x], [y], []), [(3,)])
    assert seen == [(threads, threads > 1)]
    assert torch.get_num_threads() == before


def test_without_a_compiler_steps_are_interpreted_and_one_line_says_so(tmp_path: Path) -> None:
    program = (
        "import headrace as tf\n"
        "x = tf.placeholder(tf.float32, [None])\n"
        "y = tf.reduce_sum(tf.exp(x * 2.0 + 1.0) * x)\n"
        "with tf.Session(config=tf.ConfigProto(compile='always', device_count={'GPU': 0})) as sess:\n"
        "    print([float(sess.run(y, {x: [0.0] * n})) for n in (2, 3, 4)])\n"
    )
    given = {**os.environ, "CXX": "/nonexistent/c++", "PATH": str(tmp_path), "TORCHINDUCTOR_CACHE_DIR": str(tmp_path)}
    done = subprocess.run([sys.executable, "-c", program], env=given, capture_output=True, text=True, check=True)
    assert done.stdout == "[0.0, 0.0, 0.0]\n"
    (line,) = done.stderr.splitlines()
    assert "no C++ compiler was found" in line and "stays interpreted" in line


def test_settings_that_are_none_are_named(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("HEADRACE_COMPILE", "HEADRACE_DETERMINISTIC", "HEADRACE_PRECISION"):
        with monkeypatch.context() as patch, pytest.raises(ValueError, match=f"{name} must be .*, got 'maybe'"):
            patch.setenv(name, "maybe")
            tf.Session()


def test_steps_get_the_interpreter_back_quickly_while_something_compiles():
    before = sys.getswitchinterval()
    seen = []

    def job():
        seen.append(sys.getswitchinterval())
        raise ValueError("a failed one too")

    queue.submit(job)
    queue.wait(10)
    assert seen[0] < before
    assert sys.getswitchinterval() == before


def test_a_program_that_ends_while_something_is_compiled_ends_well() -> None:
    program = """
import threading, torch
from headrace.runtime.compiler.background import queue

started = threading.Event()

def job():
    started.set()
    while True:
        torch.nn.functional.conv2d(torch.ones(8, 3, 64, 64), torch.ones(3, 3, 3, 3))

queue.submit(job)
queue.submit(lambda: print("what waits is dropped"))
started.wait()
"""
    ended = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=60)
    assert (ended.returncode, ended.stdout, ended.stderr) == (0, "", "")


def test_several_regions_around_a_python_function() -> None:
    x = tf.placeholder(tf.float32, [3], name="x")
    first = tf.exp(tf.square(x) + 1.0) * 2.0
    middle = tf.py_func(lambda v: v + 1, [first], tf.float32)
    middle.set_shape([3])
    last = tf.reduce_sum(tf.sqrt(middle) * first + 1.0)
    value = np.array([0.1, 0.2, 0.3], np.float32)
    results = []
    for mode in ("off", "always"):
        with tf.Session(config=tf.ConfigProto(compile=mode)) as sess:
            results.append(sess.run(last, {x: value}))
            if mode == "always":
                (plan,) = sess._master._plans.values()
                tiers = [part.plan.variants for part in plan.parts if part.plan is not None]
                assert [p.regions for tier in tiers for p in tier.compiled.values()] == [1, 1]
    np.testing.assert_allclose(results[0], results[1], rtol=1e-5)


def test_dump(tmp_path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HEADRACE_DUMP", str(tmp_path))
    feed, loss, train, _ = _classifier()
    with initialized_session(config=tf.ConfigProto(compile="always")) as sess:
        sess.run([loss, train], feed)
    names = {p.name for p in tmp_path.iterdir()}
    assert any(n.endswith(".plan.txt") for n in names) and any("strand_0" in n for n in names)
    regions = [p.read_text() for p in tmp_path.iterdir() if p.name.startswith("region_")]
    assert any("torch.ops.aten" in text for text in regions)
    monkeypatch.setenv("HEADRACE_DUMP", "/proc/nowhere")
    with tf.Session() as sess, pytest.raises(ValueError, match="HEADRACE_DUMP"):
        sess.run(loss, feed)


def test_what_was_fetched_does_not_change_with_the_variable() -> None:
    v = tf.Variable([1.0, 2.0])
    double = tf.assign(v, v.read_value() * 2.0)
    with tf.control_dependencies([double]):
        after = v.read_value() + 0.0
    with tf.Session(config=tf.ConfigProto(compile="always")) as sess:
        sess.run(v.initializer)
        kept = sess.run([double, after])
        sess.run([double, after])
    np.testing.assert_array_equal(kept, [[2.0, 4.0], [2.0, 4.0]])
