"""SavedModels as functions."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import headrace as tf

GOLDEN = Path(__file__).parents[2] / "golden/saved_models"


@pytest.fixture
def folder(tmp_path: Path) -> str:
    with tf.Graph().as_default(), tf.Session() as sess:
        x = tf.placeholder(tf.float32, [None], name="x")
        y = tf.multiply(x, tf.Variable(2.0), name="y")
        sess.run(tf.global_variables_initializer())
        signature = tf.saved_model.predict_signature_def({"x": x}, {"y": y})
        builder = tf.saved_model.Builder(str(tmp_path / "model"))
        builder.add_meta_graph_and_variables(sess, ["serve"], {"serving_default": signature, "other": signature})
        builder.add_meta_graph(["serve", "gpu"], {"serving_default": signature})
        builder.save()
    return str(tmp_path / "model")


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"signature_def_key": "other"},
        {"tags": "serve,gpu"},
        {"tags": ["gpu", "serve"]},
        {"input_names": {"x": "x:0"}, "output_names": {"y": "y:0"}},
    ],
)
def test_predicts(folder: str, options: Any) -> None:
    predict = tf.contrib.predictor.from_saved_model(folder, **options)
    assert predict.graph is not tf.get_default_graph()
    with predict.session:
        np.testing.assert_array_equal(predict({"x": [1.0, 2.0]})["y"], [2.0, 4.0])
        assert list(predict.feed_tensors) == ["x"] and list(predict.fetch_tensors) == ["y"]
        with pytest.raises(ValueError, match=r"unexpected keys in input_dict: \['z'\]; expected: \['x'\]"):
            predict({"z": 1.0})


def test_classifies_what_tensorflow_saved() -> None:
    predict = tf.contrib.predictor.from_saved_model(GOLDEN / "examples", "classify")
    size = tf.train.Feature(float_list=tf.train.FloatList(value=[0.5, -1.0]))
    example = tf.train.Example(features=tf.train.Features(feature={"size": size}))
    with predict.session:
        outputs = predict({"inputs": [example.SerializeToString()]})
    assert outputs["classes"].tolist() == [[b"red", b"green", b"blue"]]
    np.testing.assert_allclose(outputs["scores"].sum(), 1, rtol=1e-6)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"signature_def_key": "none"}, "No SignatureDef with key 'none' found.*There are: other, serving_default"),
        ({"signature_def_key": "a", "input_names": {}, "output_names": {}}, "at most one of"),
        ({"input_names": {}}, "must both be specified"),
    ],
)
def test_mistakes(folder: str, options: Any, words: str) -> None:
    with pytest.raises(ValueError, match=words):
        tf.contrib.predictor.from_saved_model(folder, **options)
