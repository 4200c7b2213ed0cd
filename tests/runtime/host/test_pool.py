"""The pool of threads: it grows while all are busy, or up to a bound."""

import threading

import pytest

from headrace.runtime.host.pool import THREAD_NAME, Pool

WAIT_S = 20.0


@pytest.fixture
def go():
    """What the calls of a test wait for; set when it ends."""
    event = threading.Event()
    yield event
    event.set()


def run(pool, count, go):
    """Gives the pool calls that note their threads and wait; returns the notes, and what counts those that are over."""
    names, begun, over = [], threading.Semaphore(0), threading.Semaphore(0)

    def call():
        names.append(threading.current_thread().name)
        begun.release()
        go.wait(WAIT_S)
        over.release()

    for _ in range(count):
        pool.submit(call)
    return names, begun, over


def test_it_grows_while_all_threads_are_busy(go):
    pool = Pool()
    names, begun, over = run(pool, 5, go)
    assert all(begun.acquire(timeout=WAIT_S) for _ in range(5))
    assert pool.threads == len(set(names)) == 5 and all(name.startswith(THREAD_NAME) for name in names)
    go.set()
    assert all(over.acquire(timeout=WAIT_S) for _ in range(5))
    pool.close()


def test_calls_beyond_the_bound_wait_for_a_thread(go):
    pool = Pool("few-", 2)
    names, begun, over = run(pool, 7, go)
    assert all(begun.acquire(timeout=WAIT_S) for _ in range(2))
    assert pool.threads == len(names) == 2
    go.set()
    assert all(over.acquire(timeout=WAIT_S) for _ in range(7))
    assert len(set(names)) <= 2 and all(name.startswith("few-") for name in names)
    again, _, over = run(pool, 3, go)
    assert all(over.acquire(timeout=WAIT_S) for _ in range(3)) and len(again) == 3
    pool.close()


def test_a_closed_pool_takes_nothing():
    pool = Pool()
    pool.close()
    with pytest.raises(RuntimeError, match="closed"):
        pool.submit(lambda: None)


def test_a_thread_that_cannot_be_started_is_not_counted(monkeypatch, go):
    pool = Pool("few-", 1)

    def no_thread(self):
        raise RuntimeError("can't start new thread")

    with monkeypatch.context() as patch:
        patch.setattr(threading.Thread, "start", no_thread)
        with pytest.raises(RuntimeError, match="start new thread"):
            pool.submit(lambda: None)
    assert pool.threads == 0
    go.set()
    _, _, over = run(pool, 1, go)
    assert over.acquire(timeout=WAIT_S)
    pool.close()
