"""Hooks that end a training early, features among predictions, clipped gradients."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import headrace as tf

estimators = tf.contrib.estimator
early = tf.estimator.experimental


def _input_fn() -> tf.data.Dataset:
    return tf.data.Dataset.from_tensors(({"x": [[1.0], [2.0]]}, [[3.0], [5.0]])).repeat()


def _estimator(folder: Path, **config: Any) -> tf.estimator.Estimator:
    columns = [tf.feature_column.numeric_column("x")]
    config = tf.estimator.RunConfig(log_step_count_steps=None, save_summary_steps=None, **config)
    return tf.estimator.LinearRegressor(columns, model_dir=str(folder), config=config)


def _steps(estimator: tf.estimator.Estimator) -> int:
    return int(estimator.get_variable_value("global_step"))


def _write(folder: Path, values: dict[int, float]) -> str:
    for part in (dict(list(values.items())[:2]), dict(list(values.items())[2:])):
        with tf.summary.FileWriter(str(folder)) as writer:
            for step, value in part.items():
                writer.add_summary(tf.Summary(value=[tf.Summary.Value(tag="accuracy", simple_value=value)]), step)
    return str(folder)


def test_metrics_of_several_files(tmp_path: Path) -> None:
    folder = _write(tmp_path, {20: 0.5, 30: 0.25, 10: 0.75})
    (tmp_path / "other").write_text("no events")
    assert estimators.read_eval_metrics(folder) == {
        10: {"accuracy": 0.75},
        20: {"accuracy": 0.5},
        30: {"accuracy": 0.25},
    }
    assert list(estimators.read_eval_metrics(folder)) == [10, 20, 30]


def test_a_function_ends_the_training(tmp_path: Path) -> None:
    estimator = _estimator(tmp_path / "model")
    calls: list[int] = []
    hook = early.make_early_stopping_hook(
        estimator, lambda: calls.append(1) or len(calls) == 3, None, run_every_steps=2
    )
    estimator.train(_input_fn, hooks=[hook], max_steps=50)
    assert _steps(estimator) == 5
    assert estimator.get_variable_value("signal_early_stopping/STOP")
    again = early.make_early_stopping_hook(estimator, lambda: False, None, run_every_steps=1)
    estimator.train(_input_fn, hooks=[again], steps=2)
    assert _steps(estimator) == 7


HOOKS = {
    "higher": (lambda e, d: early.stop_if_higher_hook(e, "accuracy", 0.7, d, 0, None, 1), True),
    "not higher": (lambda e, d: early.stop_if_higher_hook(e, "accuracy", 0.9, d, 0, None, 1), False),
    "later": (lambda e, d: early.stop_if_higher_hook(e, "accuracy", 0.7, d, 35, None, 1), False),
    "lower": (lambda e, d: early.stop_if_lower_hook(e, "accuracy", 0.55, d, 0, None, 1), True),
    "not lower": (lambda e, d: early.stop_if_lower_hook(e, "accuracy", 0.5, d, 0, None, 1), False),
    "no increase": (lambda e, d: early.stop_if_no_increase_hook(e, "accuracy", 20, d, 0, None, 1), True),
    "increase soon": (lambda e, d: early.stop_if_no_increase_hook(e, "accuracy", 21, d, 0, None, 1), False),
    "no decrease": (lambda e, d: early.stop_if_no_decrease_hook(e, "accuracy", 30, d, 0, None, 1), True),
    "decrease soon": (lambda e, d: early.stop_if_no_decrease_hook(e, "accuracy", 31, d, 0, None, 1), False),
}  # fmt: skip


def test_metrics_end_the_training(tmp_path: Path) -> None:
    folder = _write(tmp_path / "eval", {10: 0.5, 20: 0.75, 30: 0.625, 40: 0.6875})
    estimator = _estimator(tmp_path / "model")
    for name, (make, stops) in HOOKS.items():
        assert make(estimator, folder)._should_stop_fn() == stops, name
    estimator.train(_input_fn, hooks=[HOOKS["higher"][0](estimator, folder)], steps=5)
    assert _steps(estimator) == 1
    with pytest.raises(KeyError, match="has no metric 'loss'; it has"):
        early.stop_if_lower_hook(estimator, "loss", 0.0, folder)._should_stop_fn()


def test_other_workers_hear_of_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    estimator = _estimator(tmp_path)
    monkeypatch.setattr(type(estimator.config), "is_chief", property(lambda self: False))
    hook = early.make_early_stopping_hook(estimator, lambda: True)
    hook.begin()
    (stop,) = tf.global_variables()
    chief = tf.assign(stop, True)
    assert stop.op.name == "signal_early_stopping/STOP" and tf.trainable_variables() == []
    monkeypatch.setattr(hook, "begin", lambda: None)  # a second one would find the graph finished
    one = tf.constant(1)
    with tf.train.MonitoredSession(hooks=[hook]) as sess:
        sess.run(one)
        assert not sess.should_stop()
        sess.run(chief)
        sess.run(one)
        assert sess.should_stop()


def test_what_is_refused(tmp_path: Path) -> None:
    estimator = _estimator(tmp_path)
    with pytest.raises(TypeError, match=r"must have type `tf.estimator.Estimator`"):
        early.make_early_stopping_hook(3, lambda: True)
    with pytest.raises(ValueError, match="Only one of"):
        early.make_early_stopping_hook(estimator, lambda: True, 60, 1)
    with pytest.raises(TypeError, match="must be callable"):
        early.make_early_stopping_hook(estimator, 3)


def test_features_among_predictions(tmp_path: Path) -> None:
    plain = _estimator(tmp_path)
    plain.train(_input_fn, steps=1)
    data = tf.estimator.inputs.numpy_input_fn({"x": np.array([[1.0], [2.0]]), "key": np.array([7, 8])}, shuffle=False)
    rows = list(estimators.forward_features(plain, "key").predict(data))
    assert [row["key"] for row in rows] == [7, 8] and "predictions" in rows[0] and "x" not in rows[0]
    assert set(next(estimators.forward_features(plain).predict(data))) == {"predictions", "key", "x"}
    with pytest.raises(ValueError, match="there is no 'zork'"):
        next(estimators.forward_features(plain, ["zork"]).predict(data))
    with pytest.raises(ValueError, match="name or a list of names"):
        estimators.forward_features(plain, [1])


def test_clipped_gradients() -> None:
    v, w = tf.Variable([0.0, 0.0]), tf.Variable(0.0)
    loss = tf.reduce_sum(tf.constant([2.0, 1.0]) * v) + 2.0 * w
    optimizer = estimators.clip_gradients_by_norm(tf.train.MomentumOptimizer(1.0, 0.5), 1.5)
    train = optimizer.minimize(loss)
    assert optimizer.get_slot_names() == ["momentum"] and len(optimizer.variables()) == 2
    with tf.Session() as sess:
        sess.run(tf.global_variables_initializer())
        sess.run(train)
        np.testing.assert_allclose(sess.run(v), [-1.0, -0.5], rtol=1e-6)
        assert sess.run(w) == -1.0
    with pytest.raises(TypeError, match="must be a tf.train.Optimizer"):
        estimators.clip_gradients_by_norm(3, 1.0)
