"""Copies of parameter servers' variables in each other's memory: what is restored from them, and when they are not taken.

Killed and stopped processes: tests/cluster/test_faults.py.
"""

from __future__ import annotations

import random
import re
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from cluster.local_cluster import LocalCluster, local_cluster

import headrace as tf
from headrace.library.train.session.copies_hook import CopiesHook
from headrace.library.train.session.server_copies import ServerCopies
from headrace.resources.state.memory_copy import MemoryCopies
from headrace.resources.state.variable import Variable


@pytest.fixture
def cluster() -> Iterator[LocalCluster]:
    with local_cluster(ps=3, workers=2) as made:
        yield made
    tf.summary.FileWriterCache.clear()


@pytest.fixture(autouse=True)
def copies_when_told(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """No thread makes copies, except in tests about it: others say when there is one."""
    if "beside" not in request.node.name:
        monkeypatch.setattr(CopiesHook, "_lead", lambda hook: None)


class Program:
    """A process of a job with one variable on each server; each step adds one to all of them."""

    def __init__(
        self, cluster: LocalCluster, folder: Any, servers: int = 3, index: int = 0, shape: int = 2, **options: Any
    ) -> None:
        self.graph = tf.Graph()
        options = {
            "save_checkpoint_steps": 1000, "save_summaries_steps": None, "log_step_count_steps": None, "copies_steps": 1000,
        } | options  # fmt: skip
        with self.graph.as_default():
            with tf.device("/job:ps/task:0"):
                self.count = tf.train.get_or_create_global_step()
            self.variables = []
            for task in range(servers):
                with tf.device(f"/job:ps/task:{task}"):
                    self.variables.append(
                        tf.get_variable(f"v{task}", initializer=tf.zeros([shape]), use_resource=task == 1)
                    )
            added = [v.assign_add(tf.ones([shape]), use_locking=True) for v in self.variables]
            with tf.device("/job:ps/task:0"), tf.control_dependencies(added):
                self.add = self.count.assign_add(1, use_locking=True)
            self.session: Any = tf.train.MonitoredTrainingSession(
                cluster.target("worker", index), index == 0, None if folder is None else str(folder), **options
            )
        if options["copies_steps"] == 1000 and index == 0:
            self.copies.copy()

    @property
    def copies(self) -> ServerCopies:
        copies: ServerCopies = self.session._copies.copies
        return copies

    def steps(self, count: int) -> int:
        with self.graph.as_default():
            return [int(self.session.run(self.add)) for _ in range(count)][-1]

    def save(self) -> None:
        with self.graph.as_default():
            (hook,) = [hook for hook in self.session._hooks if getattr(hook, "saves", False)]
            hook._hook._save(self.session._tf_sess(), self.session.run(self.count))

    def values(self) -> list[float]:
        with self.graph.as_default():
            return [float(value[0]) for value in self.session.run(self.variables)]

    def takes_over(self) -> None:
        assert self.session._lease.wait(30.0), "the lease does not come"

    def end(self) -> None:
        with self.graph.as_default():
            self.session.close()

    def die(self) -> None:
        """Ends without its hooks, as a process does that is killed."""
        with self.graph.as_default():
            self.session.__exit__(ValueError, ValueError(), None)


def said(caplog: pytest.LogCaptureFixture, text: str) -> list[str]:
    return [r.getMessage() for r in caplog.records if text in r.getMessage()]


def kept(cluster: LocalCluster) -> list[tuple[str, list[int]]]:
    """What is in the memory of each server: whose copies, and the global steps that they are of."""
    several = all_copies(cluster)
    return [
        (one.name[-6:], [generation.step for generation in one._generations]) for one in several if one._generations
    ]


def all_copies(cluster: LocalCluster) -> list[MemoryCopies]:
    servers = [cluster.server("ps", task)._service.worker.resources for task in range(3)]
    return [copies for resources in servers for _, _, copies in resources.everything_of(MemoryCopies)]


def test_a_lost_server_gets_its_variables_from_the_next_one(
    cluster: LocalCluster, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    program = Program(cluster, tmp_path)
    program.steps(3)
    program.copies.copy()
    program.steps(2)
    cluster.restart("ps", 1)
    assert program.values() == [5.0, 3.0, 5.0]
    (line,) = said(caplog, "two moments")
    assert (
        "1 variables were lost and have the values of copies in memory, of global step 3; 3 others kept theirs" in line
    )
    assert "of global step 5. The lost ones go back by 2 steps." in line
    assert program.steps(1) == 6
    program.end()


def test_the_server_of_the_global_step_and_of_the_lease(cluster: LocalCluster, tmp_path: Path) -> None:
    program = Program(cluster, tmp_path)
    program.steps(3)
    program.copies.copy()
    program.steps(2)
    cluster.restart("ps", 0)
    assert program.values() == [3.0, 5.0, 5.0] and program.steps(1) == 4
    program.end()


def test_without_a_folder_copies_are_all_there_is(cluster: LocalCluster) -> None:
    program = Program(cluster, None)
    program.steps(3)
    program.copies.copy()
    cluster.restart("ps", 2)
    assert program.values() == [3.0, 3.0, 3.0]
    program.end()


def test_a_file_that_is_newer_is_taken(cluster: LocalCluster, tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    program = Program(cluster, tmp_path)
    program.steps(3)
    program.copies.copy()
    program.steps(1)
    program.save()
    program.steps(1)
    cluster.restart("ps", 1)
    assert program.values() == [5.0, 4.0, 5.0]
    assert "model.ckpt-4, of global step 4" in said(caplog, "two moments")[0]
    program.end()


def test_a_job_that_restores_everything_goes_back_to_one_step(
    cluster: LocalCluster, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """Each server keeps its own copies too: those of the lost one's neighbour were lost with it."""
    program = Program(cluster, tmp_path, restore="all")
    program.steps(3)
    program.copies.copy()
    program.steps(2)
    cluster.restart("ps", 1)
    assert program.values() == [3.0, 3.0, 3.0] and program.steps(1) == 4
    assert said(caplog, "were restored") == [
        "All variables were restored from copies in memory, of global step 3. Lost: 2 steps."
    ]
    program.end()


def test_steps_that_are_lost_with_the_global_step(
    cluster: LocalCluster, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """Nobody knows them exactly, but the chief has seen some of them."""
    program = Program(cluster, tmp_path, restore="all")
    program.steps(3)
    program.copies.copy()
    program.steps(2)
    cluster.restart("ps", 0)
    assert program.values() == [3.0, 3.0, 3.0]
    (line,) = said(caplog, "were restored")
    assert re.search(r"copies in memory, of global step 3\. Lost: at least [12] steps\.", line)
    program.end()


def test_copies_of_a_job_that_restores_everything_are_of_one_moment(cluster: LocalCluster, tmp_path: Path) -> None:
    """While others train: each step adds one to three variables and the global step, on three servers."""
    chief, worker = (Program(cluster, tmp_path, index=index, restore="all") for index in range(2))
    over = threading.Event()

    def train() -> None:
        while not over.is_set():
            worker.steps(1)

    thread = threading.Thread(target=train)
    thread.start()
    try:
        last = chief.copies._last
        for _ in range(10):
            while chief.copies._last == last:
                chief.copies.copy()
            last = chief.copies._last
            assert last is not None
            newest = [copies.take(last.number, copies._generations[-1].layout) for copies in all_copies(cluster)]
            assert {float(value.reshape(-1)[0]) for values in newest for value in values} == {last.step}
            assert len(newest) == 6
    finally:
        over.set()
        thread.join()
    worker.end()
    chief.end()


@pytest.mark.parametrize("restore", ["missing", "all"])
def test_of_a_large_table_only_rows_that_were_written_are_sent(cluster: LocalCluster, restore: str) -> None:
    """But for the first two copies, which have nothing to begin with."""
    rows = 20_000
    with tf.device("/job:ps/task:0"):
        step = tf.train.create_global_step()
    with tf.device("/job:ps/task:1"):
        table = tf.get_variable("table", initializer=tf.zeros([rows, 16]))
        few, many = tf.placeholder(tf.int32, [None]), table.assign_add(tf.ones([rows, 16]))
        write = tf.scatter_add(table, few, tf.ones([tf.size(few), 16]))
    with tf.device("/job:ps/task:0"):
        count = step.assign_add(1)

    def sent() -> int:
        return cluster.bytes_between(("ps", 1), ("ps", 0))

    draw = random.Random(1)
    with tf.train.MonitoredTrainingSession(
        cluster.target("worker", 0), copies_steps=10**6, restore=restore, log_step_count_steps=None
    ) as sess:
        copies = sess._copies.copies
        for turn in range(12):
            dense = turn == 6
            sess.run(many.op) if dense else sess.run(write.op, {few: [draw.randrange(rows) for _ in range(50)]})
            sess.run(count)
            before = sent()
            copies.copy()
            large = sent() - before > rows * 16 * 4
            assert large == (turn in (0, 1, 6, 7)), turn  # a generation is made of the one before the last
            expected, number = sess.run(table), copies._last.number
            for one in all_copies(cluster):
                if one.name.endswith("task:1"):
                    (value,) = one.take(number, one._generations[-1].layout)
                    assert value.numpy().tobytes() == expected.tobytes()
        cluster.restart("ps", 1)
        assert sess.run(table).tobytes() == expected.tobytes()
        sess.run(count)
        copies.copy()
        (variable,) = variables(cluster)
        assert variable.touched is not None
    assert variable.touched is None


def variables(cluster: LocalCluster) -> list[Variable]:
    resources = cluster.server("ps", 1)._service.worker.resources
    return [variable for _, _, variable in resources.everything_of(Variable)]


def test_the_log_says_what_a_file_costs_too(
    cluster: LocalCluster, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    program = Program(cluster, tmp_path, restore="all", copies_steps=None)
    program.steps(2)
    cluster.restart("ps", 1)
    assert program.values() == [0.0, 0.0, 0.0]
    (line,) = said(caplog, "were restored")
    assert line.endswith("model.ckpt-0, of global step 0. Lost: 2 steps.")
    program.end()


def test_two_neighbours_lost_together_cost_the_time_since_the_last_file(cluster: LocalCluster, tmp_path: Path) -> None:
    program = Program(cluster, tmp_path)
    program.steps(3)
    program.copies.copy()
    cluster.restart("ps", 1)
    cluster.restart("ps", 2)
    assert program.values() == [3.0, 0.0, 0.0]
    program.end()


def test_a_neighbour_that_is_lost_gets_new_copies(cluster: LocalCluster, tmp_path: Path) -> None:
    program = Program(cluster, tmp_path)
    program.steps(3)
    program.copies.copy()
    cluster.restart("ps", 2)  # which keeps the copies of the second
    assert program.values() == [3.0, 3.0, 3.0]
    program.steps(1)
    program.copies.copy()
    cluster.restart("ps", 1)
    assert program.values() == [4.0, 4.0, 4.0]
    program.end()


def test_nothing_is_copied_while_variables_are_restored(cluster: LocalCluster, tmp_path: Path) -> None:
    """Such a copy would have other values than those that training goes on with, and would take the place of better ones."""
    program = Program(cluster, tmp_path)
    program.steps(3)
    program.copies.copy()
    cluster.restart("ps", 1)
    found = program.copies.find(["v1"])
    assert found is not None and found.step == 3
    with pytest.raises(tf.errors.AbortedError, match="are being restored"):
        program.copies.copy()
    program.copies.restore(found, ["v1"])
    program.copies.join()
    assert sorted(kept(cluster)) == [("task:1", [0, 3]), ("task:2", [0, 3])]
    assert [bool(number) for number in program.copies._kept.values()] == [False, True, True]
    program.copies.copy()
    assert sorted(kept(cluster)) == [("task:0", [3]), ("task:1", [3, 3]), ("task:2", [3, 3])]
    assert program.values() == [3.0, 3.0, 3.0]
    program.end()


def only_one_is_kept(program: Program) -> None:
    """Makes a copy that gets no further than the first server's."""
    copies = program.copies
    assert copies._sources is not None and copies._session is not None
    task = "/job:ps/replica:0/task:0"
    numbers = {copies._last_of[task]: copies._kept[task], copies._number: 77, copies._of_step: 5}
    numbers |= {copies._base: 0, copies._turn: 0}
    copies._session.run(copies._sources[task][0].keep, numbers)


def test_a_copy_that_is_not_whole_does_not_count(cluster: LocalCluster, tmp_path: Path) -> None:
    """As when the chief, or a neighbour, is lost while a copy is being made."""
    program = Program(cluster, tmp_path, restore="all")
    program.steps(3)
    program.copies.copy()
    program.steps(2)
    only_one_is_kept(program)
    cluster.restart("ps", 2)
    assert program.values() == [3.0, 3.0, 3.0]
    program.end()


def test_the_next_chief_goes_on_with_the_copies(cluster: LocalCluster, tmp_path: Path) -> None:
    chief, worker = Program(cluster, tmp_path), Program(cluster, tmp_path, index=1)
    chief.steps(3)
    chief.copies.copy()
    chief.steps(2)
    only_one_is_kept(chief)
    chief.die()
    worker.takes_over()
    assert worker.copies.find(None) == (chief.copies._last)
    assert sorted(kept(cluster)) == [("task:0", [3, 5]), ("task:1", [0, 3]), ("task:2", [0, 3])]
    worker.copies.join()  # as its hook does before the first copy
    worker.copies.copy()
    assert sorted(kept(cluster)) == [("task:0", [3, 5]), ("task:1", [3, 5]), ("task:2", [3, 5])]
    cluster.restart("ps", 1)
    assert worker.values() == [5.0, 5.0, 5.0]
    worker.end()


def test_who_is_not_the_chief_makes_no_copies(cluster: LocalCluster, tmp_path: Path) -> None:
    chief, worker = Program(cluster, tmp_path), Program(cluster, tmp_path, index=1)
    with pytest.raises(tf.errors.AbortedError, match="no longer leads the job"):
        worker.copies.copy()
    worker.end()
    chief.end()


def test_a_run_takes_no_copies_of_the_one_before(cluster: LocalCluster, tmp_path: Path) -> None:
    """Also where somebody holds on to them."""
    program = Program(cluster, tmp_path)
    program.steps(3)
    program.copies.copy()
    with program.graph.as_default():
        holder = ServerCopies(
            program.session._lease, program.session._coordinated_creator._creator._chief._scaffold, None
        )
        holder.join()
    program.die()
    assert [steps[-1] for _, steps in kept(cluster)] == [3, 3, 3]
    program = Program(cluster, tmp_path)
    assert program.values() == [0.0, 0.0, 0.0]
    cluster.restart("ps", 1)
    assert program.values() == [0.0, 0.0, 0.0]
    program.end()
    holder.close()


def test_the_memory_is_free_when_the_job_ends(cluster: LocalCluster, tmp_path: Path) -> None:
    chief, worker = Program(cluster, tmp_path), Program(cluster, tmp_path, index=1)
    chief.steps(3)
    chief.copies.copy()
    assert len(kept(cluster)) == 3
    chief.end()
    assert len(kept(cluster)) == 3
    worker.end()
    assert kept(cluster) == []


def test_a_program_of_other_variables_takes_no_copies(cluster: LocalCluster, tmp_path: Path) -> None:
    program = Program(cluster, tmp_path)
    program.steps(3)
    program.copies.copy()
    for shape, more in ((3, False), (2, True)):
        cluster.restart("ps", 1)
        with tf.Graph().as_default():
            with tf.device("/job:ps/task:0"):
                tf.train.create_global_step()
                tf.get_variable("v0", [2])
            with tf.device("/job:ps/task:1"):
                tf.get_variable("v1", [shape], use_resource=True)
                if more:
                    tf.get_variable("w1", [2])
            with tf.device("/job:ps/task:2"):
                tf.get_variable("v2", [2])
            other = ServerCopies(program.session._lease, tf.train.Scaffold().finalize(), None)
            assert other.find(["v1"]) is None and other.find(["v2"]) == program.copies._last
            other.close()
    program.die()


def test_with_one_server_the_chief_s_task_keeps_the_copies(cluster: LocalCluster, tmp_path: Path) -> None:
    program = Program(cluster, tmp_path, servers=1)
    program.steps(3)
    program.copies.copy()
    assert kept(cluster) == []
    program.steps(2)
    cluster.restart("ps", 0)
    assert program.values() == [3.0] and program.steps(1) == 4
    program.end()


@pytest.mark.parametrize("options", [{"copies_steps": 2}, {"copies_steps": None, "copies_secs": 0.01}])
def test_copies_are_made_beside_the_steps(cluster: LocalCluster, tmp_path: Path, options: dict[str, Any]) -> None:
    program = Program(cluster, tmp_path, **options)
    for step in range(1, 400):
        assert program.steps(1) == step
        last = program.copies._last
        if last is not None and last.step > 10:
            break
    else:
        pytest.fail("no copy was made")
    program.end()


def test_what_cannot_be_copied(cluster: LocalCluster, caplog: pytest.LogCaptureFixture) -> None:
    target = cluster.target("worker", 0)
    with tf.Graph().as_default(), tf.device("/job:ps/task:0"):
        tf.train.create_global_step()
        for options in ({"copies_secs": -1}, {"copies_steps": "1"}, {"copies_secs": 1, "copies_steps": 1}):
            with pytest.raises(ValueError, match="copies_"):
                tf.train.MonitoredTrainingSession(target, **options)  # type: ignore[arg-type]
        with pytest.raises(ValueError, match="two parameter servers are needed"):
            tf.train.MonitoredTrainingSession(f"grpc://{cluster.spec.task_address('ps', 0)}", copies_secs=1)
    with tf.Graph().as_default():
        with tf.device("/job:ps/task:0"):
            tf.train.create_global_step()
        tf.get_variable("nowhere", initializer=0.0)
        with pytest.raises(ValueError, match=r"'nowhere' \(made at .*test_server_copies.py:\d+\) is on no task"):
            tf.train.MonitoredTrainingSession(target, copies_secs=1)
    with tf.Graph().as_default():
        with tf.device("/job:ps/task:0"):
            tf.train.create_global_step()
        for saveable in tf.train.exact_state():
            tf.add_to_collection(tf.GraphKeys.SAVEABLE_OBJECTS, saveable)
        with pytest.raises(ValueError, match="variables only"):
            tf.train.MonitoredTrainingSession(target, copies_secs=1)
    with tf.Graph().as_default():
        step = tf.train.create_global_step()
        with tf.train.MonitoredTrainingSession(copies_secs=1) as sess:
            assert sess.run(step) == 0
        assert said(caplog, "No variables are copied: no other process takes part")
