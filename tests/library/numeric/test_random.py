"""Random functions: seeds, names, shapes and errors as TensorFlow 1 has them."""

import numpy as np
import pytest
from running import run

import headrace as tf


def names() -> list[str]:
    return [op.name for op in tf.get_default_graph().get_operations()]


def test_pairs_of_seeds() -> None:
    assert tf.get_seed(None) == (None, None)
    assert tf.get_seed(5) == (87654321, 5)
    assert tf.get_seed(0) == (87654321, 0)
    tf.set_random_seed(0)
    assert tf.get_seed(0) == (0, 2**31 - 1)  # a pair of zeros would mean "not seeded"
    assert tf.get_seed(None) == (0, 2**31 - 1)
    tf.constant(1)
    assert tf.get_seed(None) == (0, 1)  # the number of nodes so far
    tf.set_random_seed(3000000000)
    assert tf.get_seed(2**31) == (852516353, 1)
    assert tf.get_seed(-1) == (852516353, 2147483646)


def test_seeds_reach_the_op() -> None:
    tf.set_random_seed(7)
    x = tf.random_uniform([2], seed=4)
    op = tf.get_default_graph().get_operation_by_name("random_uniform/RandomUniform")
    assert (op.get_attr("seed"), op.get_attr("seed2")) == (7, 4)
    assert x.name == "random_uniform:0"


def test_names_of_the_nodes() -> None:
    tf.random_normal([2, 3])
    assert names() == [
        "random_normal/shape", "random_normal/mean", "random_normal/stddev", "random_normal/RandomStandardNormal",
        "random_normal/mul", "random_normal",
    ]  # fmt: skip
    tf.reset_default_graph()
    tf.random_uniform([2], 1, 5, tf.int32, name="dice")
    assert names() == ["dice/shape", "dice/min", "dice/max", "dice"]
    tf.reset_default_graph()
    tf.random_shuffle(tf.constant([1, 2]))
    tf.multinomial([[1.0, 2.0]], 3)
    assert names() == [
        "Const", "RandomShuffle", "multinomial/logits", "multinomial/Multinomial/num_samples",
        "multinomial/Multinomial",
    ]  # fmt: skip


def test_static_shapes() -> None:
    n = tf.placeholder(tf.int32, [])
    assert tf.random_uniform([n, 3]).shape.as_list() == [None, 3]
    assert tf.random_normal(tf.TensorShape([2, 3])).shape.as_list() == [2, 3]
    assert tf.random_normal([]).shape.as_list() == []
    assert tf.random_normal([tf.Dimension(4), 2]).shape.as_list() == [4, 2]
    assert tf.random_gamma([5], [1.0, 2.0]).shape.as_list() == [5, 2]
    assert tf.multinomial(tf.zeros([4, 3]), n).shape.as_list() == [4, None]
    assert run(tf.truncated_normal([n, 2]), {n: 6}).shape == (6, 2)


def test_parameters_may_be_tensors() -> None:
    mean = tf.placeholder(tf.float32, [3])
    x = tf.random_normal([1000, 3], mean, 0.01, seed=1)
    np.testing.assert_allclose(run(x, {mean: [0, 10, 20]}).mean(0), [0, 10, 20], atol=0.01)


def test_errors() -> None:
    with pytest.raises(ValueError, match="Must specify maxval for integer dtype"):
        tf.random_uniform([2], dtype=tf.int32)
    with pytest.raises(ValueError, match="dtype"):
        tf.random_uniform([2], dtype=tf.string)
    with pytest.raises(ValueError, match="-1"):
        tf.random_normal([-1])
    low = tf.placeholder(tf.int32, [])
    with tf.Session() as sess, pytest.raises(tf.errors.InvalidArgumentError, match="minval < maxval"):
        sess.run(tf.random_uniform([2], low, 3, tf.int32), {low: 3})


def test_gradients_stop_at_random_values() -> None:
    scale = tf.constant(2.0)
    x = tf.random_normal([3], stddev=scale, seed=1)
    value, slope = run([x, tf.gradients(x, scale)[0]])
    np.testing.assert_allclose(slope, value.sum() / 2, rtol=1e-5)


def test_random_crop() -> None:
    image = np.arange(5 * 6 * 2).reshape(5, 6, 2)
    crop = tf.random_crop(image, [2, 3, 2], seed=1)
    assert crop.shape.as_list() == [2, 3, 2]
    corners = set()
    with tf.Session() as sess:
        for _ in range(60):
            x = sess.run(crop)
            row, column = divmod(x[0, 0, 0] // 2, 6)
            np.testing.assert_array_equal(x, image[row : row + 2, column : column + 3])
            corners.add((row, column))
    assert len(corners) > 10
    assert {r for r, _ in corners} == {0, 1, 2, 3}
    big = tf.placeholder(tf.float32)
    with tf.Session() as sess, pytest.raises(tf.errors.InvalidArgumentError, match="Need value.shape >= size"):
        sess.run(tf.random_crop(big, [3]), {big: [1.0, 2.0]})


def test_the_face() -> None:
    assert tf.random.uniform is tf.random_uniform
    assert tf.random.normal is tf.random_normal
    assert tf.random.categorical([[0.0, 1.0]], 2).shape.as_list() == [1, 2]
