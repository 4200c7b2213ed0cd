"""Models against real Keras: names, tables, configurations, what is trained (tests/golden/make_keras_engine.py)."""

import functools
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from golden.keras_engine_cases import CASES

import headrace as tf

GOLDEN = Path(__file__).parents[3] / "golden" / "keras_engine.json"


@functools.cache
def golden() -> dict[str, Any]:
    return json.loads(GOLDEN.read_text())


@pytest.fixture(autouse=True)
def cleared() -> Iterator[None]:
    tf.keras.backend.clear_session()
    yield
    tf.keras.backend.clear_session()


@pytest.mark.parametrize("name", sorted(CASES))
def test_same_as_keras(name: str) -> None:
    assert json.loads(json.dumps(CASES[name](tf, tf.keras))) == golden()[name]
