"""Costs of a session's steps: measured by running them, predicted without."""

import numpy as np
import pytest
from running import initialized_session

import headrace as tf


@pytest.fixture(autouse=True)
def graph():
    with tf.Graph().as_default() as made, tf.device("/cpu:0"):
        yield made


def training(rows=4):
    x = tf.placeholder(tf.float32, [rows, 3], "x")
    w = tf.Variable(tf.ones([3, 2]), name="w")
    loss = tf.reduce_mean(tf.square(tf.matmul(x, w)))
    return x, loss, tf.train.GradientDescentOptimizer(0.1).minimize(loss), w


def ops(costs):
    return sorted(what.partition("(")[0] for _, what, _, _ in costs)


def test_a_step_is_measured_and_its_prediction_is_the_sum():
    x, loss, train, w = training()
    with initialized_session() as session:
        costs = session.measure_costs([loss, train], {x: np.ones([4, 3])}, runs=4)
        assert {"MatMul", "Mean", "Square"} <= {*ops(costs)}
        assert {runs for _, _, _, runs in costs} == {4}
        assert session.run(w)[0, 0] != 1.0  # the steps are real ones
        assert list(session.costs) == list(costs)
        predicted = session.predict_cost([loss, train], feeds=[x])
        measured = {what: seconds for _, what, seconds, _ in costs}
        assert predicted.seconds == pytest.approx(predicted.working["CPU"])
        assert predicted.seconds >= sum(measured.values()) * 0.99
        assert predicted.measured == 1.0
        assert session.predict_cost([loss, train], feeds=[x], use_measured=False).measured == 0.0


def test_shapes_of_what_is_fed_count():
    x, loss, train, _ = training(rows=None)
    with initialized_session() as session:
        few = session.predict_cost([loss, train], {x: np.ones([4, 3])})
        many = session.predict_cost([loss, train], {x: np.ones([40_000, 3])})
        assert many.seconds > 10 * few.seconds
        costs = session.measure_costs([loss, train], {x: np.ones([5, 3])}, runs=1)
        assert any("float32[5,3]" in what for _, what, _, _ in costs)
        assert session.predict_cost([loss, train], {x: np.ones([5, 3])}).measured == 1.0
        assert session.predict_cost([loss, train], feeds=[x]).seconds > 0


def test_a_step_in_which_nodes_wait_is_measured_without_them():
    queue = tf.FIFOQueue(10, [tf.float32], [[2]])
    taken = tf.exp(queue.dequeue())
    with tf.Session() as session:
        for _ in range(8):
            session.run(queue.enqueue([[1.0, 2.0]]))
        costs = session.measure_costs(taken, runs=2)
        assert ops(costs) == ["Exp"]
        assert session.predict_cost(taken).seconds > 0


def test_traced_steps_add_to_the_costs_of_the_session():
    x, loss, train, _ = training()
    with initialized_session() as session:
        assert len(session.costs) == 0
        options, metadata = tf.RunOptions(trace_level=tf.RunOptions.FULL_TRACE), tf.RunMetadata()
        session.run(train, {x: np.ones([4, 3])}, options=options, run_metadata=metadata)
        assert "MatMul" in ops(session.costs)


@pytest.mark.parametrize(
    ("every", "after", "measured"),
    [(1, 0, [0, 1, 2, 3, 4, 5]), (2, 0, [1, 3, 5]), (2, 1, [2, 4]), (3, 2, [4]), (0, 0, [])],
)
def test_a_cost_model_is_built_of_every_so_many_runs_after_so_many(every, after, measured):
    x, loss, _, _ = training()
    config = tf.ConfigProto(graph_options=tf.GraphOptions(build_cost_model=every, build_cost_model_after=after))
    seen = []
    with initialized_session(config=config) as session:
        for number in range(6):
            metadata = tf.RunMetadata()
            session.run(loss, {x: np.ones([4, 3])}, run_metadata=metadata)
            if metadata.cost_graph is not None:
                seen.append(number)
                assert metadata.step_stats is not None
    assert seen == measured


def test_a_cost_model_is_built_of_runs_that_ask_for_nothing():
    x, loss, _, _ = training()
    config = tf.ConfigProto(graph_options=tf.GraphOptions(build_cost_model=3))
    with initialized_session(config=config) as session:
        counts = []
        for _ in range(7):
            session.run(loss, {x: np.ones([4, 3])})
            counts.append(max((runs for _, what, _, runs in session.costs if what.startswith("MatMul")), default=0))
    assert counts == [0, 0, 1, 1, 1, 2, 2]


def test_a_step_over_several_partitions_is_predicted_by_its_simulation():
    """Two equal towers side by side take less than one after the other, and measured nodes count."""
    x = tf.placeholder(tf.float32, [None, 256])

    def tower(device):
        with tf.device(device):
            return tf.reduce_sum(tf.matmul(tf.matmul(x, tf.ones([256, 256])), tf.ones([256, 256])))

    apart, together = [tower("/cpu:0"), tower("/cpu:1")], [tower("/cpu:0"), tower("/cpu:0")]
    config = tf.ConfigProto(device_count={"CPU": 2, "GPU": 0}, intra_op_parallelism_threads=2)
    config.device_threads.update({"/cpu:0": 1, "/cpu:1": 1})
    with tf.Session(config=config) as session:
        value = np.ones([512, 256])
        session.measure_costs(together, {x: value}, runs=2)
        side_by_side = session.predict_cost(apart, {x: value})
        assert side_by_side.measured > 0.99
        assert set(side_by_side.working) == {"CPU"}
        assert 0 < side_by_side.seconds < session.predict_cost([*apart, *together], {x: value}).seconds
        assert session.predict_cost(apart, {x: np.ones([4, 256])}, use_measured=False).seconds < side_by_side.seconds


def test_what_cannot_be_measured_is_refused():
    x, loss, _, _ = training()
    with tf.Session(config=tf.ConfigProto(device_count={"CPU": 2})) as session:
        with pytest.raises(ValueError, match="runs a step at least once, got runs=0"):
            session.measure_costs(loss, {x: np.ones([4, 3])}, runs=0)
        with pytest.raises(ValueError, match="feed_dict or feeds, got both"):
            session.predict_cost(loss, {x: 1}, feeds=[x])
        with tf.device("/cpu:1"):
            elsewhere = tf.exp(x)
        costs = session.measure_costs([elsewhere, tf.sqrt(x)], {x: np.ones([4, 3])}, runs=1)
        assert ops(costs) == ["Exp", "Sqrt"]
