"""TensorFlow's fixed phrases: old tests and programs match on them, and on the phase in which the error comes."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import headrace as tf


def late(value: Any) -> Any:
    """A tensor whose shape and value are known only when it runs."""
    return tf.placeholder_with_default(value, None)


IMAGE = np.zeros([1, 4, 4, 4], np.float32)

BUILDING: dict[str, tuple[Callable[[], Any], str]] = {
    "at least rank": (lambda: tf.matrix_band_part(tf.zeros([3]), 0, 0), "must be at least rank 2 but is rank 1"),
    "rank": (
        lambda: tf.nn.conv2d(tf.zeros([4, 4]), tf.zeros([1, 1, 1, 1]), [1, 1, 1, 1], "SAME"),
        "Shape must be rank 4 but is rank 2",
    ),
    "rank of a shape": (lambda: tf.reshape(tf.zeros([4]), [[2, 2]]), "Shape must be rank 1 but is rank 2"),
    "at most rank": (lambda: tf.manip.roll([1, 2], [[1]], 0), "Shape must be at most rank 1 but is rank 2"),
    "block size": (lambda: tf.space_to_depth(IMAGE, 0), "block_size' of 0 must be at least minimum 2"),
    "negative paddings": (lambda: tf.pad([1, 2], [[-1, 0]]), "Paddings must be non-negative"),
    "negative mirrored paddings": (lambda: tf.pad([1, 2], [[-1, 0]], "REFLECT"), "Paddings must be non-negative"),
    "negative paddings of blocks": (
        lambda: tf.space_to_batch(late(IMAGE), [[-1, 1], [0, 0]], 2),
        "paddings cannot be negative",
    ),
    "negative crops": (lambda: tf.batch_to_space(IMAGE, [[-1, 1], [0, 0]], 2), "crops cannot be negative"),
    "no block shape": (lambda: tf.space_to_batch(IMAGE, [[0, 0], [0, 0]], 0), "block_shape must be positive"),
    "ways to split": (lambda: tf.raw_ops.Split(axis=0, value=[1, 2], num_split=0), "must be at least minimum 1"),
    "invalid strides": (lambda: tf.nn.conv2d(IMAGE, tf.zeros([1, 1, 4, 1]), [1, 0, 1, 1], "SAME"), "strides"),
    "argmax, beyond": (lambda: tf.argmax(tf.zeros([2, 2]), 2), r"Dimension \(2\) must be in the range \[-2, 2\)"),
    "concat, beyond": (lambda: tf.concat([tf.zeros([2, 2])] * 2, -3), "must be at least rank 3 but is rank 2"),
    "sizes": (
        lambda: tf.stack([tf.zeros([2, 3]), tf.zeros([2, 4])]),
        r"Dimension 1 in both shapes must be equal, but are 3 and 4. Shapes are \[2,3\] and \[2,4\]. From merging shape 0",
    ),
    "ranks": (lambda: tf.assign(tf.Variable([0.0]), [[1.0]]), "Shapes must be equal rank, but are 1 and 2"),
    "labels": (
        lambda: tf.nn.softmax_cross_entropy_with_logits(labels=tf.zeros([2, 2]), logits=tf.zeros([2, 3])),
        r"Dimensions must be equal, but are 3 and 2 .* with input shapes: \[2,3\], \[2,2\]",
    ),
    "unsorted segments": (
        lambda: tf.unsorted_segment_sum(tf.zeros([3, 2]), tf.zeros([2], tf.int32), 2),
        "does not start with segment_ids.shape",
    ),
}


@pytest.mark.parametrize("case", BUILDING)
def test_while_building(case: str) -> None:
    build, words = BUILDING[case]
    with pytest.raises(ValueError, match=words):
        build()


RUNNING: dict[str, tuple[Callable[[], Any], str]] = {
    "labels of rank 2": (
        lambda: tf.raw_ops.SparseSoftmaxCrossEntropyWithLogits(
            features=late(np.zeros([2, 3], np.float32)), labels=late([[1, 1]])
        ),
        r"labels must be 1-D, but got shape \[1, 2\]",
    ),
    "logits of rank 1": (
        lambda: tf.raw_ops.SparseSoftmaxCrossEntropyWithLogits(features=late(np.float32([1, 1])), labels=late([1])),
        r"logits must be 2-D, but got shape \[2\]",
    ),
    "too few labels": (
        lambda: tf.raw_ops.SparseSoftmaxCrossEntropyWithLogits(features=late(IMAGE[0, 0]), labels=late([1])),
        r"must have the same first dimension, got logits shape \[4, 4\] and labels shape \[1\]",
    ),
    "negative paddings of blocks": (
        lambda: tf.space_to_batch(IMAGE, late(np.int32([[-1, 1], [0, 0]])), 2),
        "paddings cannot be negative",
    ),
    "negative crops": (
        lambda: tf.batch_to_space(np.ones([4, 2, 2, 1]), late(np.int32([[-1, 1], [0, 0]])), 2),
        "crops cannot be negative",
    ),
    "not invertible": (lambda: tf.matrix_inverse(late(np.ones([2, 2], np.float32))), "Input is not invertible"),
    "segment ids": (
        lambda: tf.segment_sum(late([[1.0], [2.0]]), late([0, 0, 1])),
        "segment_ids should be the same size as dimension 0 of input",
    ),
    "segment out of range": (
        lambda: tf.unsorted_segment_sum(late([1.0, 2.0]), late([0, 7]), 3),
        r"segment_ids\[1\] = 7 is out of range \[0, 3\)",
    ),
    "chosen rows": (
        lambda: tf.sparse_segment_sum(late([[1.0], [2.0]]), late([0, 9]), late([0, 0])),
        r"indices\[1\] == 9 out of range \[0, 2\)",
    ),
    "axis of cumsum": (
        lambda: tf.cumsum(late([1.0, 2.0]), late(np.int32(3))),
        r"Expected scan axis in the range \[-1, 1\), but got 3",
    ),
    "matrix sizes": (
        lambda: tf.matmul(late(np.ones([1, 3], np.float32)), late(np.ones([4, 2], np.float32))),
        r"Matrix size-incompatible: In\[0\]: \[1,3\], In\[1\]: \[4,2\]",
    ),
    "rank": (
        lambda: tf.nn.conv2d(late(np.ones([4, 4], np.float32)), tf.zeros([1, 1, 1, 1]), [1, 1, 1, 1], "SAME"),
        r"input must be 4-dimensional: \[4,4\]",
    ),
    "window": (
        lambda: tf.nn.conv2d(late(IMAGE), late(np.zeros([9, 1, 4, 1], np.float32)), [1, 1, 1, 1], "VALID"),
        "Computed output size would be negative",
    ),
    "broadcast": (lambda: late([[1, 2]]) + late([1, 2, 3]), r"Incompatible shapes: \[1,2\] vs. \[3\]"),
    "broadcast, logic": (lambda: late([True, True]) & late([True] * 3), r"Incompatible shapes: \[2\] vs. \[3\]"),
    "duplicate axes": (
        lambda: tf.reduce_any(late(np.ones([2, 2], np.bool_)), [0, 0]),
        "Invalid reduction arguments: Axes contains duplicate dimension: 0",
    ),
    "negative powers": (lambda: late([5, 2]) ** late([-1, 2]), "Integers to negative integer powers are not allowed"),
    "reshape": (lambda: tf.reshape(tf.zeros([6]), late([4])), "a tensor with 6 values, but the requested shape has 4"),
    "reshape, left over": (
        lambda: tf.reshape(tf.zeros([6]), late([-1, 4])),
        "a tensor with 6 values, but the requested shape requires a multiple of 4",
    ),
    "permutation": (lambda: tf.transpose(tf.zeros([2, 2]), late([0, 0])), "1 is missing from {0,0}"),
    "split": (
        lambda: tf.split(tf.zeros([6]), late(np.int32([2, 3])), num=2)[0],
        "Determined shape must either match input shape along split_dim",
    ),
    "band": (
        lambda: tf.matrix_band_part(tf.zeros([2, 2]), late(np.int64(5)), 0),
        "num_lower must be negative or less or equal to number of rows",
    ),
    "axis of argmax": (
        lambda: tf.argmax(late([[1.0]]), late(np.int32(2))),
        r"Expected dimension in the range \[-2, 2\), but got 2",
    ),
    "lengths": (
        lambda: tf.reverse_sequence(late([[1, 2], [3, 4]]), late([1, 5]), 1, batch_axis=0),
        r"seq_lens\(1\) > input.dims\(1\)",
    ),
    "indices of an update": (lambda: tf.gather(late([1.0, 2.0]), late([5])), r"indices\[0\] = 5 is not in \[0, 2\)"),
    "volumes": (
        lambda: tf.raw_ops.AvgPool3DGrad(
            orig_input_shape=late(np.int32([1, 4, 4, 4, 1])),
            grad=late(np.ones([1, 1, 1, 1, 1], np.float32)),
            ksize=[1, 2, 2, 2, 1],
            strides=[1, 2, 2, 2, 1],
            padding="VALID",
        ),
        r"grad must have shape \[1, 2, 2, 2, 1\]",
    ),
    "bounds of random integers": (
        lambda: tf.random_uniform([3], late(5), 5, tf.int32),
        "Need minval < maxval, got 5 >= 5",
    ),
    "bounds of stateless integers": (
        lambda: tf.random.stateless_uniform([3], [1, 2], 7, late(5), tf.int32),
        "Need minval < maxval, got 7 >= 5",
    ),
    "length of base64": (lambda: tf.decode_base64(late("abcde")), "Base64 string length cannot be 1 modulo 4"),
    "letters of base64": (lambda: tf.decode_base64(late("a$cd")), "Invalid character found in base64"),
    "channels": (
        lambda: tf.nn.fused_batch_norm(late(np.ones([1, 2, 2, 3], np.float32)), late([1.0]), late([0.0]))[0],
        "scale must have the same number of elements as the channels of x",
    ),
}


@pytest.mark.parametrize("case", RUNNING)
def test_when_it_runs(interpreted: tf.Session, case: str) -> None:
    build, words = RUNNING[case]
    node = build()
    with pytest.raises(tf.errors.InvalidArgumentError, match=words):
        interpreted.run(node)


DEPTH_POOLS = {
    "stride": ([1, 1, 1, 2], [1, 1, 1, 1], "depth window to equal the depth stride"),
    "depth": ([1, 1, 1, 3], [1, 1, 1, 3], "depth window to evenly divide the input depth"),
    "both": ([1, 2, 1, 2], [1, 1, 1, 2], "exactly one of pooling across depth or pooling across width/height"),
}


@pytest.mark.parametrize("case", DEPTH_POOLS)
def test_pools_across_the_depth(interpreted: tf.Session, case: str) -> None:
    ksize, strides, words = DEPTH_POOLS[case]
    pooled = tf.nn.max_pool(IMAGE, ksize, strides, "SAME")
    with pytest.raises(tf.errors.UnimplementedError, match=words):
        interpreted.run(pooled)


def test_no_integers_need_no_range(interpreted: tf.Session) -> None:
    empty = [tf.random_uniform([0], 5, 5, tf.int32), tf.random.stateless_uniform([0], [1, 2], 5, 5, tf.int64)]
    assert [v.shape for v in interpreted.run(empty)] == [(0,), (0,)]


@pytest.mark.parametrize("constant", [True, False])
def test_defaults_of_placeholders_are_refused_as_fed_values_are(interpreted: tf.Session, constant: bool) -> None:
    features = tf.ones([2, 3]) if constant else tf.random_uniform([2, 3])
    labels = tf.placeholder_with_default([1], None)
    loss = tf.raw_ops.SparseSoftmaxCrossEntropyWithLogits(
        features=tf.placeholder_with_default(features, None), labels=labels
    ).loss
    assert interpreted.run(loss, {labels: [1, 2]}).shape == (2,)
    for feeds in ({}, {labels: [1]}):
        with pytest.raises(tf.errors.InvalidArgumentError, match="the same first dimension"):
            interpreted.run(loss, feeds)
