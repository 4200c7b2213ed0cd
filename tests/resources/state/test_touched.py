"""Touched rows: what an asker is told, whatever it did with what it took before, and beside updates of other threads."""

from __future__ import annotations

import threading

import numpy as np
import pytest
import torch

import headrace as tf
from headrace.core import dtypes
from headrace.resources.state.touched import MOST_ASKERS
from headrace.resources.state.variable import Variable, mark_all, mark_rows


def variable(rows=6):
    made = Variable("v", dtypes.float32, torch.device("cpu"))
    made.assign(torch.zeros(rows, 2))
    return made


def taken(v, since, now, asker="a"):
    rows = v.take_touched(asker, since, now)
    return None if rows is None else rows.tolist()


def write(v, *rows):
    mark_rows((v,), torch.tensor(rows))


def test_the_first_question_is_answered_with_all_rows():
    v = variable()
    write(v, 1)
    assert v.touched is None
    assert taken(v, "", "1") is None
    assert taken(v, "1", "2") == []


def test_rows_since_the_last_moment_come_in_order_and_once():
    v = variable()
    taken(v, "", "1")
    write(v, 4, 1, 4)
    assert taken(v, "1", "2") == [1, 4]
    write(v, 0)
    assert taken(v, "2", "3") == [0]


def test_who_could_not_use_what_it_took_asks_again():
    v = variable()
    taken(v, "", "1")
    write(v, 1)
    assert taken(v, "1", "2") == [1]
    write(v, 2)
    assert taken(v, "1", "3") == [1, 2]
    write(v, 3)
    assert taken(v, "1", "4") == [1, 2, 3]
    assert taken(v, "4", "5") == []


def test_all_rows_are_the_answer_to_an_unknown_moment_until_it_is_known():
    v = variable()
    taken(v, "", "1")
    assert taken(v, "other", "2") is None
    assert taken(v, "other", "3") is None
    write(v, 5)
    assert taken(v, "3", "4") == [5]


def test_a_write_of_everything_is_told_once():
    v = variable()
    taken(v, "", "1")
    mark_all((v,))
    write(v, 1)
    assert taken(v, "1", "2") is None
    write(v, 1)
    assert taken(v, "2", "3") == [1]


def test_askers_do_not_see_each_other():
    v = variable()
    taken(v, "", "1", "file")
    write(v, 1)
    taken(v, "", "1", "copy")
    write(v, 2)
    assert taken(v, "1", "2", "copy") == [2]
    assert taken(v, "1", "2", "file") == [1, 2]


def test_the_oldest_of_too_many_askers_gets_all_rows():
    v = variable()
    for i in range(MOST_ASKERS + 1):
        taken(v, "", "1", str(i))
    assert taken(v, "1", "2", "1") == []
    assert taken(v, "1", "2", "0") is None


def test_nothing_is_noted_after_the_last_asker_went():
    v = variable()
    taken(v, "", "1", "file")
    taken(v, "", "1", "copy")
    v.forget_touched("file")
    assert v.touched is not None
    v.forget_touched("copy")
    assert v.touched is None
    v.forget_touched("copy")


def test_a_buffer_with_more_rows_is_new_as_a_whole():
    v = variable()
    taken(v, "", "1")
    write(v, 1)
    v.assign(torch.zeros(9, 2), validate_shape=False)
    assert taken(v, "1", "2") is None
    write(v, 8)
    assert taken(v, "2", "3") == [8]


@pytest.mark.parametrize("rows", [[9], [-7], [2, 99]])
def test_a_row_that_is_not_there_marks_all(rows):
    v = variable()
    taken(v, "", "1")
    write(v, *rows)
    assert taken(v, "1", "2") is None


@pytest.mark.parametrize(("dtype", "value"), [(tf.float32, 1.0), (tf.string, ["a", "b"])])
def test_scalars_and_strings_are_always_whole(dtype, value):
    with tf.Session() as sess:
        v = tf.Variable(value, dtype=dtype)
        sess.run(v.initializer)
        ((*_, state),) = sess._resources.everything_of(Variable)
        assert taken(state, "", "1") is None
        assert taken(state, "1", "2") is None
        assert state.touched is None


def test_no_row_is_missed_beside_updates():
    """A copy that is patched with what is touched is, in the end, the table."""
    rows, steps = 500, 300
    with tf.Session() as sess:
        table = tf.Variable(np.zeros((rows, 3), np.float32))
        at = tf.placeholder(tf.int64, [None])
        update = tf.scatter_add(table, at, tf.ones([tf.size(at), 3])).op
        sess.run(table.initializer)
        ((*_, state),) = sess._resources.everything_of(Variable)
        over, enough = threading.Event(), threading.Event()

        def train(seed):
            random = np.random.RandomState(seed)
            done = 0
            while done < steps or not enough.is_set():
                sess.run(update, {at: random.randint(0, rows, 4)})
                done += 1

        threads = [threading.Thread(target=train, args=(seed,)) for seed in range(3)]
        copy, count, partly = None, 0, 0
        for thread in threads:
            thread.start()
        threading.Thread(target=lambda: ([t.join() for t in threads], over.set())).start()
        while True:
            last = over.is_set()
            touched = state.take_touched("copy", str(count), str(count + 1))
            count += 1
            if touched is None:
                copy = state.value.clone()
            else:
                copy[touched] = state.value[touched]
                partly += 1
                if partly == 3:
                    enough.set()
            if last:
                break
        assert torch.equal(copy, state.value)
        assert copy.sum() > 0
