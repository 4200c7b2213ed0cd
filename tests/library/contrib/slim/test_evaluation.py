"""slim's evaluations of checkpoints: values, summaries, which variables are restored."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import headrace as tf


@pytest.fixture(autouse=True)
def writers() -> Iterator[None]:
    """Closes the files of events that the test writes."""
    yield
    tf.summary.FileWriterCache.clear()


evaluation = tf.contrib.slim.evaluation


def _trained(folder: Path, value: float, step: int) -> str:
    with tf.Graph().as_default(), tf.Session() as sess:
        tf.get_variable("x", initializer=value)
        tf.train.create_global_step()
        sess.run(tf.global_variables_initializer())
        return tf.train.Saver().save(sess, str(folder / "model"), global_step=step)


def _model() -> tuple[Any, Any]:
    x = tf.get_variable("x", initializer=0.0)
    tf.train.get_or_create_global_step()
    mean, update = tf.metrics.mean(x)
    tf.summary.scalar("mean", mean)
    return mean, update


def _events(folder: Path) -> list[float]:
    (file,) = folder.glob("events*")
    return [v.simple_value for event in tf.train.summary_iterator(str(file)) for v in event.summary.value]


def test_one_checkpoint(tmp_path: Path) -> None:
    path = _trained(tmp_path, 3.0, 1)
    mean, update = _model()
    runs: list[int] = []

    class Count(tf.train.SessionRunHook):
        def after_run(self, run_context: Any, run_values: Any) -> None:
            runs.append(1)

    value = evaluation.evaluate_once(
        "", path, str(tmp_path / "eval"), num_evals=4, eval_op=update, final_op=mean, hooks=[Count()]
    )
    assert value == 3.0 and len(runs) == 4 and _events(tmp_path / "eval") == [3.0]


def test_variables_under_other_names_and_no_summaries(tmp_path: Path) -> None:
    path = _trained(tmp_path, 3.0, 1)
    y = tf.get_variable("y", initializer=0.0)
    values = evaluation.evaluate_once(
        "", path, str(tmp_path / "eval"), eval_op=tf.no_op(), final_op={"y": y, "step": tf.train.create_global_step()},
        summary_op=None, variables_to_restore={"x": y, "global_step": tf.train.get_global_step()},
    )  # fmt: skip
    assert values == {"y": 3.0, "step": 0} and not (tmp_path / "eval").exists()


def test_a_folder(tmp_path: Path) -> None:
    _trained(tmp_path, 2.0, 1)
    _trained(tmp_path, 4.0, 2)
    mean, update = _model()
    value = evaluation.evaluation_loop(
        "", str(tmp_path), str(tmp_path / "eval"), eval_op=update, final_op=mean, eval_interval_secs=0, timeout=0
    )
    assert value == 4.0 and _events(tmp_path / "eval") == [4.0]
    assert evaluation.wait_for_new_checkpoint is tf.contrib.training.wait_for_new_checkpoint
    assert evaluation.checkpoints_iterator is tf.train.checkpoints_iterator
