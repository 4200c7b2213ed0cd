"""Ranks and sizes that are known only when a graph runs, or only in part: results and static shapes are TensorFlow 2.21's."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from running import run

import headrace as tf

A = np.arange(24, dtype=np.float32).reshape(2, 3, 4)
B = np.arange(12, dtype=np.float32).reshape(4, 3)
IMAGES = np.arange(2 * 6 * 5 * 3, dtype=np.float32).reshape(2, 6, 5, 3)


def late(value: Any, shape: Any = None, dtype: Any = np.float32) -> Any:
    """A tensor whose static shape is only what ``shape`` says."""
    return tf.placeholder_with_default(np.asarray(value, dtype), shape)


def count() -> Any:
    return late(5, [], np.int32)


PAIRS = [[1, 2], [1, 0]]
DOTS: list[tuple[Callable[[], Any], Any, Any]] = [
    (lambda: tf.tensordot(late(A), B, 1), 1, None),
    (lambda: tf.tensordot(A, late(B), 1), 1, None),
    (lambda: tf.tensordot(late(A), late(B), 1), 1, None),
    (lambda: tf.tensordot(late(A), late(B), 0), 0, None),
    (lambda: tf.tensordot(late(A), late(B), PAIRS), PAIRS, None),
    (lambda: tf.tensordot(late(A), B, [[-1], [0]]), 1, None),
    (lambda: tf.tensordot(A, B, tf.constant([[2], [0]])), 1, [2, 3, 3]),
    (lambda: tf.tensordot(A, B, late([[2], [0]], None, np.int32)), 1, None),
    (lambda: tf.tensordot(late(A), late(B), late(PAIRS, None, np.int32)), PAIRS, None),
    (lambda: tf.tensordot(late(A, [None, 3, 4]), late(B, [4, None]), 1), 1, [None, 3, None]),
]


@pytest.mark.parametrize("index", range(len(DOTS)))
def test_tensordot(index: int) -> None:
    build, axes, static = DOTS[index]
    product = build()
    assert (None if product.shape.ndims is None else product.shape.as_list()) == static
    np.testing.assert_allclose(run(product), np.tensordot(A, B, axes))


def test_tensordot_of_unknown_rank_has_gradients() -> None:
    a, b = late(A), late(B)
    gradients = tf.gradients(tf.tensordot(a, b, PAIRS), [a, b])
    expected = tf.gradients(tf.tensordot(x := tf.constant(A), y := tf.constant(B), PAIRS), [x, y])
    for value, other in zip(run(gradients), run(expected), strict=True):
        np.testing.assert_allclose(value, other)


def test_an_image_of_unknown_rank_is_one_image() -> None:
    image = late(IMAGES[0])
    made = [
        tf.image.crop_to_bounding_box(image, 1, 1, 3, 2),
        tf.image.pad_to_bounding_box(image, 1, 1, 9, 9),
        tf.image.resize_image_with_crop_or_pad(image, 4, 8),
    ]
    assert [t.shape.as_list() for t in made] == [[3, 2, None], [9, 9, None], [4, 8, None]]
    cropped, padded, resized = run(made)
    np.testing.assert_array_equal(cropped, IMAGES[0, 1:4, 1:3])
    np.testing.assert_array_equal(padded, np.pad(IMAGES[0], ((1, 2), (1, 3), (0, 0))))
    np.testing.assert_array_equal(resized, np.pad(IMAGES[0, 1:5], ((0, 0), (1, 2), (0, 0))))
    with tf.Session() as session, pytest.raises(tf.errors.InvalidArgumentError):
        session.run(tf.image.pad_to_bounding_box(late(IMAGES), 1, 1, 9, 9))
    with pytest.raises(ValueError, match="rank = None"):
        tf.image.central_crop(image, 0.5)


@pytest.mark.parametrize("images", [IMAGES, IMAGES[0]], ids=["batch", "one"])
def test_images_of_unknown_rank_are_flipped_and_turned(images: Any) -> None:
    rows, columns = images.ndim - 3, images.ndim - 2
    turned = [np.rot90(images, k, (rows, columns)) for k in range(4)]
    expected = [np.flip(images, columns), np.flip(images, rows), np.swapaxes(images, rows, columns), *turned, turned[3]]
    image = late(images)
    made = [
        tf.image.flip_left_right(image), tf.image.flip_up_down(image), tf.image.transpose_image(image),
        *(tf.image.rot90(image, k) for k in range(4)), tf.image.rot90(image, late(3, [], np.int32)),
    ]  # fmt: skip
    for value, wanted in zip(run(made), expected, strict=True):
        np.testing.assert_array_equal(value, wanted)
    grey = run([tf.image.rgb_to_grayscale(image), tf.image.grayscale_to_rgb(late(images[..., :1]))])
    assert [value.shape for value in grey] == [(*images.shape[:-1], 1), images.shape]


STATIC: dict[str, tuple[Callable[[], Any], Any]] = {
    "reshape, packed": (lambda: tf.reshape(tf.zeros([16 * 37 * 5]), tf.stack([16, 37, count()])), [16, 37, 5]),
    "reshape, list": (lambda: tf.reshape(tf.zeros([16 * 37 * 5]), [16, 37, count()]), [16, 37, 5]),
    "reshape, sliced shape": (lambda: tf.reshape(tf.zeros([4]), tf.shape(late(A[:, :2], [2, None, 4]))[:2]), [2, 2]),
    "zeros, strides": (lambda: tf.zeros(tf.shape(late(A, [2, None, 4]))[::2]), [2, 4]),
    "zeros, last": (lambda: tf.zeros(tf.shape(late(A, [2, None, 4]))[-1:]), [4]),
    "zeros, unstacked": (lambda: tf.zeros(tf.stack(tf.unstack(tf.shape(late(B, [4, None]))))), [4, None]),
    "zeros, concat": (lambda: tf.zeros(tf.concat([tf.shape(late(B, [4, None])), [5]], 0)), [4, None, 5]),
    "zeros, cast": (lambda: tf.zeros(tf.cast(tf.shape(late(B, [4, None]), out_type=tf.int64), tf.int32)), [4, None]),
    "tile": (lambda: tf.tile(tf.zeros([2, 3]), tf.stack([4, count()])), [8, None]),
    "fill": (lambda: tf.fill(tf.stack([16, 37, count()]), 1.0), [16, 37, None]),
    "random": (lambda: tf.random_uniform([16, 37, count()]), [16, 37, None]),
    "broadcast": (lambda: tf.broadcast_to(tf.zeros([1, 1]), tf.stack([4, count()])), [4, None]),
    "pad": (lambda: tf.pad(late(B, [4, None]), [[1, 1], [0, count()]]), [6, None]),
    "slice": (lambda: tf.slice(late(B, [4, None]), [1, 0], tf.stack([2, late(3, [], np.int32)])), [2, None]),
    "one hot": (lambda: tf.one_hot([1, 2], count()), [2, None]),
    "pool": (lambda: tf.nn.max_pool(late(IMAGES), [1, 2, 2, 1], [1, 2, 2, 1], "SAME"), [None] * 4),
    "reverse sequence": (
        lambda: tf.reverse_sequence(late(B, [None, 3]), [1, 2, 3, 1], seq_axis=1, batch_axis=0),
        [4, 3],
    ),
    "space to depth": (
        lambda: tf.space_to_depth(late(np.ones([2, 6, 4, 3]), [2, None, 4, None]), 2),
        [2, None, 2, None],
    ),
    "space to batch": (lambda: tf.space_to_batch(late(np.ones([1, 2, 2, 1])), [[0, 0], [0, 0]], 2), [None] * 4),
    "batch to space": (lambda: tf.batch_to_space(late(np.ones([4, 2, 2, 1])), [[0, 0], [0, 1]], 2), [None] * 4),
}


@pytest.mark.parametrize("case", STATIC)
def test_sizes_known_in_part_give_static_shapes(case: str) -> None:
    build, static = STATIC[case]
    tensor = build()
    assert tensor.shape.as_list() == static
    assert tensor.shape.is_compatible_with(run(tensor).shape)


@pytest.mark.parametrize(
    ("build", "value"),
    [
        (lambda: tf.stack([1, 2, 3]), [1, 2, 3]),
        (lambda: tf.stack([1, count()]), None),
        (lambda: tf.shape(tf.zeros([2, 3])), [2, 3]),
        (lambda: tf.shape(late(B, [4, None])), None),
        (lambda: tf.slice(tf.shape(tf.zeros([2, 3])), [0], [1]), [2]),
        (lambda: tf.size(tf.zeros([2, 3])), 6),
        (lambda: tf.rank(tf.zeros([2, 3])), 2),
        (lambda: tf.concat([[1], [2, 3]], 0), [1, 2, 3]),
        (lambda: tf.fill([2], 7), [7, 7]),
        (lambda: tf.unstack(tf.constant([1, 2]))[1], 2),
    ],
)
def test_constant_values(build: Callable[[], Any], value: Any) -> None:
    constant = tf.contrib.util.constant_value(build())
    assert (None if constant is None else np.asarray(constant).tolist()) == value
