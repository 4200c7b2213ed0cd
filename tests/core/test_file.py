"""Files opened for reading, plain and compressed."""

import errno
import gzip
import os
import zlib
from collections.abc import Iterator
from pathlib import Path

import pytest

from headrace.core import errors, file, remote_file
from headrace.core.file import open_to_read

TEXT = b"".join(b"line %d\n" % i for i in range(30_000))
PACK = {"": bytes, "ZLIB": zlib.compress, "GZIP": gzip.compress}


@pytest.mark.parametrize("compression", list(PACK))
def test_reads_what_was_written(tmp_path: Path, compression: str) -> None:
    path = tmp_path / "file"
    path.write_bytes(PACK[compression](TEXT))
    with open_to_read(str(path), compression) as opened:
        assert opened.readline() == b"line 0\n"
        assert opened.read() == TEXT[7:]
        assert opened.read(1) == b""


@pytest.mark.parametrize("compression", ["ZLIB", "GZIP"])
def test_an_empty_and_a_cut_file_just_end(tmp_path: Path, compression: str) -> None:
    (tmp_path / "empty").write_bytes(b"")
    (tmp_path / "cut").write_bytes(PACK[compression](TEXT)[:-100])
    with open_to_read(str(tmp_path / "empty"), compression) as opened:
        assert opened.read() == b""
    with open_to_read(str(tmp_path / "cut"), compression) as opened:
        part = opened.read()
    assert part and TEXT.startswith(part) and len(part) < len(TEXT)


def test_several_compressed_parts(tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(gzip.compress(b"one") + gzip.compress(b"") + gzip.compress(b"two"))
    with open_to_read(str(tmp_path / "file"), "GZIP") as opened:
        assert opened.read() == b"onetwo"


def test_errors(tmp_path: Path) -> None:
    with pytest.raises(errors.NotFoundError, match=f"{tmp_path}/missing; No such file or directory"):
        open_to_read(f"{tmp_path}/missing")
    with pytest.raises(errors.FailedPreconditionError, match="Is a directory"):
        open_to_read(str(tmp_path))
    (tmp_path / "plain").write_bytes(b"plain text")
    with (
        open_to_read(str(tmp_path / "plain"), "GZIP") as opened,
        pytest.raises(errors.DataLossError, match="plain: the compressed data is damaged"),
    ):
        opened.read()


@pytest.fixture(params=["", "file://", "memory://"])
def root(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[str]:
    """A folder of this machine under both its names, and one of another file system."""
    folder = f"{request.param}{tmp_path}"
    file.make_folder(folder)
    yield folder
    if request.param == "memory://":
        remote_file.DeleteRecursively(folder)


def test_files_of_every_scheme(root: str) -> None:
    path = f"{root}/one"
    assert not file.exists(path)
    file.write_durably(path, b"old")
    file.write_durably(path, b"new")
    with open_to_read(path) as opened:
        assert opened.read() == b"new"
    with pytest.raises(errors.AlreadyExistsError, match="one"):
        file.open_file(path, "xb")
    with file.open_file(f"{root}/other", "xb") as opened:
        opened.write(b"other")
        file.sync(opened)
    file.sync_folder(path)
    names = [found.rpartition("/")[2] for found in file.beginning_with(f"{root}/o")]
    assert names == ["one", "other"]
    assert [found.rpartition("/")[2] for found in file.matching(f"{root}/o*r")] == ["other"]
    assert file.changed_at(path) > 1e9
    file.replace(f"{root}/other", path)
    with open_to_read(path) as opened:
        assert opened.read() == b"other"
    file.remove(path)
    assert file.beginning_with(f"{root}/") == []
    with pytest.raises(errors.NotFoundError, match="one"):
        file.remove(path)


def test_a_failed_write_leaves_the_old_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = f"{tmp_path}/one"
    file.write_durably(path, b"old")

    def full(descriptor: int) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(errors.ResourceExhaustedError, match="one; No space left on device"):
        file.write_durably(path, b"new")
    assert os.listdir(tmp_path) == ["one"]
    assert Path(path).read_bytes() == b"old"


def test_no_such_folder() -> None:
    assert file.beginning_with("/nowhere/at/all") == []
    with pytest.raises(errors.NotFoundError, match="nowhere"):
        file.write_durably("/nowhere/at/all", b"")
