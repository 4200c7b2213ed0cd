"""A variable whose buffer is laid out for a library keeps its shape and values, and its order when assigned."""

import numpy as np
import torch

import headrace as tf
from headrace.core import dtypes
from headrace.ops.state import OUTPUT_CHANNELS_FIRST, buffer_order
from headrace.resources.state.variable import Variable

CUDA = torch.device("cuda")


class TestBuffer:
    def test_shape_and_values_stay_and_the_order_changes(self):
        variable = Variable("w", dtypes.float32, torch.device("cpu"), (3, 3, 4, 5), OUTPUT_CHANNELS_FIRST)
        value = torch.randn(3, 3, 4, 5)
        variable.assign(value)
        assert torch.equal(variable.value, value)
        assert variable.value.permute(3, 0, 1, 2).is_contiguous()
        variable.assign(value * 2)  # in place
        assert torch.equal(variable.value, value * 2) and variable.value.permute(3, 0, 1, 2).is_contiguous()

    def test_another_rank_is_laid_out_as_usual(self):
        variable = Variable("w", dtypes.float32, torch.device("cpu"), None, OUTPUT_CHANNELS_FIRST)
        variable.assign(torch.randn(4, 5))
        assert variable.value.is_contiguous()


class TestWhichVariables:
    def _graph(self):
        with tf.Graph().as_default() as graph:
            x = tf.placeholder(tf.float32, [1, 8, 8, 3])
            w = tf.get_variable("w", [3, 3, 3, 4])
            v = tf.get_variable("v", [256, 2])
            y = tf.matmul(tf.reshape(tf.nn.conv2d(x, w, [1, 1, 1, 1], "SAME"), [1, -1]), v)
            tf.train.MomentumOptimizer(0.1, 0.9).minimize(tf.reduce_sum(y))
        return graph

    def test_filters_and_their_slots_on_cuda_only(self):
        graph = self._graph()
        assert buffer_order(graph, "w", CUDA) == OUTPUT_CHANNELS_FIRST
        assert buffer_order(graph, "w/Momentum", CUDA) == OUTPUT_CHANNELS_FIRST
        assert buffer_order(graph, "v", CUDA) is None
        assert buffer_order(graph, "v/Momentum", CUDA) is None
        assert buffer_order(graph, "w", torch.device("cpu")) is None
        assert buffer_order(None, "w", CUDA) is None

    def test_values_reach_numpy_in_tf1s_order(self):
        variable = Variable("w", dtypes.float32, torch.device("cpu"), None, OUTPUT_CHANNELS_FIRST)
        value = np.arange(24, dtype=np.float32).reshape(1, 2, 3, 4)
        variable.assign(torch.from_numpy(value))
        np.testing.assert_array_equal(variable.value.numpy(), value)
