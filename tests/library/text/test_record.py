"""Files of records: framing, checksums, compression, damage."""

from pathlib import Path

import pytest

import headrace as tf
from headrace.core import checksum, record

RECORDS = [b"one", b"", b"x" * 1000, bytes(range(256))]
# A file with the records b"one" and b"" that TensorFlow wrote.
TENSORFLOW = bytes.fromhex("0300000000000000b099490e6f6e6501405508000000000000000029039807d8ea82a2")


@pytest.mark.parametrize("kind", [None, "", "ZLIB", "GZIP", 0, 1, 2])
def test_round_trip(tmp_path: Path, kind: object) -> None:
    path = tmp_path / "records"
    options = tf.python_io.TFRecordOptions(kind)
    with tf.python_io.TFRecordWriter(str(path), options) as writer:
        for data in RECORDS:
            writer.write(data)
    assert list(tf.python_io.tf_record_iterator(str(path), options)) == RECORDS


def test_checksum() -> None:
    assert checksum.crc32c_by_table(0, b"123456789") == 0xE3069283  # the check value of CRC-32C
    assert checksum.crc32c_by_table(0, b"") == 0
    assert checksum.crc32c_by_table(checksum.crc32c_by_table(0, b"1234"), b"56789") == 0xE3069283


def test_bytes_are_tensorflows(tmp_path: Path) -> None:
    path = tmp_path / "records"
    with tf.python_io.TFRecordWriter(str(path)) as writer:
        writer.write(b"one")
        writer.write(b"")
    assert path.read_bytes() == TENSORFLOW


def test_damage_is_found(tmp_path: Path) -> None:
    path = tmp_path / "records"
    whole = record.frame(b"one") + record.frame(b"two")
    for data in (whole[:-1], whole[:-8], whole[:25], whole.replace(b"two", b"tWo"), b"\x01" + whole[1:]):
        path.write_bytes(data)
        with pytest.raises(tf.errors.DataLossError):
            list(tf.python_io.tf_record_iterator(str(path)))
    path.write_bytes(b"not compressed")
    for kind in ("ZLIB", "GZIP"):
        with pytest.raises(tf.errors.DataLossError):
            list(tf.python_io.tf_record_iterator(str(path), tf.python_io.TFRecordOptions(kind)))


def test_flushed_records_can_be_read(tmp_path: Path) -> None:
    path = tmp_path / "records"
    writer = tf.python_io.TFRecordWriter(str(path))
    writer.write(b"one")
    writer.flush()
    assert list(tf.python_io.tf_record_iterator(str(path))) == [b"one"]
    writer.close()
    writer.close()
    with pytest.raises(tf.errors.FailedPreconditionError):
        writer.write(b"two")


def test_wrong_use(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="compression_type"):
        tf.python_io.TFRecordOptions("BZIP")
    with pytest.raises(tf.errors.NotFoundError):
        next(tf.python_io.tf_record_iterator(str(tmp_path / "missing")))
    with pytest.raises(tf.errors.NotFoundError):
        tf.python_io.TFRecordWriter(str(tmp_path / "missing" / "records"))
    with tf.python_io.TFRecordWriter(str(tmp_path / "records")) as writer, pytest.raises(TypeError):
        writer.write("text")


@pytest.mark.parametrize("kind", ["", "ZLIB"])
def test_a_full_disk_names_the_file(kind: str) -> None:
    writer = tf.python_io.TFRecordWriter("/dev/full", tf.python_io.TFRecordOptions(kind))
    writer.write(b"record")
    with pytest.raises(tf.errors.ResourceExhaustedError, match="/dev/full; No space left on device"):
        writer.flush()
    with pytest.raises(tf.errors.ResourceExhaustedError, match="/dev/full; No space left on device"):
        writer.close()
    with pytest.raises(tf.errors.FailedPreconditionError, match="the writer of /dev/full is closed"):
        writer.write(b"another")
