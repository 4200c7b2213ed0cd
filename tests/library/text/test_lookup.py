"""Lookup tables: golden values, initialisation, change, sharing, wrong use."""

import functools
from pathlib import Path

import numpy as np
import pytest
from golden import program
from golden.lookup_programs import PROGRAMS

import headrace as tf

golden = functools.cache(lambda: program.load("lookup"))
lookup = tf.contrib.lookup


@pytest.mark.parametrize("name", PROGRAMS)
def test_same_as_tensorflow(name: str) -> None:
    program.compare(tf, PROGRAMS, name, golden())


def test_a_table_must_be_initialized() -> None:
    table = lookup.index_table_from_tensor(["a", "b"])
    found = table.lookup(tf.constant(["b"]))
    with tf.Session() as session:
        with pytest.raises(tf.errors.FailedPreconditionError, match="not initialized"):
            session.run(found)
        session.run(table.init)
        session.run(tf.tables_initializer())  # again, with the same entries
        assert session.run(found).tolist() == [1]
    with tf.Session() as session, pytest.raises(tf.errors.FailedPreconditionError):
        session.run(found)  # tables live as long as their session


def test_names_and_static_shapes() -> None:
    table = lookup.index_table_from_tensor(["a", "b"], num_oov_buckets=1)
    found = table.lookup(tf.placeholder(tf.string, [None, 3]))
    assert found.shape.as_list() == [None, 3]
    assert found.dtype == tf.int64
    handle = tf.get_default_graph().get_operation_by_name("string_to_index/hash_table/hash_table")
    assert handle.type == "HashTableV2"
    assert len(tf.get_collection(tf.GraphKeys.TABLE_INITIALIZERS)) == 1
    tf.lookup.StaticHashTable(tf.lookup.KeyValueTensorInitializer(["a"], [1]), -1)
    initializer = tf.get_collection(tf.GraphKeys.TABLE_INITIALIZERS)[-1]
    assert initializer.name == "key_value_init/LookupTableImportV2"


def test_a_table_made_by_the_function_of_a_dataset(session: tf.Session) -> None:
    def number(word: tf.Tensor) -> tf.Tensor:
        table = tf.lookup.StaticHashTable(tf.lookup.KeyValueTensorInitializer(["a", "b"], [1, 2]), -1)
        return table.lookup(word)

    iterator = tf.data.make_initializable_iterator(
        tf.data.Dataset.from_tensor_slices(["b", "a", "c"]).map(number).batch(3)
    )
    numbers = iterator.get_next()
    session.run(tf.tables_initializer())
    session.run(iterator.initializer)
    assert session.run(numbers).tolist() == [2, 1, -1]


def test_a_mutable_table(session: tf.Session) -> None:
    table = lookup.MutableHashTable(tf.string, tf.int64, -1)
    insert = table.insert(tf.constant(["a", "b"]), tf.constant([1, 2], tf.int64))
    remove = table.remove(tf.constant(["a", "x"]))
    found = table.lookup(tf.constant(["a", "b", "c"]))
    assert session.run(found).tolist() == [-1, -1, -1]
    session.run(insert)
    assert session.run([found, table.size()])[0].tolist() == [1, 2, -1]
    keys, values = session.run(table.export())
    assert dict(zip(keys, values, strict=True)) == {b"a": 1, b"b": 2}
    session.run(remove)
    assert session.run(found).tolist() == [-1, 2, -1]
    assert session.run(table.size()) == 1


def test_vectors_as_values(session: tf.Session) -> None:
    table = lookup.MutableHashTable(tf.int64, tf.float32, [0.0, 0.0])
    keys = tf.constant([3, 4], tf.int64)
    session.run(table.insert(keys, [[1.0, 2.0], [3.0, 4.0]]))
    found = table.lookup(tf.constant([[4], [5]], tf.int64))
    assert found.shape.as_list() == [2, 1, 2]
    np.testing.assert_array_equal(session.run(found), [[[3, 4]], [[0, 0]]])
    assert session.run(table.export())[1].shape == (2, 2)


def test_a_dense_table(session: tf.Session) -> None:
    table = tf.lookup.experimental.DenseHashTable(tf.int64, tf.string, "none", empty_key=-1, deleted_key=-2)
    session.run(table.insert_or_assign(tf.constant([1], tf.int64), ["one"]))
    assert session.run(table.lookup(tf.constant([1, 2], tf.int64))).tolist() == [b"one", b"none"]


def test_columns_of_a_file(session: tf.Session, tmp_path: Path) -> None:
    path = tmp_path / "table"
    path.write_text("a,1,x\nb,2,y\n")
    initializer = tf.lookup.TextFileInitializer(str(path), tf.string, 2, tf.int64, 1, delimiter=",")
    table = tf.lookup.StaticHashTable(initializer, 0)
    session.run(table.initializer)
    assert session.run(table.lookup(tf.constant(["y", "z"]))).tolist() == [2, 0]


def test_tables_of_one_file_share_their_entries(session: tf.Session) -> None:
    path = str(Path(program.__file__).parent / "vocabulary.txt")
    first, second = (lookup.index_table_from_file(path) for _ in range(2))
    session.run(first.initializer)
    assert session.run(second.lookup(tf.constant(["dog"]))).tolist() == [2]


@pytest.mark.parametrize(
    ("make", "error"),
    [
        (lambda: lookup.index_table_from_tensor(None), ValueError),
        (lambda: lookup.index_table_from_tensor(["a"], -1), ValueError),
        (lambda: lookup.index_table_from_tensor([1.5], dtype=tf.float32), TypeError),
        (lambda: lookup.index_table_from_tensor([1], dtype=tf.string), ValueError),
        (lambda: lookup.index_table_from_tensor(["a"]).lookup(tf.constant([1])), TypeError),
        (lambda: lookup.index_table_from_file(""), ValueError),
        (lambda: lookup.index_table_from_file("x", vocab_size=0), ValueError),
        (lambda: tf.lookup.TextFileInitializer("x", tf.string, -1, tf.int64, 0), ValueError),
        (lambda: lookup.StrongHashSpec([1]), ValueError),
        (lambda: tf.lookup.StaticVocabularyTable(None, 0), ValueError),
    ],
)
def test_wrong_use(make: object, error: type[Exception]) -> None:
    with pytest.raises(error):
        make()


def test_no_tables_no_work(session: tf.Session) -> None:
    assert session.run(tf.tables_initializer()) is None


@pytest.mark.parametrize(
    "make",
    [
        lambda: lookup.MutableHashTable(tf.string, tf.int64, -1, name="words"),
        lambda: lookup.MutableDenseHashTable(tf.string, tf.int64, -1, "", name="words", deleted_key="?"),
    ],
)
def test_a_saver_saves_the_entries(make, tmp_path):
    def program():
        table = make()
        return table, tf.train.Saver()

    with tf.Graph().as_default(), tf.Session() as session:
        table, saver = program()
        session.run(table.insert(["a", "b"], [7, 8]))
        path = saver.save(session, str(tmp_path / "ckpt"))
    assert [name for name, _ in tf.train.list_variables(path)] == ["words-keys", "words-values"]
    with tf.Graph().as_default(), tf.Session() as session:
        table, saver = program()
        session.run(table.insert(["c"], [9]))
        saver.restore(session, path)
        assert session.run(table.lookup(["a", "b", "c"])).tolist() == [7, 8, -1]


def test_a_table_that_is_in_no_checkpoint():
    lookup.MutableHashTable(tf.string, tf.int64, -1, checkpoint=False)
    assert not tf.get_collection(tf.GraphKeys.SAVEABLE_OBJECTS)
