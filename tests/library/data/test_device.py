"""Elements on devices: copied there ahead, dealt out to several in turn."""

import threading

import pytest
from library.data.positions import check_positions
from library.data.taking import drain, take

import headrace as tf
from headrace import extend
from headrace.runtime.host.device import unregister_device

Dataset = tf.data.Dataset
experimental = tf.data.experimental
TWO = tf.ConfigProto(device_count={"CPU": 2})
ALWAYS = tf.ConfigProto(device_count={"CPU": 2}, partition="always")


def pairs(n):
    return Dataset.range(n).map(lambda x: (x, tf.cast(x, tf.float32) / 2))


class TestPrefetchToDevice:
    @pytest.mark.parametrize("config", [TWO, ALWAYS], ids=["auto", "always"])
    def test_a_dataset_on_another_device_than_its_elements(self, config):
        with tf.device("/cpu:0"):
            dataset = pairs(4).apply(experimental.prefetch_to_device("/cpu:1"))
            iterator = dataset.make_initializable_iterator()
            element = iterator.get_next()
            once = dataset.make_one_shot_iterator().get_next()
        assert {t.device for t in (*element, *once)} == {"/device:CPU:1"}
        with tf.Session(config=config) as sess:
            for _ in range(2):
                sess.run(iterator.initializer)
                assert drain(sess, element) == [(0, 0), (1, 0.5), (2, 1), (3, 1.5)]
            assert drain(sess, once) == [(0, 0), (1, 0.5), (2, 1), (3, 1.5)]

    def test_copies_are_where_the_device_has_its_memory(self):
        extend.register_device("NPU", "meta", priority=-1)  # memory without values
        try:
            iterator = pairs(2).batch(2).apply(experimental.copy_to_device("/npu:0")).make_initializable_iterator()
            x, y = iterator.get_next()
            with tf.Session() as sess:
                sess.run(iterator.initializer)
                assert sess.run(tf.shape(y)).tolist() == [2]
                sess.run(iterator.initializer)
                with pytest.raises(tf.errors.InvalidArgumentError, match="meta"):
                    sess.run(x)
        finally:
            unregister_device("NPU")

    def test_positions(self):
        elements = check_positions(pairs(5).apply(experimental.prefetch_to_device("/cpu:0", 2)))
        assert elements == [(0, 0), (1, 0.5), (2, 1), (3, 1.5), (4, 2)]

    def test_strings_stay_on_the_host(self):
        dataset = Dataset.from_tensor_slices(["a", "b"]).apply(experimental.prefetch_to_device("/cpu:0"))
        assert take(dataset) == [b"a", b"b"]

    def test_it_comes_last(self):
        dataset = Dataset.range(3).apply(experimental.copy_to_device("/cpu:0"))
        with pytest.raises(ValueError, match=r"must be the last transformation.* got MapDataset"):
            dataset.map(lambda x: x)
        with pytest.raises(TypeError, match="a dataset on a device cannot be a component"):
            Dataset.from_tensors(dataset)
        assert take(dataset.prefetch(1)) == [0, 1, 2]

    def test_an_iterator_that_does_not_know_it_gives_values_of_the_host(self, session):
        dataset = Dataset.range(3).apply(experimental.prefetch_to_device("/cpu:0"))
        iterator = tf.data.Iterator.from_structure(tf.int64, [])
        element, begin = iterator.get_next(), iterator.make_initializer(dataset)
        session.run(begin)
        assert drain(session, element) == [0, 1, 2]

    def test_eagerly(self):
        with tf.eager_mode():
            assert [int(x) for x in Dataset.range(3).apply(experimental.prefetch_to_device("/cpu:0"))] == [0, 1, 2]


class TestMultiDeviceIterator:
    @pytest.mark.parametrize("config", [TWO, ALWAYS], ids=["auto", "always"])
    @pytest.mark.parametrize(("most", "ahead"), [(1, 1), (3, 0), (1, 4)])
    def test_elements_go_to_the_devices_in_turn(self, config, most, ahead):
        devices = ["/cpu:0", "/cpu:1", "/cpu:0"]
        iterator = experimental.MultiDeviceIterator(Dataset.range(8), devices, most, ahead)
        elements = iterator.get_next()
        assert [e.device for e in elements] == ["/device:CPU:0", "/device:CPU:1", "/device:CPU:0"]
        with tf.Session(config=config) as sess:
            for _ in range(2):
                sess.run(iterator.initializer)
                assert drain(sess, elements) == [[0, 1, 2], [3, 4, 5]]

    def test_one_device_and_the_end_of_each(self):
        iterator = experimental.MultiDeviceIterator(Dataset.range(3), ["/cpu:0", "/cpu:1"], max_buffer_size=2)
        first, second = iterator.get_next("/cpu:0"), iterator.get_next(device="/cpu:1")
        has = [one.has_value() for one in iterator.get_next_as_optional()]
        with tf.Session(config=TWO) as sess:
            sess.run(iterator.initializer)
            assert drain(sess, first) == [0, 2]
            assert drain(sess, second) == [1]
            sess.run(iterator.initializer)
            assert [sess.run(has) for _ in range(3)] == [[True, True], [True, False], [False, False]]
        with pytest.raises(ValueError, match=r"device must be one of \['/cpu:0', '/cpu:1'\], got '/gpu:7'"):
            iterator.get_next("/gpu:7")

    def test_a_device_that_is_ahead_waits_for_the_others(self):
        iterator = experimental.MultiDeviceIterator(Dataset.range(20), ["/cpu:0", "/cpu:1"], 2, 0)
        first, second = iterator.get_next("/cpu:0"), iterator.get_next("/cpu:1")
        with tf.Session(config=TWO) as sess:
            sess.run(iterator.initializer)
            assert [sess.run(first) for _ in range(3)] == [0, 2, 4]
            with pytest.raises(tf.errors.DeadlineExceededError, match="computes the next element"):
                sess.run(first, options=tf.RunOptions(timeout_in_ms=50))
            taken = []
            thread = threading.Thread(target=lambda: taken.extend(drain(sess, first)))
            thread.start()
            assert drain(sess, second) == list(range(1, 20, 2))
            thread.join()
        assert taken == list(range(6, 20, 2))

    def test_an_error_goes_to_the_device_whose_turn_it_was(self):
        dataset = Dataset.from_tensor_slices([1.0, 0.0, 2.0, 4.0]).map(lambda x: tf.check_numerics(1 / x, "bad"))
        iterator = experimental.MultiDeviceIterator(dataset, ["/cpu:0", "/cpu:1"], 2, 0)
        first, second = iterator.get_next("/cpu:0"), iterator.get_next("/cpu:1")
        with tf.Session(config=TWO) as sess:
            sess.run(iterator.initializer)
            assert drain(sess, first) == [1, 0.5]
            assert drain(sess, second) == ["InvalidArgumentError", 0.25]

    def test_positions_cannot_be_saved(self, session, tmp_path):
        iterator = experimental.MultiDeviceIterator(Dataset.range(4), ["/cpu:0"])
        saver = tf.train.Saver([experimental.make_saveable_from_iterator(iterator._iterators[0])])
        session.run(iterator.initializer)
        with pytest.raises(tf.errors.UnimplementedError, match="position of a MultiDeviceIterator cannot be saved"):
            saver.save(session, str(tmp_path / "at"))

    def test_mistakes(self):
        with pytest.raises(ValueError, match="needs at least one device"):
            experimental.MultiDeviceIterator(Dataset.range(4), [])
        iterator = experimental.MultiDeviceIterator(Dataset.range(4), ["/cpu:0"], 0, 0)
        with tf.Session() as sess, pytest.raises(tf.errors.InvalidArgumentError, match="at least 1, got 0"):
            sess.run(iterator.initializer)

    def test_eagerly(self):
        with tf.eager_mode():
            iterator = experimental.MultiDeviceIterator(Dataset.range(5), ["/cpu:0", "/cpu:0"])
            assert [[int(e) for e in iterator.get_next()] for _ in range(2)] == [[0, 1], [2, 3]]
            assert [bool(o.has_value()) for o in iterator.get_next_as_optional()] == [True, False]
