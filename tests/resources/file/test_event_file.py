"""Event files: when they are made, what is on disk when, and what happens when writing fails."""

import errno
import gc
import os
import pathlib
import re
import subprocess
import sys
import threading

import pytest
from resources.calls import run_threads

import headrace as tf
from headrace.core import event
from headrace.resources.file import event_file
from headrace.resources.file.event_file import EventFileWriter, summary_iterator


def number(step, value=1.0):
    return event.event(1.0, step, event.SUMMARY, event.scalar(b"n", value))


def files(folder):
    return sorted(os.path.join(folder, name) for name in os.listdir(folder))


def steps(folder):
    return [[e.step for e in summary_iterator(path)][1:] for path in files(folder)]


def test_the_file_has_tensorflows_name_and_begins_with_its_version(tmp_path):
    writer = EventFileWriter(tmp_path / "a" / "b", filename_suffix=".mine")
    assert files(writer.get_logdir()) == []  # made with the first event
    writer.add_encoded(number(4))
    writer.close()
    (path,) = files(tmp_path / "a" / "b")
    assert re.fullmatch(r"events\.out\.tfevents\.\d{10}\..+\.mine", os.path.basename(path))
    first, second = summary_iterator(path)
    assert (first.file_version, first.wall_time % 1) == ("brain.Event:2", 0)
    assert (second.step, second.summary.value[0].tag) == (4, "n")


def test_events_are_on_disk_after_flush(tmp_path, monkeypatch):
    synced = []
    real = os.fsync
    monkeypatch.setattr(os, "fsync", lambda number: (synced.append(os.fstat(number).st_size), real(number)))
    writer = EventFileWriter(tmp_path)
    for step in range(25):
        writer.add_encoded(number(step))
    writer.flush()
    assert synced[-1] == os.path.getsize(files(tmp_path)[0])
    assert steps(tmp_path) == [list(range(25))]
    count = len(synced)
    writer.flush()
    assert len(synced) == count  # there was nothing to write
    writer.close()


def test_reopening_makes_another_file_even_in_the_same_second(tmp_path, monkeypatch):
    monkeypatch.setattr(event_file.time, "time", lambda: 1700000000.5)
    writer = EventFileWriter(tmp_path)
    for step in range(3):
        writer.add_encoded(number(step))
        writer.close()
        writer.add_encoded(number(99))  # nothing, for it is closed
        writer.reopen()
        writer.reopen()
    writer.close()
    assert steps(tmp_path) == [[0], [1], [2]]
    writer.flush()
    writer.close()


def test_events_are_saved_every_so_often(tmp_path, monkeypatch):
    saved = threading.Semaphore(0)
    real = event_file.EventFile.flush
    monkeypatch.setattr(event_file.EventFile, "flush", lambda self: (real(self), saved.release()))
    writer = EventFileWriter(tmp_path, flush_secs=0.01)
    for step in range(3):  # no further event, and no flush, is needed
        writer.add_encoded(number(step))
        assert saved.acquire(timeout=30)
        assert steps(tmp_path) == [list(range(step + 1))]
    writer.close()


def test_adding_waits_while_the_queue_is_full(tmp_path, monkeypatch):
    go = threading.Event()
    writing = threading.Event()
    real = event_file.EventFile.write

    def slow(self, encoded):
        writing.set()
        assert go.wait(30)
        real(self, encoded)

    monkeypatch.setattr(event_file.EventFile, "write", slow)
    writer = EventFileWriter(tmp_path, max_queue=2)
    writer.add_encoded(number(0))
    assert writing.wait(30)  # the thread has taken this one
    writer.add_encoded(number(1))
    writer.add_encoded(number(2))
    added = threading.Event()
    other = threading.Thread(target=lambda: (writer.add_encoded(number(3)), added.set()))
    other.start()
    assert not added.wait(0.05)
    go.set()
    other.join(30)
    assert added.is_set()
    writer.close()
    assert steps(tmp_path) == [[0, 1, 2, 3]]


def test_several_threads_lose_nothing(tmp_path):
    writer = EventFileWriter(tmp_path)
    run_threads(*(lambda k=k: [writer.add_encoded(number(100 * k + i)) for i in range(100)] for k in range(4)))
    writer.close()
    assert sorted(steps(tmp_path)[0]) == list(range(400))


def test_a_full_disk_is_reported_as_long_as_it_is_full(tmp_path, monkeypatch, caplog):
    def full(number):
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    writer = EventFileWriter(tmp_path)
    for step in (1, 2):
        writer.add_encoded(number(step))
        with pytest.raises(tf.errors.ResourceExhaustedError, match=r"events\.out\.tfevents.*No space left"):
            writer.flush()
    assert "Writing events failed" in caplog.text
    monkeypatch.undo()
    writer.add_encoded(number(3))  # there is room again: in a new file
    writer.close()
    assert steps(tmp_path)[-1] == [3]


def test_a_disk_that_is_full_when_the_file_is_closed(tmp_path, monkeypatch):
    class Full:
        def write(self, data):
            return len(data)

        def close(self):
            raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(event_file.EventFile, "flush", lambda self: None)
    monkeypatch.setattr(event_file.file, "open_file", lambda path, mode: Full())
    writer = EventFileWriter(tmp_path)
    writer.add_encoded(number(1))
    with pytest.raises(tf.errors.ResourceExhaustedError, match="No space left"):
        writer.close()


def test_a_removed_file_is_reported(tmp_path):
    writer = EventFileWriter(tmp_path)
    writer.add_encoded(number(1))
    writer.flush()
    os.remove(files(tmp_path)[0])
    writer.add_encoded(number(2))
    with pytest.raises(tf.errors.NotFoundError, match="the event file was removed, with 1 events"):
        writer.flush()
    writer.add_encoded(number(3))
    writer.close()
    assert steps(tmp_path) == [[3]]


def test_folders_that_cannot_be_written(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(tf.errors.FailedPreconditionError, match="file; "):
        EventFileWriter(tmp_path / "file")
    with pytest.raises(tf.errors.FailedPreconditionError, match="Not a directory"):
        EventFileWriter(tmp_path / "file" / "below")
    with pytest.raises(tf.errors.UnimplementedError, match="File system scheme 'nowhere' not implemented"):
        EventFileWriter("nowhere://bucket/logs")


def test_another_scheme():
    writer = tf.summary.FileWriter("memory://bucket/logs")
    for step in range(3):
        writer.add_summary(tf.Summary(value=[tf.Summary.Value(tag="n", simple_value=step)]), step)
    writer.flush()
    writer.close()
    [path] = tf.gfile.Glob("memory://bucket/logs/*")
    events = list(tf.train.summary_iterator(path))
    assert events[0].file_version == "brain.Event:2" and [e.step for e in events[1:]] == [0, 1, 2]
    tf.gfile.DeleteRecursively("memory://bucket")


def test_a_writer_that_is_dropped_writes_what_it_has(tmp_path):
    writer = EventFileWriter(tmp_path)
    thread = writer._thread
    writer.add_encoded(number(5))
    del writer
    gc.collect()
    thread.join(30)
    assert not thread.is_alive()
    assert steps(tmp_path) == [[5]]


def run_program(folder, end):
    program = f"""
import os
import pathlib
import headrace as tf
writer = tf.summary.FileWriter({str(folder)!r})
for step in range(50):
    writer.add_summary(tf.Summary(value=[tf.Summary.Value(tag='n', simple_value=step)]), step)
{end}
"""
    return subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=100)


def test_a_program_that_fails_without_closing_loses_nothing(tmp_path):
    ended = run_program(tmp_path, "1 / 0")
    assert ended.returncode == 1 and "ZeroDivisionError" in ended.stderr
    assert steps(tmp_path) == [list(range(50))]


def test_a_forked_process_is_told_that_it_has_no_writer(tmp_path):
    ended = run_program(
        tmp_path,
        """
writer.flush()
child = os.fork()
if not child:
    try:
        writer.flush()
    except tf.errors.FailedPreconditionError as error:
        os._exit(7 if 'forked' in str(error) else 8)
    os._exit(9)
print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
writer.close()
""",
    )
    assert ended.stdout.strip() == "7", ended.stderr
    assert steps(tmp_path) == [list(range(50))]


# ---- reading


def test_an_iterator_goes_on_when_more_was_written(tmp_path):
    writer = EventFileWriter(tmp_path)
    writer.add_encoded(number(1))
    writer.flush()
    events = tf.train.summary_iterator(files(tmp_path)[0])
    assert [e.step for e in events] == [0, 1]
    assert list(events) == []
    writer.add_encoded(number(2))
    writer.close()
    assert [e.step for e in events] == [2]


def test_damaged_and_half_written_records(tmp_path):
    writer = EventFileWriter(tmp_path)
    writer.add_encoded(number(1))
    writer.close()
    (path,) = files(tmp_path)
    data = pathlib.Path(path).read_bytes()
    pathlib.Path(path).write_bytes(data[:-3])
    events = summary_iterator(path)
    assert next(events).file_version
    with pytest.raises(tf.errors.DataLossError, match="truncated record at"):
        next(events)
    pathlib.Path(path).write_bytes(data)
    assert next(events).step == 1
    pathlib.Path(path).write_bytes(data[:-6] + b"??" + data[-4:])
    with pytest.raises(tf.errors.DataLossError, match="wrong checksum"):
        list(summary_iterator(path))


def test_no_such_file():
    with pytest.raises(tf.errors.NotFoundError, match="/no/such/file; No such file"):
        summary_iterator("/no/such/file")
