"""ClusterSpec: every form it is made from, its accessors, and TensorFlow's errors."""

import pytest

import headrace as tf

JOBS = {"ps": ["a:1", "b:2"], "worker": {1: "c:3"}}


def spec() -> tf.train.ClusterSpec:
    return tf.train.ClusterSpec(JOBS)


def test_accessors() -> None:
    cluster = spec()
    assert cluster.jobs == ["ps", "worker"]
    assert cluster.as_dict() == JOBS
    assert (cluster.num_tasks("ps"), cluster.num_tasks("worker")) == (2, 1)
    assert (cluster.task_indices("ps"), cluster.task_indices("worker")) == ([0, 1], [1])
    assert cluster.task_address("worker", 1) == "c:3"
    assert (cluster.job_tasks("ps"), cluster.job_tasks("worker")) == (["a:1", "b:2"], [None, "c:3"])
    assert repr(cluster) == "ClusterSpec({'ps': ['a:1', 'b:2'], 'worker': {1: 'c:3'}})"


def test_the_message_is_in_order() -> None:
    message = tf.train.ClusterSpec({"worker": {3: "d:1", 1: "c:1"}, "ps": ("a:1",)}).as_cluster_def()
    assert [(job.name, list(job.tasks.items())) for job in message.job] == [
        ("ps", [(0, "a:1")]),
        ("worker", [(1, "c:1"), (3, "d:1")]),
    ]


@pytest.mark.parametrize(
    "form", [spec().as_cluster_def(), spec(), JOBS, {b"ps": (b"a:1", "b:2"), "worker": {"1": "c:3"}}]
)
def test_all_forms_make_the_same_cluster(form: object) -> None:
    made = tf.train.ClusterSpec(form)
    assert made == spec()
    assert made == {"ps": {0: "a:1", 1: "b:2"}, "worker": {1: "c:3"}}
    assert made != JOBS, "a dictionary of lists is not equal, as in TensorFlow"


def test_a_copy_does_not_follow_what_it_was_made_from() -> None:
    message = spec().as_cluster_def()
    cluster = tf.train.ClusterSpec(message)
    message.job[0].tasks[9] = "z:9"
    assert cluster == spec()


def test_an_empty_cluster_is_false() -> None:
    assert not tf.train.ClusterSpec({}) and spec()
    empty = tf.train.ClusterSpec({"ps": []})
    assert empty and empty.as_dict() == {"ps": {}} and empty.job_tasks("ps") == []


@pytest.mark.parametrize("method", ["num_tasks", "task_indices", "job_tasks"])
def test_an_unknown_job(method: str) -> None:
    with pytest.raises(
        ValueError, match=r"No such job in cluster: 'x'; the jobs are \['ps', 'worker'\].*test_cluster_spec"
    ):
        getattr(spec(), method)("x")


def test_an_unknown_task() -> None:
    with pytest.raises(ValueError, match=r"No task with index 0 in job 'worker'; its tasks are \[1\]"):
        spec().task_address("worker", 0)
    with pytest.raises(ValueError, match="No such job"):
        spec().task_address("x", 0)


@pytest.mark.parametrize(
    "wrong, error, message",
    [
        (["a:1"], TypeError, "`cluster` must be a dictionary"),
        ({"ps": "a:1"}, TypeError, "The tasks for job 'ps' must be a list or a dictionary"),
        ({"ps": [3]}, TypeError, "Task address 3 must be bytes or unicode"),
        ({3: ["a:1"]}, TypeError, "Job name 3 must be bytes or unicode"),
        ({"ps": {"x": "a:1"}}, ValueError, "must have a number from 0; received 'x'"),
        ({"ps": {-1: "a:1"}}, ValueError, "must have a number from 0; received -1"),
    ],
)
def test_what_is_no_cluster(wrong: object, error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        tf.train.ClusterSpec(wrong)


def test_not_hashable() -> None:
    with pytest.raises(TypeError, match="unhashable"):
        hash(spec())
