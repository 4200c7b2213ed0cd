"""Input in pieces that workers share, with workers that end, and one that is killed."""

import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from cluster.local_cluster import local_cluster
from library.data.taking import drain

import headrace as tf

RANGES = np.array([[0, 10], [10, 13], [13, 13], [13, 20], [20, 30]])


@pytest.fixture
def cluster():
    with local_cluster(ps=1, workers=2) as started:
        yield started


def shared(cluster, worker=0, cycle_length=1, values=RANGES, **options):
    source = tf.data.pieces(values, cluster.target("worker", worker), "train", **options)
    dataset = source.interleave(lambda r: tf.data.Dataset.range(r[0], r[1]), cycle_length)
    return dataset.make_one_shot_iterator().get_next()


@pytest.mark.parametrize("cycle_length", [1, 3])
def test_each_piece_goes_to_one_worker_in_each_epoch(cluster, cycle_length):
    elements = [shared(cluster, worker, cycle_length, epochs=2) for worker in range(2)]
    with tf.Session(cluster.target("worker", 0)) as sess, ThreadPoolExecutor(2) as threads:
        given = list(threads.map(lambda element: drain(sess, element), elements))
    assert sorted([*given[0], *given[1]]) == sorted([*range(30)] * 2)


def test_names_of_files(cluster, tmp_path):
    names = [str(tmp_path / name) for name in "ab"]
    for name in names:
        with open(name, "w") as file:
            file.write(f"{name}1\n{name}2\n")
    source = tf.data.pieces(names, cluster.target("worker", 0), "files", epochs=1)
    element = source.flat_map(tf.data.TextLineDataset).batch(3).make_one_shot_iterator().get_next()
    with tf.Session(cluster.target("worker", 0)) as sess:
        lines = np.concatenate(drain(sess, element)).tolist()
    assert lines == [f"{name}{i}".encode() for name in names for i in (1, 2)]


def test_an_iterator_that_ends_leaves_its_pieces_to_others(cluster):
    first, second = shared(cluster, 0, 2), shared(cluster, 1)
    with tf.Session(cluster.target("worker", 0)) as sess:
        assert drain(sess, first, 4) == [0, 10, 1, 11]
    with tf.Session(cluster.target("worker", 1)) as sess:
        assert sorted(drain(sess, second)) == list(range(30))


def test_a_piece_that_was_read_comes_from_nobody_else(cluster):
    first, second = shared(cluster, 0), shared(cluster, 1)
    with tf.Session(cluster.target("worker", 0)) as sess:
        assert drain(sess, first, 11) == list(range(11))
    with tf.Session(cluster.target("worker", 1)) as sess:
        assert sorted(drain(sess, second)) == list(range(10, 30))


def test_the_pieces_of_a_killed_worker_go_to_others(cluster, tmp_path):
    program = tmp_path / "worker.py"
    program.write_text(f"""
import signal
import numpy as np
import headrace as tf
source = tf.data.pieces(np.array({RANGES.tolist()!r}), {cluster.target("ps", 0)!r}, "train")
element = source.interleave(lambda r: tf.data.Dataset.range(r[0], r[1]), 2).make_one_shot_iterator().get_next()
with tf.Session() as sess:
    print(*[sess.run(element) for _ in range(9)], flush=True)
    signal.pause()
""")
    with subprocess.Popen([sys.executable, program], stdout=subprocess.PIPE, text=True) as worker:
        before = [int(number) for number in worker.stdout.readline().split()]
        element = shared(cluster)
        with tf.Session(cluster.target("worker", 0)) as sess:
            here = drain(sess, element, 1)  # takes a piece beside it
            worker.kill()
            here += drain(sess, element)
    assert before[:7] == [0, 10, 1, 11, 2, 12, 3]  # the second piece was read to its end
    assert sorted(here) == [*range(10), *range(13, 30)]


def test_a_worker_waits_for_what_others_may_leave(cluster):
    values = RANGES[:1]
    first, second = shared(cluster, 0, values=values), shared(cluster, 1, values=values)
    with tf.Session(cluster.target("worker", 1)) as sess, ThreadPoolExecutor(1) as threads:
        with tf.Session(cluster.target("worker", 0)) as other:
            assert other.run(first) == 0
            waiting = threads.submit(drain, sess, second)
            assert other.run(first) == 1
            assert not waiting.done()
        assert waiting.result() == list(range(10))


def test_a_step_that_waits_has_a_time_limit(cluster):
    values = RANGES[:1]
    first, second = shared(cluster, 0, values=values), shared(cluster, 1, values=values)
    with tf.Session(cluster.target("worker", 0)) as one, tf.Session(cluster.target("worker", 1)) as other:
        one.run(first)
        with pytest.raises(tf.errors.DeadlineExceededError):
            other.run(second, options=tf.RunOptions(timeout_in_ms=300))


def test_a_position_is_refused(cluster, tmp_path):
    source = tf.data.pieces(RANGES, cluster.target("worker", 0), "train")
    iterator = source.flat_map(lambda r: tf.data.Dataset.range(r[0], r[1])).make_initializable_iterator()
    saver = tf.train.Saver([tf.data.experimental.make_saveable_from_iterator(iterator)])
    with tf.Session() as sess:
        sess.run(iterator.initializer)
        with pytest.raises(
            tf.errors.InvalidArgumentError, match="a position among pieces that workers share is not saved"
        ):
            saver.save(sess, str(tmp_path / "at"))


def test_mistakes_are_told(cluster):
    target = cluster.target("worker", 0)
    for arguments, why in (
        ((1, target, "x"), "pieces are the rows of an array, or a list; got 1"),
        ((["a"], "", "x"), "service is a text that is not empty, got ''"),
        ((["a"], target, None), "shared_name is a text that is not empty, got None"),
        ((["a"], target, "x", -2), "epochs is a number or None, got -2"),
    ):
        with pytest.raises(ValueError, match=why + r" \(.*test_pieces.py"):
            tf.data.pieces(*arguments)
    with pytest.raises(TypeError, match="`map_func` must return a `Dataset` object"):
        tf.data.pieces(["a"], target, "x").flat_map(lambda piece: piece)
    first, second = shared(cluster), shared(cluster, values=RANGES[:2])
    with tf.Session(target) as sess:
        sess.run(first)
        with pytest.raises(
            tf.errors.InvalidArgumentError, match="pieces 'train' are 5, 1 times, .* this program has 2, 1"
        ):
            sess.run(second)
