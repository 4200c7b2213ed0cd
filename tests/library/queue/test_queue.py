"""Queues from the public API: what goes in comes out, in order, in many threads, in bodies, and never shared with the caller."""

import threading

import numpy as np
import pytest
from running import initialized_session

import headrace as tf
from headrace.graph import raw_ops

SHORT = tf.RunOptions(timeout_in_ms=200)


def test_one_step_may_enqueue_what_it_dequeues(interpreted: tf.Session) -> None:
    queue = tf.FIFOQueue(1, tf.float32, shapes=[[]])
    assert interpreted.run([queue.dequeue(), queue.enqueue(3.0)]) == [3.0, None]


def test_components_names_and_structure(interpreted: tf.Session) -> None:
    queue = tf.FIFOQueue(5, [tf.int32, tf.string], [[2], []], names=["numbers", "text"])
    interpreted.run(queue.enqueue({"numbers": [1, 2], "text": "a"}))
    interpreted.run(queue.enqueue_many({"numbers": [[3, 4], [5, 6]], "text": ["b", "c"]}))
    first = interpreted.run(queue.dequeue())
    assert first["numbers"].tolist() == [1, 2] and first["text"] == b"a"
    rest = interpreted.run(queue.dequeue_many(2))
    assert rest["numbers"].tolist() == [[3, 4], [5, 6]] and rest["text"].tolist() == [b"b", b"c"]


def test_elements_of_other_shapes_are_refused_where_they_are_enqueued() -> None:
    queue = tf.FIFOQueue(5, [tf.float32, tf.int32], [[2], []], name="pairs")
    with pytest.raises(
        ValueError, match=r"Shapes \(3,\) and \(2,\) are incompatible: component 0 .* pairs .*test_queue.py"
    ):
        queue.enqueue([[1.0, 2.0, 3.0], 1])
    with pytest.raises(ValueError, match=r"Shapes \(2,\) and \(\) are incompatible: component 1 .*test_queue.py"):
        queue.enqueue_many([[[1.0, 2.0]], [[1, 2]]])
    with pytest.raises(ValueError, match=r"different numbers of elements: \[1, 3\] .*test_queue.py"):
        queue.enqueue_many([[[1.0, 2.0]], [1, 2, 3]])
    with pytest.raises(ValueError, match=r"rank at least 1: component 1 .*test_queue.py"):
        queue.enqueue_many([[[1.0, 2.0]], 1])
    with pytest.raises(ValueError, match=r"at least one type.*test_queue.py"):
        tf.FIFOQueue(5, [])


@pytest.mark.parametrize(
    "dtype", [tf.float16, tf.bfloat16, tf.float64, tf.int8, tf.uint8, tf.bool, tf.complex64, tf.string]
)
def test_dtypes(interpreted: tf.Session, dtype: tf.DType) -> None:
    values = tf.as_string([1, 2, 3]) if dtype == tf.string else tf.cast([1, 0, 1], dtype)
    queue = tf.FIFOQueue(5, dtype, [[]])
    interpreted.run(queue.enqueue_many([values]))
    assert np.array_equal(interpreted.run(queue.dequeue_many(3)), interpreted.run(values))


class TestMemory:
    """An element is the queue's own: later changes of the caller's array, a variable or a result do not reach it."""

    def test_a_fed_array_that_is_changed(self, interpreted: tf.Session) -> None:
        queue, x = tf.FIFOQueue(5, tf.float32, [[2]]), tf.placeholder(tf.float32, [2])
        array = np.array([1.0, 2.0], np.float32)
        interpreted.run(queue.enqueue(x), {x: array})
        interpreted.run(queue.enqueue_many([x[None]]), {x: array})
        array[:] = 9.0
        assert interpreted.run(queue.dequeue_many(2)).tolist() == [[1.0, 2.0]] * 2

    def test_a_variable_that_is_assigned(self, interpreted: tf.Session) -> None:
        queue, v = tf.FIFOQueue(5, tf.float32, [[2]]), tf.get_variable("v", initializer=[1.0, 2.0])
        interpreted.run(v.initializer)
        interpreted.run([queue.enqueue(v), queue.enqueue(tf.identity(v)), queue.enqueue(tf.reshape(v, [2]))])
        interpreted.run(tf.assign(v, [8.0, 9.0]))
        assert interpreted.run(queue.dequeue_many(3)).tolist() == [[1.0, 2.0]] * 3

    def test_a_constant_and_a_result_that_are_changed(self, interpreted: tf.Session) -> None:
        queue, c = tf.FIFOQueue(5, tf.float32, [[2]]), tf.constant([1.0, 2.0])
        doubled = c * 2.0
        results, _, _ = interpreted.run([doubled, queue.enqueue(doubled), queue.enqueue(c)])
        results[:] = 9.0
        first, second = interpreted.run(queue.dequeue()), interpreted.run(queue.dequeue())
        assert sorted([first.tolist(), second.tolist()]) == [[1.0, 2.0], [2.0, 4.0]]
        second[:] = first[:] = 7.0
        assert interpreted.run(c).tolist() == [1.0, 2.0]

    def test_one_value_in_two_queues(self, interpreted: tf.Session) -> None:
        a, b = tf.FIFOQueue(5, tf.float32, [[2]]), tf.FIFOQueue(5, tf.float32, [[2]])
        value = tf.placeholder(tf.float32, [2]) + 1.0
        interpreted.run([a.enqueue(value), b.enqueue(value)], {value.op.inputs[0]: [0.0, 1.0]})
        interpreted.run(a.dequeue())[:] = 9.0
        assert interpreted.run(b.dequeue()).tolist() == [1.0, 2.0]


def test_padding(interpreted: tf.Session) -> None:
    queue = tf.PaddingFIFOQueue(5, [tf.int32, tf.string], [[None], [None, 1]])
    interpreted.run(queue.enqueue([[1], [["a"]]]))
    interpreted.run(queue.enqueue([[2, 3], [["b"], ["c"]]]))
    numbers, texts = interpreted.run(queue.dequeue_many(2))
    assert numbers.tolist() == [[1, 0], [2, 3]] and texts.tolist() == [[[b"a"], [b""]], [[b"b"], [b"c"]]]


def test_priorities(interpreted: tf.Session) -> None:
    queue = tf.PriorityQueue(9, [tf.string], [[]])
    interpreted.run(queue.enqueue_many([[3, 1, 2, 1], ["three", "one", "two", "second one"]]))
    keys, values = interpreted.run(queue.dequeue_many(4))
    assert keys.tolist() == [1, 1, 2, 3] and values.tolist() == [b"one", b"second one", b"two", b"three"]


def test_shuffling_gives_tensorflows_order_for_a_seed(interpreted: tf.Session) -> None:
    tf.set_random_seed(3)
    queue = tf.RandomShuffleQueue(20, 0, tf.int32, [[]], seed=7)
    interpreted.run(queue.enqueue_many([list(range(10))]))
    assert interpreted.run(queue.dequeue_many(10)).tolist() == SHUFFLED


SHUFFLED = [6, 1, 5, 3, 4, 0, 9, 2, 8, 7]  # TensorFlow 2.21


def test_shuffling_keeps_a_minimum_until_closed(interpreted: tf.Session) -> None:
    queue = tf.RandomShuffleQueue(20, 5, tf.int32, [[]])
    interpreted.run(queue.enqueue_many([list(range(8))]))
    first = interpreted.run(queue.dequeue_many(3)).tolist()
    with pytest.raises(tf.errors.DeadlineExceededError):
        interpreted.run(queue.dequeue(), options=SHORT)
    interpreted.run(queue.close())
    rest = interpreted.run(queue.dequeue_up_to(20)).tolist()
    assert sorted(first + rest) == list(range(8))
    with pytest.raises(
        tf.errors.OutOfRangeError, match="RandomShuffleQueue .* is closed and has insufficient elements"
    ):
        interpreted.run(queue.dequeue())


def test_shared_names(interpreted: tf.Session) -> None:
    one, other = (tf.FIFOQueue(3, tf.float32, shared_name="shared") for _ in range(2))
    interpreted.run(one.enqueue(1.0))
    assert interpreted.run(other.dequeue()) == 1.0
    with pytest.raises(tf.errors.InvalidArgumentError, match="has capacity 3 but requested capacity was 4") as caught:
        interpreted.run(tf.FIFOQueue(4, tf.float32, shared_name="shared").size())
    assert "test_queue.py" in str(caught.value)


def test_choosing_a_queue(interpreted: tf.Session) -> None:
    queues = [tf.FIFOQueue(3, tf.float32, [[]]) for _ in range(3)]
    index = tf.placeholder(tf.int32, [])
    chosen = tf.QueueBase.from_list(index, queues)
    for i in (2, 0):
        interpreted.run(chosen.enqueue(float(i)), {index: i})
    assert [interpreted.run(q.size()) for q in queues] == [1, 0, 1]
    assert interpreted.run(chosen.dequeue(), {index: 2}) == 2.0
    with pytest.raises(tf.errors.InvalidArgumentError, match=r"indices = 3 is not in \[0, 3\)"):
        interpreted.run(chosen.size(), {index: 3})


def test_a_full_queue_holds_back_and_a_deadline_ends_that(interpreted: tf.Session) -> None:
    queue = tf.FIFOQueue(2, tf.float32, [[]])
    with pytest.raises(tf.errors.DeadlineExceededError, match="FIFOQueue 'fifo_queue' has 2 of 2 elements") as caught:
        interpreted.run(queue.enqueue_many([[1.0, 2.0, 3.0]]), options=SHORT)
    assert caught.value.message.count("test_queue.py") >= 2  # the lines that made the node and the queue
    assert interpreted.run(queue.dequeue_many(2)).tolist() == [1.0, 2.0]
    assert interpreted.run(queue.size()) == 0


def test_a_dequeue_that_is_given_up_leaves_its_elements(interpreted: tf.Session) -> None:
    queue = tf.FIFOQueue(9, tf.float32, [[]])
    interpreted.run(queue.enqueue_many([[1.0, 2.0]]))
    with pytest.raises(tf.errors.DeadlineExceededError):
        interpreted.run(queue.dequeue_many(3), options=SHORT)
    interpreted.run(queue.enqueue(3.0))
    assert interpreted.run(queue.dequeue_many(3)).tolist() == [1.0, 2.0, 3.0]


class TestInBodies:
    def test_only_the_branch_that_is_taken_dequeues(self, interpreted: tf.Session) -> None:
        queue, p = tf.FIFOQueue(9, tf.float32, [[]]), tf.placeholder(tf.bool, [])
        y = tf.cond(p, queue.dequeue, lambda: tf.constant(-1.0))
        interpreted.run(queue.enqueue_many([[1.0, 2.0]]))
        assert [interpreted.run(y, {p: flag}) for flag in (False, True, False, True)] == [-1.0, 1.0, -1.0, 2.0]

    @pytest.mark.parametrize("parallel", [1, 10])
    def test_a_loop_of_dequeues(self, interpreted: tf.Session, parallel: int) -> None:
        queue = tf.FIFOQueue(9, tf.float32, [[]])
        _, total = tf.while_loop(
            lambda i, t: i < 4, lambda i, t: (i + 1, t + queue.dequeue()), [0, 0.0], parallel_iterations=parallel
        )
        interpreted.run(queue.enqueue_many([[1.0, 2.0, 3.0, 4.0]]))
        assert interpreted.run(total) == 10.0

    def test_a_function(self, interpreted: tf.Session) -> None:
        queue = tf.FIFOQueue(9, tf.float32, [[]])

        @tf.function
        def f():  # type: ignore[no-untyped-def]
            return queue.dequeue() * 2.0

        interpreted.run(queue.enqueue(4.0))
        assert interpreted.run(f()) == 8.0


def test_training_from_a_queue_of_open_batch_size_is_compiled() -> None:
    queue = tf.FIFOQueue(50, tf.float32)
    x = queue.dequeue()
    x.set_shape([None, 3])
    w = tf.get_variable("w", initializer=np.ones((3, 2), np.float32))
    loss = tf.reduce_mean(tf.tanh(tf.matmul(x, w)) ** 2.0)
    train = tf.train.GradientDescentOptimizer(0.1).minimize(loss)
    fed = tf.placeholder(tf.float32, [None, 3])
    put = queue.enqueue(fed)
    losses = {}
    for mode in ("off", "always"):
        with initialized_session(config=tf.ConfigProto(compile=mode)) as sess:
            for _ in range(3):
                sess.run(put, {fed: np.full((4, 3), 0.1, np.float32)})
            losses[mode] = [sess.run([loss, train])[0] for _ in range(3)]
            if mode == "always":
                tiers = [
                    p.plan.variants for plan in sess._master._plans.values() for p in plan.parts if p.plan is not None
                ]
                assert any(p.regions for tier in tiers for p in tier.compiled.values())
    assert np.allclose(losses["off"], losses["always"]) and losses["off"][0] > losses["off"][2]


def test_producers_and_consumers(interpreted: tf.Session) -> None:
    queue = tf.FIFOQueue(5, tf.int32, [[]])
    x = tf.placeholder(tf.int32, [])
    put, take, close = queue.enqueue(x), queue.dequeue(), queue.close()
    taken: list[int] = []

    def produce(first: int) -> None:
        for i in range(first, first + 50):
            interpreted.run(put, {x: i})

    def consume() -> None:
        try:
            while True:
                taken.append(int(interpreted.run(take)))
        except tf.errors.OutOfRangeError:
            pass

    producers = [threading.Thread(target=produce, args=(100 * i,)) for i in range(4)]
    consumers = [threading.Thread(target=consume) for _ in range(4)]
    for thread in producers + consumers:
        thread.start()
    for thread in producers:
        thread.join(30)
    interpreted.run(close)
    for thread in consumers:
        thread.join(30)
        assert not thread.is_alive()
    assert sorted(taken) == [100 * i + j for i in range(4) for j in range(50)]


def test_a_thousand_waiting_dequeues_use_one_thread(interpreted: tf.Session) -> None:
    queue = tf.FIFOQueue(1000, tf.float32, [[]])
    total = tf.add_n([queue.dequeue() for _ in range(1000)])
    before = threading.active_count()
    results: list[float] = []
    thread = threading.Thread(target=lambda: results.append(interpreted.run(total)))
    thread.start()
    while interpreted.waiting().count("FIFOQueue") < 1000:
        assert thread.is_alive()
    assert threading.active_count() == before + 1
    interpreted.run(queue.enqueue_many([np.ones(1000, np.float32)]))
    thread.join(20)
    assert results == [1000.0]


@pytest.mark.parametrize("compile_mode", ["off", "always"])
def test_two_devices(compile_mode: str) -> None:
    with tf.device("/cpu:0"):
        queue = tf.FIFOQueue(5, tf.float32, [[2]])
        x = tf.placeholder(tf.float32, [2])
    with tf.device("/cpu:1"):
        put = queue.enqueue(x * 2.0)
        w = tf.get_variable("w", initializer=[1.0, 1.0])
        loss = tf.reduce_sum(tf.square(queue.dequeue() * w) + w)
        train = tf.train.GradientDescentOptimizer(0.1).minimize(loss)
    config = tf.ConfigProto(compile=compile_mode, device_count={"CPU": 2})
    with initialized_session(config=config) as sess:
        sess.run(put, {x: [1.0, 0.0]})
        sess.run(put, {x: [1.0, 0.0]})
        assert sess.run([loss, train])[0] == 6.0
        assert np.allclose(sess.run([loss, w, train])[0], (2 * 0.1) ** 2 + 0.1 + 0.9)


def test_the_handle_of_something_else(interpreted: tf.Session) -> None:
    table = raw_ops.HashTableV2(key_dtype=tf.string, value_dtype=tf.int64)
    take = raw_ops.QueueDequeueV2(table, component_types=[tf.float32])
    for op in (raw_ops.QueueSizeV2(table), raw_ops.QueueCloseV2(table), take, raw_ops.QueueEnqueueV2(table, [1.0])):
        with pytest.raises(tf.errors.InvalidArgumentError, match="handle of a Queue is needed, got one of a Table"):
            interpreted.run(op)
