"""Further cells of ``tf.contrib.rnn``: layer-normalised LSTM, NAS cell, update-gate RNN, and the "block" cells."""

from __future__ import annotations

from typing import Any

from headrace.library.layers import activations
from headrace.library.linalg.matrix import matmul
from headrace.library.network.activation import bias_add, relu
from headrace.library.network.dropout import dropout
from headrace.library.numeric import math
from headrace.library.rnn.base import LayerRNNCell, RNNCell, input_depth
from headrace.library.rnn.cell import GRUCell, LSTMCell, LSTMStateTuple
from headrace.library.rnn.layer_norm import layer_norm
from headrace.library.rnn.linear import Linear
from headrace.library.state import initializers
from headrace.library.state.variable_scope import get_variable
from headrace.library.tensor import array


class LayerNormBasicLSTMCell(RNNCell):
    """LSTM with layer normalisation (Ba et al., 2016) and dropout of the candidate (Semeniuta et al., 2016).

    Args:
      num_units: The width of the output and of the two halves of the state.
      forget_bias: What is added to the forget gate, so that a new cell remembers.
      input_size: Accepted and not used: the width of the inputs is known when the cell is called.
      activation: A function of the candidate and of `c`, or its name.
      layer_norm: False leaves the normalisation out.
      norm_gain: What the gains of the normalisation start from.
      norm_shift: What the shifts of the normalisation start from.
      dropout_keep_prob: The probability to keep an element of the candidate, a number or a scalar tensor; 1.0 for no dropout.
      dropout_prob_seed: The seed of the dropout.
      reuse: True to use variables that exist; None or False to make them.

    >>> cell = tf.contrib.rnn.LayerNormBasicLSTMCell(4)
    >>> output, (c, h) = cell(tf.zeros([2, 3]), cell.zero_state(2, tf.float32))
    """

    def __init__(
        self, num_units: int, forget_bias: float = 1.0, input_size: Any = None, activation: Any = math.tanh,
        layer_norm: bool = True, norm_gain: float = 1.0, norm_shift: float = 0.0, dropout_keep_prob: Any = 1.0,
        dropout_prob_seed: int | None = None, reuse: Any = None,
    ) -> None:  # fmt: skip
        super().__init__(_reuse=reuse)
        self._num_units = num_units
        self._activation = activations.get(activation)
        self._forget_bias = forget_bias
        self._keep_prob = dropout_keep_prob
        self._seed = dropout_prob_seed
        self._layer_norm = layer_norm
        self._norm_gain = norm_gain
        self._norm_shift = norm_shift

    @property
    def state_size(self) -> Any:
        return LSTMStateTuple(self._num_units, self._num_units)

    @property
    def output_size(self) -> Any:
        return self._num_units

    def call(self, inputs: Any, state: Any) -> Any:  # type: ignore[override]
        c, h = state
        args = array.concat([inputs, h], 1)
        i, j, f, o = array.split(value=self._linear(args), num_or_size_splits=4, axis=1)
        i, j, f, o = (
            self._norm(i, "input"),
            self._norm(j, "transform"),
            self._norm(f, "forget"),
            self._norm(o, "output"),
        )
        g = self._activation(j)
        if not isinstance(self._keep_prob, float) or self._keep_prob < 1:
            g = dropout(g, self._keep_prob, seed=self._seed)
        new_c = c * math.sigmoid(f + self._forget_bias) + math.sigmoid(i) * g
        new_c = self._norm(new_c, "state")
        new_h = self._activation(new_c) * math.sigmoid(o)
        return new_h, LSTMStateTuple(new_c, new_h)

    def _linear(self, args: Any) -> Any:
        """The gates; their bias starts from the initializer of the variable scope, as in TF1."""
        width, dtype = 4 * self._num_units, args.dtype.base_dtype
        gates = matmul(args, get_variable("kernel", [input_depth(args.shape), width], dtype))
        return gates if self._layer_norm else bias_add(gates, get_variable("bias", [width], dtype))

    def _norm(self, x: Any, scope: str) -> Any:
        return layer_norm(x, scope, self._norm_gain, self._norm_shift) if self._layer_norm else x


class NASCell(LayerRNNCell):
    """The cell found by neural architecture search (Zoph and Le, 2017).

    Args:
      num_units: The width of the state `c`, and of the output if there is no projection.
      num_proj: The width of the output after a projection; None for no projection.
      use_bias: True adds a bias to the recurrent part.
      reuse: True to use variables that exist; None or False to make them.
      **kwargs: Further arguments of `tf.layers.Layer`, such as `name`.

    >>> cell = tf.contrib.rnn.NASCell(4)
    >>> output, (c, h) = cell(tf.zeros([2, 3]), cell.zero_state(2, tf.float32))
    """

    def __init__(
        self, num_units: int, num_proj: int | None = None, use_bias: bool = False, reuse: Any = None, **kwargs: Any
    ) -> None:
        super().__init__(_reuse=reuse, **kwargs)
        self._num_units = num_units
        self._num_proj = num_proj
        self._use_bias = use_bias

    @property
    def state_size(self) -> Any:
        return LSTMStateTuple(self._num_units, self.output_size)

    @property
    def output_size(self) -> Any:
        return self._num_proj or self._num_units

    def build(self, input_shape: Any) -> None:
        units = self._num_units
        self.kernel = self.add_weight("kernel", shape=[input_depth(input_shape), 8 * units])
        self.recurrent_kernel = self.add_weight("recurrent_kernel", shape=[self.output_size, 8 * units])
        if self._use_bias:
            self.bias = self.add_weight("bias", shape=[8 * units], initializer=initializers.Zeros())
        if self._num_proj is not None:
            self.projection_weights = self.add_weight("projection_weights", shape=[units, self._num_proj])
        self.built = True

    def call(self, inputs: Any, state: Any) -> Any:  # type: ignore[override]
        sigmoid, tanh = math.sigmoid, math.tanh
        c_prev, m_prev = state
        recurrent = matmul(m_prev, self.recurrent_kernel)
        if self._use_bias:
            recurrent = recurrent + self.bias
        m = array.split(axis=1, num_or_size_splits=8, value=recurrent)
        x = array.split(axis=1, num_or_size_splits=8, value=matmul(inputs, self.kernel))
        first = tanh(sigmoid(x[0] + m[0]) * relu(x[1] + m[1]))
        second = tanh(sigmoid(x[2] + m[2]) + relu(x[3] * m[3]))
        third = tanh(tanh(x[4] + m[4]) * sigmoid(x[5] + m[5]))
        fourth = sigmoid(tanh(x[6] + m[6]) + sigmoid(x[7] + m[7]))
        new_c = tanh(first + c_prev) * second
        new_m = tanh(new_c * tanh(third + fourth))
        if self._num_proj is not None:
            new_m = matmul(new_m, self.projection_weights)
        return new_m, LSTMStateTuple(new_c, new_m)


class UGRNNCell(RNNCell):
    """Update-gate RNN (Collins et al., 2016): one gate between the old state and the new candidate.

    Args:
      num_units: The width of the state and of the output.
      initializer: What the matrix starts from; None for the initializer of the variable scope.
      forget_bias: What is added to the gate, so that a new cell remembers.
      activation: A function of the candidate state, or its name.
      reuse: True to use variables that exist; None or False to make them.

    >>> cell = tf.contrib.rnn.UGRNNCell(4)
    >>> output, state = cell(tf.zeros([2, 3]), cell.zero_state(2, tf.float32))
    """

    def __init__(
        self, num_units: int, initializer: Any = None, forget_bias: float = 1.0, activation: Any = math.tanh,
        reuse: Any = None,
    ) -> None:  # fmt: skip
        super().__init__(_reuse=reuse)
        self._num_units = num_units
        self._initializer = initializer
        self._forget_bias = forget_bias
        self._activation = activations.get(activation)

    @property
    def state_size(self) -> Any:
        return self._num_units

    @property
    def output_size(self) -> Any:
        return self._num_units

    def call(self, inputs: Any, state: Any) -> Any:  # type: ignore[override]
        args = array.concat([inputs, state], 1)
        both = Linear(args, 2 * self._num_units, True, kernel_initializer=self._initializer)(args)
        g_act, c_act = array.split(axis=1, num_or_size_splits=2, value=both)
        g = math.sigmoid(g_act + self._forget_bias)
        new_state = g * state + (1.0 - g) * self._activation(c_act)
        return new_state, new_state


class LSTMBlockCell(LSTMCell):
    """The LSTM of TF1's fused kernel, under its name and with its arguments; the compiler does the fusing here.

    Args:
      num_units: The width of the output and of the two halves of the state.
      forget_bias: What is added to the forget gate, so that a new cell remembers.
      cell_clip: The bound of each element of `c`; None, 0 or a negative number for no bound.
      use_peephole: True lets the gates see `c`.
      dtype: The type of the variables; None takes that of the first inputs.
      reuse: True to use variables that exist; None or False to make them.
      name: The name of the cell, under which its variables are.

    >>> cell = tf.contrib.rnn.LSTMBlockCell(4)
    >>> output, (c, h) = cell(tf.zeros([2, 3]), cell.zero_state(2, tf.float32))
    """

    def __init__(
        self, num_units: int, forget_bias: float = 1.0, cell_clip: float | None = None, use_peephole: bool = False,
        dtype: Any = None, reuse: Any = None, name: str = "lstm_cell",
    ) -> None:  # fmt: skip
        clip = None if cell_clip is None or cell_clip <= 0 else cell_clip
        super().__init__(
            num_units, use_peepholes=use_peephole, cell_clip=clip, forget_bias=forget_bias, reuse=reuse, name=name,
            dtype=dtype,
        )  # fmt: skip


class GRUBlockCell(GRUCell):
    """The GRU of TF1's fused kernel, with its arguments and the names of its variables: ``w_ru``, ``b_ru``, ``w_c``, ``b_c``.

    Args:
      num_units: The width of the state and of the output. Give either `num_units` or `cell_size`.
      cell_size: An older name of `num_units`.
      reuse: True to use variables that exist; None or False to make them.
      name: The name of the cell, under which its variables are.

    >>> cell = tf.contrib.rnn.GRUBlockCell(4)
    >>> output, state = cell(tf.zeros([2, 3]), cell.zero_state(2, tf.float32))
    """

    _names = ("w_ru", "b_ru", "w_c", "b_c")

    def __init__(
        self, num_units: int | None = None, cell_size: int | None = None, reuse: Any = None, name: str = "gru_cell"
    ) -> None:
        if (num_units is None) == (cell_size is None):
            raise ValueError("Exactly one of num_units or cell_size must be provided.")
        super().__init__(num_units or cell_size or 0, reuse=reuse, name=name)


class GRUBlockCellV2(GRUBlockCell):
    """TF1's GRUBlockCell with the names of variables that `tf.nn.rnn_cell.GRUCell` has.

    Args:
      num_units: The width of the state and of the output. Give either `num_units` or `cell_size`.
      cell_size: An older name of `num_units`.
      reuse: True to use variables that exist; None or False to make them.
      name: The name of the cell, under which its variables are.

    >>> cell = tf.contrib.rnn.GRUBlockCellV2(4)
    >>> output, state = cell(tf.zeros([2, 3]), cell.zero_state(2, tf.float32))
    """

    _names = GRUCell._names
