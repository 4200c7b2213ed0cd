"""Rows of SQLite databases; the expected values are TensorFlow's."""

import sqlite3
from contextlib import closing

import numpy as np
import pytest
from library.data.positions import check_positions
from library.data.taking import take

import headrace as tf

SqlDataset = tf.data.experimental.SqlDataset
ROWS = [
    (1, "x", 2.5, None),
    (300, "12ab", -7.9, b"\x00\xff"),
    (None, None, None, 3),
    ("5.9e1z", 4.25, "q", 70000),
    (2**63 - 1, "é", "1e3", -1),
]
EXPECTED = {
    tf.string: [
        (b"1", b"x", b"2.5", b""), (b"300", b"12ab", b"-7.9", b"\x00\xff"), (b"", b"", b"", b"3"),
        (b"5.9e1z", b"4.25", b"q", b"70000"), (b"9223372036854775807", b"\xc3\xa9", b"1e3", b"-1"),
    ],
    tf.int64: [(1, 0, 2, 0), (300, 12, -7, 0), (0, 0, 0, 3), (5, 4, 0, 70000), (2**63 - 1, 0, 1, -1)],
    tf.int8: [(1, 0, 2, 0), (44, 12, -7, 0), (0, 0, 0, 3), (5, 4, 0, 112), (-1, 0, 1, -1)],
    tf.uint16: [(1, 0, 2, 0), (300, 12, 65529, 0), (0, 0, 0, 3), (5, 4, 0, 4464), (65535, 0, 1, 65535)],
    tf.float64: [
        (1, 0, 2.5, 0), (300, 12, -7.9, 0), (0, 0, 0, 3), (59, 4.25, 0, 70000), (9.223372036854776e18, 0, 1000, -1),
    ],
    tf.bool: [
        (True, False, True, False), (True, True, True, False), (False, False, False, True), (True, True, False, True),
        (True, False, True, True),
    ],
}  # fmt: skip


@pytest.fixture
def path(tmp_path):
    path = str(tmp_path / "a%20b?.db")
    with closing(sqlite3.connect(path)) as database:
        database.execute("create table t (a, b, c, d)")
        database.executemany("insert into t values (?, ?, ?, ?)", ROWS)
        database.commit()
    return path


@pytest.mark.parametrize("dtype", EXPECTED, ids=lambda dtype: dtype.name)
def test_what_sqlite_has_becomes_what_is_asked_for(path, dtype):
    dataset = SqlDataset("sqlite", path, "select a, b, c, d from t", (dtype,) * 4)
    assert dataset.output_types == (dtype,) * 4 and dataset.output_shapes == (tf.TensorShape([]),) * 4
    rows = take(dataset)
    assert rows == EXPECTED[dtype]
    if dtype != tf.string:
        assert {np.asarray(value).dtype for row in rows for value in row} == {np.dtype(dtype.as_numpy_dtype)}


def test_structures_and_positions(path):
    dataset = SqlDataset("sqlite", path, "select a, d from t order by d", {"d": tf.int32, "a": tf.string})
    rows = check_positions(dataset.repeat(2).prefetch(2))
    assert [row["d"] for row in rows] == [0, -1, 3, 70000, 0] * 2
    assert rows[3]["a"] == b"5.9e1z"


def test_the_query_may_be_fed(session, path):
    query = tf.placeholder(tf.string, [])
    iterator = SqlDataset("sqlite", path, query, tf.int64).make_initializable_iterator()
    element = iterator.get_next()
    for text, expected in (("select 7", 7), ("select count(*) from t", 5)):
        session.run(iterator.initializer, {query: text})
        assert session.run(element) == expected


def test_a_database_that_changed_has_no_such_position(path, tmp_path):
    iterator = SqlDataset("sqlite", path, "select d from t", tf.int64).make_initializable_iterator()
    element = iterator.get_next()
    saver = tf.train.Saver([tf.data.experimental.make_saveable_from_iterator(iterator)])
    with tf.Session() as sess:
        sess.run(iterator.initializer)
        for _ in range(4):
            sess.run(element)
        at = saver.save(sess, str(tmp_path / "at"))
    with closing(sqlite3.connect(path)) as database:
        database.execute("delete from t where a is null or a = 1")
        database.commit()
    with tf.Session() as sess:
        saver.restore(sess, at)
        with pytest.raises(tf.errors.DataLossError, match="had given 4 elements, it has only 3 now"):
            sess.run(iterator.initializer)


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        (("mysql", "", "select 1", tf.int32), "InvalidArgument", "The database type, mysql, is not supported"),
        (("sqlite", "", "select 1", tf.float32), "InvalidArgument", r"must be one of string, int8.* got float32"),
        (("sqlite", "", "select 1, 2", tf.int32), "InvalidArgument", r"columns in query \(2\) must match .* \(1\)"),
        (("sqlite", "", "select nope", tf.int32), "Unknown", "no such column: nope"),
        (("sqlite", "", "delete from t", tf.int32), "Unknown", "attempt to write a readonly database"),
        (("sqlite", "", "select 1; select 2", tf.int32), "InvalidArgument", "one statement at a time"),
        (("sqlite", "/nowhere/x.db", "select 1", tf.int32), "NotFound", "/nowhere/x.db: there is no such database"),
        (("sqlite", __file__, "select * from t", tf.int32), "InvalidArgument", "file is not a database"),
    ],
)
def test_mistakes(path, arguments, error, message):
    driver, given, query, types = arguments
    iterator = SqlDataset(driver, given or path, query, types).make_initializable_iterator()
    element = iterator.get_next()
    with tf.Session() as sess, pytest.raises(getattr(tf.errors, f"{error}Error"), match=message):
        sess.run(iterator.initializer)
        sess.run(element)
