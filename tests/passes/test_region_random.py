"""Random numbers without a seed are drawn inside compiled regions on accelerators; those with one by their own generators."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from running import initialized_session

import headrace as tf
from headrace.passes.region import find_regions

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


@pytest.mark.parametrize("seeded", ["op", "graph"])
def test_with_a_seed_it_is_not(seeded: str) -> None:
    if seeded == "graph":
        tf.set_random_seed(1)
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
