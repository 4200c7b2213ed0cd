"""Ready-made models: that they learn, that their metrics are right, that their variables have TensorFlow's names."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import headrace as tf

RNG = np.random.RandomState(5)
X = RNG.randn(200, 2).astype(np.float32)
INSIDE = (np.sum(X**2, axis=1) < 1.4).astype(np.int64)
RIGHT = (X[:, 0] > 0.1).astype(np.int64)
QUARTER = (2 * (X[:, 0] > 0) + (X[:, 1] > 0)).astype(np.int64)[:, None]
NUMBER = (X @ np.float32([[2.0], [-1.0]]) + 0.5).astype(np.float32)

COLUMN = tf.feature_column.numeric_column("x", shape=[2])


def forever(y: Any, **more: Any) -> Any:
    return tf.estimator.inputs.numpy_input_fn({"x": X, **more}, y, batch_size=50, num_epochs=None, shuffle=True)


def once(y: Any, **more: Any) -> Any:
    return tf.estimator.inputs.numpy_input_fn({"x": X, **more}, y, batch_size=64, shuffle=False)


def config(folder: Path) -> Any:
    return tf.estimator.RunConfig(str(folder), tf_random_seed=1)


# ---- learning


def test_dnn_classifier_learns_a_circle(tmp_path: Path) -> None:
    classifier = tf.estimator.DNNClassifier(
        [16, 16], [COLUMN], optimizer=tf.train.AdamOptimizer(0.02), config=config(tmp_path)
    )
    classifier.train(forever(INSIDE), steps=200)
    assert classifier.evaluate(once(INSIDE))["accuracy"] > 0.95
    assert [n for n in classifier.get_variable_names() if "Adam" not in n and "beta" not in n] == [
        "dnn/hiddenlayer_0/bias", "dnn/hiddenlayer_0/kernel", "dnn/hiddenlayer_1/bias", "dnn/hiddenlayer_1/kernel",
        "dnn/logits/bias", "dnn/logits/kernel", "global_step",
    ]  # fmt: skip


def test_several_classes_by_name(tmp_path: Path) -> None:
    names = ["a", "b", "c", "d"]
    labels = np.array(names)[QUARTER[:, 0]]
    classifier = tf.estimator.DNNClassifier(
        hidden_units=[16], feature_columns=[COLUMN], n_classes=4, label_vocabulary=names, dropout=0.1,
        optimizer=tf.train.AdamOptimizer(0.02), config=config(tmp_path),
    )  # fmt: skip
    classifier.train(forever(labels), steps=100)
    results = classifier.evaluate(once(labels))
    assert set(results) == {"accuracy", "average_loss", "loss", "global_step"}
    assert results["accuracy"] > 0.85
    first = next(classifier.predict(once(None)))
    assert set(first) == {"logits", "probabilities", "class_ids", "classes", "all_class_ids", "all_classes"}
    assert first["classes"][0].decode() == names[int(first["class_ids"][0])]
    assert first["all_classes"].tolist() == [b"a", b"b", b"c", b"d"]
    assert int(first["class_ids"][0]) == int(np.argmax(first["probabilities"]))


def test_batch_normalization_keeps_its_averages(tmp_path: Path) -> None:
    model = tf.estimator.DNNRegressor([4, 4], [COLUMN], batch_norm=True, config=config(tmp_path))
    model.train(forever(NUMBER), steps=2)
    for layer in (0, 1):
        averages = f"dnn/hiddenlayer_{layer}/batchnorm_{layer}/moving_variance"
        assert np.all(model.get_variable_value(averages) != 1)
    model.evaluate(once(NUMBER))


def test_linear_classifier_learns_a_line(tmp_path: Path) -> None:
    classifier = tf.estimator.LinearClassifier([COLUMN], config=config(tmp_path)).train(forever(RIGHT), steps=100)
    assert classifier.evaluate(once(RIGHT))["accuracy"] > 0.95
    assert [n for n in classifier.get_variable_names() if "Ftrl" not in n] == [
        "global_step", "linear/linear_model/bias_weights", "linear/linear_model/x/weights",
    ]  # fmt: skip


def test_linear_classifier_of_categories(tmp_path: Path) -> None:
    words = np.array(["good", "bad", "fine", "awful"])[RNG.randint(4, size=200)]
    labels = np.isin(words, ["good", "fine"]).astype(np.int64)
    column = tf.feature_column.categorical_column_with_vocabulary_list("word", ["good", "bad", "fine", "awful"])
    classifier = tf.estimator.LinearClassifier([column], config=config(tmp_path))
    classifier.train(forever(labels, word=words), steps=50)
    assert classifier.evaluate(once(labels, word=words))["accuracy"] == 1.0


@pytest.mark.parametrize("kind", ["linear", "deep"])
def test_regressors_learn_a_plane(tmp_path: Path, kind: str) -> None:
    if kind == "linear":
        regressor: Any = tf.estimator.LinearRegressor([COLUMN], config=config(tmp_path))
    else:
        regressor = tf.estimator.DNNRegressor(
            [8], [COLUMN], optimizer=tf.train.AdamOptimizer(0.05), config=config(tmp_path)
        )
    regressor.train(forever(NUMBER), steps=200)
    results = regressor.evaluate(once(NUMBER))
    assert results["average_loss"] < 0.05
    assert results["label/mean"] == pytest.approx(np.mean(NUMBER), rel=1e-4)
    predictions = np.stack([p["predictions"] for p in regressor.predict(once(None))])
    assert predictions.shape == (200, 1)
    assert np.mean((predictions - NUMBER) ** 2) == pytest.approx(results["average_loss"], rel=1e-3)
    assert np.mean(predictions) == pytest.approx(results["prediction/mean"], rel=1e-3)


def test_wide_and_deep_trains_both_parts(tmp_path: Path) -> None:
    wide = tf.feature_column.bucketized_column(tf.feature_column.numeric_column("z"), [0.0])
    z = X[:, 1]
    model = tf.estimator.DNNLinearCombinedClassifier(
        linear_feature_columns=[wide], dnn_feature_columns=[COLUMN], dnn_hidden_units=[16], linear_optimizer="SGD",
        dnn_optimizer=lambda: tf.train.AdamOptimizer(0.02), config=config(tmp_path),
    )  # fmt: skip
    model.train(forever(INSIDE, z=z), steps=150)
    results = model.evaluate(once(INSIDE, z=z))
    assert results["accuracy"] > 0.9
    assert results["global_step"] == 150
    assert np.any(model.get_variable_value("linear/linear_model/z_bucketized/weights") != 0)
    regressor = tf.estimator.DNNLinearCombinedRegressor(
        linear_feature_columns=[COLUMN], linear_optimizer=tf.train.FtrlOptimizer(0.5), config=config(tmp_path / "r")
    )
    assert regressor.train(forever(NUMBER), steps=100).evaluate(once(NUMBER))["average_loss"] < 0.1


def test_training_twice_with_one_optimizer(tmp_path: Path) -> None:
    classifier = tf.estimator.DNNClassifier(
        [4], [COLUMN], optimizer=tf.train.MomentumOptimizer(0.001, 0.9), config=config(tmp_path)
    )
    classifier.train(forever(RIGHT), steps=3).train(forever(RIGHT), steps=3)
    assert classifier.get_variable_value("global_step") == 6
    assert "dnn/logits/kernel/Momentum" in classifier.get_variable_names()


def test_embeddings_feed_the_layers(tmp_path: Path) -> None:
    ids = RNG.randint(5, size=200)
    column = tf.feature_column.embedding_column(tf.feature_column.categorical_column_with_identity("id", 5), 3)
    labels = (ids % 2).astype(np.int64)
    classifier = tf.estimator.DNNClassifier([8], [column], optimizer="Adam", config=config(tmp_path))
    classifier.train(forever(labels, id=ids), steps=1)
    assert (
        "dnn/input_from_feature_columns/input_layer/id_embedding/embedding_weights" in classifier.get_variable_names()
    )


# ---- metrics


def test_metrics_of_two_classes_are_those_of_numpy(tmp_path: Path) -> None:
    classifier = tf.estimator.LinearClassifier([COLUMN], config=config(tmp_path)).train(forever(RIGHT), steps=3)
    results = classifier.evaluate(once(RIGHT))
    found = list(classifier.predict(once(None)))
    p = np.array([f["logistic"][0] for f in found])
    guess = np.array([f["class_ids"][0] for f in found])
    loss = -np.log(np.where(RIGHT == 1, p, 1 - p))
    assert results["accuracy"] == pytest.approx(np.mean(guess == RIGHT))
    assert results["precision"] == pytest.approx(np.mean(RIGHT[guess == 1]))
    assert results["recall"] == pytest.approx(np.mean(guess[RIGHT == 1]))
    assert results["average_loss"] == pytest.approx(np.mean(loss), rel=1e-4)
    batches = [loss[i : i + 64].sum() for i in range(0, 200, 64)]
    assert results["loss"] == pytest.approx(np.mean(batches), rel=1e-4)
    assert results["label/mean"] == pytest.approx(np.mean(RIGHT))
    assert results["prediction/mean"] == pytest.approx(np.mean(p), rel=1e-4)
    assert results["accuracy_baseline"] == pytest.approx(max(np.mean(RIGHT), 1 - np.mean(RIGHT)), rel=1e-5)
    pairs = p[RIGHT == 1][:, None] - p[RIGHT == 0][None, :]
    assert results["auc"] == pytest.approx(np.mean(pairs > 0), abs=0.01)
    assert 0.9 < results["auc_precision_recall"] <= 1.0
    np.testing.assert_allclose([f["probabilities"] for f in found], np.stack([1 - p, p], 1), rtol=1e-4, atol=1e-6)


def test_weights_of_examples(tmp_path: Path) -> None:
    weights = RNG.rand(200).astype(np.float32)
    regressor = tf.estimator.LinearRegressor([COLUMN], weight_column="w", config=config(tmp_path))
    regressor.train(forever(NUMBER, w=weights), steps=2)
    results = regressor.evaluate(once(NUMBER, w=weights))
    predictions = np.concatenate([p["predictions"] for p in regressor.predict(once(None, w=weights))])
    expected = np.average((predictions - NUMBER[:, 0]) ** 2, weights=weights)
    assert results["average_loss"] == pytest.approx(expected, rel=1e-3)


def test_a_head_of_ones_own_choice(tmp_path: Path) -> None:
    head = tf.estimator.BinaryClassHead(thresholds=[0.3])
    model = tf.estimator.DNNEstimator(head, hidden_units=[4], feature_columns=[COLUMN], config=config(tmp_path))
    results = model.train(forever(RIGHT), steps=2).evaluate(once(RIGHT))
    assert {"accuracy/positive_threshold_0.3", "precision/positive_threshold_0.3"} <= set(results)
    head = tf.estimator.RegressionHead(inverse_link_fn=tf.exp)
    linear = tf.estimator.LinearEstimator(head, [COLUMN], config=config(tmp_path / "linear"))
    assert next(linear.predict(once(None)))["predictions"][0] == 1.0


# ---- what is refused


@pytest.mark.parametrize(
    ("build", "says"),
    [
        (
            lambda: tf.estimator.DNNClassifier(8, [COLUMN]),
            "hidden_units must be a list of whole numbers above 0, got 8",
        ),
        (
            lambda: tf.estimator.DNNClassifier([8], [COLUMN], n_classes=1),
            "n_classes must be a whole number of 2 or more",
        ),
        (lambda: tf.estimator.LinearClassifier([COLUMN], label_vocabulary=["a"]), 'does not have "n_classes" items'),
        (lambda: tf.estimator.LinearRegressor([COLUMN], label_dimension=0), "Invalid label_dimension 0"),
        (lambda: tf.estimator.DNNLinearCombinedClassifier(), "linear_feature_columns or dnn_feature_columns must be"),
        (lambda: tf.estimator.DNNEstimator("head", [3], [COLUMN]), "head must be a tf.estimator.Head"),
        (lambda: tf.estimator.LinearRegressor([COLUMN], loss_reduction="most"), "Invalid loss_reduction: 'most'"),
    ],
)
def test_what_models_refuse(build: Any, says: str) -> None:
    with pytest.raises(ValueError, match=says) as raised:
        build()
    assert "test_canned.py" in str(raised.value)


def test_mistakes_that_show_when_the_model_is_built(tmp_path: Path) -> None:
    def train(model: Any, input_fn: Any) -> None:
        model.train(input_fn, steps=1)

    linear = tf.estimator.LinearClassifier
    with pytest.raises(ValueError, match="features should be a dictionary"):
        train(linear([COLUMN], str(tmp_path)), lambda: (tf.constant(X), tf.constant(RIGHT)))
    with pytest.raises(ValueError, match="You must provide a labels Tensor. Given: None"):
        train(linear([COLUMN], str(tmp_path)), lambda: {"x": tf.constant(X)})
    with pytest.raises(ValueError, match="Mismatched label shape"):
        train(linear([COLUMN], str(tmp_path)), lambda: ({"x": tf.constant(X)}, tf.constant(X)))
    with pytest.raises(ValueError, match=r"Unsupported optimizer name: Best. Supported names are: \('Adagrad'"):
        train(linear([COLUMN], str(tmp_path), optimizer="Best"), once(RIGHT))
    with pytest.raises(ValueError, match="not an Optimizer instance. Given: 3"):
        train(linear([COLUMN], str(tmp_path), optimizer=3), once(RIGHT))
    with pytest.raises(ValueError, match=r"weight_column 'w' is not among the features \['x'\]"):
        train(linear([COLUMN], str(tmp_path), weight_column="w"), once(RIGHT))
    with pytest.raises(ValueError, match="labels dtype should be string if there is a vocabulary. Instead got int64"):
        train(linear([COLUMN], str(tmp_path), label_vocabulary=["a", "b"]), once(RIGHT))


def test_labels_out_of_range_stop_the_step(tmp_path: Path) -> None:
    with pytest.raises(tf.errors.InvalidArgumentError, match="Labels must be < n_classes = 2"):
        tf.estimator.LinearClassifier([COLUMN], str(tmp_path)).train(forever(QUARTER), steps=1)


def test_a_binary_head_takes_bool_labels():
    head = tf.estimator.BinaryClassHead()
    logits = tf.constant([[1.0], [-1.0]])
    losses = [head.loss(labels, logits) for labels in (tf.constant([[True], [False]]), tf.constant([[1.0], [0.0]]))]
    with tf.Session() as sess:
        values = sess.run(losses)
        assert values[0] == values[1]
    with pytest.raises(ValueError, match="should be a number"):
        tf.estimator.MultiClassHead(3).loss(tf.constant([[True]]), tf.zeros([1, 3]))
