"""The private writer of events: a file by its prefix, from the calling thread."""

from pathlib import Path

import pytest

import headrace as tf
from headrace.resources.file.events_writer import EventsWriter


def test_events_are_read_back(tmp_path: Path) -> None:
    writer = EventsWriter(str(tmp_path / "run").encode())
    assert writer.FileName() == "" and list(tmp_path.iterdir()) == []
    writer.WriteEvent(tf.Event(wall_time=1.0, step=3))
    assert writer.Flush()
    path = writer.FileName()
    assert Path(path).name.startswith("run.out.tfevents.")
    assert [e.step for e in tf.train.summary_iterator(path)] == [0, 3]  # the first says the version
    writer.WriteEvent(tf.Event(step=4))
    assert writer.Close()
    assert [e.step for e in tf.train.summary_iterator(path)] == [0, 3, 4]


def test_another_file(tmp_path: Path) -> None:
    writer = EventsWriter(tmp_path / "run")
    writer.WriteEvent(tf.Event(step=1))
    assert writer.InitWithSuffix(".more")
    writer.WriteEvent(tf.Event(step=2))
    assert writer.FileName().endswith(".more") and writer.Close()
    assert len(list(tmp_path.iterdir())) == 2


def test_what_is_refused(tmp_path: Path) -> None:
    writer = EventsWriter(str(tmp_path / "run"))
    with pytest.raises(TypeError, match="Expected an Event proto, got 3"):
        writer.WriteEvent(3)
    writer.WriteEvent(tf.Event(step=1))
    Path(writer.FileName()).unlink()
    assert not writer.Flush()
    assert not writer.Close()
