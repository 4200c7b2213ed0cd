"""The tests here run eagerly."""

from collections.abc import Iterator

import pytest

import headrace as tf


@pytest.fixture(autouse=True)
def eagerly() -> Iterator[None]:
    with tf.eager_mode():
        yield
