"""What sessions do with state that another task holds: they save and restore it, and say what they cannot do."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from cluster.local_cluster import LocalCluster, local_cluster

import headrace as tf

pytestmark = pytest.mark.allow_leaks(reason="the servers live as long as the module")


@pytest.fixture(scope="module")
def cluster() -> Iterator[LocalCluster]:
    with local_cluster(ps=2, workers=1) as one:
        yield one


def variables() -> list[Any]:
    made = []
    for task, value in enumerate(([1.0, 2.0], 3.0)):
        with tf.device(f"/job:ps/task:{task}"):
            made.append(tf.get_variable(f"v{task}", initializer=tf.constant(value)))
    return made


def test_a_variable_is_in_one_task_for_all_steps(cluster: LocalCluster) -> None:
    """Only one of its users asks for a task, and the initializer does not need that one."""
    v = tf.get_variable("v", initializer=1.0, use_resource=True)
    with tf.device("/job:ps/task:1"):
        add = v.assign_add(1.0)
    with tf.Session(cluster.target("worker", 0)) as session:
        session.run(v.initializer)
        assert session.run(add) == 2.0
    again = v.read_value()
    with tf.device("/job:ps/task:0"):
        later = v.assign_add(1.0)
    with tf.Session(cluster.target("worker", 0)) as session:
        assert session.run(again) == 2.0 and session.run(later) == 3.0


@pytest.mark.parametrize("sharded", [False, True])
def test_variables_of_several_tasks_are_saved_and_restored(
    cluster: LocalCluster, tmp_path: Path, sharded: bool
) -> None:
    a, b = variables()
    saver = tf.train.Saver(sharded=sharded)
    with tf.Session(cluster.target("worker", 0)) as session:
        session.run(tf.global_variables_initializer())
        path = saver.save(session, str(tmp_path / "model"))
        assert saver.last_save.torn == ()
        session.run([a.assign([7.0, 7.0]), b.assign(7.0)])
        saver.restore(session, path)
        assert session.run(a).tolist() == [1.0, 2.0]
        assert session.run(b) == 3.0
    shards = sorted(file.name for file in tmp_path.glob("model.data*"))
    assert len(shards) == (2 if sharded else 1)
    assert dict(tf.train.list_variables(path)) == {"v0": [2], "v1": []}


def test_a_handle_of_another_task_is_taken_in_a_step_there(cluster: LocalCluster) -> None:
    with tf.device("/job:ps/task:0"):
        keep = tf.get_session_handle(tf.constant([1.0, 2.0]) + 1.0)
        name, value = tf.get_session_tensor("", tf.float32)
        doubled = value * 2.0
    with tf.Session(cluster.target("worker", 0)) as session:
        handle = session.run(keep)
        assert session.run(doubled, {name: handle.handle}).tolist() == [4.0, 6.0]
        for call in (handle.eval, handle.delete):
            with pytest.raises(
                tf.errors.InvalidArgumentError, match=r"on another task, /job:ps/replica:0/task:0: take it"
            ):
                call()
