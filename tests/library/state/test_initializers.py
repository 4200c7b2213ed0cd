"""Initializers: values, scales, configurations and errors as TensorFlow 1 has them."""

import math
from types import SimpleNamespace

import numpy as np
import pytest
from running import run

import headrace as tf
from headrace.library.state.initializers import Initializer, contrib_variance_scaling_initializer, xavier_initializer


def test_zeros_ones_constant() -> None:
    assert run(tf.zeros_initializer()([2, 2])).tolist() == [[0, 0], [0, 0]]
    assert run(tf.ones_initializer(tf.int32)([2])).dtype == np.int32
    assert run(tf.zeros_initializer()([2], dtype=tf.bool)).tolist() == [False, False]
    assert run(tf.zeros_initializer()([1], dtype=tf.string)).tolist() == [b""]
    assert run(tf.constant_initializer(3)([2])).tolist() == [3, 3]
    assert run(tf.constant_initializer([1, 2, 3, 4])([2, 2])).tolist() == [[1, 2], [3, 4]]
    assert run(tf.constant_initializer([1, 2])([3])).tolist() == [1, 2, 2]  # the last value repeats


def test_constants_of_many_elements_are_not_kept_in_the_graph() -> None:
    for initializer in (tf.zeros_initializer(), tf.ones_initializer(), tf.constant_initializer(0.5)):
        tensor = initializer([100, 100])
        assert tensor.op.type == "Fill"
        assert np.unique(run(tensor)).size == 1
    assert tf.zeros_initializer()([10, 10]).op.type == "Const"
    assert tf.zeros_initializer()([10, 10]).op.name == "zeros_2"


def test_zeros_of_a_shape_known_only_when_run() -> None:
    shape = tf.placeholder(tf.int32, [2])
    assert run(tf.zeros_initializer()(shape), {shape: [2, 3]}).shape == (2, 3)


def test_errors() -> None:
    with pytest.raises(TypeError, match="Invalid type for initial value"):
        tf.constant_initializer(object())
    with pytest.raises(ValueError, match="Too many elements"):
        tf.constant_initializer([1, 2, 3])([2])
    with pytest.raises(TypeError, match="Expected Tensor's shape"):
        tf.constant_initializer([1, 2], verify_shape=True)([3])
    with pytest.raises(ValueError, match="Expected floating point type"):
        tf.random_normal_initializer(dtype=tf.int32)
    with pytest.raises(ValueError, match="`scale` must be positive"):
        tf.variance_scaling_initializer(scale=-1.0)
    with pytest.raises(ValueError, match="Invalid `mode`"):
        tf.variance_scaling_initializer(mode="fan")
    with pytest.raises(ValueError, match="Invalid `distribution`"):
        tf.variance_scaling_initializer(distribution="cauchy")
    with pytest.raises(ValueError, match="at least two-dimensional"):
        tf.orthogonal_initializer()([3])
    with pytest.raises(ValueError, match="2D"):
        tf.initializers.identity()([3])
    with pytest.raises(ValueError, match="maxval"):
        tf.random_uniform_initializer()([2], dtype=tf.int32)
    with pytest.raises(NotImplementedError):
        Initializer()([2])


def test_plain_random_ones() -> None:
    x = run(tf.random_uniform_initializer(-2, 3, seed=1)([2000]))
    assert -2 <= x.min() < -1.9
    assert 2.9 < x.max() < 3
    assert set(run(tf.random_uniform_initializer(0, 3, seed=1, dtype=tf.int32)([100]))) == {0, 1, 2}
    x = run(tf.random_normal_initializer(1.0, 0.1, seed=1)([2000]))
    assert abs(x.mean() - 1) < 0.01
    assert abs(x.std() - 0.1) < 0.01
    x = run(tf.truncated_normal_initializer(0.0, 0.1, seed=1)([2000], dtype=tf.float64))
    assert x.dtype == np.float64
    assert np.abs(x).max() <= 0.2
    x = run(tf.uniform_unit_scaling_initializer(2.0, seed=1)([30, 40, 10]))
    limit = 2 * math.sqrt(3 / 1200)
    assert 0.98 * limit < np.abs(x).max() <= limit


@pytest.mark.parametrize(
    ("initializer", "variance"),
    [
        (tf.variance_scaling_initializer(), 1 / 90),
        (tf.variance_scaling_initializer(2.0, "fan_out", "uniform"), 2 / 180),
        (tf.variance_scaling_initializer(1.0, "fan_avg", "untruncated_normal"), 1 / 135),
        (tf.variance_scaling_initializer(distribution="Normal"), 1 / 90),
        (tf.glorot_uniform_initializer(), 2 / 270),
        (tf.glorot_normal_initializer(), 2 / 270),
        (tf.initializers.he_normal(), 2 / 90),
        (tf.initializers.he_uniform(), 2 / 90),
        (tf.initializers.lecun_normal(), 1 / 90),
        (tf.initializers.lecun_uniform(), 1 / 90),
        (xavier_initializer(), 2 / 270),
        (contrib_variance_scaling_initializer(), 2 * 1.3 * 0.7737 / 90),
    ],
)
def test_variance_scaling(initializer, variance: float) -> None:
    tf.set_random_seed(1)
    x = run(initializer([3, 3, 10, 20]))  # a 3 x 3 convolution of 10 channels to 20
    assert abs(x.mean()) < 0.01
    assert abs(x.var() / variance - 1) < 0.1


def test_a_piece_of_a_partitioned_variable_has_the_scale_of_the_whole() -> None:
    info = SimpleNamespace(full_shape=[400, 50], var_offset=[100, 0])
    x = run(tf.variance_scaling_initializer(seed=1)([100, 50], partition_info=info))
    assert abs(x.var() * 400 - 1) < 0.1
    piece = run(
        tf.initializers.identity()([2, 3], partition_info=SimpleNamespace(full_shape=[3, 3], var_offset=[1, 0]))
    )
    assert piece.tolist() == [[0, 1, 0], [0, 0, 1]]


@pytest.mark.parametrize("shape", [(6, 4), (4, 6), (5, 5), (2, 3, 4)])
def test_orthogonal(shape) -> None:
    x = run(tf.orthogonal_initializer(gain=2.0, seed=1)(shape)).reshape(-1, shape[-1])
    small = x @ x.T if x.shape[0] < x.shape[1] else x.T @ x
    np.testing.assert_allclose(small, 4 * np.eye(len(small)), atol=1e-5)


def test_identity() -> None:
    assert run(tf.initializers.identity(2.0)([2, 2])).tolist() == [[2, 0], [0, 2]]
    assert run(tf.initializers.identity()([2, 3])).tolist() == [[1, 0, 0], [0, 1, 0]]


CONFIGS = [
    (tf.zeros_initializer(), {"dtype": "float32"}),
    (tf.constant_initializer(3), {"value": 3, "dtype": "float32"}),
    (tf.random_uniform_initializer(-1, 1), {"minval": -1, "maxval": 1, "seed": None, "dtype": "float32"}),
    (tf.truncated_normal_initializer(seed=2), {"mean": 0.0, "stddev": 1.0, "seed": 2, "dtype": "float32"}),
    (tf.uniform_unit_scaling_initializer(), {"factor": 1.0, "seed": None, "dtype": "float32"}),
    (
        tf.initializers.he_normal(),
        {"scale": 2.0, "mode": "fan_in", "distribution": "truncated_normal", "seed": None, "dtype": "float32"},
    ),
    (tf.orthogonal_initializer(), {"gain": 1.0, "seed": None, "dtype": "float32"}),
    (tf.initializers.identity(2.0), {"gain": 2.0, "dtype": "float32"}),
    (tf.glorot_uniform_initializer(), {"seed": None, "dtype": "float32"}),
]


@pytest.mark.parametrize(("initializer", "config"), CONFIGS)
def test_configurations(initializer, config) -> None:
    assert initializer.get_config() == config
    assert type(initializer).from_config(config).get_config() == config


def test_node_names() -> None:
    assert tf.random_normal_initializer()([2]).name == "random_normal:0"
    assert tf.glorot_uniform_initializer()([2, 2]).name == "random_uniform:0"
    assert tf.constant_initializer(1.0)([2]).name == "Const:0"
