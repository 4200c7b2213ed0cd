"""tf.train.Saver(asynchronous=True): a copy immediately, files later, errors not lost, exits that wait."""

import logging
import os
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from running import initialized_session as session

import headrace as tf
from headrace.core import errors, file
from headrace.eager.context import eager_mode
from headrace.library.train.saver import background


class Disk:
    """Lets files be synced only while it is open."""

    def __init__(self) -> None:
        self.open = threading.Event()
        self.error: OSError | None = None

    def sync(self, opened: Any) -> None:
        assert self.open.wait(30)
        if self.error is not None:
            raise self.error


@pytest.fixture
def disk(monkeypatch: pytest.MonkeyPatch) -> Iterator[Disk]:
    disk = Disk()
    monkeypatch.setattr(file, "sync", disk.sync)
    yield disk
    disk.open.set()


def test_the_file_has_the_values_of_the_moment(tmp_path: Path, disk: Disk) -> None:
    v = tf.Variable(tf.zeros([1000]), name="v")
    words = tf.Variable(["a", "b"], name="words")
    half = tf.Variable(tf.cast([1.5, 2.5], tf.bfloat16), name="half")
    add, change = v.assign_add(tf.ones([1000])).op, words.assign(["c", "d"]).op
    saver = tf.train.Saver(asynchronous=True)
    with session() as sess:
        path = saver.save(sess, f"{tmp_path}/model", global_step=3)
        assert path == f"{tmp_path}/model-3"
        assert tf.train.latest_checkpoint(str(tmp_path)) is None  # it is not on the disk
        assert saver.last_checkpoints == []
        sess.run([add, change])
        disk.open.set()
        saver.wait()
        assert tf.train.latest_checkpoint(str(tmp_path)) == path
        assert saver.last_checkpoints == [path]
        assert os.path.exists(f"{path}.meta")
        reader = tf.train.load_checkpoint(path)
        assert not reader.get_tensor("v").any()
        assert reader.get_tensor("words").tolist() == [b"a", b"b"]
        saver.restore(sess, path)
        assert sess.run(half).tolist() == [1.5, 2.5]
    saver.wait()  # nothing is left


def test_the_session_may_be_closed_meanwhile(tmp_path: Path, disk: Disk) -> None:
    tf.Variable([1.0, 2.0], name="v")
    saver = tf.train.Saver(asynchronous=True)
    with session() as sess:
        path = saver.save(sess, f"{tmp_path}/model")
    disk.open.set()
    saver.wait()
    assert tf.train.load_variable(path, "v").tolist() == [1.0, 2.0]


def test_a_second_save_waits_for_the_first_and_says_so(
    tmp_path: Path, disk: Disk, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(background, "SAY_AFTER", 0.01)
    logging.getLogger("tensorflow").propagate = True
    v = tf.Variable(1.0, name="v")
    saver = tf.train.Saver(asynchronous=True, max_to_keep=2)
    with session() as sess:
        first = saver.save(sess, f"{tmp_path}/model", global_step=1)
        sess.run(v.assign(2.0).op)
        threading.Timer(0.1, disk.open.set).start()
        for number in (2, 3):
            saver.save(sess, f"{tmp_path}/model", global_step=number)
        saver.wait()
    assert f"waiting for the checkpoint {first}, which is being written for" in caplog.text
    assert sorted(p.name for p in tmp_path.glob("*.index")) == ["model-2.index", "model-3.index"]
    assert saver.last_checkpoints == [f"{tmp_path}/model-2", f"{tmp_path}/model-3"]
    assert tf.train.load_variable(f"{tmp_path}/model-3", "v") == 2.0


def test_an_error_comes_with_the_next_call_and_the_line_of_the_save(tmp_path: Path, disk: Disk) -> None:
    tf.Variable(1.0, name="v")
    saver = tf.train.Saver(asynchronous=True)
    with session() as sess:
        disk.open.set()
        good = saver.save(sess, f"{tmp_path}/model", global_step=1)
        saver.wait()
        for again in (saver.wait, lambda: saver.save(sess, f"{tmp_path}/model", global_step=3)):
            disk.error = OSError(28, "No space left on device")
            saver.save(sess, f"{tmp_path}/model", global_step=2)
            with pytest.raises(
                errors.ResourceExhaustedError, match=r"model-2, saved at \S+test_saver_asynchronous.py:\d+, was not"
            ):
                again()
            assert tf.train.latest_checkpoint(str(tmp_path)) == good
            assert not (tmp_path / "model-2.index").exists()
        disk.error = None
        saver.wait()  # an error is raised once
        saver.save(sess, f"{tmp_path}/model", global_step=4)
        saver.restore(sess, f"{tmp_path}/model-4")  # waits for what is being written


def test_shards_and_partitions(tmp_path: Path, disk: Disk) -> None:
    disk.open.set()
    with tf.device("/cpu:0"):
        tf.get_variable("a", initializer=np.arange(3.0, dtype=np.float32))
    with tf.device("/cpu:1"):
        tf.get_variable("b", [4, 2], initializer=tf.ones_initializer(), partitioner=tf.fixed_size_partitioner(2))
    saver = tf.train.Saver(sharded=True, asynchronous=True)
    with tf.Session(config=tf.ConfigProto(device_count={"CPU": 2})) as sess:
        sess.run(tf.global_variables_initializer())
        path = saver.save(sess, f"{tmp_path}/model")
        saver.wait()
    assert len(list(tmp_path.glob("model.data-*-of-00002"))) == 2
    assert not (tmp_path / "model_temp").exists()
    assert tf.train.list_variables(path) == [("a", [3]), ("b", [4, 2])]


def test_eagerly(tmp_path: Path, disk: Disk) -> None:
    with eager_mode():
        v = tf.Variable([1.0, 2.0], name="v")
        saver = tf.train.Saver([v], asynchronous=True)
        path = saver.save(None, f"{tmp_path}/model")
        v.assign([0.0, 0.0])
        disk.open.set()
        saver.wait()
        saver.restore(None, path)
        assert v.numpy().tolist() == [1.0, 2.0]


@pytest.mark.parametrize("ending", ["", "raise KeyboardInterrupt", "sys.exit(3)"])
def test_the_program_ends_when_the_checkpoint_is_written(tmp_path: Path, ending: str) -> None:
    program = f"""
import sys, time
import headrace as tf
from headrace.core import file
sync = file.sync
file.sync = lambda opened: (time.sleep(0.3), sync(opened))
tf.Variable([1.0, 2.0], name="v")
saver = tf.train.Saver(asynchronous=True)
with tf.Session() as sess:
    sess.run(tf.global_variables_initializer())
    saver.save(sess, {str(tmp_path / "model")!r})
print("saved", flush=True)
{ending}
"""
    ended = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=60)
    assert ended.stdout == "saved\n"
    assert "the program ends when the checkpoint" in ended.stderr
    assert tf.train.latest_checkpoint(str(tmp_path)) == f"{tmp_path}/model"
    assert tf.train.load_variable(str(tmp_path / "model"), "v").tolist() == [1.0, 2.0]
