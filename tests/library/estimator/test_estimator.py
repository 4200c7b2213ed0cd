"""Estimators of a model function of one's own: training, resuming, evaluating, asking, and what is refused."""

import itertools
import os
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import headrace as tf

ModeKeys = tf.estimator.ModeKeys
EstimatorSpec = tf.estimator.EstimatorSpec

X = np.linspace(-1, 1, 10).astype(np.float32)
Y = 3 * X + 1


def line_model(features: Any, labels: Any, mode: str, params: Any) -> EstimatorSpec:
    """``w * x + b``, from zero."""
    w = tf.get_variable("w", [], initializer=tf.zeros_initializer())
    b = tf.get_variable("b", [], initializer=tf.zeros_initializer())
    predictions = w * features["x"] + b
    if mode == ModeKeys.PREDICT:
        return EstimatorSpec(mode, predictions={"y": predictions, "x": features["x"]})
    loss = tf.losses.mean_squared_error(labels, predictions)
    metrics = {"error": tf.metrics.mean_absolute_error(labels, predictions)}
    train_op = tf.train.GradientDescentOptimizer(params.get("rate", 0.1)).minimize(loss, tf.train.get_global_step())
    return EstimatorSpec(mode, predictions, loss, train_op, metrics)


def line(folder: Path, **kwargs: Any) -> tf.estimator.Estimator:
    return tf.estimator.Estimator(line_model, model_dir=str(folder), **kwargs)


def train_input(batch_size: int = 5) -> Any:
    return tf.estimator.inputs.numpy_input_fn({"x": X}, Y, batch_size, num_epochs=None, shuffle=False)


def eval_input(batch_size: int = 4) -> Any:
    return tf.estimator.inputs.numpy_input_fn({"x": X}, Y, batch_size, shuffle=False)


def descent(steps: int, rate: float = 0.1, batch_size: int = 5) -> tuple[float, float]:
    """What the training should find, in numpy."""
    w = b = np.float32(0)
    rows = itertools.cycle(range(len(X)))
    for _ in range(steps):
        chosen = [next(rows) for _ in range(batch_size)]
        error = w * X[chosen] + b - Y[chosen]
        w, b = w - rate * 2 * np.mean(error * X[chosen]), b - rate * 2 * np.mean(error)
    return float(w), float(b)


# ---- training


def test_training_follows_gradient_descent(tmp_path: Path) -> None:
    estimator = line(tmp_path)
    assert estimator.train(train_input(), steps=7) is estimator
    w, b = descent(7)
    assert estimator.get_variable_value("w") == pytest.approx(w, rel=1e-5)
    assert estimator.get_variable_value("b:0") == pytest.approx(b, rel=1e-5)
    assert estimator.get_variable_names() == ["b", "global_step", "w"]
    assert estimator.latest_checkpoint() == str(tmp_path / "model.ckpt-7")


def test_training_resumes_where_it_stopped(tmp_path: Path) -> None:
    line(tmp_path).train(train_input(10), steps=3)
    again = line(tmp_path).train(train_input(10), steps=4)
    assert again.get_variable_value("global_step") == 7
    assert again.get_variable_value("w") == pytest.approx(descent(7, batch_size=10)[0], rel=1e-5)


def test_max_steps_counts_from_the_beginning(tmp_path: Path) -> None:
    estimator = line(tmp_path).train(train_input(), max_steps=3)
    estimator.train(train_input(), max_steps=5)
    assert estimator.get_variable_value("global_step") == 5
    before = os.stat(tmp_path / "model.ckpt-5.index").st_mtime_ns
    estimator.train(train_input(), max_steps=5)
    assert os.stat(tmp_path / "model.ckpt-5.index").st_mtime_ns == before


def test_training_ends_with_the_input(tmp_path: Path) -> None:
    estimator = line(tmp_path).train(eval_input())
    assert estimator.get_variable_value("global_step") == 3


def test_empty_input_is_said_in_the_log(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    def no_input() -> Any:
        x = tf.py_func(lambda: next(iter(())), [], tf.float32)
        x.set_shape([4])
        return {"x": x}, x

    line(tmp_path).train(no_input)
    assert "made no steps" in caplog.text


def test_checkpoints_and_summaries_as_configured(tmp_path: Path) -> None:
    config = tf.estimator.RunConfig(save_checkpoints_steps=2, keep_checkpoint_max=2, save_summary_steps=3)
    estimator = line(tmp_path, config=config).train(train_input(), steps=9)
    state = tf.train.get_checkpoint_state(estimator.model_dir)
    assert [os.path.basename(p) for p in state.all_model_checkpoint_paths] == ["model.ckpt-8", "model.ckpt-9"]
    tf.summary.FileWriterCache.clear()
    (path,) = tmp_path.glob("events*")
    losses = {e.step: v.simple_value for e in tf.train.summary_iterator(str(path)) for v in e.summary.value
              if v.tag == "loss"}  # fmt: skip
    assert sorted(losses) == [1, 4, 7]
    assert losses[1] == pytest.approx(np.mean(Y[:5] ** 2), rel=1e-5)


def test_the_loss_is_logged(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level("INFO", logger="tensorflow")
    config = tf.estimator.RunConfig(log_step_count_steps=1)
    wide = tf.estimator.inputs.numpy_input_fn({"x": X}, Y, 10, num_epochs=None, shuffle=False, queue_capacity=15)
    line(tmp_path, config=config).train(wide, steps=2)
    assert "loss = " in caplog.text
    assert "Loss for final step: " in caplog.text
    assert "CancelledError" not in caplog.text  # the end of the loop is no error of the input


def test_copies_are_asked_for_by_the_configuration(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    line(tmp_path, config=tf.estimator.RunConfig(copies_secs=2.0)).train(train_input(), steps=1)
    assert "No variables are copied: no other process takes part" in caplog.text


def test_the_seed_makes_runs_equal(tmp_path: Path) -> None:
    def model_fn(features: Any, labels: Any, mode: str) -> EstimatorSpec:
        w = tf.get_variable("w", [3])
        loss = tf.reduce_sum(w * features)
        return EstimatorSpec(mode, loss=loss, train_op=tf.assign_add(tf.train.get_global_step(), 1))

    values = []
    for name in ("a", "b"):
        config = tf.estimator.RunConfig(model_dir=str(tmp_path / name), tf_random_seed=3)
        estimator = tf.estimator.Estimator(model_fn, config=config)
        estimator.train(lambda: tf.constant(1.0), steps=1)
        values.append(estimator.get_variable_value("w").tolist())
    assert values[0] == values[1]


def test_hooks_and_listeners_see_the_training(tmp_path: Path) -> None:
    seen: list[Any] = []

    class Hook(tf.train.SessionRunHook):
        def before_run(self, run_context: Any) -> Any:
            return tf.train.SessionRunArgs(tf.train.get_global_step())

        def after_run(self, run_context: Any, run_values: Any) -> None:
            seen.append("step")

        def end(self, session: Any) -> None:
            seen.append("end")

    class Listener(tf.train.CheckpointSaverListener):
        def after_save(self, session: Any, global_step_value: Any) -> None:
            seen.append(("saved", int(global_step_value)))

    line(tmp_path).train(train_input(), hooks=[Hook()], steps=2, saving_listeners=[Listener()])
    assert seen.count("step") == 2
    assert [s for s in seen if s != "step"] in (
        [("saved", 0), "end", ("saved", 2)], [("saved", 0), ("saved", 2), "end"],
    )  # fmt: skip


def test_a_loss_that_is_not_a_number_stops_the_training(tmp_path: Path) -> None:
    with pytest.raises(tf.estimator.NanLossDuringTrainingError):
        line(tmp_path, params={"rate": 1e30}).train(train_input(), steps=20)


def test_warm_start_takes_another_models_variables(tmp_path: Path) -> None:
    line(tmp_path / "old").train(train_input(), steps=7)
    new = line(tmp_path / "new", params={"rate": 0.0}, warm_start_from=str(tmp_path / "old"))
    new.train(train_input(), steps=1)
    assert new.get_variable_value("w") == pytest.approx(descent(7)[0], rel=1e-5)
    assert new.get_variable_value("global_step") == 1
    settings = tf.estimator.WarmStartSettings(str(tmp_path / "old"), "w", var_name_to_prev_var_name={"w": "b"})
    other = line(tmp_path / "other", params={"rate": 0.0}, warm_start_from=settings).train(train_input(), steps=1)
    assert other.get_variable_value("w") == pytest.approx(descent(7)[1], rel=1e-5)
    assert other.get_variable_value("b") == 0.0


# ---- evaluating


def test_evaluation_is_the_mean_over_batches(tmp_path: Path) -> None:
    estimator = line(tmp_path).train(train_input(), steps=5)
    w, b = descent(5)
    results = estimator.evaluate(eval_input())
    errors = w * X + b - Y
    batches = [errors[0:4], errors[4:8], errors[8:10]]
    assert results["error"] == pytest.approx(np.mean(np.abs(errors)), rel=1e-4)
    assert results["loss"] == pytest.approx(np.mean([np.mean(e**2) for e in batches]), rel=1e-4)
    assert results["global_step"] == 5
    one = estimator.evaluate(eval_input(), steps=1)
    assert one["error"] == pytest.approx(np.mean(np.abs(errors[:4])), rel=1e-4)


def test_evaluations_are_summaries_in_a_folder_of_their_own(tmp_path: Path) -> None:
    estimator = line(tmp_path).train(train_input(), steps=1)
    results = estimator.evaluate(eval_input())
    estimator.evaluate(eval_input(), name="again")
    tf.summary.FileWriterCache.clear()
    assert estimator.eval_dir() == str(tmp_path / "eval")
    (path,) = Path(estimator.eval_dir()).glob("events*")
    written = {v.tag: (e.step, v.simple_value) for e in tf.train.summary_iterator(str(path)) for v in e.summary.value}
    assert written == {name: (1, pytest.approx(results[name])) for name in ("error", "loss")}
    assert list(Path(estimator.eval_dir("again")).glob("events*"))


def test_an_older_checkpoint_can_be_evaluated(tmp_path: Path) -> None:
    estimator = line(tmp_path, config=tf.estimator.RunConfig(save_checkpoints_steps=2)).train(train_input(), steps=4)
    assert estimator.evaluate(eval_input(), checkpoint_path=str(tmp_path / "model.ckpt-2"))["global_step"] == 2


def test_an_untrained_model_is_initialised(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    results = line(tmp_path).evaluate(eval_input(10))
    assert results["loss"] == pytest.approx(np.mean(Y**2), rel=1e-5)
    assert "Could not find trained model" in caplog.text
    with pytest.raises(ValueError, match="could not find trained model in model_dir"):
        line(tmp_path).get_variable_names()


def test_add_metrics(tmp_path: Path) -> None:
    def more(labels: Any, predictions: Any, features: Any) -> Any:
        return {"mean_x": tf.metrics.mean(features["x"]), "mean_y": tf.metrics.mean(labels + 0 * predictions)}

    results = tf.estimator.add_metrics(line(tmp_path), more).evaluate(eval_input())
    assert results["mean_x"] == pytest.approx(np.mean(X), abs=1e-6)
    assert results["mean_y"] == pytest.approx(np.mean(Y), rel=1e-5)
    assert "error" in results
    with pytest.raises(ValueError, match=r"not expected args: \['what'\]"):
        tf.estimator.add_metrics(line(tmp_path), lambda what: {})


# ---- asking


def test_predictions_come_one_by_one_or_in_batches(tmp_path: Path) -> None:
    estimator = line(tmp_path).train(train_input(), steps=5)
    w, b = descent(5)
    ask = tf.estimator.inputs.numpy_input_fn({"x": X}, batch_size=4, shuffle=False)
    singles = list(estimator.predict(ask))
    np.testing.assert_allclose([p["y"] for p in singles], w * X + b, rtol=1e-4)
    assert set(singles[0]) == {"x", "y"}
    batches = list(estimator.predict(ask, predict_keys=["y"], yield_single_examples=False))
    assert [(sorted(batch), len(batch["y"])) for batch in batches] == [(["y"], 4), (["y"], 4), (["y"], 2)]
    only = next(iter(estimator.predict(ask, predict_keys="x")))
    assert list(only) == ["x"]


def test_between_predictions_the_callers_graph_is_the_default(tmp_path: Path) -> None:
    mine = tf.get_default_graph()
    predictions = line(tmp_path).predict(eval_input())
    next(predictions)
    assert tf.get_default_graph() is mine
    predictions.close()


def test_predictions_that_do_not_split(tmp_path: Path) -> None:
    def model_fn(features: Any, mode: str) -> EstimatorSpec:
        return EstimatorSpec(mode, predictions={"a": features, "b": features[1:], "c": tf.constant(1.0)})

    def one() -> Any:
        return tf.estimator.inputs.numpy_input_fn(X, batch_size=10, shuffle=False)()

    estimator = tf.estimator.Estimator(model_fn, str(tmp_path))
    with pytest.raises(
        ValueError, match=r"Batch length of predictions should be same.*'a': 10, 'b': 9.*test_estimator"
    ):
        list(estimator.predict(one, predict_keys=["a", "b"]))
    with pytest.raises(ValueError, match="'c' has no batch dimension"):
        list(estimator.predict(one, predict_keys=["c"]))
    (batch,) = estimator.predict(one, yield_single_examples=False)
    assert batch["c"] == 1.0
    with pytest.raises(ValueError, match=r"at least one output from \['a', 'b', 'c'\], provided predict_keys=\['z'\]"):
        list(estimator.predict(one, predict_keys=["z"]))


def test_predictions_of_one_tensor(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    def model_fn(features: Any, mode: str) -> EstimatorSpec:
        return EstimatorSpec(mode, predictions=features * 2)

    estimator = tf.estimator.Estimator(model_fn, str(tmp_path))
    ask = tf.estimator.inputs.numpy_input_fn(X, shuffle=False)
    np.testing.assert_allclose(list(estimator.predict(ask)), X * 2)
    with pytest.raises(ValueError, match="predict_keys argument is not valid in case of non-dict predictions"):
        list(estimator.predict(ask, predict_keys=["y"]))
    assert "predict yields forever" not in caplog.text
    endless = estimator.predict(lambda: tf.constant([1.0, 2.0]))
    assert list(itertools.islice(endless, 5)) == [2.0, 4.0, 2.0, 4.0, 2.0]
    endless.close()
    assert "predict yields forever" in caplog.text


# ---- functions of the user


def test_model_functions_name_what_they_want(tmp_path: Path) -> None:
    calls = []

    def only_features(features: Any) -> EstimatorSpec:
        calls.append("features")
        return EstimatorSpec(ModeKeys.PREDICT, predictions=features)

    def everything(features: Any, labels: Any, mode: str, params: Any, config: Any) -> EstimatorSpec:
        calls.append((mode, params, config.model_dir, labels))
        return EstimatorSpec(mode, predictions=features)

    ask = tf.estimator.inputs.numpy_input_fn(X, shuffle=False)
    list(tf.estimator.Estimator(only_features, str(tmp_path)).predict(ask))
    list(tf.estimator.Estimator(everything, str(tmp_path), params={"a": 1}).predict(ask))
    assert calls == ["features", ("infer", {"a": 1}, str(tmp_path), None)]


def test_input_functions_name_what_they_want(tmp_path: Path) -> None:
    calls = []

    def input_fn(mode: str, params: Any) -> Any:
        calls.append((mode, params))
        return {"x": tf.constant(X)}, tf.constant(Y)

    line(tmp_path, params={"rate": 0.1}).evaluate(input_fn, steps=1)
    assert calls == [("eval", {"rate": 0.1})]


@pytest.mark.parametrize(
    ("model_fn", "kwargs", "says"),
    [
        (None, {}, "model_fn must be provided to Estimator"),
        (lambda labels, mode: None, {}, "must include features argument"),
        (lambda features, what: None, {}, r"not expected args: \['what'\]"),
        (lambda features: None, {"params": {"a": 1}}, "does not include params argument"),
        (line_model, {"config": "fast"}, "config must be an instance of `RunConfig`"),
        (line_model, {"warm_start_from": 3}, "warm_start_from must be a path or"),
        (line_model, {"model_dir": "a", "config": tf.estimator.RunConfig("b")}, "'a', in `RunConfig`: 'b'"),
    ],
)
def test_what_estimators_refuse(model_fn: Any, kwargs: Any, says: str) -> None:
    with pytest.raises(ValueError, match=says) as raised:
        tf.estimator.Estimator(model_fn, **kwargs)
    assert "test_estimator.py" in str(raised.value)


@pytest.mark.parametrize(
    ("result", "error", "says"),
    [
        (None, ValueError, "model_fn should return an EstimatorSpec: .*returned None"),
        ({"loss": 1}, ValueError, "of type dict for mode 'train'"),
        ("other mode", ValueError, "called for mode 'train' and returned an EstimatorSpec with mode 'eval'"),
    ],
)
def test_bad_results_of_model_functions(tmp_path: Path, result: Any, error: type[Exception], says: str) -> None:
    def model_fn(features: Any, labels: Any, mode: str) -> Any:
        return EstimatorSpec("eval", loss=tf.constant(1.0)) if result == "other mode" else result

    with pytest.raises(error, match=says) as raised:
        tf.estimator.Estimator(model_fn, str(tmp_path)).train(train_input(), steps=1)
    assert "test_estimator.py" in str(raised.value)


@pytest.mark.parametrize(
    ("input_fn", "error", "says"),
    [
        (3, TypeError, "input_fn must be a function.*got 3"),
        (lambda: None, ValueError, "returned None: does it return its features"),
        (lambda: (1.0, 2.0, 3.0), ValueError, "len 2 tuple.*returned 3 values"),
        (lambda: iter([1.0]), TypeError, "of type list_iterator. Accepted are tensors"),
        (lambda: ({"x": tf.constant(X)}, object()), TypeError, "labels that hold"),
    ],
)
def test_bad_input_functions(tmp_path: Path, input_fn: Any, error: type[Exception], says: str) -> None:
    with pytest.raises(error, match=says) as raised:
        line(tmp_path).train(input_fn, steps=1)
    assert "test_estimator.py" in str(raised.value)


def test_labels_for_a_model_without_them(tmp_path: Path) -> None:
    def model_fn(features: Any, mode: str) -> EstimatorSpec:
        return EstimatorSpec(mode, loss=tf.reduce_sum(features["x"]))

    with pytest.raises(ValueError, match="does not take labels, but input_fn returns labels"):
        tf.estimator.Estimator(model_fn, str(tmp_path)).evaluate(eval_input())


@pytest.mark.parametrize(
    ("kwargs", "says"),
    [
        ({"steps": 0}, "Must specify steps > 0.*given: 0"),
        ({"max_steps": -1}, "Must specify max_steps > 0.*given: -1"),
        ({"steps": 1, "max_steps": 2}, "Can not provide both steps and max_steps"),
    ],
)
def test_steps_that_make_no_sense(tmp_path: Path, kwargs: Any, says: str) -> None:
    with pytest.raises(ValueError, match=says):
        line(tmp_path).train(train_input(), **kwargs)


def test_hooks_must_be_hooks(tmp_path: Path) -> None:
    with pytest.raises(TypeError, match="All hooks must be SessionRunHook instances, given: 3"):
        line(tmp_path).train(train_input(), hooks=[3])
    with pytest.raises(TypeError, match="saving_listeners must be a list of CheckpointSaverListener"):
        line(tmp_path).train(train_input(), saving_listeners=[3])
    config = tf.estimator.RunConfig(save_checkpoints_steps=None, save_checkpoints_secs=None)
    with pytest.raises(ValueError, match="There should be a CheckpointSaverHook to use saving_listeners"):
        line(tmp_path, config=config).train(train_input(), saving_listeners=[tf.train.CheckpointSaverListener()])


def test_subclasses_may_not_change_what_estimators_do() -> None:
    class Mine(tf.estimator.Estimator):
        def predict(self, input_fn: Any) -> Any:  # type: ignore[override]
            return None

    with pytest.raises(ValueError, match=r"Mine does override \['predict'\]"):
        Mine(line_model)


def test_a_temporary_folder_is_made(caplog: pytest.LogCaptureFixture) -> None:
    estimator = tf.estimator.Estimator(line_model)
    assert os.path.isdir(estimator.model_dir)
    os.rmdir(estimator.model_dir)
    assert "temporary folder" in caplog.text


def test_params_are_copied(tmp_path: Path) -> None:
    params = {"list": [1]}
    estimator = line(tmp_path, params=params)
    params["list"].append(2)
    estimator.params["list"].append(3)
    assert estimator.params == {"list": [1]}


# ---- datasets


def dataset_input(epochs: int | None = None, batch_size: int = 5) -> Any:
    def input_fn() -> Any:
        rows = tf.data.Dataset.from_tensor_slices(({"x": X}, Y))
        return rows.repeat(epochs).batch(batch_size)

    return input_fn


def test_input_functions_may_return_datasets(tmp_path: Path) -> None:
    estimator = line(tmp_path).train(dataset_input(), steps=20)
    np.testing.assert_allclose(estimator.get_variable_value("w"), descent(20)[0], rtol=1e-4)
    plain = line(tmp_path).evaluate(eval_input(batch_size=5))
    assert estimator.evaluate(dataset_input(epochs=1)) == pytest.approx(plain)
    given = list(estimator.predict(dataset_input(epochs=1, batch_size=4)))
    np.testing.assert_array_equal([p["x"] for p in given], X)
    estimator.train(dataset_input(epochs=1))  # ends with the dataset
    assert estimator.get_variable_value("global_step") == 22


def test_a_dataset_may_use_variables_and_tables(tmp_path: Path) -> None:
    def input_fn() -> Any:
        table = tf.contrib.lookup.index_table_from_tensor(["a", "b"])
        words = tf.data.Dataset.from_tensor_slices(["b", "a", "?"])
        return words.map(lambda word: {"x": tf.to_float(table.lookup(word))}).batch(3)

    (batch,) = line(tmp_path).predict(input_fn, yield_single_examples=False)
    assert batch["x"].tolist() == [1.0, 0.0, -1.0]


@pytest.mark.parametrize("first_steps", [3, 7])
def test_a_resumed_training_goes_on_with_the_next_element(tmp_path: Path, first_steps: int) -> None:
    seen: list[float] = []

    class Watch(tf.train.SessionRunHook):
        def before_run(self, run_context: Any) -> Any:
            return tf.train.SessionRunArgs("element:0")

        def after_run(self, run_context: Any, run_values: Any) -> None:
            seen.extend(run_values.results.tolist())

    def input_fn() -> Any:
        rows = tf.data.Dataset.from_tensor_slices((X, Y)).shuffle(6, seed=1).repeat(4).batch(2).prefetch(2)
        return rows.map(lambda x, y: ({"x": x}, y))

    def model(features: Any, labels: Any, mode: str, params: Any) -> EstimatorSpec:
        tf.identity(features["x"], "element")
        return line_model(features, labels, mode, params)

    def run(folder: Path, *steps: int) -> list[float]:
        seen.clear()
        for count in steps:
            estimator = tf.estimator.Estimator(model, model_dir=str(folder))
            hook = tf.data.experimental.CheckpointInputPipelineHook(estimator)
            estimator.train(input_fn, hooks=[hook, Watch()], steps=count)
        return list(seen)

    whole = run(tmp_path / "whole", 12)
    assert run(tmp_path / "parts", first_steps, 12 - first_steps) == whole
    assert tf.train.latest_checkpoint(str(tmp_path / "parts"), "checkpoint_input").endswith("input.ckpt-12")
    assert tf.train.latest_checkpoint(str(tmp_path / "parts")).endswith("model.ckpt-12")
