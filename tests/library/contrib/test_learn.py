"""contrib.learn: the older estimators, experiments, columns of numbers and files of values."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import headrace as tf

learn = tf.contrib.learn

X = np.random.RandomState(3).randn(120, 2).astype(np.float32)
Y = (X[:, 0] + X[:, 1] > 0).astype(np.int64)
NUMBER = X @ np.float32([2.0, -1.0]) + 1


@pytest.fixture(autouse=True)
def event_files_closed(nothing_leaks: None, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Closes the writers that training and evaluation keep open for the next call."""
    monkeypatch.delenv("TF_CONFIG", raising=False)
    yield
    tf.summary.FileWriterCache.clear()


# ---- ready-made models


@pytest.mark.parametrize("kind", ["linear", "deep"])
def test_classifiers_of_arrays(tmp_path: Path, kind: str) -> None:
    columns = learn.infer_real_valued_columns_from_input(X)
    config = learn.RunConfig(tf_random_seed=1)
    if kind == "linear":
        classifier: Any = learn.LinearClassifier(columns, model_dir=str(tmp_path), config=config)
    else:
        classifier = learn.DNNClassifier([8], columns, str(tmp_path), n_classes=2, config=config)
    assert classifier.fit(X, Y, steps=100, batch_size=30) is classifier
    assert classifier.evaluate(X, Y)["accuracy"] > 0.9
    classes = list(classifier.predict(X))
    assert np.mean(np.array(classes) == Y) > 0.9
    np.testing.assert_array_equal(classifier.predict_classes(X, as_iterable=False), classes)
    probabilities = classifier.predict_proba(X, as_iterable=False)
    assert probabilities.shape == (120, 2)
    np.testing.assert_array_equal(probabilities.argmax(1), classes)
    first = next(classifier.predict(X, outputs=["probabilities"]))
    np.testing.assert_array_equal(first["probabilities"], probabilities[0])
    classifier.partial_fit(X, Y)
    assert classifier.get_variable_value("global_step") == 101


def test_classes_with_names_and_columns_by_name(tmp_path: Path) -> None:
    column = tf.contrib.layers.real_valued_column("x", dimension=2)
    classifier = learn.LinearClassifier([column], model_dir=str(tmp_path), label_keys=["no", "yes"])
    labels = np.where(Y, "yes", "no")
    classifier.fit({"x": X}, labels, steps=50)
    assert set(classifier.predict({"x": X})) == {b"no", b"yes"}


@pytest.mark.parametrize("kind", ["linear", "deep"])
def test_regressors_of_input_functions(tmp_path: Path, kind: str) -> None:
    column = tf.contrib.layers.real_valued_column("", dimension=2)
    optimizer = tf.train.AdamOptimizer(0.1)
    if kind == "linear":
        regressor: Any = learn.LinearRegressor([column], str(tmp_path), optimizer=optimizer)
    else:
        regressor = learn.DNNRegressor([8], [column], str(tmp_path), optimizer=optimizer)
    regressor.fit(input_fn=lambda: (tf.constant(X), tf.constant(NUMBER)), steps=150)
    assert regressor.evaluate(X, NUMBER, batch_size=60)["loss"] < 0.1
    scores = regressor.predict(X, as_iterable=False)
    assert scores.shape == (120,)
    assert np.mean((scores - NUMBER) ** 2) < 0.1


def test_columns_from_an_input_function() -> None:
    (column,) = learn.infer_real_valued_columns_from_input_fn(lambda: (tf.zeros([5, 3]), None))
    assert column.shape == (3,)
    named = learn.infer_real_valued_columns_from_input({"b": X, "a": Y})
    assert [(c.key, c.shape) for c in named] == [("a", (1,)), ("b", (2,))]
    with pytest.raises(ValueError, match=r"'features' has dtype string.*test_learn.py"):
        learn.infer_real_valued_columns_from_input(np.array(["a"]))


# ---- model functions


def line_model(features: Any, targets: Any, mode: str, params: Any) -> Any:
    w = tf.get_variable("w", [2], initializer=tf.zeros_initializer())
    predictions = tf.reduce_sum(features * w, 1)
    if mode == learn.ModeKeys.INFER:
        return predictions, None, None
    loss = tf.losses.mean_squared_error(targets, predictions)
    train_op = tf.contrib.layers.optimize_loss(loss, tf.train.get_global_step(), params["rate"], "SGD")
    return predictions, loss, train_op


def test_a_model_function_that_returns_a_tuple(tmp_path: Path) -> None:
    estimator = learn.Estimator(line_model, str(tmp_path), params={"rate": 0.1})
    estimator.fit(X, NUMBER - 1, steps=100)
    np.testing.assert_allclose(estimator.get_variable_value("w"), [2.0, -1.0], atol=0.05)
    results = estimator.evaluate(X, NUMBER - 1, metrics={"error": tf.contrib.metrics.streaming_mean_absolute_error})
    assert results["error"] < 0.1
    assert results["global_step"] == 100
    np.testing.assert_allclose(list(estimator.predict(X)), NUMBER - 1, atol=0.2)


def test_model_fn_ops_and_metric_specs(tmp_path: Path) -> None:
    def model_fn(features: Any, labels: Any, mode: str, params: Any, config: Any, model_dir: Any) -> Any:
        assert model_dir == str(tmp_path)
        w = tf.get_variable("w", [], initializer=tf.ones_initializer())
        predictions = {"a": features["x"] * w, "b": features["x"] * 2}
        loss = None if labels is None else tf.reduce_mean(predictions["a"])
        train_op = tf.assign_add(tf.train.get_global_step(), 1)
        return learn.ModelFnOps(mode, predictions, loss, train_op)

    estimator = learn.Estimator(model_fn, str(tmp_path))
    x = {"x": np.arange(4, dtype=np.float32)}
    spec = learn.MetricSpec(tf.contrib.metrics.streaming_mean_absolute_error, prediction_key="b")
    labels = np.arange(4, dtype=np.float32)
    assert estimator.fit(x, labels, steps=1).evaluate(x, labels, metrics={"m": spec})["m"] == 1.5
    joined = estimator.predict(x, batch_size=3, as_iterable=False)
    np.testing.assert_array_equal(joined["b"], [0, 2, 4, 6])
    with pytest.raises(ValueError, match=r"without a key for predictions, which are \['a', 'b'\]"):
        estimator.evaluate(x, labels, metrics={"m": tf.contrib.metrics.streaming_mean_absolute_error})


def test_methods_of_scikit_learn(tmp_path: Path) -> None:
    model = learn.SKCompat(learn.Estimator(line_model, str(tmp_path), params={"rate": 0.1}))
    model.fit(X, NUMBER - 1, steps=100)
    assert model.score(X, NUMBER - 1)["loss"] < 0.1
    np.testing.assert_allclose(model.predict(X), NUMBER - 1, atol=0.2)


def test_what_estimators_refuse(tmp_path: Path) -> None:
    estimator = learn.Estimator(line_model, str(tmp_path), params={})
    with pytest.raises(ValueError, match=r"Can not provide both input_fn and x or y.*test_learn.py"):
        estimator.fit(X, Y, input_fn=lambda: None)
    with pytest.raises(ValueError, match=r"Either x or input_fn must be provided.*test_learn.py"):
        estimator.fit(steps=1)
    with pytest.raises(ValueError, match="Unrecognized value returned by model_fn.*: 3"):
        learn.Estimator(lambda features, labels: 3, str(tmp_path)).fit(X, Y, steps=1)
    with pytest.raises(NotImplementedError, match="gradient_clip_norm=5.0 is not supported"):
        learn.LinearClassifier([], gradient_clip_norm=5.0)
    with pytest.raises(ValueError, match="model_fn must be a function"):
        learn.Estimator()


# ---- experiments


def experiment(run_config: Any, hparams: Any) -> Any:
    columns = [tf.feature_column.numeric_column("x", shape=[2])]
    return learn.Experiment(
        tf.estimator.LinearRegressor(columns, config=run_config),
        train_input_fn=tf.estimator.inputs.numpy_input_fn({"x": X}, NUMBER, num_epochs=None, shuffle=True),
        eval_input_fn=tf.estimator.inputs.numpy_input_fn({"x": X}, NUMBER, shuffle=False),
        train_steps=hparams, eval_steps=None,
    )  # fmt: skip


def test_an_experiment_by_the_runner(tmp_path: Path) -> None:
    config = learn.RunConfig(model_dir=str(tmp_path), save_checkpoints_steps=4, gpu_memory_fraction=0.5)
    results, exports = learn.learn_runner.run(experiment, run_config=config, hparams=10)
    assert (results["global_step"], exports) == (10, [])
    tf.summary.FileWriterCache.clear()
    (path,) = (tmp_path / "eval").glob("events*")
    assert [e.step for e in tf.train.summary_iterator(str(path)) if e.summary.value] == [4, 8, 10]
    again = learn.learn_runner.run(experiment, run_config=config, hparams=12, schedule="train")
    assert again.get_variable_value("global_step") == 12
    assert learn.learn_runner.run(experiment, schedule="evaluate", run_config=config)["global_step"] == 12


def test_an_experiment_with_an_older_estimator(tmp_path: Path) -> None:
    def experiment_fn(output_dir: str) -> Any:
        return learn.Experiment(
            learn.Estimator(line_model, output_dir, params={"rate": 0.1}),
            lambda: (tf.constant(X), tf.constant(NUMBER)), lambda: (tf.constant(X), tf.constant(NUMBER)),
            {"error": learn.MetricSpec(tf.contrib.metrics.streaming_mean_absolute_error)}, train_steps=5, eval_steps=1,
        )  # fmt: skip

    results, _ = learn.learn_runner.run(experiment_fn, str(tmp_path))
    assert results["global_step"] == 5
    assert "error" in results
    assert experiment_fn(str(tmp_path / "new")).test()[0]["global_step"] == 1


def test_an_experiment_with_an_older_model_names_its_features(tmp_path: Path) -> None:
    columns = learn.infer_real_valued_columns_from_input(X)
    model = learn.LinearClassifier(columns, model_dir=str(tmp_path))
    both = [lambda: (tf.constant(X), tf.constant(Y))] * 2
    assert learn.Experiment(model, *both).test()[0]["global_step"] == 1
    assert learn.Experiment(model, *both, train_steps=3, eval_steps=1).train_and_evaluate()[0]["global_step"] == 3


def test_what_the_runner_refuses(tmp_path: Path) -> None:
    config = learn.RunConfig(model_dir=str(tmp_path))
    with pytest.raises(ValueError, match="Cannot provide both `output_dir` and `run_config`"):
        learn.learn_runner.run(experiment, "a", run_config=config)
    with pytest.raises(ValueError, match="Must set value for `output_dir` or `run_config`"):
        learn.learn_runner.run(experiment)
    with pytest.raises(TypeError, match="did not return an Experiment instance, got 3"):
        learn.learn_runner.run(lambda output_dir: 3, "a")
    with pytest.raises(ValueError, match="non-existent task 'sleep'; schedules are"):
        learn.learn_runner.run(experiment, schedule="sleep", run_config=config, hparams=1)
    with pytest.raises(ValueError, match="Must specify a model directory"):
        learn.learn_runner.run(experiment, run_config=learn.RunConfig())
    with pytest.raises(ValueError, match="`estimator` must implement"):
        learn.Experiment(3, None, None)


def test_the_older_run_config() -> None:
    config = learn.RunConfig(master="", num_cores=3, save_checkpoints_steps=7)
    assert (config.save_checkpoints_steps, config.save_checkpoints_secs) == (7, None)
    assert config.tf_config.intra_op_parallelism_threads == 3
    assert config.tf_config.gpu_options.per_process_gpu_memory_fraction == 1.0
    assert isinstance(config.replace(model_dir="/a"), learn.RunConfig)


# ---- files


def test_files_of_values(tmp_path: Path) -> None:
    path = tmp_path / "iris.csv"
    path.write_text("2,3,a,b\n1.0,2.5,3,0\n4,5,6,1\n")
    data = learn.datasets.base.load_csv_with_header(str(path), np.int64, np.float32)
    np.testing.assert_array_equal(data.data, [[1.0, 2.5, 3.0], [4.0, 5.0, 6.0]])
    assert (data.data.dtype, data.target.tolist()) == (np.float32, [0, 1])
    path.write_text("x,1\ny,2\n")
    data = learn.datasets.base.load_csv_without_header(str(path), "U4", np.int32, target_column=0)
    assert (data.data.tolist(), data.target.tolist()) == ([[1], [2]], ["x", "y"])


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("", "is empty"),
        ("a,b\n", "must begin with the numbers of examples and features, got \\['a', 'b'\\]"),
        ("3,1\n1,2\n", "says 3 examples, but 1 follow"),
        ("1,5\n1,2\n", "says 5 features, but rows have 1"),
        ("2,1\n1,2\n1\n", "example 2 has 1 fields, the first one 2"),
    ],
)
def test_files_that_are_wrong(tmp_path: Path, text: str, says: str) -> None:
    path = tmp_path / "data.csv"
    path.write_text(text)
    with pytest.raises(ValueError, match=says):
        learn.datasets.base.load_csv_with_header(str(path), np.int64, np.float32)


class TestSavedVocabulary:
    def test_it_comes_back(self, tmp_path):
        learn = tf.contrib.learn.preprocessing
        processor = learn.VocabularyProcessor(4, min_frequency=1)
        rows = np.stack(list(processor.fit_transform(["to be or not", "not to bé"])))
        processor.save(str(tmp_path / "vocabulary"))
        again = learn.VocabularyProcessor.restore(str(tmp_path / "vocabulary"))
        np.testing.assert_array_equal(np.stack(list(again.transform(["to be or not", "not to bé"]))), rows)
        assert (again.max_document_length, again.min_frequency, len(again.vocabulary_)) == (4, 1, 3)
        assert again.vocabulary_.get("new") == 0 and list(again.reverse([[1]])) == list(processor.reverse([[1]]))

    @pytest.mark.parametrize(
        "data",
        [
            b"\x80\x03ccopy_reg\n",
            b"{}",
            b"[1]",
            b'{"form": "headrace vocabulary 1", "max_document_length": 1}',
            b"{" * 5000,
        ],
    )
    def test_other_files_are_refused(self, tmp_path, data):
        (tmp_path / "file").write_bytes(data)
        with pytest.raises(ValueError, match="pickles, which are not read"):
            tf.contrib.learn.preprocessing.VocabularyProcessor.restore(str(tmp_path / "file"))

    def test_what_a_file_cannot_hold(self, tmp_path):
        processor = tf.contrib.learn.preprocessing.VocabularyProcessor(
            2, tokenizer_fn=lambda texts: ([t] for t in texts)
        )
        with pytest.raises(ValueError, match="can be saved"):
            processor.save(str(tmp_path / "file"))
