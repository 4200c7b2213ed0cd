"""Sums of rows spread over a whole variable (spread_rows): the same values, and left alone where it would cost more."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
from passes.steps import piped

import headrace as tf

pytestmark = pytest.mark.usefixtures("accelerator")

ROWS = [[1, 2, 1, 5, 9, 9], [0, 0, 0, 0, 3, 9], [4, 4, 4, 4, 4, 4]]


def embedding(optimizer: Any, rows: int = 10, weight: float = 1.0) -> tuple[tf.Tensor, Any, tf.Variable]:
    numbers = tf.placeholder(tf.int32, [6])
    table = tf.get_variable(
        "table", [rows, 3], initializer=tf.constant_initializer(np.arange(3 * rows).reshape(rows, 3))
    )
    loss = tf.reduce_sum(tf.square(tf.gather(table, numbers) * np.arange(18).reshape(6, 3))) * weight
    return numbers, optimizer.minimize(loss), table


def types(feeds: Sequence[Any], targets: Sequence[Any], off: str = "") -> set[str]:
    return {node.type for node in piped([], feeds, targets, off=frozenset({off})).nodes}


def after_steps(optimizer: Any, feed: tf.Tensor, train: Any, mode: str) -> list[Any]:
    slots = [optimizer.get_slot(v, name) for v in tf.trainable_variables() for name in optimizer.get_slot_names()]
    with tf.Session(config=tf.ConfigProto(compile=mode)) as session:
        session.run(tf.global_variables_initializer())
        for rows in ROWS:
            session.run(train, {feed: rows})
        return list(session.run([*tf.trainable_variables(), *slots]))


def test_adam_does_not_search_for_equal_rows(monkeypatch: pytest.MonkeyPatch) -> None:
    optimizer = tf.train.AdamOptimizer(0.1)
    feed, train, _ = embedding(optimizer)
    assert not {"Unique", "ScatterAdd"} & types([feed], [train])
    spread = after_steps(optimizer, feed, train, "off")
    assert {"Unique", "ScatterAdd"} <= types([feed], [train], "spread_rows")
    monkeypatch.setenv("HEADRACE_PASSES_OFF", "spread_rows")
    for found, expected in zip(spread, after_steps(optimizer, feed, train, "off"), strict=True):
        np.testing.assert_allclose(found, expected, rtol=1e-6)


def test_the_whole_step_is_one_region_then(monkeypatch: pytest.MonkeyPatch) -> None:
    """With ``overwrite``, which lets moments that are assigned be written in place."""
    optimizer = tf.train.AdamOptimizer(0.1)
    feed, train, _ = embedding(optimizer)
    compiled = after_steps(optimizer, feed, train, "always")
    monkeypatch.setenv("HEADRACE_PASSES_OFF", "spread_rows,overwrite")
    for found, expected in zip(compiled, after_steps(optimizer, feed, train, "off"), strict=True):
        np.testing.assert_allclose(found, expected, rtol=1e-5)


def test_optimizers_that_write_only_some_rows_stay() -> None:
    for make in (
        lambda: tf.train.GradientDescentOptimizer(0.1),
        lambda: tf.train.AdagradOptimizer(0.1),
        lambda: tf.contrib.opt.LazyAdamOptimizer(0.1),
    ):
        tf.reset_default_graph()
        feed, train, _ = embedding(make())
        assert "UnsortedSegmentSum" not in types([feed], [train]) or "Unique" in types([feed], [train])


def test_on_a_cpu_equal_rows_are_searched() -> None:
    with tf.device("/cpu:0"):
        feed, train, _ = embedding(tf.train.AdamOptimizer(0.1))
    assert {"Unique", "ScatterAdd"} <= types([feed], [train])


def added(change: Any, assigned: bool = True, looked_up: bool = True, rank: int | None = 2) -> tuple[tf.Tensor, Any]:
    """What Adam does, by hand: rows, looked up or not, added to a variable that has been assigned, or not."""
    numbers = tf.placeholder(tf.int32, [6])
    table = tf.get_variable("looked_up", [10, 3], initializer=tf.ones_initializer())
    gradient = tf.gather(table, tf.reshape(numbers, [2, 3]) if looked_up else tf.constant([0] * 6))
    gradient = tf.reshape(gradient, [6, 3])
    if rank is None:
        gradient = tf.placeholder_with_default(gradient, None)
    moment = tf.get_variable("moment", [10, 3], initializer=tf.ones_initializer())
    unique, places = tf.unique(numbers)
    total = tf.unsorted_segment_sum(gradient, places, tf.shape(unique)[0])
    before = [moment.assign(moment * 0.5)] if assigned else []
    change_of_rows = change(total)
    with tf.control_dependencies(before):
        return numbers, tf.scatter_add(moment, unique, change_of_rows).op


@pytest.mark.parametrize(
    "change",
    [lambda s: s, lambda s: s * 0.1, lambda s: s * s * 0.1, lambda s: -s / 2.0, lambda s: tf.square(s), tf.identity],
)
def test_products_of_sums_are_0_for_other_rows(change: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    feed, train = added(change)
    assert "Unique" not in types([feed], [train])
    found = []
    for off in ("", "spread_rows"):
        monkeypatch.setenv("HEADRACE_PASSES_OFF", off)
        with tf.Session(config=tf.ConfigProto(compile="off")) as session:
            session.run(tf.global_variables_initializer())
            session.run(train, {feed: [7, 7, 0, 1, 7, 0]})
            found.append(session.run(tf.global_variables()))
    for one, other in zip(*found, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-6)


@pytest.mark.parametrize(
    ("change", "assigned"),
    [
        (lambda s: s + 1.0, True),  # other rows would get a 1
        (lambda s: tf.cos(s), True),
        (lambda s: s * [[1.0, 2.0, 3.0]], True),  # not a scalar
        (lambda s: 1.0 / s, True),
        (lambda s: s, False),  # the other rows are not touched: a table of a million rows would be
        (lambda s: s * tf.get_variable("k", []), True),  # may be infinite, and 0 times that is no number
        (lambda s: s * float("inf"), True),
        (lambda s: s / 0.0, True),
        (lambda s: s / tf.get_variable("k", []), True),
        (lambda s: s * tf.get_variable("k", [3]), True),
    ],
)
def test_left_alone(change: Any, assigned: bool) -> None:
    feed, train = added(change, assigned)
    assert {"Unique", "ScatterAdd"} <= types([feed], [train])


def test_gradients_of_unknown_rank_are_left_alone() -> None:
    feed, train = added(lambda s: s * 0.1, rank=None)
    assert {"Unique", "ScatterAdd"} <= types([feed], [train])


def test_a_negative_number_of_a_row_is_refused() -> None:
    """The sum that takes the place of the search would pass over it, so that only rows that are looked up are spread."""
    feed, train = added(lambda s: s * 0.1, looked_up=False)
    assert {"Unique", "ScatterAdd"} <= types([feed], [train])
    (looked_up, with_lookup), step = embedding(tf.train.AdamOptimizer(0.1))[:2], None
    for feeds, step in ((feed, train), (looked_up, with_lookup)):
        with tf.Session(config=tf.ConfigProto(compile="off")) as session:
            session.run(tf.global_variables_initializer())
            with pytest.raises(tf.errors.InvalidArgumentError, match=r"= -1 is not in \[0, 10\)"):
                session.run(step, {feeds: [1, -1, 1, 5, 9, 9]})
