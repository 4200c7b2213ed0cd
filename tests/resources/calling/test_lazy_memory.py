"""Large zeros take memory only where they are written."""

from pathlib import Path
from typing import Any

import numpy as np
import torch

import headrace as tf
from headrace.resources.calling.lazy_memory import zeros

ROWS, WIDTH = 1 << 18, 128  # 128 MB
MEGABYTE = 1 << 20


def resident() -> int:
    return int(Path("/proc/self/statm").read_text().split()[1]) * 4096


def test_zeros_of_any_type() -> None:
    for dtype in (torch.float32, torch.int64, torch.bool, torch.bfloat16):
        assert zeros([2, 3], dtype).equal(torch.zeros([2, 3], dtype=dtype))


def test_a_large_table_of_zeros_takes_the_memory_of_the_rows_that_are_touched(interpreted: tf.Session) -> None:
    table = tf.get_variable("table", [ROWS, WIDTH], initializer=tf.zeros_initializer())
    ids = [0, 5, ROWS - 1]
    update = tf.scatter_add(table, ids, tf.ones([3, WIDTH])).op
    rows = tf.gather(table, [*ids, 7])
    interpreted.run(tf.constant(0.0))
    before = resident()
    interpreted.run(table.initializer)
    interpreted.run(update)
    np.testing.assert_array_equal(interpreted.run(rows)[:, 0], [1, 1, 1, 0])
    assert resident() - before < 32 * MEGABYTE
    interpreted.run(table.initializer)  # again: the buffer is there
    np.testing.assert_array_equal(interpreted.run(tf.gather(table, ids)), np.zeros([3, WIDTH]))


def test_the_variable_owns_its_large_first_value(interpreted: tf.Session) -> None:
    """Two variables from one node, and a value that is also fetched, have memory of their own."""
    shape = [1 << 24]  # 64 MB
    value: Any = tf.fill(shape, 2.0)
    one, two = tf.Variable(value), tf.Variable(value)
    third = tf.Variable(tf.fill(shape, 3.0))
    interpreted.run([one.initializer, two.initializer])
    fetched, _ = interpreted.run([third.initial_value, third.initializer])
    interpreted.run([tf.scatter_update(v, [0], [9.0]) for v in (one, third)])
    assert interpreted.run([v[0] for v in (one, two, third)]) == [9.0, 2.0, 9.0]
    assert fetched[0] == 3.0
