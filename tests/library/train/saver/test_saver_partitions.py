"""A partitioned variable and the slots of its optimizer, restored into another number of partitions or into a whole one."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import headrace as tf
from headrace.core import errors

SHAPE = [7, 3]


def build(parts: int, axis: int, resource: bool) -> tuple[Any, Any]:
    """The value of a variable in ``parts`` parts (1: whole), and a step of momentum that rounds nothing."""
    partitioner = tf.fixed_size_partitioner(parts, axis=axis) if parts > 1 else None
    start = np.arange(21, dtype=np.float32).reshape(SHAPE)
    with tf.variable_scope("model", partitioner=partitioner, use_resource=resource):
        table = tf.get_variable("table", initializer=start)
    value = tf.convert_to_tensor(table)
    train = tf.train.MomentumOptimizer(0.125, 0.5).minimize(tf.reduce_sum(tf.square(value)))
    return value, train


def run(
    parts: int, axis: int, resource: bool, steps: int, folder: Path, restore: str | None = None, **options: Any
) -> Any:
    with tf.Graph().as_default(), tf.Session() as sess:
        value, train = build(parts, axis, resource)
        saver = tf.train.Saver(**options)
        if restore:
            saver.restore(sess, restore)
        else:
            sess.run(tf.global_variables_initializer())
        for _ in range(steps):
            sess.run(train)
        path = saver.save(sess, f"{folder}/model-{parts}-{axis}", write_meta_graph=False)
        saver.wait()
        return sess.run(value), path


@pytest.mark.parametrize("resource", [False, True])
@pytest.mark.parametrize(
    ("before", "after"),
    [((3, 0), (2, 0)), ((2, 0), (5, 0)), ((4, 0), (1, 0)), ((1, 0), (3, 0)), ((3, 1), (2, 1)), ((2, 1), (7, 0))],
)
def test_training_goes_on_in_other_partitions(
    tmp_path: Path, before: tuple[int, int], after: tuple[int, int], resource: bool
) -> None:
    expected, _ = run(1, 0, resource, 6, tmp_path)
    _, path = run(*before, resource, 3, tmp_path)
    assert tf.train.list_variables(path) == [("model/table", SHAPE), ("model/table/Momentum", SHAPE)]
    got, _ = run(*after, resource, 3, tmp_path, path, asynchronous=True)
    np.testing.assert_array_equal(got, expected)


def test_another_whole_shape_is_refused(tmp_path: Path) -> None:
    _, path = run(3, 0, False, 0, tmp_path)
    with tf.Graph().as_default(), tf.Session() as sess:
        tf.get_variable("model/table", [8, 3], partitioner=tf.fixed_size_partitioner(2))
        with pytest.raises(errors.InvalidArgumentError, match=r"expects shape \[8, 3\] .*has shape \[7, 3\]"):
            tf.train.Saver().restore(sess, path)
