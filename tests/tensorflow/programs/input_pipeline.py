"""Files to batches by queues: readers, producers and batches, run until the input ends."""

import gzip
import os
import shutil
import tempfile

import numpy as np
import tensorflow as tf

folder = tempfile.mkdtemp()


def path(name):
    return os.path.join(folder, name)


def write(name, data):
    with open(path(name), "wb") as file:
        file.write(data)
    return path(name)


def shown(value):
    if isinstance(value, tf.SparseTensorValue):
        return "sparse", value.indices.tolist(), shown(value.values), value.dense_shape.tolist()
    if isinstance(value, dict):
        return [(key, shown(value[key])) for key in sorted(value)]
    if isinstance(value, (list, tuple)):
        return [shown(v) for v in value]
    if isinstance(value, bytes):
        return value.decode().replace(folder, "").lstrip("/")
    if isinstance(value, (np.ndarray, np.generic)):
        return shown(value.tolist())
    return value


def run(*fetches, limit=20, init=True):
    """What each step gives until the input ends, with the threads of all runners."""
    coord = tf.train.Coordinator()
    with tf.Session() as sess:
        if init:
            sess.run([tf.global_variables_initializer(), tf.local_variables_initializer()])
        threads = tf.train.start_queue_runners(sess, coord)
        results = []
        try:
            while len(results) < limit:
                results.append(shown(sess.run(fetches[0] if len(fetches) == 1 else fetches)))
            results.append("and so on")
        except tf.errors.OutOfRangeError:
            results.append("end")
        coord.request_stop()
        coord.join(threads)
    tf.reset_default_graph()
    return results


def section(name):
    print("----", name)


# ---- readers

section("lines of several files")
lines = [write("a.csv", b"x,y\r\n1,2\r\n3,4"), write("empty.csv", b""), write("b.csv", b"x,y\n5,6\n")]
queue = tf.train.string_input_producer(lines, num_epochs=2, shuffle=False)
reader = tf.TextLineReader(skip_header_lines=1)
key, value = reader.read(queue)
x, y = tf.decode_csv(value, [[0], [0]])
print(key.shape, value.shape, key.op.type, reader.reader_ref.op.type, queue.name, queue.queue_ref.op.type)
print(run(key, x, y))

section("several lines together")
queue = tf.train.string_input_producer(lines, num_epochs=1, shuffle=False)
keys, values = tf.TextLineReader().read_up_to(queue, 2)
print(keys.shape, values.shape)
print(run(keys, values))

section("records, plain and compressed")
for compression in ("", "GZIP", "ZLIB"):
    options = tf.python_io.TFRecordOptions(
        {
            "": tf.python_io.TFRecordCompressionType.NONE,
            "GZIP": tf.python_io.TFRecordCompressionType.GZIP,
            "ZLIB": tf.python_io.TFRecordCompressionType.ZLIB,
        }[compression]
    )
    with tf.python_io.TFRecordWriter(path("records" + compression), options) as writer:
        for i in range(5):
            feature = tf.train.Feature(int64_list=tf.train.Int64List(value=[i, i * i]))
            example = tf.train.Example(features=tf.train.Features(feature={"n": feature}))
            writer.write(example.SerializeToString())
    queue = tf.train.string_input_producer([path("records" + compression)], num_epochs=1)
    key, serialized = tf.TFRecordReader(options=options).read(queue)
    n = tf.parse_single_example(serialized, {"n": tf.FixedLenFeature([2], tf.int64)})["n"]
    print(run(key, n))

section("images of fixed length, as CIFAR's")
for compression in ("", "GZIP"):
    data = b"header" + b"".join(bytes([label]) + bytes(range(label, label + 12)) for label in range(5)) + b"foot"
    name = write("images" + compression, gzip.compress(data) if compression else data)
    queue = tf.train.string_input_producer([name], num_epochs=1)
    reader = tf.FixedLengthRecordReader(13, header_bytes=6, footer_bytes=4, encoding=compression)
    key, value = reader.read(queue)
    raw = tf.decode_raw(value, tf.uint8)
    label = tf.reshape(tf.slice(raw, [0], [1]), [])
    image = tf.transpose(tf.reshape(tf.slice(raw, [1], [12]), [3, 2, 2]), [1, 2, 0])
    images, labels = tf.train.batch([tf.cast(image, tf.float32), label], 2)
    print(images.shape, labels.shape, [label for _, label in run(images, labels)[:-1]])
data = write("hops", bytes(range(ord("a"), ord("k"))))
queue = tf.train.string_input_producer([data], num_epochs=1)
print(run(tf.FixedLengthRecordReader(3, hop_bytes=2).read(queue)))

section("whole files, and names alone")
queue = tf.train.string_input_producer(lines, num_epochs=1, shuffle=False)
print(run(tf.WholeFileReader().read(queue)))
queue = tf.train.string_input_producer(["one", "", "two"], num_epochs=1, shuffle=False)
print(run(tf.IdentityReader().read(queue)))

section("counts and states")
queue = tf.FIFOQueue(10, tf.string, shapes=[()])
reader = tf.IdentityReader()
read = reader.read(queue)
counts = [reader.num_records_produced(), reader.num_work_units_completed()]
state = reader.serialize_state()
saved = tf.placeholder(tf.string, [])
restore, reset = reader.restore_state(saved), reader.reset()
print(reader.supports_serialize, tf.TextLineReader().supports_serialize, [c.dtype.name for c in counts], state.shape)
with tf.Session() as sess:
    sess.run(queue.enqueue_many([["a", "b", "c", "d"]]))
    print(shown(sess.run(read)), shown(sess.run(counts)), sess.run(state))
    kept = sess.run(state)
    sess.run(read)
    print(shown(sess.run(counts)))
    sess.run(restore, {saved: kept})
    print(shown(sess.run(counts)), shown(sess.run(read)))
    sess.run(reset)
    print(shown(sess.run(counts)), sess.run(state), shown(sess.run(read)), shown(sess.run(counts)))
    for wrong in (b"junk", b"\x08\x03\x10\x02"):
        try:
            sess.run(restore, {saved: wrong})
        except tf.errors.InvalidArgumentError as error:
            print("Could not parse" in str(error), "Inconsistent work started" in str(error), shown(sess.run(counts)))
tf.reset_default_graph()

section("errors of readers")


def failure(make_reader, names, dtype=tf.string):
    queue = tf.FIFOQueue(10, dtype)
    try:
        reader = make_reader()
        read = reader.read(queue)
        with tf.Session() as sess:
            for name in names:
                sess.run(queue.enqueue([name]))
            sess.run(queue.close())
            sess.run(read)
            print("nothing")
    except Exception as error:
        print(type(error).__name__)
    tf.reset_default_graph()


failure(tf.TextLineReader, [])
failure(tf.TextLineReader, [path("missing")])
failure(tf.WholeFileReader, [path("missing")])
failure(tf.WholeFileReader, [folder])
failure(tf.TFRecordReader, [write("broken", b"no records are in this file at all")])
failure(tf.IdentityReader, [3], tf.int32)
failure(tf.IdentityReader, [["a", "b"]])
failure(lambda: tf.TextLineReader(skip_header_lines=-1), [lines[0]])
failure(lambda: tf.FixedLengthRecordReader(3, header_bytes=-1), [lines[0]])
failure(lambda: tf.FixedLengthRecordReader(3, header_bytes=1000), [lines[0]])
failure(lambda: tf.FixedLengthRecordReader(3, encoding="GZIP"), [lines[0]])
for make in (tf.TextLineReader, tf.TFRecordReader):
    with tf.Session() as sess:
        for op in (make().serialize_state(), make().restore_state("")):
            try:
                sess.run(op)
            except tf.errors.UnimplementedError:
                print("UnimplementedError")

# ---- producers

section("producers")
tf.reset_default_graph()
queue = tf.train.range_input_producer(4, num_epochs=2, shuffle=False)
print(queue.name, queue.dtypes, queue.shapes, [v.name for v in tf.local_variables()])
print(run(queue.dequeue()))
print(sorted(run(tf.train.range_input_producer(5, num_epochs=1).dequeue())[:-1]))
queue = tf.train.input_producer([[1, 2], [3, 4]], num_epochs=1, shuffle=False, name="pairs")
print(queue.name, queue.shapes, len(tf.get_collection(tf.GraphKeys.QUEUE_RUNNERS)))
print(run(queue.dequeue()))
rows = tf.placeholder_with_default(np.array([[1.0], [2.0]], np.float32), [None, None])
print(run(tf.train.input_producer(rows, element_shape=[1], num_epochs=1, shuffle=False).dequeue()))
a, b = tf.train.slice_input_producer([tf.range(3), [["a", "A"], ["b", "B"], ["c", "C"]]], num_epochs=1, shuffle=False)
print(a.shape, b.shape, a.op.type)
print(run(a, b))
print(run(tf.train.range_input_producer(2, shuffle=False).dequeue(), limit=5))
print(run(tf.train.limit_epochs(tf.constant("x"), 3), init=True))
names = tf.train.match_filenames_once(path("*.csv"))
print(names.name, names.dtype.base_dtype.name, names in tf.local_variables(), names in tf.trainable_variables())
queue = tf.train.string_input_producer(names, num_epochs=1, shuffle=False)
print(run(queue.dequeue()))
unlimited = tf.constant(1)
print(tf.train.limit_epochs(unlimited) is unlimited)


def refused(call, *args, **kwargs):
    try:
        call(*args, **kwargs)
        print("accepted")
    except Exception as error:
        print(type(error).__name__, str(error)[:25])


section("errors of producers")
refused(tf.train.string_input_producer, [])
refused(tf.train.limit_epochs, unlimited, 0)
refused(tf.train.range_input_producer, 3, num_epochs=-1)
refused(tf.train.slice_input_producer, [])
refused(tf.train.input_producer, tf.placeholder(tf.int32, [None, None]))
tf.reset_default_graph()
empty = tf.train.string_input_producer(tf.placeholder_with_default(np.array([], object), [None]))
coord = tf.train.Coordinator()
with tf.Session() as sess:
    threads = tf.train.start_queue_runners(sess, coord)
    try:
        coord.join(threads)
    except tf.errors.InvalidArgumentError as error:
        print("InvalidArgumentError", "string_input_producer requires a non-null input tensor" in str(error))

# ---- batches

section("batches")
tf.reset_default_graph()


def numbers(count=7):
    return tf.train.range_input_producer(count, num_epochs=1, shuffle=False).dequeue()


def made(batched):
    """Static shapes and types of batches."""
    if isinstance(batched, dict):
        return {key: made(batched[key]) for key in sorted(batched)}
    if isinstance(batched, (list, tuple)):
        return [made(b) for b in batched]
    if isinstance(batched, tf.SparseTensor):
        return "sparse", str(batched.indices.shape), str(batched.values.shape), str(batched.dense_shape.shape)
    return str(batched.shape), batched.dtype.name


def show(batched):
    print(made(batched), run(batched))


n = numbers()
show(tf.train.batch([n, tf.stack([n, -n])], 3))
n = numbers()
show(tf.train.batch([n], 3))
n = numbers()
show(tf.train.batch({"n": n, "text": tf.as_string(n)}, 3, allow_smaller_final_batch=True))
n = numbers()
show(tf.train.batch({"n": n}, 3))
n = numbers()
show(tf.train.batch([tf.fill([3], n), tf.fill([3, 2], tf.as_string(n))], 2, enqueue_many=True)[0])
n = numbers(4)
show(tf.train.batch([tf.range(n), tf.fill([n, 2], "s")], 2, dynamic_pad=True))
n = numbers(4)
show(tf.train.batch([n, tf.fill([n], 1.5)], 3, dynamic_pad=True, shapes=[[], [None]], allow_smaller_final_batch=True))
n = numbers(6)
show(tf.train.batch([tf.fill([2], n)], 4, shapes=[[2]], capacity=4, name="named"))
n = numbers(5)
sparse = tf.SparseTensor([[tf.cast(n, tf.int64), 0]], tf.expand_dims(n * 10, 0), [5, 2])
show(tf.train.batch([n, sparse], 2))
n = tf.cast(numbers(3), tf.int64)
sparse = tf.SparseTensor([[0, n], [2, n]], tf.stack([n, -n]), [3, 4])
show(tf.train.batch({"s": sparse, "rows": tf.range(3)}, 4, enqueue_many=True, allow_smaller_final_batch=True))
size = tf.placeholder_with_default(2, [])
show(tf.train.batch([numbers(4)], size))

section("batches of chosen examples")
n = numbers()
show(tf.train.maybe_batch([n], n % 2 > 0, 2, allow_smaller_final_batch=True))
n = numbers()
show(tf.train.maybe_batch([n], True, 3))
n = numbers(3)
many = tf.fill([4], n) * 10 + tf.range(4)
show(tf.train.maybe_batch([many], tf.constant([True, False, False, True]), 3, enqueue_many=True))
n = numbers(4)
show(tf.train.maybe_batch([tf.fill([2], n)], n > 1, 2, enqueue_many=True))
n = tf.cast(numbers(3), tf.int64)
sparse = tf.SparseTensor([[0, n], [2, n]], tf.stack([n, -n]), [3, 4])
show(tf.train.maybe_batch([sparse], [True, False, True], 3, enqueue_many=True))
n = numbers(4)
sparse = tf.SparseTensor([[tf.cast(n, tf.int64)]], ["v"], [5])
show(tf.train.maybe_batch([n, sparse], n > 1, 2))


def joined(batches):
    """All examples, in order: their sources race."""
    return sorted(x for b in run(batches)[:-1] for x in b)


section("joined and shuffled")
two = [[numbers(4)], [numbers(6) + 100]]
batched = tf.train.batch_join(two, 5)
print(made(batched), joined(batched))
two = [{"n": numbers(4)}, {"n": numbers(6) + 100}]
batched = tf.train.batch_join(two, 4, allow_smaller_final_batch=True)
print(made(batched), joined(batched["n"]))
two = [[tf.fill([2], numbers(4))], [tf.fill([3], numbers(4) + 10)]]
batched = tf.train.batch_join(two, 20, enqueue_many=True)
print(made(batched), joined(batched))
two = [[numbers(3)], [numbers(3) + 10]]
print(joined(tf.train.maybe_batch_join(two, tf.constant(True), 6)))
batched = tf.train.shuffle_batch([numbers(20)], 4, 10, 5, num_threads=3, seed=1)
print(made(batched), joined(batched))
batched = tf.train.shuffle_batch(
    [tf.fill([3], numbers(5))], 4, 50, 2, enqueue_many=True, allow_smaller_final_batch=True
)
print(made(batched), joined(batched))
n = numbers(20)
print(joined(tf.train.maybe_shuffle_batch([n], 5, 10, 2, n < 10)))
two = [[numbers(4)], [numbers(6) + 100]]
print(joined(tf.train.shuffle_batch_join(two, 5, 8, 3)))
two = [{"a": numbers(4)}, {"a": numbers(6) + 100}]
print(joined(tf.train.maybe_shuffle_batch_join(two, 5, 8, 3, tf.constant(True))["a"]))

section("names")
batched = tf.train.batch([tf.constant(1)], 2)
print(batched.op.name, [r.name for r in tf.get_collection(tf.GraphKeys.QUEUE_RUNNERS)])
shuffled = tf.train.shuffle_batch([tf.constant(1)], 2, 10, 5, name="mix")
print(shuffled.op.name, [[op.name for op in r.enqueue_ops] for r in tf.get_collection(tf.GraphKeys.QUEUE_RUNNERS)])
producer = tf.train.string_input_producer(["a"], name="files", num_epochs=1)
print(producer.name, [v.name for v in tf.local_variables()], [r.name for r in tf.get_collection("queue_runners")])

section("errors of batches")
unknown = tf.placeholder(tf.float32)
refused(tf.train.batch, [unknown], 2)
refused(tf.train.batch, [tf.placeholder(tf.float32, [None])], 2)
refused(tf.train.batch, [tf.constant(1)], 2, enqueue_many=True)
refused(tf.train.batch, [], 2)
refused(tf.train.batch, [tf.constant(1)], -1)
refused(tf.train.batch_join, [], 2)
refused(tf.train.batch_join, [[tf.constant(1)], [tf.constant(1.0)]], 2)
refused(tf.train.batch_join, [[tf.constant([1])], [tf.constant([1, 2])]], 2)
refused(tf.train.batch_join, [{"a": tf.constant(1)}, {"b": tf.constant(1)}], 2)
refused(tf.train.shuffle_batch, [tf.constant(1)], 2, 5, 5)
refused(tf.train.maybe_batch, [tf.constant([1])], [True], 2)
refused(tf.train.maybe_batch, [tf.constant([1])], [[True]], 2, enqueue_many=True)
refused(tf.train.maybe_batch, [tf.constant([1])], tf.placeholder(tf.bool), 2)
tf.reset_default_graph()
print(run(tf.train.batch([tf.train.range_input_producer(3, num_epochs=1).dequeue()], 0), limit=2))

shutil.rmtree(folder)
