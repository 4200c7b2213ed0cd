"""tf.image against the results real TensorFlow gave (tests/golden/make_cases.py)."""

import functools
from pathlib import Path

import numpy as np
import pytest
from golden.image_cases import CASES

import headrace as tf

GOLDEN = Path(__file__).parents[2] / "golden" / "image.npz"
LOOSE = {"resize_bicubic": 2e-3, "quality": 1e-3}
NEEDS_PILLOW = {"png"}


@functools.cache
def golden() -> dict[str, np.ndarray]:
    with np.load(GOLDEN) as file:
        return {name: file[name] for name in file.files}


def expected(name: str) -> list[np.ndarray]:
    found = golden()
    return [found[f"{name}|{i}"] for i in range(sum(key.rpartition("|")[0] == name for key in found))]


@pytest.mark.parametrize("name", sorted(CASES))
def test_same_as_tensorflow(session: tf.Session, name: str) -> None:
    if name in NEEDS_PILLOW:
        pytest.importorskip("PIL")
    tensors = CASES[name](tf)
    found = session.run(tensors)
    wanted = expected(name)
    assert len(found) == len(wanted)
    tolerance = next((t for start, t in LOOSE.items() if name.startswith(start)), 2e-5)
    for i, (tensor, a, b) in enumerate(zip(tensors, found, wanted, strict=True)):
        assert a.shape == b.shape, f"output {i}"
        assert a.dtype == b.dtype, f"output {i}"
        assert tensor.shape.is_compatible_with(b.shape), f"output {i}"
        if a.dtype.kind in "iub":
            assert np.abs(a.astype(int) - b.astype(int)).max(initial=0) == 0, f"output {i}"
        else:
            np.testing.assert_allclose(a, b, rtol=2e-4, atol=tolerance, err_msg=f"output {i}")


def _contents(name: str) -> bytes:
    return golden()[f"file|{name}"].tobytes()


READS = {
    "jpeg": (lambda: tf.image.decode_jpeg(_contents("jpeg")), 0),
    "jpeg_fast": (lambda: tf.image.decode_jpeg(_contents("jpeg")), 6),  # see docs/differences.md
    "jpeg_grey": (lambda: tf.image.decode_jpeg(_contents("jpeg"), channels=1), 0),
    "jpeg_half": (lambda: tf.image.decode_jpeg(_contents("jpeg"), ratio=2), 0),
    "jpeg_window": (lambda: tf.image.decode_and_crop_jpeg(_contents("jpeg"), [2, 3, 5, 6]), 0),
    "jpeg_shape": (lambda: tf.image.extract_jpeg_shape(_contents("jpeg")), 0),
    "grey_jpeg": (lambda: tf.image.decode_jpeg(_contents("grey_jpeg")), 0),
    "png": (lambda: tf.image.decode_png(_contents("png")), 0),
    "png_grey": (lambda: tf.image.decode_png(_contents("png"), channels=1), 1),
}


@pytest.mark.parametrize("name", sorted(READS))
def test_reads_files_as_tensorflow_does(session: tf.Session, name: str) -> None:
    pytest.importorskip("PIL")
    read, tolerance = READS[name]
    found = session.run(read())
    wanted = golden()[f"pixels|{name}"]
    assert (found.shape, found.dtype) == (wanted.shape, wanted.dtype)
    assert np.abs(found.astype(int) - wanted.astype(int)).max() <= tolerance
