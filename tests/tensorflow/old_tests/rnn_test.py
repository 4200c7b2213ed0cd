"""RNN cells, static_rnn, dynamic_rnn, bidirectional_dynamic_rnn and raw_rnn."""

import numpy as np
import tensorflow.compat.v1 as tf

from tensorflow.python.framework import test_util
from tensorflow.python.ops import gradient_checker
from tensorflow.python.ops import rnn_cell_impl


def _sigmoid(x):
    return 1 / (1 + np.exp(-x))


class CounterCell(rnn_cell_impl.RNNCell):
    """Adds one to its input; its state counts steps."""

    def __init__(self, size=5):
        super(CounterCell, self).__init__()
        self._size = size

    @property
    def output_size(self):
        return self._size

    @property
    def state_size(self):
        return self._size

    def call(self, inputs, state):
        return inputs + 1, state + 1


class CellTest(tf.test.TestCase):
    def testBasicRNNCell(self):
        with self.test_session(use_gpu=True) as sess:
            with tf.variable_scope("root", initializer=tf.constant_initializer(0.5)):
                x, m = tf.zeros([1, 2]) + [[1.0, 2.0]], tf.constant([[0.1, 0.1]])
                cell = rnn_cell_impl.BasicRNNCell(2)
                g, state = cell(x, m)
                self.assertEqual(
                    ["root/basic_rnn_cell/kernel:0", "root/basic_rnn_cell/bias:0"],
                    [v.name for v in cell.trainable_variables],
                )
                sess.run(tf.global_variables_initializer())
                expected = np.tanh(np.full([1, 2], 0.5 * (1.0 + 2.0 + 0.1 + 0.1)))
                self.assertAllClose([expected, expected], sess.run([g, state]), rtol=1e-5)

    def testGRUCell(self):
        with self.test_session(use_gpu=True) as sess:
            with tf.variable_scope("root", initializer=tf.constant_initializer(0.5)):
                x, m = tf.constant([[1.0, 1.0]]), tf.constant([[0.1, 0.1]])
                g, _ = rnn_cell_impl.GRUCell(2)(x, m)
                sess.run(tf.global_variables_initializer())
                r = u = _sigmoid(0.5 * 2.2 + 1.0)
                c = np.tanh(0.5 * (2.0 + 2 * r * 0.1))
                self.assertAllClose([[u * 0.1 + (1 - u) * c] * 2], sess.run(g), rtol=1e-5)

    def testLSTMCellAgainstNumpy(self):
        state = np.random.RandomState(3)
        x, h, c = state.rand(2, 3), state.rand(2, 4), state.rand(2, 4)
        kernel, bias = state.rand(7, 16), state.rand(16)
        i, j, f, o = np.split(np.concatenate([x, h], 1) @ kernel + bias, 4, 1)
        new_c = c * _sigmoid(f + 1.0) + _sigmoid(i) * np.tanh(j)
        new_h = np.tanh(new_c) * _sigmoid(o)
        for build in (lambda: rnn_cell_impl.BasicLSTMCell(4), lambda: rnn_cell_impl.LSTMCell(4)):
            tf.reset_default_graph()
            with self.session(use_gpu=True) as sess:
                cell = build()
                out, (c_out, h_out) = cell(tf.constant(x), rnn_cell_impl.LSTMStateTuple(tf.constant(c), tf.constant(h)))
                sess.run(tf.global_variables_initializer())
                for variable, value in zip(cell.variables, (kernel, bias)):
                    variable.load(value, sess)
                self.assertAllClose([new_h, new_c, new_h], sess.run([out, c_out, h_out]))

    def testWrappers(self):
        cell = rnn_cell_impl.MultiRNNCell(
            [rnn_cell_impl.GRUCell(3), rnn_cell_impl.ResidualWrapper(rnn_cell_impl.GRUCell(3))]
        )
        self.assertEqual((3, 3), cell.state_size)
        zero = cell.zero_state(2, tf.float32)
        self.assertEqual([[2, 3], [2, 3]], [t.get_shape().as_list() for t in zero])
        out, _ = cell(tf.ones([2, 4]), zero)
        self.assertEqual([2, 3], out.get_shape().as_list())
        self.assertEqual(8, len(tf.trainable_variables()))
        dropped = rnn_cell_impl.DropoutWrapper(CounterCell(), input_keep_prob=1.0, output_keep_prob=1e-9, seed=1)
        with self.cached_session():
            self.assertAllClose(np.zeros([2, 5]), dropped(tf.ones([2, 5]), tf.zeros([2, 5]))[0].eval())

    def testErrors(self):
        with self.assertRaisesRegexp(ValueError, "Must specify at least one cell for MultiRNNCell"):
            rnn_cell_impl.MultiRNNCell([])
        with self.assertRaisesRegexp(TypeError, "cells must be a list or tuple"):
            rnn_cell_impl.MultiRNNCell(CounterCell())
        with self.assertRaisesRegexp(ValueError, "input_keep_prob must be|between 0 and 1"):
            rnn_cell_impl.DropoutWrapper(CounterCell(), input_keep_prob=1.5)
        with self.assertRaisesRegexp(ValueError, "Expected inputs.shape\\[-1\\] to be known"):
            rnn_cell_impl.BasicRNNCell(2)(tf.placeholder(tf.float32, [2, None]), tf.zeros([2, 2]))


class DynamicRNNTest(tf.test.TestCase):
    def testSequenceLengths(self):
        x = np.random.RandomState(1).rand(3, 4, 5).astype(np.float32)
        lengths = tf.placeholder(tf.int32, [None])
        for time_major in False, True:
            inputs = tf.constant(x.transpose(1, 0, 2) if time_major else x)
            outputs, state = tf.nn.dynamic_rnn(
                CounterCell(), inputs, sequence_length=lengths, dtype=tf.float32, time_major=time_major
            )
            self.assertEqual([4, 3, 5] if time_major else [3, 4, 5], outputs.get_shape().as_list())
            with self.test_session(use_gpu=True) as sess:
                out, last = sess.run([outputs, state], {lengths: [2, 4, 0]})
                out = out.transpose(1, 0, 2) if time_major else out
                for row, length in enumerate([2, 4, 0]):
                    self.assertAllClose(x[row, :length] + 1, out[row, :length])
                    self.assertAllEqual(np.zeros([4 - length, 5]), out[row, length:])
                    self.assertAllEqual(np.full([5], length), last[row])

    def testUnknownShapes(self):
        inputs = tf.placeholder(tf.float32, [None, None, 5])
        outputs, state = tf.nn.dynamic_rnn(rnn_cell_impl.GRUCell(3), inputs, dtype=tf.float32)
        self.assertEqual([None, None, 3], outputs.get_shape().as_list())
        self.assertEqual([None, 3], state.get_shape().as_list())
        gradients = tf.gradients(tf.reduce_sum(outputs), tf.trainable_variables() + [inputs])
        self.assertNotIn(None, gradients)
        with self.test_session(use_gpu=True) as sess:
            sess.run(tf.global_variables_initializer())
            for steps in 1, 4:
                values = sess.run([outputs] + gradients, {inputs: np.ones([2, steps, 5])})
                self.assertEqual((2, steps, 3), values[0].shape)
                self.assertEqual((2, steps, 5), values[-1].shape)

    def testEqualsStaticRNN(self):
        x = np.random.RandomState(2).rand(3, 2, 4).astype(np.float32)
        for build in (
            lambda: rnn_cell_impl.BasicLSTMCell(3),
            lambda: rnn_cell_impl.LSTMCell(3, use_peepholes=True, num_proj=2, cell_clip=0.5),
        ):
            tf.reset_default_graph()
            with self.session(use_gpu=True) as sess:
                inputs, length = tf.constant(x), tf.constant([2, 3])
                with tf.variable_scope("rnn", initializer=tf.random_uniform_initializer(-0.5, 0.5, seed=5)) as scope:
                    static, static_state = tf.nn.static_rnn(
                        build(), tf.unstack(inputs), dtype=tf.float32, sequence_length=length, scope=scope
                    )
                    scope.reuse_variables()
                    dynamic, dynamic_state = tf.nn.dynamic_rnn(
                        build(), inputs, dtype=tf.float32, sequence_length=length, time_major=True, scope=scope
                    )
                variables = tf.trainable_variables()
                sess.run(tf.global_variables_initializer())
                self.assertAllClose(sess.run(tf.stack(static)), sess.run(dynamic))
                self.assertAllClose(sess.run(static_state), sess.run(dynamic_state))
                a = sess.run(tf.gradients(tf.add_n([tf.reduce_sum(o * o) for o in static]), variables + [inputs]))
                b = sess.run(tf.gradients(tf.reduce_sum(dynamic * dynamic), variables + [inputs]))
                self.assertAllClose(a, b, rtol=1e-4, atol=1e-5)

    @test_util.run_deprecated_v1
    def testGradient(self):
        x_init = np.random.RandomState(4).rand(2, 3, 2)
        with self.test_session() as sess:
            x = tf.constant(x_init)
            outputs, _ = tf.nn.dynamic_rnn(rnn_cell_impl.GRUCell(2), x, sequence_length=[3, 1], dtype=tf.float64)
            sess.run(tf.global_variables_initializer())
            self.assertLess(
                gradient_checker.compute_gradient_error(x, [2, 3, 2], outputs, [2, 3, 2], x_init_value=x_init), 1e-5
            )

    def testBidirectional(self):
        x = tf.placeholder(tf.float32, [None, None, 2])
        lengths = tf.placeholder(tf.int32, [None])
        outputs, states = tf.nn.bidirectional_dynamic_rnn(
            rnn_cell_impl.BasicRNNCell(3), rnn_cell_impl.BasicRNNCell(4), x, sequence_length=lengths, dtype=tf.float32
        )
        self.assertEqual([[None, None, 3], [None, None, 4]], [o.get_shape().as_list() for o in outputs])
        names = [v.op.name for v in tf.global_variables()]
        self.assertIn("bidirectional_rnn/fw/basic_rnn_cell/kernel", names)
        self.assertIn("bidirectional_rnn/bw/basic_rnn_cell/bias", names)
        with self.test_session(use_gpu=True) as sess:
            sess.run(tf.global_variables_initializer())
            (fw, bw), (fw_state, bw_state) = sess.run([outputs, states], {x: np.random.rand(2, 4, 2), lengths: [4, 2]})
            self.assertAllClose(fw[0, 3], fw_state[0])
            self.assertAllClose(fw[1, 1], fw_state[1])
            self.assertAllClose(bw[:, 0], bw_state)
            self.assertAllEqual(np.zeros([2, 4]), bw[1, 2:])

    def testErrors(self):
        cell, x = CounterCell(), tf.zeros([2, 3, 5])
        with self.assertRaisesRegexp(
            ValueError,
            "If (there is no initial_state, you must give a dtype|no initial_state is provided, argument `dtype` must be)",
        ):
            tf.nn.dynamic_rnn(cell, x)
        with self.assertRaisesRegexp(ValueError, "sequence_length must be a vector of length batch_size"):
            tf.nn.dynamic_rnn(cell, x, sequence_length=[[1, 2]], dtype=tf.float32)
        with self.assertRaisesRegexp(TypeError, "(cell|is not an RNNCell|RNNCell)"):
            tf.nn.dynamic_rnn(None, x, dtype=tf.float32)
        with self.assertRaisesRegexp(ValueError, "inputs`? must not be empty"):
            tf.nn.static_rnn(cell, [], dtype=tf.float32)
        with self.assertRaisesRegexp(TypeError, "inputs`? must be a sequence"):
            tf.nn.static_rnn(cell, x, dtype=tf.float32)
        lengths = tf.placeholder(tf.int32)
        outputs, _ = tf.nn.dynamic_rnn(cell, x, sequence_length=lengths, dtype=tf.float32)
        with self.cached_session():
            with self.assertRaisesOpError("Expected shape for Tensor"):
                outputs.eval({lengths: [1, 2, 3]})

    def testRawRNN(self):
        x = np.random.RandomState(6).rand(4, 2, 5).astype(np.float32)
        inputs = tf.TensorArray(tf.float32, size=4).unstack(x)
        cell = CounterCell()

        def loop_fn(time, output, state, _):
            next_state = cell.zero_state(2, tf.float32) if output is None else state
            finished = tf.greater_equal(time, [2, 4])
            done = tf.reduce_all(finished)
            next_input = tf.cond(done, lambda: tf.zeros([2, 5]), lambda: inputs.read(time))
            return finished, next_input, next_state, output, None

        outputs, state, _ = tf.nn.raw_rnn(cell, loop_fn)
        with self.test_session(use_gpu=True) as sess:
            out, last = sess.run([outputs.stack(), state])
            self.assertEqual((4, 2, 5), out.shape)
            self.assertAllClose(x[:, 1] + 1, out[:, 1])
            self.assertAllEqual(np.zeros([2, 5]), out[2:, 0])
            self.assertAllEqual([2, 4], last[:, 0])


if __name__ == "__main__":
    tf.test.main()
