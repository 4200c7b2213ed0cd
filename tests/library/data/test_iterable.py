"""Python iterables as datasets, torch's among them."""

import sys
from collections import namedtuple
from pathlib import Path

import numpy as np
import pytest
import torch
from library.data.positions import check_positions
from library.data.taking import take
from torch.utils.data import DataLoader, IterableDataset, TensorDataset

import headrace as tf
from headrace.library.data.rows import source_of_rows

from_iterable = tf.data.from_iterable


class Rows(torch.utils.data.Dataset):
    """A torch dataset that says which rows it was asked for."""

    def __init__(self):
        self.asked = []

    def __len__(self):
        return 6

    def __getitem__(self, i):
        self.asked.append(i)
        return {"x": torch.full((2,), float(i)), "word": f"w{i}"}


class Stream(IterableDataset):
    def __iter__(self):
        return iter(torch.arange(4))


def test_a_torch_dataset_is_read_by_index():
    rows = Rows()
    dataset = from_iterable(rows)
    assert dataset.output_types == {"x": tf.float32, "word": tf.string}
    assert dataset.output_shapes["x"].as_list() == [2]
    assert [(r["x"].tolist(), r["word"]) for r in take(dataset.skip(4))] == [([4, 4], b"w4"), ([5, 5], b"w5")]
    iterator = dataset.make_initializable_iterator()
    element = iterator.get_next()
    saver = tf.train.Saver([tf.data.experimental.make_saveable_from_iterator(iterator)])
    with tf.Session() as sess:
        sess.run(iterator.initializer)
        for _ in range(4):
            sess.run(element)
        path = saver.save(sess, tf.test.get_temp_dir() + "/rows")
    rows.asked.clear()
    with tf.Session() as sess:
        saver.restore(sess, path)
        sess.run(iterator.initializer)
        assert sess.run(element)["word"] == b"w4"
    assert rows.asked == [4]  # none before it


def test_positions_of_all_kinds():
    for iterable in (Rows(), [1, 2, 3], DataLoader(TensorDataset(torch.arange(5.0)), 2), Stream(), range(3)):
        check_positions(from_iterable(iterable).repeat(2))


def test_a_loader():
    data = TensorDataset(torch.arange(10.0).reshape(5, 2), torch.arange(5))
    dataset = from_iterable(DataLoader(data, batch_size=2))
    assert dataset.output_types == (tf.float32, tf.int64)
    assert [s.as_list() for s in dataset.output_shapes] == [[None, 2], [None]]
    assert [y.tolist() for x, y in take(dataset.map(lambda x, y: (x, y * 10)))] == [[0, 10], [20, 30], [40]]
    words = from_iterable(DataLoader(Rows(), batch_size=4))
    assert [r["word"].tolist() for r in take(words)] == [[b"w0", b"w1", b"w2", b"w3"], [b"w4", b"w5"]]


def test_other_iterables():
    assert take(from_iterable([1.5, 2.5])) == [1.5, 2.5]
    assert [e.tolist() for e in take(from_iterable([[1, 2], [3, 4]]))] == [[1, 2], [3, 4]]
    assert take(from_iterable({"a", "b"}).shuffle(2)) in ([b"a", b"b"], [b"b", b"a"])
    assert take(from_iterable(np.int64([5, 6]))) == [5, 6]
    pair = namedtuple("pair", "n word")
    assert take(from_iterable([pair(1, "x")])) == [pair(1, b"x")]
    assert take(from_iterable([], tf.int32)) == []
    assert from_iterable([[1], [2, 3]], output_shapes=[None]).output_shapes.as_list() == [None]
    assert take(from_iterable(Stream(), tf.int32)) == [0, 1, 2, 3]


def test_mistakes(session):
    with pytest.raises(TypeError, match="can be gone through again, got the iterator"):
        from_iterable(iter([1, 2]))
    with pytest.raises(TypeError, match="something that a for loop takes, got 3"):
        from_iterable(3)
    with pytest.raises(ValueError, match="the list is empty, so `output_types` are needed"):
        from_iterable([])
    element = from_iterable([[1], [2, 3]]).make_one_shot_iterator().get_next()
    session.run(element)
    with pytest.raises(
        tf.errors.InvalidArgumentError, match=r"the list yielded an element of shape \(2,\) where .*\(1,\)"
    ):
        session.run(element)


class Column:
    def __init__(self, values):
        self._values = values

    def to_numpy(self):
        return np.array(self._values)


class Table:
    """As pyarrow's; it says which rows it was asked for."""

    def __init__(self, columns, asked):
        self._columns, self.asked = columns, asked
        self.column_names = list(columns)
        self.num_rows = len(next(iter(columns.values())))

    def slice(self, first, count):
        self.asked.append(first)
        return Table({name: values[first : first + count] for name, values in self._columns.items()}, self.asked)

    def column(self, name):
        return Column(self._columns[name])


class ParquetFile:
    """As pyarrow's, in groups of three rows."""

    def __init__(self, rows, asked):
        self._rows, self.asked = rows, asked
        self.metadata = self
        self.num_rows, self.num_row_groups = rows, -(-rows // 3)

    def row_group(self, i):
        return ParquetFile(min(3, self._rows - 3 * i), self.asked)

    def read_row_group(self, i):
        self.asked.append(f"group {i}")
        numbers = list(range(3 * i, min(3 * i + 3, self._rows)))
        return Table({"n": numbers, "word": [f"w{n}" for n in numbers]}, self.asked)


class RayDataset:
    """As Ray's: batches of at most two rows, whatever is asked for."""

    def __init__(self, batches):
        self.batches = batches

    def __iter__(self):
        raise TypeError("`Dataset` objects aren't iterable")

    def iter_batches(self, *, batch_size, batch_format):
        assert batch_size > 0 and batch_format == "numpy"
        return iter(self.batches)


class Frame:
    """As one of Polars."""

    def iter_rows(self):
        return iter([(1, "a"), (2, "b"), (3, "c")])


def ray_dataset(count):
    return RayDataset([{"x": np.arange(i, min(i + 2, count)) * 1.5} for i in range(0, count, 2)])


def test_tables_and_files_of_row_groups():
    asked = []
    table = Table({"n": list(range(2500)), "word": ["w"] * 2500}, asked)
    dataset = from_iterable(table)
    assert dataset.output_types == {"n": tf.int64, "word": tf.string}
    assert [row["n"] for row in take(dataset, limit=3000)] == list(range(2500))
    assert asked[1:] == [0, 1024, 2048]  # the first for the types
    rows = take(from_iterable(ParquetFile(7, asked)))
    assert [(row["n"], row["word"]) for row in rows] == [(n, b"w%d" % n) for n in range(7)]
    assert take(from_iterable(ParquetFile(0, asked), {"n": tf.int64})) == []


def test_a_position_in_a_file_reads_no_group_before_it():
    asked = []
    iterator = from_iterable(ParquetFile(8, asked)).make_initializable_iterator()
    element = iterator.get_next()
    saver = tf.train.Saver([tf.data.experimental.make_saveable_from_iterator(iterator)])
    with tf.Session() as sess:
        sess.run(iterator.initializer)
        for _ in range(4):
            sess.run(element)
        path = saver.save(sess, tf.test.get_temp_dir() + "/group")
    asked.clear()
    with tf.Session() as sess:
        saver.restore(sess, path)
        sess.run(iterator.initializer)
        assert sess.run(element)["n"] == 4
    assert asked == ["group 1", 1]


def test_datasets_of_batches_and_frames_of_rows():
    assert [row["x"] for row in take(from_iterable(ray_dataset(5)))] == [0, 1.5, 3, 4.5, 6]
    assert take(from_iterable(RayDataset([np.int32([1, 2]), np.int32([3])]))) == [1, 2, 3]
    assert take(from_iterable(Frame())) == [(1, b"a"), (2, b"b"), (3, b"c")]
    for data in (ray_dataset(5), Frame(), ParquetFile(7, []), Table({"n": [1, 2, 3]}, [])):
        check_positions(from_iterable(data).repeat(2))


@pytest.mark.parametrize(
    ("data", "count"), [(ray_dataset(2), 2), (Frame(), 3), (ParquetFile(4, []), 4), (Table({"x": [1.0]}, []), 1)]
)
def test_a_position_behind_the_end_is_an_error(data, count):
    assert list(source_of_rows(data)(count)) == []
    with pytest.raises(tf.errors.DataLossError, match=f"had given 9 elements, it has only {count} now"):
        list(source_of_rows(data)(9))


def test_a_path_needs_pyarrow(monkeypatch):
    monkeypatch.setitem(sys.modules, "pyarrow.parquet", None)
    for path in ("rows.parquet", Path("rows")):
        with pytest.raises(
            ImportError, match=r"reading 'rows.*' needs pyarrow: pip install pyarrow .*test_iterable.py"
        ):
            from_iterable(path)


def test_pyarrow_itself(tmp_path):
    arrow = pytest.importorskip("pyarrow", reason="pyarrow is not installed")
    parquet = pytest.importorskip("pyarrow.parquet", reason="pyarrow is not installed")
    table = arrow.table({"n": list(range(10)), "x": [i / 4 for i in range(10)], "word": [f"w{i}" for i in range(10)],
                         "raw": [b"\xff"] * 10, "yes": [True] * 10, "pair": [[i, i] for i in range(10)]})  # fmt: skip
    path = tmp_path / "rows.parquet"
    parquet.write_table(table, path, row_group_size=4)
    for data in (table, path, str(path), parquet.ParquetFile(path)):
        dataset = from_iterable(data)
        assert dataset.output_types == {
            "n": tf.int64, "x": tf.float64, "word": tf.string, "raw": tf.string, "yes": tf.bool, "pair": tf.int64
        }  # fmt: skip
        rows = check_positions(dataset)
        assert [(r["n"], r["x"], r["word"], r["raw"], r["yes"]) for r in rows] == [
            (i, i / 4, b"w%d" % i, b"\xff", True) for i in range(10)
        ]
        assert [r["pair"].tolist() for r in rows] == [[i, i] for i in range(10)]
