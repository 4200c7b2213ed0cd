"""Random numbers without a seed are drawn inside compiled regions on accelerators; those with one by their own generators."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from running import initialized_session

import headrace as tf
from headrace.passes.region import find_regions
from headrace.runtime.planning import variants

pytestmark = pytest.mark.usefixtures("accelerator")
ALWAYS = tf.ConfigProto(compile="always")


def regions(*fetches: Any) -> list[set[str]]:
    with tf.Session() as session:
        graph = session._master.plan([], fetches, []).graph
        return [{n.type for n in region.nodes} for region in find_regions(graph.nodes, graph.fetches)]


def dropped(seed: int | None = None) -> tuple[Any, Any]:
    """Six layers with dropout: what comes behind each, and the gradients of what comes before."""
    h: Any = tf.constant(np.random.RandomState(0).rand(64, 32).astype(np.float32))
    before, after = [], []
    for i in range(6):
        w = tf.get_variable(f"w{i}", [32, 32], initializer=tf.glorot_uniform_initializer(seed=i))
        before.append(tf.nn.relu(tf.matmul(h, w)) + 1.0)
        h = tf.nn.dropout(before[-1], rate=0.3, seed=seed)
        after.append(h)
    return after, tf.gradients(tf.reduce_sum(tf.square(h)), before)


def test_a_dropout_is_part_of_the_region() -> None:
    after, gradients = dropped()
    (region,) = regions(*after, *gradients)
    assert "RandomUniform" in region


@pytest.mark.parametrize("seeded", ["op", "graph", "graph, 0"])
def test_with_a_seed_it_is_not(seeded: str) -> None:
    if seeded != "op":
        tf.set_random_seed(0 if seeded.endswith("0") else 1)
    after, gradients = dropped(3 if seeded == "op" else None)
    assert all("RandomUniform" not in region for region in regions(*after, *gradients))
    found = []
    for _ in range(2):
        with initialized_session(config=ALWAYS) as session:
            found.append(session.run(after))
    np.testing.assert_array_equal(found[0], found[1])


def test_what_is_saved_is_not() -> None:
    """A job that saves its generators goes on after a restore with the numbers that it would have drawn."""
    after, gradients = dropped()
    tf.train.exact_state()
    assert all("RandomUniform" not in region for region in regions(*after, *gradients))


def test_what_is_saved_from_now_on_is_not() -> None:
    """A session that has run the step makes its plan anew; a graph that was exported and imported saves, too."""
    after, gradients = dropped()
    with initialized_session(config=ALWAYS) as session:
        saver = tf.train.Saver([*tf.global_variables(), *tf.train.exact_state()])
        graph = session._master.plan([], tuple(after), ()).graph
        assert all("RandomUniform" not in {n.type for n in region.nodes} for region in find_regions(graph.nodes, []))
    exported = tf.train.export_meta_graph(saver_def=saver.as_saver_def())
    with tf.Graph().as_default() as imported:
        assert not imported.saves_generators
        tf.train.import_meta_graph(exported)
        assert imported.saves_generators


def test_plans_are_made_anew_when_generators_are_saved() -> None:
    after, _ = dropped()
    with initialized_session(config=ALWAYS) as session:
        session.run(after)
        before = session._master.plan([], tuple(after), ())
        tf.train.exact_state()
        assert session._master.plan([], tuple(after), ()) is not before


@pytest.mark.parametrize("dtype", [tf.float16, tf.bfloat16, tf.float64])
def test_other_types_are_drawn_by_the_nodes_own_generators(dtype: tf.DType) -> None:
    """The compiler draws numbers of 32 bits: rounded to 16, some of those below 1 would be 1."""
    drawn = tf.random_uniform([1000], dtype=dtype)
    assert not any("RandomUniform" in region for region in regions(tf.reduce_sum(tf.sin(tf.exp(drawn) + 1.0))))


def test_many_shapes_share_a_plan_that_draws(monkeypatch: pytest.MonkeyPatch) -> None:
    """After so many shapes one plan is compiled for all; a dropout does not stop it."""
    monkeypatch.setattr(variants, "ARTIFACTS", 1)
    x = tf.placeholder(tf.float32, [None, 8])
    w = tf.get_variable("w", [8, 8], initializer=tf.glorot_uniform_initializer(seed=1))
    h = tf.nn.dropout(tf.tanh(tf.matmul(tf.nn.relu(x) + 1.0, w)), rate=0.5)
    (slope,) = tf.gradients(tf.reduce_sum(tf.square(h)), [w])
    with initialized_session(config=ALWAYS) as session:
        for size in range(2, 6):
            dropped, _ = session.run([h, slope], {x: np.ones([size, 8])})
            zeros = float(np.mean(dropped == 0.0))
        assert 0.2 < zeros < 0.8
        assert session._master.plan((x,), (h, slope), ()).variants.dynamic is not None


def test_on_a_cpu_it_is_not() -> None:
    with tf.device("/cpu:0"):
        after, gradients = dropped()
    assert all("RandomUniform" not in region for region in regions(*after, *gradients))


def test_a_gradient_has_the_mask_of_its_dropout() -> None:
    """The mask is made again for the gradient.  Each step and each layer has its own."""
    after, gradients = dropped()
    masks = []
    with initialized_session(config=ALWAYS) as session:
        for _ in range(3):
            outputs, slopes = session.run([after, gradients])
            for y, slope in zip(outputs, slopes, strict=True):
                assert 0.2 < (y == 0).mean() < 0.4
                np.testing.assert_array_equal(slope[y == 0], 0.0)
            masks += [y == 0 for y in outputs]
    agree = [(a == b).mean() for i, a in enumerate(masks) for b in masks[:i]]
    assert min(agree) > 0.5 and max(agree) < 0.66  # 0.58 of two masks that know nothing of each other


def test_normal_and_uniform_numbers_are_what_they_say() -> None:
    x = tf.constant(np.zeros([200, 200], np.float32))
    normal = tf.exp(x) * tf.random_normal([200, 200], 3.0, 2.0) + x
    uniform = tf.exp(x) * tf.random_uniform([200, 200], -1.0, 5.0) + x
    with initialized_session(config=ALWAYS) as session:
        n, u = session.run([normal, uniform])
    assert abs(n.mean() - 3.0) < 0.1 and abs(n.std() - 2.0) < 0.1
    assert -1.0 <= u.min() < -0.9 and 4.9 < u.max() < 5.0 and abs(u.mean() - 2.0) < 0.1
