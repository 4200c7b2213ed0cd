"""What a source of batches must have."""

import pytest

import headrace as tf


def test_both_methods_are_needed():
    class Half(tf.keras.utils.Sequence):
        def __len__(self):
            return 1

    with pytest.raises(TypeError, match="__getitem__"):
        Half()


def test_an_epoch_ends():
    class Numbers(tf.keras.utils.Sequence):
        def __len__(self):
            return 2

        def __getitem__(self, index):
            return index

    numbers = Numbers()
    assert list(numbers) == list(numbers) == [0, 1] and numbers.on_epoch_end() is None
