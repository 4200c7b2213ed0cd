"""Iterators: how they begin, end, begin again, are chosen by a step, and are ended."""

import gc
import json
import re
import threading

import numpy as np
import pytest
from library.data.taking import drain, one_by_one, take

import headrace as tf
from headrace.resources.data import ahead
from headrace.resources.state.iterator import Iterator as Resource

Dataset = tf.data.Dataset


def squares(n):
    return Dataset.range(n).map(lambda x: x * x)


def resources(iterator):
    """What sessions of this process keep for the iterator."""
    name = iterator._iterator_resource.op.name
    return [one for one in gc.get_objects() if type(one) is Resource and one.name == name]


class TestOneShot:
    def test_begins_by_itself_and_stays_at_its_end(self):
        element = squares(3).make_one_shot_iterator().get_next()
        with tf.Session() as sess:
            assert drain(sess, element) == [0, 1, 4]
            with pytest.raises(tf.errors.OutOfRangeError, match="End of sequence"):
                sess.run(element)
        with tf.Session() as sess:
            assert sess.run(element) == 0

    def test_refuses_what_a_factory_cannot_hold(self):
        v = tf.Variable(np.int64(1))
        with pytest.raises(ValueError, match="does not support datasets that capture stateful objects"):
            Dataset.range(3).map(lambda x: x + v).make_one_shot_iterator()
        with pytest.raises(ValueError, match="Cannot capture a placeholder"):
            Dataset.range(tf.placeholder(tf.int64, [])).make_one_shot_iterator()

    def test_captured_constants_are_copied(self):
        table = tf.constant([10, 20, 30])
        dataset = Dataset.range(3).map(lambda x: tf.gather(table, x))
        assert take(dataset, one_shot=True) == [10, 20, 30]


class TestInitializable:
    def test_must_be_initialized(self):
        element = squares(3).make_initializable_iterator().get_next()
        with tf.Session() as sess, pytest.raises(tf.errors.FailedPreconditionError, match="has not been initialized"):
            sess.run(element)

    def test_begins_again_with_what_is_fed(self, session):
        count = tf.placeholder(tf.int64, [])
        iterator = squares(count).make_initializable_iterator()
        element = iterator.get_next()
        for n in (2, 0, 4):
            session.run(iterator.initializer, {count: n})
            assert drain(session, element) == [i * i for i in range(n)]
        session.run(iterator.initializer, {count: 4})
        assert session.run(element) == 0
        session.run(iterator.initializer, {count: 4})
        assert session.run(element) == 0

    def test_a_fed_array_is_the_datasets_own(self, session):
        rows = tf.placeholder(tf.float32, [None, 2])
        iterator = Dataset.from_tensor_slices(rows).make_initializable_iterator()
        element = iterator.get_next()
        fed = np.ones((3, 2), np.float32)
        session.run(iterator.initializer, {rows: fed})
        fed[:] = 7
        first = session.run(element)
        first[:] = 9
        assert session.run(element).tolist() == [1, 1]

    def test_variables_are_read_for_each_element(self, session):
        v = tf.Variable(np.int64(1))
        iterator = Dataset.range(4).map(lambda x: x + v).make_initializable_iterator()
        element = iterator.get_next()
        session.run([v.initializer, iterator.initializer])
        assert session.run(element) == 1
        session.run(v.assign(100))
        assert session.run(element) == 101

    def test_a_table_is_looked_up(self):
        table = tf.contrib.lookup.index_table_from_tensor(["a", "b"], num_oov_buckets=1)
        dataset = Dataset.from_tensor_slices(["b", "x", "a"]).map(table.lookup)
        assert take(dataset) == [1, 2, 0]

    def test_several_values_of_one_element_in_one_step(self, session):
        iterator = squares(4).make_initializable_iterator()
        element = iterator.get_next()
        session.run(iterator.initializer)
        assert session.run([element, element + 1, element * 2]) == [0, 1, 0]
        two = [iterator.get_next(), iterator.get_next()]
        assert sorted(session.run(two)) == [1, 4]

    def test_sessions_have_iterators_of_their_own_unless_they_share_a_name(self):
        iterator = squares(4).make_initializable_iterator()
        with tf.Session() as one, tf.Session() as other:
            one.run(iterator.initializer)
            with pytest.raises(tf.errors.FailedPreconditionError):
                other.run(iterator.get_next())


class TestStructure:
    def test_one_iterator_for_two_datasets(self, session):
        train, test = squares(3), Dataset.range(10, 12)
        iterator = tf.data.Iterator.from_structure(train.output_types, train.output_shapes)
        element = iterator.get_next()
        begin = [iterator.make_initializer(d) for d in (train, test)]
        for _ in range(2):
            session.run(begin[0])
            assert drain(session, element) == [0, 1, 4]
            session.run(begin[1])
            assert drain(session, element) == [10, 11]
        with pytest.raises(ValueError, match="does not have an initializer"):
            iterator.initializer  # noqa: B018

    def test_datasets_of_other_types_or_shapes_are_refused(self):
        iterator = tf.data.Iterator.from_structure(tf.int64, tf.TensorShape([]))
        with pytest.raises(
            TypeError, match=r"Expected output types .*int64.* but got dataset with output types .*float32"
        ):
            iterator.make_initializer(Dataset.from_tensors(1.0))
        with pytest.raises(TypeError, match=r"Expected output shapes .* but got dataset with output shapes"):
            iterator.make_initializer(Dataset.range(3).batch(2))

    def test_a_string_chooses_the_iterator(self, session):
        handle = tf.placeholder(tf.string, [])
        chosen = tf.data.Iterator.from_string_handle(handle, tf.int64, tf.TensorShape([]))
        element = chosen.get_next()
        one, two = squares(5).make_one_shot_iterator(), Dataset.range(10, 12).make_initializable_iterator()
        first, second = session.run([one.string_handle(), two.string_handle()])
        session.run(two.initializer)
        values = [session.run(element, {handle: h}) for h in (first, first, second, first, second)]
        assert values == [0, 1, 10, 4, 11]
        with pytest.raises(tf.errors.OutOfRangeError):
            session.run(element, {handle: second})
        with pytest.raises(tf.errors.InvalidArgumentError, match="no iterator of this process"):
            session.run(element, {handle: b"?"})

    def test_a_string_for_an_iterator_of_other_types_is_refused(self, session):
        handle = tf.placeholder(tf.string, [])
        element = tf.data.Iterator.from_string_handle(handle, (tf.int64, tf.int64)).get_next()
        floats = tf.data.Iterator.from_string_handle(handle, tf.float32).get_next()
        text = squares(5).make_one_shot_iterator().string_handle()
        fed = {handle: session.run(text)}
        with pytest.raises(tf.errors.InvalidArgumentError, match="expected 2 types but got 1"):
            session.run(element, fed)
        with pytest.raises(tf.errors.InvalidArgumentError, match="mismatch at component 0: expected float32 but got"):
            session.run(floats, fed)


class TestEnding:
    """A step that waits for an element, and an iterator that works ahead, always end."""

    @pytest.fixture
    def stuck(self):
        """A dataset whose second element does not come before the event is set."""
        may_go = threading.Event()

        def wait(i):
            if i == 1:
                may_go.wait(60)
            return i

        dataset = Dataset.range(4).map(lambda i: tf.py_func(wait, [i], tf.int64)).prefetch(1)
        yield dataset, may_go
        may_go.set()

    def test_a_time_limit_ends_the_step_and_the_element_is_for_the_next(self, session, stuck):
        dataset, may_go = stuck
        element = dataset.make_one_shot_iterator().get_next()
        assert session.run(element) == 0
        with pytest.raises(tf.errors.DeadlineExceededError, match=r"iterator '.*computes the next element"):
            session.run(element, options=tf.RunOptions(timeout_in_ms=50))
        may_go.set()
        assert drain(session, element) == [1, 2, 3]

    def test_closing_the_session_ends_the_step(self, stuck):
        dataset, may_go = stuck
        element = dataset.make_one_shot_iterator().get_next()
        sess = tf.Session()
        sess.run(element)
        errors = []

        def run():
            try:
                sess.run(element)
            except tf.errors.CancelledError as e:
                errors.append(e)

        thread = threading.Thread(target=run)
        thread.start()
        waited = threading.Event()
        while "computes the next element" not in sess.waiting():
            waited.wait(0.01)
        sess.close()
        thread.join(20)
        assert "GetNext operation was cancelled" in str(errors[0])

    def test_a_position_is_saved_when_the_element_that_a_step_waits_for_has_come(self, stuck, tmp_path):
        dataset, may_go = stuck
        iterator = dataset.make_initializable_iterator()
        element = iterator.get_next()
        saver = tf.train.Saver([tf.data.experimental.make_saveable_from_iterator(iterator)])
        with tf.Session() as sess:
            sess.run(iterator.initializer)
            sess.run(element)
            taken = []
            thread = threading.Thread(target=lambda: taken.append(sess.run(element)))
            thread.start()
            waited = threading.Event()
            while "computes the next element" not in sess.waiting():
                waited.wait(0.01)
            saving = threading.Thread(target=saver.save, args=(sess, f"{tmp_path}/position"))
            saving.start()
            saving.join(0.1)
            may_go.set()
            thread.join(20)
            saving.join(20)
            assert taken == [1] and not saving.is_alive()
            for _ in range(2):
                assert drain(sess, element) == [2, 3]
                saver.restore(sess, f"{tmp_path}/position")

    def test_a_filter_that_finds_nothing_ends_in_time(self):
        dataset = Dataset.range(1).repeat().filter(lambda x: x > 0)
        element = dataset.make_one_shot_iterator().get_next()
        with tf.Session() as sess, pytest.raises(tf.errors.DeadlineExceededError):
            sess.run(element, options=tf.RunOptions(timeout_in_ms=50))

    def test_nothing_is_left_of_a_closed_session(self):
        dataset = Dataset.range(10**9).map(lambda i: i + 1, num_parallel_calls=2).prefetch(4)
        iterator = dataset.make_initializable_iterator()
        element = iterator.get_next()
        sess = tf.Session()
        sess.run(iterator.initializer)
        sess.run(element)
        assert len(resources(iterator)) == 1
        sess.close()
        del sess
        gc.collect()
        assert resources(iterator) == []

    def test_steps_of_several_threads_get_each_element_once(self, session):
        dataset = Dataset.range(200).map(lambda x: x + 1, num_parallel_calls=3).prefetch(5)
        element = dataset.make_one_shot_iterator().get_next()
        taken = []

        def run():
            taken.extend(drain(session, element))

        threads = [threading.Thread(target=run) for _ in range(4)]
        for t in threads:
            t.start()
        for t in threads:
            t.join()
        assert sorted(taken) == list(range(1, 201))


def running(call, *arguments):
    """A thread that calls, and a list of what came of it."""
    results = []

    def run():
        try:
            results.append(call(*arguments))
        except tf.errors.OpError as e:
            results.append(type(e).__name__)

    thread = threading.Thread(target=run)
    thread.start()
    return thread, results


class TestInitializedAgain:
    """As in TensorFlow, a step that waits gets the element of the dataset that was there when it asked."""

    @pytest.mark.parametrize("ahead", [0, 1])
    def test_a_step_that_waits_gets_its_element_and_others_do_not_wait_for_it(self, session, ahead):
        may_go, waits = threading.Event(), threading.Event()

        def wait(i):
            if i == 1:
                waits.set()
                may_go.wait(60)
            return i

        first = tf.placeholder(tf.int64, [])
        dataset = Dataset.range(first, first + 3).map(lambda i: tf.py_func(wait, [i], tf.int64)).prefetch(ahead)
        iterator = dataset.make_initializable_iterator()
        element = iterator.get_next()
        session.run(iterator.initializer, {first: 0})
        assert session.run(element) == 0
        thread, taken = running(session.run, element)
        assert waits.wait(30)
        poll = threading.Event()
        while "computes the next element" not in session.waiting():
            poll.wait(0.01)
        session.run(iterator.initializer, {first: 100})
        assert drain(session, element, 2) == [100, 101]
        assert taken == []
        may_go.set()
        thread.join(30)
        assert taken == [1]
        assert drain(session, element) == [102]

    def test_what_was_worked_at_ahead_ends(self):
        iterator = (
            Dataset.range(10**9).map(lambda i: i + 1, num_parallel_calls=2).prefetch(4).make_initializable_iterator()
        )
        element = iterator.get_next()
        with tf.Session() as sess:
            runs = []
            for _ in range(3):
                sess.run(iterator.initializer)
                assert sess.run(element) == 1
                runs.append(resources(iterator)[0]._serving.run)
            assert [run.closed for run in runs] == [True, True, False]


class TestBegun:
    """A one-shot iterator is begun by the first step; others that come meanwhile are steps that wait like any other."""

    @staticmethod
    def one_shot(make):
        return Dataset.range(tf.py_func(make, [], tf.int64, stateful=False)).make_one_shot_iterator().get_next()

    def test_a_time_limit_holds_while_another_step_begins_it(self, session):
        may_go, begun = threading.Event(), threading.Event()

        def size():
            begun.set()
            may_go.wait(60)
            return np.int64(3)

        element = self.one_shot(size)
        thread, taken = running(session.run, element)
        assert begun.wait(30)
        with pytest.raises(tf.errors.DeadlineExceededError, match="computes the next element of a dataset"):
            session.run(element, options=tf.RunOptions(timeout_in_ms=50))
        other, more = running(session.run, element)
        poll = threading.Event()
        while "computes the next element" not in session.waiting():
            poll.wait(0.01)
        may_go.set()
        thread.join(30)
        other.join(30)
        assert sorted(taken + more) == [0, 1]
        assert drain(session, element) == [2]

    def test_an_error_is_for_the_step_that_began_it_and_the_next_begins_again(self, session):
        may_go, begun, calls = threading.Event(), threading.Event(), []

        def size():
            calls.append(1)
            begun.set()
            may_go.wait(60)
            if len(calls) == 1:
                raise ValueError("not yet")
            return np.int64(2)

        element = self.one_shot(size)
        thread, taken = running(session.run, element)
        assert begun.wait(30)
        other, more = running(session.run, element)
        poll = threading.Event()
        while "computes the next element" not in session.waiting():
            poll.wait(0.01)
        may_go.set()
        thread.join(30)
        other.join(30)
        assert taken == ["InvalidArgumentError"] and more == [0]
        assert drain(session, element) == [1]


def test_errors_carry_the_line_of_the_function_and_the_position_of_the_element(session):
    dataset = Dataset.range(3).map(lambda x: tf.check_numerics(1.0 / tf.cast(1 - x, tf.float32), "bad"))
    element = dataset.make_one_shot_iterator().get_next()
    assert session.run(element) == 1
    with pytest.raises(tf.errors.InvalidArgumentError) as e:
        session.run(element)
    assert session.run(element) == -1
    message = str(e.value)
    assert "bad : Tensor had Inf" in message
    assert "CheckNumerics) made at" in message and "test_iterator.py" in message
    assert "in element 1 of MapDataset 'MapDataset' (made at" in message


def test_errors_of_a_map_that_batches_name_its_line_too():
    both = tf.data.experimental.map_and_batch(lambda x: tf.check_numerics(1.0 / tf.cast(1 - x, tf.float32), "bad"), 2)
    element = Dataset.range(4).apply(both).make_one_shot_iterator().get_next()
    with tf.Session() as sess, pytest.raises(tf.errors.InvalidArgumentError) as e:
        sess.run(element)
    assert re.search(
        r"in element 1 of MapAndBatchDataset 'MapAndBatchDataset' \(made at .*test_iterator.py", str(e.value)
    )


def test_random_ops_give_new_numbers_for_every_element():
    numbers = take(Dataset.range(5).map(lambda _: tf.random_uniform([], seed=3)))
    assert len(set(numbers)) == 5
    assert numbers == take(Dataset.range(5).map(lambda _: tf.random_uniform([], seed=3)))


def test_get_next_warns_when_it_is_called_in_a_loop():
    iterator = squares(3).make_one_shot_iterator()
    with pytest.warns(UserWarning, match="unusually high number"):
        for _ in range(33):
            iterator.get_next()


def test_iterators_are_in_a_collection():
    iterator = squares(3).make_initializable_iterator()
    assert tf.get_collection("iterators") == [iterator._iterator_resource]
    assert iterator.initializer.type == "MakeIterator"


def test_an_iterator_on_another_device_than_what_uses_its_elements():
    with tf.device("/cpu:1"):
        v = tf.Variable(np.int64(3))
        dataset = Dataset.range(6).map(lambda x: x * v, num_parallel_calls=2).filter(lambda x: x > 2).batch(2)
        iterator = dataset.prefetch(1).make_initializable_iterator()
        element = iterator.get_next()
    with tf.device("/cpu:0"):
        result = element + 1
    with tf.Session(config=tf.ConfigProto(device_count={"CPU": 2})) as sess:
        sess.run(v.initializer)
        sess.run(iterator.initializer)
        assert [e.tolist() for e in drain(sess, result)] == [[4, 7], [10, 13], [16]]


@pytest.mark.parametrize("make", [tf.data.make_one_shot_iterator, tf.data.make_initializable_iterator])
def test_a_report_before_the_first_step_counts_from_it_on(session, make):
    iterator = make(tf.data.Dataset.range(5))
    element, report = iterator.get_next(), tf.data.report(iterator)
    assert json.loads(session.run(report))["stages"] == []
    if make is tf.data.make_initializable_iterator:
        session.run(iterator.initializer)
    session.run(element)
    assert [stage["elements"] for stage in json.loads(session.run(report))["stages"]] == [1]


@pytest.mark.parametrize("most_bytes", [1 << 28, 15])
def test_an_automatic_buffer_grows_when_steps_find_it_empty(session, monkeypatch, most_bytes):
    """And as far as its elements, of 8 bytes each, have room."""
    monkeypatch.setattr(ahead, "MOST_BYTES", most_bytes)
    iterator = Dataset.range(1000).prefetch(tf.data.experimental.AUTOTUNE).make_initializable_iterator()
    element, report = iterator.get_next(), tf.data.report(iterator)
    session.run(iterator.initializer)
    assert json.loads(session.run(report))["stages"][0]["room"] == 1
    assert drain(session, element) == list(range(1000))
    assert (json.loads(session.run(report))["stages"][0]["room"] > 1) == (most_bytes > 15)


def test_report_says_where_the_time_goes(monkeypatch):
    dataset = tf.data.Dataset.range(100).shuffle(10, seed=1).map(lambda x: x * 2).batch(2)
    iterator = one_by_one(dataset).make_initializable_iterator()
    element, report = iterator.get_next(), tf.data.report(iterator)
    with tf.Session() as sess:
        assert json.loads(sess.run(report))["stages"] == []
        sess.run(iterator.initializer)
        for _ in range(3):
            sess.run(element)
        stages = json.loads(sess.run(report))["stages"]
        assert [stage["stage"].split()[0] for stage in stages] == [
            "BatchDatasetV2", "MapDataset", "ShuffleDataset", "RangeDataset"
        ]  # fmt: skip
        assert [stage["elements"] for stage in stages] == [3, 6, 6, 15]
        assert (stages[2]["held"], stages[2]["room"]) == (9, 10)
        assert all(stage["waited_s"] >= stage["computing_s"] > 0 for stage in stages)
        monkeypatch.setattr("headrace.resources.state.iterator.WATCHED_S", -1.0)
        sess.run([report])
        sess.run(element)  # nobody looks any more
        sess.run(element)
        assert [stage["elements"] for stage in json.loads(sess.run(report))["stages"]] == [0, 0, 0, 0]
    with pytest.raises(TypeError, match="an iterator of a dataset"):
        tf.data.report(dataset)


def test_a_traced_step_shows_the_stages(session):
    iterator = one_by_one(tf.data.Dataset.range(9).map(lambda x: x * 2).batch(2)).make_one_shot_iterator()
    element = iterator.get_next()
    session.run(element)
    metadata = tf.RunMetadata()
    options = tf.RunOptions(trace_level=tf.RunOptions.FULL_TRACE)
    assert session.run(element, options=options, run_metadata=metadata).tolist() == [4, 6]
    assert session.run(element).tolist() == [8, 10]
    names = [node.node_name for device in metadata.step_stats.dev_stats for node in device.node_stats]
    counts = {name: names.count(f"IteratorGetNext/{name}") for name in ("BatchDatasetV2", "MapDataset", "RangeDataset")}
    assert counts == {"BatchDatasetV2": 1, "MapDataset": 2, "RangeDataset": 2}


def test_a_time_limit_loses_no_element_of_a_batch(session):
    limited, free = threading.Event(), threading.Event()

    def keep(x):
        if x == 2:
            limited.set()
            free.wait()
        return True

    dataset = tf.data.Dataset.range(9).filter(lambda x: tf.reshape(tf.py_func(keep, [x], tf.bool), []))
    element = dataset.batch(4).make_one_shot_iterator().get_next()
    with pytest.raises(tf.errors.DeadlineExceededError):
        session.run(element, options=tf.RunOptions(timeout_in_ms=50))
    limited.wait()
    free.set()
    assert [session.run(element).tolist() for _ in range(2)] == [[0, 1, 2, 3], [4, 5, 6, 7]]


@pytest.mark.parametrize("ahead", [False, True])
def test_closing_ends_an_element_that_never_comes(ahead):
    dataset = tf.data.Dataset.range(9).repeat().filter(lambda x: x < 0).batch(2)
    element = (dataset.prefetch(1) if ahead else dataset).make_one_shot_iterator().get_next()
    with tf.Session() as sess, pytest.raises(tf.errors.DeadlineExceededError):
        sess.run(element, options=tf.RunOptions(timeout_in_ms=50))


def drawn(x):
    return tf.random_uniform([], seed=3)


@pytest.mark.parametrize(
    "chain",
    [
        lambda: Dataset.range(6).map(drawn),
        lambda: Dataset.range(3).map(drawn).repeat(2).prefetch(6),
        lambda: Dataset.range(3).flat_map(lambda x: Dataset.range(2).map(drawn)),
        lambda: Dataset.range(6).map(lambda x: tf.cond(x < 3, lambda: drawn(x), lambda: drawn(x) + 1)),
        lambda: Dataset.range(6).apply(
            tf.data.experimental.group_by_window(lambda x: x % 2, lambda key, window: window.map(drawn), 2)
        ),
    ],
)
def test_random_numbers_with_seeds_begin_again_with_the_iterator(chain):
    iterator = chain().make_initializable_iterator()
    element = iterator.get_next()
    with tf.Session() as sess:
        epochs = []
        for _ in range(3):
            sess.run(iterator.initializer)
            epochs.append(drain(sess, element))
    assert epochs[0] == epochs[1] == epochs[2]
    assert len(set(epochs[0])) == 6


def test_random_numbers_without_seeds_go_on():
    iterator = Dataset.range(6).map(lambda x: tf.random_uniform([])).make_initializable_iterator()
    element = iterator.get_next()
    with tf.Session() as sess:
        epochs = []
        for _ in range(2):
            sess.run(iterator.initializer)
            epochs += drain(sess, element)
    assert len(set(epochs)) == 12


def test_each_reduction_draws_the_same_numbers():
    total = Dataset.range(3).map(drawn).reduce(0.0, lambda state, x: state + x * tf.random_uniform([], seed=4))
    with tf.Session() as sess:
        assert len({sess.run(total) for _ in range(3)}) == 1


def test_a_restored_position_goes_on_with_its_random_numbers(tmp_path):
    """Initializing the iterator in the new session does not begin the numbers again: the position is restored there."""

    iterator = Dataset.range(6).map(drawn).make_initializable_iterator()
    element, saver = iterator.get_next(), tf.train.Saver(tf.train.exact_state(iterators=True))
    with tf.Session() as sess:
        sess.run(iterator.initializer)
        drain(sess, element, 2)
        path = saver.save(sess, str(tmp_path / "at"))
        rest = drain(sess, element)
    with tf.Session() as sess:
        saver.restore(sess, path)
        sess.run(iterator.initializer)
        assert drain(sess, element) == rest
