"""Kernels on arrays that take strings, tables or state give what the kernels on tensors give."""

import numpy as np
import pytest

import headrace as tf

OFF = tf.ConfigProto(compile="off")
WORDS = np.array([b"a b", b"cd", b"e f g"], object)


def example(i):
    feature = {"x": {"float_list": {"value": [i, 2.0]}}, "n": {"int64_list": {"value": [300 + i]}}}
    return tf.train.Example(features=tf.train.Features(feature=feature)).SerializeToString()


def table():
    initial = tf.lookup.KeyValueTensorInitializer(tf.constant(["cd", "x"]), tf.constant([7, 8], tf.int64))
    return tf.lookup.StaticHashTable(initial, -1)


def parsed(x, features):
    found = tf.parse_example(x, features)
    return [found[key] for key in sorted(found)]


FIXED = {"x": tf.FixedLenFeature([2], tf.float32), "n": tf.FixedLenFeature([], tf.int64)}
EXAMPLES = np.array([example(i) for i in range(3)], object)
NUMBERS = np.array([b"1", b" -2 ", b"30"], object)
CASES = {
    "length": (WORDS, lambda x: [tf.strings.length(x)]),
    "split": (WORDS, lambda x: list(tf.string_split(x).indices.op.outputs)),
    "buckets": (WORDS, lambda x: [tf.string_to_hash_bucket_fast(x, 100) * 2]),
    "match": (WORDS, lambda x: [tf.strings.regex_full_match(x, ".*d")]),
    "gather": (WORDS, lambda x: [tf.gather(x, [2, 0])]),
    "look up": (WORDS, lambda x: [table().lookup(x) + 1]),
    "as text": (np.array([3, 4]), lambda x: [tf.as_string(x + 1)]),
    "numbers": (NUMBERS, lambda x: [tf.string_to_number(x), tf.string_to_number(x, tf.int32)]),
    "csv": (NUMBERS, lambda x: tf.decode_csv(x, [[0]])),
    "raw": (np.array([b"12345678", b"abcdefgh"], object), lambda x: [
        tf.decode_raw(x, tf.int32), tf.decode_raw(x, tf.int16, little_endian=False), tf.decode_raw(x, tf.float16)]),
    "no bytes": (np.array([b"", b""], object), lambda x: [tf.decode_raw(x, tf.int32)]),
    "tensor": (np.array([[1.0, 2.0]], np.float32), lambda x: [
        tf.io.parse_tensor(tf.io.serialize_tensor(x), tf.float32) + 1.0]),
    "strings": (WORDS, lambda x: [tf.io.parse_tensor(tf.io.serialize_tensor(x), tf.string)]),
    "examples": (EXAMPLES, lambda x: parsed(x, FIXED)),
    "lists": (EXAMPLES, lambda x: [tf.parse_example(x, {"n": tf.VarLenFeature(tf.int64)})["n"].values]),
    "of variable length": (EXAMPLES, lambda x: parsed(x, {
        "x": tf.FixedLenSequenceFeature([], tf.float32, allow_missing=True), "n": tf.FixedLenFeature([], tf.int64)})),
    "missing": (EXAMPLES, lambda x: parsed(x, {"y": tf.FixedLenFeature([], tf.string, "none")})),
    "one example": (np.array(example(5), object), lambda x: [tf.parse_single_example(x, FIXED)["n"]]),
    "nothing of it": (np.array(example(5), object), lambda x: [
        tf.parse_single_example(x, {"y": tf.VarLenFeature(tf.float32)})["y"].values]),
}  # fmt: skip


def run(build, given, monkeypatch, off):
    monkeypatch.setenv("HEADRACE_PASSES_OFF", "arrays" if off else "")
    with tf.Graph().as_default(), tf.Session(config=OFF) as session:
        x = tf.Variable(tf.constant(given, tf.string) if given.dtype == object else given)
        results = build(x)
        session.run([tf.global_variables_initializer(), tf.tables_initializer()])
        return session.run(results)


@pytest.mark.parametrize("case", CASES)
def test_arrays_and_tensors_agree(case, monkeypatch):
    given, build = CASES[case]
    found, wanted = (run(build, given, monkeypatch, off) for off in (False, True))
    for a, b in zip(found, wanted, strict=True):
        assert (np.asarray(a).dtype, np.shape(a)) == (np.asarray(b).dtype, np.shape(b))
        np.testing.assert_array_equal(a, b)


def test_they_are_used(tmp_path, monkeypatch):
    """No tensor is made of what a table gives."""
    monkeypatch.setenv("HEADRACE_DUMP", str(tmp_path))
    x = tf.Variable(tf.constant(WORDS, tf.string))
    found = table().lookup(x) * 2
    with tf.Session(config=OFF) as session:
        session.run([tf.global_variables_initializer(), tf.tables_initializer()])
        assert session.run(found).tolist() == [-2, 14, -2]
    text = "\n".join(p.read_text() for p in tmp_path.glob("*strand*.py"))
    assert "quiet" in text and ".numpy()" not in text


def test_a_sampler_keeps_its_state():
    drawn = tf.nn.learned_unigram_candidate_sampler(tf.Variable([[1], [1]], dtype=tf.int64), 1, 2, True, 4, seed=3)
    with tf.Session(config=OFF) as session:
        session.run(tf.global_variables_initializer())
        first, second = session.run(drawn), session.run(drawn)
    assert len(set(first[0].tolist())) == 2
    assert second[1][0, 0] > first[1][0, 0]  # it learned


@pytest.mark.parametrize(
    ("build", "message"),
    [
        (lambda x: tf.string_to_number(x), "StringToNumberOp could not correctly convert string: a b"),
        (lambda x: tf.decode_csv(x, [[0]]), "is not a valid int32: a b"),
        (lambda x: tf.decode_raw(x, tf.int16), "all be the same size, but element 1 has size 2 != 3"),
        (lambda x: tf.parse_example(x, FIXED)["n"], "Could not parse example input"),
        (lambda x: tf.gather(x, tf.Variable([3])), r"3 is not in \[0, 3\)"),
        (lambda x: table().lookup(x), "not initialized"),
        (lambda x: tf.io.parse_tensor(x[0], tf.int32), "Could not parse `serialized` as TensorProto"),
        (lambda x: tf.raw_ops.ParseTensor(serialized=x[:1], out_type=tf.int32), r"to be a scalar, got shape: \[1\]"),
        (lambda x: tf.io.parse_tensor(tf.io.serialize_tensor(x), tf.int32), "Type mismatch between parsed tensor"),
    ],
)
def test_errors_are_those_of_the_kernels(build, message):
    x = tf.Variable(tf.constant(WORDS, tf.string))
    found = build(x)
    with tf.Session(config=OFF) as session:
        session.run(tf.global_variables_initializer())
        with pytest.raises(tf.errors.OpError, match=message):
            session.run(found)
