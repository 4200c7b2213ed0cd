"""contrib.resampler beside its formula in numpy; gradients by finite differences; edges; compiled."""

from typing import Any

import numpy as np
import pytest

import headrace as tf

resampler = tf.contrib.resampler.resampler
DRAW = np.random.RandomState(7)
DATA = DRAW.randn(2, 3, 4, 2)
WARP = DRAW.uniform(-1.5, 4.5, [2, 5, 3, 2])


def _formula(data: Any, warp: Any) -> Any:
    """Bilinear weights of every pixel, one place at a time; the picture has a border of zeros one pixel wide."""
    batch, height, width, channels = data.shape
    places = warp.reshape(batch, -1, 2)
    out = np.zeros([*places.shape[:2], channels])
    for b in range(batch):
        for i, (x, y) in enumerate(places[b]):
            weights_x = np.maximum(0, 1 - np.abs(np.arange(width) - x))
            weights_y = np.maximum(0, 1 - np.abs(np.arange(height) - y))
            out[b, i] = np.einsum("h,w,hwc->c", weights_y, weights_x, data[b])
    return out.reshape(*warp.shape[:-1], channels)


@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64])
def test_values_are_those_of_the_formula(dtype: Any) -> None:
    data, warp = DATA.astype(dtype), WARP.astype(dtype)
    sampled = resampler(data, warp)
    assert sampled.op.type == "Resampler" and sampled.name == "resampler/Resampler:0"
    assert sampled.shape.as_list() == [2, 5, 3, 2]
    with tf.Session() as session:
        got = session.run(sampled)
    assert got.dtype == dtype
    expected = _formula(data.astype(np.float64), warp.astype(np.float64))
    np.testing.assert_allclose(
        got, expected, rtol=2e-2 if dtype == np.float16 else 1e-4, atol=2e-2 if dtype == np.float16 else 1e-5
    )


def test_edges_and_what_is_no_number() -> None:
    """From the edge the values fall to 0 over one pixel; NaN and infinity are places outside."""
    data = np.float32([[[[8.0]]]])
    places = [
        (0, 0),
        (-0.5, 0),
        (-1, 0),
        (0.75, 0),
        (1, 0),
        (0.5, -0.5),
        (np.nan, 0),
        (0, np.nan),
        (np.inf, 0),
        (0, -np.inf),
    ]
    warp = tf.constant(np.float32([places]))
    sampled = resampler(data, warp)
    slope = tf.gradients(sampled, warp)[0]
    with tf.Session() as session:
        got, slopes = session.run([sampled, slope])
    assert got.ravel().tolist() == [8, 4, 0, 2, 0, 2, 0, 0, 0, 0]
    assert (slopes[0, 6:] == 0).all() and (slopes[0, [2, 4]] == 0).all()
    assert slopes[0, [1, 3, 5]].tolist() == [[8, -4], [-8, -2], [-4, 4]]


def test_gradients_are_those_of_finite_differences() -> None:
    data, warp = tf.constant(DATA), tf.constant(WARP[:, :2])
    factor = DRAW.randn(2, 2, 3, 2)
    loss = tf.reduce_sum(tf.sin(resampler(data, warp)) * factor)
    to_data, to_warp = tf.gradients(loss, [data, warp])
    with tf.Session() as session:
        slopes = session.run([to_data, to_warp])

        def value(d: Any, w: Any) -> Any:
            return (np.sin(_formula(d, w)) * factor).sum()

        for k, (start, slope) in enumerate(zip((DATA, WARP[:, :2]), slopes, strict=True)):
            for place in np.ndindex(start.shape):
                near = []
                for step in (1e-6, -1e-6):
                    moved = [DATA.copy(), WARP[:, :2].copy()]
                    moved[k][place] += step
                    near.append(value(*moved))
                np.testing.assert_allclose(slope[place], (near[0] - near[1]) / 2e-6, rtol=1e-4, atol=1e-7)


def test_one_place_for_each_picture_and_no_pictures() -> None:
    x, warp = tf.placeholder(tf.float32, [None, 3, 4, 2]), tf.placeholder(tf.float32, [None, 2])
    sampled = resampler(x, warp)
    assert sampled.shape.as_list() == [None, 2]
    gradients = tf.gradients(sampled, [x, warp])
    with tf.Session() as session:
        got = session.run(sampled, {x: DATA, warp: WARP[:, 0, 0]})
        np.testing.assert_allclose(got, _formula(DATA, WARP[:, 0, 0]), rtol=1e-4, atol=1e-5)
        none = session.run([sampled, *gradients], {x: DATA[:0], warp: WARP[:0, 0, 0]})
        assert [v.shape for v in none] == [(0, 2), (0, 3, 4, 2), (0, 2)]
        with pytest.raises(tf.errors.InvalidArgumentError, match="same batch size"):
            session.run(sampled, {x: DATA, warp: WARP[:1, 0, 0]})


def test_in_a_loop() -> None:
    """Three places one after the other, each where the picture before says; the gradient goes through all."""
    data, start = tf.constant(DATA), tf.constant(WARP[:, :2, 0] * 0.5)
    looped = tf.while_loop(lambda i, _: i < 3, lambda i, w: (i + 1, resampler(data, w)), (0, start))[1]
    written = start
    for _ in range(3):
        written = resampler(data, written)
    with tf.Session() as session:
        one, other = session.run([[end, *tf.gradients(end, [data, start])] for end in (looped, written)])
    for a, b in zip(one, other, strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-9)


def test_compiled() -> None:
    warp = tf.placeholder(tf.float32, [2, 3, 2])
    doubled = tf.tanh(resampler(DATA.astype(np.float32), warp * 0.5)) * 2.0
    with tf.Session(config=tf.ConfigProto(compile="always")) as session:
        got = session.run(doubled, {warp: WARP[:, 0]})
        assert "compiled (1 region)" in str(session.explain(doubled, {warp: WARP[:, 0]}))
    np.testing.assert_allclose(got, 2 * np.tanh(_formula(DATA, WARP[:, 0] * 0.5)), rtol=1e-4, atol=1e-5)


def test_what_is_refused() -> None:
    for data, warp, message in (
        (DATA[0], WARP, r"data must be \[batch, height, width, channels\], got shape \(3, 4, 2\)"),
        (DATA, WARP[0, 0, 0], r"warp must be \[batch, \.\.\., 2\], got shape \(2,\)"),
        (DATA, WARP[..., :1], "the last dimension of warp must be 2, for x and y"),
        (DATA, WARP[:1], "data and warp must have the same batch size"),
    ):
        with pytest.raises(ValueError, match=message):
            resampler(data, warp)
    with pytest.raises(TypeError):
        resampler(DATA.astype(np.int32), WARP.astype(np.int32))
