"""Caches in files, and what cursors of many epochs leave behind."""

import gc
import os

import pytest
from resources.data.chains import drained, running

from headrace.resources.data.ahead import Prefetch
from headrace.resources.data.cache import FileCache
from headrace.resources.data.chain import Repeat
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


def test_the_cursors_of_epochs_that_are_over_are_gone(tmp_path):
    for one in (lambda: Prefetch(Range(range(2)), 1), lambda: chain(tmp_path / "kept")):
        with running(Repeat(one(), 50)) as run:
            drained(run, 1000)
            gc.collect()
            assert len(run._at_close) <= 2
