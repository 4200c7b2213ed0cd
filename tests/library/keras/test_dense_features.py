"""The layer DenseFeatures: its numbers, its variables, its configuration."""

import json

import numpy as np
import pytest
from running import initialize_and_run, initialized_session

import headrace as tf

column = tf.feature_column
FEATURES = {"price": [[1.5], [2.0]], "kind": [["a"], ["b"]], "color": [[1], [0]]}


def doubled(x: tf.Tensor) -> tf.Tensor:
    return x * 2.0


def columns() -> list:
    kind = column.categorical_column_with_vocabulary_list("kind", ["a", "b"])
    return [
        column.numeric_column("price", normalizer_fn=doubled),
        column.embedding_column(kind, 3, initializer=tf.ones_initializer()),
        column.indicator_column(column.categorical_column_with_identity("color", 2)),
        column.bucketized_column(column.numeric_column("price"), [1.0, 1.8]),
        column.indicator_column(column.crossed_column([kind, "kind"], 5)),
    ]


def test_columns_side_by_side_with_variables_of_their_own() -> None:
    layer = tf.keras.layers.DenseFeatures(columns()[:3])
    y, again = layer(FEATURES), layer(FEATURES)
    assert [v.name for v in layer.trainable_weights] == ["dense_features/kind_embedding/embedding_weights:0"]
    assert y.shape.as_list() == [2, 6]
    assert layer.compute_output_shape({"price": (2, 1), "kind": (2, 1)}).as_list() == [2, 6]
    with initialized_session() as session:
        session.run(tf.tables_initializer())
        found, same = session.run([y, again])
    np.testing.assert_array_equal(found, [[0, 1, 1, 1, 1, 3], [1, 0, 1, 1, 1, 4]])
    np.testing.assert_array_equal(found, same)
    assert tf.gradients(y, layer.weights[0]) != [None]


def test_it_is_the_same_eagerly() -> None:
    with tf.eager_mode():
        layer = tf.keras.layers.DenseFeatures(columns()[:3])
        np.testing.assert_array_equal(layer(FEATURES).numpy(), [[0, 1, 1, 1, 1, 3], [1, 0, 1, 1, 1, 4]])
        layer(FEATURES)
        assert len(layer.weights) == 1


def test_a_configuration_makes_the_same_layer() -> None:
    layer = tf.keras.layers.DenseFeatures(columns(), name="features")
    stored = json.loads(json.dumps(tf.keras.layers.serialize(layer)))
    again = tf.keras.layers.deserialize(stored, {"doubled": doubled})
    assert again.name == "features"
    assert again._feature_columns[-2].normalizer_fn is doubled
    assert json.loads(json.dumps(again.get_config())) == stored["config"]
    first, second = layer(FEATURES), tf.keras.layers.DenseFeatures.from_config(again.get_config(), {"doubled": doubled})
    assert first.shape.as_list() == [2, 14] and second.compute_output_shape((None, 1)).as_list() == [None, 14]


@pytest.mark.parametrize(
    ("make", "text"),
    [
        (lambda: tf.keras.layers.DenseFeatures(columns()[:1])([[1.0]]), "expected a dictionary of features"),
        (
            lambda: tf.keras.layers.DenseFeatures(column.categorical_column_with_identity("color", 2)),
            "must be a _DenseColumn",
        ),
        (lambda: tf.keras.layers.DenseFeatures([]), "must not be empty"),
        (lambda: tf.keras.layers.DenseFeatures(columns()[:1])({"cost": [[1.0]]}), "Feature price is not in"),
        (
            lambda: tf.keras.layers.DenseFeatures.from_config({"feature_columns": [{"class_name": "os"}]}),
            "Unknown feature column",
        ),
        (
            lambda: tf.keras.layers.DenseFeatures.from_config(
                {"feature_columns": [{"class_name": "NumericColumn", "config": {"key": "a"}}]}
            ),
            "A NumericColumn has the fields",
        ),
    ],
)
def test_errors(make, text: str) -> None:
    with pytest.raises(ValueError, match=text):
        make()


def test_a_name_of_a_function_that_is_not_given() -> None:
    config = tf.keras.layers.DenseFeatures(columns()[:1]).get_config()
    with pytest.raises(ValueError, match="Unknown normalizer_fn: doubled"):
        tf.keras.layers.DenseFeatures.from_config(config)


def test_outputs_by_column() -> None:
    price = column.numeric_column("price")
    outputs: dict = {}
    layer = tf.keras.layers.DenseFeatures([price])
    y = layer(FEATURES, cols_to_output_tensors=outputs)
    assert initialize_and_run([y, outputs[price]])[1].tolist() == [[1.5], [2.0]]
