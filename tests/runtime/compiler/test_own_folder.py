"""The folder of compiled code: nothing is loaded that another user may have written."""

import json
import logging
import os
import stat
import subprocess
import sys
import tempfile
from pathlib import Path
from unittest import mock

import numpy as np
import pytest
import torch

import headrace as tf
from headrace import extend
from headrace.passes.region import find_regions
from headrace.runtime.compiler import archive, background, own_folder, server
from headrace.runtime.compiler.compile import CannotCompile
from headrace.runtime.compiler.own_folder import UnsafeFolder, folder, name_of_own, open_own
from headrace.runtime.compiler.torch_door.generated_module import _library

STRANGER = 65534  # nobody's number
as_root = pytest.mark.skipif(os.geteuid() != 0, reason="only root can give a file to another user")


@pytest.fixture(autouse=True)
def home(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """The user's cache folder is an empty one."""
    for name in (own_folder.VARIABLE, own_folder.TRITONS):
        monkeypatch.setenv(name, "")  # so that what a compilation sets is undone
        monkeypatch.delenv(name)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setattr(own_folder, "_walked", set())
    return tmp_path / "cache"


def mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


# ---- which folder it is


def test_it_lies_in_the_users_cache_and_is_closed_to_others(home: Path) -> None:
    made = folder()
    assert made.parent == home / "headrace" and made.name.startswith("compiled-")
    assert [mode(p) for p in (home, made.parent, made)] == [0o700] * 3
    assert folder() == made


def test_without_the_variable_it_lies_in_the_home(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.delenv("XDG_CACHE_HOME")
    monkeypatch.setenv("HOME", str(tmp_path))
    assert folder().parent == tmp_path / ".cache" / "headrace"


def test_a_relative_cache_folder_is_ignored_as_the_standard_says(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", "here")
    monkeypatch.setenv("HOME", str(tmp_path))
    assert folder().parent == tmp_path / ".cache" / "headrace"


def test_the_folder_that_the_user_names_is_taken(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv(own_folder.VARIABLE, str(tmp_path / "mine"))
    assert folder() == tmp_path / "mine" and mode(tmp_path / "mine") == 0o700
    os.chmod(tmp_path / "mine", 0o755)  # as mkdir makes it
    assert folder() == tmp_path / "mine"


def test_what_torch_chose_by_itself_is_not_taken_for_the_users_choice(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from torch._inductor.runtime import cache_dir_utils

    monkeypatch.delenv(own_folder.VARIABLE, raising=False)  # importing that may have asked for it
    monkeypatch.setattr(cache_dir_utils, "default_cache_dir", lambda: f"{tempfile.gettempdir()}/torchinductor_me")
    monkeypatch.setattr(os, "makedirs", lambda *arguments, **options: None)
    assert cache_dir_utils.cache_dir() == os.environ[own_folder.VARIABLE] == f"{tempfile.gettempdir()}/torchinductor_me"
    assert folder().parent == home / "headrace"


WITHOUT_A_HOME = """
import os, sys
from headrace.runtime.compiler import own_folder
made = own_folder.folder()
assert own_folder.folder() == made and os.stat(made).st_mode & 0o777 == 0o700
print(made)
"""


def test_where_no_cache_can_be_made_code_is_kept_until_the_process_ends(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("no folder can be made below this")
    given = {**os.environ, "XDG_CACHE_HOME": str(tmp_path / "file"), "TMPDIR": str(tmp_path)}
    ended = subprocess.run([sys.executable, "-c", WITHOUT_A_HOME], env=given, capture_output=True, text=True)
    assert ended.returncode == 0, ended.stderr
    made = Path(ended.stdout.strip())
    assert made.parent == tmp_path and not made.exists()
    assert "until this process ends" in ended.stderr and ended.stderr.count("\n") == 1


# ---- which are refused


@pytest.mark.parametrize("open_to", [0o777, 0o722, 0o1777])
def test_a_folder_that_others_may_write_is_refused(open_to: int) -> None:
    made = folder()
    os.chmod(made, open_to)
    with pytest.raises(
        UnsafeFolder, match=rf"{made.name}: other users may write to it \(mode {open_to:o}\); name a folder"
    ):
        folder()


def test_a_link_is_refused(home: Path, tmp_path: Path) -> None:
    home.mkdir()
    (tmp_path / "elsewhere").mkdir(mode=0o700)
    (home / "headrace").symlink_to(tmp_path / "elsewhere")
    with pytest.raises(UnsafeFolder, match="headrace: it is a link"):
        folder()


def test_a_folder_whose_parent_others_may_write_is_refused(home: Path) -> None:
    home.mkdir()
    home.chmod(0o777)
    with pytest.raises(
        UnsafeFolder, match=f"other users may write to {home}; name a folder of your own in XDG_CACHE_HOME"
    ):
        folder()
    home.chmod(0o1777)  # like the temporary directory: nobody can replace what is another's
    folder()


def test_a_cache_behind_a_link_is_judged_by_where_it_leads(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (tmp_path / "scratch").mkdir()
    (tmp_path / "link").symlink_to(tmp_path / "scratch")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "link"))
    assert folder().parent == tmp_path / "scratch" / "headrace"
    (tmp_path / "scratch").chmod(0o777)
    with pytest.raises(UnsafeFolder, match="other users may write to"):
        folder()


@as_root
@pytest.mark.parametrize("which", ["folder", "parent", "named"])
def test_a_folder_of_another_user_is_refused(
    which: str, home: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    made = folder()
    if which == "named":
        made = tmp_path / "named"
        made.mkdir(mode=0o700)
        monkeypatch.setenv(own_folder.VARIABLE, str(made))
    os.chown({"parent": home}.get(which, made), STRANGER, STRANGER)
    with pytest.raises(UnsafeFolder, match=r"belongs to user (nobody|65534)"):
        folder()


# ---- which files are refused


def test_a_file_is_opened_if_it_is_the_users_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    mine = folder() / "a"
    mine.write_text("a")
    mine.chmod(0o666)  # in a folder that lets nobody in
    with open(open_own(mine)) as file:
        assert file.read() == "a"
    outside = tmp_path / "b"
    outside.write_text("b")
    outside.chmod(0o666)
    with pytest.raises(UnsafeFolder, match=r"b is not loaded: other users may write to it \(mode 666\)"):
        open_own(outside)
    with pytest.raises(UnsafeFolder, match="is not loaded: it is not a plain file"):
        open_own(tmp_path)
    (tmp_path / "link").symlink_to(mine)
    with pytest.raises(OSError, match="Too many levels of symbolic links"):
        open_own(tmp_path / "link")
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(UnsafeFolder, match="not a plain file"):  # and nobody waits for a writer
        open_own(tmp_path / "pipe")


@as_root
def test_what_another_user_planted_is_not_opened() -> None:
    archive.keep("a", {"files": []})
    assert archive.find("a") == {"files": []}
    planted = archive.folder() / "a.json"
    os.chown(planted, STRANGER, STRANGER)
    assert archive.find("a") is None
    with pytest.raises(UnsafeFolder, match=r"a.json is not loaded: it belongs to user"):
        open_own(planted)


def test_names_of_descriptors_are_never_used_twice(tmp_path: Path) -> None:
    """The loader takes equal names for the same library; descriptors have the same number again and again."""
    file = folder() / "a"
    file.write_text("a")
    names = []
    for _ in range(40):
        with name_of_own(str(file)) as name:
            assert Path(name).read_text() == "a"
            names.append(name)
    assert len(set(names)) == 40


# ---- compiled code


def program(width: int = 3) -> float:
    """What compiled code of an accelerator gives, as the compiling process makes it; here it is this one."""
    extend.register_device("ACCELERATOR", "cpu", 1, priority=200)
    try:
        with tf.Graph().as_default(), tf.Session() as session:
            x = tf.random_normal([width], seed=1)
            y = tf.reduce_sum(tf.exp(x * 2.0) * 0.1 + tf.tanh(x))
            graph = session._master.plan((), (y,), ()).graph
            (region,) = find_regions(graph.nodes, graph.fetches)
            with mock.patch.object(background.queue.process, "ask", server.answer):
                call = background.compile_in_background(region, session._master.registered)
            assert call is not None
            return float(call([torch.linspace(0.0, 1.0, width)], [])[0])
    finally:
        extend.unregister_device("ACCELERATOR")


def libraries(place: Path) -> list[Path]:
    return [p for p in place.rglob("*.so") if p.is_file()]


def codes() -> list[Path]:
    return sorted(archive.folder().glob("*.json"))


def said(caplog: pytest.LogCaptureFixture) -> list[str]:
    return [r.getMessage() for r in caplog.records if r.name == "headrace.compile" and r.levelno >= logging.WARNING]


@pytest.mark.usefixtures("full_length")
def test_torchs_compiler_writes_there_and_nowhere_else(
    home: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    (tmp_path / "temporary").mkdir()
    given = {k: v for k, v in os.environ.items() if k != own_folder.VARIABLE}
    given |= {"TMPDIR": str(tmp_path / "temporary"), "PYTHONPATH": str(Path(__file__).parent)}
    source = "import test_own_folder as t; t.program(); import os; print(os.environ['TORCHINDUCTOR_CACHE_DIR'])"
    ended = subprocess.run([sys.executable, "-c", source], env=given, capture_output=True, text=True)
    assert ended.returncode == 0, ended.stderr[-2000:]
    made = folder()
    assert ended.stdout.strip() == str(made)
    assert libraries(made) and codes()
    assert list((made / "precompiled_headers").glob("*.gch"))
    assert list((tmp_path / "temporary").iterdir()) == []


@as_root
def test_compiled_code_that_another_user_planted_is_not_run() -> None:
    """A program finds the code of an earlier one, but somebody has put other code in its place."""
    program()
    (code,) = codes()
    parts = json.loads(code.read_text())
    code.write_text(json.dumps({**parts, "text": "raise SystemExit('code of a stranger')"}))
    os.chown(code, STRANGER, STRANGER)
    own_folder._walked.clear()
    with pytest.raises(CannotCompile, match=rf"{code} belongs to user"):
        program()


@as_root
def test_a_library_that_another_user_planted_is_not_loaded() -> None:
    program(5)
    (code,) = codes()
    (library,) = json.loads(code.read_text())["files"]
    os.chown(library, STRANGER, STRANGER)
    assert archive.find(code.stem) is None
    with pytest.raises(UnsafeFolder, match=r"is not loaded: it belongs to user"):
        _library.__wrapped__(library)
    own_folder._walked.clear()
    with pytest.raises(CannotCompile, match=rf"{library} belongs to user"):
        program(5)


@pytest.mark.parametrize("mode", ["always", "auto"])
def test_in_a_folder_that_others_may_write_nothing_is_compiled(mode: str, caplog: pytest.LogCaptureFixture) -> None:
    made = folder()
    made.chmod(0o777)
    with tf.Graph().as_default(), tf.Session(config=tf.ConfigProto(compile=mode, device_count={"GPU": 0})) as session:
        x = tf.placeholder(tf.float32, [7])
        y = tf.reduce_sum(tf.exp(x) * 2.0 + 1.0)
        for _ in range(60):
            assert session.run(y, {x: np.zeros(7)}) == pytest.approx(21.0)
    assert libraries(made) == [] and list(made.iterdir()) == []
    if mode == "always":
        (line,) = said(caplog)
        assert "not compiled, stays interpreted" in line and "other users may write to it (mode 777)" in line


def test_the_compiling_process_looks_too(monkeypatch: pytest.MonkeyPatch) -> None:
    from headrace.runtime.compiler.process import CompileProcess, Died

    made = folder()
    made.chmod(0o777)
    assert "other users may write to it" in server.answer({})["error"]
    with pytest.raises(Died, match="other users may write to it"):
        CompileProcess().ask({})


def test_tritons_folder_is_looked_at_if_the_user_names_one(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (tmp_path / "kernels").mkdir()
    monkeypatch.setenv(own_folder.TRITONS, str(tmp_path / "kernels"))
    own_folder.point_compiler()
    (tmp_path / "kernels").chmod(0o777)
    with pytest.raises(UnsafeFolder, match=r"name a folder of your own in TRITON_CACHE_DIR"):
        own_folder.point_compiler()


def test_a_link_inside_is_refused(tmp_path: Path) -> None:
    made = folder()
    (made / "aa").mkdir()
    (made / "aa" / "kernel.so").symlink_to(tmp_path / "elsewhere.so")
    with pytest.raises(UnsafeFolder, match=r"kernel.so is a link"):
        own_folder.point_compiler()
