"""contrib.layers' old feature columns: what networks and linear models make of them, and what their variables are called."""

import numpy as np
import pytest

import headrace as tf

layers = tf.contrib.layers
FEATURES = {
    "age": [[20.0], [70.0], [30.0]],
    "color": [["red"], ["green"], ["pink"]],
    "kind": [[1], [3], [0]],
    "word": [["a"], ["b"], ["a"]],
    "weight": [[2.0], [1.0], [0.5]],
}


def _run(fetches: object) -> object:
    with tf.Session() as session:
        session.run([tf.global_variables_initializer(), tf.tables_initializer()])
        return session.run(fetches)


def test_input_of_a_network() -> None:
    age = layers.real_valued_column("age")
    color = layers.sparse_column_with_keys("color", ["red", "green"])
    kind = layers.sparse_column_with_integerized_feature("kind", 4)
    columns = [
        age, layers.bucketized_column(age, [25, 65]), layers.one_hot_column(color),
        layers.embedding_column(kind, 2, initializer=tf.ones_initializer()),
    ]  # fmt: skip
    by_column: dict[object, object] = {}
    net = layers.input_from_feature_columns(FEATURES, columns, cols_to_outs=by_column)
    assert [v.op.name for v in tf.trainable_variables()] == ["input_from_feature_columns/kind_embedding/weights"]
    assert set(by_column) == set(columns)
    wanted = [[20, 1, 0, 0, 1, 0, 1, 1], [70, 0, 0, 1, 0, 1, 1, 1], [30, 0, 1, 0, 0, 0, 1, 1]]
    np.testing.assert_array_equal(_run(net), wanted)
    again = layers.input_from_feature_columns(FEATURES, columns, scope="mine")
    assert again.shape.as_list() == [3, 8] and "mine/kind_embedding/weights" in {
        v.op.name for v in tf.trainable_variables()
    }


def test_the_deviation_of_a_table_is_that_of_its_categories() -> None:
    word = layers.sparse_column_with_hash_bucket("word", 10000)
    layers.input_from_feature_columns(FEATURES, [layers.embedding_column(word, 8)])
    [table] = tf.trainable_variables()
    assert np.std(_run(table)) == pytest.approx(0.0088, rel=0.05)  # 1 / 100, without its tails


def test_a_linear_model() -> None:
    kind = layers.sparse_column_with_integerized_feature("kind", 4)
    word = layers.sparse_column_with_hash_bucket("word", 50)
    weighted = layers.weighted_sparse_column(kind, "weight")
    crossed = layers.crossed_column([word, layers.sparse_column_with_hash_bucket("color", 9)], 100)
    columns = [layers.real_valued_column("age"), kind, weighted, crossed]
    logits, weights, bias = layers.weighted_sum_from_feature_columns(FEATURES, columns, 1)
    names = {v.op.name.removeprefix("weighted_sum_from_feature_columns/") for v in tf.trainable_variables()}
    assert names == {
        "age/weights", "kind/weights", "kind_weighted_by_weight/weights", "color_X_word/weights", "bias_weight",
    }  # fmt: skip
    with tf.Session() as session:
        session.run([tf.global_variables_initializer(), tf.tables_initializer()])
        session.run([tf.assign(weights[kind][0], np.arange(4.0).reshape(4, 1)), tf.assign(bias, [10.0])])
        session.run(tf.assign(weights[weighted][0], np.arange(4.0).reshape(4, 1)))
        np.testing.assert_allclose(session.run(logits), [[10 + 1 + 2 * 1], [10 + 3 + 3], [10.0]])


def test_how_rows_are_combined() -> None:
    features = {"kind": tf.SparseTensor([[0, 0], [0, 1]], [1, 3], [1, 2])}
    values = {}
    for combiner in ("sum", "mean", "sqrtn"):
        column = layers.sparse_column_with_integerized_feature("kind", 4, combiner=combiner)
        logits, weights, _ = layers.weighted_sum_from_feature_columns(features, [column], 1, scope=combiner)
        with tf.Session() as session:
            session.run(tf.global_variables_initializer())
            session.run(tf.assign(weights[column][0], [[1.0], [2.0], [3.0], [4.0]]))
            values[combiner] = float(session.run(logits)[0, 0])
    assert values == pytest.approx({"sum": 6.0, "mean": 3.0, "sqrtn": 6.0 / 2**0.5})
    with pytest.raises(ValueError, match="combiner must be 'sum', 'mean' or 'sqrtn', got 'max'.*test_old_column.py"):
        layers.sparse_column_with_integerized_feature("kind", 4, combiner="max")


def test_shared_tables_and_files(tmp_path: object) -> None:
    path = f"{tmp_path}/words"
    with open(path, "w") as file:
        file.write("a\nb\n")
    word = layers.sparse_column_with_vocabulary_file("word", path, num_oov_buckets=1, vocab_size=2)
    other = layers.sparse_column_with_vocabulary_file("color", path, num_oov_buckets=1, vocab_size=2)
    columns = layers.shared_embedding_columns([word, other], 3)
    net = layers.input_from_feature_columns(FEATURES, columns)
    assert [v.shape.as_list() for v in tf.trainable_variables()] == [[3, 3]]
    value = _run(net)
    np.testing.assert_array_equal(value[0, 3:], value[2, 3:])
    with pytest.raises(ValueError, match="vocab_size should be defined"):
        layers.sparse_column_with_vocabulary_file("word", path)


def test_sequences() -> None:
    price = layers.real_valued_column("price", 2)
    kind = layers.sparse_column_with_integerized_feature("kind", 5)
    columns = [price, layers.embedding_column(kind, 3, initializer=tf.ones_initializer()), layers.one_hot_column(kind)]
    features = {
        "price": tf.constant(np.arange(12, dtype=np.float32).reshape(2, 3, 2)),
        "kind": tf.SparseTensor([[0, 0], [0, 2], [1, 1]], [4, 1, 2], [2, 3]),
    }
    net = layers.sequence_input_from_feature_columns(features, columns)
    value = _run(net)
    assert value.shape == (2, 3, 10)
    np.testing.assert_array_equal(value[:, :, 8:], np.arange(12).reshape(2, 3, 2))
    np.testing.assert_array_equal(value[0, :, :3], [[1] * 3, [0] * 3, [1] * 3])
    assert value[1, 1, 3:8].tolist() == [0, 0, 1, 0, 0]
    with pytest.raises(ValueError, match=r"there is no feature 'price'; there are \['kind'\]"):
        layers.sequence_input_from_feature_columns({"kind": features["kind"]}, columns)


def test_examples_are_parsed() -> None:
    age, kind = layers.real_valued_column("age"), layers.sparse_column_with_integerized_feature("kind", 5)
    example = tf.train.Example()
    example.features.feature["age"].float_list.value.append(3.0)
    example.features.feature["kind"].int64_list.value.append(4)
    spec = layers.create_feature_spec_for_parsing([age, kind])
    assert isinstance(spec["age"], tf.FixedLenFeature) and isinstance(spec["kind"], tf.VarLenFeature)
    parsed = layers.parse_feature_columns_from_examples([example.SerializeToString()], [age, kind])
    net = layers.input_from_feature_columns(parsed, [age, layers.one_hot_column(kind)])
    np.testing.assert_array_equal(_run(net), [[3, 0, 0, 0, 0, 1]])
    sequence = tf.train.SequenceExample()
    sequence.context.feature["age"].float_list.value.append(3.0)
    for value in (1.0, 2.0):
        sequence.feature_lists.feature_list["price"].feature.add().float_list.value.append(value)
    context, steps = layers.parse_feature_columns_from_sequence_examples(
        sequence.SerializeToString(), [age], [layers.real_valued_column("price")]
    )
    assert [v.tolist() for v in _run([context["age"], steps["price"]])] == [[3.0], [[1.0], [2.0]]]


def test_mistakes() -> None:
    age = layers.real_valued_column("age")
    with pytest.raises(ValueError, match="Duplicate feature column found for column 'age'"):
        layers.check_feature_columns([age, layers.real_valued_column("age")])
    with pytest.raises(ValueError, match="must be feature columns, got 3"):
        layers.check_feature_columns([3])
    with pytest.raises(TypeError, match="expected a sparse column, .*got NumericColumn"):
        layers.one_hot_column(age)
    with pytest.raises(TypeError, match="sparse, bucketized or crossed columns, got 3"):
        layers.crossed_column([3, 4], 10)
    with pytest.raises(ValueError, match="dtype must be an integer"):
        layers.sparse_column_with_integerized_feature("kind", 4, dtype=tf.float32)
    with pytest.raises(NotImplementedError, match="hash_keys"):
        layers.sparse_column_with_hash_bucket("word", 10, hash_keys=[1, 2])
