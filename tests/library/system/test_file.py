"""tf.gfile over local files: results and errors are TensorFlow's."""

import contextlib
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


@pytest.mark.parametrize(
    ("mode", "first", "after"),
    [
        ("r+", "one\ntwo", "xy"),
        ("w+", "one\ntwo", "xy"),
        ("a+", "one\ntwo", "one\ntwoxy"),
        ("a+b", b"one\ntwo", b"one\ntwoxy"),
    ],
)
def test_reading_between_writes(tree: Path, mode: str, first: object, after: object) -> None:
    """Reading starts at the beginning in every mode, the first write empties the file unless it appends."""
    (tree / "w").write_text("one\ntwo")
    with tf.gfile.GFile("w", mode) as file:
        assert (file.tell(), file.read(), file.tell()) == (0, first, 7)
        file.write("x")
        file.write("y")
        assert file.tell() == 7
        file.flush()
        assert file.size() == len(after)
        file.seek(0)
        assert file.read() == after
        file.seek(-1, 2)
        file.seek(0, 1)
        assert file.readlines() == [after[-1:]]
        with pytest.raises(tf.errors.InvalidArgumentError, match="Seeking to a negative position: -1"):
            file.seek(-1)
        with pytest.raises(tf.errors.OutOfRangeError, match="reached end of file"):
            file.seek(99)


@pytest.mark.parametrize(
    ("mode", "after", "rest"),
    [("r+", 5, ["three\n"]), ("w+", 5, ["three\n"]), ("a+", 19, ["three\n", "four\n", "five"])],
)
def test_lines_between_writes(tree: Path, mode: str, after: int, rest: list[str]) -> None:
    """What was read ahead is still read after a write, as in TensorFlow; what was appended comes after it."""
    (tree / "w").write_text("one\ntwo\nthree\n")
    with tf.gfile.GFile("w", mode) as file:
        assert (file.size(), file.readline(), file.tell(), next(iter(file))) == (14, "one\n", 4, "two\n")
        file.write("four\n")
        file.flush()
        assert (file.size(), file.tell()) == (after, 8)
        file.write("five")
        file.flush()
        file.seek(4)
        assert (file.readline(), list(file), file.read(3)) == ("two\n", rest, "")


@pytest.mark.parametrize(("mode", "start"), [("w", 0), ("a", 14)])
def test_a_file_that_is_only_written_is_not_read(tree: Path, mode: str, start: int) -> None:
    (tree / "w").write_text("one\ntwo\nthree\n")
    with tf.gfile.GFile("w", mode) as file:
        assert (file.size(), file.tell()) == (14, start)
        for use in (file.readline, file.readlines, file.read, lambda: next(iter(file)), lambda: file.seek(0)):
            with pytest.raises(tf.errors.PermissionDeniedError):
                use()
        file.write("four")
        assert file.tell() == start + 4


def test_where_writing_stands(tree: Path) -> None:
    with tf.gfile.GFile("w", "a") as file:
        file.write("12")
        assert file.tell() == 3
    with pytest.raises(tf.errors.NotFoundError, match="no; No such file"):
        tf.gfile.GFile("no", "a+").read()


def test_other_file_systems() -> None:
    gfile = tf.gfile
    gfile.MakeDirs("memory://room/deep")
    with gfile.GFile("memory://room/a.txt", "w") as file:
        file.write("one\ntwo\n")
    with gfile.GFile("memory://room/a.txt", "a") as file:
        file.write("three")
    with gfile.GFile("memory://room/a.txt") as file:
        assert (file.size(), file.readline(), file.tell(), list(file)) == (13, "one\n", 4, ["two\n", "three"])
    gfile.Copy("memory://room/a.txt", "memory://room/deep/b")
    with pytest.raises(tf.errors.AlreadyExistsError, match="file already exists: memory://room/deep/b"):
        gfile.Copy("memory://room/a.txt", "memory://room/deep/b")
    gfile.Rename("memory://room/a.txt", "memory://room/c.txt")
    assert (gfile.Exists("memory://room/a.txt"), gfile.IsDirectory("memory://room/deep")) == (False, True)
    assert gfile.ListDirectory("memory://room") == ["c.txt", "deep"]
    assert gfile.Glob("memory://room/*.txt") == ["memory://room/c.txt"]
    walked = [("memory://room", ["deep"], ["c.txt"]), ("memory://room/deep", [], ["b"])]
    assert list(gfile.Walk("memory://room")) == walked
    assert list(gfile.Walk("memory://room", in_order=False)) == walked[::-1]
    status = gfile.Stat("memory://room/deep/b")
    assert (status.length, status.is_directory, status.mtime_nsec > 0) == (13, False, True)
    with pytest.raises(tf.errors.NotFoundError, match="memory://room/no"):
        gfile.GFile("memory://room/no").read()
    with pytest.raises(tf.errors.FailedPreconditionError, match="Is a directory"):
        gfile.Remove("memory://room/deep")
    gfile.Remove("memory://room/c.txt")
    gfile.DeleteRecursively("memory://room")
    assert not gfile.Exists("memory://room")


def test_copying_between_file_systems(tree: Path) -> None:
    tf.gfile.Copy("f.txt", "memory://copied")
    tf.gfile.Rename("memory://copied", "back.txt")
    assert (tree / "back.txt").read_bytes() == (tree / "f.txt").read_bytes()
    assert not tf.gfile.Exists("memory://copied")


@pytest.mark.parametrize(
    ("path", "message"),
    [
        ("zork://a", "File system scheme 'zork' not implemented .*Protocol not known: zork"),
        ("gs://bucket/a", r"scheme 'gs' not implemented \(file: 'gs://bucket/a'\): it needs gcsfs: pip install gcsfs"),
    ],
)
def test_schemes_that_are_not_there(path: str, message: str) -> None:
    with pytest.raises(tf.errors.UnimplementedError, match=message):
        tf.gfile.GFile(path).read()


def test_the_module_that_programs_import(tree: Path) -> None:
    from headrace.library.system import file_io

    file_io.write_string_to_file("s", "text")
    assert (file_io.read_file_to_string("s"), file_io.read_file_to_string("s", True)) == ("text", b"text")
    assert file_io.FileIO is tf.gfile.GFile
    assert file_io.get_matching_files("s") == ["s"]


def test_readers_tables_and_training_sessions_of_another_scheme() -> None:
    pytest.importorskip("fsspec")
    folder = "memory://test_door"
    with tf.gfile.GFile(f"{folder}/words.txt", "w") as file:
        file.write("water\nwheel\n")
    lines = tf.train.string_input_producer([f"{folder}/words.txt"], num_epochs=1, shuffle=False)
    _, line = tf.TextLineReader().read(lines)
    number = tf.contrib.lookup.index_table_from_file(f"{folder}/words.txt").lookup(line)
    count = tf.train.get_or_create_global_step().assign_add(1)
    tf.summary.scalar("number", number)
    with tf.train.MonitoredTrainingSession(checkpoint_dir=f"{folder}/training", save_summaries_steps=1) as sess:
        assert [sess.run([line, number, count]) for _ in range(2)] == [[b"water", 0, 1], [b"wheel", 1, 2]]
    assert tf.train.latest_checkpoint(f"{folder}/training") == f"{folder}/training/model.ckpt-2"
    assert tf.gfile.Glob(f"{folder}/training/events.out.tfevents.*")
    tf.summary.FileWriterCache.clear()
    tf.gfile.DeleteRecursively(folder)


@pytest.mark.parametrize("how", ["write", "flush", "close"])
def test_a_full_disk_is_an_error_of_tensorflow(how):
    file = tf.gfile.GFile("/dev/full", "w")
    with pytest.raises(tf.errors.ResourceExhaustedError, match="/dev/full; No space left on device"):
        file.write("x" * (10_000_000 if how == "write" else 1))
        getattr(file, "flush" if how == "flush" else "close")()
    with contextlib.suppress(tf.errors.ResourceExhaustedError):  # what was not written
        file.close()
