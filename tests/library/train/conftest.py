"""What the tests of training share."""

from collections.abc import Iterator

import pytest

import headrace as tf


@pytest.fixture
def coord() -> tf.train.Coordinator:
    return tf.train.Coordinator()


@pytest.fixture
def train() -> tf.Tensor:
    """Counts a step."""
    return tf.train.get_or_create_global_step().assign_add(1)


@pytest.fixture
def writers() -> Iterator[None]:
    """Closes the files of events that the test writes."""
    yield
    tf.summary.FileWriterCache.clear()
