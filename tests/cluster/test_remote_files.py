"""tf.train.Saver(asynchronous=True) over several tasks: each copies and writes its own shard; errors are not lost."""

from __future__ import annotations

import os
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from cluster.local_cluster import LocalCluster, local_cluster

import headrace as tf
from headrace.cluster import remote_files
from headrace.core import errors, file

pytestmark = pytest.mark.allow_leaks(reason="the servers live as long as the module")

PS = [f"/job:ps/replica:0/task:{i}" for i in range(2)]


@pytest.fixture(scope="module")
def cluster() -> Iterator[LocalCluster]:
    with local_cluster(ps=2, workers=1) as one:
        yield one


@pytest.fixture(autouse=True)
def _nothing_is_left(cluster: LocalCluster) -> Iterator[None]:
    yield
    assert not remote_files._unwritten
    for index in range(2):
        for session in cluster.server("ps", index)._service._sessions.values():
            assert not session.partitions._unwritten


class Disk:
    """Lets files be synced only while it is open; files whose names have ``broken`` in them fail."""

    def __init__(self) -> None:
        self.open, self.reached = threading.Event(), threading.Event()
        self.broken = ""

    def sync(self, opened: Any) -> None:
        self.reached.set()
        assert self.open.wait(30)
        if self.broken and self.broken in opened.name:
            raise OSError(28, "No space left on device", opened.name)


@pytest.fixture
def disk(monkeypatch: pytest.MonkeyPatch) -> Iterator[Disk]:
    disk = Disk()
    monkeypatch.setattr(file, "sync", disk.sync)
    yield disk
    disk.open.set()


def counters() -> tuple[list[Any], Any]:
    made, adds = [], []
    for task, device in enumerate([*PS, "/job:worker/replica:0/task:0"]):
        with tf.device(device):
            made.append(tf.Variable(tf.zeros([1000]), name=f"v{task}"))
            adds.append(made[-1].assign_add(tf.ones([1000])).op)
    return made, tf.group(*adds)


def saved(path: str) -> list[float]:
    return [float(tf.train.load_variable(path, f"v{task}")[-1]) for task in range(3)]


@pytest.mark.parametrize("consistent", [False, True])
@pytest.mark.parametrize("sharded", [False, True])
def test_files_have_the_values_of_the_moment(
    cluster: LocalCluster, tmp_path: Path, disk: Disk, sharded: bool, consistent: bool
) -> None:
    variables, add = counters()
    saver = tf.train.Saver(variables, sharded=sharded, asynchronous=True, consistent=consistent)
    with tf.Session(cluster.target("worker", 0)) as session:
        session.run(tf.global_variables_initializer())
        session.run(add)
        path = saver.save(session, f"{tmp_path}/model", global_step=3)
        session.run(add)  # is not in it
        assert disk.reached.wait(30)
        assert tf.train.latest_checkpoint(str(tmp_path)) is None
        disk.open.set()
        saver.wait()
        assert tf.train.latest_checkpoint(str(tmp_path)) == path
        assert saved(path) == [1.0, 1.0, 1.0] and saver.last_save.torn == ()
        assert len(list(tmp_path.glob("*.data-*"))) == (3 if sharded else 1)
        assert not (tmp_path / "model-3_temp").exists()
        saver.restore(session, path)
        assert session.run(variables[0])[0] == 1.0


def test_a_saver_of_an_imported_graph(cluster: LocalCluster, tmp_path: Path) -> None:
    variables, add = counters()
    meta = tf.train.export_meta_graph(saver_def=tf.train.Saver(variables, sharded=True).saver_def)
    with tf.Graph().as_default() as graph:
        tf.train.import_meta_graph(meta)
        saver = tf.train.Saver(saver_def=meta.saver_def, asynchronous=True, consistent=True)
        with tf.Session(cluster.target("worker", 0), graph=graph) as session:
            session.run(tf.global_variables_initializer())
            session.run(graph.get_operation_by_name(add.name))
            path = saver.save(session, f"{tmp_path}/model")
        # The session waits for what the tasks write.
        saver.wait()
    assert saved(path) == [1.0, 1.0, 1.0]


def test_a_task_that_has_no_room(cluster: LocalCluster, tmp_path: Path, disk: Disk) -> None:
    """The error comes with the next save and the line of this one; nothing of it stays."""
    variables, _ = counters()
    saver = tf.train.Saver(variables, sharded=True, asynchronous=True)
    disk.open.set()
    with tf.Session(cluster.target("worker", 0)) as session:
        session.run(tf.global_variables_initializer())
        first = saver.save(session, f"{tmp_path}/model", global_step=1)
        saver.wait()
        disk.broken = "part-00001-of-00003"
        saver.save(session, f"{tmp_path}/model", global_step=2)
        with pytest.raises(
            errors.ResourceExhaustedError, match=r"model-2, saved at .*test_remote_files\.py:\d+, was not written"
        ):
            saver.save(session, f"{tmp_path}/model", global_step=3)
        assert tf.train.latest_checkpoint(str(tmp_path)) == first
        disk.broken = ""
        last = saver.save(session, f"{tmp_path}/model", global_step=4)
        saver.wait()
        assert tf.train.latest_checkpoint(str(tmp_path)) == last
    assert not [name for name in os.listdir(tmp_path) if "model-2" in name or "model-3" in name]


def test_a_step_that_fails_leaves_nothing_to_be_written(cluster: LocalCluster, tmp_path: Path) -> None:
    variables, _ = counters()
    saver = tf.train.Saver(variables, sharded=True, asynchronous=True)
    with tf.Session(cluster.target("worker", 0)) as session:
        session.run([variables[0].initializer, variables[2].initializer])
        session.run(tf.variables_initializer([variables[1]]))
        missing = tf.train.Saver([*variables, *_uninitialized()], sharded=True, asynchronous=True)
        with pytest.raises(errors.FailedPreconditionError):
            missing.save(session, f"{tmp_path}/model")
        saver.save(session, f"{tmp_path}/model")
        saver.wait()


def _uninitialized() -> list[Any]:
    with tf.device(PS[1]):
        return [tf.Variable(1.0, name=f"never_initialized_{os.getpid()}")]


def test_a_server_that_is_lost_while_it_writes(tmp_path: Path, disk: Disk) -> None:
    with local_cluster(ps=2, workers=1) as cluster:
        variables, _ = counters()
        saver = tf.train.Saver(variables, sharded=True, asynchronous=True)
        with tf.Session(cluster.target("worker", 0)) as session:
            session.run(tf.global_variables_initializer())
            saver.save(session, f"{tmp_path}/model")
            assert disk.reached.wait(30)
            server = cluster.server("ps", 1)
            server._service.endpoint.close()
            disk.open.set()
            with pytest.raises(errors.UnavailableError, match=r"model, saved at .*was not written.*ps"):
                saver.wait()
    assert tf.train.latest_checkpoint(str(tmp_path)) is None


# ---- a disk of each task


def flip(path: Path) -> None:
    """Damages a file without changing its size."""
    data = bytearray(path.read_bytes())
    data[-1] ^= 1
    path.write_bytes(bytes(data))


@pytest.fixture
def local(tmp_path: Path) -> Path:
    folder = tmp_path / "fast"
    folder.mkdir()
    return folder


@pytest.mark.parametrize("sharded", [False, True])
def test_files_are_on_the_local_disk_first_and_restored_from_there(
    cluster: LocalCluster, tmp_path: Path, local: Path, sharded: bool
) -> None:
    variables, add = counters()
    slow = tmp_path / "slow"
    slow.mkdir()
    saver = tf.train.Saver(variables, sharded=sharded, asynchronous=True, local_dir=str(local))
    with tf.Session(cluster.target("worker", 0)) as session:
        session.run(tf.global_variables_initializer())
        for number in range(4):
            session.run(add)
            path = saver.save(session, f"{slow}/model", global_step=number)
        saver.wait()
        assert tf.train.latest_checkpoint(str(slow)) == path and saved(path) == [4.0] * 3
        count = 3 if sharded else 1
        for folder, checkpoints in ((slow, 4), (local, 2)):  # old ones go
            assert len(list(folder.rglob("model-*.data-*"))) == checkpoints * count
            assert len(list(folder.rglob("model-*.index"))) == checkpoints
        assert not list(local.rglob("shard-*"))
        for data in slow.glob("model-3.data-*"):
            flip(data)
        saver.restore(session, path)  # from the local disk
        assert [float(value[0]) for value in session.run(variables)] == [4.0] * 3
        with pytest.raises(errors.DataLossError):
            tf.train.Saver(variables).restore(session, path)
        flip(next(local.rglob("model-3.index")))  # it is not that of the checkpoint any more
        with pytest.raises(errors.DataLossError, match=str(slow)):
            saver.restore(session, path)
        saver.restore(session, saver.last_checkpoints[0])  # which is not on the local disk any more
        assert float(session.run(variables[1])[0]) == 1.0


def test_a_copy_that_fails_leaves_nothing_on_the_local_disk(
    cluster: LocalCluster, tmp_path: Path, local: Path, disk: Disk
) -> None:
    variables, _ = counters()
    saver = tf.train.Saver(variables, sharded=True, asynchronous=True, local_dir=str(local))
    disk.open.set()
    disk.broken = "part-00001-of-00003"
    with tf.Session(cluster.target("worker", 0)) as session:
        session.run(tf.global_variables_initializer())
        saver.save(session, f"{tmp_path}/model")
        with pytest.raises(errors.ResourceExhaustedError, match="part-00001-of-00003"):
            saver.wait()
        disk.broken = ""
        saver.save(session, f"{tmp_path}/model")
        saver.wait()
    assert sorted(path.name.partition(".")[0] for path in local.rglob("*.*")) == ["model"] * 4


def test_a_local_folder_that_cannot_be(cluster: LocalCluster, tmp_path: Path) -> None:
    variables, _ = counters()
    with pytest.raises(ValueError, match=r"local_dir='/fast' is for Saver\(asynchronous=True\).*test_remote_files\.py"):
        tf.train.Saver(variables, local_dir="/fast")
    with pytest.raises(TypeError, match=r"local_dir must be the path of a folder on each task, got 3 "):
        tf.train.Saver(variables, asynchronous=True, local_dir=3)
    saver = tf.train.Saver(variables, sharded=True, asynchronous=True, local_dir=f"{tmp_path}/missing")
    with tf.Session(cluster.target("worker", 0)) as session:
        session.run(tf.global_variables_initializer())
        with pytest.raises(
            errors.NotFoundError, match=r"missing'\): there is no such folder on this task(.|\n)*on /job:"
        ):
            saver.save(session, f"{tmp_path}/model")
