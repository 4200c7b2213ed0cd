"""Optimizers: trainings that follow TensorFlow's to the last slot, names, hooks of subclasses, and errors."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from golden.optimizer_cases import CASES, train

import headrace as tf

GOLDEN = np.load(Path(__file__).parents[2] / "golden" / "optimizer.npz")


def quadratic(name: str = "W", **options):
    """A variable of ones and the sum of its squares."""
    variable = tf.Variable(np.ones([2, 2], np.float32), name=name, **options)
    return variable, tf.reduce_sum(tf.square(variable))


def value_after(train_op, variable, steps: int = 1):
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        for _ in range(steps):
            session.run(train_op)
        return session.run(variable)


@pytest.mark.parametrize("kind", ["dense", "sparse"])
@pytest.mark.parametrize("name", CASES)
def test_twenty_steps_as_tensorflow(name, kind):
    found = train(tf, CASES[name], kind == "sparse")
    prefix = f"{name}/{kind}/"
    expected = {key.removeprefix(prefix): GOLDEN[key] for key in GOLDEN.files if key.startswith(prefix)}
    assert sorted(found) == sorted(expected)
    for variable, value in expected.items():
        np.testing.assert_allclose(found[variable], value, rtol=1e-5, atol=1e-6, err_msg=variable)


class TestNames:
    def test_the_update_and_its_parts(self, graph):
        _, loss = quadratic()
        train_op = tf.train.GradientDescentOptimizer(0.1).minimize(loss)
        assert train_op.name == "GradientDescent"
        assert train_op.type == "NoOp"
        assert graph.get_operation_by_name("GradientDescent/update_W/ApplyGradientDescent")
        assert graph.get_operation_by_name("GradientDescent/learning_rate").type == "Const"
        assert tf.get_collection(tf.GraphKeys.TRAIN_OP) == [train_op]

    def test_slots_and_powers_of_adam(self):
        variable, loss = quadratic()
        optimizer = tf.train.AdamOptimizer()
        optimizer.minimize(loss)
        assert [v.name for v in optimizer.variables()] == ["W/Adam:0", "W/Adam_1:0", "beta1_power:0", "beta2_power:0"]
        assert optimizer.get_slot_names() == ["m", "v"]
        assert optimizer.get_slot(variable, "v").name == "W/Adam_1:0"
        assert optimizer.get_slot(variable, "other") is None
        assert optimizer.get_name() == "Adam"
        assert [v.name for v in tf.trainable_variables()] == ["W:0"]

    def test_a_second_optimizer_gets_slots_of_its_own(self):
        variable, loss = quadratic()
        optimizers = [tf.train.MomentumOptimizer(0.1, 0.9) for _ in range(2)]
        names = [optimizer.minimize(loss).name for optimizer in optimizers]
        assert names == ["Momentum", "Momentum_1"]
        assert [o.get_slot(variable, "momentum").op.name for o in optimizers] == ["W/Momentum", "W/Momentum_1"]

    def test_with_a_global_step(self, graph):
        _, loss = quadratic()
        step = tf.train.get_or_create_global_step()
        train_op = tf.train.AdamOptimizer().minimize(loss, global_step=step, name="learn")
        assert (train_op.name, train_op.type) == ("learn", "AssignAdd")
        assert graph.get_operation_by_name("learn/update").type == "NoOp"
        assert value_after(train_op, step, 3) == 3

    def test_updates_are_placed_with_their_variables(self, graph):
        _, loss = quadratic()
        tf.train.GradientDescentOptimizer(0.1).minimize(loss)
        update = graph.get_operation_by_name("GradientDescent/update_W/ApplyGradientDescent")
        assert update.colocation == ("loc:@W",)


class TestComputeAndApply:
    def test_gradients_come_with_their_variables_and_none_where_unconnected(self):
        variable, loss = quadratic()
        other = tf.Variable(1.0, name="other")
        pairs = tf.train.GradientDescentOptimizer(0.1).compute_gradients(loss)
        assert [v for _, v in pairs] == [variable, other]
        assert pairs[1][0] is None

    def test_none_gradients_are_skipped(self):
        variable, loss = quadratic()
        other = tf.Variable(1.0, name="other")
        train_op = tf.train.GradientDescentOptimizer(0.25).minimize(loss)
        np.testing.assert_allclose(value_after(train_op, variable), np.full([2, 2], 0.5))
        assert value_after(train_op, other) == 1.0

    def test_clipped_gradients(self):
        variable, loss = quadratic()
        optimizer = tf.train.GradientDescentOptimizer(1.0)
        pairs = [(tf.clip_by_value(g, -0.5, 0.5), v) for g, v in optimizer.compute_gradients(loss)]
        np.testing.assert_allclose(value_after(optimizer.apply_gradients(pairs), variable), np.full([2, 2], 0.5))

    def test_arrays_are_gradients_too(self):
        variable, _ = quadratic()
        train_op = tf.train.GradientDescentOptimizer(1.0).apply_gradients([(np.eye(2, dtype=np.float32), variable)])
        np.testing.assert_allclose(value_after(train_op, variable), 1 - np.eye(2))

    def test_grad_loss_scales(self):
        variable, loss = quadratic()
        train_op = tf.train.GradientDescentOptimizer(0.1).minimize(loss, grad_loss=tf.constant(2.0))
        np.testing.assert_allclose(value_after(train_op, variable), np.full([2, 2], 0.6), rtol=1e-6)

    @pytest.mark.parametrize("gate", ["GATE_NONE", "GATE_OP", "GATE_GRAPH"])
    def test_gates_do_not_change_values(self, gate):
        variable, loss = quadratic()
        gate = getattr(tf.train.Optimizer, gate)
        train_op = tf.train.GradientDescentOptimizer(0.1).minimize(loss, gate_gradients=gate)
        np.testing.assert_allclose(value_after(train_op, variable), np.full([2, 2], 0.8), rtol=1e-6)

    def test_var_list(self):
        variable, loss = quadratic()
        frozen, other_loss = quadratic("frozen")
        train_op = tf.train.GradientDescentOptimizer(0.1).minimize(loss + other_loss, var_list=[variable])
        np.testing.assert_allclose(value_after(train_op, frozen), np.ones([2, 2]))

    def test_a_learning_rate_fed_at_run_time(self, session):
        variable, loss = quadratic()
        rate = tf.placeholder(tf.float32, [])
        train_op = tf.train.GradientDescentOptimizer(rate).minimize(loss)
        session.run(tf.global_variables_initializer())
        session.run(train_op, {rate: 0.5})
        np.testing.assert_allclose(session.run(variable), np.zeros([2, 2]))

    def test_a_variable_of_doubles(self):
        variable = tf.Variable(np.ones(3))
        loss = tf.reduce_sum(tf.square(variable))
        result = value_after(tf.train.AdamOptimizer(0.1).minimize(loss), variable)
        assert result.dtype == np.float64
        np.testing.assert_allclose(result, np.full(3, 0.9), rtol=1e-6)

    def test_the_constraint_sees_the_updated_value(self):
        variable, loss = quadratic(constraint=lambda v: tf.clip_by_value(v, 0.7, 2.0))
        train_op = tf.train.GradientDescentOptimizer(0.25).minimize(loss)
        np.testing.assert_allclose(value_after(train_op, variable), np.full([2, 2], 0.7), rtol=1e-6)

    def test_sparse_gradients_leave_other_rows_and_slots_alone(self):
        variable = tf.Variable(np.ones([4, 2], np.float32), name="table")
        loss = tf.reduce_sum(tf.gather(variable, [1, 3, 3]))
        optimizer = tf.train.MomentumOptimizer(0.1, 0.9)
        train_op = optimizer.minimize(loss)
        found = value_after(train_op, [variable, optimizer.get_slot(variable, "momentum")])
        np.testing.assert_allclose(found[0][:, 0], [1.0, 0.9, 1.0, 0.8], rtol=1e-6)
        np.testing.assert_allclose(found[1][:, 0], [0, 1, 0, 2])

    def test_slots_of_a_partitioned_variable_are_shards(self):
        with tf.variable_scope("part", partitioner=tf.fixed_size_partitioner(2)):
            variable = tf.get_variable("W", initializer=np.ones([4, 2], np.float32))
        loss = tf.reduce_sum(tf.square(tf.convert_to_tensor(variable)))
        optimizer = tf.train.MomentumOptimizer(0.1, 0.9)
        train_op = optimizer.minimize(loss)
        shards = list(variable)
        slots = [optimizer.get_slot(shard, "momentum") for shard in shards]
        assert [s.op.name for s in slots] == ["part/W/part_0/Momentum", "part/W/part_1/Momentum"]
        info = slots[1]._get_save_slice_info()
        assert (info.full_name, info.full_shape, info.var_offset) == ("part/W/Momentum", [4, 2], [2, 0])
        np.testing.assert_allclose(value_after(train_op, shards[1]), np.full([2, 2], 0.8), rtol=1e-6)
