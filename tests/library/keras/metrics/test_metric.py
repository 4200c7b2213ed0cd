"""tf.keras.metrics: state, own metrics, configurations, errors.  Values are compared in tests/library/keras/test_losses.py."""

import numpy as np
import pytest
from golden.keras_figures_cases import METRICS

import headrace as tf

keras = tf.keras


def test_calls_update_and_reset() -> None:
    mean = keras.metrics.Mean()
    x = tf.placeholder(tf.float32, [None])
    result = mean(x)
    session = keras.backend.get_session()
    assert session.run(result, {x: [1.0, 3.0]}) == 2.0
    assert session.run(result, {x: [8.0]}) == 4.0
    mean.reset_states()
    assert session.run(mean.result()) == 0.0
    assert [v.name for v in mean.variables] == ["total:0", "count:0"]
    assert mean.trainable_weights == []
    assert not set(mean.weights) & set(tf.global_variables())


def test_eagerly() -> None:
    with tf.eager_mode():
        accuracy = keras.metrics.SparseCategoricalAccuracy()
        assert float(accuracy([1, 0], [[0.1, 0.9], [0.2, 0.8]])) == 0.5
        assert float(accuracy([1], [[0.1, 0.9]])) == pytest.approx(2 / 3)
        accuracy.reset_states()
        assert float(accuracy.result()) == 0.0


class Largest(keras.metrics.Metric):
    """Changes its variable twice and returns nothing."""

    def __init__(self, name=None):
        super().__init__(name=name)
        self.best = self.add_weight("best", initializer="zeros")

    def update_state(self, y_true, y_pred, sample_weight=None):
        self.best.assign(tf.maximum(self.best, tf.reduce_max(y_pred)))
        self.best.assign_add(1.0)

    def result(self):
        return self.best


def test_own_metric_that_returns_nothing_is_updated_in_order() -> None:
    metric = Largest()
    result = metric(tf.constant([0.0]), tf.constant([5.0]))
    assert keras.backend.get_session().run(result) == 6.0


def test_weights_of_rows() -> None:
    mean = keras.metrics.Mean()
    update = mean.update_state([[1.0, 3.0], [5.0, 7.0]], sample_weight=[1.0, 0.0])
    keras.backend.get_session().run(update)
    assert keras.backend.get_value(mean.result()) == 2.0


@pytest.mark.parametrize(("name", "options"), METRICS, ids=str)
def test_configurations(name: str, options: dict) -> None:
    metric = getattr(keras.metrics, name)(**options)
    again = keras.metrics.deserialize(keras.metrics.serialize(metric))
    assert type(again) is type(metric)
    assert again.get_config() == metric.get_config()


def test_mistakes() -> None:
    with pytest.raises(ValueError, match="Threshold values must be in"):
        keras.metrics.Precision(thresholds=[0.5, 1.5])
    with pytest.raises(ValueError, match="Invalid AUC curve 'X'"):
        keras.metrics.AUC(curve="X")
    with pytest.raises(ValueError, match="`num_thresholds` must be > 1"):
        keras.metrics.AUC(num_thresholds=1)
    with pytest.raises(ValueError, match=r"`specificity` must be in the range \[0, 1\]"):
        keras.metrics.SensitivityAtSpecificity(2.0)
    with pytest.raises(ValueError, match="does not have any result yet"):
        keras.metrics.MeanTensor().result()
    with pytest.raises(ValueError, match="Unknown metric function: nope"):
        keras.metrics.get("nope")
    with pytest.raises(ValueError, match="a metric is a name"):
        keras.metrics.get(1)


def test_rate_where_another_is_given() -> None:
    at_specificity = keras.metrics.SensitivityAtSpecificity(0.4, num_thresholds=1)
    at_sensitivity = keras.metrics.SpecificityAtSensitivity(0.8, num_thresholds=1)
    data = np.array([0, 0, 1, 1]), np.array([0.0, 0.5, 0.3, 0.9], np.float32)
    keras.backend.get_session().run([at_specificity.update_state(*data), at_sensitivity.update_state(*data)])
    assert keras.backend.get_value(at_specificity.result()) == 0.5
    assert keras.backend.get_value(at_sensitivity.result()) == 1.0
