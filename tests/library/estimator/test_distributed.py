"""Estimators under strategies give what they give without one, on batches that are as large together."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import headrace as tf

X = (np.arange(24).reshape(12, 2) % 7 / 7).astype(np.float32)
Y = (X @ np.array([[1.0], [2.0]], np.float32) + 0.5).astype(np.float32)
CONFIG = tf.ConfigProto(device_count={"CPU": 2})
TWO = ["/cpu:0", "/cpu:1"]


def model_fn(features: Any, labels: Any, mode: str) -> Any:
    start = tf.constant_initializer(0.3)
    hidden = tf.layers.dense(features["x"], 4, tf.nn.tanh, kernel_initializer=start)
    predicted = tf.layers.dense(hidden, 1, kernel_initializer=start)
    if mode == tf.estimator.ModeKeys.PREDICT:
        return tf.estimator.EstimatorSpec(mode, predictions=predicted)
    loss = tf.losses.mean_squared_error(labels, predicted)
    train = tf.train.AdamOptimizer(0.05).minimize(loss, tf.train.get_global_step())
    metrics = {"error": tf.metrics.mean_absolute_error(labels, predicted)}
    return tf.estimator.EstimatorSpec(mode, loss=loss, train_op=train, eval_metric_ops=metrics)


def dataset(batch: int, repeated: bool) -> Any:
    made = tf.data.Dataset.from_tensor_slices(({"x": X}, Y))
    return (made.repeat() if repeated else made).batch(batch)


def estimator(folder: Path, strategy: Any) -> Any:
    config = tf.estimator.RunConfig(
        str(folder), train_distribute=strategy, eval_distribute=strategy, session_config=CONFIG, tf_random_seed=1
    )
    return tf.estimator.Estimator(model_fn, config=config)


def test_training_evaluation_and_prediction(tmp_path: Path) -> None:
    found = []
    for strategy, batch in ((None, 8), (tf.distribute.MirroredStrategy(TWO), 4)):
        one = estimator(tmp_path / str(batch), strategy)
        one.train(lambda batch=batch: dataset(batch, True), steps=3)
        one.train(lambda batch=batch: dataset(batch, True), max_steps=5)
        results = one.evaluate(lambda: dataset(4, False))  # three batches, so one replica has none at the end
        predictions = list(one.predict(lambda: tf.data.Dataset.from_tensor_slices({"x": X}).batch(4)))
        found.append((results, np.concatenate(predictions), one.get_variable_names()))
    (alone, predicted, names), (together, predicted_together, other_names) = found
    assert names == other_names and together["global_step"] == 5
    assert together == pytest.approx(alone, rel=1e-4)
    np.testing.assert_allclose(predicted_together, predicted, rtol=1e-4)


def test_a_model_goes_on_with_another_strategy(tmp_path: Path) -> None:
    estimator(tmp_path, tf.distribute.MirroredStrategy(TWO)).train(lambda: dataset(4, True), steps=2)
    central = tf.distribute.experimental.CentralStorageStrategy(TWO, "/cpu:0")
    other = estimator(tmp_path, central)
    other.train(lambda: dataset(4, True), steps=2)
    assert other.evaluate(lambda: dataset(4, False))["global_step"] == 4


def test_a_loss_that_is_a_sum_is_not_divided() -> None:
    strategy = tf.distribute.MirroredStrategy(TWO)
    with strategy.scope(), strategy._loss_scaled():
        assert tf.distribute.get_loss_reduction() is tf.distribute.ReduceOp.MEAN
        tf.losses.mean_squared_error([1.0], [2.0], reduction=tf.losses.Reduction.SUM)
        assert tf.distribute.get_loss_reduction() is tf.distribute.ReduceOp.SUM
        tf.losses.mean_squared_error([1.0], [2.0])
        assert tf.distribute.get_loss_reduction() is tf.distribute.ReduceOp.MEAN
    assert tf.distribute.get_loss_reduction() is tf.distribute.ReduceOp.SUM


def test_input_functions(tmp_path: Path) -> None:
    one = estimator(tmp_path, tf.distribute.MirroredStrategy(TWO))
    seen = []

    def input_fn(mode: str, input_context: Any) -> Any:
        seen.append((mode, input_context.num_replicas_in_sync))
        return dataset(input_context.get_per_replica_batch_size(8), True)

    one.train(input_fn, steps=1)
    assert seen == [("train", 2)]
    with pytest.raises(ValueError, match=r"must give a tf.data.Dataset or a function of no arguments"):
        one.train(lambda: ({"x": tf.constant(X)}, tf.constant(Y)), steps=1)
