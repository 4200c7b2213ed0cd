"""Files that programs expect in Keras's folder: found there, or copied from a place of this machine; nothing is downloaded."""

from __future__ import annotations

import hashlib
import os
import shutil
import tarfile
import zipfile
from collections.abc import Sequence
from typing import Any
from urllib.parse import unquote, urlsplit

_ARCHIVES = (".tar.gz", ".tar.bz2", ".tar.xz", ".tgz", ".tar", ".zip")


def get_file(
    fname: str, origin: str, untar: bool = False, md5_hash: str | None = None, file_hash: str | None = None,
    cache_subdir: str = "datasets", hash_algorithm: str = "auto", extract: bool = False,
    archive_format: str | Sequence[str] | None = "auto", cache_dir: str | None = None,
) -> str:  # fmt: skip
    """The path of a file in Keras's folder, where it is copied to if `origin` is a place of this machine.

    Nothing is downloaded: if the file is not there and `origin` is an address of the network, the error says which file to
    put where.

    Args:
      fname: The name of the file in the folder, or a whole path, which is taken as it is.
      origin: Where the file comes from: a ``file://`` URL or a path, or an address of the network, which is only named in
        the error.
      untar: True unpacks ``fname.tar.gz``, and returns the path of `fname`.
      md5_hash: The file's MD5 checksum; `file_hash` is newer.
      file_hash: The checksum that the file must have; None for any file.
      cache_subdir: The folder inside `cache_dir`.
      hash_algorithm: ``"md5"``, ``"sha256"`` or ``"auto"``, which tells them by their length.
      extract: True unpacks the file in its folder, if it is an archive.
      archive_format: ``"tar"``, ``"zip"``, a list of these, ``"auto"`` for both, or None for no archive.
      cache_dir: Keras's folder; None for ``~/.keras``.

    Returns:
      The path.

    Example: ``path = tf.keras.utils.get_file("words.txt", origin="file:///data/words.txt")``
    """
    folder = os.path.join(os.path.expanduser(cache_dir or os.path.join("~", ".keras")), cache_subdir)
    path = os.path.join(folder, fname)
    if untar and os.path.exists(path):
        return path
    packed = path if not untar or fname.endswith(_ARCHIVES) else f"{path}.tar.gz"
    if not os.path.exists(packed):
        _fetch(origin, packed)
    if expected := file_hash or md5_hash:
        _check_hash(packed, expected, "md5" if file_hash is None else hash_algorithm, origin)
    if untar:
        _extract(packed, folder, "tar")
        return path
    if extract:
        _extract(packed, folder, archive_format)
    return packed


def _fetch(origin: str, path: str) -> None:
    parts = urlsplit(origin)
    if parts.scheme not in ("", "file"):
        raise FileNotFoundError(
            f"{path} does not exist, and nothing is downloaded: put the file from {origin} there, or pass its path"
        )
    source = unquote(parts.path) if parts.scheme else origin
    if not os.path.isfile(source):
        raise FileNotFoundError(f"neither {path} nor the file it should be copied from, {source}, exists")
    os.makedirs(os.path.dirname(path) or ".", exist_ok=True)
    unfinished = f"{path}.{os.getpid()}.part"
    shutil.copyfile(source, unfinished)
    os.replace(unfinished, path)  # nobody finds half a file


def _check_hash(path: str, expected: str, algorithm: str, origin: str) -> None:
    if algorithm not in ("auto", "md5", "sha256"):
        raise ValueError(f"hash_algorithm must be 'auto', 'md5' or 'sha256', got {algorithm!r}")
    if algorithm == "auto":
        algorithm = "sha256" if len(expected) == 64 else "md5"
    with open(path, "rb") as file:
        found = hashlib.file_digest(file, algorithm).hexdigest()
    if found != expected.lower():
        raise ValueError(
            f"{path} has the {algorithm} checksum {found}, not {expected}: put the file from {origin} there"
        )


def _extract(path: str, folder: str, formats: Any) -> None:
    """Unpacks an archive beside itself; members that would land elsewhere, and links out of the folder, are refused."""
    if formats is None:
        return
    accepted = ("tar", "zip") if formats == "auto" else (formats,) if isinstance(formats, str) else tuple(formats)
    if wrong := [one for one in accepted if one not in ("tar", "zip")]:
        raise ValueError(f"archive_format must be 'auto', 'tar', 'zip', a list of these or None, got {wrong[0]!r}")
    if "tar" in accepted and tarfile.is_tarfile(path):
        with tarfile.open(path) as tar:
            if hasattr(tarfile, "data_filter"):
                tar.extractall(folder, filter="data")
            else:  # Python before 3.11.4, that of Debian 12 for example
                tar.extractall(folder, _plain_members(tar, folder))
    elif "zip" in accepted and zipfile.is_zipfile(path):
        with zipfile.ZipFile(path) as packed:
            packed.extractall(folder)  # drops absolute and upward parts of names by itself


def _plain_members(tar: tarfile.TarFile, folder: str) -> list[tarfile.TarInfo]:
    """The members of an archive, which must be files and folders that land in ``folder``; ours, and writable by us alone."""
    home, members = os.path.realpath(folder), tar.getmembers()
    for member in members:
        lands = os.path.realpath(os.path.join(home, member.name))
        if not (member.isfile() or member.isdir()) or os.path.commonpath([home, lands]) != home:
            raise tarfile.TarError(
                f"{member.name!r} is outside the destination, or no file or folder: nothing was unpacked"
            )
        member.mode = member.mode & 0o755 | (0o700 if member.isdir() else 0o600)
        member.uid, member.gid, member.uname, member.gname = os.getuid(), os.getgid(), "", ""
    return members
