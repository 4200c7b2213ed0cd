"""Summaries that are named after their tensors."""

import pytest

import headrace as tf

summaries = tf.contrib.slim.summaries


def _tags(*ops: tf.Tensor) -> list[str]:
    results = tf.Session().run(list(ops))
    return [tf.Summary.FromString(result).value[0].tag for result in results]


def test_names() -> None:
    x = tf.constant(2.0, name="x")
    v = tf.constant([0.0, 1.0], name="layer/v")
    images = tf.zeros([1, 2, 2, 1], name="images")
    ops = [
        summaries.add_scalar_summary(x),
        summaries.add_scalar_summary(x, "loss", prefix="train"),
        *summaries.add_scalar_summaries([x], prefix="all"),
        *summaries.add_histogram_summaries([v], prefix="h"),
        *summaries.add_image_summaries([images], prefix="i"),
        *summaries.add_zero_fraction_summaries([v]),
    ]
    assert _tags(*ops) == [
        "x_1", "train/loss", "all/x", "h/layer/v", "i/images/image/0", "layer/v/Fraction_of_Zero_Values",
    ]  # fmt: skip
    assert tf.get_collection(tf.GraphKeys.SUMMARIES) == ops


def test_printing(capfd: pytest.CaptureFixture[str]) -> None:
    scalar = summaries.add_scalar_summary(tf.constant(2.5), "loss", print_summary=True)
    image = summaries.add_image_summary(tf.ones([1, 1, 1, 1]), "one", print_summary=True)
    zeros = summaries.add_zero_fraction_summary(tf.zeros([2]), "zeros", print_summary=True)
    assert tf.get_collection(tf.GraphKeys.SUMMARIES) == [scalar, image, zeros]
    assert _tags(scalar, image, zeros) == ["loss", "one/image/0", "zeros/Fraction_of_Zero_Values"]
    assert "loss[2.5]" in capfd.readouterr().err
