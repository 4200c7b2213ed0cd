"""LSTMs whose matrix is in shards, ``W_0``, ``W_1`` ...: one with coupled gates, one over time and frequency."""

from __future__ import annotations

from typing import Any

from headrace.core.source import at
from headrace.library.layers import activations
from headrace.library.linalg.matrix import matmul
from headrace.library.network.activation import bias_add
from headrace.library.numeric import math
from headrace.library.numeric.clip import clip_by_value
from headrace.library.rnn.base import RNNCell, batch_zeros, input_depth
from headrace.library.rnn.cell import LSTMStateTuple
from headrace.library.rnn.layer_norm import layer_norm
from headrace.library.state import initializers
from headrace.library.state.variable_scope import get_variable, get_variable_scope, variable_scope
from headrace.library.tensor import array


def sharded_variable(name: str, shape: list[int], dtype: Any, shards: int) -> Any:
    """A matrix made of variables with some of its rows each."""
    if shards > shape[0]:
        raise ValueError(f"Too many shards: {shards} for the shape {shape} of {name} {at()}")
    size, larger = divmod(shape[0], shards)
    parts = [get_variable(f"{name}_{i}", [size + (i < larger), *shape[1:]], dtype) for i in range(shards)]
    return parts[0] if shards == 1 else array.concat(parts, 0)


def _peepholes(dtype: Any, units: int, gates: str) -> list[Any]:
    return [get_variable(f"W_{gate}_diag", [units], dtype) for gate in gates]


class CoupledInputForgetGateLSTMCell(RNNCell):
    """An LSTM that takes in as much as it forgets (Greff et al., 2015): its input gate is 1 minus the forget gate.

    Args:
      num_units: The width of the state `c`, and of the output if there is no projection.
      use_peepholes: True lets the gates see `c`.
      initializer: What the matrices start from; None for the initializer of the variable scope.
      num_proj: The width of the output after a projection; None for no projection.
      proj_clip: The bound of each element of the projected output; None for no bound.
      num_unit_shards: Into how many variables the matrix of the gates is divided.
      num_proj_shards: Into how many variables the matrix of the projection is divided.
      forget_bias: What is added to the forget gate, so that a new cell remembers.
      state_is_tuple: True for states (c, h) as `LSTMStateTuple`; False for both joined in one tensor.
      activation: A function of the candidate and of `c`, or its name.
      reuse: True to use variables that exist; None or False to make them.
      layer_norm: True normalises the gates and `c`.
      norm_gain: What the gains of the normalisation start from.
      norm_shift: What the shifts of the normalisation start from.

    >>> cell = tf.contrib.rnn.CoupledInputForgetGateLSTMCell(4)
    >>> output, (c, h) = cell(tf.zeros([2, 3]), cell.zero_state(2, tf.float32))
    """

    def __init__(
        self, num_units: int, use_peepholes: bool = False, initializer: Any = None, num_proj: int | None = None,
        proj_clip: float | None = None, num_unit_shards: int = 1, num_proj_shards: int = 1, forget_bias: float = 1.0,
        state_is_tuple: bool = True, activation: Any = math.tanh, reuse: Any = None, layer_norm: bool = False,
        norm_gain: float = 1.0, norm_shift: float = 0.0,
    ) -> None:  # fmt: skip
        super().__init__(_reuse=reuse)
        self._num_units = num_units
        self._use_peepholes = use_peepholes
        self._initializer = initializer
        self._num_proj = num_proj
        self._proj_clip = proj_clip
        self._num_unit_shards = num_unit_shards
        self._num_proj_shards = num_proj_shards
        self._forget_bias = forget_bias
        self._state_is_tuple = state_is_tuple
        self._activation = activations.get(activation)
        self._layer_norm = layer_norm
        self._norm_gain = norm_gain
        self._norm_shift = norm_shift

    @property
    def state_size(self) -> Any:
        sizes = LSTMStateTuple(self._num_units, self.output_size)
        return sizes if self._state_is_tuple else sum(sizes)

    @property
    def output_size(self) -> Any:
        return self._num_proj or self._num_units

    def call(self, inputs: Any, state: Any) -> Any:  # type: ignore[override]
        sizes = [self._num_units, self.output_size]
        c, h = state if self._state_is_tuple else array.split(state, sizes, axis=1)
        with variable_scope(get_variable_scope(), initializer=self._initializer):
            new_c, new_h = self._step(inputs, c, h)
        return new_h, LSTMStateTuple(new_c, new_h) if self._state_is_tuple else array.concat([new_c, new_h], 1)

    def _step(self, inputs: Any, c: Any, h: Any) -> tuple[Any, Any]:
        units, dtype = self._num_units, inputs.dtype.base_dtype
        width = input_depth(inputs.shape) + self.output_size
        matrix = sharded_variable("W", [width, 3 * units], dtype, self._num_unit_shards)
        bias = get_variable("B", [3 * units], dtype, initializer=initializers.Zeros())
        gates = matmul(array.concat([inputs, h], 1), matrix)
        j, f, o = array.split(gates if self._layer_norm else bias_add(gates, bias), 3, axis=1)
        j, f, o = (self._norm(x, scope) for x, scope in ((j, "transform"), (f, "forget"), (o, "output")))
        see_f, see_o = _peepholes(dtype, units, "FO") if self._use_peepholes else (0.0, 0.0)
        keep = math.sigmoid(f + self._forget_bias + see_f * c)
        new_c = self._norm(keep * c + (1 - keep) * self._activation(j), "state")
        new_h = math.sigmoid(o + see_o * new_c) * self._activation(new_c)
        if self._num_proj is not None:
            projection = sharded_variable("W_P", [units, self._num_proj], dtype, self._num_proj_shards)
            new_h = matmul(new_h, projection)
            if self._proj_clip is not None:
                new_h = clip_by_value(new_h, -self._proj_clip, self._proj_clip)
        return new_c, new_h

    def _norm(self, x: Any, scope: str) -> Any:
        return layer_norm(x, scope, self._norm_gain, self._norm_shift) if self._layer_norm else x


class TimeFreqLSTMCell(RNNCell):
    """An LSTM that goes up the frequencies of each step: one LSTM over overlapping pieces of the inputs (Li et al., 2015).

    The state has `c` and `h` of each piece, joined: 2 * `num_units` for each.

    Args:
      num_units: The width of the output and the state of each piece.
      use_peepholes: True lets the gates see `c`.
      cell_clip: The bound of each element of `c`; None for no bound.
      initializer: What the matrix starts from; None for the initializer of the variable scope.
      num_unit_shards: Into how many variables the matrix is divided.
      forget_bias: What is added to the forget gate, so that a new cell remembers.
      feature_size: The width of a piece.
      frequency_skip: How far the next piece is from one.
      reuse: True to use variables that exist; None or False to make them.

    >>> cell = tf.contrib.rnn.TimeFreqLSTMCell(4, feature_size=2, frequency_skip=1)
    >>> output, state = cell(tf.zeros([1, 3]), tf.zeros([1, 16]))
    >>> output.shape.as_list(), state.shape.as_list()
    ([1, 8], [1, 16])
    """

    def __init__(
        self, num_units: int, use_peepholes: bool = False, cell_clip: float | None = None, initializer: Any = None,
        num_unit_shards: int = 1, forget_bias: float = 1.0, feature_size: int | None = None, frequency_skip: int = 1,
        reuse: Any = None,
    ) -> None:  # fmt: skip
        super().__init__(_reuse=reuse)
        self._num_units = num_units
        self._use_peepholes = use_peepholes
        self._cell_clip = cell_clip
        self._initializer = initializer
        self._num_unit_shards = num_unit_shards
        self._forget_bias = forget_bias
        self._feature_size = feature_size
        self._frequency_skip = frequency_skip

    @property
    def state_size(self) -> Any:
        return 2 * self._num_units

    @property
    def output_size(self) -> Any:
        return self._num_units

    def call(self, inputs: Any, state: Any) -> Any:  # type: ignore[override]
        units, dtype = self._num_units, inputs.dtype.base_dtype
        pieces = self._pieces(inputs)
        with variable_scope(get_variable_scope(), initializer=self._initializer):
            width = input_depth(pieces[0].shape) + 2 * units
            matrix = sharded_variable("W", [width, 4 * units], dtype, self._num_unit_shards)
            bias = get_variable("B", [4 * units], dtype, initializer=initializers.Zeros())
            see = _peepholes(dtype, units, "FIO") if self._use_peepholes else [0.0] * 3
        below = batch_zeros(array.shape(inputs)[0], units, dtype)
        outputs, states = [], []
        for piece, old in zip(pieces, array.split(state, len(pieces), axis=1), strict=True):
            c, h = array.split(old, 2, axis=1)
            gates = bias_add(matmul(array.concat([piece, h, below], 1), matrix), bias)
            new_c, below = self._step(gates, c, see)
            outputs.append(below)
            states += [new_c, below]
        return array.concat(outputs, 1), array.concat(states, 1)

    def _pieces(self, inputs: Any) -> list[Any]:
        """The pieces of the inputs, lowest frequencies first."""
        whole = input_depth(inputs.shape)
        size = whole if self._feature_size is None else self._feature_size
        if size > whole:
            raise ValueError(f"feature_size {size} is more than the width {whole} of the inputs {at()}")
        return [inputs[:, start : start + size] for start in range(0, whole - size + 1, self._frequency_skip)]

    def _step(self, gates: Any, c: Any, see: list[Any]) -> tuple[Any, Any]:
        i, j, f, o = array.split(gates, 4, axis=1)
        remembered = math.sigmoid(f + self._forget_bias + see[0] * c) * c
        new_c = remembered + math.sigmoid(i + see[1] * c) * math.tanh(j)
        if self._cell_clip is not None:
            new_c = clip_by_value(new_c, -self._cell_clip, self._cell_clip)
        return new_c, math.sigmoid(o + see[2] * new_c) * math.tanh(new_c)
