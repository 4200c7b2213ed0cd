"""Programs with feature columns; see program.py.  Every program also fetches the names of its variables, as text."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from golden.program import Programs

PROGRAMS = Programs()
VOCABULARY = str(Path(__file__).parent / "vocabulary.txt")


def add(name: str) -> Any:
    return PROGRAMS.add(name, names=False)


def ready(tf: Any, *fetches: Any) -> list[Any]:
    """Gives all variables values by their order and fetches their names, shapes and those that are trained."""
    variables = tf.global_variables()
    tf.add_to_collection("setup", tf.tables_initializer())
    for i, v in enumerate(variables):
        shape = v.shape.as_list()
        values = np.sin(np.arange(1, 1 + np.prod(shape)) * 0.7 + i).reshape(shape).astype(np.float32)
        tf.add_to_collection("setup", v.assign(values).op)
    names = [f"{v.name} {v.shape.as_list()}" for v in variables] or ["none"]
    trained = [v.name for v in tf.trainable_variables()] or ["none"]
    model = [v.name for v in tf.get_collection(tf.GraphKeys.MODEL_VARIABLES)] or ["none"]
    return [*fetches, tf.constant(names), tf.constant(trained), tf.constant(model)]


def features(tf: Any) -> dict[str, Any]:
    return {
        "x": tf.constant([[1.0], [2.0], [-0.5]]),
        "xy": tf.constant([[1.0, 20.0], [12.0, -3.0], [5.0, 10.0]]),
        "age": tf.constant([18, 64, 7]),
        "word": tf.constant([["cat", ""], ["dog", "cat"], ["bird", ""]]),
        "words": tf.SparseTensor([[0, 0], [0, 1], [2, 0]], ["the", "bird", "dog"], [3, 3]),
        "id": tf.constant([[1, 3], [2, -1], [-1, -1]]),
        "ids": tf.SparseTensor([[0, 0], [0, 1], [2, 0]], [0, 3, 3], [3, 2]),
        "weight": tf.SparseTensor([[0, 0], [0, 1], [2, 0]], [0.5, 2.0, -1.5], [3, 2]),
        "number": tf.constant([[7], [11], [13]], tf.int64),
    }


@add("numeric")
def _(tf: Any) -> Any:
    fc = tf.feature_column
    columns = [
        fc.numeric_column("xy", shape=(2,), normalizer_fn=lambda t: (t - 5.0) / 2.0),
        fc.numeric_column("x"),
        fc.numeric_column("age", dtype=tf.int32),
    ]
    return ready(tf, fc.input_layer(features(tf), columns))


@add("bucketized")
def _(tf: Any) -> Any:
    fc = tf.feature_column
    pair = fc.bucketized_column(fc.numeric_column("xy", shape=2), [0.0, 5.0, 10.0])
    age = fc.bucketized_column(fc.numeric_column("age"), [18, 65])
    given = features(tf)
    linear = fc.linear_model(given, [pair, age], units=2, sparse_combiner="mean")
    return ready(tf, fc.input_layer(given, [pair, age, fc.embedding_column(pair, 3)]), linear)


@add("identity")
def _(tf: Any) -> Any:
    fc = tf.feature_column
    dense = fc.categorical_column_with_identity("id", 4)
    sparse = fc.categorical_column_with_identity("ids", 3, default_value=1)
    columns = [fc.indicator_column(dense), fc.indicator_column(sparse), fc.embedding_column(dense, 2, combiner="sqrtn")]
    return ready(tf, fc.input_layer(features(tf), columns), fc.linear_model(features(tf), [dense, sparse]))


@add("vocabulary_list")
def _(tf: Any) -> Any:
    fc = tf.feature_column
    make = fc.categorical_column_with_vocabulary_list
    word, words = make("word", ["cat", "dog"]), make("words", ["the", "dog"], num_oov_buckets=3)
    age = make("age", [7, 18], default_value=1)
    columns = [fc.indicator_column(c) for c in (word, words, age)] + [fc.embedding_column(words, 2, combiner="sum")]
    return ready(tf, fc.input_layer(features(tf), columns))


@add("vocabulary_file")
def _(tf: Any) -> Any:
    fc = tf.feature_column
    make = fc.categorical_column_with_vocabulary_file
    word, words = make("word", VOCABULARY), make("words", VOCABULARY, vocabulary_size=2, num_oov_buckets=2)
    return ready(tf, fc.input_layer(features(tf), [fc.indicator_column(word), fc.indicator_column(words)]))


@add("hashed")
def _(tf: Any) -> Any:
    fc = tf.feature_column
    make = fc.categorical_column_with_hash_bucket
    columns = [make("word", 5), make("words", 7), make("number", 6, dtype=tf.int64)]
    return ready(tf, fc.input_layer(features(tf), [fc.indicator_column(c) for c in columns]))


@add("crossed")
def _(tf: Any) -> Any:
    fc = tf.feature_column
    age = fc.bucketized_column(fc.numeric_column("age"), [18, 65])
    word = fc.categorical_column_with_vocabulary_list("word", ["cat", "dog"])
    pair = fc.crossed_column([age, "words"], 8)
    nested = fc.crossed_column([pair, word], 6, hash_key=12345)
    plain = fc.crossed_column(["word", "number"], 5)
    columns = [fc.indicator_column(c) for c in (pair, nested, plain)] + [fc.embedding_column(pair, 2)]
    given = features(tf)
    return ready(tf, fc.input_layer(given, columns), fc.linear_model(given, [pair, nested, plain]))


@add("weighted")
def _(tf: Any) -> Any:
    fc = tf.feature_column
    ids = fc.weighted_categorical_column(fc.categorical_column_with_identity("ids", 4), "weight")
    columns = [fc.indicator_column(ids), fc.embedding_column(ids, 2), fc.embedding_column(ids, 3, combiner="sum")]
    given = features(tf)
    outputs = [fc.input_layer(given, c) for c in (columns[:2], columns[2:])]
    return ready(tf, *outputs, fc.linear_model(given, ids), fc.linear_model(given, [ids], sparse_combiner="mean"))


@add("embedding")
def _(tf: Any) -> Any:
    fc = tf.feature_column
    ids = fc.categorical_column_with_identity("id", 4)
    word = fc.categorical_column_with_vocabulary_list("word", ["cat", "dog"])
    columns = [fc.embedding_column(ids, 3, max_norm=0.5), fc.embedding_column(word, 2, trainable=False)]
    output = fc.input_layer(features(tf), columns)
    table = tf.trainable_variables()[0]
    gradient = tf.convert_to_tensor(tf.gradients(tf.reduce_sum(tf.square(output)), table)[0])
    return ready(tf, output, gradient)


@add("shared")
def _(tf: Any) -> Any:
    fc = tf.feature_column
    ids = fc.categorical_column_with_identity("id", 4)
    other = fc.weighted_categorical_column(fc.categorical_column_with_identity("ids", 4), "weight")
    columns = fc.shared_embedding_columns([ids, other], 2)
    with tf.variable_scope("model"):
        output = fc.input_layer(features(tf), columns)
    table = tf.trainable_variables()[0]
    gradient = tf.convert_to_tensor(tf.gradients(tf.reduce_sum(tf.square(output)), table)[0])
    return ready(tf, output, gradient, tf.constant([c.name for c in columns]))


@add("linear")
def _(tf: Any) -> Any:
    fc = tf.feature_column
    columns = [
        fc.numeric_column("x"),
        fc.numeric_column("xy", shape=2),
        fc.categorical_column_with_identity("id", 4),
        fc.categorical_column_with_vocabulary_list("word", ["cat", "dog"]),
    ]
    given, seen = features(tf), {}
    first = fc.linear_model(given, columns, units=2, cols_to_vars=seen)
    with tf.variable_scope("wide"):
        second = fc.linear_model(given, columns, trainable=False, sparse_combiner="sqrtn")
    third = fc.linear_model(given, columns[:1])
    held = sorted(f"{getattr(c, 'name', c)} {[v.name for v in variables]}" for c, variables in seen.items())
    return ready(tf, first, second, third, tf.constant(held), tf.constant([t.name for t in (first, second, third)]))


@add("layer")
def _(tf: Any) -> Any:
    fc = tf.feature_column
    ids = fc.categorical_column_with_identity("id", 4)
    columns = [fc.numeric_column("x"), fc.embedding_column(ids, 2), fc.indicator_column(ids)]
    variables, tensors = {}, {}
    outputs = [fc.input_layer(features(tf), columns, ["mine"], True, variables, tensors)]
    outputs.append(fc.input_layer(features(tf), columns))
    held = sorted(f"{c.name} {[v.name for v in found]}" for c, found in variables.items())
    names = sorted(f"{c.name} {t.name}" for c, t in tensors.items())
    mine = [v.name for v in tf.get_collection("mine")]
    return ready(tf, *outputs, *(tf.constant(t) for t in (held, names, mine, [t.name for t in outputs])))


@add("ranks")
def _(tf: Any) -> Any:
    """Vectors, and features of unknown rank."""
    fc = tf.feature_column
    given = {
        "a": tf.constant([1.0, 2.0]),
        "b": tf.placeholder_with_default(np.float32([3.0, 4.0]), None),
        "c": tf.placeholder_with_default(np.int64([[1, 0], [2, 2]]), None),
        "d": tf.SparseTensor([[0], [1]], [2, 1], [2]),
    }
    columns = [fc.numeric_column("a"), fc.numeric_column("b")]
    columns += [fc.indicator_column(fc.categorical_column_with_identity(k, 3)) for k in "cd"]
    return ready(tf, fc.input_layer(given, columns))
