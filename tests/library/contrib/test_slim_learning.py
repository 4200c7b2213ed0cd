"""slim.learning.train: steps, logs, checkpoints, the end of the input, AbortedError."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import headrace as tf

learning = tf.contrib.slim.learning


@pytest.fixture
def train_op() -> Any:
    x = tf.get_variable("x", initializer=4.0)
    return learning.create_train_op(x * x, tf.train.GradientDescentOptimizer(0.25))


def test_a_number_of_steps_is_trained_logged_and_saved(
    train_op: Any, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level("INFO", "tensorflow"):
        loss = learning.train(train_op, str(tmp_path), number_of_steps=3, log_every_n_steps=2)
    assert loss == 1.0  # of x = 1, before the third update
    assert tf.train.latest_checkpoint(str(tmp_path)) == f"{tmp_path}/model.ckpt-3"
    logged = [m.split(" (")[0] for m in caplog.messages if m.startswith("global step ")]
    assert logged == ["global step 1: loss = 4.0000"]  # the step as the run reads it, before it is counted
    assert "Finished training! Saving model to disk." in caplog.messages


def test_training_goes_on_from_the_checkpoint(tmp_path: Path) -> None:
    for steps in (2, 5):
        with tf.Graph().as_default():
            x = tf.get_variable("x", initializer=4.0)
            op = learning.create_train_op(x * x, tf.train.GradientDescentOptimizer(0.25))
            learning.train(op, str(tmp_path), number_of_steps=steps)
    assert tf.train.load_variable(str(tmp_path), "x") == 4.0 / 2**5


def test_a_step_function_of_the_program_stops(train_op: Any) -> None:
    calls: list[Any] = []

    def step_fn(sess: Any, op: Any, global_step: Any, kwargs: Any) -> tuple[Any, bool]:
        calls.append(kwargs)
        return sess.run(op), len(calls) == 2

    assert learning.train(train_op, None, train_step_fn=step_fn, train_step_kwargs={"a": 1}) == 4.0
    assert calls == [{"a": 1}, {"a": 1}]


def test_the_end_of_the_input_ends_the_training(tmp_path: Path) -> None:
    number = tf.train.limit_epochs(tf.constant(3.0), 2)
    queue = tf.FIFOQueue(2, tf.float32, [[]])
    tf.train.add_queue_runner(tf.train.QueueRunner(queue, [queue.enqueue(number)]))
    x = tf.get_variable("x", initializer=1.0)
    op = learning.create_train_op(x * queue.dequeue(), tf.train.GradientDescentOptimizer(0.1))
    learning.train(op, str(tmp_path))
    assert tf.train.load_variable(str(tmp_path), "global_step") == 2


def test_a_lost_task_begins_the_loop_again(train_op: Any, tmp_path: Path) -> None:
    calls: list[int] = []

    def step_fn(sess: Any, op: Any, global_step: Any, kwargs: Any) -> tuple[Any, bool]:
        calls.append(1)
        if len(calls) == 2:
            raise tf.errors.AbortedError(None, None, "gone")
        return sess.run(op), len(calls) == 4

    learning.train(train_op, str(tmp_path), train_step_fn=step_fn)
    assert len(calls) == 4


def test_steps_are_traced(train_op: Any, tmp_path: Path) -> None:
    learning.train(train_op, str(tmp_path), number_of_steps=2, trace_every_n_steps=2)
    assert [p.name.split("-")[0] for p in tmp_path.glob("*.json")] == ["tf_trace"]


def test_bad_arguments(train_op: Any) -> None:
    with pytest.raises(ValueError, match="train_op cannot be None"):
        learning.train(None, None)
    for name in ("saver", "trace_every_n_steps", "summary_op"):
        with pytest.raises(ValueError, match=f"Cannot provide {name} because logdir=None"):
            learning.train(train_op, None, **{name: 1})
    with pytest.raises(ValueError, match="number_of_steps. must be either None or a positive number"):
        learning.train(train_op, None, number_of_steps=0)
    with pytest.raises(ValueError, match="sync_optimizer` must be a tf.train.SyncReplicasOptimizer"):
        learning.train(train_op, None, sync_optimizer=object())
    optimizer = tf.train.SyncReplicasOptimizer(tf.train.GradientDescentOptimizer(0.1), 1)
    with pytest.raises(ValueError, match="startup_delay_steps must be zero when sync_optimizer is supplied, got 3"):
        learning.train(train_op, None, sync_optimizer=optimizer, startup_delay_steps=3)


@pytest.mark.parametrize("as_list", [False, True])
def test_synchronous_replicas(tmp_path: Path, as_list: bool) -> None:
    """The second training goes on from the first one's checkpoint; other local variables have their values too."""
    for last_step in (3, 6):
        tf.reset_default_graph()
        v = tf.Variable(8.0, name="v")
        other = tf.Variable(5, collections=[tf.GraphKeys.LOCAL_VARIABLES], trainable=False)
        optimizer = tf.train.SyncReplicasOptimizer(tf.train.GradientDescentOptimizer(0.25), 1)
        with tf.control_dependencies([tf.assert_equal(other, 5)]):
            loss = tf.square(v)
        train_op = learning.create_train_op(loss, optimizer)
        sync_optimizer = [optimizer] if as_list else optimizer
        learning.train(train_op, str(tmp_path), number_of_steps=last_step, sync_optimizer=sync_optimizer)
        state = tf.train.load_checkpoint(str(tmp_path))
        steps = state.get_tensor("global_step")
        assert steps >= last_step
        assert state.get_tensor("v") <= 8.0 * 0.5**steps  # a gradient too many may be applied while it is saved
