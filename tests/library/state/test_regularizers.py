"""The regularizers of contrib.layers."""

import numpy as np
import pytest
from running import run

import headrace as tf
from headrace.library.state.regularizers import (
    apply_regularization,
    l1_l2_regularizer,
    l1_regularizer,
    l2_regularizer,
    sum_regularizer,
)

WEIGHTS = np.array([[1.0, -2.0], [3.0, 0.5]], np.float32)


def loss(regularizer, weights=WEIGHTS):
    return run(regularizer(tf.constant(weights)))


def test_values() -> None:
    l1, l2 = 0.1 * np.abs(WEIGHTS).sum(), 0.2 * (WEIGHTS**2).sum() / 2
    np.testing.assert_allclose(loss(l1_regularizer(0.1)), l1, rtol=1e-6)
    np.testing.assert_allclose(loss(l2_regularizer(0.2)), l2, rtol=1e-6)
    np.testing.assert_allclose(loss(l1_l2_regularizer(0.1, 0.2)), l1 + l2, rtol=1e-6)
    np.testing.assert_allclose(loss(l1_l2_regularizer(0.1, 0.0)), l1, rtol=1e-6)
    np.testing.assert_allclose(loss(l1_l2_regularizer(0.0, 0.2)), l2, rtol=1e-6)
    np.testing.assert_allclose(loss(sum_regularizer([l1_regularizer(0.1), None])), l1, rtol=1e-6)
    np.testing.assert_allclose(loss(l2_regularizer(0.2), WEIGHTS.astype(np.float64)), l2, rtol=1e-6)


def test_no_loss() -> None:
    weights = tf.constant(WEIGHTS)
    assert l1_regularizer(0.0)(weights) is None and l2_regularizer(0.0)(weights) is None
    assert sum_regularizer([]) is None and sum_regularizer([l1_regularizer(0.0)])(weights) is None


def test_scales_are_checked() -> None:
    for make in (l1_regularizer, l2_regularizer):
        with pytest.raises(ValueError, match="cannot be an integer"):
            make(1)
        with pytest.raises(ValueError, match="less than 0"):
            make(-0.1)


def test_names_with_get_variable() -> None:
    tf.get_variable("w", initializer=WEIGHTS, regularizer=l2_regularizer(0.5))
    tf.get_variable("u", initializer=WEIGHTS, regularizer=l1_regularizer(0.5))
    names = [loss.name for loss in tf.get_collection(tf.GraphKeys.REGULARIZATION_LOSSES)]
    assert names == ["w/Regularizer/l2_regularizer:0", "u/Regularizer/l1_regularizer:0"]
    made = {op.name: op.type for op in tf.get_default_graph().get_operations()}
    assert made["w/Regularizer/l2_regularizer/L2Loss"] == "L2Loss"
    assert made["w/Regularizer/l2_regularizer/scale"] == made["u/Regularizer/l1_regularizer/Const"] == "Const"


def test_partitioned_variables_are_regularised_by_shard() -> None:
    tf.get_variable("w", [4], partitioner=tf.fixed_size_partitioner(2), regularizer=l2_regularizer(0.5))
    names = [loss.name for loss in tf.get_collection(tf.GraphKeys.REGULARIZATION_LOSSES)]
    assert names == ["w/part_0/Regularizer/l2_regularizer:0", "w/part_1/Regularizer/l2_regularizer:0"]


def test_apply_regularization() -> None:
    v = tf.constant(WEIGHTS)
    total = apply_regularization(l1_regularizer(0.1), [v, v])
    assert tf.get_collection(tf.GraphKeys.REGULARIZATION_LOSSES) == [total]
    np.testing.assert_allclose(run(total), 0.2 * np.abs(WEIGHTS).sum(), rtol=1e-6)
    with pytest.raises(ValueError, match="No weights"):
        apply_regularization(l1_regularizer(0.1))
    with pytest.raises(ValueError, match="scalar"):
        apply_regularization(tf.identity, [v])
