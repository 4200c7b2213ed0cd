"""The lease of a job's chief: who takes over, what is restored, who may save.  Real processes: tests/cluster/test_faults.py."""

from __future__ import annotations

import gc
import os
import signal
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from cluster.local_cluster import LocalCluster, local_cluster

import headrace as tf
from headrace.library.train.hook import checkpoint_saver
from headrace.library.train.session import session_creator
from headrace.library.train.session.chief_lease import lease_of_job

WAIT_S = 30.0


@pytest.fixture
def cluster() -> Iterator[LocalCluster]:
    with local_cluster(ps=1, workers=3) as made:
        yield made
    tf.summary.FileWriterCache.clear()


class Program:
    """A process of the job: counts steps, saves every five if it leads."""

    def __init__(self, cluster: LocalCluster, index: int, folder: Any, container: str = "", **options: Any) -> None:
        self.graph = tf.Graph()
        options = {"save_checkpoint_steps": 5, "save_summaries_steps": None, "log_step_count_steps": None} | options
        synchronous = options.pop("synchronous", False)
        with self.graph.as_default(), tf.container(container):
            with tf.device("/job:ps/task:0"):
                self.count = tf.train.get_or_create_global_step()
                if synchronous:
                    tf.FIFOQueue(1, tf.int64, name="sync_token_q")
                self.add = self.count.assign_add(1)
            self.session: Any = tf.train.MonitoredTrainingSession(
                cluster.target("worker", index), index == 0, None if folder is None else str(folder), **options
            )

    def step(self) -> int:
        with self.graph.as_default():
            return int(self.session.run(self.add))

    def takes_over(self) -> None:
        assert self.session._lease.wait(WAIT_S), "the lease does not come"

    def end(self) -> None:
        with self.graph.as_default():
            self.session.close()

    def die(self) -> None:
        """Ends without its hooks, as a process does that is killed."""
        with self.graph.as_default():
            self.session.__exit__(ValueError, ValueError(), None)


def saved(folder: Path) -> int:
    path = tf.train.latest_checkpoint(str(folder))
    return -1 if path is None else int(path.rpartition("-")[2])


def said(caplog: pytest.LogCaptureFixture, text: str) -> list[str]:
    return [r.getMessage() for r in caplog.records if text in r.getMessage()]


def test_a_worker_in_line_takes_over(cluster: LocalCluster, tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    chief, worker = Program(cluster, 0, tmp_path), Program(cluster, 1, tmp_path)
    assert [chief.step(), worker.step(), worker.step()] == [1, 2, 3]
    assert saved(tmp_path) == 0 and not said(caplog, "is the chief from")
    chief.die()
    worker.takes_over()
    assert worker.step() == 4
    assert saved(tmp_path) == 3  # when it took over
    assert not said(caplog, "is the chief from"), "the job may be at its end"
    assert [worker.step() for _ in range(5)] == [5, 6, 7, 8, 9]
    assert said(caplog, "is the chief from") == [
        f"/job:worker/replica:0/task:1 is the chief from global step 3 on (lease 3): it saves to {tmp_path}."
    ]
    assert saved(tmp_path) == 8
    worker.end()
    assert saved(tmp_path) == 9
    state = tf.train.get_checkpoint_state(str(tmp_path))
    assert [path.rpartition("-")[2] for path in state.all_model_checkpoint_paths] == ["0", "3", "8", "9"]


def test_a_worker_that_took_over_and_cannot_save_trains_on(
    cluster: LocalCluster, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    chief, worker = Program(cluster, 0, tmp_path), Program(cluster, 1, tmp_path)
    assert worker.step() == 1
    chief.die()
    for step in (1, 6):  # a file where a folder for shards should be
        (tmp_path / f"model.ckpt-{step}_temp").touch()
    worker.takes_over()
    assert [worker.step() for _ in range(6)] == [2, 3, 4, 5, 6, 7]
    failed = said(caplog, "could not save, trains on, and tries again later")
    assert ["model.ckpt-1_temp" in failed[0], "model.ckpt-6_temp" in failed[1], len(failed)] == [True, True, 2]
    assert saved(tmp_path) == 0
    assert [worker.step() for _ in range(5)] == [8, 9, 10, 11, 12]
    assert saved(tmp_path) == 11
    (tmp_path / "model.ckpt-12_temp").touch()
    with pytest.raises(tf.errors.OpError, match="model.ckpt-12_temp"):  # nobody trains on: what is not saved is lost
        worker.end()


def test_a_chief_that_comes_back_stands_in_line(
    cluster: LocalCluster, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    chief, worker = Program(cluster, 0, tmp_path), Program(cluster, 1, tmp_path)
    worker.step()
    chief.die()
    worker.takes_over()
    assert worker.step() == 2
    chief = Program(cluster, 0, tmp_path)
    (line,) = said(caplog, "is the chief of this job now")
    assert line == (
        "/job:worker/replica:0/task:1 is the chief of this job now. /job:worker/replica:0/task:0 restores nothing, goes on as a "
        "worker, and stands in line."
    )
    assert [chief.step() for _ in range(7)] == [3, 4, 5, 6, 7, 8, 9]
    assert saved(tmp_path) == 1
    assert worker.step() == 10
    assert saved(tmp_path) == 10
    worker.die()
    chief.takes_over()
    assert chief.step() == 11
    chief.end()
    assert saved(tmp_path) == 11


def test_the_line_keeps_its_order(cluster: LocalCluster, tmp_path: Path) -> None:
    chief, *workers = (Program(cluster, index, tmp_path) for index in range(3))
    chief.die()
    workers[0].takes_over()
    assert not workers[1].session._lease.number
    workers[0].end()
    workers[1].takes_over()
    workers[1].end()


def test_without_a_worker_in_line_the_next_chief_goes_on(
    cluster: LocalCluster, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    chief, worker = Program(cluster, 0, tmp_path), Program(cluster, 1, None)
    assert worker.step() == 1
    chief.die()
    assert worker.step() == 2
    chief = Program(cluster, 0, tmp_path)
    assert saved(tmp_path) == 2 and chief.step() == 3
    assert len(said(caplog, "no worker can take over: none was given a checkpoint_dir")) == 1
    worker.end()
    chief.end()


@pytest.mark.parametrize("options", [{"restore": "all"}, {"synchronous": True}])
def test_a_job_of_one_moment_goes_back_with_its_next_chief(
    cluster: LocalCluster, tmp_path: Path, options: dict[str, Any]
) -> None:
    chief, worker = Program(cluster, 0, tmp_path, **options), Program(cluster, 1, None, **options)
    assert worker.step() == 1
    chief.die()
    assert worker.step() == 2
    chief = Program(cluster, 0, tmp_path, **options)
    assert chief.step() == 1
    worker.end()
    chief.end()


def test_a_job_that_is_over_begins_as_in_tensorflow(cluster: LocalCluster, tmp_path: Path) -> None:
    """Nobody has kept the job going: the chief restores, and a worker that comes before it does not take its place."""
    chief = Program(cluster, 0, tmp_path)
    assert [chief.step(), chief.step()] == [1, 2]
    chief.die()
    early = Program(cluster, 1, tmp_path)
    assert early.step() == 3 and not early.session._lease.number
    chief = Program(cluster, 0, tmp_path)
    assert chief.step() == 1
    early.end()
    chief.end()


def test_who_takes_over_restores_what_a_parameter_server_loses(cluster: LocalCluster, tmp_path: Path) -> None:
    chief, worker = Program(cluster, 0, tmp_path), Program(cluster, 1, tmp_path)
    worker.step()
    chief.die()
    worker.takes_over()
    assert [worker.step(), worker.step()] == [2, 3]
    cluster.restart("ps", 0)
    assert worker.step() == 2  # after what it saved when it took over
    worker.end()


@pytest.mark.parametrize("loses_a_server", [False, True])
def test_who_takes_over_with_a_full_disk_goes_on_when_there_is_room(
    cluster: LocalCluster, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture,
    loses_a_server: bool,
) -> None:  # fmt: skip
    """The first save fails, also where it comes while a session is made; nobody asked this program to save."""
    chief, worker = Program(cluster, 0, tmp_path), Program(cluster, 1, tmp_path)
    worker.step()
    with monkeypatch.context() as full:

        def write_graph(*arguments: Any) -> None:
            raise tf.errors.ResourceExhaustedError(None, None, "no space left")

        full.setattr(checkpoint_saver, "write_graph", write_graph)
        chief.die()
        worker.takes_over()
        if loses_a_server:
            cluster.restart("ps", 0)
        worker.step()
    assert said(caplog, "could not save, trains on, and tries again later: no space left")
    for _ in range(6):
        worker.step()
    assert saved(tmp_path) > 0
    worker.end()


def test_chief_and_parameter_server_lost_together(
    cluster: LocalCluster, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nobody has the lease of the new server; a worker that has trained waits for its chief for a while, then leads."""
    monkeypatch.setattr(session_creator, "lost_seconds", lambda: 0.0)
    chief, worker = Program(cluster, 0, tmp_path), Program(cluster, 1, tmp_path)
    assert worker.step() == 1
    chief.end()
    cluster.restart("ps", 0)
    assert worker.step() == 2
    worker.end()
    assert saved(tmp_path) == 2


def test_a_chief_that_loses_the_lease_during_a_save_names_no_checkpoint(
    cluster: LocalCluster, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As one that is stopped there, while another takes over: it goes on as a worker in line."""
    chief, worker = Program(cluster, 0, tmp_path), Program(cluster, 1, tmp_path)
    run_save = tf.train.Saver._run_save
    worker_saved = []

    def stopped(saver: Any, *arguments: Any) -> str:
        prefix = run_save(saver, *arguments)
        if not worker_saved:
            worker_saved.append(None)
            chief.session._lease._session.close()
            worker.takes_over()
            worker_saved[0] = worker.step()
        return prefix

    for _ in range(4):
        chief.step()
    monkeypatch.setattr(tf.train.Saver, "_run_save", stopped)
    assert chief.step() == 7  # its fifth; the worker's; and again, as the session that failed has run its own
    assert worker_saved == [6]
    assert saved(tmp_path) == 5 and chief.session._lease.number == 0
    state = tf.train.get_checkpoint_state(str(tmp_path))
    assert len(state.all_model_checkpoint_paths) == 2
    worker.end()
    chief.end()


def test_the_saver_hooks_of_the_program_stand_in_line_too(cluster: LocalCluster, tmp_path: Path) -> None:
    """As those of an estimator do."""

    class Listener(tf.train.CheckpointSaverListener):
        def __init__(self) -> None:
            self.steps: list[int] = []

        def after_save(self, session: Any, global_step_value: Any) -> None:
            self.steps.append(int(global_step_value))

    listeners = [Listener(), Listener()]

    def program(index: int) -> Program:
        hook = tf.train.CheckpointSaverHook(str(tmp_path), save_steps=2, listeners=[listeners[index]])
        return Program(cluster, index, tmp_path, chief_only_hooks=[hook], save_checkpoint_steps=0)

    with tf.Graph().as_default():
        chief, worker = program(0), program(1)
    worker.step()
    chief.die()
    worker.takes_over()
    worker.step()
    worker.end()
    assert [listener.steps for listener in listeners] == [[0], [1, 2]]


def test_a_session_that_is_dropped_gives_up_the_lease(cluster: LocalCluster, tmp_path: Path) -> None:
    chief, worker = Program(cluster, 0, tmp_path), Program(cluster, 1, tmp_path)
    chief.session._watch.end()  # the handler of SIGTERM is not given back by what is dropped
    del chief
    gc.collect()
    worker.takes_over()
    worker.end()


def test_sigterm_is_kept_for_whoever_is_left(cluster: LocalCluster, tmp_path: Path) -> None:
    chief = Program(cluster, 0, tmp_path)
    assert signal.getsignal(signal.SIGTERM) is not signal.SIG_DFL
    worker = Program(cluster, 1, tmp_path)
    chief.end()
    worker.takes_over()
    assert worker.step() == 1 and signal.getsignal(signal.SIGTERM) is not signal.SIG_DFL
    worker.end()
    assert signal.getsignal(signal.SIGTERM) is signal.SIG_DFL


def test_jobs_in_containers_have_leases_of_their_own(cluster: LocalCluster, tmp_path: Path) -> None:
    programs = [Program(cluster, 0, tmp_path / name, container=name) for name in ("a", "b")]
    assert all(program.session._lease.number for program in programs)
    for program in programs:
        program.end()


def test_events_are_the_chief_s(cluster: LocalCluster, tmp_path: Path) -> None:
    """A worker makes an event file when it takes over, not before."""
    chief = Program(cluster, 0, tmp_path, log_step_count_steps=1, summary_dir=str(tmp_path / "events"))
    worker = Program(cluster, 1, tmp_path, log_step_count_steps=1, summary_dir=str(tmp_path / "late"))
    worker.step()
    assert not (tmp_path / "late").exists() or not os.listdir(tmp_path / "late")
    chief.die()
    worker.takes_over()
    worker.step()
    worker.end()
    assert os.listdir(tmp_path / "late")


def test_who_has_no_lease(cluster: LocalCluster) -> None:
    target = cluster.target("worker", 0)
    with tf.Graph().as_default():
        assert lease_of_job(target, True, True) is None  # without a global step
        tf.train.create_global_step()
        assert lease_of_job(target, True, True) is None  # each process has its own
    with tf.Graph().as_default(), tf.device("/job:ps"):
        tf.train.create_global_step()
        assert lease_of_job("", True, True) is None
        lease = lease_of_job(target, False, True)
        assert lease is not None and lease.who == "/job:worker/replica:0/task:0"
    server = tf.train.Server.create_local_server()
    with tf.Graph().as_default(), tf.device("/job:local/task:0"):
        tf.train.create_global_step()
        assert lease_of_job(server.target, True, True) is None
    server._stop()
