"""Texts, sequences and batches of images beside TensorFlow's Keras (tests/golden/keras_data_cases.py)."""

import json
import warnings
from pathlib import Path

import pytest
from golden.keras_data_cases import CASES

import headrace as tf

KEPT = json.loads((Path(__file__).parents[3] / "golden" / "keras_data.json").read_text())


def plain(value):
    """As JSON gives it back."""
    return json.loads(json.dumps(value))


@pytest.mark.parametrize("name", CASES)
def test_as_tensorflow(name):
    assert plain(CASES[name](tf.keras)) == KEPT[name]


def test_every_case_is_kept():
    assert set(CASES) == set(KEPT)


def test_nothing_warns():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        CASES["flowed"](tf.keras)
