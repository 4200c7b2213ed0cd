"""Positions of iterators in checkpoints: a job that is resumed goes on with the very next element."""

import itertools
import threading

import numpy as np
import pytest
from library.data.taking import drain

import headrace as tf

Dataset = tf.data.Dataset


def shuffled():
    return (
        Dataset.range(12).shuffle(5, seed=3).repeat(2).map(lambda x: x * 10, num_parallel_calls=3).batch(5).prefetch(2)
    )


def nested():
    return Dataset.range(6).interleave(lambda n: Dataset.range(n).shuffle(3, seed=1), 3, 1).cache().repeat(2)


def strings():
    words = Dataset.from_tensor_slices(["a", "bc", "d"]).repeat(2)
    return Dataset.zip((words, Dataset.from_generator(lambda: itertools.count(5), tf.int32))).prefetch(1)


def windows():
    return Dataset.range(9).window(3, shift=2).prefetch(1).flat_map(lambda w: w.batch(3)).padded_batch(2, [None])


def plain(elements):
    return [
        np.asarray(e).tolist() if not isinstance(e, tuple) else tuple(np.asarray(x).tolist() for x in e)
        for e in elements
    ]


@pytest.mark.parametrize("one_shot", [False, True])
@pytest.mark.parametrize("make", [shuffled, nested, strings, windows])
def test_cut_at_every_position(make, one_shot, tmp_path):
    with tf.Graph().as_default():
        dataset = make()
        iterator = dataset.make_one_shot_iterator() if one_shot else dataset.make_initializable_iterator()
        element = iterator.get_next()
        saver = tf.train.Saver([tf.data.experimental.make_saveable_from_iterator(iterator)], max_to_keep=None)
        begin = [] if one_shot else [iterator.initializer]
        with tf.Session() as sess:
            sess.run(begin)
            whole, saved = [], []
            while True:
                saved.append(saver.save(sess, str(tmp_path / "at"), global_step=len(whole)))
                taken = drain(sess, element, 1)
                if not taken:
                    break
                whole += taken
        for position, path in enumerate(saved):
            with tf.Session() as sess:
                if position % 2:
                    saver.restore(sess, path)
                    sess.run(begin)
                else:
                    sess.run(begin)
                    drain(sess, element, 1)
                    saver.restore(sess, path)
                assert plain(drain(sess, element)) == plain(whole[position:]), position


def test_initializing_again_begins_again(session, tmp_path):
    iterator = Dataset.range(4).make_initializable_iterator()
    element = iterator.get_next()
    saver = tf.train.Saver([tf.data.experimental.make_saveable_from_iterator(iterator)])
    session.run(iterator.initializer)
    session.run(element)
    path = saver.save(session, str(tmp_path / "at"))
    saver.restore(session, path)
    assert session.run(element) == 1
    session.run(iterator.initializer)
    assert session.run(element) == 0


def test_another_dataset_refuses_the_position(session, tmp_path):
    iterator = tf.data.Iterator.from_structure(tf.int64, tf.TensorShape([]))
    begin = [iterator.make_initializer(d) for d in (Dataset.range(4), Dataset.range(4).map(lambda x: x))]
    saver = tf.train.Saver([tf.data.experimental.make_saveable_from_iterator(iterator)])
    session.run(begin[0])
    path = saver.save(session, str(tmp_path / "at"))
    session.run(begin[1])
    with pytest.raises(tf.errors.InvalidArgumentError, match=r"not one of the dataset .* 1 stages, the dataset has 2"):
        saver.restore(session, path)


def test_exact_state_has_iterators_and_the_numbers_of_their_functions(tmp_path):
    def build():
        dataset = Dataset.range(8).map(lambda x: tf.random_uniform([], seed=1)).prefetch(2)
        iterator = dataset.make_one_shot_iterator()
        return iterator.get_next(), tf.train.Saver(tf.train.exact_state(iterators=True))

    with tf.Graph().as_default(), tf.Session() as sess:
        element, saver = build()
        drain(sess, element, 3)
        path = saver.save(sess, str(tmp_path / "at"))
        rest = drain(sess, element)
        saver.restore(sess, path)
        assert drain(sess, element)[:2] == rest[:2]  # those that were computed ahead

    with pytest.raises(TypeError, match="an iterator of a dataset"):
        tf.data.experimental.make_saveable_from_iterator(3)


@pytest.mark.parametrize("method", ["make_one_shot_iterator", "make_initializable_iterator"])
def test_exact_state_of_a_graph_that_is_built_again(method, tmp_path):
    def build():
        numbers = Dataset.range(20).map(lambda x: tf.random_uniform([])).filter(lambda y: tf.random_uniform([]) > 0.3)
        numbers = numbers.map(lambda y: y + tf.random_uniform([]))
        iterator = getattr(numbers, method)()
        begin = iterator.initializer if method == "make_initializable_iterator" else tf.no_op()
        return begin, iterator.get_next(), tf.train.Saver(tf.train.exact_state(iterators=True))

    with tf.Graph().as_default(), tf.Session() as sess:
        begin, element, saver = build()
        sess.run(begin)
        drain(sess, element, 3)
        path = saver.save(sess, str(tmp_path / "at"))
        rest = drain(sess, element, 4)
    with tf.Graph().as_default(), tf.Session() as sess:
        begin, element, saver = build()
        saver.restore(sess, path)
        sess.run(begin)
        assert drain(sess, element, 4) == rest


@pytest.mark.parametrize("error", [ValueError, ZeroDivisionError, tf.errors.AbortedError])
def test_an_error_that_was_computed_ahead_is_part_of_the_position(session, tmp_path, error):
    """Whatever a generator raises, saving does not raise it: the step does that takes the element, before or after restoring."""

    begun = threading.Event()

    def numbers():
        yield 1
        begun.set()
        raise error(None, None, "my mistake") if issubclass(error, tf.errors.OpError) else error("my mistake")

    expected = {ValueError: tf.errors.InvalidArgumentError, ZeroDivisionError: tf.errors.UnknownError}.get(error, error)
    iterator = Dataset.from_generator(numbers, tf.int32, []).prefetch(3).make_initializable_iterator()
    element = iterator.get_next()
    saver = tf.train.Saver([tf.data.experimental.make_saveable_from_iterator(iterator)])
    session.run(iterator.initializer)
    assert session.run(element) == 1
    assert begun.wait(30)  # saving waits for what is being computed
    path = saver.save(session, str(tmp_path / "at"))
    for _ in range(2):
        with pytest.raises(expected, match="my mistake"):
            session.run(element)
        assert drain(session, element) == []
        saver.restore(session, path)
