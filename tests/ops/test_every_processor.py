"""Results on which libraries and processors disagree: empty transforms, NaN in matrices and sound, sizes below zero."""

import numpy as np
import pytest
from running import run

import headrace as tf
from headrace.ops.shared.wav import wav_bytes

NAN = float("nan")


@pytest.mark.parametrize("shape", [(0, 4, 4, 4), (2, 0, 4, 4, 4)])
def test_transforms_of_no_rows(shape):
    """MKL refuses them."""
    sound, spectrum = np.zeros(shape, np.float32), np.zeros(shape, np.complex64)
    for rank, forward, back in (
        (1, tf.spectral.rfft, tf.spectral.irfft), (2, tf.spectral.rfft2d, tf.spectral.irfft2d),
        (3, tf.spectral.rfft3d, tf.spectral.irfft3d),
    ):  # fmt: skip
        length = [6] * rank
        made, returned = run([forward(sound, length), back(spectrum, length)])
        assert made.shape == (*shape[:-rank], *length[1:], 4) and made.dtype == np.complex64
        assert returned.shape == (*shape[:-rank], *length) and returned.dtype == np.float32


def test_the_gradient_of_a_transform_of_no_rows():
    x = tf.placeholder(tf.float32, [None, 4])
    slope = tf.gradients(tf.abs(tf.spectral.rfft(x)), x)[0]
    assert run(slope, {x: np.zeros((0, 4))}).shape == (0, 4)


def test_a_spectrogram_of_no_channels():
    spectrogram = tf.raw_ops.AudioSpectrogram(input=np.zeros((9, 0), np.float32), window_size=4, stride=2)
    assert run(spectrogram).shape == (0, 3, 3)


def test_matrices_that_are_no_numbers():
    """TensorFlow gives NaN for them; those beside them in a batch are decomposed, and singular ones are refused."""
    good = np.array([[4.0, 2.0], [2.0, 5.0]])
    bad = np.array([[4.0, NAN], [NAN, 5.0]])
    above = np.array([[4.0, NAN], [2.0, 5.0]])  # what lies above the diagonal is not read
    factors = run(tf.cholesky(np.stack([good, bad, above])))
    np.testing.assert_allclose(factors[0], [[2, 0], [1, 2]])
    np.testing.assert_allclose(factors[1], [[NAN, 0], [NAN, NAN]])
    np.testing.assert_allclose(factors[2], [[2, 0], [1, 2]])
    with pytest.raises(tf.errors.InvalidArgumentError, match="Cholesky decomposition was not successful"):
        run(tf.cholesky([[-1.0]]))
    diagonals = np.array([[1.0, 1.0, 0.0], [1.0, 2.0, 2.0], [0.0, 1.0, 1.0]])
    solved = run(tf.linalg.tridiagonal_solve(np.stack([diagonals, diagonals * NAN]), np.ones((2, 3)) * [2, 4, 3]))
    np.testing.assert_allclose(solved, [[1, 1, 1], [NAN] * 3])
    with pytest.raises(tf.errors.InvalidArgumentError, match="not invertible"):
        run(tf.linalg.tridiagonal_solve(diagonals * 0, [1.0, 2.0, 3.0]))


def test_sizes_below_zero():
    sizes = tf.placeholder(tf.int32, [4])
    slope = tf.nn.conv2d_backprop_filter(
        np.ones((1, 4, 4, 2), np.float32), sizes, np.ones((1, 3, 3, 3), np.float32), [1, 1, 1, 1], "VALID"
    )
    for given in ([2, 2, 2, -1], [-2, 2, 2, 3], [2, 2, -2, 3]):
        with pytest.raises(tf.errors.InvalidArgumentError, match="filter_sizes"):
            run(slope, {sizes: given})


def test_sound_that_is_no_number_is_silence():
    body = np.frombuffer(wav_bytes(np.array([[NAN, np.inf, -np.inf, 0.5]], np.float32).T, 8000)[-8:], "<i2")
    assert body.tolist() == [0, 32767, -32768, 16384]


def test_casts_of_what_an_integer_cannot_hold():
    """Pictures, boxes, glimpses and quantities made of them: the same everywhere, and no error."""
    image = np.arange(16, dtype=np.float32).reshape(1, 4, 4, 1)
    for wrong in (NAN, np.inf, -np.inf, 1e30):
        box = np.array([[0, 0, wrong, wrong]], np.float32)
        run(tf.image.draw_bounding_boxes(image, box[None]))
        assert np.isfinite(run(tf.image.crop_and_resize(image, box, [0], [2, 2]))).all()
        run(tf.image.extract_glimpse(image, [2, 2], [[wrong, wrong]]))
        counts = run(tf.histogram_fixed_width([wrong, 0.5], [0.0, 1.0], nbins=2))
        assert counts.sum() == 2
    moved = tf.contrib.image.transform(image.astype(np.uint8), [1, 0, NAN, 0, 1, 0, 0, 0], "BILINEAR")
    assert run(moved).tolist() == np.zeros((1, 4, 4, 1)).tolist()
    quantized = tf.quantize([NAN, 1e30, -1e30, 0.0], -1.0, 1.0, tf.qint32, mode="SCALED")[0]
    assert run(quantized).tolist() == [-(2**31), 2**31 - 1, -(2**31), 0]
