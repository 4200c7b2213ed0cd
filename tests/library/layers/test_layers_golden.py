"""tf.layers against real TensorFlow: values, gradients, names of variables and nodes (tests/golden/make_layers.py)."""

import functools
import json
from pathlib import Path

import numpy as np
import pytest
from golden.layers_cases import CASES, fixed, node_names, variable_names

import headrace as tf

GOLDEN = Path(__file__).parents[2] / "golden"


@functools.cache
def arrays() -> dict[str, np.ndarray]:
    with np.load(GOLDEN / "layers.npz") as file:
        return {name: file[name] for name in file.files}


@functools.cache
def names() -> dict[str, dict[str, list[str]]]:
    return json.loads((GOLDEN / "layers.json").read_text())


@pytest.mark.parametrize("name", sorted(CASES))
def test_same_as_tensorflow(session: tf.Session, name: str) -> None:
    with tf.variable_scope("", initializer=fixed):
        fetches = CASES[name](tf, tf.layers)
    assert variable_names(tf) == names()[name]["variables"]
    assert node_names(tf) == names()[name]["nodes"]
    session.run(tf.global_variables_initializer())
    found = session.run(fetches)
    wanted = [v for k, v in arrays().items() if k.startswith(f"{name}|")]
    assert len(found) == len(wanted)
    for tensor, a, b in zip(fetches, found, wanted, strict=True):
        assert tensor.shape.is_compatible_with(a.shape)
        np.testing.assert_allclose(a, b, rtol=2e-4, atol=2e-5)
