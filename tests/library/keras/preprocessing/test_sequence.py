"""Mistakes that the functions for sequences refuse, and the JSON of windows."""

import json

import numpy as np
import pytest

import headrace as tf

sequence = tf.keras.preprocessing.sequence


@pytest.mark.parametrize(
    ("sequences", "options", "message"),
    [
        (5, {}, "`sequences` must be a list of sequences, got a int"),
        ([[1], 2], {}, "Found non-iterable: 2"),
        ([[1]], {"padding": "front"}, 'Padding type "front" not understood'),
        ([[1]], {"truncating": "back"}, 'Truncating type "back" not understood'),
        ([[1]], {"value": "x"}, "not compatible with `value`'s type"),
        ([[[1, 2]], [[1, 2, 3]]], {}, r"sequence at position 1 is different from expected shape \(2,\)"),
    ],
)
def test_padding_refuses(sequences, options, message):
    with pytest.raises(ValueError, match=message):
        sequence.pad_sequences(sequences, **options)


def test_padding_of_texts():
    assert sequence.pad_sequences([["a"], []], dtype=object, value="-").tolist() == [["a"], ["-"]]


def test_windows():
    with pytest.raises(ValueError, match="Data length is 3 while target length is 2"):
        sequence.TimeseriesGenerator([1, 2, 3], [1, 2], length=1)
    with pytest.raises(ValueError, match="start_index.length=5 > end_index=2"):
        sequence.TimeseriesGenerator([1, 2, 3], [1, 2, 3], length=5)
    made = sequence.TimeseriesGenerator(np.arange(6.0), [0] * 6, length=2, batch_size=2)
    config = json.loads(made.to_json())["config"]
    assert json.loads(config["data"]) == [0, 1, 2, 3, 4, 5] and config["length"] == 2
    made.data = [object()]
    with pytest.raises(TypeError, match="Data cannot be written as JSON"):
        made.to_json()


def test_shuffled_windows_are_windows():
    made = sequence.TimeseriesGenerator(np.arange(30), np.arange(30), length=3, shuffle=True, batch_size=8)
    x, y = made[0]
    assert (x == y[:, None] + [-3, -2, -1]).all()
