"""Partitioners and partitioned variables."""

import numpy as np
import pytest

import headrace as tf
from headrace.library.state.partitioner import PartitionInfo, slices


def test_fixed_size() -> None:
    assert tf.fixed_size_partitioner(3)(shape=tf.TensorShape([10, 4]), dtype=tf.float32) == [3, 1]
    assert tf.fixed_size_partitioner(8, axis=1)(shape=tf.TensorShape([10, 4]), dtype=tf.float32) == [1, 4]


@pytest.mark.parametrize(
    ("shape", "dtype", "kwargs", "expected"),
    [
        ([4, 8], tf.float32, {"max_shard_bytes": 1 << 18}, [1, 1]),
        ([64 << 10, 64], tf.float32, {"max_shard_bytes": 1 << 20}, [16, 1]),
        ([4, 8], tf.float32, {"max_shard_bytes": 33}, [4, 1]),
        ([4, 8], tf.float32, {"max_shard_bytes": 33, "max_shards": 3}, [3, 1]),
        ([4, 8], tf.float32, {"max_shard_bytes": 33, "axis": 1}, [1, 4]),
        ([4, 8], tf.string, {"max_shard_bytes": 128, "bytes_per_string_element": 8}, [2, 1]),
    ],
)
def test_axis_size(shape, dtype, kwargs, expected) -> None:
    assert tf.variable_axis_size_partitioner(**kwargs)(shape=tf.TensorShape(shape), dtype=dtype) == expected


@pytest.mark.parametrize(
    ("shape", "kwargs", "expected"),
    [
        ([2048, 100], {"max_partitions": 100, "min_slice_size": 2 << 10}, [100, 1]),
        ([2048, 100], {"max_partitions": 1000, "min_slice_size": 64 << 10}, [13, 1]),
        ([2, 100], {"max_partitions": 100, "min_slice_size": 10}, [2, 1]),
        ([100], {"max_partitions": 2, "min_slice_size": 1 << 20}, [1]),
    ],
)
def test_min_max(shape, kwargs, expected) -> None:
    assert tf.min_max_variable_partitioner(**kwargs)(shape=tf.TensorShape(shape), dtype=tf.float32) == expected


def test_partitioners_check_their_arguments() -> None:
    with pytest.raises(ValueError, match="positive"):
        tf.variable_axis_size_partitioner(0)
    with pytest.raises(ValueError, match="positive"):
        tf.min_max_variable_partitioner(max_partitions=0)
    with pytest.raises(ValueError, match="not fully defined"):
        tf.variable_axis_size_partitioner(8)(shape=tf.TensorShape([None, 2]), dtype=tf.float32)


def test_slices_differ_by_one_at_most() -> None:
    assert list(slices([5, 2], [3, 1])) == [([0, 0], [2, 2]), ([2, 0], [2, 2]), ([4, 0], [1, 2])]
    assert list(slices([3], [1])) == [([0], [3])]


def test_shards_and_the_whole(session: tf.Session) -> None:
    whole = np.arange(10.0, dtype=np.float32).reshape(5, 2)
    w = tf.get_variable("w", initializer=tf.constant(whole), partitioner=tf.fixed_size_partitioner(3))
    assert [v.name for v in w] == ["w/part_0:0", "w/part_1:0", "w/part_2:0"] and len(w) == 3
    assert w.name == "w" and w.dtype == tf.float32 and w.get_shape().as_list() == [5, 2]
    infos = [v._get_save_slice_info() for v in w]
    assert [i.spec for i in infos] == ["5 2 0,2:0,2", "5 2 2,2:0,2", "5 2 4,1:0,2"]
    assert infos[0].full_name == "w" and infos[0].full_shape == [5, 2]
    doubled, assigned = w.as_tensor() * 2.0, w.assign(-whole)
    product = tf.matmul(tf.ones([1, 5]), w)
    session.run(tf.global_variables_initializer())
    np.testing.assert_allclose(session.run(doubled), whole * 2)
    np.testing.assert_allclose(session.run(product), whole.sum(0, keepdims=True))
    session.run(assigned)
    np.testing.assert_allclose(session.run(w.as_tensor()), -whole)
    session.run(w.assign_add([tf.ones([2, 2]), tf.ones([2, 2]), tf.ones([1, 2])]))
    np.testing.assert_allclose(session.run(w.as_tensor()), 1 - whole)
    assert tf.global_variables() == list(w)


def test_initializers_learn_the_whole_shape() -> None:
    seen = []

    def initializer(shape, dtype, partition_info):
        seen.append((shape, partition_info.full_shape, partition_info.var_offset, partition_info.single_offset(shape)))
        return tf.zeros(shape, dtype)

    tf.get_variable("w", [4, 5], initializer=initializer, partitioner=tf.fixed_size_partitioner(2, axis=1))
    assert seen == [([4, 3], [4, 5], [0, 0], 0), ([4, 2], [4, 5], [0, 3], 3)]


def test_partition_info_checks() -> None:
    with pytest.raises(ValueError, match="inside full_shape"):
        PartitionInfo([2], [2])
    with pytest.raises(ValueError, match="slice dim could be either"):
        PartitionInfo([4, 4], [0, 0]).single_slice_dim([2, 2])
    assert PartitionInfo([4, 4], [0, 0]).single_slice_dim([4, 4]) is None


def test_errors() -> None:
    cut = tf.fixed_size_partitioner(2)
    with pytest.raises(ValueError, match="one dimension"):
        tf.get_variable("p", [4, 4], partitioner=lambda shape, dtype: [2, 2])
    with pytest.raises(ValueError, match="match the Variable's rank"):
        tf.get_variable("p", [4, 4], partitioner=lambda shape, dtype: [2])
    with pytest.raises(ValueError, match="zero partitions"):
        tf.get_variable("p", [4, 4], partitioner=lambda shape, dtype: [0, 1])
    with pytest.raises(ValueError, match="Partitioner must return a sequence, but saw: 3"):
        tf.get_variable("p", [4, 4], partitioner=lambda shape, dtype: 3)
    with pytest.raises(ValueError, match="must be callable"):
        tf.get_variable("p", [4, 4], partitioner=3)
    with pytest.raises(ValueError, match="fully defined"):
        tf.get_variable("p", [None, 4], partitioner=cut)
    tf.get_variable("p", [4, 4], partitioner=cut)
    with pytest.raises(ValueError, match="already exists"):
        tf.get_variable("p", [4, 4], partitioner=cut)
    with pytest.raises(ValueError, match="No partitioner was provided, but a partitioned version"):
        tf.get_variable("p", [4, 4])


def test_sharing() -> None:
    p = tf.get_variable("p", [4, 4], partitioner=tf.fixed_size_partitioner(2))
    with tf.variable_scope("", reuse=True):
        assert tf.get_variable("p", [4, 4], partitioner=tf.fixed_size_partitioner(2)) is p
        assert tf.get_variable("p") is p
        with pytest.raises(ValueError, match=r"specified partitions \[3, 1\] and found partitions \[2, 1\]"):
            tf.get_variable("p", [4, 4], partitioner=tf.fixed_size_partitioner(3))
        with pytest.raises(ValueError, match="specified shape"):
            tf.get_variable("p", [4, 2], partitioner=tf.fixed_size_partitioner(2))
        with pytest.raises(ValueError, match="PartitionedVariable q does not exist"):
            tf.get_variable("q", [4, 4], partitioner=tf.fixed_size_partitioner(2))
        with pytest.raises(ValueError, match="different partitioning|does not exist"):
            tf.get_variable("p/part_2", [1])


def test_create_partitioned_variables_checks_its_arguments() -> None:
    with pytest.raises(ValueError, match="same length"):
        tf.create_partitioned_variables([4], [2, 1], tf.zeros_initializer())
    with pytest.raises(ValueError, match="rank at least 1"):
        tf.create_partitioned_variables([], [], tf.zeros_initializer())
    assert [v.shape.as_list() for v in tf.create_partitioned_variables([3, 2], [2, 1], None)] == [[2, 2], [1, 2]]
