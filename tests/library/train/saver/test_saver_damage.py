"""Damaged files, full disks, folders that cannot be written: a clear error, no variable changed, the older checkpoint usable."""

import errno
import os
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import headrace as tf
from headrace.core import file

SETTINGS = settings(
    deadline=None, max_examples=150, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow]
)
VALUES = {"a": np.arange(40, dtype=np.float32), "b": np.array([1, 2, 3], np.int64), "s": np.array(b"text", object)}


class Job:
    """Variables, a saver, and two checkpoints, whose files can be damaged; the files are made again for each example."""

    def __init__(self, folder: Path) -> None:
        self.folder, self._originals = folder / "now", folder / "originals"
        self._originals.mkdir()
        self.variables = [tf.Variable(value, name=name) for name, value in VALUES.items()]
        self.clear = [v.assign(tf.zeros_like(v)) for v in self.variables[:2]]
        self.clear.append(self.variables[2].assign("cleared"))
        self.saver = tf.train.Saver(save_relative_paths=True)
        self.session = tf.Session()
        self.session.run(tf.global_variables_initializer())
        for step in (1, 2):
            self.saver.save(self.session, f"{self._originals}/model", global_step=step)

    def renew(self) -> None:
        shutil.rmtree(self.folder, ignore_errors=True)
        shutil.copytree(self._originals, self.folder)
        self.session.run(self.clear)

    def values(self) -> list[Any]:
        return [np.asarray(value).tolist() for value in self.session.run(self.variables)]

    def is_cleared(self) -> bool:
        return self.values() == [[0.0] * 40, [0, 0, 0], b"cleared"]

    def is_restored(self) -> bool:
        return self.values() == [value.tolist() for value in VALUES.values()]


@pytest.fixture
def job(tmp_path: Path) -> Iterator[Job]:
    made = Job(tmp_path)
    yield made
    made.session.close()


def damaged(data: Any, contents: bytes) -> bytes:
    """Bytes changed, lost at the end, lost in the middle, or added."""
    place = data.draw(st.integers(0, len(contents) - 1), "place")
    what = data.draw(st.sampled_from(["change", "cut", "leave out", "add"]), "what")
    some = data.draw(st.binary(min_size=1, max_size=8), "bytes")
    if what == "change":
        return contents[:place] + some + contents[place + len(some) :]
    if what == "cut":
        return contents[:place]
    return (
        contents[:place] + contents[place + len(some) :]
        if what == "leave out"
        else contents[:place] + some + contents[place:]
    )


@pytest.mark.parametrize("name", ["model-2.index", "model-2.data-00000-of-00001"])
@SETTINGS
@given(data=st.data())
def test_a_damaged_checkpoint(job: Job, name: str, data: Any) -> None:
    job.renew()
    path = job.folder / name
    path.write_bytes(damaged(data, path.read_bytes()))
    try:
        job.saver.restore(job.session, f"{job.folder}/model-2")
    except (tf.errors.OpError, ValueError) as error:
        assert f"{job.folder}/model-2" in str(error), error
        assert job.is_cleared()
    else:
        assert job.is_restored()
    job.saver.restore(job.session, f"{job.folder}/model-1")
    assert job.is_restored()


@SETTINGS
@given(data=st.data())
def test_a_damaged_file_of_names(job: Job, data: Any) -> None:
    """The latest checkpoint is none, or one that is there."""
    job.renew()
    path = job.folder / "checkpoint"
    path.write_bytes(damaged(data, path.read_bytes()))
    try:
        latest = tf.train.latest_checkpoint(job.folder)
    except ValueError as error:
        assert f"Invalid checkpoint state loaded from {job.folder}" in str(error)
        latest = None
    assert latest is None or tf.train.checkpoint_exists(latest)
    job.saver.restore(job.session, f"{job.folder}/model-1")
    assert job.is_restored()


def test_a_file_of_names_with_an_escape_that_none_knows(job: Job) -> None:
    job.renew()
    (job.folder / "checkpoint").write_text('model_checkpoint_path: "\\odel-2"\n')
    assert tf.train.latest_checkpoint(job.folder) is None


@SETTINGS
@given(data=st.data())
def test_a_damaged_meta_graph(job: Job, data: Any) -> None:
    """The error names the file, unless the bytes still make a graph."""
    job.renew()
    path = job.folder / "model-2.meta"
    path.write_bytes(damaged(data, path.read_bytes()))
    with tf.Graph().as_default() as graph:
        try:
            tf.train.import_meta_graph(str(path))
        except (OSError, ValueError) as error:
            assert str(path) in str(error), error
        else:
            assert isinstance(graph.as_graph_def().node, object)


# ---- what does not fit


def test_what_the_errors_say(job: Job) -> None:
    job.renew()
    prefix = f"{job.folder}/model-2"
    os.remove(f"{prefix}.data-00000-of-00001")
    with pytest.raises(tf.errors.NotFoundError, match=f"{prefix}.data-00000-of-00001; No such file"):
        job.saver.restore(job.session, prefix)
    os.remove(f"{prefix}.index")
    with pytest.raises(ValueError, match=f"not a valid checkpoint: {prefix}"):
        job.saver.restore(job.session, prefix)
    assert job.is_cleared()
    assert tf.train.latest_checkpoint(job.folder) is None


# ---- saving where it cannot be


class Quota:
    """A disk with room for that many bytes.  Files of this machine are opened by `open` in the door to files."""

    def __init__(self, room: int) -> None:
        self.room = room

    def open(self, path: str, mode: str, buffering: int = -1) -> Any:
        return open(path, mode, buffering) if mode == "rb" else _Limited(open(path, mode, buffering), self)


class _Limited:
    def __init__(self, opened: Any, quota: Quota) -> None:
        self._opened, self._quota = opened, quota

    def write(self, data: Any) -> int:
        self._quota.room -= len(data)
        if self._quota.room < 0:
            raise OSError(errno.ENOSPC, "No space left on device")
        return int(self._opened.write(data))

    def __getattr__(self, name: str) -> Any:
        return getattr(self._opened, name)

    def __enter__(self) -> Any:
        return self

    def __exit__(self, *error: object) -> None:
        self._opened.close()


@pytest.mark.parametrize("step", [1, 3])
def test_a_disk_that_fills_up(job: Job, monkeypatch: pytest.MonkeyPatch, step: int) -> None:
    """Whatever still fits: an error with the file, the older checkpoint, and no other file; or a whole checkpoint."""
    job.renew()
    outcomes = set()
    for room in [*range(0, 1200, 60), *range(1200, 20_000, 1000)]:
        job.renew()
        before = sorted(os.listdir(job.folder))
        with monkeypatch.context() as patch:
            patch.setattr(file, "open", Quota(room).open, raising=False)
            try:
                job.saver.save(job.session, f"{job.folder}/model", global_step=step)
            except tf.errors.ResourceExhaustedError as error:
                assert f"{job.folder}/" in str(error) and "No space left on device" in str(error)
                outcomes.add(str(error).partition("; ")[0].rpartition(".")[2][:4])
                assert [n for n in os.listdir(job.folder) if ".tempstate" in n] == []
                if "data" in str(error):
                    assert sorted(os.listdir(job.folder)) == before
            else:
                outcomes.add("saved")
        for path in job.folder.glob("*.index"):
            job.saver.restore(job.session, str(path).removesuffix(".index"))
        assert tf.train.latest_checkpoint(job.folder) is not None
    assert {"data", "inde", "saved"} <= outcomes


@pytest.mark.parametrize(
    ("number", "error"),
    [(errno.EROFS, tf.errors.PermissionDeniedError), (errno.EACCES, tf.errors.PermissionDeniedError)],
)
def test_a_folder_that_cannot_be_written(
    job: Job, monkeypatch: pytest.MonkeyPatch, number: int, error: type[Exception]
) -> None:
    job.renew()
    before = sorted(os.listdir(job.folder))

    def read_only(path: str, mode: str, buffering: int = -1) -> Any:
        if mode == "rb":
            return open(path, mode, buffering)
        raise OSError(number, os.strerror(number))

    with monkeypatch.context() as patch:
        patch.setattr(file, "open", read_only, raising=False)
        with pytest.raises(error, match=f"{job.folder}/model-3.data-00000-of-00001; {os.strerror(number)}"):
            job.saver.save(job.session, f"{job.folder}/model", global_step=3)
    assert sorted(os.listdir(job.folder)) == before
    job.saver.restore(job.session, str(tf.train.latest_checkpoint(job.folder)))
