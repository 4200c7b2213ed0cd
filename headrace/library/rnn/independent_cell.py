"""Cells whose units see only their own past: SRU, IndRNN and the independent forms of GRU and LSTM."""

from __future__ import annotations

from typing import Any

from headrace.library.layers.initializers import get as get_initializer
from headrace.library.linalg.matrix import matmul
from headrace.library.network.activation import bias_add
from headrace.library.numeric import math
from headrace.library.rnn.base import input_depth
from headrace.library.rnn.cell import LSTMStateTuple, UnitsCell
from headrace.library.state import initializers
from headrace.library.tensor import array


class SRUCell(UnitsCell):
    """Simple recurrent unit (Lei et al., 2017): its gates see the inputs alone.

    Args:
      num_units: The width of the state and of the output.
      activation: A function of the new state, or its name; None for tanh.
      reuse: True to use variables that exist; None or False to make them.
      name: The name of the cell, under which its variables are; None for `sru_cell`.
      **kwargs: Further arguments of `tf.layers.Layer`, such as `trainable`.

    >>> cell = tf.contrib.rnn.SRUCell(4)
    >>> output, state = cell(tf.zeros([2, 3]), cell.zero_state(2, tf.float32))
    """

    def __init__(
        self, num_units: int, activation: Any = None, reuse: Any = None, name: str | None = None, **kwargs: Any
    ) -> None:
        super().__init__(num_units, activation, reuse, name, **kwargs)

    def build(self, input_shape: Any) -> None:
        units = self._num_units
        self._kernel = self.add_weight("kernel", shape=[input_depth(input_shape), 4 * units])
        self._bias = self.add_weight("bias", shape=[2 * units], initializer=initializers.Zeros())
        self.built = True

    def call(self, inputs: Any, state: Any) -> Any:  # type: ignore[override]
        candidate, f, r, passed = array.split(matmul(inputs, self._kernel), 4, axis=1)
        gates = math.sigmoid(bias_add(array.concat([f, r], 1), self._bias))
        f, r = array.split(gates, 2, axis=1)
        new_state = f * state + (1.0 - f) * candidate
        return r * self._activation(new_state) + (1.0 - r) * passed, new_state


class _IndependentCell(UnitsCell):
    """A cell with vectors in the place of the matrices of the state."""

    def __init__(
        self, num_units: int, activation: Any, reuse: Any, kernel_initializer: Any, bias_initializer: Any,
        name: str | None, dtype: Any, **kwargs: Any,
    ) -> None:  # fmt: skip
        super().__init__(num_units, activation, reuse, name, dtype, **kwargs)
        self._kernel_initializer = get_initializer(kernel_initializer)
        self._bias_initializer = get_initializer(bias_initializer)

    def _weights(self, prefix: str, input_shape: Any, width: int, bias: Any) -> tuple[Any, Any, Any]:
        """The matrix of the inputs, the vector of the state, the bias."""
        own = initializers.RandomUniform(-1.0, 1.0)
        return (
            self.add_weight(
                f"{prefix}kernel_w", shape=[input_depth(input_shape), width], initializer=self._kernel_initializer
            ),
            self.add_weight(f"{prefix}kernel_u", shape=[1, width], initializer=own),
            self.add_weight(f"{prefix}bias", shape=[width], initializer=self._bias_initializer or bias),
        )


def _sums(weights: tuple[Any, Any, Any], inputs: Any, state: Any) -> Any:
    matrix, vector, bias = weights
    return bias_add(matmul(inputs, matrix) + state * vector, bias)


class IndRNNCell(_IndependentCell):
    """Independently recurrent network (Li et al., 2018): ``tanh(W inputs + u * state + b)``.

    Args:
      num_units: The width of the state and of the output.
      activation: A function of the new state, or its name; None for tanh.
      reuse: True to use variables that exist; None or False to make them.
      name: The name of the cell, under which its variables are; None for `ind_rnn_cell`.
      dtype: The type of the variables; None takes that of the first inputs.

    >>> cell = tf.contrib.rnn.IndRNNCell(4)
    >>> output, state = cell(tf.zeros([2, 3]), cell.zero_state(2, tf.float32))
    """

    def __init__(
        self, num_units: int, activation: Any = None, reuse: Any = None, name: str | None = None, dtype: Any = None
    ) -> None:
        super().__init__(num_units, activation, reuse, None, None, name, dtype)

    def build(self, input_shape: Any) -> None:
        self._all = self._weights("", input_shape, self._num_units, initializers.Zeros())
        self.built = True

    def call(self, inputs: Any, state: Any) -> Any:  # type: ignore[override]
        output = self._activation(_sums(self._all, inputs, state))
        return output, output


class IndyGRUCell(_IndependentCell):
    """A GRU whose units see only their own past.

    Args:
      num_units: The width of the state and of the output.
      activation: A function of the candidate state, or its name; None for tanh.
      reuse: True to use variables that exist; None or False to make them.
      kernel_initializer: What the matrices start from; None for the initializer of the variable scope.
      bias_initializer: What the biases start from; None for 1 for the gates and 0 for the candidate.
      name: The name of the cell, under which its variables are; None for `indy_gru_cell`.
      dtype: The type of the variables; None takes that of the first inputs.

    >>> cell = tf.contrib.rnn.IndyGRUCell(4)
    >>> output, state = cell(tf.zeros([2, 3]), cell.zero_state(2, tf.float32))
    """

    def __init__(
        self, num_units: int, activation: Any = None, reuse: Any = None, kernel_initializer: Any = None,
        bias_initializer: Any = None, name: str | None = None, dtype: Any = None,
    ) -> None:  # fmt: skip
        super().__init__(num_units, activation, reuse, kernel_initializer, bias_initializer, name, dtype)

    def build(self, input_shape: Any) -> None:
        units = self._num_units
        self._gates = self._weights("gates/", input_shape, 2 * units, initializers.Constant(1.0))
        self._candidate = self._weights("candidate/", input_shape, units, initializers.Zeros())
        self.built = True

    def call(self, inputs: Any, state: Any) -> Any:  # type: ignore[override]
        r, u = array.split(math.sigmoid(_sums(self._gates, inputs, array.tile(state, [1, 2]))), 2, axis=1)
        c = self._activation(_sums(self._candidate, inputs, r * state))
        new_state = u * state + (1 - u) * c
        return new_state, new_state


class IndyLSTMCell(_IndependentCell):
    """An LSTM whose units see only their own past (Gonnet and Deselaers, 2019).

    Args:
      num_units: The width of the output and of the two halves of the state.
      forget_bias: What is added to the forget gate, so that a new cell remembers.
      activation: A function of the candidate and of `c`, or its name; None for tanh.
      reuse: True to use variables that exist; None or False to make them.
      kernel_initializer: What the matrix starts from; None for the initializer of the variable scope.
      bias_initializer: What the bias starts from; None for 0.
      name: The name of the cell, under which its variables are; None for `indy_lstm_cell`.
      dtype: The type of the variables; None takes that of the first inputs.

    >>> cell = tf.contrib.rnn.IndyLSTMCell(4)
    >>> output, (c, h) = cell(tf.zeros([2, 3]), cell.zero_state(2, tf.float32))
    """

    def __init__(
        self, num_units: int, forget_bias: float = 1.0, activation: Any = None, reuse: Any = None,
        kernel_initializer: Any = None, bias_initializer: Any = None, name: str | None = None, dtype: Any = None,
    ) -> None:  # fmt: skip
        super().__init__(num_units, activation, reuse, kernel_initializer, bias_initializer, name, dtype)
        self._forget_bias = forget_bias

    @property
    def state_size(self) -> Any:
        return LSTMStateTuple(self._num_units, self._num_units)

    def build(self, input_shape: Any) -> None:
        self._all = self._weights("", input_shape, 4 * self._num_units, initializers.Zeros())
        self.built = True

    def call(self, inputs: Any, state: Any) -> Any:  # type: ignore[override]
        c, h = state
        i, j, f, o = array.split(_sums(self._all, inputs, array.tile(h, [1, 4])), 4, axis=1)
        new_c = c * math.sigmoid(f + self._forget_bias) + math.sigmoid(i) * self._activation(j)
        new_h = self._activation(new_c) * math.sigmoid(o)
        return new_h, LSTMStateTuple(new_c, new_h)
