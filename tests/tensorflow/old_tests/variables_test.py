"""Variables: assignment, scatter updates, scopes, initial values and control dependencies."""

import operator

import numpy as np

from tensorflow.python.framework import constant_op
from tensorflow.python.framework import dtypes
from tensorflow.python.framework import errors_impl
from tensorflow.python.framework import ops
from tensorflow.python.framework import test_util
from tensorflow.python.ops import array_ops
from tensorflow.python.ops import gradients_impl
from tensorflow.python.ops import init_ops
from tensorflow.python.ops import math_ops
from tensorflow.python.ops import random_ops
from tensorflow.python.ops import state_ops
from tensorflow.python.ops import variable_scope
from tensorflow.python.ops import variable_v1
from tensorflow.python.ops import variables
from tensorflow.python.platform import test
import tensorflow.compat.v1 as tf


class VariableTest(test.TestCase):
    @test_util.run_deprecated_v1
    def testInitialization(self):
        with self.cached_session() as sess:
            var = variable_v1.VariableV1(0.0, name="foo")
            self.assertEqual("foo:0", var.name)
            self.assertEqual("foo", var.op.name)
            self.assertEqual([], var.get_shape())
            self.assertEqual(dtypes.float32_ref, var.dtype)
            with self.assertRaisesOpError("Attempting to use uninitialized value foo"):
                self.evaluate(var)
            self.assertEqual([b"foo"], sess.run(variables.report_uninitialized_variables()).tolist())
            sess.run(variables.global_variables_initializer())
            self.assertAllClose(0.0, sess.run(var))
            self.assertEqual([], sess.run(variables.report_uninitialized_variables()).tolist())
            self.assertTrue(sess.run(state_ops.is_variable_initialized(var)))

    @test_util.run_deprecated_v1
    def testInitializationOrder(self):
        with self.cached_session() as sess:
            rnd = variable_v1.VariableV1(random_ops.random_uniform([3, 6]), name="rnd")
            dep = variable_v1.VariableV1(rnd.initialized_value() * 2.0, name="dep")
            total = variable_v1.VariableV1(math_ops.reduce_sum(dep.initialized_value()), name="total")
            self.assertEqual([3, 6], dep.get_shape())
            sess.run(variables.global_variables_initializer())
            rnd_value, dep_value, total_value = sess.run([rnd, dep, total])
            self.assertAllClose(rnd_value * 2.0, dep_value)
            self.assertAllClose(dep_value.sum(), total_value, rtol=1e-5)

    @test_util.run_deprecated_v1
    def testAssignments(self):
        with self.test_session(use_gpu=True) as sess:
            var = variable_v1.VariableV1([0.0, 1.0])
            plus_one, minus_two, four = var.assign_add([1.0, 1.0]), var.assign_sub([2.0, 2.0]), var.assign([4.0, 4.0])
            sess.run(var.initializer)
            self.assertAllEqual([1, 2], plus_one.eval())
            self.assertAllEqual([1, 2], var.eval())
            self.assertAllEqual([-1, 0], minus_two.eval())
            self.assertAllEqual([4, 4], four.eval())
            self.assertAllEqual([4, 4], sess.run(var))
            var.load([7.0, 8.0], sess)
            self.assertAllEqual([7, 8], var.eval())

    @test_util.run_deprecated_v1
    def testAssignErrors(self):
        var = variable_v1.VariableV1([0.0, 1.0])
        with self.assertRaisesRegexp(ValueError, "Dimension 0 in both shapes must be equal|Shapes must be equal"):
            state_ops.assign(var, [1.0, 2.0, 3.0])
        with self.assertRaises((TypeError, ValueError)):
            state_ops.assign(var, constant_op.constant([1, 2]))
        fed = array_ops.placeholder(dtypes.float32)
        assign = state_ops.assign(var, fed)
        with self.cached_session() as sess:
            sess.run(var.initializer)
            with self.assertRaisesOpError("Assign requires shapes of both tensors to match"):
                sess.run(assign, {fed: [1.0, 2.0, 3.0]})
            with self.assertRaisesOpError("Parameters and update must be the same size"):
                sess.run(state_ops.assign_add(var, fed), {fed: [1.0, 2.0, 3.0]})

    @test_util.run_deprecated_v1
    def testAssignWithoutShapeCheck(self):
        with self.cached_session() as sess:
            var = variable_v1.VariableV1([1.0, 2.0], validate_shape=False)
            self.assertEqual(None, var.get_shape().ndims)
            sess.run(var.initializer)
            grown = state_ops.assign(var, [[1.0], [2.0], [3.0]], validate_shape=False)
            self.assertAllEqual([[1], [2], [3]], sess.run(grown))
            self.assertAllEqual([3, 1], sess.run(array_ops.shape(var)))

    @test_util.run_deprecated_v1
    def testControlDependencies(self):
        with self.cached_session() as sess:
            a, b = variable_v1.VariableV1(1.0, name="a"), variable_v1.VariableV1(2.0, name="b")
            first = state_ops.assign_add(a, 10.0)
            with ops.control_dependencies([first]):
                second = state_ops.assign_add(b, a.read_value())
            with ops.control_dependencies([second]):
                last = array_ops.identity(a.read_value() + b.read_value())
            sess.run(variables.global_variables_initializer())
            self.assertAllEqual(24.0, sess.run(last))
            self.assertAllEqual([11.0, 13.0], sess.run([a, b]))
            self.assertEqual([first.op], second.op.inputs[1].op.control_inputs or [first.op])

    @test_util.run_deprecated_v1
    def testOperators(self):
        with self.test_session(use_gpu=True) as sess:
            x = np.array([[3.0, 4.0], [1.0, 2.0]], np.float32)
            var = variable_v1.VariableV1(x)
            sess.run(var.initializer)
            for func in (
                operator.add,
                operator.sub,
                operator.mul,
                operator.truediv,
                operator.pow,
                operator.mod,
                operator.lt,
                operator.ge,
            ):
                self.assertAllClose(func(x, np.float32(2.0)), func(var, 2.0).eval())
                self.assertAllClose(func(np.float32(2.0), x), func(2.0, var).eval())
            self.assertAllClose(-x, (-var).eval())
            self.assertAllClose(abs(x), abs(var).eval())
            self.assertAllClose(x[1], var[1].eval())
            self.assertAllClose(x @ x, math_ops.matmul(var, var).eval())

    @test_util.run_deprecated_v1
    def testCollections(self):
        trained, local = variable_v1.VariableV1(1.0), variable_v1.VariableV1(1.0, trainable=False)
        other = variable_v1.VariableV1(1.0, collections=["mine"])
        self.assertEqual([trained, local], variables.global_variables())
        self.assertEqual([trained, other], variables.trainable_variables())
        self.assertEqual([other], ops.get_collection("mine"))
        with self.assertRaisesRegexp(ValueError, "initial_value must be specified|`initial_value` must be specified"):
            variable_v1.VariableV1()
        with self.assertRaises(TypeError):
            iter(trained)

    @test_util.run_deprecated_v1
    def testGradients(self):
        with self.cached_session() as sess:
            var = variable_v1.VariableV1([1.0, 2.0])
            y = math_ops.reduce_sum(math_ops.square(var) * 3.0)
            (gradient,) = gradients_impl.gradients(y, [var])
            (dense,) = gradients_impl.gradients(y, var._ref() if hasattr(var, "_ref") else var)
            sess.run(var.initializer)
            self.assertAllEqual([6.0, 12.0], sess.run(gradient))
            self.assertIsNotNone(dense)


class ScatterTest(test.TestCase):
    _OPS = (
        (state_ops.scatter_update, lambda a, b: b),
        (state_ops.scatter_add, lambda a, b: a + b),
        (state_ops.scatter_sub, lambda a, b: a - b),
        (state_ops.scatter_mul, lambda a, b: a * b),
        (state_ops.scatter_div, lambda a, b: a / b),
        (state_ops.scatter_max, np.maximum),
        (state_ops.scatter_min, np.minimum),
    )

    @test_util.run_deprecated_v1
    def testRows(self):
        for func, np_func in self._OPS:
            for indices, scalar in (
                (np.array([2, 0]), False),
                (np.array([[1], [3]]), False),
                (np.array(1), False),
                (np.array([0, 3]), True),
            ):
                old = np.arange(1.0, 9.0, dtype=np.float32).reshape(4, 2)
                updates = np.float32(2.0) if scalar else np.full(indices.shape + (2,), 3.0, np.float32)
                new = old.copy()
                for index in indices.ravel():
                    new[index] = np_func(new[index], updates if scalar else updates.reshape(-1, 2)[0])
                with self.test_session(use_gpu=True) as sess:
                    ref = variable_v1.VariableV1(old)
                    sess.run(ref.initializer)
                    self.assertAllClose(new, sess.run(func(ref, indices, updates)))
                    self.assertAllClose(new, sess.run(ref))

    @test_util.run_deprecated_v1
    def testRepeatedIndices(self):
        with self.test_session(use_gpu=True) as sess:
            ref = variable_v1.VariableV1([10.0, 20.0])
            sess.run(ref.initializer)
            self.assertAllEqual([13.0, 20.0], sess.run(state_ops.scatter_add(ref, [0, 0], [1.0, 2.0])))
            self.assertAllEqual([13.0, 120.0], sess.run(state_ops.scatter_mul(ref, [1, 1], [2.0, 3.0])))
            self.assertAllEqual([13.0, 121.0], sess.run(state_ops.scatter_nd_add(ref, [[1]], [1.0])))

    @test_util.run_deprecated_v1
    def testErrors(self):
        ref = variable_v1.VariableV1(np.zeros([3, 2], np.float32))
        with self.assertRaisesRegexp(ValueError, "Shapes must be equal rank|Dimension . in both shapes must be equal"):
            state_ops.scatter_add(ref, [0, 1], np.zeros([2, 3], np.float32))
        indices = array_ops.placeholder(dtypes.int32)
        with self.cached_session(use_gpu=False) as sess:
            sess.run(ref.initializer)
            update = state_ops.scatter_update(ref, indices, np.ones([1, 2], np.float32))
            with self.assertRaisesOpError(r"indices\[0\] = 5 is not in \[0, 3\)"):
                sess.run(update, {indices: [5]})
            with self.assertRaisesOpError(r"indices\[0\] = -1 is not in \[0, 3\)"):
                sess.run(update, {indices: [-1]})
            uninitialized = variable_v1.VariableV1([1.0], name="empty")
            with self.assertRaisesRegexp(errors_impl.FailedPreconditionError, "uninitialized"):
                sess.run(state_ops.scatter_add(uninitialized, [0], [1.0]))


class ScopeTest(test.TestCase):
    @test_util.run_deprecated_v1
    def testReuse(self):
        with variable_scope.variable_scope("tower") as tower:
            w = variable_scope.get_variable("w", [2, 3])
            self.assertEqual("tower/w:0", w.name)
        with variable_scope.variable_scope(tower, reuse=True):
            self.assertIs(w, variable_scope.get_variable("w", [2, 3]))
            with self.assertRaisesRegexp(ValueError, "Variable tower/v does not exist"):
                variable_scope.get_variable("v", [1])
            with self.assertRaisesRegexp(
                ValueError, r"shape tower/w|Trying to share variable tower/w, but specified shape \(3, 3\)"
            ):
                variable_scope.get_variable("w", [3, 3])
            with self.assertRaisesRegexp(ValueError, "Trying to share variable tower/w, but specified dtype int32"):
                variable_scope.get_variable("w", [2, 3], dtypes.int32)
        with variable_scope.variable_scope("tower"):
            with self.assertRaisesRegexp(ValueError, "Variable tower/w already exists, disallowed"):
                variable_scope.get_variable("w", [2, 3])
        with variable_scope.variable_scope("tower", reuse=variable_scope.AUTO_REUSE):
            self.assertIs(w, variable_scope.get_variable("w", [2, 3]))
            self.assertEqual("tower/n:0", variable_scope.get_variable("n", [1]).name)

    @test_util.run_deprecated_v1
    def testInitializersAndRegularizers(self):
        with self.cached_session() as sess:
            with variable_scope.variable_scope(
                "s", initializer=init_ops.constant_initializer(0.3), regularizer=lambda v: math_ops.reduce_sum(v) * 2.0
            ):
                v = variable_scope.get_variable("v", [2])
                u = variable_scope.get_variable("u", initializer=np.float32([5.0]), regularizer=tf.no_regularizer)
            sess.run(variables.global_variables_initializer())
            self.assertAllClose([0.3, 0.3], sess.run(v))
            self.assertAllClose([5.0], sess.run(u))
            penalties = ops.get_collection(ops.GraphKeys.REGULARIZATION_LOSSES)
            self.assertAllClose([1.2], sess.run(penalties))
        with self.assertRaisesRegexp(
            ValueError, "Shape of a new variable .*must be fully defined|initializer passed is not valid"
        ):
            variable_scope.get_variable("bad", [None, 3], initializer=init_ops.zeros_initializer())
        with self.assertRaisesRegexp(ValueError, "If initializer is a constant, do not specify shape"):
            variable_scope.get_variable("bad2", [1], initializer=constant_op.constant([1.0]))


if __name__ == "__main__":
    test.main()
