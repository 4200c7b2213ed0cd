"""SessionManager and Scaffold: how a session gets ready, and what says that it is not."""

from __future__ import annotations

import threading
from pathlib import Path
from typing import Any

import pytest

import headrace as tf
from headrace.library.train.saver.builder import BaseSaverBuilder


def manager(**arguments: Any) -> tf.train.SessionManager:
    return tf.train.SessionManager(ready_op=tf.report_uninitialized_variables(), **arguments)


@pytest.fixture
def v() -> Any:
    return tf.Variable(1, name="v")


@pytest.fixture
def checkpoint(v: Any, tmp_path: Path) -> str:
    """A folder with a checkpoint in which ``v`` is 5."""
    with tf.Session() as sess:
        sess.run(v.assign(5))
        tf.train.Saver([v]).save(sess, f"{tmp_path}/model")
    return str(tmp_path)


# ---- prepare_session


def test_a_session_is_initialised(v: Any) -> None:
    p = tf.placeholder(tf.int32, [])
    add = v.assign_add(1)
    sess = manager().prepare_session(
        "", init_op=v.assign(p), init_feed_dict={p: 3}, init_fn=lambda session: session.run(add)
    )
    assert sess.run(v) == 4


def test_a_session_is_restored_instead(v: Any, checkpoint: str) -> None:
    saver = tf.train.Saver([v])
    sess = manager().prepare_session("", init_op=v.initializer, saver=saver, checkpoint_dir=checkpoint)
    assert sess.run(v) == 5
    assert saver.last_checkpoints == [f"{checkpoint}/model"]
    sess = manager().prepare_session("", saver=saver, checkpoint_filename_with_path=f"{checkpoint}/model")
    assert sess.run(v) == 5


def test_local_variables_are_initialised_in_every_session(v: Any) -> None:
    local = tf.Variable(7, collections=[tf.GraphKeys.LOCAL_VARIABLES])
    m = manager(
        local_init_op=local.initializer, ready_for_local_init_op=tf.report_uninitialized_variables([v]),
        local_init_run_options=tf.RunOptions(timeout_in_ms=20_000),
    )  # fmt: skip
    assert m.prepare_session("", init_op=v.initializer).run(local) == 7


def test_what_is_not_ready_is_named(v: Any, checkpoint: str) -> None:
    w = tf.Variable(1, name="w")
    with pytest.raises(RuntimeError, match="Model is not initialized and no init_op or init_fn or local_init_op"):
        manager().prepare_session("")
    with pytest.raises(
        RuntimeError,
        match=r"did not make model ready\.  Init op: v/Assign, .*Variables not initialized: w.*test_session",
    ):
        manager().prepare_session("", init_op=v.initializer)
    with pytest.raises(RuntimeError, match=r"did not make model ready\..*Variables not initialized: w"):
        manager().prepare_session("", init_op=w.initializer, saver=tf.train.Saver([v]), checkpoint_dir=checkpoint)
    local = manager(local_init_op=tf.no_op(), ready_for_local_init_op=tf.report_uninitialized_variables([w]))
    with pytest.raises(RuntimeError, match=r"ready for local_init\..*Variables not initialized: w"):
        local.prepare_session("", init_op=v.initializer)


def test_a_ready_op_may_fail_instead(v: Any) -> None:
    m = tf.train.SessionManager(ready_op=tf.assert_variables_initialized())
    with pytest.raises(RuntimeError, match=r"did not make model ready\..* v"):
        m.prepare_session("", init_op=tf.no_op())
    assert m.prepare_session("", init_op=v.initializer).run(v) == 1


def test_bad_arguments(v: Any) -> None:
    with pytest.raises(ValueError, match="Can not provide both checkpoint_dir and checkpoint_filename_with_path"):
        manager().prepare_session("", saver=tf.train.Saver(), checkpoint_dir="a", checkpoint_filename_with_path="b")
    with pytest.raises(ValueError, match="you must also pass a local_init_op"):
        manager(ready_for_local_init_op=tf.no_op())


# ---- recover_session, wait_for_session


def test_recovery_says_whether_the_model_is_ready(v: Any, checkpoint: str, tmp_path: Path) -> None:
    saver = tf.train.Saver([v])
    sess, ready = manager().recover_session("", saver=saver, checkpoint_dir=str(tmp_path / "empty"))
    assert not ready
    with pytest.raises(tf.errors.FailedPreconditionError):
        sess.run(v)
    sess, ready = manager().recover_session("", saver=saver, checkpoint_dir=checkpoint)
    assert ready
    assert sess.run(v) == 5
    tf.Variable(1, name="w")
    sess, ready = manager().recover_session("", saver=saver, checkpoint_dir=checkpoint)
    assert not ready
    assert sess.run(v) == 5


def test_a_checkpoint_is_waited_for(v: Any, checkpoint: str, tmp_path: Path) -> None:
    saver = tf.train.Saver([v])
    m = manager(recovery_wait_secs=0.01)
    _, ready = m.recover_session(
        "", saver=saver, checkpoint_dir=str(tmp_path / "none"), wait_for_checkpoint=True, max_wait_secs=0.02
    )
    assert not ready
    later = tmp_path / "later"
    later.mkdir()
    with tf.Session() as source:
        source.run(v.assign(6))
        timer = threading.Timer(
            0.05, lambda: tf.train.Saver.save(saver, source, f"{later}/model", write_meta_graph=False)
        )
        timer.start()
        sess, ready = m.recover_session(
            "", saver=saver, checkpoint_dir=str(later), wait_for_checkpoint=True, max_wait_secs=20
        )
        timer.join()
    assert ready
    assert sess.run(v) == 6


def test_a_worker_waits_until_the_model_is_ready(v: Any) -> None:
    server = tf.train.Server.create_local_server()
    m = manager(recovery_wait_secs=0.01)
    with pytest.raises(
        tf.errors.DeadlineExceededError, match="not ready after waiting 0.03 secs: Variables not init.* v"
    ):
        m.wait_for_session(server.target, max_wait_secs=0.03)
    with tf.Session(server.target) as chief:
        timer = threading.Timer(0.05, lambda: chief.run(v.initializer))
        timer.start()
        assert m.wait_for_session(server.target, max_wait_secs=20).run(v) == 1
        timer.join()


# ---- after the loss of a task


def test_only_what_has_no_value_any_more_is_restored(tmp_path: Path) -> None:
    """Two containers of a server stand for two parameter servers: one of them loses what it has."""
    target = tf.train.Server.create_local_server().target
    stays = tf.Variable(1, name="stays")
    with tf.container("box"):
        goes = tf.Variable(2, name="goes")
        also = tf.get_variable("also", initializer=3, use_resource=True)
    creator = tf.train.ChiefSessionCreator(master=target, checkpoint_dir=str(tmp_path))
    change = [v.assign(v + 10) for v in (stays, goes, also)]
    variables = [stays, goes, also]
    with creator.create_session() as sess:
        assert sess.run(variables) == [1, 2, 3]
        creator._scaffold.saver.save(sess, str(tmp_path / "model"), write_meta_graph=False)
        sess.run(change)
    with creator.create_session() as sess:
        assert sess.run(variables) == [11, 12, 13]  # all have a value: nothing is restored
    tf.Session.reset(target, ["box"])
    with creator.create_session() as sess:
        assert sess.run(variables) == [11, 2, 3]
        sess.run(change)
    again = tf.train.ChiefSessionCreator(creator._scaffold, target, checkpoint_dir=str(tmp_path))
    with again.create_session() as sess:
        assert sess.run(variables) == [1, 2, 3]  # a chief that starts restores everything


def two_moments(tmp_path: Path, caplog: Any, restore: str | None, step_goes: bool = False, saved: bool = False) -> Any:
    """The values and warnings after one of two servers lost its variables at step 17; the checkpoint is of step 10."""
    target = tf.train.Server.create_local_server().target
    stays = tf.Variable(1, name="stays")
    with tf.container("box"):
        goes = tf.Variable(2, name="goes")
    with tf.container("box" if step_goes else ""):
        step = tf.train.create_global_step()
    forward = [stays.assign_add(7), goes.assign_add(7), step.assign_add(7)]
    creator = tf.train.ChiefSessionCreator(master=target, checkpoint_dir=str(tmp_path), restore=restore)
    with creator.create_session() as sess:
        for number in range(10):
            step.load(number + 1, sess)
        creator._scaffold.saver.save(sess, str(tmp_path / "model"), write_meta_graph=False)
        if not saved:
            sess.run(forward)
    tf.Session.reset(target, ["box"])
    with caplog.at_level("WARNING", "tensorflow"), creator.create_session() as sess:
        return sess.run([stays, goes, step]), [r.getMessage() for r in caplog.records if "moments" in r.getMessage()]


def test_a_model_of_two_moments_is_said_with_both_steps(tmp_path: Path, caplog: Any) -> None:
    values, (warning,) = two_moments(tmp_path, caplog, None)
    assert values == [8, 2, 17]
    assert warning == (
        f"The model is of two moments: 1 variables were lost and have the values of {tmp_path}/model, of global step 10; 2 "
        "others kept theirs, of global step 17. The lost ones go back by 7 steps. restore='all' restores everything."
    )


def test_where_the_global_step_is_lost_too(tmp_path: Path, caplog: Any) -> None:
    values, (warning,) = two_moments(tmp_path, caplog, "missing", step_goes=True)
    assert values == [8, 2, 10]
    assert "2 variables were lost" in warning and "of global step 10; 1 others kept theirs, of later steps" in warning


def test_everything_is_restored_on_request(tmp_path: Path, caplog: Any) -> None:
    assert two_moments(tmp_path, caplog, "all") == ([1, 2, 10], [])


def test_a_checkpoint_of_the_same_step_is_no_other_moment(tmp_path: Path, caplog: Any) -> None:
    assert two_moments(tmp_path, caplog, None, saved=True) == ([1, 2, 10], [])


def test_a_synchronous_job_restores_everything(tmp_path: Path, caplog: Any) -> None:
    with tf.Graph().as_default():
        tf.FIFOQueue(-1, tf.int64, shapes=(), name="sync_token_q", shared_name="sync_token_q")
        assert two_moments(tmp_path, caplog, None) == ([1, 2, 10], [])
    with tf.Graph().as_default():
        tf.FIFOQueue(-1, tf.int64, shapes=(), name="sync_token_q", shared_name="sync_token_q")
        assert two_moments(tmp_path, caplog, "missing")[0] == [8, 2, 17]


def test_what_to_restore_is_checked() -> None:
    with pytest.raises(
        ValueError, match=r"""restore must be "all", "missing" or None, got 'some' \(at .*test_session_man"""
    ):
        tf.train.MonitoredTrainingSession(restore="some")


def test_without_a_checkpoint_everything_is_initialised_again(v: Any) -> None:
    target = tf.train.Server.create_local_server().target
    creator = tf.train.ChiefSessionCreator(master=target)
    with creator.create_session() as sess:
        assert sess.run(v) == 1
    tf.Session.reset(target)
    with creator.create_session() as sess:
        assert sess.run(v) == 1


def test_everything_is_restored_where_more_than_variables_is_saved(tmp_path: Path) -> None:
    """Of other things nobody asks whether they have lost what they held."""

    class Note(BaseSaverBuilder.SaveableObject):
        def __init__(self) -> None:
            super().__init__(None, [BaseSaverBuilder.SaveSpec(tf.constant(7), "", "note", tf.int32)], "note")

        def restore(self, restored_tensors: Any, restored_shapes: Any) -> Any:
            return tf.identity(restored_tensors[0]).op

    target = tf.train.Server.create_local_server().target
    stays = tf.Variable(1, name="stays")
    with tf.container("box"):
        goes = tf.Variable(2, name="goes")
    tf.add_to_collection(tf.GraphKeys.SAVEABLE_OBJECTS, Note())
    change = [v.assign(v + 10) for v in (stays, goes)]
    creator = tf.train.ChiefSessionCreator(master=target, checkpoint_dir=str(tmp_path))
    with creator.create_session() as sess:
        creator._scaffold.saver.save(sess, str(tmp_path / "model"), write_meta_graph=False)
        sess.run(change)
    tf.Session.reset(target, ["box"])
    with creator.create_session() as sess:
        assert sess.run([stays, goes]) == [1, 2]


# ---- Scaffold


def test_a_scaffold_makes_what_is_missing_and_shares_it(v: Any) -> None:
    tf.summary.scalar("v", v)
    scaffold = tf.train.Scaffold()
    assert scaffold.init_op is scaffold.saver is scaffold.summary_op is scaffold.local_init_op is None
    assert scaffold.finalize() is scaffold
    assert tf.get_default_graph().finalized
    other = tf.train.Scaffold().finalize()
    parts = ("init_op", "ready_op", "ready_for_local_init_op", "local_init_op", "summary_op", "saver")
    for part in parts:
        assert getattr(scaffold, part) is not None
        assert getattr(other, part) is getattr(scaffold, part)
    assert tf.get_collection(tf.GraphKeys.SAVERS) == [scaffold.saver]


def test_parts_that_are_passed_stay(v: Any) -> None:
    saver, op = tf.train.Saver(defer_build=True), tf.no_op()
    scaffold = tf.train.Scaffold(init_op=op, saver=saver, init_feed_dict={}).finalize()
    assert scaffold.init_op is op
    assert scaffold.saver is saver
    assert saver.saver_def is not None  # it was built
    copy = tf.train.Scaffold(copy_from_scaffold=scaffold, local_init_op=op)
    assert (copy.init_op, copy.local_init_op, copy.saver) == (op, op, saver)


def test_a_copy_calls_the_function_of_the_first(v: Any) -> None:
    seen: list[Any] = []
    first = tf.train.Scaffold(init_fn=lambda scaffold, session: seen.append(scaffold))
    copy = tf.train.Scaffold(copy_from_scaffold=first)
    with tf.train.MonitoredTrainingSession(scaffold=copy):
        pass
    assert seen == [first]


def test_tables_and_local_variables_are_ready() -> None:
    table = tf.contrib.lookup.index_table_from_tensor(tf.constant(["a", "b"]))
    local = tf.Variable(7, collections=[tf.GraphKeys.LOCAL_VARIABLES])
    index = table.lookup(tf.constant("b"))
    with tf.train.MonitoredSession() as sess:
        assert sess.run([index, local]) == [1, 7]


def test_two_parts_in_a_collection_are_an_error(v: Any) -> None:
    for key, argument in ((tf.GraphKeys.INIT_OP, "init_op"), (tf.GraphKeys.SAVERS, "savers")):
        with tf.Graph().as_default():
            tf.Variable(1)
            for _ in range(2):
                tf.add_to_collection(key, tf.train.Saver())
            with pytest.raises(RuntimeError, match=f"More than one item in .*{argument}"):
                tf.train.Scaffold().finalize()
    with pytest.raises(TypeError, match="copy_from_scaffold is not a Scaffold instance"):
        tf.train.Scaffold(copy_from_scaffold=3)
