"""Supervisor: parts, managed sessions, services in threads, and the end; basic_train_loop."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import headrace as tf
from tests.resources.calls import poll


@pytest.fixture
def train() -> Any:
    step = tf.train.get_or_create_global_step()
    w = tf.get_variable("w", initializer=1.0)
    tf.summary.scalar("loss", w)
    return tf.group(w.assign_add(1.0), step.assign_add(1))


def events(folder: Path) -> list[tuple[int, str]]:
    found = []
    for path in sorted(folder.glob("events*")):
        for e in tf.train.summary_iterator(str(path)):
            what = e.WhichOneof("what")
            if what == "session_log":
                what = type(e.session_log).SessionStatus.Name(e.session_log.status)
            found.append((e.step, ",".join(v.tag for v in e.summary.value) or what))
    return found


# ---- parts


def test_parts_are_made_and_shared_by_collections(train: Any, tmp_path: Path) -> None:
    sv = tf.train.Supervisor(logdir=str(tmp_path), save_model_secs=7, save_summaries_secs=8)
    assert tf.get_default_graph().finalized
    assert sv.is_chief
    assert sv.save_path == f"{tmp_path}/model.ckpt"
    assert (sv.save_model_secs, sv.save_summaries_secs) == (7, 8)
    assert sv.init_op is tf.get_collection(tf.GraphKeys.INIT_OP)[0]
    assert sv.ready_op is tf.get_collection(tf.GraphKeys.READY_OP)[0]
    assert sv.saver is tf.get_collection(tf.GraphKeys.SAVERS)[0]
    assert sv.summary_op is tf.get_collection(tf.GraphKeys.SUMMARY_OP)[0]
    assert sv.global_step is tf.train.get_global_step()
    assert sv.ready_for_local_init_op is sv.init_feed_dict is None
    assert isinstance(sv.session_manager, tf.train.SessionManager)
    assert isinstance(sv.summary_writer, tf.summary.FileWriter)
    assert isinstance(sv.coord, tf.train.Coordinator)
    other = tf.train.Supervisor()
    assert (other.init_op, other.saver, other.summary_op) == (sv.init_op, sv.saver, sv.summary_op)
    assert other.summary_writer is other.save_path is None


def test_parts_can_be_turned_off(train: Any, tmp_path: Path) -> None:
    seen: list[Any] = []
    sv = tf.train.Supervisor(
        logdir=str(tmp_path), init_op=None, ready_op=None, local_init_op=None, summary_op=None, saver=None, global_step=None,
        summary_writer=None, init_fn=seen.append,
    )  # fmt: skip
    with sv.managed_session() as sess:
        assert seen == [sess]
    assert [p.name for p in tmp_path.iterdir()] == ["graph.pbtxt"]


def test_a_global_step_is_found_by_name() -> None:
    step = tf.Variable(0, name="global_step")
    assert tf.train.Supervisor().global_step is step._as_graph_element()


def test_a_global_step_that_is_no_number_of_steps_is_left_alone(caplog: pytest.LogCaptureFixture) -> None:
    tf.Variable(0.0, name="global_step")
    assert tf.train.Supervisor().global_step is None
    assert "Found 'global_step' is not an int type" in caplog.text


# ---- sessions


def test_a_session_is_restored_and_goes_on(train: Any, tmp_path: Path) -> None:
    sv = tf.train.Supervisor(logdir=str(tmp_path), save_model_secs=1000, save_summaries_secs=0)
    with sv.managed_session(config=tf.ConfigProto(compile="off")) as sess:
        assert not sv.should_stop()
        for _ in range(3):
            sess.run(train)
        sv.saver.save(sess, sv.save_path, global_step=sv.global_step)
    assert sv.should_stop()
    with pytest.raises(RuntimeError, match="closed Session"):
        sess.run(train)
    with sv.managed_session() as sess:
        assert sess.run(sv.global_step) == 3


def test_the_parts_of_a_managed_session(train: Any, tmp_path: Path) -> None:
    sv = tf.train.Supervisor(logdir=str(tmp_path), save_model_secs=0)
    sess = sv.PrepareSession("", start_standard_services=False)
    sess.run(train)
    sv.SummaryComputed(sess, sess.run(sv.summary_op))
    assert not sv.ShouldStop()
    sv.RequestStop()
    sv.WaitForStop()
    sv.Stop()
    sess.close()
    assert [e for e in events(tmp_path) if e[1] in ("loss", "STOP")] == [(1, "loss"), (0, "STOP")]


def test_a_program_may_stop_inside_the_block(train: Any, tmp_path: Path) -> None:
    sv = tf.train.Supervisor(logdir=str(tmp_path))
    for _ in range(2):
        with sv.managed_session() as sess:
            sess.run(train)
            sv.stop()
    assert [tag for _, tag in events(tmp_path)].count("STOP") == 2


def test_an_error_is_raised_and_the_end_of_input_is_not(train: Any, tmp_path: Path) -> None:
    sv = tf.train.Supervisor()
    with pytest.raises(ZeroDivisionError), sv.managed_session():
        raise ZeroDivisionError
    with sv.managed_session():
        raise tf.errors.OutOfRangeError(None, None, "no more")


def test_queue_runners_run(tmp_path: Path) -> None:
    queue = tf.FIFOQueue(3, tf.int64)
    number = tf.train.limit_epochs(tf.constant(4, tf.int64), 2)
    tf.train.add_queue_runner(tf.train.QueueRunner(queue, [queue.enqueue(number)]))
    element = queue.dequeue()
    sv = tf.train.Supervisor()
    values = []
    with sv.managed_session() as sess:
        while not sv.should_stop():
            values.append(int(sess.run(element)))
    assert values == [4, 4]


# ---- services


def test_services_save_and_write(train: Any, tmp_path: Path) -> None:
    sv = tf.train.Supervisor(logdir=str(tmp_path), save_model_secs=0.01, save_summaries_secs=0.01)
    with sv.managed_session() as sess:
        sess.run(train)
        poll(lambda: tf.train.latest_checkpoint(str(tmp_path)) == f"{tmp_path}/model.ckpt-1")
    tags = {tag for _, tag in events(tmp_path)}
    assert tags >= {"graph_def", "meta_graph_def", "START", "CHECKPOINT", "loss", "global_step/sec", "STOP"}
    assert (tmp_path / "graph.pbtxt").exists()


def test_an_error_of_a_service_stops_all(train: Any) -> None:
    sv = tf.train.Supervisor()

    def fail() -> None:
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError), sv.managed_session() as sess:
        sv.loop(None, fail)
        while not sv.should_stop():
            sess.run(train)


def test_a_loop_of_the_program(train: Any) -> None:
    sv = tf.train.Supervisor()
    calls: list[Any] = []

    def count(number: int, word: str) -> None:
        calls.append((number, word))
        if len(calls) == 3:
            sv.request_stop()

    with sv.managed_session():
        sv.loop(0.001, count, args=(1,), kwargs={"word": "a"})
        sv.wait_for_stop()
    assert calls == [(1, "a")] * 3


def test_bad_uses(train: Any, caplog: pytest.LogCaptureFixture) -> None:
    with pytest.raises(ValueError, match="all Variables must have their device set: global_step has none.*test_super"):
        tf.train.Supervisor(is_chief=False)
    sv = tf.train.Supervisor()
    with sv.managed_session(start_standard_services=False) as sess:
        assert sv.start_standard_services(sess) is None
        assert "Standard services need a 'logdir'" in caplog.text
        with pytest.raises(RuntimeError, match="Writing a summary requires a summary writer"):
            sv.summary_computed(sess, b"")


def test_a_worker_writes_nothing() -> None:
    with tf.device("/cpu:0"):
        v = tf.Variable(1)
    server = tf.train.Server.create_local_server()
    sv = tf.train.Supervisor(is_chief=False, logdir="/nowhere", recovery_wait_secs=0.01)
    assert sv.summary_writer is sv.save_path is sv.save_model_secs is None
    with pytest.raises(RuntimeError, match="Only chief supervisor can start standard services"):
        sv.start_standard_services(None)
    with tf.Session(server.target) as chief:
        chief.run(v.initializer)
        with sv.managed_session(server.target) as sess:
            assert sess.run(v) == 1


def test_eager_execution_has_no_supervisor() -> None:
    with tf.eager_mode(), pytest.raises(RuntimeError, match="incompatible with eager execution"):
        tf.train.Supervisor()


# ---- basic_train_loop


def test_a_function_is_called_until_the_supervisor_stops(train: Any) -> None:
    sv = tf.train.Supervisor()
    calls: list[Any] = []

    def step(sess: Any, first: int, second: int = 0) -> None:
        sess.run(train)
        calls.append((first, second))
        if len(calls) == 2:
            sv.request_stop()

    tf.train.basic_train_loop(sv, step, args=(1,), kwargs={"second": 2})
    assert calls == [(1, 2), (1, 2)]
