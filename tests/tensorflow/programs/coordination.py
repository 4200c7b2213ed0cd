"""Threads that stop together: a coordinator, loopers, and runners that fill a buffer of the program's own."""

import threading
import traceback

import tensorflow as tf


class Buffer(object):
    """A queue in Python: its ops are py_funcs."""

    def __init__(self, limit, name):
        self.name = name
        self.limit = limit
        self.items = []
        self.closes = []
        self.lock = threading.Lock()

    def enqueue(self, name):
        def put():
            with self.lock:
                if len(self.items) == self.limit:
                    raise StopIteration("end of the input")
                self.items.append(len(self.items))

        return tf.py_func(put, [], [], name=name)

    def close(self, cancel_pending_enqueues=False):
        def note():
            self.closes.append("cancel" if cancel_pending_enqueues else "close")

        return tf.py_func(note, [], [], name="%s_Close" % self.name)


def fill(session):
    """Three threads fill a buffer; the last one closes it."""
    buffer = Buffer(10, "numbers")
    runner = tf.train.QueueRunner(buffer, [buffer.enqueue("put_%d" % i) for i in range(3)])
    tf.train.add_queue_runner(runner)
    coord = tf.train.Coordinator()
    threads = tf.train.start_queue_runners(sess=session, coord=coord, start=False)
    print([t.name for t in threads], [t.daemon for t in threads])
    print("again", runner.create_threads(session, coord=coord))
    for thread in threads:
        thread.start()
    for thread in threads[:-1]:
        thread.join()
    print(buffer.items, buffer.closes, coord.should_stop())
    coord.request_stop()
    coord.join(threads)
    print(buffer.closes, runner.exceptions_raised, coord.joined)
    print(str(runner.to_proto()).strip())
    print(repr(runner.to_proto().SerializeToString()))


def fail(session):
    """The error of one thread stops all and is raised by join."""

    def read():
        raise ValueError("no such record")

    buffer = Buffer(10, "records")
    runner = tf.train.QueueRunner(buffer, [tf.py_func(read, [], [], name="read")] * 2)
    coord = tf.train.Coordinator()
    threads = runner.create_threads(session, coord=coord, start=True)
    try:
        coord.join(threads)
    except tf.errors.InvalidArgumentError as error:
        print(type(error).__name__, error.message.splitlines()[0])
    print(buffer.closes, coord.should_stop(), any(t.is_alive() for t in threads))


def loop():
    """Beats of a timer until one of them has seen enough."""
    coord = tf.train.Coordinator()
    beats = []

    def beat(step):
        beats.append(len(beats) * step)
        if len(beats) == 4:
            coord.request_stop()

    tf.train.LooperThread.loop(coord, 0.01, beat, args=(5,))
    coord.join()
    print(beats, coord.wait_for_stop())


def first_error(clean):
    """Two errors, of which the first counts; with `clean`, it is how the threads are meant to end."""
    coord = tf.train.Coordinator(clean_stop_exception_types=(KeyError,) if clean else None)

    def work():
        with coord.stop_on_exception():
            raise KeyError("first")

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    with coord.stop_on_exception():
        raise IndexError("second")
    try:
        coord.join([thread])
        print("joined")
    except KeyError as error:
        print("raised", error, traceback.extract_tb(error.__traceback__)[-1][2])


def stubborn():
    """A thread that does not stop."""
    coord, release = tf.train.Coordinator(), threading.Event()
    thread = threading.Thread(target=release.wait, name="stubborn")
    thread.start()
    coord.request_stop()
    try:
        coord.join([thread], stop_grace_period_secs=0.1)
    except RuntimeError as error:
        print(str(error)[: len("Coordinator stopped with threads still running: stubborn")])
    coord.join([thread], stop_grace_period_secs=0.1, ignore_live_threads=True)
    release.set()
    thread.join()


def main(_):
    with tf.Session() as session:
        fill(session)
        fail(session)
    loop()
    first_error(clean=False)
    first_error(clean=True)
    stubborn()


if __name__ == "__main__":
    tf.app.run()
