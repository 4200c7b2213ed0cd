"""The folder of compiled code, which no other user can write to: whoever can put a file there has this program run it.

It is ``headrace`` in the user's cache folder (``XDG_CACHE_HOME``, else ``~/.cache``), made with mode 0700, or the one that the
user names in ``TORCHINDUCTOR_CACHE_DIR``.  Left alone, torch uses a folder of the temporary directory whose name all can guess.

A folder passes if it and all above it belong to this user or the system, nobody else may write to them, and it is no link.
Before torch's compiler is asked, everything inside is looked at too.  What Headrace loads by itself is opened, looked at through
the descriptor, and loaded from that descriptor.
"""

from __future__ import annotations

import atexit
import contextlib
import grp
import hashlib
import itertools
import logging
import os
import platform
import pwd
import shutil
import stat
import tempfile
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Final

from headrace.core import process
from headrace.runtime.compiler import bound
from headrace.runtime.compiler.torch_door.lowering import keep_files_in

log = logging.getLogger("headrace.compile")

VARIABLE: Final = "TORCHINDUCTOR_CACHE_DIR"
TRITONS: Final = "TRITON_CACHE_DIR"
SYSTEM: Final = 0  # the user who may write anywhere anyhow
SHARED: Final = stat.S_IRWXG | stat.S_IRWXO
_opens = itertools.count()
_walked: set[str] = set()


class UnsafeFolder(Exception):
    """Compiled code that another user could have written; carries what is wrong and what to do."""


def folder() -> Path:
    """The folder of compiled code, made if there is none.  Raises UnsafeFolder if others may write to it."""
    chosen = os.environ.get(VARIABLE)
    if chosen and not _is_torchs(chosen):
        return _checked(Path(os.path.abspath(chosen)), VARIABLE)
    return default_folder() or _for_this_process()


def _is_torchs(path: str) -> bool:
    """Whether this is what torch puts into the variable if it is asked before Headrace: nobody chose it."""
    return os.path.dirname(path) == tempfile.gettempdir() and os.path.basename(path).startswith("torchinductor_")


def default_folder() -> Path | None:
    """The folder in the user's cache, one for each kind of processor; None if none can be made."""
    base = os.environ.get("XDG_CACHE_HOME", "")
    try:
        parent = Path(base) if os.path.isabs(base) else Path.home() / ".cache"
        return _checked(parent / "headrace", "XDG_CACHE_HOME", f"compiled-{_machine()}")
    except (OSError, RuntimeError):  # no home, or one that is read-only
        return None


@cache
def _for_this_process() -> Path:
    """A folder that goes when the process ends, where there is no place for one that stays."""
    made = Path(tempfile.mkdtemp(prefix="headrace_"))
    log.warning("the user's cache folder cannot be written: compiled code is kept in %s until this process ends", made)
    owner = os.getpid()
    atexit.register(lambda: shutil.rmtree(made, ignore_errors=True) if os.getpid() == owner else None)
    return made


@cache
def _machine() -> str:
    """The kind of processor, for a home that several machines share: code for others would end the process."""
    return hashlib.sha256(processor().encode()).hexdigest()[:12]


@cache
def processor() -> str:
    """The instructions that the processor has."""
    with contextlib.suppress(OSError):
        for line in Path("/proc/cpuinfo").read_text().splitlines():
            if line.startswith(("flags", "Features")):
                return f"{platform.machine()} {line}"
    return f"{platform.machine()} {platform.processor()}"


def _checked(path: Path, setting: str, inner: str = "") -> Path:
    """The folder ``path``, or ``inner`` in it, that nobody else can write to; both are made if they are not there."""
    parent = Path(os.path.realpath(path.parent))
    parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    for above in (parent, *parent.parents):
        state = os.lstat(above)
        if state.st_uid not in (os.geteuid(), SYSTEM):
            _refuse(path, f"{above} belongs to {_user(state.st_uid)}", setting)
        if others_may_write(state) and not state.st_mode & stat.S_ISVTX:
            _refuse(path, f"other users may write to {above}", setting)
    made = parent / path.name
    for each in (made, made / inner) if inner else (made,):
        with contextlib.suppress(FileExistsError):
            os.mkdir(each, 0o700)
        state = os.lstat(each)
        if stat.S_ISLNK(state.st_mode):
            _refuse(each, "it is a link", setting)
        if not stat.S_ISDIR(state.st_mode):
            raise NotADirectoryError(f"{each} is not a folder")
        if state.st_uid != os.geteuid():
            _refuse(each, f"it belongs to {_user(state.st_uid)}", setting)
        if others_may_write(state):
            _refuse(each, f"other users may write to it (mode {stat.S_IMODE(state.st_mode):o})", setting)
    return made / inner


def _refuse(path: Path, why: str, setting: str) -> None:
    raise UnsafeFolder(
        f"compiled code is neither kept in nor loaded from {path}: {why}; name a folder of your own in {setting}, with mode 0700"
    )


def others_may_write(state: os.stat_result) -> bool:
    """Whether users other than the owner and the system may.  A group that holds only the owner does not count."""
    if state.st_mode & stat.S_IWOTH:
        return True
    return bool(state.st_mode & stat.S_IWGRP) and not _is_alone(state.st_gid, state.st_uid)


def _is_alone(group: int, owner: int) -> bool:
    if group == owner == SYSTEM:
        return True
    try:
        name, entry = pwd.getpwuid(owner).pw_name, grp.getgrgid(group)
    except KeyError:
        return False
    return entry.gr_name == name and set(entry.gr_mem) <= {name}


def _user(number: int) -> str:
    try:
        return f"user {pwd.getpwuid(number).pw_name}"
    except KeyError:
        return f"user {number}"


# ---- files that are loaded


def open_own(path: str | Path) -> int:
    """A descriptor of a file in the folder, for reading.  Raises UnsafeFolder if somebody else may have written the file."""
    number = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK)
    try:
        why = _wrong(os.fstat(number), inside_shut=_is_shut(Path(path)))
    except OSError:
        os.close(number)
        raise
    if why:
        os.close(number)
        raise UnsafeFolder(f"{path} is not loaded: {why}")
    return number


@contextlib.contextmanager
def name_of_own(path: str) -> Iterator[str]:
    """Meanwhile, another name of a file in the folder: that of the open descriptor whose owner and mode were looked at.

    The name is never used twice in a process, for the loader takes equal names for the same library.
    """
    number = open_own(path)
    try:
        spelling = f"{next(_opens):b}".replace("0", "/").replace("1", "/.")
        yield f"/proc/self/fd{spelling}/{number}"
    finally:
        os.close(number)


def _is_shut(path: Path) -> bool:
    """Whether the folder that holds the file lets nobody else in, so that modes inside it do not matter."""
    try:
        root = folder()
    except OSError:
        return False
    return path.is_relative_to(root) and not os.lstat(root).st_mode & SHARED


def _wrong(state: os.stat_result, inside_shut: bool) -> str:
    if not stat.S_ISREG(state.st_mode):
        return "it is not a plain file"
    if state.st_uid != os.geteuid():
        return f"it belongs to {_user(state.st_uid)}"
    if not inside_shut and others_may_write(state):
        return f"other users may write to it (mode {stat.S_IMODE(state.st_mode):o})"
    return ""


# ---- torch's compiler


def point_compiler() -> None:
    """Has torch's compiler keep everything in the folder.  Raises UnsafeFolder if something in it may be another user's."""
    place = folder()
    process.set_cache_folder(str(place))
    bound.look(place)
    _see_inside(place)
    triton = os.environ.get(TRITONS)
    if triton and not Path(triton).is_relative_to(place):
        _see_inside(_checked(Path(os.path.abspath(triton)), TRITONS))
    _keep_headers(place)


def _keep_headers(place: Path) -> None:
    """The precompiled header, 156 MB, stays in the user's cache whichever folder the user names for the rest."""
    try:
        home = default_folder() or place
    except UnsafeFolder:  # the user named another folder than that
        home = place
    if home != place:
        bound.look(home)
        _see_inside(home)
    keep_files_in(str(place), str(home / "precompiled_headers"))


def _see_inside(place: Path) -> None:
    """Looks at everything in the folder, once if nobody else gets in: torch loads code and pickles from it by name."""
    shut = not os.lstat(place).st_mode & SHARED
    if shut and str(place) in _walked:
        return
    waiting = [str(place)]
    while waiting:
        with contextlib.suppress(FileNotFoundError), os.scandir(waiting.pop()) as entries:  # others of ours compile too
            for entry in entries:
                with contextlib.suppress(FileNotFoundError):
                    _see(entry, shut)
                    if entry.is_dir(follow_symlinks=False):
                        waiting.append(entry.path)
    _walked.add(str(place))


def _see(entry: os.DirEntry[str], shut: bool) -> None:
    state = entry.stat(follow_symlinks=False)
    if state.st_uid != os.geteuid():
        raise UnsafeFolder(
            f"{entry.path} belongs to {_user(state.st_uid)}: nothing is compiled or loaded beside it; remove it"
        )
    if stat.S_ISLNK(state.st_mode):
        raise UnsafeFolder(f"{entry.path} is a link: nothing is compiled or loaded beside it; remove it")
    if not shut and others_may_write(state):
        raise UnsafeFolder(f"other users may write to {entry.path}: nothing is compiled or loaded beside it; remove it")
