"""JPEG files that are decoded without Pillow's reader, by simplejpeg or by Pillow's decoder, give what that reader gives."""

import io
import itertools
import sys
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from running import run

import headrace as tf
from headrace.ops.shared import jpeg
from headrace.ops.shared.jpeg import jpeg_size, rgb_pixels

Image = pytest.importorskip("PIL.Image")

PIXELS = np.random.RandomState(0).randint(0, 256, (9, 17, 3)).astype(np.uint8)


def _file(mode: str = "RGB", **settings: Any) -> bytes:
    data = io.BytesIO()
    Image.fromarray(PIXELS).convert(mode).save(data, "JPEG", **settings)
    return data.getvalue()


FILES = {
    "plain": _file(),
    "progressive": _file(progressive=True),
    "all colours": _file(subsampling=0),
    "as RGB": _file(keep_rgb=True),
    "with a comment": _file(comment=b"\xff\xc0" * 20),
    "with a profile": _file(icc_profile=b"\0" * 70_000),
    "bytes behind it": _file() + b"more",
}
OTHERS = {
    "grey": _file("L"),
    "CMYK": _file("CMYK"),
    "padded": _file()[:2] + b"\xff" + _file()[2:],
}


@pytest.fixture(params=["simplejpeg", "Pillow"], autouse=True)
def decoder(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """Each test runs with simplejpeg and as if it were not installed."""
    if request.param == "simplejpeg":
        pytest.importorskip("simplejpeg")
    else:
        monkeypatch.setitem(sys.modules, "simplejpeg", None)
    jpeg._decoder.cache_clear()
    yield request.param
    jpeg._decoder.cache_clear()


@pytest.mark.parametrize("name", [*FILES, *OTHERS])
@pytest.mark.parametrize("channels", [0, 3])
def test_pixels_are_those_of_the_reader(name: str, channels: int) -> None:
    data = {**FILES, **OTHERS}[name]
    image = Image.open(io.BytesIO(data))
    wanted = np.asarray(image if image.mode == "L" and not channels else image.convert("RGB")).reshape(9, 17, -1)
    assert run(tf.image.decode_jpeg(data, channels=channels)).tolist() == wanted.tolist()
    window = run(tf.image.decode_and_crop_jpeg(data, [1, 2, 5, 7], channels=channels))
    assert window.tolist() == wanted[1:6, 2:9].tolist()


def test_what_the_header_says() -> None:
    assert {jpeg_size(data) for data in FILES.values()} == {(9, 17, 3)}
    assert [jpeg_size(data) for data in OTHERS.values()] == [(9, 17, 1), (9, 17, 4), None]
    size = FILES["plain"].index(b"\xff\xc0")
    assert [jpeg_size(FILES["plain"][:end]) for end in (0, 2, size, size + 9)] == [None] * 4


def test_plain_files_are_not_given_to_the_reader(monkeypatch: pytest.MonkeyPatch, decoder: str) -> None:
    monkeypatch.setattr(Image, "open", None)
    if decoder == "simplejpeg":
        monkeypatch.setattr(Image, "frombytes", None)
    for data in FILES.values():
        assert run(tf.image.decode_jpeg(data)).shape == (9, 17, 3)


def test_both_decoders_give_the_same_pixels(decoder: str) -> None:
    draw = np.random.RandomState(1)
    for rows, columns, subsampling in itertools.product((1, 8, 37), (1, 16, 45), (0, 1, 2)):
        smooth = Image.fromarray(draw.randint(0, 256, (5, 4, 3)).astype(np.uint8)).resize((columns, rows))
        data = io.BytesIO()
        smooth.save(data, "JPEG", quality=int(draw.randint(30, 100)), subsampling=subsampling)
        pixels = rgb_pixels(data.getvalue())
        if decoder == "Pillow":
            assert pixels is None
        else:
            np.testing.assert_array_equal(pixels, np.asarray(Image.open(data)))


def test_what_simplejpeg_warns_of_is_decoded_by_pillow() -> None:
    data = FILES["plain"].replace(b"JFIF\0\1", b"JFIF\0\5")  # a version that libjpeg does not know
    assert data != FILES["plain"]
    assert rgb_pixels(data) is None
    assert run(tf.image.decode_jpeg(data)).tolist() == np.asarray(Image.open(io.BytesIO(data))).tolist()


def test_a_window_keeps_no_larger_image_alive() -> None:
    with tf.Session() as sess:
        rows = sess.run(tf.image.decode_and_crop_jpeg(FILES["plain"], [2, 0, 3, 17]))
    assert rows.shape == (3, 17, 3) and (rows.base is None or rows.base.nbytes == rows.nbytes)


def test_a_truncated_file() -> None:
    data = FILES["plain"][:-40]
    with pytest.raises(tf.errors.InvalidArgumentError, match="invalid JPEG data: image file is truncated"):
        run(tf.image.decode_jpeg(data))
    rest = run(tf.image.decode_jpeg(data, try_recover_truncated=True))
    assert rest[:4, :14].tolist() == run(tf.image.decode_jpeg(FILES["plain"]))[:4, :14].tolist()


def test_more_pixels_than_pillow_allows(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Image, "MAX_IMAGE_PIXELS", 20)
    with pytest.raises(tf.errors.InvalidArgumentError, match="exceeds limit of 40 pixels"):
        run(tf.image.decode_jpeg(FILES["plain"]))
