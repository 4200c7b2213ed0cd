"""Conditionals and loops as TensorFlow 1 wrote them, imported, with parts in several tasks."""

from collections.abc import Iterator

import numpy as np
import pytest
from cluster.local_cluster import LocalCluster, local_cluster
from passes.test_raise_primitives import cond, loop

import headrace as tf

pytestmark = pytest.mark.allow_leaks(reason="the servers live as long as the module")


@pytest.fixture(scope="module")
def cluster() -> Iterator[LocalCluster]:
    with local_cluster(ps=1, workers=1) as one:
        yield one


def imported() -> list[tf.Tensor]:
    """A loop that multiplies on one task and adds on another, and a conditional with a branch on each."""
    with tf.Graph().as_default() as graph:
        x = tf.placeholder(tf.float32, [], name="x")
        p = tf.placeholder(tf.bool, [], name="p")

        def body(a: tf.Tensor, by: tf.Tensor) -> tf.Tensor:
            with tf.device("/job:ps"):
                grown = a * by
            with tf.device("/job:worker"):
                return grown + 1.0

        def on(job: str, function: object) -> object:
            def branch(a: tf.Tensor) -> tf.Tensor:
                with tf.device(f"/job:{job}"):
                    return function(a)  # type: ignore[operator]

            return branch

        tf.identity(loop(tf.constant(3), x, body, tf.constant(2.0)), name="looped")
        tf.identity(cond(p, on("ps", tf.square), on("worker", tf.negative), x), name="chosen")
    return tf.import_graph_def(graph.as_graph_def(), return_elements=["x:0", "p:0", "looped:0", "chosen:0"], name="")


def test_values_and_gradients(cluster: LocalCluster) -> None:
    x, p, looped, chosen = imported()
    slopes = [tf.gradients(y, x)[0] for y in (looped, chosen)]
    with tf.Session(cluster.target("worker", 0)) as session:
        for value, expected in ((True, [23.0, 4.0, 8.0, 4.0]), (False, [23.0, -2.0, 8.0, -1.0])):
            found = session.run([looped, chosen, *slopes], {x: 2.0, p: value})
            np.testing.assert_allclose(found, expected)
