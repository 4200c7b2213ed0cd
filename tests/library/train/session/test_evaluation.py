"""checkpoints_iterator, evaluate_once, evaluate_repeatedly and their hooks; contrib.training.train."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import headrace as tf
from headrace.contrib import training

pytestmark = pytest.mark.usefixtures("writers")


@pytest.fixture
def checkpoints(tmp_path: Path) -> list[str]:
    """Two checkpoints of a model whose weight is 1 and 2, in another graph."""
    with tf.Graph().as_default():
        step, w = tf.train.get_or_create_global_step(), tf.get_variable("w", initializer=0.0)
        saver = tf.train.Saver()
        with tf.Session() as sess:
            paths = []
            for number in (1, 2):
                sess.run([step.assign(number).op, w.assign(float(number)).op])
                paths.append(saver.save(sess, f"{tmp_path}/model", global_step=number))
    return paths


def model() -> tuple[Any, Any]:
    """The mean of the weight over all steps of an evaluation, and the op that counts one."""
    tf.train.get_or_create_global_step()
    w = tf.get_variable("w", initializer=0.0)
    mean, update = tf.metrics.mean(w)
    tf.summary.scalar("weight", mean)
    return mean, update


# ---- waiting


def test_the_newest_checkpoint_comes_first_then_new_ones(checkpoints: list[str], tmp_path: Path) -> None:
    folder = str(tmp_path)
    seen = []
    for path in tf.train.checkpoints_iterator(folder, timeout=0):
        seen.append(path)
        if len(seen) == 1:
            tf.train.update_checkpoint_state(folder, checkpoints[0], checkpoints)
    assert seen == [checkpoints[1], checkpoints[0]]


def test_the_function_decides_whether_to_wait_on(tmp_path: Path) -> None:
    answers = iter([False, False, True])
    assert list(tf.train.checkpoints_iterator(str(tmp_path), timeout=0, timeout_fn=lambda: next(answers))) == []
    assert list(answers) == []


def test_a_known_checkpoint_is_not_new(checkpoints: list[str], tmp_path: Path) -> None:
    assert training.wait_for_new_checkpoint(str(tmp_path), timeout=0) == checkpoints[1]
    assert training.wait_for_new_checkpoint(str(tmp_path), checkpoints[1], seconds_to_sleep=0.01, timeout=0.02) is None


# ---- evaluations


def test_one_checkpoint_is_evaluated(checkpoints: list[str], tmp_path: Path) -> None:
    mean, update = model()
    hooks = [training.StopAfterNEvalsHook(3), training.SummaryAtEndHook(str(tmp_path / "eval"))]
    values = training.evaluate_once(checkpoints[0], eval_ops=update, final_ops={"mean": mean}, hooks=hooks)
    assert values == {"mean": 1.0}
    tf.summary.FileWriterCache.clear()
    (path,) = (tmp_path / "eval").glob("events*")
    written = [(e.step, v.tag, v.simple_value) for e in tf.train.summary_iterator(str(path)) for v in e.summary.value]
    assert written == [(1, "weight", 1.0)]


@pytest.mark.parametrize("wrap", [lambda op: [op], lambda op: {"op": op}])
def test_ops_may_be_a_list_or_dict(wrap: Any, checkpoints: list[str], caplog: pytest.LogCaptureFixture) -> None:
    mean, update = model()
    with caplog.at_level("INFO", "tensorflow"):
        hooks = [training.StopAfterNEvalsHook(2)]
        assert training.evaluate_once(checkpoints[1], eval_ops=wrap(update), final_ops=mean, hooks=hooks) == 2.0
    assert [m for m in caplog.messages if m.startswith("Evaluation")] == ["Evaluation [1/2]", "Evaluation [2/2]"]


def test_every_new_checkpoint_is_evaluated(checkpoints: list[str], tmp_path: Path) -> None:
    mean, update = model()
    seen: list[float] = []

    class Older(tf.train.SessionRunHook):
        def end(self, session: Any) -> None:
            seen.append(float(session.run(mean)))
            tf.train.update_checkpoint_state(str(tmp_path), checkpoints[0], checkpoints)

    value = training.evaluate_repeatedly(
        str(tmp_path), eval_ops=update, final_ops=mean, eval_interval_secs=0,
        hooks=[training.StopAfterNEvalsHook(1, log_progress=False), Older()], max_number_of_evaluations=2,
    )  # fmt: skip
    assert seen == [2.0, 1.0]
    assert value == 1.0


def test_the_step_of_evaluations_is_local_and_one() -> None:
    step = training.get_or_create_eval_step()
    assert training.get_or_create_eval_step() is step
    assert step in tf.local_variables()
    tf.add_to_collection(tf.GraphKeys.EVAL_STEP, tf.constant(1))
    with pytest.raises(ValueError, match="Multiple tensors added to"):
        training.get_or_create_eval_step()


def test_bad_uses_of_hooks() -> None:
    with pytest.raises(ValueError, match="Either log_dir or summary_writer should be provided"):
        training.SummaryAtEndHook()
    with pytest.raises(ValueError, match="Either log_dir or summary_writer is allowed"):
        training.SummaryAtEndHook("a", object())


# ---- training


def test_train_saves_and_goes_on(tmp_path: Path) -> None:
    train_op = tf.train.get_or_create_global_step().assign_add(1)
    for expected in (3, 6):
        hooks = [tf.train.StopAtStepHook(num_steps=3)]
        assert training.train(train_op, str(tmp_path), hooks=hooks) == expected
    assert tf.train.latest_checkpoint(str(tmp_path)) == f"{tmp_path}/model.ckpt-6"


def test_train_without_a_folder_saves_nothing() -> None:
    train_op = tf.train.get_or_create_global_step().assign_add(1)
    with pytest.raises(ValueError, match="logdir cannot be None when save_summaries_steps"):
        training.train(train_op, None)
    with pytest.raises(ValueError, match="logdir cannot be None when save_checkpoint_secs"):
        training.train(train_op, None, save_summaries_steps=None)
