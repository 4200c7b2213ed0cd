"""Datasets that the tasks of a job compute: which elements come, who gets them, and tasks that are lost."""

import numpy as np
import pytest
from cluster.local_cluster import local_cluster
from library.data.positions import check_positions
from library.data.taking import drain

import headrace as tf
from headrace.library.data import service


@pytest.fixture
def cluster():
    with local_cluster(ps=0, workers=2, data=2) as started:
        yield started


def distributed(cluster, dataset, mode="parallel_epochs", worker=0, **options):
    return dataset.apply(tf.data.experimental.service.distribute(mode, cluster.target("worker", worker), **options))


def run_on(sess, element):
    """Takes elements until that fails."""
    while True:
        sess.run(element)


def elements(cluster, dataset, limit=1000):
    iterator = dataset.make_initializable_iterator()
    element = iterator.get_next()
    with tf.Session(cluster.target("worker", 0)) as sess:
        sess.run(iterator.initializer)
        return drain(sess, element, limit)


def test_each_task_goes_through_the_whole_dataset(cluster):
    squares = tf.data.Dataset.range(5).map(lambda x: {"n": x, "text": tf.as_string(x * x)})
    given = elements(cluster, distributed(cluster, squares).batch(4).prefetch(1))
    assert [batch["n"].tolist() for batch in given] == [[0, 0, 1, 1], [2, 2, 3, 3], [4, 4]]
    assert given[2]["text"].tolist() == [b"16", b"16"]


def test_tasks_share_the_elements_of_the_sources(cluster, tmp_path):
    for name in "abc":
        (tmp_path / name).write_text(f"{name}1\n{name}2\n")
    names = tf.data.Dataset.list_files(str(tmp_path / "*"), shuffle=False)
    lines = names.flat_map(tf.data.TextLineDataset).batch(3)
    given = elements(cluster, distributed(cluster, lines, "distributed_epoch"))
    assert [batch.tolist() for batch in given] == [[b"a1", b"a2", b"c1"], [b"b1", b"b2"], [b"c2"]]


def test_chains_put_together_are_shared_alike(cluster):
    both = tf.data.Dataset.zip((tf.data.Dataset.range(5), tf.data.Dataset.range(10, 15)))
    given = elements(cluster, distributed(cluster, both, "distributed_epoch"))
    assert sorted(given) == [(n, n + 10) for n in range(5)]


def test_work_is_done_on_the_tasks(cluster):
    large = tf.data.Dataset.range(6).map(lambda x: tf.fill([1000], x)).map(lambda x: tf.reduce_sum(x))
    assert elements(cluster, distributed(cluster, large)) == [1000 * n for n in range(6) for _ in range(2)]
    for task in range(2):
        assert cluster.server("data", task)._service.worker.steps_done >= 6
        assert cluster.bytes_between(("data", task), ("worker", 0)) < 6 * 8000


def test_workers_that_share_a_name_share_the_elements(cluster):
    first, second = (
        distributed(cluster, tf.data.Dataset.range(20), "distributed_epoch", worker, job_name="epoch")
        .make_one_shot_iterator()
        .get_next()
        for worker in range(2)
    )
    with tf.Session(cluster.target("worker", 0)) as one, tf.Session(cluster.target("worker", 1)) as other:
        given = [*drain(one, first, 5), *drain(other, second, 5), *drain(one, first), *drain(other, second)]
    assert sorted(given) == list(range(20))


def test_a_position_is_restored(cluster):
    dataset = distributed(cluster, tf.data.Dataset.range(5).shuffle(3, seed=1), "distributed_epoch").batch(2)
    assert sorted(np.concatenate(check_positions(dataset)).tolist()) == [0, 1, 2, 3, 4]


def test_a_position_in_shared_elements_is_refused(session, cluster, tmp_path):
    dataset = distributed(cluster, tf.data.Dataset.range(5), job_name="shared")
    iterator = dataset.make_initializable_iterator()
    saver = tf.train.Saver([tf.data.experimental.make_saveable_from_iterator(iterator)])
    element = iterator.get_next()
    session.run(iterator.initializer)
    session.run(element)
    with pytest.raises(tf.errors.InvalidArgumentError, match="job_name='shared' shares cannot be saved"):
        saver.save(session, str(tmp_path / "at"))


def test_a_task_that_is_lost_is_waited_for(cluster, caplog):
    element = distributed(cluster, tf.data.Dataset.range(40).map(lambda x: x + 1)).make_one_shot_iterator().get_next()
    with tf.Session(cluster.target("worker", 0)) as sess:
        given = drain(sess, element, 10)
        cluster.restart("data", 1)
        given += drain(sess, element)
    assert given == [n + 1 for n in range(40) for _ in range(2)]
    assert "of it when it is back" in caplog.text


def test_a_task_that_does_not_come_back_is_an_error(cluster, monkeypatch):
    monkeypatch.setattr(service, "PATIENCE_S", 0.5)
    element = distributed(cluster, tf.data.Dataset.range(10**6)).make_one_shot_iterator().get_next()
    with tf.Session(cluster.target("worker", 0)) as sess:
        sess.run(element)
        cluster.server("data", 1)._stop()
        with pytest.raises(
            tf.errors.UnavailableError, match="task 1 of job 'data' is lost, and was not back within 0.5 s"
        ):
            run_on(sess, element)


def test_a_lost_task_with_shared_elements_is_an_error(cluster):
    dataset = distributed(cluster, tf.data.Dataset.range(10**6), job_name="shared")
    element = dataset.make_one_shot_iterator().get_next()
    with tf.Session(cluster.target("worker", 0)) as sess:
        sess.run(element)
        cluster.restart("data", 0)
        with pytest.raises((tf.errors.UnavailableError, tf.errors.AbortedError), match="/job:data/replica:0/task:0"):
            run_on(sess, element)


def test_by_device(cluster):
    """A dataset of another task needs nothing but its device."""
    with tf.device("/job:data/task:1"):
        iterator = tf.data.Dataset.range(6).map(lambda x: x * x).batch(3).prefetch(1).make_initializable_iterator()
        batch = iterator.get_next()
    with tf.device("/job:worker/task:0"):
        total = tf.reduce_sum(batch)
    with tf.Session(cluster.target("worker", 0)) as sess:
        sess.run(iterator.initializer)
        assert drain(sess, total) == [5, 50]


# ---- mistakes


def test_mistakes_are_told(cluster):
    numbers = tf.data.Dataset.range(3)
    v = tf.get_variable("v", [], tf.int64)
    with pytest.raises(ValueError, match=r"or 'distributed_epoch', got 'each' \(.*test_service.py"):
        distributed(cluster, numbers, "each")
    with pytest.raises(ValueError, match=r"service is a text that is not empty, got None \(.*test_service.py"):
        tf.data.experimental.service.distribute("parallel_epochs", None)
    with pytest.raises(ValueError, match=r"can only use constants. Cannot capture a stateful node .*test_service.py"):
        distributed(cluster, numbers.map(lambda x: x + v))
    with pytest.raises(TypeError, match="data tasks compute elements of tensors, got a component"):
        distributed(cluster, numbers.window(2))
    with pytest.raises(tf.errors.InvalidArgumentError, match="has no task of job 'input'"):
        elements(cluster, distributed(cluster, numbers, job="input"))
    with pytest.raises(tf.errors.InvalidArgumentError, match="is a Python object"):
        generated = tf.data.Dataset.from_generator(lambda: iter([1]), tf.int64, [])
        run_on(tf.Session(), distributed(cluster, generated).make_one_shot_iterator().get_next())
