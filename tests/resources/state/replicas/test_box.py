"""Boxes of several tasks without a network: sums in order, values along a route, and who is lost on the way."""

from __future__ import annotations

from typing import Any

import pytest
import torch

from headrace.core.errors import AbortedError, CancelledError
from headrace.resources.state.replicas import layout as layouts
from headrace.resources.state.replicas.box import Box, Boxes, ChunkQuery, Failure, Given, Stop, decoded, encoded
from headrace.resources.state.replicas.layout import Layout

NAMES, DTYPES = ("a", "b", "c"), (torch.float32, torch.float64, torch.float32)
SHAPES = ((2, 3), (5,), ())


class Network:
    """Tasks w0, w1 ... with a box each.  What is asked of those that are slow waits until `answer`; the lost do not answer."""

    def __init__(self, count: int, shapes: Any = SHAPES) -> None:
        self.tasks = {f"w{i}": Boxes(f"w{i}", lambda call: call()) for i in range(count)}
        self.boxes = [Box(boxes, Layout(NAMES, DTYPES, shapes), task) for task, boxes in self.tasks.items()]
        self.stops = [box.open() for box in self.boxes]
        self.lost: set[str] = set()
        self.slow: set[str] = set()
        self.asked: list[tuple[str, ChunkQuery]] = []
        self._waiting: list[tuple[Stop, ChunkQuery, Given]] = []
        for boxes in self.tasks.values():
            boxes.elsewhere = self._ask

    def _ask(self, stop: Stop, query: ChunkQuery, given: Given) -> None:
        self.asked.append((stop.task, query))
        if stop.task in self.lost:
            given(None, Failure(stop.box, f"{stop.task} cannot be reached"))
        elif stop.task in self.slow:
            self._waiting.append((stop, query, given))
        else:
            self.tasks[stop.task].give(stop.box, query, given)

    @property
    def waiting(self) -> int:
        return len(self._waiting)

    def answer(self) -> None:
        self.slow.clear()
        while self._waiting:
            stop, query, given = self._waiting.pop()
            self._ask(stop, query, given)


class Told:
    """What a wait ends with."""

    def __init__(self) -> None:
        self.ends: list[tuple[Any, BaseException | None]] = []

    def __call__(self, result: Any, error: BaseException | None) -> None:
        self.ends.append((result, error))

    @property
    def values(self) -> list[torch.Tensor]:
        ((result, error),) = self.ends
        assert error is None
        return list(result.call())

    @property
    def error(self) -> BaseException:
        ((_, error),) = self.ends
        assert error is not None
        return error


def tensors(seed: int, shapes: Any = SHAPES) -> list[torch.Tensor]:
    generator = torch.Generator().manual_seed(seed)
    return [torch.randn(shape, dtype=dtype, generator=generator) for shape, dtype in zip(shapes, DTYPES, strict=True)]


def assert_same(found: list[torch.Tensor], expected: list[torch.Tensor]) -> None:
    assert len(found) == len(expected)
    for one, other in zip(found, expected, strict=True):
        assert one.dtype == other.dtype and torch.equal(one, other)


@pytest.fixture(autouse=True)
def small_chunks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(layouts, "CHUNK", 16)


# ---- layouts


def test_tensors_come_out_as_they_went_in() -> None:
    layout = Layout(NAMES, DTYPES, SHAPES)
    assert layout.chunks == [
        (torch.float32, 0, 4), (torch.float32, 4, 7), (torch.float64, 0, 2), (torch.float64, 2, 4), (torch.float64, 4, 5),
    ]  # fmt: skip
    values = tensors(0)
    chunks = layout.pack("a value", values)
    assert all(layout.fits(number, chunk) for number, chunk in enumerate(chunks))
    assert not layout.fits(0, chunks[1]) and not layout.fits(0, chunks[0].double())
    found = layout.unpack(chunks)
    assert_same(found, values)
    found[0].zero_()
    assert_same(layout.unpack(chunks), values)  # what comes out has memory of its own


def test_a_tensor_of_another_shape_is_refused() -> None:
    with pytest.raises(Exception, match=r"a gradient of b, which has shape \[5\], has shape \[4\]"):
        Layout(NAMES, DTYPES, SHAPES).pack("a gradient", [torch.zeros(2, 3), torch.zeros(4), torch.zeros(())])


def test_empty_tensors_need_no_chunks() -> None:
    layout = Layout(["none"], [torch.float32], [(0, 3)])
    assert layout.chunks == [] and layout.unpack(layout.pack("a value", [torch.zeros(0, 3)]))[0].shape == (0, 3)


def test_a_stop_as_bytes() -> None:
    stop = Stop("worker", "/job:worker/task:1", "host:1", 2**52 + 1)
    assert decoded([encoded(stop)]) == (stop,)


# ---- sums


@pytest.mark.parametrize("leader", range(4))
def test_gradients_are_added_in_the_order_of_the_route(leader: int) -> None:
    """Whoever asks: one of the route, or another."""
    network, told = Network(4), Told()
    gradients = [tensors(i) for i in range(3)]
    for box, one in zip(network.boxes, gradients, strict=False):
        box.stage(one)
    network.boxes[leader].sum(1, network.stops[:3], told)
    assert_same(told.values, [((a + b) + c).div_(3) for a, b, c in zip(*gradients, strict=True)])


def test_few_chunks_are_under_way() -> None:
    network, told = Network(2, ((200,), (1,), ())), Told()
    for i, box in enumerate(network.boxes):
        box.stage(tensors(i, ((200,), (1,), ())))
    network.slow.add("w1")
    network.boxes[0].sum(1, network.stops, told)
    assert network.waiting == 6 and not told.ends
    network.answer()
    assert len(told.values) == 3


def test_a_sum_names_the_worker_that_is_lost() -> None:
    network, told = Network(3), Told()
    for i, box in enumerate(network.boxes):
        box.stage(tensors(i))
    network.lost.add("w1")
    network.boxes[0].sum(1, network.stops, told)
    assert isinstance(told.error, AbortedError)
    assert "the gradients of w1 could not be added: w1 cannot be reached" in str(told.error)
    failure = network.boxes[0].unreached
    assert failure is not None and failure.box == network.stops[1].box
    again = Told()
    network.boxes[0].sum(1, [network.stops[0], network.stops[2]], again)
    assert_same(again.values, [(a + c).div_(2) for a, c in zip(tensors(0), tensors(2), strict=True)])


@pytest.mark.parametrize(
    ("what", "why"),
    [
        ("ended", "its session on w1 has ended"),
        ("empty", "it has no gradients"),
        ("other", "its variables have other sizes than those of w2"),
    ],
)
def test_a_sum_fails_at_a_box_without_these_gradients(what: str, why: str) -> None:
    network, told = Network(3), Told()
    for i, box in enumerate(network.boxes):
        if (i, what) != (1, "empty"):
            box.stage(tensors(i))
    if what == "ended":
        network.boxes[1].end()
    if what == "other":
        network.boxes[1].layout = Layout(NAMES, DTYPES, ((9,), (5,), ()))
        network.boxes[1].stage(tensors(1, ((9,), (5,), ())))
        network.stops = network.stops[1:]
    network.boxes[0].sum(1, network.stops, told)
    assert f"the gradients of w1 could not be added: {why}" in str(told.error)


def test_all_chunks_are_of_one_gradient() -> None:
    """Though the worker stages another one meanwhile, as its step was cancelled."""
    network, told = Network(2), Told()
    for i, box in enumerate(network.boxes):
        box.stage(tensors(i))
    network.boxes[1].give_sum(ChunkQuery("sum", 1, 0, ()), lambda chunk, failure: None)
    network.boxes[1].stage(tensors(7))
    network.boxes[0].sum(1, network.stops, told)
    assert_same(told.values, [(a + b).div_(2) for a, b in zip(tensors(0), tensors(1), strict=True)])
    later = Told()
    network.boxes[0].sum(2, network.stops, later)
    assert_same(later.values, [(a + b).div_(2) for a, b in zip(tensors(0), tensors(7), strict=True)])


def test_a_chunk_that_there_is_not() -> None:
    network = Network(1)
    for number in (-1, 5):
        failures: list[Any] = []
        network.tasks["w0"].give(
            network.stops[0].box,
            ChunkQuery("sum", 1, number, ()),
            lambda chunk, failure, to=failures: to.append(failure),
        )
        assert failures[0].why == f"it has 5 chunks, number {number} was asked for"


def test_a_sum_that_is_cancelled_says_what_it_waits_for() -> None:
    network, told = Network(2), Told()
    for i, box in enumerate(network.boxes):
        box.stage(tensors(i))
    network.slow.add("w1")
    wait = network.boxes[0].sum(1, network.stops, told)
    assert wait.describe() == "0 of 5 chunks of the sum of the gradients of w0, w1 are here"
    wait.cancel(CancelledError(None, None, "enough"))
    network.answer()
    assert isinstance(told.error, CancelledError)


# ---- values


def test_values_go_from_box_to_box() -> None:
    """The last asks first; each is asked for each chunk once."""
    network = Network(4)
    network.boxes[0].put(1, tensors(5))
    for i in (3, 1, 2):
        told = Told()
        network.boxes[i].take(1, network.stops[:i], told)
        assert_same(told.values, tensors(5))
    assert sorted(task for task, _ in network.asked) == ["w0"] * 5 + ["w1"] * 5 + ["w2"] * 5


def test_a_chunk_is_passed_on_before_all_have_come() -> None:
    network, told = Network(3, ((200,), (1,), ())), Told()
    values = tensors(5, ((200,), (1,), ()))
    network.boxes[0].put(1, values)
    network.slow.add("w0")
    wait = network.boxes[2].take(1, network.stops[:2], told)
    assert wait.describe() == "0 of 52 chunks of the variables are here, the others come by w0, w1"
    assert not told.ends
    network.answer()
    assert_same(told.values, values)


@pytest.mark.parametrize("lost", [["w1"], ["w2"], ["w1", "w2"]])
def test_values_come_by_those_that_are_not_lost(lost: list[str]) -> None:
    network, told = Network(4), Told()
    network.boxes[0].put(1, tensors(5))
    network.lost.update(lost)
    network.boxes[3].take(1, network.stops[:3], told)
    assert_same(told.values, tensors(5))


def test_a_box_that_ends_in_the_middle() -> None:
    network, told = Network(3), Told()
    network.boxes[0].put(1, tensors(5))
    network.slow.add("w0")
    network.boxes[2].take(1, network.stops[:2], told)
    assert not told.ends
    network.boxes[1].end()  # what it has asked for comes too late
    network.answer()
    assert_same(told.values, tensors(5))


def test_nobody_has_the_values(caplog: pytest.LogCaptureFixture) -> None:
    network = Network(3)
    network.lost.add("w0")
    for i in (2, 1):
        told = Told()
        network.boxes[i].take(1, network.stops[:i], told)
        assert told.ends == [(None, None)]
        assert f"w{i} reads the variables from the servers" in caplog.text


def test_newer_values_are_taken_too_but_not_given_for_older() -> None:
    network, told = Network(2), Told()
    network.boxes[0].put(2, tensors(6))
    network.boxes[0].take(1, (), told)
    assert_same(told.values, tensors(6))
    late = Told()
    network.boxes[1].take(1, network.stops[:1], late)
    assert late.ends == [(None, None)]
    newest = Told()
    network.boxes[1].take(2, network.stops[:1], newest)
    assert_same(newest.values, tensors(6))


def test_a_worker_that_joins_again_has_nothing_of_before() -> None:
    network, told = Network(1), Told()
    network.boxes[0].put(9, tensors(5))
    stop = network.boxes[0].open()
    assert stop.box != network.stops[0].box
    network.boxes[0].take(1, (), told)
    assert told.ends == [(None, None)]


def test_a_take_that_is_cancelled() -> None:
    network, told = Network(2), Told()
    network.boxes[0].put(1, tensors(5))
    network.slow.add("w0")
    network.boxes[1].take(1, network.stops[:1], told).cancel(CancelledError(None, None, "enough"))
    assert isinstance(told.error, CancelledError)
    network.answer()
    again = Told()
    network.boxes[1].take(1, network.stops[:1], again)
    assert_same(again.values, tensors(5))
