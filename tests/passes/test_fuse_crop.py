"""Random windows as one node: the same windows, the same errors, and left alone where somebody looks inside."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from passes.steps import piped

import headrace as tf

IMAGE = np.arange(9 * 7 * 3, dtype=np.uint8).reshape(9, 7, 3)


def types(fetches: list[Any], feeds: list[Any] = []) -> list[str]:  # noqa: B006 - it is not changed
    return [node.type for node in piped(fetches, feeds, []).nodes]


def windows(off: str, size: list[int], monkeypatch: pytest.MonkeyPatch, seed: int = 3, count: int = 20) -> list[Any]:
    monkeypatch.setenv("HEADRACE_PASSES_OFF", off)
    with tf.Graph().as_default():
        x = tf.placeholder(tf.uint8, [None, None, 3])
        y = tf.random_crop(x, size, seed=seed)
        with tf.Session() as session:
            return [session.run(y, {x: IMAGE}) for _ in range(count)]


@pytest.mark.parametrize("size", [[4, 5, 3], [9, 7, 3], [9, 1, 1], [0, 7, 2]])
def test_the_same_windows(size: list[int], monkeypatch: pytest.MonkeyPatch) -> None:
    together, apart = (windows(off, size, monkeypatch) for off in ("", "fuse_crop"))
    np.testing.assert_array_equal(together, apart)


def test_it_is_one_node() -> None:
    x = tf.placeholder(tf.float32, [None, None, 3])
    found = types([tf.random_crop(x, [4, 4, 3])], [x])
    assert "_RandomCrop" in found
    assert not {"Assert", "Slice", "FloorMod", "RandomUniformInt", "Shape"} & set(found)


def test_a_shape_that_others_use_stays() -> None:
    x = tf.placeholder(tf.float32, [None, None, 3])
    found = types([tf.random_crop(x, [4, 4, 3]), tf.shape(x)], [x])
    assert "_RandomCrop" in found and "Shape" in found


def test_the_generator_is_that_of_the_random_node(monkeypatch: pytest.MonkeyPatch) -> None:
    """A step that fetches the place too is not fused; both kinds of step draw from one stream."""
    x = tf.placeholder(tf.uint8, [None, None, 3])
    y = tf.random_crop(x, [4, 5, 3], seed=3)
    place = tf.get_default_graph().get_tensor_by_name("random_crop/mod:0")
    assert "_RandomCrop" not in types([y, place], [x])
    with tf.Session() as session:
        mixed = [session.run([y, place] if i % 2 else [y], {x: IMAGE})[0] for i in range(20)]
    np.testing.assert_array_equal(mixed, windows("fuse_crop", [4, 5, 3], monkeypatch))


def test_an_image_that_is_too_small_is_an_error_of_the_assertion(monkeypatch: pytest.MonkeyPatch) -> None:
    x = tf.placeholder(tf.uint8, [None, None, 3])
    y = tf.random_crop(x, [4, 8, 3])
    said = []
    for off in ("", "fuse_crop"):
        monkeypatch.setenv("HEADRACE_PASSES_OFF", off)
        with tf.Session() as session, pytest.raises(tf.errors.InvalidArgumentError) as caught:
            session.run(y, {x: IMAGE})
        assert caught.value.op is not None and caught.value.op.name == "random_crop/Assert/Assert"
        said.append(str(caught.value).partition("\n")[0])
    assert said[0] == said[1] == "assertion failed: [Need value.shape >= size, got ] [9 7 3] [4 8 3]"


def test_what_waits_for_the_assertion_waits_for_the_window() -> None:
    x = tf.placeholder(tf.uint8, [None, None, 3])
    y = tf.random_crop(x, [4, 8, 3])
    v = tf.Variable(0)
    with tf.control_dependencies([tf.get_default_graph().get_operation_by_name("random_crop/Assert/Assert")]):
        count = v.assign_add(1)
    with tf.Session() as session:
        session.run(v.initializer)
        with pytest.raises(tf.errors.InvalidArgumentError):
            session.run([y, count], {x: IMAGE})
        assert session.run(v) == 0


def test_sizes_that_are_not_known_are_left_alone() -> None:
    x, size = tf.placeholder(tf.uint8, [None, None, 3]), tf.placeholder(tf.int32, [3])
    assert "_RandomCrop" not in types([tf.random_crop(x, size)], [x, size])
    unknown = tf.placeholder(tf.uint8)
    assert "_RandomCrop" not in types([tf.random_crop(unknown, [2, 2, 2])], [unknown])
    assert "_RandomCrop" not in types([tf.random_crop(x, [-1, 2, 2])], [x])


def test_in_a_dataset_and_in_a_loop(monkeypatch: pytest.MonkeyPatch) -> None:
    def run() -> Any:
        with tf.Graph().as_default():
            tf.set_random_seed(5)
            images = tf.data.Dataset.from_tensors(IMAGE).repeat(6).map(lambda x: tf.random_crop(x, [3, 3, 3]))
            first = images.make_one_shot_iterator().get_next()
            looped = tf.map_fn(lambda x: tf.random_crop(x, [3, 3, 3]), np.stack([IMAGE] * 4))
            with tf.Session() as session:
                return [session.run(first) for _ in range(6)], session.run(looped)

    for ours, plain in zip(run(), (monkeypatch.setenv("HEADRACE_PASSES_OFF", "fuse_crop"), run())[1], strict=True):
        np.testing.assert_array_equal(ours, plain)


def test_a_gradient_goes_into_the_window() -> None:
    x = tf.placeholder(tf.float32, [9, 7, 3])
    y = tf.random_crop(x, [4, 5, 3], seed=1)
    (gradient,) = tf.gradients(tf.reduce_sum(2.0 * y), x)
    with tf.Session() as session:
        window, slope = session.run([y, gradient], {x: IMAGE})
    assert slope.sum() == 2 * window.size
    rows, columns = (np.flatnonzero(slope.sum(axes)) for axes in ((1, 2), (0, 2)))
    np.testing.assert_array_equal(window, IMAGE[rows][:, columns])
