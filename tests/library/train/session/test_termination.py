"""SIGTERM while a monitored session trains: in a process of its own, which must save and end with status 143."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import textwrap
import threading
from pathlib import Path
from typing import Any

import pytest

import headrace as tf

SETUP = """
    import os, signal, sys
    import headrace as tf

    folder = sys.argv[1]
    step = tf.train.get_or_create_global_step()
    train = step.assign_add(1)

    def terminate():
        os.kill(os.getpid(), signal.SIGTERM)
"""


def run(tmp_path: Path, program: str, status: int, said: str = "", seconds: str = "") -> list[str]:
    """Runs the program; returns the lines that it printed.  ``said``: a pattern that its log matches."""
    text = textwrap.dedent(SETUP) + textwrap.dedent(program)
    process = subprocess.run(
        [sys.executable, "-c", text, str(tmp_path)], capture_output=True, text=True, timeout=60,
        env={**os.environ, "HEADRACE_COMPILE": "off", "HEADRACE_LEAVE_SECONDS": seconds}, check=False,
    )  # fmt: skip
    assert process.returncode == status, process.stderr
    assert re.search(said, process.stderr), process.stderr
    return process.stdout.split("\n")[:-1]


def saved_step(tmp_path: Path) -> int:
    path = tf.train.latest_checkpoint(str(tmp_path))
    assert path is not None
    return int(tf.train.load_variable(path, "global_step"))


def test_the_step_ends_and_is_saved(tmp_path: Path) -> None:
    """The signal comes in the middle of a step; the session goes on from there the next time."""
    program = """
        def interrupt(number):
            if number == 3:
                terminate()
                print("the step goes on")
            return number

        with tf.control_dependencies([train]):
            number = tf.py_func(interrupt, [step.read_value()], tf.int64)

        class End(tf.train.SessionRunHook):
            def end(self, session):
                print("hooks end")

        try:
            with tf.train.MonitoredTrainingSession(checkpoint_dir=folder, save_checkpoint_steps=1000, hooks=[End()]) as sess:
                for _ in range(10):  # does not ask should_stop()
                    print(sess.run(number))
        finally:
            print("outer blocks end", signal.getsignal(signal.SIGTERM) is signal.SIG_DFL)
        print("never")
    """
    assert run(tmp_path, program, 143) == ["1", "2", "the step goes on", "hooks end", "outer blocks end True"]
    assert saved_step(tmp_path) == 3
    again = """
        with tf.train.MonitoredTrainingSession(checkpoint_dir=folder) as sess:
            print(sess.run(train))
    """
    assert run(tmp_path, again, 0) == ["4"]


def test_a_signal_between_steps_ends_the_loop(tmp_path: Path) -> None:
    program = """
        with tf.train.MonitoredTrainingSession(checkpoint_dir=folder) as sess:
            while not sess.should_stop():
                value = sess.run(train)
                if value == 4:
                    terminate()
            print("the loop ended at", value)
        print("never")
    """
    assert run(tmp_path, program, 143) == ["the loop ended at 4"]
    assert saved_step(tmp_path) == 4


def test_a_signal_while_the_hooks_end(tmp_path: Path) -> None:
    """A program that would go on with another session ends here."""
    program = """
        class End(tf.train.SessionRunHook):
            def end(self, session):
                terminate()
                print("hooks end")

        with tf.train.MonitoredTrainingSession(checkpoint_dir=folder, hooks=[End()]) as sess:
            sess.run(train)
        print("never")
    """
    assert run(tmp_path, program, 143) == ["hooks end"]
    assert saved_step(tmp_path) == 1


def test_without_a_with_block(tmp_path: Path) -> None:
    program = """
        sess = tf.train.MonitoredTrainingSession(checkpoint_dir=folder)
        sess.run(train)
        terminate()
        sess.run(train)
        print("never")
    """
    assert run(tmp_path, program, 143) == []
    assert saved_step(tmp_path) == 1


def test_a_session_inside_another_ends_both(tmp_path: Path) -> None:
    (tmp_path / "inner").mkdir()
    program = """
        with tf.train.MonitoredTrainingSession(checkpoint_dir=folder) as sess:
            sess.run(train)
            sess.run(train)
            with tf.Graph().as_default():
                count = tf.train.get_or_create_global_step().assign_add(1)
                with tf.train.MonitoredTrainingSession(checkpoint_dir=folder + "/inner") as inner:
                    inner.run(count)
                    terminate()
                    inner.run(count)
            print("never")
    """
    assert run(tmp_path, program, 143) == []
    assert saved_step(tmp_path) == 2
    assert saved_step(tmp_path / "inner") == 1


def test_a_second_signal_ends_the_process_where_it_is(tmp_path: Path) -> None:
    program = """
        with tf.train.MonitoredTrainingSession(checkpoint_dir=folder) as sess:
            sess.run(train)
            terminate()
            terminate()
            print("never")
    """
    assert run(tmp_path, program, -signal.SIGTERM) == []
    assert saved_step(tmp_path) == 0


def test_a_session_that_saves_nothing_ends_its_step_and_closes(tmp_path: Path) -> None:
    program = """
        def interrupt(number):
            terminate()
            return number

        class End(tf.train.SessionRunHook):
            def end(self, session):
                print("hooks end", session._closed)

        number = tf.py_func(interrupt, [train], tf.int64)
        try:
            with tf.train.MonitoredSession(hooks=[End()]) as sess:
                below = sess._tf_sess()
                sess.run(number)
        finally:
            print("closed", below._closed)
    """
    assert run(tmp_path, program, 143, "SIGTERM: the session ends.") == ["hooks end False", "closed True"]


def test_a_step_that_does_not_end_in_time_is_cancelled(tmp_path: Path) -> None:
    """It waits for an element that nobody adds; what it waits for is said, and nothing is saved."""
    program = """
        queue = tf.FIFOQueue(1, tf.int32, name="tasks")
        with tf.control_dependencies([tf.py_func(terminate, [], [])]):
            number = queue.dequeue()
        try:
            with tf.train.MonitoredTrainingSession(checkpoint_dir=folder) as sess:
                below = sess._tf_sess()
                sess.run(train)
                sess.run(number)
        finally:
            print("closed", below._closed)
    """
    said = "SIGTERM: the step has not ended in 0.2 s, and is cancelled:(.|\n)* waits: FIFOQueue 'tasks' has 0 of 1 elements"
    assert run(tmp_path, program, 143, said, "0.2") == ["closed True"]
    assert saved_step(tmp_path) == 0


def test_a_hook_that_does_not_come_back_is_left(tmp_path: Path) -> None:
    program = """
        import threading
        import headrace.library.train.session.termination as termination

        termination.LAST_SECONDS = 0.2

        class Never(tf.train.SessionRunHook):
            def after_run(self, run_context, run_values):
                terminate()
                threading.Event().wait()

        with tf.train.MonitoredSession(hooks=[Never()]) as sess:
            sess.run(train)
    """
    said = r"SIGTERM: the step does not end; the process exits without it. It is at\n.*threading.py:"
    assert run(tmp_path, program, 143, said, "0.2") == []


def test_a_program_between_two_steps_ends_where_it_is(tmp_path: Path) -> None:
    program = """
        import threading

        with tf.train.MonitoredTrainingSession(checkpoint_dir=folder) as sess:
            sess.run(train)
            terminate()
            threading.Event().wait()
    """
    said = "SIGTERM: the program has not come to its next step in 0.2 s, and ends where it is."
    assert run(tmp_path, program, 143, said, "0.2") == []
    assert saved_step(tmp_path) == 1


def test_a_session_that_waits_for_its_chief_leaves_immediately(tmp_path: Path) -> None:
    program = """
        def missing():
            terminate()
            return [b"weights"]

        ready = tf.py_func(missing, [], tf.string)
        creator = tf.train.WorkerSessionCreator(tf.train.Scaffold(ready_for_local_init_op=ready))
        try:
            tf.train.MonitoredSession(creator)
        finally:
            print(signal.getsignal(signal.SIGTERM) is signal.SIG_DFL)
    """
    assert run(tmp_path, program, 143) == ["True"]


def test_a_wrong_time_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for setting in ("soon", "-1", "inf"):
        monkeypatch.setenv("HEADRACE_LEAVE_SECONDS", setting)
        with pytest.raises(
            ValueError, match=f"HEADRACE_LEAVE_SECONDS must be a number of seconds, 0 or more, got '{setting}'"
        ):
            tf.train.MonitoredSession()


def test_a_handler_of_the_program_stays(tmp_path: Path) -> None:
    program = """
        signal.signal(signal.SIGTERM, lambda number, frame: print("mine"))
        with tf.train.MonitoredTrainingSession(checkpoint_dir=folder) as sess:
            sess.run(train)
            terminate()
            print(sess.should_stop(), sess.run(train))
    """
    assert run(tmp_path, program, 0) == ["mine", "False 2"]


# ---- in this process


def session(tmp_path: Path) -> Any:
    hook = tf.train.CheckpointSaverHook(str(tmp_path), save_steps=1000)
    return tf.train.MonitoredSession(hooks=[hook])


def test_the_handler_is_restored(tmp_path: Path, train: Any) -> None:
    with session(tmp_path) as sess:
        sess.run(train)
        assert signal.getsignal(signal.SIGTERM) is not signal.SIG_DFL
    assert signal.getsignal(signal.SIGTERM) is signal.SIG_DFL
    with pytest.raises(ZeroDivisionError), session(tmp_path):
        raise ZeroDivisionError
    assert signal.getsignal(signal.SIGTERM) is signal.SIG_DFL
    tf.summary.FileWriterCache.clear()


def test_an_error_wins_over_the_signal(tmp_path: Path, train: Any) -> None:
    """The hooks do not end after an error, so nothing is saved: the process must not look as if it had been."""
    with pytest.raises(ZeroDivisionError), session(tmp_path) as sess:
        sess.run(train)
        os.kill(os.getpid(), signal.SIGTERM)
        raise ZeroDivisionError
    assert signal.getsignal(signal.SIGTERM) is signal.SIG_DFL
    assert saved_step(tmp_path) == 0
    tf.summary.FileWriterCache.clear()


def test_other_threads_only_see_that_they_should_stop(tmp_path: Path, train: Any) -> None:
    values: list[int] = []

    def work(sess: Any) -> None:
        while not sess.should_stop():
            values.append(int(sess.run(train)))
            if len(values) == 3:
                os.kill(os.getpid(), signal.SIGTERM)
                main_has_noted.wait(10)

    main_has_noted = threading.Event()
    with pytest.raises(SystemExit) as info, session(tmp_path) as sess:
        thread = threading.Thread(target=work, args=(sess,))
        thread.start()
        while not sess.should_stop():
            thread.join(0.01)
        main_has_noted.set()
        thread.join()
    assert info.value.code == 143
    assert values == [1, 2, 3]
    assert saved_step(tmp_path) == 3
    tf.summary.FileWriterCache.clear()


def test_a_session_of_another_thread_leaves_the_signal_alone(tmp_path: Path, train: Any) -> None:
    graph = tf.get_default_graph()
    handlers = []

    def work() -> None:
        with graph.as_default(), session(tmp_path) as sess:
            sess.run(train)
            handlers.append(signal.getsignal(signal.SIGTERM))

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    assert handlers == [signal.SIG_DFL]
    tf.summary.FileWriterCache.clear()
