"""PNG files with several channels of 16 bits.  Sums of pixels, and the file, are TensorFlow 2.21's."""

import base64
import zlib
from typing import Any

import numpy as np
import pytest

import headrace as tf
from headrace.ops.shared.wide_png import _chunk, read_wide, write_wide

# [4, 6, 3] written by TensorFlow: lines with filters 1 and 4
FILTERED = base64.b64decode(
    b"iVBORw0KGgoAAAANSUhEUgAAAAYAAAAEEAIAAABy9gVXAAAAjUlEQVQImS3NsQkCMRiG4e/Nn9M7TSloKUg6V8ksVzqAA7iAA9ikszmwFCwORP"
    b"BKwdLWVgJi47PAg2Sv8VWRqKhWLS0dHR2GYSQSSdr5bb3R0R/qPatq3kx5VLfm7J6j++Ti1/UyzLzLbnBFUR8VZQ0UMp0KhvElM7jirbdgSW8F"
    b"RfUKnOgJpH+3cIH0Ax0mIqah8fZyAAAAAElFTkSuQmCC"
)


def picture(channels: int, rows: int = 5, columns: int = 4) -> Any:
    return np.random.RandomState(0).randint(0, 65536, [rows, columns, channels]).astype(np.uint16)


@pytest.mark.parametrize(
    ("channels", "sums"),
    [(2, (559588, 1678764, 2291453)), (3, (625070, 1869204, 3179904)), (4, (623025, 1915966, 2604350))],
)
def test_pixels_survive_and_channels_are_converted(session: tf.Session, channels: int, sums: tuple[int, ...]) -> None:
    image = picture(channels)
    contents = tf.image.encode_png(image)
    wide, narrow = session.run([tf.image.decode_png(contents, dtype=tf.uint16), tf.image.decode_png(contents)])
    np.testing.assert_array_equal(wide, image)
    np.testing.assert_array_equal(narrow, image >> 8)
    np.testing.assert_array_equal(session.run(tf.image.decode_jpeg(contents)), image >> 8)
    as_float = session.run(tf.image.decode_image(contents, dtype=tf.float32))
    np.testing.assert_allclose(as_float, image / np.float32(65535), rtol=1e-6)
    converted = [tf.image.decode_png(contents, channels=c, dtype=tf.uint16) for c in (1, 3, 4)]
    assert tuple(int(array.sum(dtype=np.int64)) for array in session.run(converted)) == sums


def test_a_file_of_tensorflow_with_filtered_lines() -> None:
    y, x = np.mgrid[0:4, 0:6]
    expected = np.stack([(x * x * 37 + y * y * (11 + k) * 13 + k * 999) % 65536 for k in range(3)], -1)
    np.testing.assert_array_equal(read_wide(FILTERED), expected)


@pytest.mark.parametrize("number", range(5))
def test_each_filter_is_undone(number: int) -> None:
    image = picture(3)
    lines = image.astype(">u2").view(np.uint8).reshape(5, 4, 6).astype(int)
    padded = np.pad(lines, ((1, 0), (1, 0), (0, 0)))
    left, above, corner = padded[1:, :-1], padded[:-1, 1:], padded[:-1, :-1]
    guess = left + above - corner
    nearest = np.choose(
        np.argmin([abs(guess - left), abs(guess - above), abs(guess - corner)], 0), (left, above, corner)
    )
    filtered = lines - (0, left, above, (left + above) // 2, nearest)[number]
    raw = b"".join(bytes([number]) + (line & 255).astype(np.uint8).tobytes() for line in filtered)
    np.testing.assert_array_equal(read_wide(with_pixels(write_wide(image, -1), raw)), image)


def with_pixels(data: bytes, raw: bytes, header: bytes | None = None, extra: bytes = b"") -> bytes:
    return data[:8] + _chunk(b"IHDR", header or data[16:29]) + extra + _chunk(b"IDAT", zlib.compress(raw)) + data[-12:]


def test_an_interlaced_file() -> None:
    image = picture(4, 9, 10)
    data = write_wide(image, 0)
    steps = ((0, 0, 8, 8), (0, 4, 8, 8), (4, 0, 8, 4), (0, 2, 4, 4), (2, 0, 4, 2), (0, 1, 2, 2), (1, 0, 2, 1))
    raw = b"".join(
        b"\0" + line.astype(">u2").tobytes()
        for top, left, y, x in steps
        for line in image[top::y, left::x]
        if line.size
    )
    np.testing.assert_array_equal(read_wide(with_pixels(data, raw, data[16:28] + b"\1")), image)


def test_a_transparent_colour_becomes_an_alpha_channel() -> None:
    image = picture(3)
    data = write_wide(image, 0)
    raw = b"".join(b"\0" + line.astype(">u2").tobytes() for line in image)
    made = read_wide(with_pixels(data, raw, extra=_chunk(b"tRNS", image[2, 3].astype(">u2").tobytes())))
    np.testing.assert_array_equal(made[..., :3], image)
    assert made[2, 3, 3] == 0 and (made[..., 3] == 65535).sum() == 19


def test_damaged_files_are_refused() -> None:
    data = write_wide(picture(3), -1)
    raw = zlib.decompress(data[41:-16])
    for damaged, words in (
        (data[:60] + bytes([data[60] ^ 1]) + data[61:], "the chunk b'IDAT' is damaged"),
        (with_pixels(data, raw[:-1]), "1 bytes of pixels are missing"),
        (with_pixels(data, b"\7" + raw[1:]), "there is no filter 7"),
        (data[:41], "incomplete"),
    ):
        with tf.Session() as session, pytest.raises(tf.errors.InvalidArgumentError, match=f"invalid PNG data.*{words}"):
            session.run(tf.image.decode_png(tf.constant(damaged)))
