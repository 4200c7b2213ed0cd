"""Files in Keras's folder: found, copied, checked, unpacked; nothing is downloaded."""

import hashlib
import sys
import tarfile
import zipfile
from pathlib import Path

import pytest

import headrace as tf

get_file = tf.keras.utils.get_file


@pytest.fixture
def source(tmp_path):
    path = tmp_path / "words.txt"
    path.write_text("some words")
    return path


def test_copies_once(source, tmp_path):
    options = {"cache_dir": str(tmp_path / "keras")}
    path = get_file("w.txt", source.as_uri(), **options)
    assert path == str(tmp_path / "keras" / "datasets" / "w.txt") and Path(path).read_text() == "some words"
    source.unlink()
    assert get_file("w.txt", source.as_uri(), **options) == path
    with pytest.raises(FileNotFoundError, match="neither .*v.txt nor the file it should be copied from"):
        get_file("v.txt", str(source), **options)


def test_downloads_nothing(tmp_path):
    with pytest.raises(
        FileNotFoundError, match="w.txt does not exist, and nothing is downloaded: put the file from http"
    ):
        get_file("w.txt", "https://example.org/w.txt", cache_dir=str(tmp_path))


@pytest.mark.parametrize("algorithm", ["md5", "sha256"])
def test_checksums(source, tmp_path, algorithm):
    right = hashlib.new(algorithm, b"some words").hexdigest()
    options = {"cache_dir": str(tmp_path / "keras"), "hash_algorithm": algorithm}
    get_file("w.txt", str(source), file_hash=right, **options)
    get_file("w.txt", str(source), file_hash=right.upper(), cache_dir=options["cache_dir"])
    with pytest.raises(ValueError, match=f"has the {algorithm} checksum {right}, not {'0' * len(right)}"):
        get_file("w.txt", str(source), file_hash="0" * len(right), **options)
    with pytest.raises(ValueError, match="hash_algorithm must be"):
        get_file("w.txt", str(source), file_hash=right, cache_dir=options["cache_dir"], hash_algorithm="crc")


@pytest.fixture(params=["filter", "no filter"])
def python(request, monkeypatch):
    """A Python whose tarfile checks members, and one before 3.11.4."""
    if request.param == "no filter":
        if sys.version_info >= (3, 12):
            pytest.skip("warns of unpacking without a filter")
        monkeypatch.delattr(tarfile, "data_filter", raising=False)
    elif not hasattr(tarfile, "data_filter"):
        pytest.skip("this Python has no filter")


@pytest.mark.usefixtures("python")
def test_unpacks(source, tmp_path):
    with tarfile.open(tmp_path / "set.tar.gz", "w:gz") as tar:
        tar.add(source, "set/words.txt")
    with zipfile.ZipFile(tmp_path / "set.zip", "w") as packed:
        packed.write(source, "zipped.txt")
    options = {"cache_dir": str(tmp_path / "keras")}
    folder = get_file("set", str(tmp_path / "set.tar.gz"), untar=True, **options)
    assert (Path(folder) / "words.txt").read_text() == "some words"
    (tmp_path / "set.tar.gz").unlink()
    assert get_file("set", "https://example.org/set.tar.gz", untar=True, **options) == folder
    get_file("set.zip", str(tmp_path / "set.zip"), extract=True, **options)
    assert (tmp_path / "keras" / "datasets" / "zipped.txt").read_text() == "some words"
    get_file("set.zip", str(tmp_path / "set.zip"), extract=True, archive_format=None, **options)
    with pytest.raises(ValueError, match="archive_format must be"):
        get_file("set.zip", str(tmp_path / "set.zip"), extract=True, archive_format="rar", **options)


@pytest.mark.usefixtures("python")
def test_members_stay_in_the_folder(source, tmp_path):
    with tarfile.open(tmp_path / "bad.tar.gz", "w:gz") as tar:
        tar.add(source, "../../outside.txt")
    with pytest.raises(tarfile.TarError, match="outside the destination"):
        get_file("bad", str(tmp_path / "bad.tar.gz"), untar=True, cache_dir=str(tmp_path / "keras"))
    assert not (tmp_path / "outside.txt").exists()


@pytest.mark.usefixtures("python")
def test_unpacked_files_are_writable_by_their_owner_alone(source, tmp_path):
    def open_to_all(member):
        member.mode, member.uid = 0o6777, 12345
        return member

    with tarfile.open(tmp_path / "set.tar.gz", "w:gz") as tar:
        tar.add(source, "set/words.txt", filter=open_to_all)
    folder = get_file("set", str(tmp_path / "set.tar.gz"), untar=True, cache_dir=str(tmp_path / "keras"))
    found = (Path(folder) / "words.txt").stat()
    assert (found.st_mode & 0o7777, found.st_uid) == (0o755, source.stat().st_uid)


@pytest.mark.usefixtures("python")
def test_links_out_of_the_folder_are_refused(tmp_path):
    with tarfile.open(tmp_path / "bad.tar.gz", "w:gz") as tar:
        link = tarfile.TarInfo("link")
        link.type, link.linkname = tarfile.SYMTYPE, "../../../outside"
        tar.addfile(link)
    with pytest.raises(tarfile.TarError, match="outside the destination"):
        get_file("bad", str(tmp_path / "bad.tar.gz"), untar=True, cache_dir=str(tmp_path / "keras"))
    assert not list((tmp_path / "keras").rglob("link"))
