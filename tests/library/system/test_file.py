"""tf.gfile over local files: results and errors are TensorFlow's."""

from collections.abc import Callable
from pathlib import Path

import pytest

import headrace as tf


@pytest.fixture
def tree(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "a/b").mkdir(parents=True)
    (tmp_path / "f.txt").write_bytes("héllo\nworld\r\nx".encode())
    (tmp_path / "a/.hid").write_text("1")
    (tmp_path / "w").write_text("w")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_reading(tree: Path) -> None:
    with tf.gfile.GFile("f.txt") as file:
        assert (file.name, file.mode, file.size(), file.seekable()) == ("f.txt", "r", 15, True)
        assert file.read() == "héllo\nworld\r\nx"
        file.seek(3)
        assert (file.tell(), file.read(3)) == (3, "llo")
        file.seek(-2, 2)
        assert file.tell() == 13
    with tf.gfile.Open("f.txt", "rb") as file:
        assert file.read(3) == b"h\xc3\xa9"
    with tf.gfile.FastGFile("f.txt") as file:
        assert file.next() == "héllo\n"
        assert file.readlines() == ["world\n", "x"]
        assert file.readline() == ""
    with tf.gfile.GFile(f"file://{tree}/f.txt") as file:
        assert list(file) == ["héllo\n", "world\n", "x"]


def test_writing(tree: Path) -> None:
    with tf.gfile.GFile("new", "w") as file:
        file.write("é")
        file.write(b"!")
        file.flush()
        assert (tree / "new").read_text() == "é!"
    with tf.gfile.GFile("new", "ab") as file:
        file.write("more")
    assert tf.gfile.GFile("new").read() == "é!more"
    tf.gfile.GFile("never", "w").close()
    assert not tf.gfile.Exists("never")  # opened when first written, as in TensorFlow


REFUSED: dict[str, tuple[Callable[[], object], type[Exception], str]] = {
    "read missing": (lambda: tf.gfile.GFile("no").read(), tf.errors.NotFoundError, "no; No such file"),
    "read folder": (lambda: tf.gfile.GFile("a").read(), tf.errors.FailedPreconditionError, "a; Is a directory"),
    "write on r": (lambda: tf.gfile.GFile("f.txt").write(""), tf.errors.PermissionDeniedError, "open for writing"),
    "read on w": (lambda: tf.gfile.GFile("z", "w").read(), tf.errors.PermissionDeniedError, "open for reading"),
    "mode": (lambda: tf.gfile.GFile("z", "q"), tf.errors.InvalidArgumentError, "mode is not 'r'"),
    "content": (lambda: tf.gfile.GFile("z", "w").write(3), TypeError, "Expected binary or unicode"),
    "seek": (lambda: tf.gfile.GFile("f.txt").seek(), TypeError, "offset argument required"),
    "whence": (lambda: tf.gfile.GFile("f.txt").seek(0, 9), tf.errors.InvalidArgumentError, "whence"),
    "mkdir": (lambda: tf.gfile.MkDir("q/w"), tf.errors.NotFoundError, "q/w; No such file"),
    "makedirs": (lambda: tf.gfile.MakeDirs("f.txt/x"), tf.errors.FailedPreconditionError, "is not a directory"),
    "list": (lambda: tf.gfile.ListDirectory("f.txt"), tf.errors.NotFoundError, "Could not find directory f.txt"),
    "remove": (lambda: tf.gfile.Remove("no"), tf.errors.NotFoundError, "no; No such file"),
    "remove folder": (lambda: tf.gfile.Remove("a"), tf.errors.FailedPreconditionError, "a; Is a directory"),
    "rename": (lambda: tf.gfile.Rename("f.txt", "w"), tf.errors.AlreadyExistsError, "file already exists"),
    "rename missing": (lambda: tf.gfile.Rename("no", "z"), tf.errors.NotFoundError, "no; No such file"),
    "copy": (lambda: tf.gfile.Copy("f.txt", "w"), tf.errors.AlreadyExistsError, "file already exists"),
    "copy missing": (lambda: tf.gfile.Copy("no", "z"), tf.errors.NotFoundError, "no; No such file"),
    "delete": (lambda: tf.gfile.DeleteRecursively("no"), tf.errors.NotFoundError, "no not found"),
    "stat": (lambda: tf.gfile.Stat("no"), tf.errors.NotFoundError, "no; No such file"),
    "scheme": (lambda: tf.gfile.Exists("gs://x/y"), tf.errors.UnimplementedError, "scheme 'gs' not implemented"),
}


@pytest.mark.parametrize("case", REFUSED)
def test_refused(tree: Path, case: str) -> None:
    call, error, message = REFUSED[case]
    with pytest.raises(error, match=message):
        call()


def test_folders(tree: Path) -> None:
    tf.gfile.MkDir("a")
    tf.gfile.MakeDirs("a/b")
    tf.gfile.MakeDirs("c/d")
    assert tf.gfile.ListDirectory(".") == ["a", "c", "f.txt", "w"]
    assert [tf.gfile.IsDirectory(p) for p in ("a", "f.txt", "no")] == [True, False, False]
    assert tf.gfile.Glob("*.txt") == ["f.txt"]
    assert tf.gfile.Glob(["*/*", tree / "w"]) == ["a/.hid", "a/b", "c/d", str(tree / "w")]
    assert list(tf.gfile.Walk("a")) == [("a", ["b"], [".hid"]), ("a/b", [], [])]
    assert list(tf.gfile.Walk("a", in_order=False)) == [("a/b", [], []), ("a", ["b"], [".hid"])]
    assert list(tf.gfile.Walk("no")) == []
    assert (tf.gfile.Stat("f.txt").length, tf.gfile.Stat("a").is_directory) == (15, True)


def test_moving_and_removing(tree: Path) -> None:
    tf.gfile.Copy("f.txt", "w", overwrite=True)
    assert tf.gfile.Stat("w").length == 15
    tf.gfile.Rename("w", "f.txt", overwrite=True)
    tf.gfile.Remove("f.txt")
    tf.gfile.DeleteRecursively("a")
    assert tf.gfile.ListDirectory(".") == []


def test_the_same_under_tf2s_names(tree: Path) -> None:
    gfile = tf.io.gfile
    gfile.makedirs("n/m")
    gfile.mkdir("n/k")
    gfile.copy("f.txt", "n/c")
    gfile.rename("n/c", "n/d")
    assert gfile.listdir("n") == ["d", "k", "m"]
    assert gfile.glob("n/?") == ["n/d", "n/k", "n/m"]
    assert (gfile.exists("n/d"), gfile.isdir("n/d"), gfile.stat("n/d").length) == (True, False, 15)
    assert list(gfile.walk("n", topdown=False))[-1] == ("n", ["k", "m"], ["d"])
    gfile.remove("n/d")
    gfile.rmtree("n")
    assert not gfile.exists("n")
    assert gfile.GFile is tf.gfile.GFile
