"""Threads that make batches ahead: order, epochs, errors, stopping."""

import threading

import pytest

import headrace as tf


class Numbers(tf.keras.utils.Sequence):
    def __init__(self, count, wrong=None):
        self.count = count
        self.wrong = wrong
        self.epochs = 0
        self.threads = set()

    def __len__(self):
        return self.count

    def __getitem__(self, index):
        self.threads.add(threading.current_thread().name)
        if index == self.wrong:
            raise KeyError("no such batch")
        return index + 100 * self.epochs

    def on_epoch_end(self):
        self.epochs += 1


def taken(enqueuer, count, **options):
    enqueuer.start(**options)
    batches = enqueuer.get()
    try:
        return [next(batches) for _ in range(count)]
    finally:
        enqueuer.stop()


@pytest.mark.parametrize("workers", [1, 3])
def test_epochs_follow_each_other_in_order(workers):
    numbers = Numbers(3)
    assert taken(tf.keras.utils.OrderedEnqueuer(numbers), 7, workers=workers, max_queue_size=2) == [
        0, 1, 2, 100, 101, 102, 200,
    ]  # fmt: skip
    assert threading.current_thread().name not in numbers.threads


def test_a_random_order_has_every_batch_once():
    assert sorted(taken(tf.keras.utils.OrderedEnqueuer(Numbers(20), shuffle=True), 20)) == list(range(20))


def test_an_error_comes_in_its_place_and_stops():
    enqueuer = tf.keras.utils.OrderedEnqueuer(Numbers(5, wrong=2))
    enqueuer.start(workers=2)
    batches = enqueuer.get()
    assert [next(batches), next(batches)] == [0, 1] and enqueuer.is_running()
    with pytest.raises(KeyError, match="no such batch"):
        next(batches)
    assert not enqueuer.is_running()


def test_starting_again():
    enqueuer = tf.keras.utils.OrderedEnqueuer(Numbers(2))
    assert taken(enqueuer, 1) == taken(enqueuer, 1) == [0]
    enqueuer.start()
    with pytest.raises(RuntimeError, match="runs already"):
        enqueuer.start()
    enqueuer.stop()
    assert list(enqueuer.get()) == []


@pytest.mark.parametrize("workers", [1, 4])
def test_a_generator_ends(workers):
    enqueuer = tf.keras.utils.GeneratorEnqueuer(i for i in range(50))
    enqueuer.start(workers=workers, max_queue_size=3)
    found = list(enqueuer.get())
    enqueuer.stop()
    assert sorted(found) == list(range(50)) and (workers > 1 or found == sorted(found))


def test_a_generator_that_fails():
    def numbers():
        yield 1
        raise OSError("the disk is gone")

    enqueuer = tf.keras.utils.GeneratorEnqueuer(numbers(), random_seed=3)
    enqueuer.start()
    batches = enqueuer.get()
    assert next(batches) == 1
    with pytest.raises(OSError, match="the disk is gone"):
        next(batches)


def test_processes_are_threads_with_a_warning():
    with pytest.warns(UserWarning, match="batches are made by threads of this process"):
        enqueuer = tf.keras.utils.OrderedEnqueuer(Numbers(2), use_multiprocessing=True)
    assert taken(enqueuer, 2) == [0, 1]


def test_the_base_has_no_jobs():
    with pytest.raises(NotImplementedError):
        tf.keras.utils.SequenceEnqueuer([])._run()
