"""Keras's layers against real TensorFlow: values, gradients, names, shapes, configurations (make_keras_layers.py)."""

import functools
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from golden.keras_layers_cases import CASES, FUNCTIONS, run_case, run_function

import headrace as tf

GOLDEN = Path(__file__).parents[2] / "golden"

# What Keras of later versions has put into configurations, by the name of the argument and the value that changes nothing.
LATER = {
    "dilation_rate": [1, 1, 1], "dropout": 0.0, "groups": 1, "keepdims": False, "kernel_constraint": None,
    "kernel_initializer": None, "kernel_regularizer": None, "score_mode": "dot", "seed": None, "sparse": False,
    "synchronized": False, "noise_shape": None,
}  # fmt: skip
ONLY_EARLIER = {"causal"}  # now an argument of the call
FORMER_CLASSES = {"L2": "L1L2", "HeNormal": "VarianceScaling"}


@functools.cache
def arrays() -> dict[str, np.ndarray]:
    with np.load(GOLDEN / "keras_layers.npz") as file:
        return {name: file[name] for name in file.files}


@functools.cache
def facts() -> dict[str, Any]:
    return json.loads((GOLDEN / "keras_layers.json").read_text())


@functools.cache
def found() -> dict[str, Any]:
    """Everything in one graph and session, as it was made."""
    results = {}
    with tf.Graph().as_default(), tf.Session() as session:
        for name, case in CASES.items():
            try:
                results[name] = run_case(tf, session, *case)
            except Exception as e:
                results[name] = e
    return results


@pytest.mark.parametrize("name", CASES)
def test_same_as_tensorflow(name: str) -> None:
    result = found()[name]
    if isinstance(result, Exception):
        raise result
    numbers, ours = result
    wanted = [v for k, v in arrays().items() if k.startswith(f"{name}|")]
    assert len(numbers) == len(wanted)
    for a, b in zip(numbers, wanted, strict=True):
        np.testing.assert_allclose(a, b, rtol=3e-4, atol=3e-5)
    theirs = dict(facts()[name])
    ours = json.loads(json.dumps(ours))
    compare_configs(ours.pop("config"), theirs.pop("config"))
    assert ours == theirs


@pytest.mark.parametrize("name", FUNCTIONS)
def test_functions_are_as_in_tensorflow(session: tf.Session, name: str) -> None:
    numbers = run_function(tf, session, name, FUNCTIONS[name])
    for i, a in enumerate(numbers):
        np.testing.assert_allclose(a, arrays()[f"function {name}|{i}"], rtol=3e-4, atol=3e-5)


def compare_configs(ours: dict[str, Any], theirs: dict[str, Any]) -> None:
    for key in set(ours) | set(theirs):
        if key in ours and key in theirs:
            compare_values(ours[key], theirs[key], key)
        else:
            assert key in (ONLY_EARLIER if key in ours else LATER), key


def compare_values(a: Any, b: Any, key: str) -> None:
    if isinstance(a, dict) and isinstance(b, dict):
        assert set(b) <= set(a), key
        for name in b:
            compare_values(a[name], b[name], f"{key}.{name}")
    elif isinstance(a, float) or isinstance(b, float):
        assert a == pytest.approx(b), key
    else:
        assert a == FORMER_CLASSES.get(b if isinstance(b, str) else "", b), key


@pytest.mark.parametrize("name", CASES)
def test_a_configuration_makes_the_same_layer(name: str) -> None:
    layer = CASES[name][0](tf.keras)
    stored = json.loads(json.dumps(tf.keras.layers.serialize(layer)))
    again = tf.keras.layers.deserialize(stored)
    assert type(again) is type(layer)
    assert json.loads(json.dumps(again.get_config())) == stored["config"]
