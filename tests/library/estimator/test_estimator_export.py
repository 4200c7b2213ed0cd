"""Exported models: what they receive, which signatures they have, and that loading gives the same predictions."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import headrace as tf

X = np.random.RandomState(2).randn(40, 2).astype(np.float32)
Y = (X[:, 0] > 0).astype(np.int64)
COLUMNS = [tf.feature_column.numeric_column("x", shape=[2])]
export = tf.estimator.export


@pytest.fixture
def classifier(tmp_path: Path) -> Any:
    model = tf.estimator.LinearClassifier(COLUMNS, model_dir=str(tmp_path / "model"))
    model.train(tf.estimator.inputs.numpy_input_fn({"x": X}, Y, num_epochs=None, shuffle=False), steps=5)
    return model


def predicted(model: Any) -> np.ndarray:
    input_fn = tf.estimator.inputs.numpy_input_fn({"x": X}, shuffle=False)
    return np.stack([p["probabilities"] for p in model.predict(input_fn)])


def test_encoded_examples(tmp_path: Path, classifier: Any) -> None:
    spec = tf.feature_column.make_parse_example_spec(COLUMNS)
    receive = export.build_parsing_serving_input_receiver_fn(spec)
    (tmp_path / "words.txt").write_text("words")
    folder = classifier.export_savedmodel(
        str(tmp_path / "out"), receive, assets_extra={"sub/w.txt": str(tmp_path / "words.txt")}
    )
    assert isinstance(folder, bytes)
    assert Path(folder.decode()).name.isdigit()
    assert [p.name for p in (tmp_path / "out").iterdir()] == [Path(folder.decode()).name]
    assert (Path(folder.decode()) / "assets.extra" / "sub" / "w.txt").read_text() == "words"
    encoded = [
        tf.train.Example(
            features=tf.train.Features(feature={"x": tf.train.Feature(float_list=tf.train.FloatList(value=row))})
        ).SerializeToString()
        for row in X
    ]
    with tf.Session(graph=tf.Graph()) as sess:
        signatures = tf.saved_model.loader.load(sess, ["serve"], folder).signature_def
        assert sorted(signatures) == ["classification", "predict", "regression", "serving_default"]
        served = signatures["serving_default"]
        assert served.method_name == "tensorflow/serving/classify"
        scores, classes = sess.run(
            [served.outputs["scores"].name, served.outputs["classes"].name], {served.inputs["inputs"].name: encoded}
        )
    np.testing.assert_allclose(scores, predicted(classifier), rtol=1e-5)
    assert classes[0].tolist() == [b"0", b"1"]


def test_raw_tensors(tmp_path: Path, classifier: Any, caplog: pytest.LogCaptureFixture) -> None:
    with tf.Graph().as_default():
        receive = export.build_raw_serving_input_receiver_fn({"x": tf.placeholder(tf.float32, [7, 2], name="x")})
    folder = classifier.export_saved_model(str(tmp_path / "out"), receive)
    assert "no default signature" in caplog.text
    with tf.Session(graph=tf.Graph()) as sess:
        signatures = tf.saved_model.loader.load(sess, ["serve"], folder).signature_def
        assert list(signatures) == ["predict"]
        served = signatures["predict"]
        scores = sess.run(served.outputs["probabilities"].name, {served.inputs["x"].name: X})
    np.testing.assert_allclose(scores, predicted(classifier), rtol=1e-5)


def test_two_exports_have_folders_of_their_own(tmp_path: Path, classifier: Any) -> None:
    spec = tf.feature_column.make_parse_example_spec(COLUMNS)
    receive = export.build_parsing_serving_input_receiver_fn(spec)
    folders = {classifier.export_savedmodel(str(tmp_path / "out"), receive, as_text=True) for _ in range(2)}
    assert len(folders) == 2
    assert all((Path(f.decode()) / "saved_model.pbtxt").exists() for f in folders)


def test_features_of_one_tensor(tmp_path: Path) -> None:
    def model_fn(features: Any, labels: Any, mode: str) -> Any:
        predictions = features * tf.get_variable("w", [], initializer=tf.ones_initializer())
        loss = tf.reduce_sum(predictions)
        train_op = tf.assign_add(tf.train.get_global_step(), 1)
        outputs = {"double": export.PredictOutput({"y": predictions * 2})}
        return tf.estimator.EstimatorSpec(mode, predictions, loss, train_op, export_outputs=outputs)

    estimator = tf.estimator.Estimator(model_fn, str(tmp_path / "model"))
    estimator.train(lambda: tf.constant([1.0]), steps=1)

    def receive() -> Any:
        received = tf.placeholder(tf.float32, [None], name="received")
        other = tf.placeholder(tf.float32, [None])
        return export.TensorServingInputReceiver(received, {"r": received}, {"other": {"o": other}})

    folder = estimator.export_savedmodel(str(tmp_path / "out"), receive)
    with tf.Session(graph=tf.Graph()) as sess:
        signatures = tf.saved_model.loader.load(sess, ["serve"], folder).signature_def
        assert sorted(signatures) == ["double", "other", "other:double", "serving_default"]
        assert sess.run(signatures["double"].outputs["y"].name, {"received:0": [3.0]}) == [6.0]


def test_what_exports_refuse(tmp_path: Path, classifier: Any) -> None:
    with pytest.raises(
        ValueError, match="must return a tf.estimator.export.ServingInputReceiver.*got 3.*test_estimator_export.py"
    ):
        classifier.export_savedmodel(str(tmp_path / "out"), lambda: 3)
    with pytest.raises(ValueError, match="serving_input_receiver_fn must be a function, got 3"):
        classifier.export_savedmodel(str(tmp_path / "out"), 3)
    untrained = tf.estimator.LinearClassifier(COLUMNS, model_dir=str(tmp_path / "new"))
    with pytest.raises(ValueError, match=r"Couldn't find trained model at .*/new"):
        untrained.export_savedmodel(str(tmp_path / "out"), lambda: None)
    assert not (tmp_path / "out").exists()
    with pytest.raises(ValueError, match=r"features\['a'\] must be a Tensor or SparseTensor, got 1"):
        export.ServingInputReceiver({"a": 1}, {})
    with pytest.raises(ValueError, match="receiver_tensors must be defined"):
        export.ServingInputReceiver({"a": tf.constant(1.0)}, None)
    with pytest.raises(ValueError, match="first dimension for the batch"):
        export.build_raw_serving_input_receiver_fn({"a": tf.constant(1.0)})


def test_single_tensors_get_names() -> None:
    tensor = tf.placeholder(tf.float32)
    receiver = export.ServingInputReceiver(tensor, tensor)
    assert (receiver.features, receiver.receiver_tensors) == ({"feature": tensor}, {"input": tensor})


# ---- parsing


def test_examples_for_training() -> None:
    spec = tf.estimator.classifier_parse_example_spec(COLUMNS, "label", weight_column="w")
    assert sorted(spec) == ["label", "w", "x"]
    assert (spec["label"].dtype, spec["label"].shape) == (tf.int64, (1,))
    spec = tf.estimator.regressor_parse_example_spec(COLUMNS, "label", label_dimension=3)
    assert (spec["label"].dtype, spec["label"].shape) == (tf.float32, (3,))
    with pytest.raises(ValueError, match="label should not be used as feature. label_key: x"):
        tf.estimator.classifier_parse_example_spec(COLUMNS, "x")
