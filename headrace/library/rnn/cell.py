"""The cells of ``tf.nn.rnn_cell``: BasicRNNCell, GRUCell, BasicLSTMCell, LSTMCell."""

from __future__ import annotations

from typing import Any, NamedTuple

from headrace.core import dtypes
from headrace.graph.convert import constant
from headrace.library.layers import activations
from headrace.library.layers.initializers import get as get_initializer
from headrace.library.layers.spec import InputSpec
from headrace.library.linalg.matrix import matmul
from headrace.library.network.activation import bias_add
from headrace.library.numeric import math
from headrace.library.numeric.clip import clip_by_value
from headrace.library.rnn.base import LayerRNNCell, input_depth
from headrace.library.state import initializers
from headrace.library.state.partitioner import fixed_size_partitioner
from headrace.library.tensor import array
from headrace.library.tensor.slicing import slice as slice_


class LSTMStateTuple(NamedTuple):
    """The state of an LSTM: ``c``, what the cell remembers, and ``h``, its last output."""

    c: Any
    h: Any

    @property
    def dtype(self) -> Any:
        """The type of `c` and `h`, which must be the same."""
        if self.c.dtype != self.h.dtype:
            raise TypeError(f"Inconsistent internal state: {self.c.dtype} vs {self.h.dtype}")
        return self.c.dtype


class UnitsCell(LayerRNNCell):
    """What the cells of ``num_units`` share: their state is as wide as their output."""

    def __init__(
        self, num_units: int, activation: Any = None, reuse: Any = None, name: str | None = None, dtype: Any = None,
        **kwargs: Any,
    ) -> None:  # fmt: skip
        super().__init__(_reuse=reuse, name=name, dtype=dtype, **kwargs)
        self.input_spec = InputSpec(ndim=2)
        self._num_units = num_units
        self._activation = activations.get(activation) if activation else math.tanh

    @property
    def state_size(self) -> Any:
        return self._num_units

    @property
    def output_size(self) -> Any:
        return self._num_units

    def get_config(self) -> dict[str, Any]:
        return {**super().get_config(), "num_units": self._num_units, "reuse": self._reuse}


class BasicRNNCell(UnitsCell):
    """``output = new_state = tanh(W [inputs, state] + b)``.

    Args:
      num_units: The width of the state and of the output.
      activation: A function of the new state, or its name; None for tanh.
      reuse: True to use variables that exist; None or False to make them.
      name: The name of the cell, under which its variables are; None for `basic_rnn_cell`.
      dtype: The type of the variables; None takes that of the first inputs.
      **kwargs: Further arguments of `tf.layers.Layer`, such as `trainable`.

    >>> cell = tf.nn.rnn_cell.BasicRNNCell(4)
    >>> output, state = cell(tf.zeros([2, 3]), cell.zero_state(2, tf.float32))
    """

    def build(self, input_shape: Any) -> None:
        width = input_depth(input_shape) + self._num_units
        self._kernel = self.add_weight("kernel", shape=[width, self._num_units])
        self._bias = self.add_weight("bias", shape=[self._num_units], initializer=initializers.Zeros())
        self.built = True

    def call(self, inputs: Any, state: Any) -> Any:  # type: ignore[override]
        output = self._activation(bias_add(matmul(array.concat([inputs, state], 1), self._kernel), self._bias))
        return output, output


class GRUCell(UnitsCell):
    """Gated recurrent unit (Cho et al., 2014): gates ``r`` and ``u``, then a candidate state.

    ``bias_initializer`` is 1 for the gates and 0 for the candidate unless given.

    Args:
      num_units: The width of the state and of the output.
      activation: A function of the candidate state, or its name; None for tanh.
      reuse: True to use variables that exist; None or False to make them.
      kernel_initializer: What the matrices start from; None for the initializer of the variable scope.
      bias_initializer: What the biases start from; None for 1 in the gates and 0 in the candidate.
      name: The name of the cell, under which its variables are; None for `gru_cell`.
      dtype: The type of the variables; None takes that of the first inputs.
      **kwargs: Further arguments of `tf.layers.Layer`, such as `trainable`.

    >>> cell = tf.nn.rnn_cell.GRUCell(4)
    >>> output, state = cell(tf.zeros([2, 3]), cell.zero_state(2, tf.float32))
    """

    _names = ("gates/kernel", "gates/bias", "candidate/kernel", "candidate/bias")

    def __init__(
        self, num_units: int, activation: Any = None, reuse: Any = None, kernel_initializer: Any = None,
        bias_initializer: Any = None, name: str | None = None, dtype: Any = None, **kwargs: Any,
    ) -> None:  # fmt: skip
        super().__init__(num_units, activation, reuse, name, dtype, **kwargs)
        self._kernel_initializer = get_initializer(kernel_initializer)
        self._bias_initializer = get_initializer(bias_initializer)

    def build(self, input_shape: Any) -> None:
        width, units = input_depth(input_shape) + self._num_units, self._num_units
        bias, kernels = self._bias_initializer, self._kernel_initializer
        gate_kernel, gate_bias, candidate_kernel, candidate_bias = self._names
        self._gate_kernel = self.add_weight(gate_kernel, shape=[width, 2 * units], initializer=kernels)
        self._gate_bias = self.add_weight(
            gate_bias, shape=[2 * units], initializer=initializers.Constant(1.0) if bias is None else bias
        )
        self._candidate_kernel = self.add_weight(candidate_kernel, shape=[width, units], initializer=kernels)
        self._candidate_bias = self.add_weight(
            candidate_bias, shape=[units], initializer=initializers.Zeros() if bias is None else bias
        )
        self.built = True

    def call(self, inputs: Any, state: Any) -> Any:  # type: ignore[override]
        gates = bias_add(matmul(array.concat([inputs, state], 1), self._gate_kernel), self._gate_bias)
        r, u = array.split(value=math.sigmoid(gates), num_or_size_splits=2, axis=1)
        candidate = bias_add(matmul(array.concat([inputs, r * state], 1), self._candidate_kernel), self._candidate_bias)
        c = self._activation(candidate)
        new_h = u * state + (1 - u) * c
        return new_h, new_h


class BasicLSTMCell(UnitsCell):
    """Long short-term memory (Zaremba et al., 2014), without peepholes, clipping or projection.

    Args:
      num_units: The width of the output and of the two halves of the state.
      forget_bias: What is added to the forget gate, so that a new cell remembers.
      state_is_tuple: True for states (c, h) as `LSTMStateTuple`; False for both joined in one tensor.
      activation: A function of the candidate and of `c`, or its name; None for tanh.
      reuse: True to use variables that exist; None or False to make them.
      name: The name of the cell, under which its variables are; None for `basic_lstm_cell`.
      dtype: The type of the variables; None takes that of the first inputs.
      **kwargs: Further arguments of `tf.layers.Layer`, such as `trainable`.

    >>> cell = tf.nn.rnn_cell.BasicLSTMCell(4)
    >>> output, (c, h) = cell(tf.zeros([2, 3]), cell.zero_state(2, tf.float32))
    """

    def __init__(
        self, num_units: int, forget_bias: float = 1.0, state_is_tuple: bool = True, activation: Any = None,
        reuse: Any = None, name: str | None = None, dtype: Any = None, **kwargs: Any,
    ) -> None:  # fmt: skip
        super().__init__(num_units, activation, reuse, name, dtype, **kwargs)
        self._forget_bias = forget_bias
        self._state_is_tuple = state_is_tuple

    @property
    def state_size(self) -> Any:
        units = self._num_units
        return LSTMStateTuple(units, units) if self._state_is_tuple else 2 * units

    def build(self, input_shape: Any) -> None:
        width = input_depth(input_shape) + self._num_units
        self._kernel = self.add_weight("kernel", shape=[width, 4 * self._num_units])
        self._bias = self.add_weight("bias", shape=[4 * self._num_units], initializer=initializers.Zeros())
        self.built = True

    def call(self, inputs: Any, state: Any) -> Any:  # type: ignore[override]
        sigmoid, one = math.sigmoid, constant(1, dtype=dtypes.int32)
        c, h = state if self._state_is_tuple else array.split(value=state, num_or_size_splits=2, axis=one)
        gates = bias_add(matmul(array.concat([inputs, h], 1), self._kernel), self._bias)
        i, j, f, o = array.split(value=gates, num_or_size_splits=4, axis=one)
        forget_bias = constant(self._forget_bias, dtype=f.dtype)
        remembered = math.multiply(c, sigmoid(math.add(f, forget_bias)))
        new_c = math.add(remembered, math.multiply(sigmoid(i), self._activation(j)))
        new_h = math.multiply(self._activation(new_c), sigmoid(o))
        return new_h, LSTMStateTuple(new_c, new_h) if self._state_is_tuple else array.concat([new_c, new_h], 1)

    def get_config(self) -> dict[str, Any]:
        own = {"forget_bias": self._forget_bias, "state_is_tuple": self._state_is_tuple}
        return {**super().get_config(), **own}


class LSTMCell(UnitsCell):
    """Long short-term memory with optional peepholes, clipping and a projection of the output (Sak et al., 2014).

    Args:
      num_units: The width of the state `c`, and of the output if there is no projection.
      use_peepholes: True lets the gates see `c`.
      cell_clip: The bound of each element of `c`, which is clipped to [-cell_clip, cell_clip]; None for no bound.
      initializer: What the matrices start from; None for the initializer of the variable scope.
      num_proj: The width of the output after a projection; None for no projection.
      proj_clip: The bound of each element of the projected output; None for no bound.
      num_unit_shards: Into how many pieces the matrix of the gates is divided; None for one variable.
      num_proj_shards: Into how many pieces the matrix of the projection is divided; None for one variable.
      forget_bias: What is added to the forget gate, so that a new cell remembers.
      state_is_tuple: True for states (c, h) as `LSTMStateTuple`; False for both joined in one tensor.
      activation: A function of the candidate and of `c`, or its name; None for tanh.
      reuse: True to use variables that exist; None or False to make them.
      name: The name of the cell, under which its variables are; None for `lstm_cell`.
      dtype: The type of the variables; None takes that of the first inputs.
      **kwargs: Further arguments of `tf.layers.Layer`, such as `trainable`.

    >>> cell = tf.nn.rnn_cell.LSTMCell(4, use_peepholes=True, num_proj=2)
    >>> output, state = cell(tf.zeros([1, 3]), cell.zero_state(1, tf.float32))
    >>> output.shape.as_list(), state.c.shape.as_list()
    ([1, 2], [1, 4])
    """

    def __init__(
        self, num_units: int, use_peepholes: bool = False, cell_clip: float | None = None, initializer: Any = None,
        num_proj: int | None = None, proj_clip: float | None = None, num_unit_shards: int | None = None,
        num_proj_shards: int | None = None, forget_bias: float = 1.0, state_is_tuple: bool = True,
        activation: Any = None, reuse: Any = None, name: str | None = None, dtype: Any = None, **kwargs: Any,
    ) -> None:  # fmt: skip
        super().__init__(num_units, activation, reuse, name, dtype, **kwargs)
        self._use_peepholes = use_peepholes
        self._cell_clip = cell_clip
        self._initializer = get_initializer(initializer)
        self._num_proj = num_proj
        self._proj_clip = proj_clip
        self._num_unit_shards = num_unit_shards
        self._num_proj_shards = num_proj_shards
        self._forget_bias = forget_bias
        self._state_is_tuple = state_is_tuple

    @property
    def state_size(self) -> Any:
        out = self.output_size
        return LSTMStateTuple(self._num_units, out) if self._state_is_tuple else self._num_units + out

    @property
    def output_size(self) -> Any:
        return self._num_proj or self._num_units

    def build(self, input_shape: Any) -> None:
        units = self._num_units
        self._kernel = self.add_weight(
            "kernel", shape=[input_depth(input_shape) + self.output_size, 4 * units], initializer=self._initializer,
            partitioner=_shards(self._num_unit_shards),
        )  # fmt: skip
        self._bias = self.add_weight("bias", shape=[4 * units], initializer=initializers.Zeros())
        if self._use_peepholes:
            self._w_f_diag, self._w_i_diag, self._w_o_diag = (
                self.add_weight(f"w_{gate}_diag", shape=[units], initializer=self._initializer) for gate in "fio"
            )
        if self._num_proj is not None:
            self._proj_kernel = self.add_weight(
                "projection/kernel", shape=[units, self._num_proj], initializer=self._initializer,
                partitioner=_shards(self._num_proj_shards),
            )  # fmt: skip
        self.built = True

    def call(self, inputs: Any, state: Any) -> Any:  # type: ignore[override]
        c_prev, m_prev = self._parts(state)
        gates = bias_add(matmul(array.concat([inputs, m_prev], 1), self._kernel), self._bias)
        i, j, f, o = array.split(value=gates, num_or_size_splits=4, axis=1)
        sigmoid, peep = math.sigmoid, self._use_peepholes
        if peep:
            remembered = sigmoid(f + self._forget_bias + self._w_f_diag * c_prev) * c_prev
            c = remembered + sigmoid(i + self._w_i_diag * c_prev) * self._activation(j)
        else:
            c = sigmoid(f + self._forget_bias) * c_prev + sigmoid(i) * self._activation(j)
        if self._cell_clip is not None:
            c = clip_by_value(c, -self._cell_clip, self._cell_clip)
        m = sigmoid(o + self._w_o_diag * c if peep else o) * self._activation(c)
        if self._num_proj is not None:
            m = matmul(m, self._proj_kernel)
            if self._proj_clip is not None:
                m = clip_by_value(m, -self._proj_clip, self._proj_clip)
        return m, LSTMStateTuple(c, m) if self._state_is_tuple else array.concat([c, m], 1)

    def _parts(self, state: Any) -> Any:
        if self._state_is_tuple:
            return state
        c = slice_(state, [0, 0], [-1, self._num_units])
        return c, slice_(state, [0, self._num_units], [-1, self.output_size])

    def get_config(self) -> dict[str, Any]:
        own = {
            "use_peepholes": self._use_peepholes, "cell_clip": self._cell_clip, "num_proj": self._num_proj,
            "proj_clip": self._proj_clip, "num_unit_shards": self._num_unit_shards,
            "num_proj_shards": self._num_proj_shards, "forget_bias": self._forget_bias,
            "state_is_tuple": self._state_is_tuple,
        }  # fmt: skip
        return {**super().get_config(), **own}


def _shards(count: int | None) -> Any:
    return fixed_size_partitioner(count) if count else None
