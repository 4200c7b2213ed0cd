"""Files that ask for more than they hold, or than anybody wants: refused by what their headers say, before memory is taken."""

import json
import re
import struct
import zlib
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import headrace as tf
from benchmarks import _hostile_files as hostile
from headrace.core import dtypes, errors, file_limits, tensor_proto, wire
from headrace.core.checksum import crc32c, masked, masked_crc
from headrace.core.record import frame, read_records
from headrace.resources.file.bundle.entry import Entry, Header
from headrace.resources.file.bundle.extents import slice_key
from headrace.resources.file.bundle.table import table_bytes
from headrace.resources.file.safetensors_file import SafetensorsFile

MB = 1 << 20
MOST_GROWTH = 64 * MB  # that a refusal may take: nothing here is as large, and most would take gigabytes


@pytest.fixture
def little_memory() -> Iterator[None]:
    """Fails a test that has taken much memory at any moment."""
    try:
        hostile._peak()
    except OSError:
        pytest.skip("this system does not say how much memory a process has had")
    before = hostile._now()
    yield
    assert hostile._peak() - before < MOST_GROWTH


def decode(make: Callable[[Any], Any], data: bytes) -> Any:
    with tf.Session(config=tf.ConfigProto(compile="off")) as session:
        contents = tf.placeholder(tf.string, [])
        return session.run(make(contents), {contents: data})


# ---- images


def png(rows: int, columns: int, depth: int, colour_type: int, raw: bytes) -> bytes:
    header = struct.pack(">IIBBBBB", columns, rows, depth, colour_type, 0, 0, 0)
    data = b"\x89PNG\r\n\x1a\n"
    for name, payload in ((b"IHDR", header), (b"IDAT", zlib.compress(raw, 1)), (b"IEND", b"")):
        data += struct.pack(">I", len(payload)) + name + payload + struct.pack(">I", zlib.crc32(name + payload))
    return data


def test_a_png_of_one_pixel_unpacks_to_one_pixel(little_memory: None) -> None:
    """The seen one: 2 MB of compressed zeros behind a header of one pixel took 4.3 GB and 36 s."""
    for depth, colour_type in ((16, 2), (16, 6), (8, 2)):
        bomb = png(1, 1, depth, colour_type, bytes(96 * MB))
        assert decode(lambda x: tf.image.decode_png(x, channels=3), bomb).tolist() == [[[0, 0, 0]]]


@pytest.mark.parametrize(
    ("rows", "columns"), [(1 << 20, 1 << 20), (1, (1 << 31) - 1), ((1 << 31) - 1, 1), (40_000, 40_000)]
)
@pytest.mark.parametrize("depth", [8, 16])
def test_a_png_whose_header_says_too_much(rows: int, columns: int, depth: int, little_memory: None) -> None:
    with pytest.raises(tf.errors.InvalidArgumentError, match="too large|exceeds limit"):
        decode(tf.image.decode_png, png(rows, columns, depth, 2, bytes(1000)))


def test_a_png_that_cannot_hold_what_its_header_says(little_memory: None) -> None:
    with pytest.raises(
        tf.errors.InvalidArgumentError, match="the pixels are incomplete: .. bytes cannot hold 600010000"
    ):
        decode(tf.image.decode_png, png(10_000, 10_000, 16, 2, bytes(1000)))
    with pytest.raises(tf.errors.InvalidArgumentError, match="its header says 0 x 5 pixels"):
        decode(tf.image.decode_png, png(0, 5, 16, 2, b""))


def gif(frames: int, rows: int, columns: int) -> bytes:
    """Frames of one pixel on a canvas of any size."""
    one = b"\x2c" + struct.pack("<HHHHB", 0, 0, 1, 1, 0) + b"\x02\x02\x44\x01\x00"
    return b"GIF89a" + struct.pack("<HHBBB", columns, rows, 0x80, 0, 0) + bytes(6) + one * frames + b"\x3b"


def test_a_gif_of_many_large_frames(little_memory: None) -> None:
    assert decode(tf.image.decode_gif, gif(3, 4, 5)).shape == (3, 4, 5, 3)
    with pytest.raises(
        tf.errors.InvalidArgumentError, match="3000 frames of 1000 x 1000 pixels with 3 channels is too large"
    ):
        decode(tf.image.decode_gif, gif(3000, 1000, 1000))
    large = bytearray(gif(2, 4, 5))
    struct.pack_into("<HH", large, large.rindex(b"\x2c") + 5, 60_000, 60_000)  # a frame beyond the whole
    with pytest.raises(tf.errors.InvalidArgumentError, match="an image of 60000 x 60000 pixels"):
        decode(tf.image.decode_gif, bytes(large))
    first = decode(lambda x: tf.image.decode_image(x, expand_animations=False), gif(3000, 1000, 1000))
    assert first.shape == (1000, 1000, 3)  # one frame is decoded


def test_a_bmp_and_a_jpeg_whose_headers_say_too_much(little_memory: None) -> None:
    bmp = bytearray(hostile._image("BMP"))
    struct.pack_into("<ii", bmp, 18, 60_000, 60_000)
    with pytest.raises(tf.errors.InvalidArgumentError, match="invalid BMP data.*exceeds limit"):
        decode(tf.image.decode_bmp, bytes(bmp))
    jpeg = bytearray(hostile._image("JPEG"))
    (size,) = [m.start() for m in re.finditer(rb"\xff\xc0", bytes(jpeg))]
    struct.pack_into(">HH", jpeg, size + 5, 65_000, 65_000)
    with pytest.raises(tf.errors.InvalidArgumentError, match="invalid JPEG data.*exceeds limit"):
        decode(tf.image.decode_jpeg, bytes(jpeg))


# ---- sound


@pytest.mark.parametrize(
    ("at", "format", "value", "message"),
    [(22, "<H", 0, "needs channels"), (24, "<I", 1 << 31, "a rate below"), (16, "<I", 3, "has 3 bytes, not 16")],
)
def test_a_wav_file_that_makes_no_sense(at: int, format: str, value: int, message: str) -> None:
    data = bytearray(hostile._wav())
    struct.pack_into(format, data, at, value)
    with pytest.raises(tf.errors.InvalidArgumentError, match=message):
        decode(lambda x: tf.audio.decode_wav(x).audio, bytes(data))


# ---- compressed strings and files


@pytest.mark.parametrize("kind", ["ZLIB", "GZIP"])
def test_a_string_that_unpacks_to_too_much(kind: str, monkeypatch: pytest.MonkeyPatch, little_memory: None) -> None:
    monkeypatch.setattr(file_limits, "UNPACKED_BYTES", MB)
    compress = hostile._gzipped if kind == "GZIP" else partial(zlib.compress, level=1)
    unpack = lambda x: tf.io.decode_compressed(x, kind)  # noqa: E731
    assert decode(unpack, compress(bytes(MB))) == bytes(MB)
    with pytest.raises(tf.errors.InvalidArgumentError, match="unpacks to more than 1048576 bytes, which is the limit"):
        decode(unpack, compress(bytes(96 * MB)))
    if kind == "GZIP":  # parts that are small enough by themselves
        assert decode(unpack, compress(b"a") + compress(b"b") + bytes(3)) == b"ab"
        with pytest.raises(tf.errors.InvalidArgumentError, match="unpacks to more than"):
            decode(unpack, compress(bytes(MB // 2)) * 3)
    with pytest.raises(tf.errors.DataLossError, match="ends too early"):
        decode(unpack, compress(bytes(100))[:-9])


def test_a_packed_file_is_unpacked_piece_by_piece(tmp_path: Path, little_memory: None) -> None:
    path = tmp_path / "records"
    with tf.python_io.TFRecordWriter(str(path), tf.python_io.TFRecordOptions("GZIP", compression_level=1)) as writer:
        for _ in range(100):
            writer.write(bytes(MB))
    assert sum(len(record) for record in tf.python_io.tf_record_iterator(str(path), "GZIP")) == 100 * MB


@pytest.mark.parametrize("compression", [None, "GZIP"])
@pytest.mark.parametrize("length", [1 << 30, 1 << 40, 1 << 62, (1 << 64) - 1])
def test_a_record_that_says_it_is_huge(
    tmp_path: Path, length: int, compression: str | None, little_memory: None
) -> None:
    head = struct.pack("<Q", length)
    data = frame(b"good") + head + struct.pack("<I", masked_crc(head)) + b"short"
    path = tmp_path / "records"
    path.write_bytes(hostile._gzipped(data) if compression else data)
    records = tf.python_io.tf_record_iterator(str(path), compression)
    assert next(records) == b"good"
    with pytest.raises(tf.errors.DataLossError, match="truncated record at 20" if length == 1 << 30 else "should have"):
        next(records)
    if compression is None:
        with pytest.raises(tf.errors.DataLossError), open(path, "rb") as file:
            list(read_records(file, "it"))


def test_a_record_of_more_than_one_piece_is_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(file_limits, "PIECE", 10)
    path = tmp_path / "records"
    path.write_bytes(frame(bytes(range(95))) + frame(b"next"))
    assert list(tf.python_io.tf_record_iterator(str(path))) == [bytes(range(95)), b"next"]


# ---- checkpoints


def bundle(tmp_path: Path, entries: dict[bytes, Entry], data: bytes) -> Any:
    items = [(b"", Header(1).encode())] + [(key, entries[key].encode()) for key in sorted(entries)]
    (tmp_path / "model.index").write_bytes(table_bytes(items))
    (tmp_path / "model.data-00000-of-00001").write_bytes(data)
    return tf.train.load_checkpoint(f"{tmp_path}/model")


@pytest.mark.parametrize(
    ("entry", "message"),
    [
        (Entry(dtypes.string, (1 << 34,), 0, 0, 100, 0), r"has 100 bytes for the strings of shape \[17179869184\]"),
        (Entry(dtypes.float32, (1 << 34,), 0, 0, 1 << 36, 0), "is cut off"),
        (Entry(dtypes.float32, (1 << 34,), 0, 0, 100, 0), r"has 100 bytes, but float32 \[17179869184\] takes"),
        (Entry(dtypes.float32, (0, 1 << 61), 0, 0, 0, 0), "array is too big"),
        (Entry(dtypes.float32, (1 << 34,), slices=(((0, 5),),) * 3), "have 5 of the 17179869184 elements"),
        (Entry(dtypes.float32, (1 << 34,), slices=(((0, 1 << 34),),)), "there is no entry for"),
    ],
)
def test_a_checkpoint_that_says_it_is_huge(tmp_path: Path, entry: Entry, message: str, little_memory: None) -> None:
    reader = bundle(tmp_path, {b"a": entry}, bytes(100))
    with pytest.raises(errors.OpError, match=message):
        reader.get_tensor("a")


def test_a_slice_that_says_it_is_huge(tmp_path: Path, little_memory: None) -> None:
    whole = ((0, 1 << 34),)
    entries = {
        b"a": Entry(dtypes.float32, (1 << 34,), slices=(whole,)),
        slice_key(b"a", whole): Entry(dtypes.float32, (1 << 34,), 0, 0, 1 << 36, 0),
    }
    with pytest.raises(errors.DataLossError, match="is cut off"):
        bundle(tmp_path, entries, bytes(100)).get_tensor("a")


def test_a_safetensors_file_that_says_it_is_huge(tmp_path: Path, little_memory: None) -> None:
    for shape, stop in (([1 << 34], 1 << 36), ([0, 1 << 62], 0), ([1 << 40], 8)):
        header = json.dumps({"a": {"dtype": "F32", "shape": shape, "data_offsets": [0, stop]}}).encode()
        (tmp_path / "file").write_bytes(len(header).to_bytes(8, "little") + header + bytes(min(stop, 8)))
        with (
            pytest.raises(errors.DataLossError, match="is not a valid safetensors file"),
            SafetensorsFile(str(tmp_path / "file")) as file,
        ):
            file.read("a")


# ---- constants


def constant(dims: tuple[int, ...], dtype: Any = tf.float32, count: int = 1) -> Any:
    graph_def = tf.GraphDef()
    for number in range(count):
        node = graph_def.node.add(name=f"c{number}", op="Const")
        node.attr["dtype"].type = dtype.as_datatype_enum
        tensor = node.attr["value"].tensor
        tensor.dtype = dtype.as_datatype_enum
        if dtype == tf.string:
            tensor.string_val.append(b"x")
        else:
            tensor.float_val.append(1.0)
        for size in dims:
            tensor.tensor_shape.dim.add().size = size
    return graph_def


@pytest.mark.parametrize("dtype", [tf.float32, tf.string])
@pytest.mark.parametrize("dims", [(1 << 31,), (1 << 20, 1 << 20), (1 << 62,)])
def test_a_graph_of_56_bytes_that_asks_for_gigabytes(dims: tuple[int, ...], dtype: Any, little_memory: None) -> None:
    graph_def = constant(dims, dtype)
    assert graph_def.ByteSize() < 80
    with (
        tf.Graph().as_default(),
        pytest.raises(ValueError, match=r"holds 1 of its \d+ values; at most 1073741824 bytes"),
    ):
        tf.import_graph_def(graph_def)


@pytest.mark.parametrize(
    ("dims", "message"),
    [
        ((-1,), r"Shape \[-1\] is not fully defined"),
        ((1 << 40, 1 << 40), r"is too large \(more than 2\*\*63 - 1 entries\)"),
    ],
)
def test_a_constant_of_a_shape_that_nothing_has(dims: tuple[int, ...], message: str, little_memory: None) -> None:
    with tf.Graph().as_default(), pytest.raises(ValueError, match=message):
        tf.import_graph_def(constant(dims))


def test_the_limit_holds_for_all_constants_of_a_graph_together(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(file_limits, "REPEATED_BYTES", 10_000)
    with tf.Graph().as_default():
        tf.import_graph_def(constant((500,), count=5))
        tf.import_graph_def(constant((500,), count=5))  # each graph by itself
        with pytest.raises(ValueError, match="from all constants of a graph"):
            tf.import_graph_def(constant((500,), count=6))


def test_repeated_values_are_what_they_were() -> None:
    def message(dtype: Any, shape: tuple[int, ...], field: bytes) -> bytes:
        dims = b"".join(wire.field(2, wire.varint(8) + wire.varint(size)) for size in shape)
        return wire.varint(8) + wire.varint(dtype.as_datatype_enum) + wire.field(2, dims) + field

    floats = wire.field(5, struct.pack("<2f", 1.5, 2.5))
    _, array = tensor_proto.decode(message(dtypes.float32, (2, 3), floats))
    assert array.dtype == np.float32 and array.tolist() == [[1.5, 2.5, 2.5], [2.5, 2.5, 2.5]]
    _, array = tensor_proto.decode(message(dtypes.int8, (3,), b""))
    assert array.dtype == np.int8 and array.tolist() == [0, 0, 0]
    _, array = tensor_proto.decode(message(dtypes.float16, (2,), wire.field(13, wire.varint(0x3C00))))
    assert array.dtype == np.float16 and array.tolist() == [1.0, 1.0]
    _, array = tensor_proto.decode(message(dtypes.string, (3,), wire.field(8, b"a") + wire.field(8, b"b")))
    assert array.tolist() == [b"a", b"b", b"b"]
    with pytest.raises(ValueError, match=r"a tensor of shape \[1\] has 2 values"):
        tensor_proto.decode(message(dtypes.float32, (1,), floats))


def test_text_that_is_nested_too_deep(tmp_path: Path) -> None:
    path = tmp_path / "graph.meta"
    path.write_text(
        "graph_def { library { function { attr { value { func { attr { value { func {" + "attr { value { func { " * 3000
    )
    with pytest.raises(OSError, match="Cannot parse file"), tf.Graph().as_default():
        tf.train.import_meta_graph(str(path))


# ---- changed files, few of each kind; benchmarks/fuzz.py reads many


@pytest.mark.parametrize("kind", hostile.KINDS)
def test_changed_files_are_read_or_refused(kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("IMAGE_ELEMENTS", "UNPACKED_BYTES", "RECORD_BYTES", "REPEATED_BYTES"):
        monkeypatch.setattr(file_limits, name, hostile.LIMIT)
    for name in ("checkpoint index", "checkpoint data"):
        monkeypatch.setitem(hostile.VALID, name, hostile.KINDS[name][0]())
    valid, mend = hostile.KINDS[kind][0](), hostile.KINDS[kind][2]
    hostile.attempt(kind, valid, str(tmp_path))
    for number in range(8):
        draw = hostile.random.Random(f"{kind} {number}")
        data = hostile.changed(draw, valid)
        said = hostile.attempt(kind, mend(data) if mend and number % 4 else data, str(tmp_path))
        assert not said, (number, said)


def test_a_checksum_that_was_mended_is_right() -> None:
    """Else the changes would be refused before anything is read."""
    hostile.VALID["checkpoint index"] = data = hostile._checkpoint("index")
    assert hostile._table_checksums(data) == data
    assert hostile._png_checksums(hostile._wide_png()) == hostile._wide_png()
    assert hostile._record_checksums(hostile._records()) == hostile._records()
    assert masked(crc32c(b"")) == masked_crc(b"")
