"""Keras models as estimators: they train, evaluate and predict as the models themselves do."""

from __future__ import annotations

import numpy as np
import pytest

import headrace as tf

layers, to_estimator = tf.keras.layers, tf.keras.estimator.model_to_estimator
X = np.random.RandomState(0).rand(8, 3).astype(np.float32)
Y = np.random.RandomState(1).rand(8, 2).astype(np.float32)


@pytest.fixture(autouse=True)
def clear(nothing_leaks):
    tf.keras.backend.clear_session()
    yield
    tf.keras.backend.clear_session()
    tf.summary.FileWriterCache.clear()


def small(optimizer="adam"):
    model = tf.keras.Sequential(
        [
            layers.Dense(4, activation="tanh", input_shape=(3,), kernel_regularizer=tf.keras.regularizers.l2(0.1)),
            layers.BatchNormalization(),
            layers.Dense(2, name="out"),
        ]
    )
    model.compile(optimizer, "mse", metrics=["mae", tf.keras.metrics.MeanSquaredError(name="squares")])
    return model


def inputs(epochs=1):
    return tf.data.Dataset.from_tensor_slices((X, Y)).repeat(epochs).batch(4)


@pytest.mark.parametrize("optimizer", ["adam", tf.train.MomentumOptimizer(0.1, 0.9)])
def test_an_estimator_trains_as_the_model(tmp_path, optimizer):
    model = small(optimizer)
    estimator = to_estimator(model, model_dir=str(tmp_path))
    before = estimator.evaluate(inputs)
    assert before["global_step"] == 0
    expected = model.evaluate(X, Y, batch_size=4, verbose=0)
    np.testing.assert_allclose([before[name] for name in model.metrics_names], expected, rtol=1e-5)
    estimator.train(lambda: inputs(2))
    model.fit(X, Y, batch_size=4, epochs=2, shuffle=False, verbose=0)
    for weight in model.weights:
        value = tf.keras.backend.get_value(weight)
        np.testing.assert_allclose(estimator.get_variable_value(weight.op.name), value, rtol=1e-4, atol=1e-6)
    assert estimator.get_variable_value("global_step") == 4
    estimator.train(lambda: inputs(1))
    model.fit(X, Y, batch_size=4, shuffle=False, verbose=0)
    after = estimator.evaluate(inputs)
    np.testing.assert_allclose(after["loss"], model.evaluate(X, Y, batch_size=4, verbose=0)[0], rtol=1e-4)
    predicted = [one["out"] for one in estimator.predict(lambda: tf.data.Dataset.from_tensor_slices(X).batch(4))]
    np.testing.assert_allclose(predicted, model.predict(X), rtol=1e-4, atol=1e-6)


def test_inputs_and_labels_by_name_and_custom_objects(tmp_path):
    class Twice(layers.Layer):
        def call(self, inputs):
            return inputs * 2.0

    one, two = tf.keras.Input((3,), name="one"), tf.keras.Input((2,), name="two")
    left, right = layers.Dense(2, name="left")(Twice()(one)), layers.Dense(2, name="right")(two)
    model = tf.keras.Model([one, two], [left, right])
    model.compile("sgd", {"left": "mse", "right": "mae"}, loss_weights={"left": 2.0, "right": 0.5})
    path = tmp_path / "model.h5"
    model.save(path)
    estimator = to_estimator(keras_model_path=path, custom_objects={"Twice": Twice})
    features, labels = {"two": Y, "one": X}, {"right": Y, "left": Y + 1.0}
    result = estimator.evaluate(lambda: tf.data.Dataset.from_tensor_slices((features, labels)).batch(8))
    expected = model.evaluate([X, Y], [Y + 1.0, Y], verbose=0)[0]
    np.testing.assert_allclose(result["loss"], expected, rtol=1e-5)
    with pytest.raises(KeyError, match=r"lack \['two'\]"):
        estimator.evaluate(lambda: ({"one": X}, labels))
    with pytest.raises(ValueError, match=r"gives 1 labels, the model has \['left', 'right'\]"):
        estimator.evaluate(lambda: (features, Y))


def test_an_estimator_of_a_model_is_exported(tmp_path):
    estimator = to_estimator(small(), model_dir=str(tmp_path / "model"))
    estimator.train(inputs)

    def receiver():
        x = tf.placeholder(tf.float32, [None, 3])
        return tf.estimator.export.ServingInputReceiver({"dense_input": x}, x)

    folder = estimator.export_saved_model(str(tmp_path / "export"), receiver)
    predictor = tf.contrib.predictor.from_saved_model(folder.decode())
    expected = [one["out"] for one in estimator.predict(lambda: tf.data.Dataset.from_tensor_slices(X).batch(8))]
    np.testing.assert_allclose(predictor({"input": X})["out"], expected, rtol=1e-5)
    predictor.session.close()


def test_refusals():
    with pytest.raises(ValueError, match="Either `keras_model` or `keras_model_path`"):
        to_estimator()
    with pytest.raises(ValueError, match="has not been compiled yet"):
        to_estimator(tf.keras.Sequential([layers.Dense(2, input_shape=(3,))]))
    with pytest.raises(ValueError, match="checkpoint_format must be 'saver', got 'checkpoint'"):
        to_estimator(small(), checkpoint_format="checkpoint")
    model = tf.keras.Sequential([layers.Dense(2)])
    model.compile("sgd", "mse")
    with pytest.raises(ValueError, match="must be a graph of layers"):
        to_estimator(model)
