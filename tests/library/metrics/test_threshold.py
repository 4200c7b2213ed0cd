"""The points of curves over thresholds."""

import numpy as np
import pytest

import headrace as tf


@pytest.mark.parametrize("curve", ["ROC", "PR"])
def test_the_points_are_those_whose_area_is_measured(curve):
    labels, predictions = [0, 1, 1, 0, 1, 0], [0.1, 0.4, 0.35, 0.8, 0.9, 0.3]
    points, update = tf.contrib.metrics.streaming_curve_points(labels, predictions, num_thresholds=6, curve=curve)
    area, update_area = tf.metrics.auc(labels, predictions, num_thresholds=6, curve=curve)
    with tf.Session() as session:
        session.run(tf.local_variables_initializer())
        for _ in range(2):
            session.run([update, update_area])
        x, y = session.run(points).T
        np.testing.assert_allclose(session.run(area), (x[:-1] - x[1:]) @ (y[:-1] + y[1:]) / 2, rtol=1e-6)
    assert points.shape == [6, 2]
    with pytest.raises(ValueError, match="curve must be either ROC or PR"):
        tf.contrib.metrics.streaming_curve_points(labels, predictions, curve="other")
