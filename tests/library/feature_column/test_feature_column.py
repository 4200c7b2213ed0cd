"""tf.feature_column: what real TensorFlow gave, errors, training, compiled and interpreted."""

import functools
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from golden import program
from golden.feature_column_programs import PROGRAMS, features

import headrace as tf

fc = tf.feature_column
golden = functools.cache(program.load)
X = fc.numeric_column("x")
ID = fc.categorical_column_with_identity("id", 4)
pytestmark = pytest.mark.filterwarnings("ignore:Converting sparse IndexedSlices")  # TensorFlow warns too


@pytest.mark.parametrize("name", PROGRAMS)
def test_same_as_tensorflow(name: str) -> None:
    program.compare(tf, PROGRAMS, name, golden("feature_column"))


def test_every_program_is_recorded() -> None:
    assert set(golden("feature_column")) == set(PROGRAMS)


@pytest.mark.parametrize("name", ["embedding", "crossed"])  # compiling all of them takes a minute
def test_compiled_is_the_same(name: str) -> None:
    found, _ = program.run(tf, PROGRAMS[name], config=tf.ConfigProto(compile="always"))
    for value, kept in zip(found, golden("feature_column")[name]["values"], strict=True):
        wanted = program.decode(kept)
        if wanted.dtype.kind == "f":
            np.testing.assert_allclose(value, wanted, rtol=1e-4, atol=1e-5)
        else:
            assert value.tolist() == wanted.tolist()


def test_columns_are_values() -> None:
    assert fc.numeric_column("x") == X
    assert hash(fc.embedding_column(ID, 2, initializer=tf.zeros_initializer)) == hash(
        fc.embedding_column(ID, 2, initializer=tf.zeros_initializer)
    )
    assert str(X) == "NumericColumn(key='x', shape=(1,), default_value=None, dtype=tf.float32, normalizer_fn=None)"
    assert fc.numeric_column("x", shape=(2,), default_value=1).default_value == (1, 1)
    assert fc.crossed_column(["b", "a"], 3).name == "a_X_b"
    assert fc.weighted_categorical_column(ID, "w").name == "id_weighted_by_w"


def test_a_feature_is_transformed_once() -> None:
    calls = []

    def normalize(x: Any) -> Any:
        calls.append(x)
        return x * 2.0

    x = fc.numeric_column("x", normalizer_fn=normalize)
    fc.input_layer(features(tf), [x, fc.bucketized_column(x, [0.0])])
    assert len(calls) == 1


def test_reuse_shares_the_variables() -> None:
    column = fc.embedding_column(ID, 2)
    with tf.variable_scope("m"):
        fc.input_layer(features(tf), [column])
    with tf.variable_scope("m", reuse=True):
        fc.input_layer(features(tf), [column])
    assert [v.name for v in tf.global_variables()] == ["m/input_layer/id_embedding/embedding_weights:0"]


def test_partitioned_table(session: tf.Session) -> None:
    column = fc.embedding_column(ID, 2, initializer=tf.ones_initializer())
    held: dict[Any, Any] = {}
    with tf.variable_scope("m", partitioner=tf.fixed_size_partitioner(2)):
        output = fc.input_layer(features(tf), [column], cols_to_vars=held)
    assert [v.shape.as_list() for v in held[column]] == [[2, 2], [2, 2]]
    session.run(tf.global_variables_initializer())
    assert session.run(output).tolist() == [[1, 1], [1, 1], [0, 0]]


def test_shared_table_of_another_shape_is_refused() -> None:
    other = fc.categorical_column_with_identity("ids", 3, default_value=0)
    fc.input_layer(features(tf), fc.shared_embedding_columns([ID], 2, shared_embedding_collection_name="t"))
    with pytest.raises(ValueError, match=r"unexpected shape \(4, 2\). Expected shape is \(3, 2\)"):
        fc.input_layer(features(tf), fc.shared_embedding_columns([other], 2, shared_embedding_collection_name="t"))


def test_parse_example_spec_reads_examples(session: tf.Session) -> None:
    def example(price: float, words: list[bytes]) -> bytes:
        made = tf.train.Features(
            feature={
                "price": tf.train.Feature(float_list=tf.train.FloatList(value=[price])),
                "word": tf.train.Feature(bytes_list=tf.train.BytesList(value=words)),
            }
        )
        return tf.train.Example(features=made).SerializeToString()

    word = fc.categorical_column_with_vocabulary_list("word", ["cat", "dog"])
    columns = [fc.numeric_column("price"), fc.indicator_column(word)]
    spec = fc.make_parse_example_spec(columns)
    assert spec == {"price": tf.FixedLenFeature((1,), tf.float32), "word": tf.VarLenFeature(tf.string)}
    parsed = tf.parse_example([example(1.5, [b"dog", b"dog"]), example(2.0, [b"bird"])], spec)
    rows = fc.input_layer(parsed, columns)
    session.run(tf.tables_initializer())
    assert session.run(rows).tolist() == [[1.5, 0, 2], [2, 0, 0]]


def test_wide_and_deep_learns() -> None:
    _learn_wide_and_deep("off")


@pytest.mark.usefixtures("full_length")
def test_wide_and_deep_learns_compiled() -> None:
    _learn_wide_and_deep("always")


def _learn_wide_and_deep(compile: str) -> None:
    """Whether a word and an age bucket fit together: the cross knows, and the embedding gets gradients."""
    words, ages = ["cat", "dog", "bird"], [5.0, 30.0, 70.0]
    rows = [(w, a) for w in words for a in ages]
    given = {"word": tf.constant([[w] for w, _ in rows]), "age": tf.constant([[a] for _, a in rows])}
    labels = tf.constant([[float((words.index(w) + ages.index(a)) % 2)] for w, a in rows])
    age = fc.numeric_column("age", normalizer_fn=lambda x: x / 50.0)
    bucket = fc.bucketized_column(fc.numeric_column("age"), [18, 65])
    word = fc.categorical_column_with_vocabulary_list("word", words)
    wide = fc.linear_model(given, [bucket, fc.crossed_column([bucket, "word"], 100)])
    vectors = fc.embedding_column(word, 4, initializer=tf.random_normal_initializer(seed=1))
    held: dict[Any, Any] = {}
    deep = fc.input_layer(given, [age, vectors], cols_to_vars=held)
    hidden = tf.layers.dense(deep, 8, tf.nn.relu, kernel_initializer=tf.glorot_uniform_initializer(seed=2))
    logits = wide + tf.layers.dense(hidden, 1, kernel_initializer=tf.glorot_uniform_initializer(seed=3))
    loss = tf.losses.sigmoid_cross_entropy(labels, logits)
    train = tf.train.AdagradOptimizer(0.5).minimize(loss)
    with tf.Session(config=tf.ConfigProto(compile=compile)) as session:
        session.run([tf.global_variables_initializer(), tf.tables_initializer()])
        steps = [session.run([loss, held[vectors][0], logits, labels, train])[:4] for _ in range(40)]
    (before, table, *_), (after, learned, guesses, wanted) = steps[0], steps[-1]
    np.testing.assert_array_equal(guesses > 0, wanted > 0.5)
    assert after < 0.2 * before
    assert (table != learned).any()


def test_inside_branches_loops_and_functions(session: tf.Session) -> None:
    word = fc.indicator_column(fc.categorical_column_with_vocabulary_list("word", ["cat", "dog"], num_oov_buckets=1))
    vectors = fc.embedding_column(ID, 2, initializer=tf.ones_initializer())
    words, ids = tf.placeholder(tf.string, [None, 1]), tf.placeholder(tf.int64, [None, 2])

    def layer() -> Any:
        return fc.input_layer({"word": words, "id": ids}, [word, vectors])

    @tf.function
    def count(ids: Any) -> Any:
        return fc.input_layer({"id": ids}, [fc.indicator_column(ID)])

    branch = tf.cond(tf.size(ids) > 0, layer, lambda: tf.zeros([2, 5]))
    loop = tf.while_loop(lambda i, t: i < 3, lambda i, t: (i + 1, t + tf.reduce_sum(layer())), [0, 0.0])[1]
    first, second = tf.trainable_variables()
    gradients = [*tf.gradients(branch, first), *tf.gradients(loop, second)]
    fetches = [branch, loop, *map(tf.convert_to_tensor, gradients), count(ids)]
    session.run([tf.global_variables_initializer(), tf.tables_initializer()])
    found = session.run(fetches, {words: [["dog"], ["cow"]], ids: [[1, 2], [0, -1]]})
    assert found[0].tolist() == [[1, 1, 0, 1, 0], [1, 1, 0, 0, 1]]
    assert found[1] == 3 * 6
    assert found[2].tolist() == [[1, 1], [0.5, 0.5], [0.5, 0.5], [0, 0]]
    assert found[3].tolist() == [[3, 3], [1.5, 1.5], [1.5, 1.5], [0, 0]]
    assert found[4].tolist() == [[0, 1, 1, 0], [1, 0, 0, 0]]


def test_eagerly() -> None:
    word = fc.indicator_column(fc.categorical_column_with_vocabulary_list("word", ["cat", "dog"]))
    with tf.eager_mode():
        rows = fc.input_layer({"word": tf.constant([["dog"], ["cow"]]), "x": [[1.5], [2.5]]}, [word, X])
        assert rows.numpy().tolist() == [[0, 1, 1.5], [0, 0, 2.5]]


def test_ids_out_of_range_fail_with_the_line() -> None:
    ids = tf.placeholder(tf.int64, [None, 2])
    rows = fc.input_layer({"id": ids}, [fc.indicator_column(ID)])
    with tf.Session() as session, pytest.raises(tf.errors.InvalidArgumentError, match=r"(?s)\[0, 4\).*7") as caught:
        session.run(rows, {ids: [[1, 7]]})
    assert Path(__file__).name in str(caught.value)


def _string(key: str, *words: str) -> dict[str, Any]:
    return {key: np.array([[w] for w in words])}


LIST, FILE = fc.categorical_column_with_vocabulary_list, fc.categorical_column_with_vocabulary_file
HASH, CROSS, WEIGHTED = fc.categorical_column_with_hash_bucket, fc.crossed_column, fc.weighted_categorical_column
ONE = fc.indicator_column
BAD = [
    (lambda: fc.numeric_column(3), ValueError, "key must be a string"),
    (lambda: fc.numeric_column("x", shape=(0,)), ValueError, "shape dimensions must be greater than 0"),
    (lambda: fc.numeric_column("x", shape=1.5), TypeError, "shape dimensions must be integer"),
    (lambda: fc.numeric_column("x", dtype=tf.string), ValueError, "dtype must be convertible to float"),
    (lambda: fc.numeric_column("x", normalizer_fn=3), TypeError, "normalizer_fn must be a callable"),
    (lambda: fc.numeric_column("x", shape=2, default_value=[1.0]), ValueError, "shape of default_value must be equal"),
    (lambda: fc.numeric_column("x", dtype=tf.int32, default_value=1.5), TypeError, "must be compatible with dtype"),
    (lambda: fc.bucketized_column("x", [1]), ValueError, "source_column must be a column generated with numeric"),
    (lambda: fc.bucketized_column(fc.numeric_column("x", (2, 2)), [1]), ValueError, "must be one-dimensional"),
    (lambda: fc.bucketized_column(X, [2, 1]), ValueError, "boundaries must be a sorted list"),
    (lambda: fc.categorical_column_with_identity("i", 0), ValueError, "num_buckets 0 < 1, column_name i"),
    (lambda: fc.categorical_column_with_identity("i", 3, 3), ValueError, r"default_value 3 not in range \[0, 3\)"),
    (lambda: LIST("s", []), ValueError, "must be non-empty, column_name: s"),
    (lambda: LIST("s", ["a", "a"]), ValueError, "Duplicate keys in vocabulary_list"),
    (lambda: LIST("s", ["a"], default_value=0, num_oov_buckets=1), ValueError, "Can't specify both"),
    (lambda: LIST("s", ["a"], num_oov_buckets=-1), ValueError, "Invalid num_oov_buckets -1 in s"),
    (lambda: LIST("s", [1.5]), ValueError, "vocabulary dtype must be string or integer"),
    (lambda: LIST("s", ["a"], dtype=tf.int64), ValueError, "do not match, column_name: s"),
    (lambda: FILE("s", ""), ValueError, "Missing vocabulary_file in s"),
    (lambda: FILE("s", "/no/such/file"), ValueError, "vocabulary_file in s does not exist"),
    (lambda: FILE("s", "a", 0), ValueError, "Invalid vocabulary_size in s"),
    (lambda: HASH("s", None), ValueError, "hash_bucket_size must be set. key: s"),
    (lambda: HASH("s", 0), ValueError, "hash_bucket_size must be at least 1"),
    (lambda: HASH("s", 2, tf.float32), ValueError, "dtype must be string or integer"),
    (lambda: CROSS(["a"], 3), ValueError, "keys must be a list with length > 1"),
    (lambda: CROSS(["a", X], 3), ValueError, "Unsupported key type"),
    (lambda: CROSS(["a", HASH("b", 3)], 3), ValueError, "is not supported for crossing"),
    (lambda: WEIGHTED(ID, "w", tf.string), ValueError, "is not convertible to float"),
    (lambda: fc.embedding_column(ID, 0), ValueError, "Invalid dimension 0"),
    (lambda: fc.embedding_column(X, 2), ValueError, "Input must be a CategoricalColumn"),
    (lambda: fc.embedding_column(ID, 2, initializer=3), ValueError, "initializer must be callable if specified"),
    (lambda: fc.embedding_column(ID, 2, ckpt_to_load_from="a"), ValueError, "Must specify both `ckpt_to_load_from`"),
    (lambda: ONE(X), ValueError, "Input must be a CategoricalColumn"),
    (lambda: fc.shared_embedding_columns([ID, HASH("j", 4)], 2), ValueError, "must have the same type"),
    (
        lambda: fc.shared_embedding_columns([ID, fc.categorical_column_with_identity("j", 5)], 2),
        ValueError,
        "the same number of buckets",
    ),
    (lambda: fc.input_layer({"id": _string("id", "a")["id"]}, [ONE(ID)]), ValueError, "Invalid input, not integer"),
    (lambda: fc.input_layer({"s": [[1]]}, [ONE(LIST("s", ["a"]))]), ValueError, "dtype must be compatible. key: s"),
    (lambda: fc.input_layer({"s": [[1.0]]}, [ONE(HASH("s", 3))]), ValueError, "dtype must be string or integer"),
    (lambda: fc.input_layer({"id": [1], "w": [1]}, [ONE(WEIGHTED(ID, "w"))]), ValueError, "Bad dtype, expected"),
    (
        lambda: fc.input_layer({"id": [1], "w": [1.0], "s": ["a"]}, [ONE(CROSS([WEIGHTED(ID, "w"), "s"], 3))]),
        ValueError,
        "crossed_column does not support weight_tensor",
    ),
    (lambda: fc.input_layer({"id": [1]}, [ID]), ValueError, "must be a _DenseColumn. You can wrap"),
    (lambda: fc.make_parse_example_spec(["x"]), ValueError, "must be _FeatureColumn instances. Given: x"),
    (lambda: fc.make_parse_example_spec([X, fc.numeric_column("x", 2)]), ValueError, "different parse_spec for key x"),
]


@pytest.mark.parametrize("case", range(len(BAD)))
def test_bad_arguments(case: int) -> None:
    make, kind, message = BAD[case]
    with pytest.raises(kind, match=message) as caught:
        make()
    assert f"{Path(__file__).name}:" in str(caught.value)


@pytest.mark.parametrize("layer", [fc.input_layer, fc.linear_model])
@pytest.mark.parametrize(
    ("given", "columns", "message"),
    [
        ({"x": [1.0]}, [], "feature_columns must not be empty"),
        ({"x": [1.0]}, {"x": X}, "Expected feature_columns to be iterable, found dict"),
        ({"x": [1.0]}, ["x"], "must be a _FeatureColumn. Given .*str"),
        ({"x": [1.0]}, [X, fc.numeric_column("x")], "Duplicate feature column name found"),
        ({"z": [1.0]}, [X], "Feature x is not in features dictionary"),
        ({"x": 1.0}, [X], r"Feature \(key: x\) cannot have rank 0"),
        ({"x": tf.SparseTensorValue([[0, 0]], [1.0], [1, 1])}, [X], "SparseTensor is not supported. key: x"),
        ({"x": [1.0, 2.0]}, [fc.numeric_column("x", 2)], "Cannot reshape"),
        ({"x": [1.0, 2.0], "y": [1.0]}, [X, fc.numeric_column("y")], r"Batch size of columns \(x, y\): \(2, 1\)"),
    ],
)
def test_bad_features(layer: Any, given: Any, columns: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message) as caught:
        layer(given, columns)
    assert f"{Path(__file__).name}:" in str(caught.value)


def test_an_error_of_the_normalizer_keeps_its_place() -> None:
    def normalize(x: Any) -> Any:
        raise ValueError("too cold")

    with pytest.raises(ValueError, match="too cold") as caught:
        fc.input_layer({"x": [1.0]}, [fc.numeric_column("x", normalizer_fn=normalize)])
    assert caught.value.__cause__ is not None


def test_features_must_be_a_dictionary() -> None:
    with pytest.raises(TypeError, match="features must be a dictionary of names and tensors, got int"):
        fc.input_layer(3, [X])


def test_reading_a_checkpoint_is_refused() -> None:
    with pytest.raises(NotImplementedError, match="ckpt_to_load_from='a': a column does not read checkpoints"):
        fc.embedding_column(ID, 2, ckpt_to_load_from="a", tensor_name_in_ckpt="b")
