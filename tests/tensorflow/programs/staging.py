"""What waits to be complete or to be used: barriers and staging areas, in order and by key.

Nothing waits at a staging area here: TensorFlow cannot end that.
"""

import numpy as np
import tensorflow as tf
from tensorflow.python.ops import data_flow_ops

SHORT = tf.RunOptions(timeout_in_ms=200)


def attempt(label, session, fetches, feed=None):
    """Prints what a run gives, or the class of what it raises."""
    try:
        print(label, session.run(fetches, feed, options=SHORT))
    except (tf.errors.OpError, ValueError, TypeError) as error:
        print(label, type(error).__name__)


def build(label, make):
    try:
        print(label, make())
    except (ValueError, TypeError) as error:
        print(label, type(error).__name__)


def barrier(session):
    with tf.name_scope("outer"):
        one = data_flow_ops.Barrier((tf.string, tf.int32), shapes=((), ()), name="words")
    indices, keys, values = one.take_many(2)
    print(one.name, indices, keys, values)
    print(one.take_many(2, allow_small_batch=True).values)
    print(one.insert_many(0, ["k"], ["v"]).name, one.close().name, one.ready_size().name, one.incomplete_size())
    sizes = [one.ready_size(), one.incomplete_size()]
    session.run(one.insert_many(0, ["k1", "k2"], ["a", "b"]))
    session.run(one.insert_many(1, ["k1"], [1]))
    session.run(one.insert_many(0, ["k3"], ["c"]))
    session.run(one.insert_many(1, ["k3"], [3]))
    print(session.run(sizes))
    session.run(one.insert_many(1, ["k2"], [2]))
    print(session.run([indices, keys, values]))
    attempt("too few", session, indices)
    other = data_flow_ops.Barrier((tf.string, tf.int32), shapes=((), ()))
    attempt("twice", session, other.insert_many(0, ["k4", "k4"], ["d", "e"]))
    attempt("component", session, one.insert_many(2, ["k5"], ["f"]))
    attempt("dtype", session, one.insert_many(0, ["k5"], [5]))
    attempt("no values", session, one.insert_many(1, np.array([], object).astype("S"), np.array([], np.int32)))
    attempt("none", session, one.take_many(0))
    session.run(one.insert_many(0, ["k6"], ["g"]))
    session.run(one.close())
    attempt("new key", session, one.insert_many(0, ["k7"], ["h"]))
    session.run(one.insert_many(1, ["k6"], [6]))
    attempt("small", session, one.take_many(5, allow_small_batch=True))
    attempt("closed", session, one.take_many(1))
    attempt("closed twice", session, one.close())
    build("counts", lambda: one.insert_many(0, ["a", "b"], ["c"]))
    build("scalar keys", lambda: one.insert_many(0, "a", "c"))
    build("empty shape", lambda: data_flow_ops.Barrier((tf.string,), shapes=((0,),)))


def area(session):
    with tf.name_scope("outer"):
        one = data_flow_ops.StagingArea([tf.float32, tf.string], shapes=[[], None], capacity=2)
    print(one.name, one.dtypes, one.shapes, one.names, one.capacity, one.memory_limit)
    x = tf.placeholder(tf.float32, [])
    put, get = one.put([x, tf.as_string(x)]), one.get()
    print(put.name, get, one.peek(0), one.size(), one.clear().name)
    for value in (1.0, 2.0):
        session.run(put, {x: value})
    print(session.run([one.size(), one.peek(1), one.peek(0)]))
    print(session.run(get), session.run(get), session.run(one.size()))
    session.run(put, {x: 4.0})
    session.run(one.clear())
    print(session.run(one.size()))
    named = data_flow_ops.StagingArea([tf.float32, tf.int32], names=["a", "b"], shared_name="named")
    session.run(named.put({"b": tf.constant(2), "a": tf.constant(1.0)}))
    print(named.name, sorted(session.run(named.get()).items()))
    attempt("memory", session, data_flow_ops.StagingArea([tf.float32], memory_limit=3).put([tf.constant(1.0)]))
    build("dtype", lambda: one.put([tf.constant(1), tf.constant("a")]))
    build("many", lambda: one.put([tf.constant(1.0), tf.constant("a"), tf.constant("a")]))
    build("shape", lambda: one.put([tf.constant([1.0]), tf.constant("a")]))
    build("dictionary", lambda: one.put({"a": tf.constant(1.0)}))
    build("list", lambda: named.put([tf.constant(1.0), tf.constant(1)]))
    build("keys", lambda: named.put({"c": tf.constant(1.0)}))
    build("names", lambda: data_flow_ops.StagingArea([tf.float32], names=["a", "b"]))
    build("shapes", lambda: data_flow_ops.StagingArea([tf.float32], shapes=[[], []]))
    build("shared_name", lambda: data_flow_ops.StagingArea([tf.float32], shared_name=1))


def area_by_key(session, ordered):
    one = data_flow_ops.MapStagingArea([tf.float32, tf.int32], names=["a", "b"], ordered=ordered)
    key = tf.placeholder(tf.int64, [])
    put = one.put(key, {"a": tf.to_float(key), "b": tf.to_int32(key)})
    print(one.name, put.name, one.get(key)[1], one.peek(key), one.get()[1], one.size(), one.incomplete_size())
    for number in (7, 3, 5):
        session.run(put, {key: number})
    print(session.run(one.size()), sorted(session.run(one.peek(3)).items()), session.run(one.get(7, ["b"])[1]))
    attempt("gone", session, one.get(7, ["b"])[1])
    print(session.run(one.get(7, ["a"])[1]), session.run(one.size()))
    keys = [int(session.run(one.get())[0]) for _ in range(2)]
    print(keys if ordered else sorted(keys))
    session.run(one.put(1, {"a": tf.constant(1.0)}))
    print(session.run([one.size(), one.incomplete_size()]))
    attempt("there already", session, one.put(1, {"a": tf.constant(1.0)}))
    session.run(one.put(1, {"b": tf.constant(1)}))
    print(session.run([one.size(), one.incomplete_size()]))
    session.run(one.clear())
    print(session.run([one.size(), one.incomplete_size()]))
    other = data_flow_ops.MapStagingArea([tf.float32, tf.float32], ordered=ordered, capacity=1)
    attempt("order", session, other.put(1, [tf.constant(1.0), tf.constant(2.0)], [1, 0]))
    session.run(other.put(1, [tf.constant(1.0), tf.constant(2.0)], [0, 1]))
    print(session.run(other.get(1, [1])[1]))
    build("no indices", lambda: other.put(1, [tf.constant(1.0)]))
    for indices in (["a"], [], 0, ["a", 0]):
        build(str(indices), lambda i=indices: other.get(1, i))


def main(_):
    parts = (barrier, area, lambda s: area_by_key(s, ordered=False), lambda s: area_by_key(s, ordered=True))
    for part in parts:
        with tf.Graph().as_default(), tf.Session() as session:
            part(session)


if __name__ == "__main__":
    tf.app.run()
