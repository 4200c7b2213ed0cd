"""Barriers from the public API: components meet by key, in order, in many threads; closing; what is refused."""

import random

import numpy as np
import pytest
from library.queue.background import Background, run_that_waits

import headrace as tf
from headrace.library.queue.barrier import Barrier
from headrace.tensorflow import names

OFF = tf.ConfigProto(compile="off")
SHORT = tf.RunOptions(timeout_in_ms=200)
GENEROUS = tf.RunOptions(timeout_in_ms=30_000)
FIRST = -(2**63)


def test_old_imports_find_it() -> None:
    assert "library.queue.barrier" in (names.places("python.ops.data_flow_ops") or ())


def test_names_and_shapes() -> None:
    with tf.name_scope("scope"):
        barrier = Barrier((tf.float32, tf.string), shapes=((2,), ()), name="B")
        assert barrier.name == barrier.barrier_ref.op.name == "scope/B"
        assert barrier.insert_many(0, ["a"], [[1.0, 2.0]]).name == "scope/B_BarrierInsertMany"
        taken = barrier.take_many(3)
        assert taken.indices.name == "scope/B_BarrierTakeMany:0" and taken.indices.dtype == tf.int64
        assert [v.shape.as_list() for v in (taken.keys, *taken.values)] == [[3], [3, 2], [3]]
        assert barrier.take_many(3, allow_small_batch=True).values[0].shape.as_list() == [None, 2]


def test_elements_come_in_the_order_of_their_first_component(interpreted: tf.Session) -> None:
    barrier = Barrier((tf.string, tf.int32), shapes=((), ()))
    for component, keys, values in (
        (0, ["k1", "k2"], ["a", "b"]), (1, ["k1"], [1]), (0, ["k3"], ["c"]), (1, ["k3"], [3]),
    ):  # fmt: skip
        interpreted.run(barrier.insert_many(component, keys, values))
    assert interpreted.run([barrier.ready_size(), barrier.incomplete_size()]) == [2, 1]
    interpreted.run(barrier.insert_many(1, ["k2"], [2]))
    indices, keys, (texts, numbers) = interpreted.run(barrier.take_many(2))
    assert indices.tolist() == [FIRST, FIRST]
    assert sorted(zip(keys, texts, numbers.tolist(), strict=True)) == [(b"k1", b"a", 1), (b"k2", b"b", 2)]
    indices, keys, (texts, numbers) = interpreted.run(barrier.take_many(1))
    assert (indices.tolist(), keys.tolist(), texts.tolist(), numbers.tolist()) == ([FIRST + 1], [b"k3"], [b"c"], [3])


def test_values_are_copied(interpreted: tf.Session) -> None:
    barrier, x = Barrier(tf.float32, shapes=[[2]]), tf.placeholder(tf.float32, [1, 2])
    array = np.ones((1, 2), np.float32)
    interpreted.run(barrier.insert_many(0, ["a"], x), {x: array})
    array[:] = 9.0
    assert interpreted.run(barrier.take_many(1)).values[0].tolist() == [[1.0, 1.0]]


def test_without_shapes(interpreted: tf.Session) -> None:
    barrier = Barrier((tf.float32,))
    interpreted.run(barrier.insert_many(0, ["a"], [[1.0, 2.0]]))
    interpreted.run(barrier.insert_many(0, ["b"], [[1.0, 2.0, 3.0]]))
    with pytest.raises(tf.errors.InvalidArgumentError, match="Elements of different shapes"):
        interpreted.run(barrier.take_many(2))


def test_taking_none(interpreted: tf.Session) -> None:
    indices, keys, (values,) = interpreted.run(Barrier(tf.float32, shapes=[[2]]).take_many(0))
    assert indices.shape == keys.shape == (0,) and values.shape == (0, 2)


class TestClosing:
    def test_what_has_begun_may_be_completed(self, interpreted: tf.Session) -> None:
        barrier = Barrier((tf.float32, tf.float32), shapes=((), ()))
        interpreted.run(barrier.insert_many(0, ["a"], [1.0]))
        interpreted.run(barrier.close())
        with pytest.raises(tf.errors.CancelledError, match="is closed, but attempted to insert a brand new key: b"):
            interpreted.run(barrier.insert_many(0, ["b"], [1.0]))
        interpreted.run(barrier.insert_many(1, ["a"], [2.0]))
        with pytest.raises(tf.errors.OutOfRangeError, match=r"insufficient elements \(requested 2, total size 1\)"):
            interpreted.run(barrier.take_many(2))
        assert interpreted.run(barrier.take_many(2, allow_small_batch=True)).keys.tolist() == [b"a"]

    def test_who_waits_gets_what_is_there(self, interpreted: tf.Session) -> None:
        """What is missing may depend on what is done with it."""
        barrier = Barrier((tf.float32, tf.float32), shapes=((), ()))
        interpreted.run(barrier.insert_many(0, ["a", "b"], [1.0, 1.0]))
        interpreted.run(barrier.insert_many(1, ["a"], [2.0]))
        few = run_that_waits(interpreted, barrier.take_many(2, allow_small_batch=True))
        interpreted.run(barrier.close())
        assert few.result().keys.tolist() == [b"a"]
        last = run_that_waits(interpreted, barrier.take_many(1))
        interpreted.run(barrier.insert_many(1, ["b"], [2.0]))
        assert last.result().keys.tolist() == [b"b"]

    def test_or_not(self, interpreted: tf.Session) -> None:
        barrier = Barrier((tf.float32, tf.float32), shapes=((), ()))
        interpreted.run(barrier.insert_many(0, ["a"], [1.0]))
        interpreted.run(barrier.close(cancel_pending_enqueues=True))
        assert interpreted.run(barrier.incomplete_size()) == 0
        with pytest.raises(tf.errors.CancelledError, match="is closed"):
            interpreted.run(barrier.insert_many(1, ["a"], [1.0]))
        with pytest.raises(tf.errors.CancelledError, match="is already closed"):
            interpreted.run(barrier.close())

    def test_who_waits_is_told(self, interpreted: tf.Session) -> None:
        barrier = Barrier(tf.float32, shapes=[[]])
        run = run_that_waits(interpreted, barrier.take_many(1))
        interpreted.run(barrier.close())
        with pytest.raises(tf.errors.OutOfRangeError, match="is closed and has insufficient elements"):
            run.result()


class TestRefused:
    @pytest.mark.parametrize(
        ("component", "keys", "values", "message"),
        [
            (0, ["a", "a"], [1.0, 2.0], "already has a value for component 0"),
            (2, ["a"], [1.0], "The component ID is out of range 2 > num_components"),
            (-1, ["a"], [1.0], "The component ID is out of range -1 > num_components"),
            (0, ["a"], [1], "values has type int32, expected float32"),
            (0, ["a"], [[1.0]], r"Shape mismatch in component 0. Expected \(\), got \(1,\)"),
            (1, ["a"], np.zeros((1, 0), np.float32), "Tensors with no elements are not supported"),
        ],
    )
    def test_values(
        self, interpreted: tf.Session, component: int, keys: list[str], values: object, message: str
    ) -> None:
        barrier = Barrier((tf.float32, tf.float32), shapes=((), (2,)))
        with pytest.raises(tf.errors.InvalidArgumentError, match=message):
            interpreted.run(barrier.insert_many(component, keys, values))

    def test_shapes_while_building(self) -> None:
        barrier = Barrier((tf.float32,), shapes=((),))
        for keys, values in ((["a", "b"], [1.0]), ("a", 1.0), ([["a"]], [1.0])):
            with pytest.raises(ValueError, match="test_barrier.py"):
                barrier.insert_many(0, keys, values)
        with pytest.raises(ValueError, match="Empty tensors are not supported"):
            Barrier((tf.float32,), shapes=((0,),))
        with pytest.raises(ValueError, match=r"-1"):
            barrier.take_many(-1)

    def test_settings(self, interpreted: tf.Session) -> None:
        with pytest.raises(tf.errors.InvalidArgumentError, match="no capacity but -1, got 3"):
            interpreted.run(tf.raw_ops.BarrierReadySize(tf.raw_ops.Barrier(component_types=[tf.float32], capacity=3)))
        with pytest.raises(tf.errors.InvalidArgumentError, match="Timeout not supported"):
            interpreted.run(Barrier(tf.float32, shapes=[[]]).take_many(1, timeout=10))
        interpreted.run(Barrier(tf.float32, shapes=[[]], shared_name="shared").ready_size())
        with pytest.raises(tf.errors.InvalidArgumentError, match="component types .float32. but requested"):
            interpreted.run(Barrier(tf.int32, shapes=[[]], shared_name="shared").ready_size())


def test_shared_names(interpreted: tf.Session) -> None:
    one, other = (Barrier(tf.float32, shapes=[[]], shared_name="shared") for _ in range(2))
    interpreted.run(one.insert_many(0, ["a"], [1.0]))
    assert interpreted.run(other.take_many(1)).values[0].tolist() == [1.0]


def test_one_step_may_insert_what_it_takes(interpreted: tf.Session) -> None:
    barrier = Barrier((tf.float32, tf.int32), shapes=((), ()))
    taken, *_ = interpreted.run(
        [barrier.take_many(1), barrier.insert_many(1, ["a"], [1]), barrier.insert_many(0, ["a"], [2.0])]
    )
    assert [v.tolist() for v in taken.values] == [[2.0], [1]]


class TestWaiting:
    def test_a_deadline(self, interpreted: tf.Session) -> None:
        barrier = Barrier((tf.float32, tf.float32), shapes=((), ()))
        interpreted.run(barrier.insert_many(0, ["a"], [1.0]))
        expected = "Barrier 'barrier' has 0 complete and 1 incomplete elements, 2 are asked for"
        with pytest.raises(tf.errors.DeadlineExceededError, match=expected) as caught:
            interpreted.run(barrier.take_many(2), options=SHORT)
        assert caught.value.message.count("test_barrier.py") >= 2

    def test_closing_the_session(self) -> None:
        sess = tf.Session(config=OFF)
        run = run_that_waits(sess, Barrier(tf.float32, shapes=[[]]).take_many(1))
        sess.close()
        with pytest.raises(tf.errors.CancelledError, match="Barrier 'barrier' has 0 complete"):
            run.result()


def test_eight_threads_lose_and_double_nothing(interpreted: tf.Session) -> None:
    barrier = Barrier((tf.int32, tf.int32), shapes=((), ()))
    keys, values = tf.placeholder(tf.string, [None]), tf.placeholder(tf.int32, [None])
    inserts = [barrier.insert_many(i, keys, values) for i in range(2)]
    take = barrier.take_many(5)
    count = 120

    def insert(component: int, part: int) -> None:
        mine = [i for i in range(count) if i % 3 == part]
        random.Random(component).shuffle(mine)
        for i in range(0, len(mine), 4):
            some = mine[i : i + 4]
            interpreted.run(inserts[component], {keys: [str(n) for n in some], values: some}, options=GENEROUS)

    def collect() -> list[tuple[int, int, int]]:
        several = [interpreted.run(take, options=GENEROUS) for _ in range(count // 5 // 2)]
        return [item for t in several for item in zip(map(int, t.keys), *(v.tolist() for v in t.values), strict=True)]

    inserting = [Background(insert, component, part) for component in range(2) for part in range(3)]
    collecting = [Background(collect) for _ in range(2)]
    for run in inserting:
        run.result()
    assert sorted(collecting[0].result() + collecting[1].result()) == [(i, i, i) for i in range(count)]
    assert interpreted.run([barrier.ready_size(), barrier.incomplete_size()]) == [0, 0]
