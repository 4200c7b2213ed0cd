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
    return element_of(pieces_of(cluster, worker, values, **options), cycle_length)


def pieces_of(cluster, worker=0, values=RANGES, **options):
    return tf.data.pieces(values, cluster.target("worker", worker), "train", **options)


def numbers(r):
    return tf.data.Dataset.range(r[0], r[1])


def element_of(source, cycle_length=1):
    return source.interleave(numbers, cycle_length).make_one_shot_iterator().get_next()


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


@pytest.mark.parametrize("exactly_once", [False, True])
def test_the_pieces_of_a_killed_worker_go_to_others(cluster, tmp_path, exactly_once):
    program = tmp_path / "worker.py"
    program.write_text(f"""
import signal
import numpy as np
import headrace as tf
source = tf.data.pieces(np.array({RANGES.tolist()!r}), {cluster.target("ps", 0)!r}, "train", exactly_once={exactly_once})
element = source.interleave(lambda r: tf.data.Dataset.range(r[0], r[1]), 2).make_one_shot_iterator().get_next()
with tf.Session() as sess:
    print(*[sess.run(element) for _ in range(9)], flush=True)
    signal.pause()
""")
    with subprocess.Popen([sys.executable, program], stdout=subprocess.PIPE, text=True) as worker:
        before = [int(number) for number in worker.stdout.readline().split()]
        element = shared(cluster, exactly_once=exactly_once)
        with tf.Session(cluster.target("worker", 0)) as sess:
            here = drain(sess, element, 1)  # takes a piece beside it
            worker.kill()
            here += drain(sess, element)
    assert before[:7] == [0, 10, 1, 11, 2, 12, 3]  # the second piece was read to its end
    if exactly_once:
        assert before[-1] in here  # it was killed before it asked for another one
        assert sorted(before[:-1] + here) == list(range(30))
    else:
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


def test_a_position_is_refused(session, cluster, tmp_path):
    source = tf.data.pieces(RANGES, cluster.target("worker", 0), "train")
    iterator = source.flat_map(lambda r: tf.data.Dataset.range(r[0], r[1])).make_initializable_iterator()
    saver = tf.train.Saver([tf.data.experimental.make_saveable_from_iterator(iterator)])
    session.run(iterator.initializer)
    with pytest.raises(tf.errors.InvalidArgumentError, match="a position among pieces that workers share is not saved"):
        saver.save(session, str(tmp_path / "at"))


def test_mistakes_are_told(cluster):
    target = cluster.target("worker", 0)
    for arguments, why in (
        ((1, target, "x"), "pieces are the rows of an array, or a list; got 1"),
        ((["a"], "", "x"), "service is a text that is not empty, got ''"),
        ((["a"], target, None), "shared_name is a text that is not empty, got None"),
        ((["a"], target, "x", -2), "epochs is a number or None, got -2"),
        (
            (["a"], target, "x", 1, "/job:ps/task:0", False, 3),
            "seed is for shuffle=True, and at least 0; got seed=3 with shuffle=False",
        ),
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


def test_the_order_is_shuffled_for_all_workers_together(cluster):
    values = np.arange(20)[:, None] + [[0, 1]]
    elements = [shared(cluster, worker, values=values, epochs=2, shuffle=True, seed=5) for worker in range(2)]
    with tf.Session(cluster.target("worker", 0)) as sess:
        first = [sess.run(elements[i % 2]) for i in range(20)]
        second = [sess.run(elements[i % 2]) for i in range(20)]
    assert sorted(first) == sorted(second) == list(range(20))
    assert first != second
    assert list(range(20)) not in (first, second)


def test_ranges(cluster):
    element = shared(cluster, values=tf.data.piece_ranges(10, 4))
    with tf.Session(cluster.target("worker", 0)) as sess:
        assert drain(sess, element) == list(range(10))
    assert tf.data.piece_ranges(0, 4).shape == (0, 2)
    with pytest.raises(ValueError, match="size >= 1, got 10 and 0"):
        tf.data.piece_ranges(10, 0)


# ---- checkpoints


def test_pieces_that_are_done_stay_done_after_a_restore(cluster, tmp_path):
    """The server with the pieces forgets them, as one that was started again has."""
    source = pieces_of(cluster)
    element = element_of(source)
    saver = tf.train.Saver([source.saveable(), *tf.global_variables()])
    with tf.Session(cluster.target("worker", 0)) as sess:
        sess.run(tf.global_variables_initializer())
        assert drain(sess, element, 15) == list(range(15))  # in the fourth piece; the third is empty
        path = saver.save(sess, str(tmp_path / "model"))
        assert drain(sess, element, 10) == list(range(15, 25))
    tf.Session.reset(cluster.target("ps", 0))
    with tf.Session(cluster.target("worker", 0)) as sess:
        saver.restore(sess, path)
        assert drain(sess, element) == list(range(13, 30))


def test_who_holds_a_piece_is_told_of_a_restore(cluster, tmp_path):
    source = pieces_of(cluster)
    first, second = element_of(source), element_of(source)
    saver = tf.train.Saver([source.saveable()])
    with tf.Session(cluster.target("worker", 0)) as sess:
        path = saver.save(sess, str(tmp_path / "model"))
        assert sess.run(first) == 0
        saver.restore(sess, path)
        assert sorted(drain(sess, second)) == list(range(30))
        assert drain(sess, first, 9) == list(range(1, 10))
        with pytest.raises(tf.errors.AbortedError, match="a checkpoint was restored meanwhile"):
            sess.run(first)


def test_a_chief_restores_the_pieces_of_a_server_that_has_no_variables(cluster, tmp_path):
    source = pieces_of(cluster)
    element = element_of(source)
    with tf.device("/job:worker/task:0"):
        step = tf.train.get_or_create_global_step()
        train = step.assign_add(1)
    for saveable in tf.train.exact_state(pieces=True):
        tf.add_to_collection(tf.GraphKeys.SAVEABLE_OBJECTS, saveable)
    given = []
    with tf.train.MonitoredTrainingSession(
        cluster.target("worker", 0), checkpoint_dir=str(tmp_path), save_checkpoint_steps=11, log_step_count_steps=None
    ) as sess:
        while len(given) < 12:
            given.append(sess.run([element, train])[0])
        cluster.restart("ps", 0)
        while not sess.should_stop():
            given.append(sess.run([element, train])[0])
    # The checkpoint is of step 11.  The end of the second piece could not be told the server that had handed it out.
    assert given == [*range(13), *range(10, 30)]
    tf.summary.FileWriterCache.clear()


# ---- exactly once


@pytest.mark.parametrize("cycle_length", [1, 3])
def test_another_worker_goes_on_within_a_piece(cluster, cycle_length):
    first, second = (shared(cluster, worker, cycle_length, exactly_once=True) for worker in range(2))
    with tf.Session(cluster.target("worker", 0)) as sess:
        given = drain(sess, first, 16)
    with tf.Session(cluster.target("worker", 1)) as sess:
        rest = drain(sess, second)
    assert given[-1] in rest  # nobody asked for the next one, so its step may not have ended
    assert sorted(given[:-1] + rest) == list(range(30))


def test_what_was_confirmed_does_not_come_again(cluster):
    source = pieces_of(cluster, exactly_once=True)
    element = element_of(source, 2)
    with tf.Session(cluster.target("worker", 0)) as sess:
        given = drain(sess, element, 16)
        source.confirm()
    with tf.Session(cluster.target("worker", 0)) as sess:
        assert sorted(given + drain(sess, element)) == list(range(30))


def test_a_monitored_session_that_ends_confirms(cluster):
    element = element_of(pieces_of(cluster, exactly_once=True))
    with tf.train.MonitoredSession() as sess:
        given = [sess.run(element) for _ in range(4)]
    with pytest.raises(ZeroDivisionError), tf.train.MonitoredSession() as sess:
        assert sess.run(element) == 4
        raise ZeroDivisionError
    with tf.train.MonitoredSession() as sess:
        while not sess.should_stop():
            given.append(sess.run(element))
    assert given == list(range(30))


def test_a_checkpoint_has_what_was_trained_with(cluster, tmp_path):
    source = pieces_of(cluster, exactly_once=True)
    dataset = source.flat_map(lambda r: numbers(r).shuffle(3, seed=1).batch(4).prefetch(1))
    batch = dataset.make_one_shot_iterator().get_next()
    saver = tf.train.Saver([source.saveable()])
    with tf.Session(cluster.target("worker", 0)) as sess:
        given = drain(sess, batch, 2)
        path = saver.save(sess, str(tmp_path / "model"))
        drain(sess, batch, 3)
    with tf.Session(cluster.target("worker", 0)) as sess:
        saver.restore(sess, path)
        rest = drain(sess, batch)
    assert [len(one) for one in given + rest] == [4, 4, 2, 3, 4, 3, 4, 4, 2]
    assert sorted(np.concatenate(given + rest)) == list(range(30))


def test_chains_that_cannot_give_elements_exactly_once_are_refused(cluster):
    source = pieces_of(cluster, exactly_once=True)
    with pytest.raises(
        ValueError, match=r"BatchDatasetV2 cannot follow: pieces 'train' with exactly_once=True .*test_pieces"
    ):
        source.flat_map(numbers).batch(2)
    with pytest.raises(ValueError, match=r"ShuffleDataset gives its elements in another order each time.*test_pieces"):
        source.flat_map(lambda r: numbers(r).shuffle(3).batch(2))
    with pytest.raises(
        ValueError, match=r"input_producer is for a list of names, .* with exactly_once=True .*test_pieces"
    ):
        source.input_producer()


def test_a_worker_that_leaves_repeats_nothing(cluster, tmp_path, caplog):
    program = tmp_path / "worker.py"
    program.write_text(f"""
import sys
import numpy as np
import headrace as tf
source = tf.data.pieces(np.array({RANGES.tolist()!r}), {cluster.target("ps", 0)!r}, "train", exactly_once=True)
element = source.interleave(lambda r: tf.data.Dataset.range(r[0], r[1]), 2).make_one_shot_iterator().get_next()
with tf.train.MonitoredSession() as sess:
    while not sess.should_stop():
        print(sess.run(element), flush=True)
        sys.stdin.readline()
""")
    with subprocess.Popen(
        [sys.executable, program], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as worker:
        given = [int(worker.stdout.readline())]
        for _ in range(8):
            print(file=worker.stdin, flush=True)
            given.append(int(worker.stdout.readline()))
        worker.terminate()
        worker.communicate("\n", timeout=60)
    assert worker.returncode == 143
    with tf.Session(cluster.target("worker", 0)) as sess:
        assert sorted(given + drain(sess, shared(cluster, exactly_once=True))) == list(range(30))
    assert not [record for record in caplog.records if "lost" in record.getMessage()]


# ---- readers


def written(tmp_path, count):
    names = [str(tmp_path / f"file{i}") for i in range(count)]
    for i, name in enumerate(names):
        with open(name, "w") as file:
            file.write("".join(f"{i}.{line}\n" for line in range(3)))
    return names


def read(cluster, worker, names, limit=100, **options):
    """The lines that a worker gets with a reader, in a session of its own."""
    with tf.Graph().as_default(), tf.device(f"/job:worker/task:{worker}"):
        line = tf.TextLineReader().read(pieces_of(cluster, worker, names, **options).input_producer())[1]
        with tf.Session(cluster.target("worker", worker)) as sess:
            coord = tf.train.Coordinator()
            tf.train.start_queue_runners(sess, coord)
            given = [one.decode() for one in drain(sess, line, limit)]
            coord.request_stop()
            coord.join()
    return given


def test_readers_take_names_of_files(cluster, tmp_path):
    names = written(tmp_path, 4)
    with ThreadPoolExecutor(2) as threads:
        given = list(threads.map(lambda worker: read(cluster, worker, names, epochs=2), range(2)))
    assert sorted([*given[0], *given[1]]) == sorted(2 * [f"{i}.{line}" for i in range(4) for line in range(3)])


def test_a_file_that_a_reader_has_not_read_to_its_end_goes_to_others(cluster, tmp_path):
    names = written(tmp_path, 5)
    given = read(cluster, 0, names, 10)
    assert given[-1] == "3.0"  # with this name the runner has told that the first file is done
    rest = read(cluster, 1, names)
    assert not [line for line in rest if line.startswith("0.")]
    assert [f"{i}.{line}" for i in (3, 4) for line in range(3)] == rest[-6:]


def test_names_for_readers_differ(cluster):
    with pytest.raises(ValueError, match="some of pieces 'train' are the same"):
        pieces_of(cluster, values=["a", "b", "a"]).input_producer()
    with pytest.raises(ValueError, match="input_producer is for a list of names"):
        pieces_of(cluster).input_producer()
