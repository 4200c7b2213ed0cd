"""Models that real TensorFlow saved (tests/golden/make_saved_models.py), loaded here: the outputs are TensorFlow's."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from golden import saved_model_cases as cases

import headrace as tf

FOLDER = Path(__file__).parents[2] / "golden/saved_models"
RUNS = [(i, name, signature) for i, (name, signature, _) in enumerate(cases.feeds(tf))]
FUNCTIONAL = [(i, f"{name}_functional", signature) for i, name, signature in RUNS if name == "lstm"]


def expected() -> Any:
    return np.load(FOLDER / "outputs.npz")


def check(outputs: dict[str, Any], run: int) -> None:
    assert outputs
    for name, value in outputs.items():
        wanted = expected()[f"{run}_{name}"]
        if value.dtype == object:
            np.testing.assert_array_equal(value, np.char.encode(wanted).astype(object), name)
        else:
            np.testing.assert_allclose(value, wanted, rtol=1e-5, atol=1e-6, err_msg=name)


@pytest.mark.parametrize(("run", "name", "signature"), [*RUNS, *FUNCTIONAL])
@pytest.mark.parametrize("scope", [None, "model"])
def test_outputs_are_tensorflows(run: int, name: str, signature: str, scope: str | None) -> None:
    with tf.Session(graph=tf.Graph()) as sess:
        model = tf.saved_model.loader.load(sess, ["serve"], str(FOLDER / name), import_scope=scope)
        definition = model.signature_def[signature]
        assert tf.saved_model.signature_def_utils.is_valid_signature(definition)
        of_info = tf.saved_model.utils.get_tensor_from_tensor_info
        fetches = {key: of_info(info, sess.graph, scope) for key, info in definition.outputs.items()}
        inputs = {key: of_info(info, sess.graph, scope) for key, info in definition.inputs.items()}
        assert all(tensor.name.startswith(scope or "") for tensor in inputs.values())
        feeds = cases.feeds(tf)[run][2]
        check(sess.run(fetches, {inputs[key]: value for key, value in feeds.items()}), run)


def test_a_loaded_model_goes_on_training() -> None:
    """The second graph of the model, which TensorFlow wrote without attributes that have their default values."""
    with tf.Session(graph=tf.Graph()) as sess:
        tf.saved_model.loader.load(sess, ["train"], str(FOLDER / "mlp"))
        feeds = {"x:0": cases.weights([3, 4], 21), "labels:0": [0, 2, 1]}
        losses = [sess.run(["loss:0", "train"], feeds)[0] for _ in range(5)]
        assert losses == sorted(losses, reverse=True)
        assert tf.train.global_step(sess, tf.train.get_global_step()) == 5


@pytest.mark.parametrize(("run", "name"), [(1, "lenet"), (2, "lstm"), (3, "lstm")])
def test_frozen_graphs(run: int, name: str) -> None:
    graph_def = tf.GraphDef()
    with tf.gfile.GFile(str(FOLDER / f"{name}_frozen.pb"), "rb") as file:
        graph_def.ParseFromString(file.read())
    _, _, feeds = cases.feeds(tf)[run]
    outputs = ["scores", "digit"] if name == "lenet" else ["outputs", "chosen"]
    with tf.Session(graph=tf.Graph()) as sess:
        tf.import_graph_def(graph_def, name="frozen")
        fed = {f"frozen/{key}:0": value for key, value in feeds.items()}
        check(sess.run({key: f"frozen/{key}:0" for key in outputs}, fed), run)


def test_a_model_of_tensorflow_2() -> None:
    """Functions, and variables that a function restores."""
    with tf.Session(graph=tf.Graph()) as sess:
        model = tf.saved_model.loader.load(sess, ["serve"], FOLDER / "module")
        definition = model.signature_def["serving_default"]
        feeds = {definition.inputs["x"].name: cases.weights([3, 4], 21)}
        np.testing.assert_allclose(sess.run(definition.outputs["y"].name, feeds), expected()["module_y"], rtol=1e-5)
