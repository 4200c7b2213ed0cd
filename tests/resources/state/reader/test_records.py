"""How files become records."""

import gzip
import zlib
from pathlib import Path

import pytest

from headrace.core import errors
from headrace.core.record import frame
from headrace.resources.state.reader.records import FixedLengthRecords, Lines, Records, TFRecords, UnitItself, WholeFile


def everything(records: Records) -> list[tuple[bytes, bytes]]:
    found = []
    while (record := records.next()) is not None:
        found.append(record)
        assert len(found) < 100
    records.close()
    return found


def written(path: Path, data: bytes) -> bytes:
    path.write_bytes(data)
    return bytes(path)


@pytest.mark.parametrize(
    ("text", "skip", "lines"),
    [
        (b"", 0, []),
        (b"a\nb\n", 0, [(1, b"a"), (2, b"b")]),
        (b"a\n\nb", 0, [(1, b"a"), (2, b""), (3, b"b")]),
        (b"a\r\r\nb\r\n\r\nc\n\rd\r", 0, [(1, b"a\r"), (2, b"b"), (3, b""), (4, b"c"), (5, b"\rd")]),
        (b"a\nb\nc", 2, [(3, b"c")]),
        (b"a\nb\nc", 9, []),
    ],
)
def test_lines(tmp_path: Path, text: bytes, skip: int, lines: list[tuple[int, bytes]]) -> None:
    unit = written(tmp_path / "text", text)
    assert everything(Lines(unit, skip)) == [(b"%b:%d" % (unit, number), line) for number, line in lines]


@pytest.mark.parametrize("compression", ["", "ZLIB", "GZIP"])
@pytest.mark.parametrize(
    ("size", "header", "footer", "hop", "starts"),
    [
        (5, 0, 0, 5, [0, 5, 10, 15]),
        (5, 2, 1, 5, [2, 7, 12, 17]),
        (5, 0, 0, 2, list(range(0, 19, 2))),
        (3, 0, 0, 6, [0, 6, 12, 18]),
        (3, 1, 0, 6, [1, 7, 13, 19]),
        (4, 3, 5, 4, [3, 7, 11]),
        (50, 0, 0, 50, []),
        (23, 0, 0, 23, [0]),
    ],
)
def test_records_of_fixed_length(
    tmp_path: Path, compression: str, size: int, header: int, footer: int, hop: int, starts: list[int]
) -> None:
    data = bytes(range(23))
    pack = {"": lambda b: b, "ZLIB": zlib.compress, "GZIP": gzip.compress}[compression]
    unit = written(tmp_path / "data", pack(data))
    records = everything(FixedLengthRecords(unit, compression, size, header, footer, hop))
    assert records == [(b"%b:%d" % (unit, i), data[at : at + size]) for i, at in enumerate(starts)]


def test_a_file_shorter_than_its_header(tmp_path: Path) -> None:
    with pytest.raises(errors.OutOfRangeError, match="ends after 3 bytes, within its header of 4 bytes"):
        FixedLengthRecords(written(tmp_path / "data", b"abc"), "", 1, 4, 0, 1)


def test_tfrecords_are_named_by_their_offset(tmp_path: Path) -> None:
    unit = written(tmp_path / "data", frame(b"one") + frame(b"") + frame(b"three"))
    assert everything(TFRecords(unit)) == [(unit + b":0", b"one"), (unit + b":19", b""), (unit + b":35", b"three")]


def test_a_file_of_several_gzip_members(tmp_path: Path) -> None:
    unit = written(tmp_path / "data", gzip.compress(frame(b"one")) + gzip.compress(frame(b"two")))
    assert [value for _, value in everything(TFRecords(unit, "GZIP"))] == [b"one", b"two"]


def test_damage_stays_where_it_is(tmp_path: Path) -> None:
    good, bad = frame(b"one"), bytearray(frame(b"two"))
    bad[13] ^= 1
    records = TFRecords(written(tmp_path / "data", good + bytes(bad) + good))
    assert records.next() is not None
    for _ in range(2):
        with pytest.raises(errors.DataLossError, match="corrupted record at 19"):
            records.next()
    records.close()


@pytest.mark.parametrize("compression", ["ZLIB", "GZIP"])
def test_damaged_compression(tmp_path: Path, compression: str) -> None:
    records = TFRecords(written(tmp_path / "data", b"not compressed at all"), compression)
    with pytest.raises(errors.DataLossError, match="data: the compressed data is damaged: .*incorrect header check"):
        records.next()
    records.close()


def test_single_records(tmp_path: Path) -> None:
    unit = written(tmp_path / "data", b"some\nbytes")
    assert WholeFile(unit).next() == (unit, b"some\nbytes")
    assert UnitItself(b"unit").next() == (b"unit", b"unit")


def test_a_file_that_comes_later_can_be_read_then(tmp_path: Path) -> None:
    records = WholeFile(bytes(tmp_path / "data"))
    with pytest.raises(errors.NotFoundError, match="data; No such file or directory"):
        records.next()
    written(tmp_path / "data", b"here")
    assert records.next()[1] == b"here"


def test_what_cannot_be_opened(tmp_path: Path) -> None:
    with pytest.raises(errors.NotFoundError, match="No such file"):
        Lines(b"/no/such/file", 0)
    with pytest.raises(errors.FailedPreconditionError, match="Is a directory"):
        Lines(bytes(tmp_path), 0)
    with pytest.raises(errors.UnimplementedError, match="scheme .s3. not implemented .*pip install s3fs"):
        Lines(b"s3://bucket/file", 0)


def test_records_that_are_dropped_close_their_file(tmp_path: Path) -> None:
    records = Lines(written(tmp_path / "text", b"a\nb\n"), 0)
    assert records.next() is not None
    del records  # an open file would be a ResourceWarning, which is an error, and a leak
