"""What optimizers refuse, and the hooks that users' own optimizers override."""

from __future__ import annotations

import numpy as np
import pytest

import headrace as tf


def loss_of(variable):
    return tf.reduce_sum(tf.square(variable))


class TestErrors:
    def test_a_loss_that_reaches_no_variable(self):
        tf.Variable(1.0, name="v")
        with pytest.raises(
            ValueError, match="No gradients provided for any variable, check your graph for ops that do"
        ):
            tf.train.GradientDescentOptimizer(0.1).minimize(tf.constant(1.0))

    def test_no_variables(self):
        with pytest.raises(ValueError, match=r"No variables to optimize\."):
            tf.train.GradientDescentOptimizer(0.1).minimize(tf.constant(1.0))

    def test_nothing_to_apply(self):
        optimizer = tf.train.GradientDescentOptimizer(0.1)
        with pytest.raises(ValueError, match=r"No variables provided\."):
            optimizer.apply_gradients([])
        variable = tf.Variable(1.0)
        with pytest.raises(ValueError, match="No gradients provided for any variable: "):
            optimizer.apply_gradients([(None, variable)])

    def test_bad_gradients(self):
        variable = tf.Variable(1.0)
        with pytest.raises(TypeError, match="Gradient must be convertible to a Tensor or IndexedSlices, or None"):
            tf.train.GradientDescentOptimizer(0.1).apply_gradients([(object(), variable)])

    def test_gate(self):
        variable = tf.Variable(1.0)
        with pytest.raises(ValueError, match=r"gate_gradients must be one of: Optimizer.GATE_NONE.*Not 7"):
            tf.train.GradientDescentOptimizer(0.1).minimize(loss_of(variable), gate_gradients=7)

    def test_integer_losses_and_variables(self):
        variable = tf.Variable(1.0)
        with pytest.raises(ValueError, match="Invalid type tf.int32 for"):
            tf.train.GradientDescentOptimizer(0.1).minimize(tf.cast(variable, tf.int32))

    def test_names_are_required(self):
        with pytest.raises(ValueError, match="Must specify the optimizer name"):
            tf.train.GradientDescentOptimizer(0.1, name="")

    def test_a_tensor_can_be_differentiated_by_but_not_updated(self, session):
        tensor = tf.constant([1.0, 2.0])
        optimizer = tf.train.GradientDescentOptimizer(0.1)
        pairs = optimizer.compute_gradients(loss_of(tensor), var_list=[tensor])
        np.testing.assert_allclose(session.run(pairs[0][0]), [2.0, 4.0])
        with pytest.raises(NotImplementedError, match="Trying to update a Tensor"):
            optimizer.apply_gradients(pairs)

    def test_things_that_are_no_variables(self):
        with pytest.raises(NotImplementedError, match="Trying to optimize unsupported type"):
            tf.train.GradientDescentOptimizer(0.1).compute_gradients(tf.constant(1.0), var_list=["W"])

    def test_a_constraint_on_a_sparse_update(self):
        variable = tf.Variable(np.ones([4, 2], np.float32), constraint=lambda v: v)
        with pytest.raises(RuntimeError, match="Cannot use a constraint function on a sparse variable"):
            tf.train.GradientDescentOptimizer(0.1).minimize(tf.reduce_sum(tf.gather(variable, [0])))

    @pytest.mark.parametrize(
        ("make", "message"),
        [
            (lambda: tf.train.AdagradOptimizer(0.1, 0.0), "initial_accumulator_value must be positive: 0.0"),
            (lambda: tf.train.ProximalAdagradOptimizer(0.1, -1.0), "initial_accumulator_value must be positive"),
            (lambda: tf.train.AdagradDAOptimizer(0.1, None, 0.0), "must be positive"),
            (lambda: tf.train.FtrlOptimizer(0.1, 0.5), "learning_rate_power 0.5 needs to be negative or zero"),
            (lambda: tf.train.FtrlOptimizer(0.1, l1_regularization_strength=-1.0), "needs to be greater than or equal"),
        ],
    )
    def test_hyper_parameters_out_of_range(self, make, message):
        with pytest.raises(ValueError, match=message):
            make()

    def test_an_uninitialized_slot_is_named(self, session):
        variable = tf.Variable(1.0, name="v")
        train_op = tf.train.MomentumOptimizer(0.1, 0.9).minimize(loss_of(variable))
        session.run(variable.initializer)
        with pytest.raises(tf.errors.FailedPreconditionError, match="uninitialized value v/Momentum"):
            session.run(train_op)


class TestHooks:
    """Optimizers as users write them."""

    class Signed(tf.train.Optimizer):
        def __init__(self, rate, name="Signed"):
            super().__init__(False, name)
            self._rate = rate
            self.calls = []

        def _create_slots(self, var_list):
            for v in var_list:
                self._get_or_make_slot(v, tf.zeros([]), "count", "count")

        def _prepare(self):
            self._rate_tensor = tf.convert_to_tensor(self._rate, name="rate")

        def _apply_dense(self, grad, var):
            self.calls.append("dense")
            count = self.get_slot(var, "count")
            return tf.group(tf.assign_sub(var, self._rate_tensor * tf.sign(grad)), tf.assign_add(count, 1.0))

        def _apply_sparse(self, grad, var):
            self.calls.append("sparse")
            return tf.scatter_sub(var, grad.indices, self._rate_tensor * tf.sign(grad.values))

    def run(self, optimizer, loss, fetch):
        train_op = optimizer.minimize(loss)
        with tf.Session() as session:
            session.run(tf.global_variables_initializer())
            session.run(train_op)
            return session.run(fetch)

    def test_dense(self):
        variable = tf.Variable([1.0, -1.0], name="v")
        optimizer = self.Signed(0.5)
        loss = loss_of(variable)
        found = self.run(optimizer, loss, variable)
        np.testing.assert_allclose(found, [0.5, -0.5])
        assert optimizer.calls == ["dense"]
        assert optimizer.get_slot(variable, "count").name == "v/count:0"

    def test_sparse_rows_arrive_without_repeats(self):
        variable = tf.Variable(np.ones([3, 1], np.float32))
        optimizer = self.Signed(0.5)
        loss = tf.reduce_sum(tf.gather(variable, [2, 2, 0]))
        np.testing.assert_allclose(self.run(optimizer, loss, variable), [[0.5], [1.0], [0.5]])
        assert optimizer.calls == ["sparse"]

    def test_only_the_resource_hook(self):
        class Resource(tf.train.Optimizer):
            def _resource_apply_dense(self, grad, handle):
                return tf.assign_sub(handle, grad)

        variable = tf.Variable([1.0, 2.0])
        np.testing.assert_allclose(self.run(Resource(False, "R"), loss_of(variable), variable), [-1.0, -2.0])

    def test_resource_variables_use_the_resource_hook(self):
        class Half(tf.train.GradientDescentOptimizer):
            def _resource_apply_dense(self, grad, handle):
                return super()._resource_apply_dense(grad * 0.5, handle)

        variable = tf.Variable([1.0, 2.0], use_resource=True)
        np.testing.assert_allclose(self.run(Half(0.5), loss_of(variable), variable), [0.5, 1.0])

    def test_neither_hook(self):
        variable = tf.Variable(1.0)
        with pytest.raises(NotImplementedError, match="does not say how to apply dense gradients"):
            tf.train.Optimizer(False, "Nothing").minimize(loss_of(variable))

    def test_wrapping_minimize(self, session):
        """Gradients changed between the two halves, as multi-GPU towers do."""
        variable = tf.Variable([2.0])
        optimizer = tf.train.GradientDescentOptimizer(0.1)
        towers = [optimizer.compute_gradients(loss_of(variable)) for _ in range(2)]
        mean = tf.reduce_mean(tf.stack([pairs[0][0] for pairs in towers]), 0)
        train_op = optimizer.apply_gradients([(mean, variable)])
        session.run(tf.global_variables_initializer())
        session.run(train_op)
        np.testing.assert_allclose(session.run(variable), [1.6], rtol=1e-6)
