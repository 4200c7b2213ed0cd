"""Labels as vectors: what is refused, and empty arrays. Values: test_preprocessing_golden."""

import numpy as np
import pytest

import headrace as tf


def test_empty():
    assert tf.keras.utils.to_categorical([], num_classes=3).shape == (0, 3)
    with pytest.raises(ValueError, match="`num_classes` must be given where `y` is empty"):
        tf.keras.utils.to_categorical([])


def test_a_class_beyond_the_last():
    with pytest.raises(IndexError):
        tf.keras.utils.to_categorical([3], num_classes=3)


def test_one_number():
    assert tf.keras.utils.to_categorical(1, 3).tolist() == [0, 1, 0]
    assert np.isfinite(tf.keras.utils.normalize(np.zeros(3))).all()
