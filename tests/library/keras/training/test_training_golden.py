"""fit, evaluate and predict give the same figures as real Keras (tests/golden/make_keras_training.py), in a graph and eagerly."""

import functools
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from golden.keras_training_cases import CASES

import headrace as tf


@functools.cache
def golden() -> dict:
    return json.loads((Path(__file__).parents[3] / "golden" / "keras_training.json").read_text())


@pytest.fixture(autouse=True)
def cleared() -> Iterator[None]:
    tf.keras.backend.clear_session()
    yield
    tf.keras.backend.clear_session()


def check(found: Any, wanted: Any) -> None:
    if isinstance(wanted, dict):
        assert found.keys() == wanted.keys()
        for key in wanted:
            check(found[key], wanted[key])
    elif isinstance(wanted, list):
        assert len(found) == len(wanted)
        for one, other in zip(found, wanted, strict=True):
            check(one, other)
    else:
        assert found == (wanted if isinstance(wanted, str) else pytest.approx(wanted, rel=1e-3, abs=1e-5))


@pytest.mark.parametrize("name", sorted(CASES))
def test_same_as_keras(name: str) -> None:
    check(CASES[name](tf, tf.keras), golden()[name])


@pytest.mark.parametrize("name", ["added_losses_and_metrics", "batch_normalization", "dataset", "two_outputs"])
def test_same_as_keras_eagerly(name: str) -> None:
    with tf.eager_mode():
        check(CASES[name](tf, tf.keras), golden()[name])
