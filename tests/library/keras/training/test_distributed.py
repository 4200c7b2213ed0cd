"""Keras models of several replicas train, test and predict as on one device with the whole batch."""

from collections.abc import Iterator
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import headrace as tf

TWO = ["/cpu:0", "/cpu:1"]
X = np.random.RandomState(0).rand(22, 4).astype(np.float32)
Y = (X.sum(1, keepdims=True) > 2).astype(np.float32)


@pytest.fixture(autouse=True)
def two_devices() -> Iterator[None]:
    tf.keras.backend.clear_session()
    tf.keras.backend.set_session(tf.Session(config=tf.ConfigProto(device_count={"CPU": 2})))
    yield
    tf.keras.backend.clear_session()


def model(normalized: bool = False) -> Any:
    layers, start = tf.keras.layers, tf.keras.initializers.constant(0.2)
    penalty = tf.keras.regularizers.l2(0.1)
    made = [layers.Dense(5, "tanh", input_shape=(4,), kernel_initializer=start, kernel_regularizer=penalty)]
    made += [layers.BatchNormalization()] if normalized else []
    return tf.keras.Sequential([*made, layers.Dense(1, "sigmoid", kernel_initializer=start)])


def trained(strategy: Any, optimizer: Any) -> list[Any]:
    with strategy.scope() if strategy is not None else nullcontext():
        made = model()
        made.compile(optimizer(), loss="binary_crossentropy", metrics=["accuracy", "mae"])
    weights = np.arange(22.0) / 10
    history = made.fit(X, Y, batch_size=8, epochs=2, shuffle=False, verbose=0, validation_data=(X, Y)).history
    numbers = [value for name in sorted(history) for value in history[name]]
    numbers += made.evaluate(X, Y, batch_size=7, verbose=0, sample_weight=weights)
    numbers += made.train_on_batch(X[:1], Y[:1])  # one row, so one replica has none
    return [*numbers, *made.predict(X, batch_size=5, verbose=0)[:, 0], *made.get_weights()[0].ravel()]


@pytest.mark.parametrize(
    "optimizer",
    [lambda: tf.keras.optimizers.Adam(0.05), lambda: tf.keras.optimizers.SGD(0.1, 0.9),
     lambda: tf.train.AdagradOptimizer(0.05)],
)  # fmt: skip
def test_as_on_one_device(optimizer: Any) -> None:
    distribute = tf.distribute
    found = []
    for strategy in (
        None, distribute.MirroredStrategy(TWO), distribute.experimental.CentralStorageStrategy(TWO, "/cpu:0"),
        distribute.OneDeviceStrategy("/cpu:1"),
    ):  # fmt: skip
        found.append(trained(strategy, optimizer))
    for other in found[1:]:
        np.testing.assert_allclose(other, found[0], rtol=2e-4, atol=1e-5)


def test_averages_of_replicas(tmp_path: Path) -> None:
    strategy = tf.distribute.MirroredStrategy(TWO)
    with strategy.scope():
        made = model(normalized=True)
        made.compile("sgd", "mse")
    made.fit(X[:8], Y[:8], batch_size=8, epochs=3, verbose=0)
    average = made.layers[1].moving_mean
    with tf.keras.backend.get_session().as_default() as sess:
        one, two = sess.run(list(strategy.experimental_local_results(average)))
        assert not np.array_equal(one, two)
        np.testing.assert_allclose(sess.run(average), (one + two) / 2, rtol=1e-6)
    weights = made.get_weights()
    made.save_weights(str(tmp_path / "w.h5"))
    made.set_weights([w * 0 for w in weights])
    assert not any(w.any() for w in made.get_weights())
    made.load_weights(str(tmp_path / "w.h5"))
    for before, after in zip(weights, made.get_weights(), strict=True):
        np.testing.assert_allclose(after, before, rtol=1e-6)


def test_a_model_is_made_and_compiled_in_one_scope() -> None:
    strategy = tf.distribute.MirroredStrategy(TWO)
    outside = model()
    with strategy.scope():
        inside = model()
        with pytest.raises(ValueError, match="made outside of it, and is compiled in the scope of a strategy"):
            outside.compile("sgd", "mse")
    with pytest.raises(ValueError, match="made in the scope of a strategy, and is compiled outside of it"):
        inside.compile("sgd", "mse")
    with (
        strategy.scope(),
        pytest.raises(RuntimeError, match="is called in the scope of a tf.distribute.Strategy outside"),
    ):
        tf.keras.optimizers.SGD().apply_gradients([(tf.constant(1.0), tf.Variable(1.0))])
