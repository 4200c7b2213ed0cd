"""JPEG files that are decoded without Pillow's reader give what that reader gives."""

import io
from typing import Any

import numpy as np
import pytest
from running import run

import headrace as tf
from headrace.ops.shared.jpeg import jpeg_size

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


def test_plain_files_are_not_given_to_the_reader(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Image, "open", None)
    for data in FILES.values():
        assert run(tf.image.decode_jpeg(data)).shape == (9, 17, 3)


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
