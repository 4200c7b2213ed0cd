"""Staging areas from the public API: in order and by key, limits, names, waiting, many threads."""

from typing import Any

import numpy as np
import pytest
from library.queue.background import Background, run_that_waits, wait_until

import headrace as tf
from headrace.library.queue.staging import MapStagingArea
from headrace.tensorflow import names

StagingArea = tf.contrib.staging.StagingArea
OFF = tf.ConfigProto(compile="off")
SHORT = tf.RunOptions(timeout_in_ms=200)
GENEROUS = tf.RunOptions(timeout_in_ms=30_000)


def test_old_imports_find_them() -> None:
    assert "library.queue.staging" in (names.places("python.ops.data_flow_ops") or ())


class TestRow:
    def test_names_and_shapes(self) -> None:
        with tf.name_scope("scope"):
            area = StagingArea([tf.float32, tf.int32], shapes=[[2], None], capacity=3, memory_limit=100)
        assert area.name == "scope/StagingArea" and area.dtypes == [tf.float32, tf.int32] and area.names is None
        assert (area.capacity, area.memory_limit) == (3, 100)
        assert area.put([[1.0, 2.0], 1]).name == "scope/StagingArea_put"
        assert [t.name for t in area.get()] == ["scope/StagingArea_get:0", "scope/StagingArea_get:1"]
        assert area.peek(0)[0].shape.as_list() == [2]
        assert StagingArea([tf.float32], shared_name="mine").name == "mine"

    def test_first_in_first_out(self, interpreted: tf.Session) -> None:
        area, x = StagingArea([tf.float32, tf.string]), tf.placeholder(tf.float32, [])
        put = area.put([x, tf.as_string(x)])
        for i in range(3):
            interpreted.run(put, {x: i})
        assert interpreted.run(area.size()) == 3
        assert [interpreted.run(area.peek(i))[0] for i in (2, 0)] == [2.0, 0.0]
        assert [interpreted.run(area.get())[0] for _ in range(3)] == [0.0, 1.0, 2.0]

    def test_names(self, interpreted: tf.Session) -> None:
        area = StagingArea([tf.float32, tf.string], names=["x", "text"])
        interpreted.run(area.put({"text": "a", "x": 1.0}))
        assert interpreted.run(area.get()) == {"x": 1.0, "text": b"a"}

    def test_clearing_makes_room(self, interpreted: tf.Session) -> None:
        area = StagingArea([tf.float32], capacity=1)
        interpreted.run(area.put(1.0))
        run = run_that_waits(interpreted, area.put(2.0))
        interpreted.run(area.clear())
        run.result()
        assert interpreted.run(area.get()) == [2.0]

    def test_a_step_that_uses_what_the_last_has_put(self, interpreted: tf.Session) -> None:
        """The usual loop: put once beforehand, then each step gets and puts."""
        area, x = StagingArea([tf.float32], shapes=[[2]]), tf.placeholder(tf.float32, [2])
        put = area.put(x * 2.0)
        interpreted.run(put, {x: [0.0, 0.0]})
        results = [interpreted.run([area.get()[0] + 1.0, put], {x: [i, i]})[0].tolist() for i in (1.0, 2.0, 3.0)]
        assert results == [[1.0, 1.0], [3.0, 3.0], [5.0, 5.0]]


class TestMemory:
    def test_what_is_put_is_copied(self, interpreted: tf.Session) -> None:
        area, x = StagingArea([tf.float32]), tf.placeholder(tf.float32, [2])
        v = tf.get_variable("v", initializer=[1.0, 2.0])
        interpreted.run(v.initializer)
        array = np.array([3.0, 4.0], np.float32)
        interpreted.run(area.put(x), {x: array})
        interpreted.run(area.put(v))
        array[:] = 0.0
        interpreted.run(tf.assign(v, [0.0, 0.0]))
        assert [interpreted.run(area.get())[0].tolist() for _ in range(2)] == [[3.0, 4.0], [1.0, 2.0]]

    def test_what_is_peeked_at_is_copied(self, interpreted: tf.Session) -> None:
        area, by_key = StagingArea([tf.float32, tf.string]), MapStagingArea([tf.float32])
        interpreted.run([area.put([[1.0, 2.0], ["a"]]), by_key.put(1, [[1.0, 2.0]], [0])])
        first, text, second = interpreted.run([*area.peek(0), by_key.peek(1)[0]])
        first[:], text[:], second[:] = 9.0, b"changed", 9.0
        assert [value.tolist() for value in interpreted.run(area.get())] == [[1.0, 2.0], [b"a"]]
        assert interpreted.run(by_key.get(1)[1])[0].tolist() == [1.0, 2.0]


class TestMap:
    @pytest.mark.parametrize("ordered", [False, True])
    def test_by_key(self, interpreted: tf.Session, ordered: bool) -> None:
        area = MapStagingArea([tf.float32, tf.int32], ordered=ordered)
        for key in (5, 2, 9):
            interpreted.run(area.put(key, [float(key), key], [0, 1]))
        assert interpreted.run(area.size()) == 3
        assert interpreted.run(area.peek(2)) == [2.0, 2]
        assert interpreted.run(area.get(9)[1]) == [9.0, 9]
        keys = [interpreted.run(area.get())[0] for _ in range(2)]
        assert keys == ([2, 5] if ordered else keys) and sorted(keys) == [2, 5]

    def test_values_that_come_and_go_one_by_one(self, interpreted: tf.Session) -> None:
        area = MapStagingArea([tf.float32, tf.int32], names=["x", "n"])
        interpreted.run(area.put(1, {"n": 3}))
        assert interpreted.run([area.size(), area.incomplete_size()]) == [0, 1]
        interpreted.run(area.put(1, {"x": 2.0}))
        assert interpreted.run([area.size(), area.incomplete_size()]) == [1, 0]
        assert interpreted.run(area.get(1, ["x"])[1]) == {"x": 2.0}
        with pytest.raises(tf.errors.InvalidArgumentError, match="Value 0 for key 1 has been removed already"):
            interpreted.run(area.get(1, [0])[1])
        key, value = interpreted.run(area.get(indices=["n"]))
        assert (key, value) == (1, {"n": 3}) and interpreted.run(area.size()) == 0

    def test_part_is_asked_for_before_anything_was_put(self, interpreted: tf.Session) -> None:
        area = MapStagingArea([tf.float32, tf.int32])
        run = run_that_waits(interpreted, area.get(4, [1])[1])
        interpreted.run(area.put(4, [1.0, 8], [0, 1]))
        assert run.result() == [8]

    def test_clear(self, interpreted: tf.Session) -> None:
        area = MapStagingArea([tf.float32, tf.int32])
        interpreted.run([area.put(1, [1.0], [0]), area.put(2, [1.0, 2], [0, 1])])
        interpreted.run(area.clear())
        assert interpreted.run([area.size(), area.incomplete_size()]) == [0, 0]


class TestRefused:
    def test_what_is_put(self) -> None:
        area, named = StagingArea([tf.float32], [[2]]), StagingArea([tf.float32], names=["x"])
        for put, value, message in (
            (area.put, tf.constant([1, 2]), "requested dtype float32"),
            (area.put, [[1.0]], r"Shapes \(1,\) and \(2,\) are incompatible"),
            (area.put, [[1.0, 2.0], [1.0, 2.0]], "Unexpected value 1"),
            (area.put, {"x": [1.0, 2.0]}, "must have names"),
            (named.put, [1.0], "You must put a dictionary"),
            (named.put, {"y": 1.0}, "do not match names"),
            (StagingArea([tf.float32] * 2).put, [1.0], "Unexpected number of inputs 1 vs 2"),
        ):
            with pytest.raises(ValueError, match=message):
                put(value)

    @pytest.mark.parametrize(
        ("settings", "error", "message"),
        [
            ({"shapes": [[], []]}, ValueError, "shapes must be the same length"),
            ({"names": ["a", "b"]}, ValueError, "names must be the same length"),
            ({"shared_name": 3}, ValueError, "must be a string, got 3"),
            ({"capacity": -1}, ValueError, "capacity .* got -1"),
            ({"memory_limit": -1}, ValueError, "memory_limit .* got -1"),
        ],
    )
    def test_settings(self, settings: dict[str, Any], error: type[Exception], message: str) -> None:
        for make in (StagingArea, MapStagingArea):
            with pytest.raises(error, match=message):
                make([tf.float32], **settings)

    def test_dtypes_that_are_no_list(self) -> None:
        with pytest.raises(TypeError, match="must be a list of one dtype or more"):
            StagingArea(tf.float32)

    @pytest.mark.parametrize(
        ("indices", "error", "message"),
        [
            ([], ValueError, "Empty indices"),
            (["y"], ValueError, "No component of MapStagingArea is called 'y'"),
            (["x", 0], TypeError, "Mixed types"),
            (0, TypeError, "must be a list"),
            ([2], ValueError, "outside the 1 components"),
        ],
    )
    def test_indices(self, indices: Any, error: type[Exception], message: str) -> None:
        with pytest.raises(error, match=message):
            MapStagingArea([tf.float32], names=["x"]).get(1, indices)

    def test_a_list_without_indices(self) -> None:
        with pytest.raises(ValueError, match="Indices must be supplied"):
            MapStagingArea([tf.float32]).put(1, [1.0])

    def test_while_running(self, interpreted: tf.Session) -> None:
        area = MapStagingArea([tf.float32, tf.float32])
        with pytest.raises(tf.errors.InvalidArgumentError, match="not strictly ordered"):
            interpreted.run(area.put(1, [1.0, 2.0], [1, 0]))
        interpreted.run(area.put(1, [1.0], [0]))
        with pytest.raises(tf.errors.InvalidArgumentError, match="Value 0 for key 1 was put already"):
            interpreted.run(area.put(1, [1.0], [0]))
        with pytest.raises(tf.errors.ResourceExhaustedError, match="memory limit of 3 bytes"):
            interpreted.run(StagingArea([tf.float32], memory_limit=3).put(1.0))

    def test_sharing_what_is_different(self, interpreted: tf.Session) -> None:
        interpreted.run(StagingArea([tf.float32], shared_name="shared").size())
        with pytest.raises(
            tf.errors.InvalidArgumentError, match="has dtypes .float32. but requested dtypes were .int32."
        ):
            interpreted.run(StagingArea([tf.int32], shared_name="shared").size())
        interpreted.run(MapStagingArea([tf.float32], shared_name="shared").size())
        with pytest.raises(tf.errors.InvalidArgumentError, match="has dtypes .'float32'. but requested dtypes were"):
            interpreted.run(MapStagingArea([tf.int32], shared_name="shared").size())


class TestWaiting:
    @pytest.mark.parametrize("limit", [{"capacity": 1}, {"memory_limit": 6}])
    @pytest.mark.parametrize("by_key", [False, True])
    def test_a_full_area_holds_back(self, interpreted: tf.Session, limit: dict[str, int], by_key: bool) -> None:
        area: Any = (MapStagingArea if by_key else StagingArea)([tf.float32], **limit)
        put = (lambda key: area.put(key, [float(key)], [0])) if by_key else (lambda key: area.put(float(key)))
        interpreted.run(put(1))
        with pytest.raises(tf.errors.DeadlineExceededError, match="4 bytes wait to be put") as caught:
            interpreted.run(put(2), options=SHORT)
        assert caught.value.message.count("test_staging.py") >= 2
        run = run_that_waits(interpreted, put(3))
        interpreted.run(area.get(1)[1] if by_key else area.get())
        run.result()
        wait_until(lambda: interpreted.run(area.size()) == 1)

    def test_closing_the_session(self) -> None:
        for fetch in (lambda: StagingArea([tf.float32]).get(), lambda: MapStagingArea([tf.float32]).get()):
            sess = tf.Session(config=OFF)
            run = run_that_waits(sess, fetch())
            sess.close()
            with pytest.raises(tf.errors.CancelledError, match="StagingArea.*has 0 elements"):
                run.result()


@pytest.mark.parametrize("by_key", [False, True])
def test_eight_threads_lose_and_double_nothing(interpreted: tf.Session, by_key: bool) -> None:
    area: Any = (MapStagingArea if by_key else StagingArea)([tf.int64], shapes=[[]], capacity=3)
    x = tf.placeholder(tf.int64, [])
    put = area.put(x, [x], [0]) if by_key else area.put(x)
    get = area.get()[1][0] if by_key else area.get()[0]
    each, threads = 50, 4

    def produce(first: int) -> None:
        for i in range(first, each * threads, threads):
            interpreted.run(put, {x: i}, options=GENEROUS)

    def consume() -> list[int]:
        return [int(interpreted.run(get, options=GENEROUS)) for _ in range(each)]

    producing = [Background(produce, i) for i in range(threads)]
    consuming = [Background(consume) for _ in range(threads)]
    for run in producing:
        run.result()
    assert sorted(n for run in consuming for n in run.result()) == list(range(each * threads))
    assert interpreted.run(area.size()) == 0


def test_resetting_the_container_empties_the_area(interpreted: tf.Session) -> None:
    area, by_key = StagingArea([tf.float32]), MapStagingArea([tf.float32])
    interpreted.run([area.put(1.0), by_key.put(1, [1.0], [0])])
    tf.Session.reset("")
    assert interpreted.run([area.size(), by_key.size()]) == [0, 0]
    interpreted.run(area.put(2.0))
    assert interpreted.run(area.get()) == [2.0]


def test_eagerly() -> None:
    with tf.eager_mode():
        area = StagingArea([tf.float32])
        area.put(2.0)
        assert area.get()[0].numpy() == 2.0
