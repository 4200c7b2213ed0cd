"""Input pipelines of `tf.data`, as programs write them: one text for Headrace and TensorFlow."""

import glob

import numpy as np

from benchmarks._peers import input_files

AHEAD = -1  # AUTOTUNE
BUCKETS = [10, 20, 30]


def records(tf, folder):
    """TFRecords, parsed one by one, shuffled, batched."""
    features = {
        "x": tf.FixedLenFeature([input_files.FLOATS], tf.float32),
        "label": tf.FixedLenFeature([], tf.int64),
        "name": tf.FixedLenFeature([], tf.string),
    }
    dataset = tf.data.TFRecordDataset(sorted(glob.glob(f"{folder}/*.tfrecord")))
    dataset = dataset.map(lambda record: tf.parse_single_example(record, features), AHEAD)
    return dataset.shuffle(1000, seed=1).batch(64)


def images(tf, folder):
    """JPEG files, decoded, cropped at random, batched."""

    def load(name):
        image = tf.image.decode_jpeg(tf.read_file(name), channels=3)
        image = tf.random_crop(image, [input_files.CROP, input_files.CROP, 3])
        return tf.cast(image, tf.float32) / 255.0

    names = sorted(glob.glob(f"{folder}/*.jpg"))
    dataset = tf.data.Dataset.from_tensor_slices(names).shuffle(len(names), seed=1).map(load, AHEAD).batch(32)
    options = tf.data.Options()
    if hasattr(options, "processes"):  # Headrace's: its threads share one interpreter
        options.processes = 2
    return dataset.with_options(options)


def table(tf, folder):
    """Lines of CSV, decoded, made one row of numbers each, batched."""

    def decode(line):
        *numbers, kind = tf.decode_csv(line, [[0.0]] * (input_files.COLUMNS - 1) + [[""]])
        return tf.stack(numbers), kind

    return tf.data.TextLineDataset(f"{folder}/table.csv").map(decode, AHEAD).shuffle(1000, seed=1).batch(64)


def text(tf, folder):
    """Lines, split into words, looked up in a vocabulary, in padded batches of about the same length."""
    words = tf.lookup.StaticVocabularyTable(
        tf.lookup.TextFileInitializer(
            f"{folder}/words.txt", tf.string, tf.lookup.TextFileIndex.WHOLE_LINE, tf.int64,
            tf.lookup.TextFileIndex.LINE_NUMBER,
        ),
        1,
    )  # fmt: skip
    dataset = tf.data.TextLineDataset(f"{folder}/lines.txt")
    dataset = dataset.map(lambda line: words.lookup(tf.string_split([line]).values), AHEAD)
    bucket = tf.data.experimental.bucket_by_sequence_length(tf.size, BUCKETS, [32] * (len(BUCKETS) + 1))
    return dataset.shuffle(1000, seed=1).apply(bucket)


def generator(tf, folder):
    """A Python generator, batched."""
    kinds, shapes = (tf.float32, tf.int64), ([32], [])
    return tf.data.Dataset.from_generator(input_files.generated, kinds, shapes).batch(64)


def arrays(tf, folder):
    """Arrays in memory, shuffled, scaled, batched."""
    dataset = tf.data.Dataset.from_tensor_slices(input_files.arrays()).shuffle(5000, seed=1)
    return dataset.map(lambda image, label: (tf.cast(image, tf.float32) / 255.0, label), AHEAD).batch(64)


CASES = {f.__name__: f for f in (records, images, table, text, generator, arrays)}


class Epoch:
    """One way through a dataset; a call takes all its batches, each in a step that also multiplies ``work`` matrices."""

    def __init__(self, tf, make, folder, work=0):
        self._end = tf.errors.OutOfRangeError
        with tf.Graph().as_default() as graph:
            iterator = tf.data.make_initializable_iterator(make(tf, folder).prefetch(AHEAD))
            batch = tf.nest.flatten(iterator.get_next())
            self._begin, self._take = iterator.initializer, tf.group(*batch)
            if work:
                with tf.control_dependencies(batch):
                    self._take = products(tf, work)
            ready = [tf.tables_initializer(), tf.global_variables_initializer()]
        self._session = tf.Session(graph=graph)
        self._session.run(ready)

    def __call__(self):
        self._session.run(self._begin)
        try:
            while True:
                self._session.run(self._take)
        except self._end:
            pass

    def close(self):
        self._session.close()


class Work:
    """The steps of an epoch without their input."""

    def __init__(self, tf, work, steps):
        self._steps = steps
        with tf.Graph().as_default() as graph:
            self._take = products(tf, work)
            ready = tf.global_variables_initializer()
        self._session = tf.Session(graph=graph)
        self._session.run(ready)

    def __call__(self):
        for _ in range(self._steps):
            self._session.run(self._take)


def products(tf, work):
    """A number, after multiplying so many matrices; they come from a variable, so that nobody computes it once and for all."""
    value = tf.get_variable("matrix", initializer=np.full((256, 256), 1 / 256, np.float32)).read_value()
    for _ in range(work):
        value = tf.matmul(value, value)
    return tf.reduce_sum(value)
