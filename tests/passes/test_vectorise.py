"""vectorise: functions of datasets called for many elements at once give what they give one by one, to the last bit."""

import numpy as np
import pytest
from library.data.positions import check_positions
from library.data.taking import one_by_one, take

import headrace as tf
from headrace.passes.vectorise import vectorise
from headrace.runtime.planning.body import BodyFunction

Dataset = tf.data.Dataset
RANDOM = np.random.RandomState(0)
ROWS = {
    "floats": RANDOM.randn(150, 2, 3).astype(np.float32),
    "number": RANDOM.randint(-9, 9, 150),
    "text": [b"%d some %d words" % (i, i % 7) if i % 5 else b"" for i in range(150)],
}


def numbers(row):
    return row["number"]


VECTORISED = {
    "arithmetic": lambda r: r["floats"] * 2.0 - tf.cast(r["number"], tf.float32) / 3.0,
    "broadcast": lambda r: r["floats"] + tf.constant([[1.0, 2.0, 3.0]]),
    "rank 3 beside a scalar": lambda r: tf.cast(r["number"], tf.float32) + tf.ones([2, 2, 3]),
    "comparison": lambda r: tf.logical_and(r["floats"] > 0.0, tf.logical_not(tf.equal(r["floats"], 1.0))),
    "select": lambda r: tf.where(r["floats"] > 0.0, r["floats"], -r["floats"]),
    "integers": lambda r: (r["number"] // 4, r["number"] % 4, tf.maximum(r["number"], 2), tf.abs(r["number"])),
    "shapes": lambda r: (tf.shape(r["floats"]), tf.size(r["floats"]), tf.rank(r["floats"])),
    "reshape": lambda r: tf.reshape(r["floats"], [3, -1]),
    "transpose": lambda r: tf.transpose(r["floats"]),
    "expand": lambda r: (tf.expand_dims(r["floats"], 1), tf.expand_dims(r["floats"], -1)),
    "squeeze": lambda r: (tf.squeeze(r["floats"][:1]), tf.squeeze(r["floats"][:1], [0])),
    "slices": lambda r: (r["floats"][0], r["floats"][:, ::-1], r["floats"][..., 1], tf.slice(r["floats"], [0, 1], [2, 2])),
    "new axis": lambda r: r["floats"][:, tf.newaxis, 1:],
    "joined": lambda r: (tf.stack([r["number"], r["number"]]), tf.concat([r["floats"], r["floats"]], 1)),
    "stack at the end": lambda r: tf.stack([r["floats"], r["floats"]], -1),
    "unstack": lambda r: tuple(tf.unstack(r["floats"], axis=1)),
    "reductions": lambda r: (tf.reduce_max(r["floats"]), tf.reduce_min(r["floats"], 0, keepdims=True)),
    "any": lambda r: tf.reduce_any(r["floats"] > 1.0),
    "sum of integers": lambda r: tf.reduce_sum(tf.cast(r["floats"] > 0.0, tf.int32), -1),
    "gather": lambda r: tf.gather(tf.constant([[1.0], [2.0], [3.0]]), tf.abs(r["number"]) % 3),
    "one hot": lambda r: tf.one_hot(tf.abs(r["number"]), 12),
    "constant": lambda r: (r["number"], tf.constant([1, 2])),
    "strings": lambda r: (tf.strings.length(r["text"]), tf.strings.to_hash_bucket_fast(r["text"], 10), tf.as_string(r["number"])),
    "regular expression": lambda r: tf.strings.regex_replace(r["text"], "[aeiou]", "-"),
    "words": lambda r: tf.string_split([r["text"]]).values,
    "lengths of words": lambda r: tf.size(tf.string_split([r["text"]]).values),
    "words, hashed": lambda r: tf.strings.to_hash_bucket_fast(tf.string_split([r["text"]]).values, 100) + 1,
    "number in a text": lambda r: tf.string_to_number(tf.as_string(r["number"]), tf.int64),
    "raw bytes": lambda r: tf.decode_raw(tf.strings.substr("abcd", 0, 4), tf.uint8) + tf.cast(tf.abs(r["number"]), tf.uint8),
}  # fmt: skip

LEFT = {
    "sum of floats": lambda r: tf.reduce_sum(r["floats"]),
    "approximated": lambda r: tf.exp(r["floats"]),
    "random": lambda r: r["floats"] + tf.random_uniform([]),
    "Python": lambda r: tf.py_func(lambda x: x, [r["number"]], tf.int64),
    "print": lambda r: tf.Print(r["number"], []),
    "assertion": lambda r: _asserted(r["number"]),
    "where words are": lambda r: tf.string_split([r["text"]]).indices,
    "axis that depends": lambda r: tf.expand_dims(r["floats"], tf.cast(tf.abs(r["number"]) % 2, tf.int32)),
    "conditional": lambda r: tf.cond(r["number"] > 0, lambda: r["number"], lambda: -r["number"]),
}


def _asserted(number):
    with tf.control_dependencies([tf.Assert(number < 100, [number])]):
        return tf.identity(number)


@pytest.fixture
def called(monkeypatch):
    """What `vectorise` gave for each function that was asked about."""
    answers = []

    def by_rows(self, count):
        answers.append(vectorise(self._body, count))
        return original(self, count)

    original = BodyFunction.by_rows
    monkeypatch.setattr(BodyFunction, "by_rows", by_rows)
    return answers


def mapped(function):
    dataset = Dataset.from_tensor_slices(ROWS).map(function)
    return take(dataset), take(one_by_one(dataset))


def same(first, second):
    assert len(first) == len(second)
    for a, b in zip(map(tf.nest.flatten, first), map(tf.nest.flatten, second), strict=True):
        for x, y in zip(a, b, strict=True):
            assert np.asarray(x).dtype == np.asarray(y).dtype
            assert np.array_equal(x, y)


@pytest.mark.parametrize("name", VECTORISED)
def test_gives_the_same_bits(name, called):
    same(*mapped(VECTORISED[name]))
    assert called and all(called)


@pytest.mark.parametrize("name", LEFT)
def test_leaves_what_would_differ(name, called):
    dataset = Dataset.from_tensor_slices(ROWS).map(LEFT[name])
    assert len(take(dataset)) == 150
    assert not any(called)


def test_examples(called):
    def example(i):
        feature = {
            "x": tf.train.Feature(float_list=tf.train.FloatList(value=[i, 2 * i])),
            "n": tf.train.Feature(int64_list=tf.train.Int64List(value=[i])),
            "s": tf.train.Feature(bytes_list=tf.train.BytesList(value=[b"%d" % i])),
        }
        if i == 40:
            del feature["n"]
        return tf.train.Example(features=tf.train.Features(feature=feature)).SerializeToString()

    features = {
        "x": tf.FixedLenFeature([2], tf.float32),
        "n": tf.FixedLenFeature([], tf.int64, default_value=-1),
        "s": tf.FixedLenFeature([], tf.string),
    }
    records = Dataset.from_tensor_slices([example(i) for i in range(100)])
    dataset = records.map(lambda record: tf.parse_single_example(record, features))
    found = take(dataset)
    same(found, take(one_by_one(dataset)))
    assert found[40]["n"] == -1 and found[41]["x"].tolist() == [41.0, 82.0] and all(called)


def test_tables_are_read(called):
    table = tf.lookup.StaticHashTable(tf.lookup.KeyValueTensorInitializer([1, 2, 3], [10, 20, 30]), -1)
    dataset = Dataset.range(50).map(lambda x: table.lookup(tf.cast(x, tf.int32)))
    same(take(dataset), take(one_by_one(dataset)))
    assert take(dataset)[:5] == [-1, 10, 20, 30, -1] and called and all(called)


@pytest.mark.parametrize("resource", [True, False])
def test_a_variable_is_read_for_each_element_and_not_before(session, resource):
    offset = tf.get_variable("offset", initializer=np.int64(100), use_resource=resource)
    more = offset.assign_add(100)
    iterator = Dataset.range(50).map(lambda x: x + offset).map(lambda x: x * 2).make_initializable_iterator()
    number = iterator.get_next()
    session.run([offset.initializer])
    session.run(iterator.initializer)
    found = []
    for _ in range(5):
        found.append(session.run(number))
        session.run(more)
    assert found == [200, 402, 604, 806, 1008]


def test_a_table_that_changes_is_read_for_each_element_and_not_before(session):
    table = tf.contrib.lookup.MutableHashTable(tf.int64, tf.int64, -1)
    key = tf.placeholder(tf.int64)
    insert = table.insert(key, key * 10)
    iterator = Dataset.range(50).map(table.lookup).make_initializable_iterator()
    number = iterator.get_next()
    session.run(iterator.initializer)
    found = []
    for i in range(5):
        session.run(insert, {key: i})
        found.append(session.run(number))
    assert found == [0, 10, 20, 30, 40]


def test_filters_and_keys(called):
    dataset = Dataset.range(200).filter(lambda x: tf.equal(x % 3, 0))
    same(take(dataset), take(one_by_one(dataset)))
    assert take(dataset) == list(range(0, 200, 3))
    grouped = Dataset.range(100).apply(
        tf.data.experimental.group_by_window(lambda x: x % 3, lambda key, window: window.batch(4), 4)
    )
    same(take(grouped), take(one_by_one(grouped)))
    assert all(called)


def test_an_error_is_that_of_its_element_and_the_others_are_given():
    texts = [b"%d" % i for i in range(150)]
    texts[70] = b"seventy"
    dataset = Dataset.from_tensor_slices(texts).map(lambda text: tf.string_to_number(text, tf.int64))
    found = take(dataset)
    assert found == [*range(70), "InvalidArgumentError", *range(71, 150)]
    number = dataset.skip(70).make_one_shot_iterator().get_next()
    with tf.Session() as sess, pytest.raises(tf.errors.InvalidArgumentError, match="in element 70 of MapDataset"):
        sess.run(number)


def test_an_error_before_it_comes_in_its_place():
    texts = [b"%d" % i for i in range(150)]
    texts[70] = b"seventy"
    numbers = Dataset.from_tensor_slices(texts).map(lambda text: tf.string_to_number(text, tf.int64))
    assert take(numbers.map(lambda x: x * 2)) == [*range(0, 140, 2), "InvalidArgumentError", *range(142, 300, 2)]


def test_a_generator_is_not_read_ahead(session):
    seen = []

    def generate():
        for i in range(100):
            seen.append(i)
            yield i

    number = Dataset.from_generator(generate, tf.int64, []).map(lambda x: x * 2).make_one_shot_iterator().get_next()
    assert [session.run(number) for _ in range(3)] == [0, 2, 4]
    assert seen == [0, 1, 2]


def test_positions_between_elements_that_are_computed():
    check_positions(Dataset.range(60).map(lambda x: x * 2).filter(lambda x: x % 4 < 3).batch(7))
    check_positions(
        Dataset.from_tensor_slices(ROWS["text"][:24]).map(lambda t: tf.string_split([t]).values).shuffle(5, seed=1)
    )


def test_large_elements_are_not_stacked(called):
    dataset = Dataset.from_tensor_slices(np.ones([20, 2000], np.float32)).map(lambda x: x * 2.0)
    assert len(take(dataset)) == 20 and not called
