"""Files opened for reading, plain and compressed."""

import gzip
import zlib
from pathlib import Path

import pytest

from headrace.core import errors
from headrace.core.file import local_path, open_to_read

TEXT = b"".join(b"line %d\n" % i for i in range(30_000))
PACK = {"": bytes, "ZLIB": zlib.compress, "GZIP": gzip.compress}


@pytest.mark.parametrize("compression", list(PACK))
def test_reads_what_was_written(tmp_path: Path, compression: str) -> None:
    path = tmp_path / "file"
    path.write_bytes(PACK[compression](TEXT))
    with open_to_read(str(path), compression) as file:
        assert file.readline() == b"line 0\n"
        assert file.read() == TEXT[7:]
        assert file.read(1) == b""


@pytest.mark.parametrize("compression", ["ZLIB", "GZIP"])
def test_an_empty_and_a_cut_file_just_end(tmp_path: Path, compression: str) -> None:
    (tmp_path / "empty").write_bytes(b"")
    (tmp_path / "cut").write_bytes(PACK[compression](TEXT)[:-100])
    with open_to_read(str(tmp_path / "empty"), compression) as file:
        assert file.read() == b""
    with open_to_read(str(tmp_path / "cut"), compression) as file:
        part = file.read()
    assert part and TEXT.startswith(part) and len(part) < len(TEXT)


def test_several_compressed_parts(tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(gzip.compress(b"one") + gzip.compress(b"") + gzip.compress(b"two"))
    with open_to_read(str(tmp_path / "file"), "GZIP") as file:
        assert file.read() == b"onetwo"


def test_errors(tmp_path: Path) -> None:
    with pytest.raises(errors.NotFoundError, match=f"{tmp_path}/missing; No such file or directory"):
        open_to_read(f"{tmp_path}/missing")
    with pytest.raises(errors.FailedPreconditionError, match="Is a directory"):
        open_to_read(str(tmp_path))
    (tmp_path / "plain").write_bytes(b"plain text")
    with (
        open_to_read(str(tmp_path / "plain"), "GZIP") as file,
        pytest.raises(errors.DataLossError, match="plain: the compressed data is damaged"),
    ):
        file.read()


def test_paths_of_other_file_systems() -> None:
    assert local_path("file:///tmp/x") == "/tmp/x"
    with pytest.raises(errors.UnimplementedError, match="s3://bucket/x is not on this machine's file system; tf.gfile"):
        local_path("s3://bucket/x")
