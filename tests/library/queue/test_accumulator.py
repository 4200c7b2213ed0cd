"""Conditional accumulators from the public API: means, sums, late gradients, waiting, many threads."""

import logging

import numpy as np
import pytest
from library.queue.background import Background, run_that_waits

import headrace as tf

OFF = tf.ConfigProto(compile="off")
SHORT = tf.RunOptions(timeout_in_ms=200)
GENEROUS = tf.RunOptions(timeout_in_ms=30_000)


def test_names_and_shapes() -> None:
    with tf.name_scope("scope"):
        gradients = tf.ConditionalAccumulator(tf.float32, shape=[None, 2], name="Q")
        assert gradients.name == "Q" and gradients.accumulator_ref.op.name == "scope/Q"
        assert gradients.dtype == tf.float32
        assert gradients.num_accumulated().name == "scope/Q_NumAccumulated:0"
        assert gradients.take_grad(1).shape.as_list() == [None, 2]
        rows = tf.SparseConditionalAccumulator(tf.float64)
        assert rows.take_grad(1)._fields == ("indices", "values", "shape")
    assert isinstance(rows, tf.ConditionalAccumulatorBase) and isinstance(gradients, tf.ConditionalAccumulatorBase)
    assert tf.sparse.SparseConditionalAccumulator is tf.SparseConditionalAccumulator


@pytest.mark.parametrize("dtype", [tf.float16, tf.bfloat16, tf.float32, tf.float64])
@pytest.mark.parametrize(("reduction_type", "factor"), [("MEAN", 1.0), ("SUM", 2.0)])
def test_mean_and_sum(interpreted: tf.Session, dtype: tf.DType, reduction_type: str, factor: float) -> None:
    gradients = tf.ConditionalAccumulator(dtype, shape=[2], reduction_type=reduction_type)
    for value in ([1.0, 2.0], [3.0, 6.0]):
        interpreted.run(gradients.apply_grad(value))
    assert interpreted.run(gradients.num_accumulated()) == 2
    assert interpreted.run(gradients.take_grad(1)).tolist() == [
        2.0 * factor,
        4.0 * factor,
    ]  # all there are, not just one
    assert interpreted.run(gradients.num_accumulated()) == 0


def test_one_step_may_apply_what_it_takes(interpreted: tf.Session) -> None:
    gradients = tf.ConditionalAccumulator(tf.float32, shape=[])
    assert interpreted.run([gradients.take_grad(2), gradients.apply_grad(1.0), gradients.apply_grad(3.0)])[0] == 2.0


def test_late_gradients_are_dropped(interpreted: tf.Session) -> None:
    gradients, step = tf.ConditionalAccumulator(tf.float32), tf.placeholder(tf.int64, [])
    apply = gradients.apply_grad(4.0, local_step=step)
    interpreted.run(apply, {step: 0})
    assert interpreted.run(gradients.take_grad(1)) == 4.0  # now at step 1
    interpreted.run(apply, {step: 0})
    assert interpreted.run(gradients.num_accumulated()) == 0
    interpreted.run(apply, {step: 1})
    interpreted.run(apply, {step: 7})
    assert interpreted.run(gradients.num_accumulated()) == 2
    interpreted.run(gradients.set_global_step(8))
    interpreted.run(apply, {step: 7})
    assert interpreted.run(gradients.num_accumulated()) == 2


def test_going_back_is_logged(interpreted: tf.Session, caplog: pytest.LogCaptureFixture) -> None:
    gradients, rows = tf.ConditionalAccumulator(tf.float32), tf.SparseConditionalAccumulator(tf.float32)
    for one in (gradients, rows):
        interpreted.run(one.set_global_step(tf.constant(5)))
        with caplog.at_level(logging.WARNING, "headrace"):
            interpreted.run(one.set_global_step(2))
        assert "goes back from step 5 to step 2" in caplog.messages[-1]


def test_an_open_shape_is_fixed_by_the_first_gradient_until_it_is_taken(interpreted: tf.Session) -> None:
    gradients, x = tf.ConditionalAccumulator(tf.float32), tf.placeholder(tf.float32)
    apply = gradients.apply_grad(x, local_step=9)
    interpreted.run(apply, {x: [1.0, 2.0]})
    with pytest.raises(tf.errors.InvalidArgumentError, match=r"expected \[2\], got \[3\]"):
        interpreted.run(apply, {x: [1.0, 2.0, 3.0]})
    interpreted.run(gradients.take_grad(1))
    interpreted.run(apply, {x: [1.0, 2.0, 3.0]})
    assert interpreted.run(gradients.take_grad(1)).tolist() == [1.0, 2.0, 3.0]


def test_gradients_are_copied(interpreted: tf.Session) -> None:
    v = tf.get_variable("v", initializer=[1.0, 2.0])
    x = tf.placeholder(tf.float32, [2])
    gradients = tf.ConditionalAccumulator(tf.float32, [2], reduction_type="SUM")
    interpreted.run(v.initializer)
    array = np.array([10.0, 20.0], np.float32)
    interpreted.run([gradients.apply_grad(v), gradients.apply_grad(x)], {x: array})
    array[:] = 0.0
    interpreted.run(tf.assign(v, [0.0, 0.0]))
    assert interpreted.run(gradients.take_grad(2)).tolist() == [11.0, 22.0]
    assert interpreted.run(v).tolist() == [0.0, 0.0]


class TestSparse:
    def test_the_mean_of_a_row_is_over_those_that_have_it(self, interpreted: tf.Session) -> None:
        rows = tf.SparseConditionalAccumulator(tf.float32, shape=[3, 2])
        interpreted.run(rows.apply_grad([0, 2], [[1.0, 2.0], [3.0, 4.0]]))
        interpreted.run(rows.apply_grad([2], [[1.0, 1.0]], [3, 2]))
        assert interpreted.run(rows.num_accumulated()) == 2
        indices, values, shape = interpreted.run(rows.take_grad(2))
        assert indices.tolist() == [0, 2] and shape.tolist() == [3, 2]
        assert values.tolist() == [[1.0, 2.0], [2.0, 2.5]]

    def test_rows_that_come_twice_and_unsorted(self, interpreted: tf.Session) -> None:
        rows = tf.SparseConditionalAccumulator(tf.float32, reduction_type="SUM")
        interpreted.run(rows.apply_grad([2, 0, 2], [[1.0], [5.0], [2.0]]))
        indices, values, shape = interpreted.run(rows.take_grad(1))
        assert (indices.tolist(), values.tolist(), shape.tolist()) == ([0, 2], [[5.0], [3.0]], [-1, 1])

    def test_indexed_slices(self, interpreted: tf.Session) -> None:
        table = tf.get_variable("table", initializer=np.ones((4, 2), np.float32))
        gradient = tf.gradients(tf.reduce_sum(tf.gather(table, [1, 3, 1])), table)[0]
        rows = tf.SparseConditionalAccumulator(tf.float32, shape=[4, 2])
        interpreted.run(table.initializer)
        interpreted.run(rows.apply_indexed_slices_grad(gradient))
        taken = rows.take_indexed_slices_grad(1)
        value = interpreted.run(taken)
        assert value.indices.tolist() == [1, 3] and value.values.tolist() == [[2.0, 2.0], [1.0, 1.0]]
        interpreted.run(rows.apply_indexed_slices_grad(gradient, local_step=1))
        interpreted.run(tf.train.GradientDescentOptimizer(1.0).apply_gradients([(taken, table)]))
        assert interpreted.run(table).tolist() == [[1.0, 1.0], [-1.0, -1.0], [1.0, 1.0], [0.0, 0.0]]

    def test_no_rows(self, interpreted: tf.Session) -> None:
        rows = tf.SparseConditionalAccumulator(tf.float32, shape=[3, 2])
        interpreted.run(rows.apply_grad(np.zeros(0, np.int64), np.zeros((0, 2), np.float32)))
        indices, values, _ = interpreted.run(rows.take_grad(1))
        assert indices.shape == (0,) and values.shape == (0, 2)

    @pytest.mark.parametrize(
        ("arguments", "message"),
        [
            (([5], [[1.0, 2.0]]), "index 5 is outside the 3 rows"),
            (([1], [[1.0, 2.0, 3.0]]), "expected values dim 1 to be 2, got 3"),
            (([1], [[1.0, 2.0]], [4, 2]), "expected shape dim 0 to be 3, got 4"),
            (([1], [[1.0, 2.0]], [3]), "expected shape rank at least 2, got 1"),
            (([1, 2], [[1.0, 2.0]]), "expected 2 values, one for each index, got 1"),
            (([[1]], [[1.0, 2.0]]), r"indices should be a vector but have shape \[1,1\]"),
            (([1], 1.0), "values cannot be 0-dimensional"),
        ],
    )
    def test_rows_that_do_not_fit(self, interpreted: tf.Session, arguments: tuple[object, ...], message: str) -> None:
        rows = tf.SparseConditionalAccumulator(tf.float32, shape=[3, 2])
        with pytest.raises(tf.errors.InvalidArgumentError, match=message):
            interpreted.run(rows.apply_grad(*arguments))
        assert interpreted.run(rows.num_accumulated()) == 0

    def test_what_is_no_indexed_slices(self) -> None:
        with pytest.raises(TypeError, match="IndexedSlices expected"):
            tf.SparseConditionalAccumulator(tf.float32).apply_indexed_slices_grad(tf.constant(1.0))


class TestRefused:
    @pytest.mark.parametrize("count", [0, -1])
    @pytest.mark.parametrize("make", [tf.ConditionalAccumulator, tf.SparseConditionalAccumulator])
    def test_a_count_that_is_not_positive(self, interpreted: tf.Session, make: type, count: int) -> None:
        with pytest.raises(tf.errors.InvalidArgumentError, match=f"num_required must be positive, but was {count}"):
            interpreted.run(make(tf.float32).take_grad(count))

    def test_a_shape_that_is_known_to_be_wrong(self) -> None:
        with pytest.raises(ValueError, match=r"Shapes \(2,\) and \(3,\) are incompatible"):
            tf.ConditionalAccumulator(tf.float32, shape=[3]).apply_grad([1.0, 2.0])

    def test_a_shape_that_turns_out_wrong(self, interpreted: tf.Session) -> None:
        x = tf.placeholder(tf.float32)
        apply = tf.ConditionalAccumulator(tf.float32, shape=[3]).apply_grad(x)
        with pytest.raises(
            tf.errors.InvalidArgumentError, match=r"Shape mismatch: expected \[3\], got \[2\]"
        ) as caught:
            interpreted.run(apply, {x: [1.0, 2.0]})
        assert "test_accumulator.py" in str(caught.value)

    def test_dtypes(self, interpreted: tf.Session) -> None:
        with pytest.raises(ValueError, match="requested dtype float32 for Tensor with dtype int32"):
            tf.ConditionalAccumulator(tf.float32).apply_grad(tf.constant(1))
        with pytest.raises(TypeError, match="string not in list of allowed values"):
            tf.ConditionalAccumulator(tf.string)
        with pytest.raises(tf.errors.InvalidArgumentError, match="sums gradients of .*, got dtype int32"):
            interpreted.run(tf.ConditionalAccumulator(tf.int32).apply_grad(1))

    def test_a_reduction_that_there_is_not(self) -> None:
        with pytest.raises(ValueError, match='passed string \'MAX\' not in: "MEAN", "SUM"'):
            tf.ConditionalAccumulator(tf.float32, reduction_type="MAX")

    def test_sharing_what_is_different(self, interpreted: tf.Session) -> None:
        interpreted.run(tf.ConditionalAccumulator(tf.float32, [2], shared_name="g").num_accumulated())
        with pytest.raises(tf.errors.InvalidArgumentError, match=r"has shape \(2,\) but requested shape was \(3,\)"):
            interpreted.run(tf.ConditionalAccumulator(tf.float32, [3], shared_name="g").num_accumulated())


def test_shared_names(interpreted: tf.Session) -> None:
    one, other = (tf.ConditionalAccumulator(tf.float32, [2], shared_name="g") for _ in range(2))
    interpreted.run(one.apply_grad([1.0, 2.0]))
    assert interpreted.run(other.take_grad(1)).tolist() == [1.0, 2.0]


class TestWaiting:
    def test_a_deadline(self, interpreted: tf.Session) -> None:
        gradients = tf.ConditionalAccumulator(tf.float32, name="grads")
        interpreted.run(gradients.apply_grad(1.0))
        expected = "ConditionalAccumulator 'grads' has 1 gradient at step 0, 2 are asked for"
        with pytest.raises(tf.errors.DeadlineExceededError, match=expected) as caught:
            interpreted.run(gradients.take_grad(2), options=SHORT)
        assert caught.value.message.count("test_accumulator.py") >= 2
        assert interpreted.run(gradients.num_accumulated()) == 1  # nothing was taken

    @pytest.mark.parametrize("make", [tf.ConditionalAccumulator, tf.SparseConditionalAccumulator])
    def test_closing_the_session(self, make: type) -> None:
        sess = tf.Session(config=OFF)
        run = run_that_waits(sess, make(tf.float32).take_grad(1))
        sess.close()
        with pytest.raises(tf.errors.CancelledError, match="Accumulator '.*' has 0 gradients"):
            run.result()

    def test_who_waits_gets_what_another_step_applies(self, interpreted: tf.Session) -> None:
        gradients = tf.ConditionalAccumulator(tf.float32, [])
        run = run_that_waits(interpreted, gradients.take_grad(3))
        for value in (1.0, 2.0, 6.0):
            interpreted.run(gradients.apply_grad(value))
        assert run.result() == 3.0


def test_eight_threads_lose_nothing(interpreted: tf.Session) -> None:
    """Each gradient is a vector with a one at its own place: the sum of all that was taken must be all ones."""
    places, appliers = 200, 8
    gradients = tf.ConditionalAccumulator(tf.float32, [places], reduction_type="SUM")
    place = tf.placeholder(tf.int32, [])
    apply = gradients.apply_grad(tf.one_hot(place, places), local_step=tf.int64.max)
    take = gradients.take_grad(5)
    total = np.zeros(places)

    def run(first: int) -> None:
        for i in range(first, places, appliers):
            interpreted.run(apply, {place: i}, options=GENEROUS)

    runs = [Background(run, i) for i in range(appliers)]
    while total.sum() < places - 4:
        total += interpreted.run(take, options=GENEROUS)
    for one in runs:
        one.result()
    if total.sum() < places:
        total += interpreted.run(gradients.take_grad(1), options=GENEROUS)
    assert total.tolist() == [1.0] * places


def test_in_a_loop(interpreted: tf.Session) -> None:
    gradients = tf.ConditionalAccumulator(tf.float32, [])

    def body(i: tf.Tensor) -> tf.Tensor:
        with tf.control_dependencies([gradients.apply_grad(tf.cast(i, tf.float32))]):
            return i + 1

    interpreted.run(tf.while_loop(lambda i: i < 4, body, [0]))
    assert interpreted.run(gradients.take_grad(4)) == 1.5


def test_eagerly() -> None:
    with tf.eager_mode():
        gradients = tf.ConditionalAccumulator(tf.float32, shape=[2])
        gradients.apply_grad([1.0, 2.0])
        gradients.apply_grad([3.0, 4.0])
        assert gradients.num_accumulated().numpy() == 2
        assert gradients.take_grad(2).numpy().tolist() == [2.0, 3.0]


@pytest.mark.parametrize("compile", ["off", "always"])
def test_gradients_of_small_batches_add_up_to_those_of_the_large(compile: str) -> None:
    """Q6 of the paper: accumulating gradients makes a large batch of small ones."""
    x = tf.placeholder(tf.float32, [None, 3])
    w = tf.get_variable("w", initializer=np.ones((3, 2), np.float32))
    loss = tf.reduce_mean(tf.tanh(tf.matmul(x, w)) ** 2.0)
    gradient = tf.gradients(loss, w)[0]
    gradients = tf.ConditionalAccumulator(tf.float32, [3, 2])
    step = tf.train.get_or_create_global_step()
    apply = gradients.apply_grad(gradient, local_step=step)
    optimizer = tf.train.GradientDescentOptimizer(0.5)
    train = optimizer.apply_gradients([(gradients.take_grad(4), w)], global_step=step)
    batch = np.random.RandomState(0).randn(8, 3).astype(np.float32)
    with tf.Session(config=tf.ConfigProto(compile=compile)) as sess:
        sess.run(tf.global_variables_initializer())
        before = sess.run(w)
        whole = sess.run(gradient, {x: batch})
        for rows in np.split(batch, 4):
            sess.run(apply, {x: rows})
        sess.run(train, options=GENEROUS)
        np.testing.assert_allclose(sess.run(w), before - 0.5 * whole, rtol=1e-5, atol=1e-6)
        sess.run(apply, {x: batch})
        assert sess.run(gradients.num_accumulated()) == 1
