"""What the tests of queues and their kin share."""

from collections.abc import Iterator

import pytest

import headrace as tf


@pytest.fixture
def sess() -> Iterator[tf.Session]:
    with tf.Session(config=tf.ConfigProto(compile="off")) as session:
        yield session
