"""Caches in files, and what cursors of many epochs leave behind."""

import gc
import os

import pytest
from resources.calls import poll
from resources.data.chains import drained, running

from headrace.core.errors import AlreadyExistsError, CancelledError
from headrace.resources.data.ahead import Prefetch
from headrace.resources.data.cache import FileCache
from headrace.resources.data.chain import Repeat, Take, Zip
from headrace.resources.data.source import Range


def chain(path):
    return FileCache(Range(range(4)), str(path))


def half(path):
    """The position after two of four elements, while the file is being written."""
    with running(chain(path)) as run:
        run.cursor.next()
        run.cursor.next()
        return run.save()


def test_a_position_names_no_file_but_an_unfinished_one_of_the_cache(tmp_path):
    other = tmp_path / "other"
    other.write_bytes(b"something else")
    state = half(tmp_path / "kept")
    state["cursor"][1][1] = str(other)
    with running(chain(tmp_path / "kept")) as run, pytest.raises(ValueError, match="no unfinished file of the cache"):
        run.restore(state)
    assert other.read_bytes() == b"something else"


@pytest.mark.parametrize("lost", [False, True])
def test_a_cache_whose_beginning_is_lost_is_not_used(tmp_path, lost):
    state = half(tmp_path / "kept")
    if lost:
        os.remove(state["cursor"][1][1])
    with running(chain(tmp_path / "kept")) as run:
        run.restore(state)
        assert drained(run) == [(2,), (3,)]
    assert os.listdir(tmp_path) == ([] if lost else ["kept"])
    with running(chain(tmp_path / "kept")) as run:
        assert drained(run) == [(0,), (1,), (2,), (3,)]


def cursors(run):
    gc.collect()
    return len(run._at_close)


def test_the_cursors_of_epochs_that_are_over_are_gone(tmp_path):
    for one in (lambda: Prefetch(Range(range(2)), 1), lambda: chain(tmp_path / "kept")):
        with running(Repeat(one(), 50)) as run:
            drained(run, 1000)
            poll(lambda run=run: cursors(run) <= 2)  # when the pool has made the calls that nobody needs any more


def test_one_iterator_at_a_time_writes_a_file(tmp_path):
    path = tmp_path / "kept"
    with running(chain(path)) as first, running(chain(path)) as second:
        assert first.cursor.next() == (0,)
        with pytest.raises(AlreadyExistsError, match=r"concurrent caching iterator .*kept.lockfile'\), of process \d+"):
            second.cursor.next()
        assert drained(first) == [(1,), (2,), (3,)]
        assert drained(second) == [(0,), (1,), (2,), (3,)]  # of the file
        assert os.listdir(tmp_path) == ["kept"]
    path.unlink()
    with running(chain(path)) as first:
        first.cursor.next()
    with running(chain(path)) as second:  # the first was closed
        assert drained(second) == [(0,), (1,), (2,), (3,)]
    assert not (tmp_path / "kept.lockfile").exists()


def test_cursors_of_one_iterator_do_not_refuse_each_other(tmp_path):
    """An epoch that was left early may still be at work on another thread."""
    with running(Repeat(Take(Prefetch(chain(tmp_path / "kept"), 1), 2), 5)) as run:
        assert drained(run) == [(0,), (1,)] * 5
    both = chain(tmp_path / "both")
    with running(Zip([both, both])) as run:
        assert drained(run) == [(i, i) for i in range(4)]
    assert not [name for name in os.listdir(tmp_path) if name.endswith("lockfile")]


def test_a_thread_that_is_ahead_does_not_take_the_lock_after_closing(tmp_path):
    with running(chain(tmp_path / "kept")) as run:
        run.cursor.next()
        run.close()
        with pytest.raises(CancelledError):
            run.cursor.next()
        with running(chain(tmp_path / "kept")) as other:
            assert drained(other) == [(0,), (1,), (2,), (3,)]
