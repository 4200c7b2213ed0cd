"""CheckpointSaverHook with listeners, SummarySaverHook, and both in a MonitoredTrainingSession."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import headrace as tf

pytestmark = pytest.mark.usefixtures("writers")


@pytest.fixture
def train() -> Any:
    step = tf.train.get_or_create_global_step()
    loss = tf.get_variable("w", initializer=8.0)
    tf.summary.scalar("loss", loss)
    return tf.group(loss.assign(loss / 2), step.assign_add(1))


def run(train: Any, count: int, hooks: list[Any], **arguments: Any) -> None:
    with tf.train.MonitoredTrainingSession(hooks=hooks, **arguments) as sess:
        for _ in range(count):
            if not sess.should_stop():
                sess.run(train)


def checkpoints(folder: Path) -> list[int]:
    return sorted(int(p.stem.removeprefix("model.ckpt-")) for p in folder.glob("*.index"))


def events(folder: Path) -> list[tuple[int, str]]:
    tf.summary.FileWriterCache.clear()
    (path,) = folder.glob("events*")
    found = []
    for e in tf.train.summary_iterator(str(path)):
        what = e.WhichOneof("what")
        if what == "session_log":
            what = type(e.session_log).SessionStatus.Name(e.session_log.status)
        found.append((e.step, ",".join(v.tag for v in e.summary.value) or what))
    return found


def test_checkpoints_at_the_beginning_every_few_steps_and_at_the_end(train: Any, tmp_path: Path) -> None:
    run(train, 7, [tf.train.CheckpointSaverHook(str(tmp_path), save_steps=3)])
    assert checkpoints(tmp_path) == [0, 3, 6, 7]
    assert tf.train.latest_checkpoint(str(tmp_path)) == f"{tmp_path}/model.ckpt-7"
    assert "global_step" in (tmp_path / "graph.pbtxt").read_text()
    assert events(tmp_path)[1:] == [
        (0, "graph_def"), (0, "meta_graph_def"), (0, "graph_def"), (0, "meta_graph_def"), (0, "CHECKPOINT"), (3, "CHECKPOINT"),
        (6, "CHECKPOINT"), (7, "CHECKPOINT"),
    ]  # fmt: skip


def test_the_last_step_is_saved_once(train: Any, tmp_path: Path) -> None:
    saved = []

    class Listener(tf.train.CheckpointSaverListener):
        def after_save(self, session: Any, global_step_value: Any) -> None:
            saved.append(int(global_step_value))

    run(train, 4, [tf.train.CheckpointSaverHook(str(tmp_path), save_steps=2, listeners=[Listener()])])
    assert saved == [0, 2, 4]


def test_listeners_are_called_around_each_checkpoint_and_may_stop(train: Any, tmp_path: Path) -> None:
    calls: list[Any] = []

    class Listener(tf.train.CheckpointSaverListener):
        def begin(self) -> None:
            calls.append("begin")

        def before_save(self, session: Any, global_step_value: Any) -> None:
            assert isinstance(session, tf.Session)
            calls.append(("before", int(global_step_value)))

        def after_save(self, session: Any, global_step_value: Any) -> bool:
            assert tf.train.latest_checkpoint(str(tmp_path)).endswith(f"-{global_step_value}")
            calls.append(("after", int(global_step_value)))
            return bool(global_step_value == 2)

        def end(self, session: Any, global_step_value: Any) -> None:
            calls.append(("end", int(global_step_value)))

    run(train, 9, [tf.train.CheckpointSaverHook(str(tmp_path), save_steps=1, listeners=[Listener()])])
    assert calls == [
        "begin", ("before", 0), ("after", 0), ("before", 1), ("after", 1), ("before", 2), ("after", 2), ("end", 2),
    ]  # fmt: skip


def test_the_saver_may_be_passed(train: Any, tmp_path: Path) -> None:
    saver = tf.train.Saver(tf.get_collection(tf.GraphKeys.GLOBAL_VARIABLES, "w"), max_to_keep=1)
    hook = tf.train.CheckpointSaverHook(str(tmp_path), save_steps=1, saver=saver, checkpoint_basename="part")
    run(train, 2, [hook])
    assert [p.name for p in tmp_path.glob("*.index")] == ["part-2.index"]
    assert tf.train.list_variables(f"{tmp_path}/part-2") == [("w", [])]


def test_without_a_saver_or_with_two(session: tf.Session, train: Any, tmp_path: Path) -> None:
    hook = tf.train.CheckpointSaverHook(str(tmp_path), save_steps=1)
    hook.begin()
    session.run(tf.global_variables_initializer())
    with pytest.raises(RuntimeError, match="No items in collection savers"):
        hook.end(session)
    for _ in range(2):
        tf.add_to_collection(tf.GraphKeys.SAVERS, tf.train.Saver())
    with pytest.raises(RuntimeError, match="More than one item in collection savers"):
        hook.end(session)


def test_bad_arguments_of_savers() -> None:
    with pytest.raises(ValueError, match="You cannot provide both saver and scaffold"):
        tf.train.CheckpointSaverHook("f", save_steps=1, saver=object(), scaffold=tf.train.Scaffold())
    with pytest.raises(ValueError, match="Either every_secs or every_steps should be provided"):
        tf.train.CheckpointSaverHook("f")
    with pytest.raises(ValueError, match="Can not provide both every_secs and every_steps"):
        tf.train.CheckpointSaverHook("f", save_secs=1, save_steps=1)
    for arguments in ({}, {"scaffold": tf.train.Scaffold(), "summary_op": tf.constant("")}):
        with pytest.raises(ValueError, match="Exactly one of scaffold or summary_op must be provided"):
            tf.train.SummarySaverHook(save_steps=1, **arguments)


# ---- summaries


def test_summaries_every_few_steps(train: Any, tmp_path: Path) -> None:
    merged = tf.summary.merge_all()
    hook = tf.train.SummarySaverHook(save_steps=2, output_dir=str(tmp_path), summary_op=[merged, merged])
    run(train, 5, [hook])
    assert events(tmp_path)[3:] == [(1, "START"), *[(s, "loss") for s in (1, 1, 3, 3, 5, 5)]]


def test_summaries_are_computed_only_when_they_are_written(train: Any, tmp_path: Path) -> None:
    calls: list[int] = []

    def count() -> float:
        calls.append(1)
        return 1.0

    op = tf.summary.scalar("count", tf.cast(tf.py_func(count, [], tf.float64), tf.float32))
    run(train, 6, [tf.train.SummarySaverHook(save_steps=3, output_dir=str(tmp_path), summary_op=op)])
    assert len(calls) == 2


# ---- MonitoredTrainingSession


def test_a_training_session_writes_all(train: Any, tmp_path: Path) -> None:
    run(
        train, 5, [tf.train.StopAtStepHook(last_step=4)], checkpoint_dir=str(tmp_path), save_checkpoint_steps=2,
        save_summaries_steps=2, log_step_count_steps=2,
    )  # fmt: skip
    assert checkpoints(tmp_path) == [0, 2, 4]
    found = events(tmp_path)
    assert [s for s, tag in found if tag == "loss"] == [1, 3]
    assert [s for s, tag in found if tag == "global_step/sec"] == [3]
    assert [s for s, tag in found if tag == "CHECKPOINT"] == [0, 2, 4]


def test_intervals_can_be_turned_off(train: Any, tmp_path: Path) -> None:
    run(
        train, 2, [], checkpoint_dir=str(tmp_path / "a"), save_checkpoint_secs=None, save_summaries_steps=0,
        log_step_count_steps=None,
    )  # fmt: skip
    assert not (tmp_path / "a").exists()
    run(train, 2, [], summary_dir=str(tmp_path / "b"), save_summaries_secs=1000)
    assert [p.name.split(".")[0] for p in (tmp_path / "b").iterdir()] == ["events"]


def test_hooks_of_the_chief_come_first_and_only_there(train: Any) -> None:
    calls = []

    class Named(tf.train.SessionRunHook):
        def __init__(self, name: str) -> None:
            self.name = name

        def begin(self) -> None:
            calls.append(self.name)

    run(train, 1, [Named("all")], chief_only_hooks=[Named("chief")])
    assert calls == ["chief", "all"]


def test_a_worker_waits_for_the_chief(tmp_path: Path) -> None:
    server = tf.train.Server.create_local_server()
    step = tf.train.get_or_create_global_step()
    calls: list[str] = []

    class Chief(tf.train.SessionRunHook):
        def begin(self) -> None:
            calls.append("chief")

    with pytest.raises(tf.errors.DeadlineExceededError, match="not ready after waiting 0.01 secs.*global_step"):
        tf.train.MonitoredTrainingSession(server.target, is_chief=False, max_wait_secs=0.01)
    with tf.Session(server.target) as chief:
        chief.run(step.initializer)
        worker = tf.train.MonitoredTrainingSession(
            server.target, is_chief=False, chief_only_hooks=[Chief()], checkpoint_dir=str(tmp_path)
        )
        with worker as sess:
            assert sess.run(step) == 0
    assert calls == []
    assert list(tmp_path.iterdir()) == []
