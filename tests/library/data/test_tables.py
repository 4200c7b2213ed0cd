"""CSV files and files of Examples as datasets.  What is expected is what TensorFlow 2.21's tf.compat.v1 gives."""

import gzip

import numpy as np
import pytest
from library.data.positions import check_positions
from library.data.taking import take

import headrace as tf

Dataset = tf.data.Dataset
experimental = tf.data.experimental


@pytest.mark.parametrize(
    ("content", "defaults", "settings", "expected"),
    [
        (b"a,1,2.5\nb,2,\n", [tf.string, tf.int32, [0.5]], {}, [(b"a", 1, 2.5), (b"b", 2, 0.5)]),
        (b'h,i\r\n"x ""y"", z\n2",3\r\n w ,4', [tf.string, tf.int64], {"header": True}, [(b'x "y", z\n2', 3), (b" w ", 4)]),
        (b"1,2,3\n4,5,6\n", [[0], [0]], {"select_cols": [0, 2]}, [(1, 3), (4, 6)]),
        (b"1,NA\n,3\n", [[0], [7]], {"na_value": "NA"}, [(1, 7), (0, 3)]),
        (b'1;2\n"3";4\n', [tf.string, tf.int32], {"field_delim": ";", "use_quote_delim": False}, [(b"1", 2), (b'"3"', 4)]),
        (b"1,2\n3\n5,6\nx,8\n9,10\n", [tf.int32, tf.int32], {}, [(1, 2), "E", (5, 6), "E", (9, 10)]),
        (b"1,2\n\n5,6\n", [tf.int32, tf.int32], {}, [(1, 2), "E", (5, 6)]),
        (b",2\n5,6\n", [tf.int32, tf.int32], {}, ["E", (5, 6)]),
        (b'a"b,2\n5,6\n', [tf.string, tf.int32], {}, ["E", (b"5", 6)]),
        (b'"ab\n5,6\n', [tf.string, tf.int32], {}, ["E"]),
        (b" 1 ,2\n", [tf.int32, tf.int32], {}, [(1, 2)]),
        (b"h\n", [tf.int32], {"header": True}, []),
        (b"", [tf.int32], {"header": True}, ["E"]),
        (b"1,\r\n2,3\r\n", [[0], [""]], {}, [(1, b""), (2, b"3")]),
        (b'1,a\r2,"b\rc"\r3,d\re\n4,f\r', [tf.int32, tf.string], {}, [(1, b"a"), (2, b"b\rc"), (3, b"d"), "E", (4, b"f")]),
        (b'"a\n""",b\r\n1,2\r\n', [tf.int32, tf.int32], {"header": True}, [(1, 2)]),
        (b"1\n\n3\r\n\r\n", [[7]], {}, [(1,), (7,), (3,), (7,)]),
        (b"\n3\n", [tf.int32], {"select_cols": [0]}, ["E", (3,)]),
        (b"\n3,4\n", [[7]], {"select_cols": [1]}, ["E", (4,)]),
    ],
)  # fmt: skip
def test_records(content, defaults, settings, expected, tmp_path):
    path = tmp_path / "table.csv"
    path.write_bytes(content)
    dataset = experimental.CsvDataset(str(path), defaults, **settings)
    expected = ["InvalidArgumentError" if e == "E" else e for e in expected]
    assert check_positions(dataset) == expected
    assert dataset.output_types == tuple(
        d if isinstance(d, tf.DType) else tf.convert_to_tensor(d).dtype for d in defaults
    )
    (tmp_path / "table.gz").write_bytes(gzip.compress(content))
    assert take(experimental.CsvDataset(str(tmp_path / "table.gz"), defaults, "GZIP", **settings)) == expected


def test_what_a_table_refuses(tmp_path):
    path = tmp_path / "table.csv"
    path.write_bytes(b"1,2\n")
    with pytest.raises(tf.errors.InvalidArgumentError, match="strictly increasing"):
        take(experimental.CsvDataset(str(path), [tf.int32, tf.int32], select_cols=[1, 0]))
    with pytest.raises(TypeError, match="got bool"):
        experimental.CsvDataset(str(path), [tf.bool])


@pytest.fixture
def tables(tmp_path):
    (tmp_path / "f1.csv").write_bytes(b"a,b,c,d\n1,1.5,x,10000000000\n2,2.5,y,3\n3,,z,4\n")
    (tmp_path / "f2.csv").write_bytes(b'a,b,c,d\n4,4.5,"q,r",5\n')
    return str(tmp_path / "f?.csv")


def rows(dataset, limit=10):
    return [{name: column.tolist() for name, column in row.items()} for row in take(dataset, limit)]


def test_batches_of_columns(tables):
    dataset = experimental.make_csv_dataset(tables, 2, num_epochs=1, shuffle=False)
    assert dict(dataset.output_types) == {"a": tf.int32, "b": tf.float32, "c": tf.string, "d": tf.int64}
    assert rows(dataset) == [
        {"a": [1, 2], "b": [1.5, 2.5], "c": [b"x", b"y"], "d": [10000000000, 3]},
        {"a": [3, 4], "b": [0.0, 4.5], "c": [b"z", b"q,r"], "d": [4, 5]},
    ]
    check_positions(dataset)


def test_labels_and_chosen_columns(tables):
    dataset = experimental.make_csv_dataset(
        [tables], 2, label_name="c", num_epochs=1, shuffle=False, select_columns=["c", "a"]
    )
    given = [(row["a"].tolist(), label.tolist()) for row, label in take(dataset)]
    assert given == [([1, 2], [b"x", b"y"]), ([3, 4], [b"z", b"q,r"])]


def test_a_seed_gives_the_order_of_tensorflow(tables):
    dataset = experimental.make_csv_dataset(tables, 3, label_name="a", shuffle_seed=3)
    assert dataset.output_shapes[1].as_list() == [3]
    assert [label.tolist() for _, label in take(dataset, 4)] == [[1, 2, 3], [4, 1, 4], [3, 2, 1], [2, 4, 3]]


def test_rows_that_cannot_be_read_may_be_left_out(tables):
    strict = {"column_defaults": [tf.string] * 4, "num_epochs": 1, "shuffle": False}
    given = take(experimental.make_csv_dataset(tables, 1, **strict))
    assert [e if isinstance(e, str) else e["a"].item() for e in given] == [b"1", b"2", "InvalidArgumentError", b"4"]
    assert [r["a"] for r in rows(experimental.make_csv_dataset(tables, 1, ignore_errors=True, **strict))] == [
        [b"1"], [b"2"], [b"4"],
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"label_name": "zz"}, "`label_name` must be one of the columns"),
        ({"select_columns": ["zz"]}, "'zz' of `select_columns` is not one"),
        ({"select_columns": [9]}, "index 9 of `select_columns`"),
        ({"select_columns": ["a", 0]}, "a column twice"),
        ({"header": False}, "give `column_names`"),
        ({"select_columns": [0, 1], "column_defaults": [tf.int32]}, "must have the same length"),
        ({"column_names": ["a", "a", "b", "c"]}, "duplicate column names"),
        ({"column_names": ["a", "b"]}, "has 4 fields, not 2"),
    ],
)
def test_mistakes_in_descriptions_of_tables(tables, settings, message):
    with pytest.raises(ValueError, match=message):
        experimental.make_csv_dataset(tables, 2, **settings)


def test_no_file(tmp_path):
    with pytest.raises(ValueError, match="No files match"):
        experimental.make_csv_dataset(str(tmp_path / "none*"), 2)


def test_batches_of_examples(tmp_path):
    def example(n):
        feature = {"n": tf.train.Feature(int64_list=tf.train.Int64List(value=[n]))}
        feature["w"] = tf.train.Feature(bytes_list=tf.train.BytesList(value=[b"x"] * n))
        return tf.train.Example(features=tf.train.Features(feature=feature)).SerializeToString()

    for name, numbers in (("one", [0, 1, 2]), ("two", [3, 4])):
        with tf.python_io.TFRecordWriter(str(tmp_path / name)) as writer:
            for n in numbers:
                writer.write(example(n))
    features = {"n": tf.FixedLenFeature([], tf.int64), "w": tf.VarLenFeature(tf.string)}
    make = experimental.make_batched_features_dataset
    dataset = make(str(tmp_path / "*"), 2, features, num_epochs=1, shuffle=False)
    assert [row["n"].tolist() for row in take(dataset)] == [[0, 1], [2, 3], [4]]
    labelled = make(str(tmp_path / "*"), 2, features, label_key="n", shuffle_seed=1)
    assert labelled.output_shapes[1].as_list() == [2]
    taken = np.concatenate([label for _, label in take(labelled, 5)])
    assert sorted(taken) == sorted([*range(5)] * 2)
    with pytest.raises(ValueError, match="must be one of the `features`"):
        make(str(tmp_path / "*"), 2, features, label_key="zz")


def test_how_many_elements_there_are(session, tmp_path):
    r = Dataset.range(10)
    some = r.filter(lambda x: True)
    expected = [
        (r, 10), (r.repeat(), -1), (r.repeat(2), 20), (r.repeat(0), 0), (Dataset.range(0).repeat(), 0), (r.take(3), 3),
        (r.take(-1), 10), (r.take(20), 10), (r.skip(4), 6), (r.skip(-1), 0), (r.repeat().take(7), 7),
        (r.repeat().skip(5), -1), (some, -2), (some.take(3), -2), (r.batch(3), 4), (r.batch(3, True), 3),
        (r.batch(2).padded_batch(2, [3]), 3), (Dataset.zip((r, r.repeat(), r.take(4))), 4), (Dataset.zip((r, some)), -2),
        (Dataset.zip((r.repeat(), r.repeat())), -1), (r.concatenate(r), 20), (r.concatenate(r.repeat()), -1),
        (r.concatenate(some), -2), (r.repeat().concatenate(some), -1), (r.shard(3, 1), 3), (r.shard(3, 0), 4),
        (r.map(lambda x: x), -2), (r.shuffle(3), 10), (r.cache(), 10), (r.prefetch(2), 10), (r.window(3), 4),
        (r.window(3, drop_remainder=True), 3), (r.window(3, shift=2, stride=2), 5),
        (r.window(3, shift=2, stride=2, drop_remainder=True), 3), (Dataset.from_tensors(1), 1),
        (Dataset.from_tensor_slices([1, 2, 3]), 3), (experimental.RandomDataset(1), -1),
        (r.apply(experimental.scan(np.int64(0), lambda s, x: (s + x, s))), 10),
        (r.apply(experimental.shuffle_and_repeat(3, 2)), 20), (r.apply(experimental.shuffle_and_repeat(3)), -1),
        (r.apply(experimental.map_and_batch(lambda x: x, 3)), 4), (r.apply(experimental.unique()), -2),
        (r.enumerate(), 10), (some.repeat(), -1), (some.repeat(2), -2), (some.repeat(0), 0),
    ]  # fmt: skip
    given = session.run([experimental.cardinality(dataset) for dataset, _ in expected])
    assert given == [number for _, number in expected]
    assert (experimental.INFINITE_CARDINALITY, experimental.UNKNOWN_CARDINALITY) == (-1, -2)
