"""LSTMs on lines, images and volumes: their states are images, and convolutions compute the gates (Shi et al., 2015)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from headrace.core.shape import TensorShape
from headrace.core.source import at
from headrace.library.network.convolution import conv1d, conv2d, conv3d
from headrace.library.numeric import math
from headrace.library.rnn.base import RNNCell
from headrace.library.rnn.cell import LSTMStateTuple
from headrace.library.state.initializers import Zeros
from headrace.library.state.variable_scope import get_variable
from headrace.library.tensor import array


class ConvLSTMCell(RNNCell):
    """An LSTM whose inputs, states and outputs have places: [batch, ..., channels].

    Args:
      conv_ndims: How many dimensions the places have: 1, 2 or 3.
      input_shape: The shape of the inputs without the batch, a list.
      output_channels: The channels of the states.
      kernel_shape: The size of the kernel, a list with a number for each dimension.
      use_bias: True adds a bias.
      skip_connection: True puts the inputs behind the channels of the output.
      forget_bias: What is added to the forget gate, so that a new cell remembers.
      initializers: What the kernel starts from; None for the initializer of the variable scope.
      name: The name of the cell, under which its variables are.

    >>> cell = tf.contrib.rnn.ConvLSTMCell(2, [8, 8, 3], output_channels=4, kernel_shape=[3, 3])
    >>> output, (c, h) = cell(tf.zeros([1, 8, 8, 3]), cell.zero_state(1, tf.float32))
    >>> output.shape.as_list()
    [1, 8, 8, 4]
    """

    def __init__(
        self, conv_ndims: int, input_shape: Sequence[int], output_channels: int, kernel_shape: Sequence[int],
        use_bias: bool = True, skip_connection: bool = False, forget_bias: float = 1.0, initializers: Any = None,
        name: str = "conv_lstm_cell",
    ) -> None:  # fmt: skip
        super().__init__(name=name)
        places = list(input_shape)[:-1]
        if conv_ndims not in _CONVOLUTIONS or conv_ndims != len(places):
            raise ValueError(f"Invalid input_shape {list(input_shape)} for conv_ndims={conv_ndims} {at()}")
        if len(list(kernel_shape)) != conv_ndims:
            raise ValueError(f"Invalid kernel_shape {list(kernel_shape)} for conv_ndims={conv_ndims} {at()}")
        self._conv_ndims = conv_ndims
        self._output_channels = output_channels
        self._kernel_shape = list(kernel_shape)
        self._use_bias = use_bias
        self._skip_connection = skip_connection
        self._forget_bias = forget_bias
        self._initializer = initializers
        state = TensorShape([*places, output_channels])
        self._state_size = LSTMStateTuple(state, state)
        total = output_channels + (list(input_shape)[-1] if skip_connection else 0)
        self._output_size = TensorShape([*places, total])

    @property
    def state_size(self) -> Any:
        return self._state_size

    @property
    def output_size(self) -> Any:
        return self._output_size

    def call(self, inputs: Any, state: Any) -> Any:  # type: ignore[override]
        c, h = state
        i, j, f, o = array.split(self._convolved(array.concat([inputs, h], -1)), 4, axis=self._conv_ndims + 1)
        new_c = math.sigmoid(f + self._forget_bias) * c + math.sigmoid(i) * math.tanh(j)
        new_h = math.tanh(new_c) * math.sigmoid(o)
        output = array.concat([new_h, inputs], -1) if self._skip_connection else new_h
        return output, LSTMStateTuple(new_c, new_h)

    def _convolved(self, joined: Any) -> Any:
        channels, width = joined.shape.as_list()[-1], 4 * self._output_channels
        dtype = joined.dtype.base_dtype
        kernel = get_variable("kernel", [*self._kernel_shape, channels, width], dtype, initializer=self._initializer)
        result = _CONVOLUTIONS[self._conv_ndims](joined, kernel)
        if not self._use_bias:
            return result
        return result + get_variable("biases", [width], dtype, initializer=Zeros())


_CONVOLUTIONS = {
    1: lambda x, kernel: conv1d(x, kernel, 1, "SAME"),
    2: lambda x, kernel: conv2d(x, kernel, [1] * 4, "SAME"),
    3: lambda x, kernel: conv3d(x, kernel, [1] * 5, "SAME"),
}


class Conv1DLSTMCell(ConvLSTMCell):
    """An LSTM on lines [batch, width, channels].

    Args:
      name: The name of the cell, under which its variables are.
      **kwargs: The other arguments of `tf.contrib.rnn.ConvLSTMCell`.

    >>> cell = tf.contrib.rnn.Conv1DLSTMCell(input_shape=[8, 3], output_channels=4, kernel_shape=[3])
    >>> output, state = cell(tf.zeros([1, 8, 3]), cell.zero_state(1, tf.float32))
    """

    def __init__(self, name: str = "conv_1d_lstm_cell", **kwargs: Any) -> None:
        super().__init__(conv_ndims=1, name=name, **kwargs)


class Conv2DLSTMCell(ConvLSTMCell):
    """An LSTM on images [batch, height, width, channels].

    Args:
      name: The name of the cell, under which its variables are.
      **kwargs: The other arguments of `tf.contrib.rnn.ConvLSTMCell`.

    >>> cell = tf.contrib.rnn.Conv2DLSTMCell(input_shape=[8, 8, 3], output_channels=4, kernel_shape=[3, 3])
    >>> output, state = cell(tf.zeros([1, 8, 8, 3]), cell.zero_state(1, tf.float32))
    """

    def __init__(self, name: str = "conv_2d_lstm_cell", **kwargs: Any) -> None:
        super().__init__(conv_ndims=2, name=name, **kwargs)


class Conv3DLSTMCell(ConvLSTMCell):
    """An LSTM on volumes [batch, depth, height, width, channels].

    Args:
      name: The name of the cell, under which its variables are.
      **kwargs: The other arguments of `tf.contrib.rnn.ConvLSTMCell`.

    >>> cell = tf.contrib.rnn.Conv3DLSTMCell(input_shape=[4, 4, 4, 1], output_channels=2, kernel_shape=[3, 3, 3])
    >>> output, state = cell(tf.zeros([1, 4, 4, 4, 1]), cell.zero_state(1, tf.float32))
    """

    def __init__(self, name: str = "conv_3d_lstm_cell", **kwargs: Any) -> None:
        super().__init__(conv_ndims=3, name=name, **kwargs)
