"""train_and_evaluate: when it evaluates, what it exports, what it returns."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import headrace as tf

X = {"x": np.linspace(-1, 1, 20).astype(np.float32)}
Y = X["x"] * 2
COLUMNS = [tf.feature_column.numeric_column("x")]


def forever() -> Any:
    return tf.estimator.inputs.numpy_input_fn(X, Y, 10, num_epochs=None, shuffle=False)()


def once() -> Any:
    return tf.estimator.inputs.numpy_input_fn(X, Y, 10, shuffle=False)()


def receive() -> Any:
    return tf.estimator.export.build_parsing_serving_input_receiver_fn(
        tf.feature_column.make_parse_example_spec(COLUMNS)
    )()


def regressor(folder: Path) -> Any:
    config = tf.estimator.RunConfig(str(folder), save_checkpoints_steps=4)
    return tf.estimator.LinearRegressor(COLUMNS, config=config)


def evaluations(folder: Path) -> list[int]:
    """The steps whose evaluations were written."""
    tf.summary.FileWriterCache.clear()
    return sorted(
        e.step for path in folder.glob("events*") for e in tf.train.summary_iterator(str(path)) if e.summary.value
    )


def test_every_checkpoint_is_evaluated(tmp_path: Path) -> None:
    model = regressor(tmp_path)
    results, exports = tf.estimator.train_and_evaluate(
        model, tf.estimator.TrainSpec(forever, max_steps=10), tf.estimator.EvalSpec(once, throttle_secs=0, name="x")
    )
    assert results["global_step"] == 10
    assert exports == []
    assert evaluations(tmp_path / "eval_x") == [4, 8, 10]


def test_evaluations_wait_for_one_another(tmp_path: Path) -> None:
    tf.estimator.train_and_evaluate(
        regressor(tmp_path), tf.estimator.TrainSpec(forever, max_steps=10), tf.estimator.EvalSpec(once, steps=1)
    )
    assert evaluations(tmp_path / "eval") == [10]


def test_it_goes_on_where_it_stopped(tmp_path: Path) -> None:
    for last in (4, 8):
        results, _ = tf.estimator.train_and_evaluate(
            regressor(tmp_path), tf.estimator.TrainSpec(forever, max_steps=last), tf.estimator.EvalSpec(once)
        )
        assert results["global_step"] == last


def test_exporters(tmp_path: Path) -> None:
    exporters = [
        tf.estimator.FinalExporter("final", receive),
        tf.estimator.LatestExporter("latest", receive, exports_to_keep=1),
        tf.estimator.BestExporter("best", receive),
    ]
    _, exports = tf.estimator.train_and_evaluate(
        regressor(tmp_path), tf.estimator.TrainSpec(forever, max_steps=10),
        tf.estimator.EvalSpec(once, throttle_secs=0, exporters=exporters),
    )  # fmt: skip
    counts = {name: len(list((tmp_path / "export" / name).iterdir())) for name in ("final", "latest", "best")}
    assert counts == {"final": 1, "latest": 1, "best": 3}  # the loss falls: every evaluation is the best so far
    assert all(Path(folder.decode(), "saved_model.pb").exists() for folder in exports)


def test_exports_of_one_second_have_rising_names(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The oldest of them was removed; its name must not be given again, or the newest would seem the oldest."""
    estimator = regressor(tmp_path)
    estimator.train(forever, max_steps=1)
    monkeypatch.setattr("headrace.library.estimator.saved_model_export.time.time", lambda: 50.0)
    latest = tf.estimator.LatestExporter("latest", receive, exports_to_keep=1)
    for _ in range(4):
        folder = latest.export(estimator, tmp_path / "latest", estimator.latest_checkpoint(), {}, False)
        assert [path.name for path in (tmp_path / "latest").iterdir()] == [Path(folder.decode()).name]
    assert folder.endswith(b"/53")


def test_the_best_counts_earlier_runs(tmp_path: Path) -> None:
    class Folder:
        model_dir = str(tmp_path)
        exported: list[Any] = []

        def export_saved_model(self, path: Any, receive: Any, **kwargs: Any) -> str:
            self.exported.append(kwargs["checkpoint_path"])
            return "folder"

    with tf.summary.FileWriter(str(tmp_path / "eval")) as writer:
        writer.add_summary(tf.Summary(value=[tf.Summary.Value(tag="loss", simple_value=0.5)]), 3)
    exporter = tf.estimator.BestExporter(serving_input_receiver_fn=receive)
    for step, loss in ((5, 0.7), (6, 0.4), (7, 0.45)):
        exporter.export(Folder(), str(tmp_path / "out"), step, {"loss": loss, "global_step": step}, False)
    assert Folder.exported == [6]


def test_a_training_that_is_over_has_nothing_to_say(tmp_path: Path) -> None:
    model = regressor(tmp_path)
    specs = tf.estimator.TrainSpec(forever, max_steps=4), tf.estimator.EvalSpec(once)
    tf.estimator.train_and_evaluate(model, *specs)
    assert tf.estimator.train_and_evaluate(model, *specs) == (None, [])


@pytest.mark.parametrize(
    ("build", "error", "says"),
    [
        (lambda: tf.estimator.TrainSpec(3), TypeError, "input_fn must be a function.*given: 3"),
        (lambda: tf.estimator.TrainSpec(once, max_steps=0), ValueError, "Must specify max_steps > 0, given: 0"),
        (lambda: tf.estimator.TrainSpec(once, hooks=[1]), TypeError, "SessionRunHook instances, given: 1"),
        (lambda: tf.estimator.EvalSpec(once, steps=-1), ValueError, "Must specify steps > 0, given: -1"),
        (lambda: tf.estimator.EvalSpec(once, throttle_secs=-1), ValueError, "Must specify throttle_secs >= 0"),
        (lambda: tf.estimator.EvalSpec(once, name=1), TypeError, "`name` must be string, given: 1"),
        (lambda: tf.estimator.EvalSpec(once, exporters=[1]), TypeError, "must be an Exporter or a list of them"),
        (lambda: tf.estimator.LatestExporter("a", receive, exports_to_keep=0), ValueError, "must be positive number"),
        (lambda: tf.estimator.FinalExporter("", receive), ValueError, "name of an exporter"),
        (lambda: tf.estimator.train_and_evaluate(1, 2, 3), TypeError, "`estimator` must have type"),  # type: ignore
    ],
)
def test_what_is_refused(build: Any, error: type[Exception], says: str) -> None:
    with pytest.raises(error, match=says) as raised:
        build()
    assert "test_train_and_evaluate.py" in str(raised.value)


def test_exporters_need_names_of_their_own() -> None:
    twice = [tf.estimator.FinalExporter("a", receive), tf.estimator.LatestExporter("a", receive)]
    with pytest.raises(ValueError, match="names must be unique. Name: 'a'"):
        tf.estimator.EvalSpec(once, exporters=twice)
