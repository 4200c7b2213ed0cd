"""The number of threads of a step: decided by a pure machine, tested as tables."""

import threading

import pytest
import torch

import headrace as tf
from headrace.core import process
from headrace.runtime.host.threads import AGAIN, TRIALS, ThreadChoice, default_threads, divide_threads, use_threads


def settle(choice: ThreadChoice, seconds: dict[int, float]) -> int:
    for _ in range(2 * TRIALS + 3):
        threads = choice.pick()
        choice.note(threads, seconds[threads])
    return choice.pick()


@pytest.mark.parametrize(
    ("seconds", "chosen"),
    [
        ({1: 0.1, 4: 0.03}, 4),
        ({1: 0.03, 4: 0.1}, 1),
        ({1: 0.05, 4: 0.05}, 1),
        ({1: 0.05, 4: 0.048}, 1),
        ({1: 0.05, 4: 0.047}, 4),
        ({1: 1e-5, 4: 1e-6}, 1),
    ],
)
def test_the_faster_choice_wins_and_small_steps_use_one(seconds: dict[int, float], chosen: int) -> None:
    assert settle(ThreadChoice(4), seconds) == chosen


def test_looks_again_when_the_load_changes() -> None:
    choice = ThreadChoice(2)
    assert settle(choice, {1: 1.0, 2: 0.5}) == 2
    choice.note(2, AGAIN + 1)
    assert settle(choice, {1: 0.5, 2: 5.0}) == 1


def test_one_core_never_tries() -> None:
    choice = ThreadChoice(1)
    choice.note(1, 1.0)
    assert choice.pick() == 1


@pytest.mark.parametrize(
    ("other", "threads", "cores", "granted"),
    [(4, 4, 4, 2), (4, 4, 0, 2), (2, 2, 4, 2), (3, 1, 4, 1), (6, 2, 4, 1), (3, 6, 6, 4), (2, 4, 6, 4)],
)
def test_steps_at_the_same_time_share_the_cores(other: int, threads: int, cores: int, granted: int) -> None:
    """A step beside another one gets what it asks for if both fit, else its part of the cores."""
    inside, leave = threading.Event(), threading.Event()
    seen = []

    def hold() -> None:
        with use_threads(other, cores):
            inside.set()
            leave.wait(10)

    before = torch.get_num_threads()
    holder = threading.Thread(target=hold)
    holder.start()
    inside.wait(10)
    with use_threads(threads, cores) as number:
        seen.append(number)
    leave.set()
    holder.join()
    with use_threads(before) as number:
        seen.append(number)
    assert seen == [granted, before]


@pytest.mark.parametrize(
    ("budgets", "threads", "divided"),
    [
        ([], 4, []),
        ([0], 4, [4]),
        ([0, 0], 4, [2, 2]),
        ([0, 0, 0], 2, [1, 1, 1]),
        ([0, 0], 5, [3, 2]),
        ([1, 0], 4, [1, 3]),
        ([8, 0], 4, [8, 1]),
        ([3, 2], 4, [3, 2]),
    ],
)
def test_cpus_divide_the_threads(budgets: list[int], threads: int, divided: list[int]) -> None:
    assert divide_threads(budgets, threads) == divided


def test_settings(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HEADRACE_THREADS", "3")
    assert default_threads() == 3
    monkeypatch.setenv("HEADRACE_THREADS", "many")
    with pytest.raises(ValueError, match="positive integer, got 'many'"):
        default_threads()
    monkeypatch.setenv("HEADRACE_THREADS", "1")
    with tf.Session(config=tf.ConfigProto(intra_op_parallelism_threads=2)) as sess:
        assert sess._master.worker.threads == 2


def test_the_users_openmp_settings_are_left_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("GOMP_SPINCOUNT", raising=False)
    process.prepare()  # torch is loaded: too late, so nothing is changed
    import os

    assert "GOMP_SPINCOUNT" not in os.environ
