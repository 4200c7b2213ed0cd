"""Queues of every kind: order, batches, closing, limits, shapes and the errors of wrong use."""

import threading

import numpy as np
import tensorflow as tf


def show(title, make):
    with tf.Graph().as_default(), tf.Session() as sess:
        try:
            print(title, "->", make(sess))
        except Exception as error:
            print(title, "!!", type(error).__name__)


def results(sess, *ops):
    found = []
    for op in ops:
        try:
            value = sess.run(op)
            found.append(value.tolist() if isinstance(value, np.ndarray) else None if value is None else value.item())
        except Exception as error:
            found.append(type(error).__name__)
    return found


def fifo(sess):
    queue = tf.FIFOQueue(10, tf.int32, shapes=[[]], name="q")
    sess.run(queue.enqueue_many([[1, 2, 3, 4, 5]]))
    return results(sess, queue.size(), queue.dequeue(), queue.dequeue_many(2), queue.dequeue_many(0), queue.size())


def closed(sess):
    queue = tf.FIFOQueue(10, tf.int32, shapes=[[]])
    sess.run(queue.enqueue_many([[1, 2, 3]]))
    return results(
        sess, queue.close(), queue.is_closed(), queue.enqueue(1), queue.dequeue_up_to(2), queue.dequeue_many(2),
        queue.dequeue(), queue.dequeue(), queue.dequeue_up_to(2), queue.close(), queue.close(cancel_pending_enqueues=True),
    )  # fmt: skip


def padded(sess):
    queue = tf.PaddingFIFOQueue(10, [tf.int32, tf.string], shapes=[[None], [None]])
    for n in (1, 3, 2):
        sess.run(queue.enqueue([list(range(n)), ["x"] * n]))
    numbers, texts = sess.run(queue.dequeue_many(3))
    return numbers.tolist(), texts.tolist()


def priorities(sess):
    queue = tf.PriorityQueue(10, [tf.string], shapes=[[]])
    sess.run(queue.enqueue_many([np.int64([3, 1, 2, 1]), ["c", "a", "b", "a2"]]))
    keys, values = sess.run(queue.dequeue_many(4))
    return keys.tolist(), sorted(values.tolist())


def shuffled(sess):
    tf.set_random_seed(5)
    queue = tf.RandomShuffleQueue(30, 2, tf.int32, shapes=[[]], seed=11)
    sess.run(queue.enqueue_many([list(range(12))]))
    first = sess.run(queue.dequeue_many(6)).tolist()
    sess.run(queue.enqueue_many([[20, 21, 22]]))
    sess.run(queue.close())
    return first, sess.run(queue.dequeue_up_to(20)).tolist()


def named(sess):
    queue = tf.FIFOQueue(10, [tf.float32, tf.int32], shapes=[[2], []], names=["a", "b"])
    sess.run(queue.enqueue({"a": [1.0, 2.0], "b": 3}))
    taken = queue.dequeue()
    value = sess.run(taken)
    return sorted(value), value["a"].tolist(), value["b"].item(), taken["a"].shape.as_list()


def waits(sess):
    queue = tf.FIFOQueue(1, tf.int32, shapes=[[]])
    enqueue, taken = queue.enqueue_many([[1, 2, 3]]), []
    thread = threading.Thread(target=sess.run, args=(enqueue,))
    thread.start()
    for _ in range(3):
        taken.append(sess.run(queue.dequeue()).item())
    thread.join()
    return taken


def refused(sess):
    queue = tf.FIFOQueue(1, tf.int32, shapes=[[]])
    sess.run(queue.enqueue(1))
    errors = []

    def add():
        try:
            sess.run(waiting)
        except Exception as error:
            errors.append(type(error).__name__)

    waiting, close = queue.enqueue(2), queue.close(cancel_pending_enqueues=True)
    thread = threading.Thread(target=add)
    thread.start()
    while thread.is_alive() and not errors:
        sess.run(close) if not errors else None
        thread.join(0.2)
    return errors + results(sess, queue.dequeue(), queue.dequeue())


def shared(*makers):
    def run(sess):
        return [results(sess, make().size())[0] for make in makers]

    return run


def shapes(sess):
    queue = tf.FIFOQueue(10, [tf.float32, tf.int32], shapes=[[2], []])
    n = tf.placeholder(tf.int32, [])
    tensors = [*queue.dequeue(), *queue.dequeue_many(3), *queue.dequeue_many(n), *queue.dequeue_up_to(3)]
    return [t.shape.as_list() for t in tensors]


def names(sess):
    queue = tf.FIFOQueue(10, tf.float32, shapes=[[]], name="q")
    made = [
        queue.queue_ref.op,
        queue.enqueue(1.0),
        queue.enqueue_many([[1.0]]),
        queue.dequeue().op,
        queue.dequeue_many(2).op,
    ]
    made += [queue.dequeue_up_to(2).op, queue.close(), queue.size().op, queue.is_closed().op]
    return [(op.name, op.type) for op in made]


def wrong_shape(sess):
    queue, x = tf.FIFOQueue(10, tf.float32, shapes=[[2]]), tf.placeholder(tf.float32)
    return sess.run(queue.enqueue(x), {x: [1.0, 2.0, 3.0]})


def wrong_count(sess):
    queue, x = tf.FIFOQueue(10, [tf.float32, tf.int32]), tf.placeholder(tf.float32)
    return sess.run(queue.enqueue_many([x, [1, 2]]), {x: [1.0]})


show("fifo", fifo)
show("closed", closed)
show("padded", padded)
show("priorities", priorities)
show("shuffled", shuffled)
show("named", named)
show("waits", waits)
show("refused", refused)
show("shapes", shapes)
show("names", names)
show("wrong shape", wrong_shape)
show("wrong count", wrong_count)
show("no shapes", lambda sess: sess.run(tf.FIFOQueue(10, tf.float32).dequeue_many(2)))
show("static shape", lambda sess: tf.FIFOQueue(10, tf.float32, shapes=[[2]]).enqueue([[1.0]]))
show("static dtype", lambda sess: tf.FIFOQueue(10, tf.float32).enqueue(tf.constant(1)))
show("dict", lambda sess: tf.FIFOQueue(10, tf.float32).enqueue({"a": 1.0}))
show("no dict", lambda sess: tf.FIFOQueue(10, tf.float32, names=["a"]).enqueue([1.0]))
show("other names", lambda sess: tf.FIFOQueue(10, tf.float32, names=["a"]).enqueue({"b": 1.0}))
show("names", lambda sess: tf.FIFOQueue(10, tf.float32, names=["a", "b"]))
show("shapes", lambda sess: tf.FIFOQueue(10, tf.float32, shapes=[[], []]))
show("open shapes", lambda sess: tf.FIFOQueue(10, tf.float32, shapes=[[None]]))
show("padding without shapes", lambda sess: tf.PaddingFIFOQueue(10, tf.float32, shapes=None))
show("minimum", lambda sess: sess.run(tf.RandomShuffleQueue(10, 10, tf.float32).size()))
show("negative", lambda sess: tf.FIFOQueue(10, tf.float32, shapes=[[]]).dequeue_many(-1))
show("list", lambda sess: tf.QueueBase.from_list(0, [tf.FIFOQueue(10, tf.float32), tf.FIFOQueue(10, tf.int32)]))
show("shared", shared(*[lambda: tf.FIFOQueue(10, tf.float32, shared_name="x")] * 2))
show(
    "capacities",
    shared(lambda: tf.FIFOQueue(9, tf.float32, shared_name="x"), lambda: tf.FIFOQueue(8, tf.float32, shared_name="x")),
)
show(
    "types",
    shared(lambda: tf.FIFOQueue(9, tf.float32, shared_name="x"), lambda: tf.FIFOQueue(9, tf.int32, shared_name="x")),
)
