"""What a save of several devices leaves if it fails: nothing, or what the next save removes."""

import errno
import os
import threading
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import headrace as tf
from headrace.core import errors, file
from headrace.library.train.saver import leftovers
from headrace.resources.file.bundle import merge, writer

TWO = tf.ConfigProto(device_count={"CPU": 2})


class Disk:
    """Takes files whose names do not hold ``full``."""

    def __init__(self) -> None:
        self.full = ""
        self._sync = file.sync

    def sync(self, opened: Any) -> None:
        if self.full and self.full in opened.name:
            raise OSError(errno.ENOSPC, "No space left on device")
        self._sync(opened)


@pytest.fixture
def disk(monkeypatch: pytest.MonkeyPatch) -> Disk:
    disk = Disk()
    monkeypatch.setattr(file, "sync", disk.sync)
    return disk


@pytest.fixture
def sess() -> Any:
    for i in range(2):
        with tf.device(f"/cpu:{i}"):
            tf.get_variable(f"v{i}", initializer=np.arange(3, dtype=np.float32) + i)
    with tf.Session(config=TWO) as session:
        session.run(tf.global_variables_initializer())
        yield session


def names(folder: Path) -> list[str]:
    return sorted(os.listdir(folder))


@pytest.mark.parametrize("asynchronous", [False, True])
@pytest.mark.parametrize("full", ["part-00000", "part-00001"])
def test_a_failed_save_leaves_nothing(tmp_path: Path, disk: Disk, sess: Any, full: str, asynchronous: bool) -> None:
    saver = tf.train.Saver(sharded=True, asynchronous=asynchronous)
    saver.save(sess, f"{tmp_path}/model", global_step=1)
    saver.wait()
    before = names(tmp_path)
    disk.full = full
    for step in (2, 3):
        with pytest.raises(errors.ResourceExhaustedError, match=full):
            saver.save(sess, f"{tmp_path}/model", global_step=step)
            saver.wait()
        assert names(tmp_path) == before
    disk.full = ""
    saver.save(sess, f"{tmp_path}/model", global_step=4)
    saver.wait()
    assert tf.train.latest_checkpoint(str(tmp_path)) == f"{tmp_path}/model-4"
    assert not list(tmp_path.glob("*_temp"))


def test_a_merge_that_fails_leaves_no_data(tmp_path: Path, sess: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """The shards have their last names already when the disk has no room for the index."""
    saver = tf.train.Saver(sharded=True)
    saver.save(sess, f"{tmp_path}/model", global_step=1)
    before = names(tmp_path)

    def full(*arguments: Any) -> None:
        raise errors.ResourceExhaustedError(None, None, "No space left on device")

    monkeypatch.setattr(merge, "publish_index", full)
    with pytest.raises(errors.ResourceExhaustedError):
        saver.save(sess, f"{tmp_path}/model", global_step=2)
    assert names(tmp_path) == before
    with pytest.raises(errors.ResourceExhaustedError):
        saver.save(sess, f"{tmp_path}/model", global_step=1)  # the one that is there stays
    assert names(tmp_path) == before
    np.testing.assert_array_equal(tf.train.load_variable(f"{tmp_path}/model-1", "v1"), [1.0, 2.0, 3.0])


def test_a_shard_that_was_still_written_goes_with_the_next_save(
    tmp_path: Path, disk: Disk, sess: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    saver = tf.train.Saver(sharded=True)
    disk.full = "part-00000"
    with pytest.raises(errors.ResourceExhaustedError):
        saver.save(sess, f"{tmp_path}/model", global_step=2)
    late = tmp_path / "model-2_temp"  # another task finishes its shard after the error
    late.mkdir()
    (late / "part-00001-of-00002.data-00000-of-00001").write_bytes(b"late")
    disk.full = ""
    saver.save(sess, f"{tmp_path}/model", global_step=3)
    assert not late.exists()


def left(tmp_path: Path, name: str, age: float) -> Path:
    """What a killed process left that many seconds ago."""
    folder = tmp_path / name
    folder.mkdir()
    part = folder / "part-00000-of-00002.data-00000-of-00001"
    part.write_bytes(b"half")
    for path in (part, folder):
        os.utime(path, (time.time() - age, time.time() - age))
    return folder


def test_what_a_killed_process_left_goes_but_nothing_that_may_still_be_written(tmp_path: Path, sess: Any) -> None:
    old, running = left(tmp_path, "model-7_temp", leftovers.STALE + 60), left(tmp_path, "model-8_temp", 60)
    others = [left(tmp_path, name, 1e6) for name in ("model-x_temp", "models-7_temp", "other_temp")]
    begun = left(tmp_path, "model-9_temp", leftovers.STALE + 60)
    (begun / "part-00001-of-00002.data-00000-of-00001").write_bytes(b"a second shard that is being written")
    os.utime(begun, (1.0, 1.0))
    tf.train.Saver(sharded=True).save(sess, f"{tmp_path}/model", global_step=10)
    assert not old.exists()
    assert all(folder.exists() for folder in (running, begun, *others))


def test_files_that_no_save_wrote_stay(tmp_path: Path, sess: Any) -> None:
    folder = left(tmp_path, "model_temp", 0.0)
    (folder / "notes.txt").write_text("mine")
    os.utime(folder / "notes.txt", (1.0, 1.0))
    os.utime(folder, (1.0, 1.0))
    os.utime(folder / "part-00000-of-00002.data-00000-of-00001", (1.0, 1.0))
    tf.train.Saver(sharded=True).save(sess, f"{tmp_path}/model", global_step=1)
    assert names(folder) == ["notes.txt"]


def test_an_interrupted_save_leaves_nothing(tmp_path: Path, sess: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupt(*arguments: Any) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(writer, "publish_index", interrupt)
    with pytest.raises(KeyboardInterrupt):
        tf.train.Saver(sharded=True).save(sess, f"{tmp_path}/model")
    assert names(tmp_path) == []


def test_a_shard_that_is_written_when_another_is_interrupted_goes_too(
    tmp_path: Path, sess: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    interrupted, make_folder = threading.Event(), file.make_folder
    calls = iter(range(2))

    def one_slow(*arguments: Any, **named: Any) -> None:
        if next(calls) == 0:
            make_folder(*arguments, **named)
            time.sleep(0.1)  # the other has begun
            interrupted.set()
            raise KeyboardInterrupt
        assert interrupted.wait(60)
        time.sleep(0.1)
        make_folder(*arguments, **named)

    monkeypatch.setattr(file, "make_folder", one_slow)
    with pytest.raises(KeyboardInterrupt):
        tf.train.Saver(sharded=True).save(sess, f"{tmp_path}/model")
    time.sleep(0.5)
    assert names(tmp_path) == []
