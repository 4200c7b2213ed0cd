"""Feeds: Python values as the values of tensors."""

from __future__ import annotations

import headrace as tf


def test_wide_unsigned_numbers_in_lists_are_exact(session: tf.Session) -> None:
    """NumPy makes floats of [1, 2**63 + 5], and so TensorFlow feeds 2**63."""
    fed = tf.placeholder(tf.uint64)
    assert session.run(tf.identity(fed), {fed: [1, 2**63 + 5]}).tolist() == [1, 2**63 + 5]
    assert session.run(tf.identity(fed), {fed: ((2**64 - 1,), (0,))}).tolist() == [[2**64 - 1], [0]]
