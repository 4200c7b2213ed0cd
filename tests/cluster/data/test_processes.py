"""Functions of datasets in other processes: the same elements, the same positions, and what is refused."""

import gc
import os
import select
import signal
import subprocess
import sys
import textwrap
import threading
import time

import numpy as np
import pytest
from cluster.data import functions
from library.data.positions import check_positions
from library.data.taking import take

import headrace as tf
import leaks
from headrace.cluster.data import processes

pytestmark = pytest.mark.allow_leaks(reason="processes rest between tests; the end of the module looks for them")


@pytest.fixture(scope="module", autouse=True)
def started():
    """Two processes that all tests of this module use."""
    before = leaks.look()
    found = [processes._found() for _ in range(2)]
    for one in found:
        one.rest()
    yield
    end = time.monotonic() + 10
    while True:
        gc.collect()  # what a test has left to the collector gives its processes back
        processes.end_resting()
        if not (left := leaks.look().beyond(before)) or time.monotonic() > end:
            break
        time.sleep(0.01)
    assert not left


def far(dataset, count=2):
    options = tf.data.Options()
    options.processes = count
    return dataset.with_options(options)


def called(function, *more, dtype=tf.int64):
    return lambda x: tf.py_func(function, [x, *more], dtype)


def chains():
    numbers = tf.data.Dataset.range(23)
    words = tf.data.Dataset.from_tensor_slices(["to be", "or", "not to be"])
    rows = tf.data.Dataset.from_tensor_slices({"x": np.arange(12.0).reshape(4, 3), "y": [b"a", b"b", b"c", b"d"]})
    scale = tf.constant([2.0, 3.0, 4.0], tf.float64)
    return {
        "python": numbers.map(called(functions.squared)).batch(4),
        "parallel": numbers.map(lambda x: x * x, num_parallel_calls=3).filter(lambda x: x % 2 < 1),
        "together": numbers.apply(tf.data.experimental.map_and_batch(lambda x: x + 1, 5)),
        "strings": words.map(lambda line: tf.string_split([line]).values).padded_batch(2, [None]),
        "captured": rows.map(lambda row: {"z": row["x"] * scale, "y": tf.string_join([row["y"], "!"])}).repeat(2),
        "shuffled": numbers.map(lambda x: x + 1).shuffle(7, seed=3).repeat(2).map(lambda x: (x, -x)),
        "inner": numbers.take(4).flat_map(lambda n: tf.data.Dataset.range(n).map(lambda x: x * n)),
        "large": numbers.take(5).map(lambda x: tf.fill([100, 100], tf.cast(x, tf.float32))),
        "sparse": words.map(lambda line: tf.string_split([line])),
        "conditional": numbers.map(lambda x: tf.cond(x > 5, lambda: x, lambda: -x)),
        "file": numbers.take(2).map(lambda x: tf.string_join([tf.as_string(x), tf.read_file(__file__)])),
        "loop": numbers.take(4).map(lambda x: tf.map_fn(lambda y: y * x, tf.range(x + 1))),
        "nothing": tf.data.Dataset.range(0).map(lambda x: x),
    }


@pytest.mark.parametrize("name", chains())
def test_elements_are_the_same(name):
    here, there = take(chains()[name]), take(far(chains()[name]), one_shot=name == "python")
    assert len(here) or name == "nothing"
    np.testing.assert_equal(there, here)


def test_functions_are_called_in_other_processes():
    who = take(far(tf.data.Dataset.range(64).map(called(functions.process))))
    assert len(set(who)) == 2 and os.getpid() not in who


def test_a_position_is_saved_and_restored():
    dataset = tf.data.Dataset.range(14).map(called(functions.squared)).shuffle(4, seed=1).batch(3).prefetch(1)
    assert len(check_positions(far(dataset))) == 5


def test_a_position_needs_the_same_options(tmp_path):
    def begun(options):
        iterator = options(tf.data.Dataset.range(14).map(lambda x: x + 1)).make_initializable_iterator()
        sess = tf.Session()
        sess.run(iterator.initializer)
        return sess, tf.train.Saver([tf.data.experimental.make_saveable_from_iterator(iterator)])

    sess, saver = begun(far)
    with sess:
        path = saver.save(sess, str(tmp_path / "at"))
    tf.reset_default_graph()
    sess, saver = begun(lambda dataset: dataset)
    with sess, pytest.raises(tf.errors.InvalidArgumentError, match="it has 3 stages, the dataset has 2"):
        saver.restore(sess, path)


def test_errors_name_the_element_and_the_line():
    dataset = far(tf.data.Dataset.range(5).map(called(functions.fails_at_three)))
    element = dataset.make_one_shot_iterator().get_next()
    given = []
    with tf.Session() as sess:
        for _ in range(5):
            try:
                given.append(sess.run(element))
            except tf.errors.InvalidArgumentError as e:
                given.append(None)
                assert "three is too many" in e.message and "in element 3 of MapDataset" in e.message
                assert f"made at {__file__}" in e.message and e.message.count("run at") == 1
        with pytest.raises(tf.errors.OutOfRangeError):
            sess.run(element)
    assert given == [0, 1, 2, None, 4]


def test_a_function_can_end_the_dataset():
    dataset = far(tf.data.Dataset.range(5).map(called(functions.ends_at_two)).batch(10))
    np.testing.assert_equal(take(dataset)[0], [0, 1])


def test_eager():
    with tf.eager_mode():
        dataset = far(tf.data.Dataset.range(5).map(called(functions.squared)).batch(2))
        assert [batch.numpy().tolist() for batch in dataset] == [[0, 1], [4, 9], [16]]


def test_an_iterator_that_begins_again_uses_the_same_processes():
    iterator = far(tf.data.Dataset.range(64).map(called(functions.process)).batch(64)).make_initializable_iterator()
    element = iterator.get_next()
    with tf.Session() as sess:
        who = set()
        for _ in range(3):
            sess.run(iterator.initializer)
            who |= set(sess.run(element).tolist())
    assert len(who) == 2


# ---- random numbers


def drawn(seed):
    """Functions that draw in different ways."""

    def window(x):
        begin, size, _ = tf.image.sample_distorted_bounding_box([90, 90, 3], [[[0.0, 0.0, 1.0, 1.0]]], seed=seed)
        return tf.concat([begin, size], 0)

    return {
        "numbers": lambda x: (x, tf.random_uniform([2], seed=seed), tf.random_normal([], seed=seed)),
        "crop": lambda x: tf.random_crop(tf.range(x, x + 100), [3], seed=seed),
        "numpy": window,
        "conditional": lambda x: tf.cond(x > 1, lambda: tf.random_normal([], seed=seed), lambda: 0.0),
        "loop": lambda x: tf.map_fn(lambda y: tf.random_uniform([], seed=seed), tf.range(3), dtype=tf.float32),
    }


@pytest.mark.usefixtures("full_length")
def test_random_numbers_do_not_depend_on_the_number_of_processes():
    for function in drawn(1).values():
        one, two, three = (take(far(tf.data.Dataset.range(9).map(function), n)) for n in (1, 2, 3))
        np.testing.assert_equal(two, one)
        np.testing.assert_equal(three, one)
        assert len({str(element) for element in one}) >= 7


def test_a_graphs_seed_counts():
    def numbers(seed):
        tf.reset_default_graph()
        tf.set_random_seed(seed)
        return take(far(tf.data.Dataset.range(5).map(lambda x: tf.random_uniform([]))))

    assert numbers(3) == numbers(3) != numbers(4)


@pytest.mark.usefixtures("full_length")
def test_epochs_and_inner_datasets_have_numbers_of_their_own():
    numbers = tf.data.Dataset.range(4).map(lambda x: tf.random_uniform([], seed=1))
    assert len(set(take(far(numbers.repeat(3))))) == 12
    assert len(set(take(far(tf.data.Dataset.range(3).flat_map(lambda _: numbers))))) == 12


@pytest.mark.parametrize("seed", [1, None])
@pytest.mark.usefixtures("full_length")
def test_an_iterator_that_begins_again_draws_the_same_with_a_seed(seed):
    dataset = tf.data.Dataset.range(5).map(lambda x: tf.random_uniform([], seed=seed)).batch(5)
    iterator = far(dataset).make_initializable_iterator()
    element = iterator.get_next()
    with tf.Session() as sess:
        epochs = []
        for _ in range(2):
            sess.run(iterator.initializer)
            epochs.append(sess.run(element).tolist())
    assert (epochs[0] == epochs[1]) == (seed is not None)


@pytest.mark.parametrize("seed", [1, None])
def test_a_position_has_the_place_in_the_random_numbers(seed):
    dataset = tf.data.Dataset.range(5).map(lambda x: tf.random_uniform([], seed=seed)).repeat(2).batch(3).prefetch(1)
    assert len(check_positions(far(dataset))) == 4


# ---- what cannot be done


def variable():
    v = tf.get_variable("v", [], tf.int64)
    return lambda x: x + v


def table():
    values = tf.lookup.KeyValueTensorInitializer([1], [2], tf.int64, tf.int64)
    found = tf.lookup.StaticHashTable(values, -1)
    return found.lookup


def learned():
    return lambda x: tf.nn.uniform_candidate_sampler([[x]], 1, 1, True, 5)[0]


def local():
    return called(lambda x: x)


@pytest.mark.parametrize(
    ("make", "why"),
    [
        (variable, "uses a Variable, which is in this process"),
        (table, "it uses a .*Table, which is in this process"),
        (learned, "keeps a Uniform, which is more than a generator of random numbers"),
        (local, "which another process cannot import"),
    ],
)
def test_what_cannot_be_done_is_said_when_the_iterator_begins(make, why):
    iterator = far(tf.data.Dataset.range(3).map(make()).repeat(2)).make_initializable_iterator()
    with tf.Session() as sess, pytest.raises(tf.errors.InvalidArgumentError, match=why) as caught:
        sess.run(iterator.initializer)
    assert f"made at {__file__}" in caught.value.message and "with_options before this dataset" in caught.value.message


@pytest.mark.parametrize("number", [-1, 2.0, True, "two"])
def test_a_number_of_processes_is_needed(number):
    with pytest.raises(ValueError, match=r"processes is a number from 0 to 1024, got .* \(.*test_processes.py:\d+\)"):
        far(tf.data.Dataset.range(3), number)


# ---- what dies


def wait_for_end(descriptor):
    """Whether a process ends within a minute."""
    ended = select.select([descriptor], [], [], 60)[0]
    os.close(descriptor)
    return bool(ended)


@pytest.fixture
def own():
    """For a test that kills processes: those that take their place end with it."""
    yield
    processes.end_resting()


def test_a_process_that_dies_is_replaced(own, tmp_path):
    dataset = tf.data.Dataset.range(12).map(called(functions.dies_once, str(tmp_path / "flag")))
    assert take(far(dataset)) == list(range(12))
    assert (tmp_path / "flag").exists()


def test_an_element_that_kills_processes_is_an_error(own):
    element = far(tf.data.Dataset.range(4).map(called(functions.dies_at_two)), 1).make_one_shot_iterator().get_next()
    with tf.Session() as sess:
        assert [sess.run(element), sess.run(element)] == [0, 1]
        with pytest.raises(tf.errors.InternalError, match="ended with code -9, 2 times\n.*in element 2 of MapDataset"):
            sess.run(element)
        assert sess.run(element) == 3


@pytest.mark.usefixtures("full_length")
def test_what_a_process_that_died_would_have_drawn_is_drawn_again(own, tmp_path):
    def with_number(name):
        path = str(tmp_path / name)
        dies = called(functions.dies_once, path)
        return tf.data.Dataset.range(12).map(lambda x: (dies(x), tf.random_uniform([], seed=1)))

    (tmp_path / "never").touch()
    np.testing.assert_equal(take(far(with_number("once"))), take(far(with_number("never"))))
    assert (tmp_path / "once").exists()


@pytest.mark.usefixtures("full_length")
def test_processes_that_ended_while_they_rested_are_not_used(own):
    dataset = tf.data.Dataset.range(1).map(called(functions.squared))
    assert take(far(dataset)) == [0]
    gc.collect()
    for process in processes.resting():
        pid = os.pidfd_open(process._process.pid)
        process.kill()
        assert wait_for_end(pid)
    assert take(far(dataset)) == [0]


def test_a_closed_session_ends_what_is_under_way(own, tmp_path):
    path = tmp_path / "told"
    element = (
        far(tf.data.Dataset.range(4).map(called(functions.told, str(path))), 1).make_one_shot_iterator().get_next()
    )
    os.mkfifo(path)
    with tf.Session() as sess:
        failed = []

        def run():
            try:
                sess.run(element)
            except tf.errors.OpError as e:
                failed.append(e)

        waiting = threading.Thread(target=run)
        waiting.start()
        pid = os.pidfd_open(int(path.read_text()))
        sess.close()
        waiting.join()
    assert isinstance(failed[0], tf.errors.CancelledError)
    assert wait_for_end(pid)


def test_processes_end_with_a_program_that_is_killed(tmp_path):
    path = tmp_path / "told"
    os.mkfifo(path)
    script = tmp_path / "program.py"
    script.write_text(
        textwrap.dedent(f"""
        import headrace as tf
        from cluster.data import functions
        options = tf.data.Options()
        options.processes = 1
        dataset = tf.data.Dataset.range(4).map(lambda x: tf.py_func(functions.told, [x, {str(path)!r}], tf.int64))
        tf.Session().run(dataset.with_options(options).make_one_shot_iterator().get_next())
        """)
    )
    tests = os.path.dirname(os.path.dirname(os.path.dirname(__file__)))
    program = subprocess.Popen(
        [sys.executable, script], env={**os.environ, "PYTHONPATH": os.pathsep.join([tests, *sys.path])}
    )
    pid = os.pidfd_open(int(path.read_text()))
    program.send_signal(signal.SIGKILL)
    program.wait()
    assert wait_for_end(pid)
