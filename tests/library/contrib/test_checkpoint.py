"""tf.contrib.framework and slim: variables set from a checkpoint."""

from pathlib import Path

import numpy as np
import pytest
from golden import checkpoint_cases as cases

import headrace as tf

GOLDEN = str(Path(__file__).parents[2] / "golden/checkpoints/partitioned")


def test_assign_from_checkpoint(session: tf.Session) -> None:
    cases.make_partitioned(tf, rows=2, columns=3)
    flat = tf.get_variable("flat", [24])
    op, feeds = tf.contrib.framework.assign_from_checkpoint(
        GOLDEN, {"rows": flat, "columns": tf.global_variables("columns")}
    )
    session.run(op, feeds)
    np.testing.assert_array_equal(session.run(flat), cases.ROWS.reshape(-1))
    parts = session.run(tf.global_variables("columns"))
    np.testing.assert_array_equal(np.concatenate(parts, 1), cases.COLUMNS)
    with pytest.raises(ValueError, match=r"is missing variable \[other\]"):
        tf.contrib.framework.assign_from_checkpoint(GOLDEN, {"other": flat})
    with pytest.raises(ValueError, match=r"must be unchanged for whole lh_shape: \[\[8\]\], rh_shape: \[\[24\]\]"):
        tf.contrib.framework.assign_from_checkpoint(GOLDEN, {"whole": flat})


def test_assign_from_checkpoint_fn(session: tf.Session) -> None:
    cases.make_partitioned(tf, rows=2, columns=3)
    other = tf.get_variable("other", initializer=5.0)
    session.run(other.initializer)
    tf.contrib.slim.assign_from_checkpoint_fn(GOLDEN, tf.global_variables(), ignore_missing_vars=True)(session)
    np.testing.assert_array_equal(np.concatenate(session.run(tf.global_variables("rows"))), cases.ROWS)
    assert session.run(other) == 5.0
    assert tf.contrib.slim.assign_from_checkpoint_fn(GOLDEN, [other], ignore_missing_vars=True) is None
    with pytest.raises(tf.errors.NotFoundError, match="Key other not found"):
        tf.contrib.slim.assign_from_checkpoint_fn(GOLDEN, [other])(session)
    with pytest.raises(ValueError, match="cannot be empty"):
        tf.contrib.slim.assign_from_checkpoint_fn(GOLDEN, [])
    assert tf.contrib.framework.list_variables(GOLDEN)[0] == ("columns", [2, 10])
