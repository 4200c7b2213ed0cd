"""Sources that read files, and caches: what they give, and that they go on exactly from any position."""

import gzip
import os
import zlib

import pytest
from resources.data.chains import check_cuts, drained, elements, running

from headrace.core.errors import DataLossError, InvalidArgumentError, NotFoundError
from headrace.core.record import frame
from headrace.resources.data.ahead import Prefetch
from headrace.resources.data.cache import FileCache, MemoryCache
from headrace.resources.data.chain import Concatenate, Repeat, Take
from headrace.resources.data.files import CsvRecords, FixedLengthRecords, Lines, TFRecords
from headrace.resources.data.function import Map
from headrace.resources.data.shuffle import Shuffle
from headrace.resources.data.source import Range

PACK = {"": lambda data: data, "GZIP": gzip.compress, "ZLIB": zlib.compress}


@pytest.fixture(params=PACK)
def compression(request):
    return request.param


@pytest.fixture
def write(tmp_path, compression):
    def make(name, data):
        path = tmp_path / name
        path.write_bytes(PACK[compression](data))
        return os.fsencode(path)

    return make


def test_lines(write, compression):
    names = [write("a", b"one\ntwo\r\n\nfour"), write("b", b""), write("c", b"five\n")]
    given = check_cuts(lambda: Lines(names, compression))
    assert given == [(b"one",), (b"two",), (b"",), (b"four",), (b"five",)]


def test_tfrecords(write, compression):
    names = [write("a", frame(b"1") + frame(b"")), write("b", frame(b"x" * 300))]
    assert check_cuts(lambda: TFRecords(names, compression)) == [(b"1",), (b"",), (b"x" * 300,)]


def test_records_of_a_fixed_length(write, compression):
    names = [write("a", b"hhh1122ff"), write("b", b"hhhff")]
    assert check_cuts(lambda: FixedLengthRecords(names, compression, 3, 2, 2)) == [(b"11",), (b"22",)]


def test_a_rest_that_is_no_record_is_an_error(write, compression):
    name = write("a", b"hhh1122f")
    refused = pytest.raises(InvalidArgumentError, match="which is not an exact multiple of the record length")
    with running(FixedLengthRecords([name], compression, 3, 2, 2)) as run, refused:
        for _ in range(3):
            run.cursor.next()


def test_files_that_are_not_there_or_damaged(tmp_path):
    assert elements(Lines([os.fsencode(tmp_path / "none")], ""), 1) == ["NotFoundError"]
    with running(Lines([os.fsencode(tmp_path / "none")], "")) as run, pytest.raises(NotFoundError, match="none"):
        run.cursor.next()
    (tmp_path / "cut").write_bytes(frame(b"record")[:-2])
    with (
        running(TFRecords([os.fsencode(tmp_path / "cut")], "")) as run,
        pytest.raises(DataLossError, match="truncated"),
    ):
        run.cursor.next()
    with pytest.raises(InvalidArgumentError, match="Unsupported compression_type: LZ4"):
        Lines([], "LZ4")


def test_a_line_of_a_long_quoted_record_is_looked_at_once(tmp_path, monkeypatch):
    content = b'1,"' + b'a "" b\n' * 3000 + b'","x\n"\n2,3,4\n'
    (tmp_path / "table").write_bytes(content)
    looked_at = []
    ends_open = CsvRecords._ends_open
    monkeypatch.setattr(CsvRecords, "_ends_open", lambda *a: looked_at.append(len(a[1])) or ends_open(*a))
    records = elements(CsvRecords([os.fsencode(tmp_path / "table")], "", False, b",", True))
    assert records == [(content.removesuffix(b"\n2,3,4\n"),), (b"2,3,4",)]
    assert sum(looked_at) == len(content)


class TestCache:
    def counted(self, seen):
        def note(x):
            seen.append(int(x))
            return (x,)

        return Map(Range(range(3)), note)

    def test_in_memory_for_the_epochs_of_one_iterator(self):
        seen = []
        stage = Repeat(MemoryCache(self.counted(seen)), 3)
        assert elements(stage) == [(0,), (1,), (2,)] * 3
        assert seen == [0, 1, 2]
        assert elements(stage) == [(0,), (1,), (2,)] * 3
        assert seen == [0, 1, 2] * 2

    def test_goes_on_from_every_position(self):
        check_cuts(lambda: Repeat(MemoryCache(Shuffle(Range(range(4)), 3, 1, 2)), 3))
        check_cuts(lambda: Repeat(Concatenate(Range(range(2)), MemoryCache(Shuffle(Range(range(4)), 3, 1, 2))), 3))

    def test_what_was_left_before_its_end_is_not_used(self):
        seen = []
        stage = Repeat(Take(MemoryCache(self.counted(seen)), 2), 2)
        assert elements(stage) == [(0,), (1,)] * 2
        assert seen == [0, 1, 0, 1]

    def test_in_a_file(self, tmp_path):
        seen = []
        path = str(tmp_path / "folder" / "kept")
        stage = Repeat(FileCache(self.counted(seen), path), 2)
        assert elements(stage) == [(0,), (1,), (2,)] * 2
        assert elements(stage) == [(0,), (1,), (2,)] * 2
        assert seen == [0, 1, 2]
        assert os.listdir(tmp_path / "folder") == ["kept"]

    @pytest.mark.parametrize("position", range(10))
    def test_a_file_goes_on_from_every_position(self, tmp_path, position):
        def make():
            return Prefetch(Repeat(FileCache(Shuffle(Range(range(4)), 3, 1, 2), str(tmp_path / "kept")), 2), 0)

        with running(make()) as run:
            first = [run.cursor.next() for _ in range(position)]
            state = run.save()
        with running(make()) as run:
            run.restore(state)
            rest = drained(run)
        given = [tuple(int(v) for v in e) for e in first if e is not None] + rest
        assert given[:4] == given[4:] and sorted(given[:4]) == [(0,), (1,), (2,), (3,)]
