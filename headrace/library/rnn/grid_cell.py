"""LSTMs over a grid of time and frequency (Li et al., 2016): one that goes up the frequencies, one that goes both ways."""

from __future__ import annotations

import collections
from collections.abc import Sequence
from typing import Any, NamedTuple

from headrace.core.source import at
from headrace.library.linalg.matrix import matmul
from headrace.library.log import warn
from headrace.library.network.activation import bias_add
from headrace.library.numeric import math
from headrace.library.numeric.clip import clip_by_value
from headrace.library.rnn.base import RNNCell, batch_zeros, input_depth
from headrace.library.rnn.sharded_cell import sharded_variable
from headrace.library.state import initializers
from headrace.library.state.variable_scope import get_variable, get_variable_scope, variable_scope
from headrace.library.tensor import array


class _Weights(NamedTuple):
    """What one of the two LSTMs of a block multiplies with; `see` has two peepholes for each gate, or is empty."""

    matrix: Any
    bias: Any
    see: dict[str, tuple[Any, Any]]

    def gate(self, name: str, x: Any, c_freq: Any, c_time: Any) -> Any:
        """The gate's activation, before the sigmoid, with what it sees of both states."""
        if not self.see:
            return x
        see_freq, see_time = self.see[name]
        return x + see_freq * c_freq + see_time * c_time


class GridLSTMCell(RNNCell):
    """An LSTM over a grid (Li et al., 2016): at each step one LSTM goes up the frequencies and one goes on in time.

    The inputs are cut into overlapping pieces, the lowest frequencies first, in one block or several with weights of
    their own. The output has `m` of time and of frequency for each piece, joined; the state has `c` and `m` of time for
    each piece, as a named tuple with fields `state_f00_b00_c`, `state_f00_b00_m` (piece 0 of block 0) and so on.

    Args:
      num_units: The width of the state and the output of each LSTM.
      use_peepholes: True lets the gates see `c` of both LSTMs.
      share_time_frequency_weights: True uses the weights of the LSTM over frequencies for the one over time.
      cell_clip: The bound of each element of `c`; None for no bound.
      initializer: What the matrices start from; None for the initializer of the variable scope.
      num_unit_shards: Into how many variables each matrix is divided.
      forget_bias: What is added to the forget gates, so that a new cell remembers.
      feature_size: The width of a piece.
      frequency_skip: How far the next piece is from one.
      num_frequency_blocks: A list with the number of pieces of each block.
      start_freqindex_list: Where each block begins in the inputs; None for one block over all inputs.
      end_freqindex_list: Where each block ends.
      couple_input_forget_gates: True takes in as much as is forgotten: the forget gate is 1 minus the input gate.
      state_is_tuple: False for a state that is one tensor. With several blocks each of them then begins with the state
        of the first, as in TensorFlow.
      reuse: True to use variables that exist; None or False to make them.

    >>> cell = tf.contrib.rnn.GridLSTMCell(2, feature_size=2, frequency_skip=1, num_frequency_blocks=[3])
    >>> output, state = cell(tf.zeros([1, 4]), cell.zero_state(1, tf.float32))
    >>> output.shape.as_list(), state.state_f02_b00_c.shape.as_list()
    ([1, 12], [1, 2])
    """

    _prefixes: tuple[str, ...] = ("state",)
    _tuple_name = "GridLSTMStateTuple"

    def __init__(
        self, num_units: int, use_peepholes: bool = False, share_time_frequency_weights: bool = False,
        cell_clip: float | None = None, initializer: Any = None, num_unit_shards: int = 1, forget_bias: float = 1.0,
        feature_size: int | None = None, frequency_skip: int | None = None,
        num_frequency_blocks: Sequence[int] | None = None, start_freqindex_list: Sequence[int] | None = None,
        end_freqindex_list: Sequence[int] | None = None, couple_input_forget_gates: bool = False,
        state_is_tuple: bool = True, reuse: Any = None,
    ) -> None:  # fmt: skip
        super().__init__(_reuse=reuse)
        if num_frequency_blocks is None:
            raise ValueError(f"Must specify num_frequency_blocks, the number of pieces of each block {at()}")
        for name, value in (("feature_size", feature_size), ("frequency_skip", frequency_skip)):
            if value is None or value < 1:
                raise ValueError(f"{name} must be an integer of at least 1, got {value!r} {at()}")
        if not state_is_tuple:
            warn("%s: Using a concatenated state is slower. Use state_is_tuple=True.", self)
        self._num_units = num_units
        self._use_peepholes = use_peepholes
        self._share_time_frequency_weights = share_time_frequency_weights
        self._cell_clip = cell_clip
        self._initializer = initializer
        self._num_unit_shards = num_unit_shards
        self._forget_bias = forget_bias
        self._feature_size: Any = feature_size
        self._frequency_skip: Any = frequency_skip
        self._num_frequency_blocks = [int(count) for count in num_frequency_blocks]
        self._start_freqindex_list = start_freqindex_list
        self._end_freqindex_list = end_freqindex_list
        self._couple_input_forget_gates = couple_input_forget_gates
        self._state_is_tuple = state_is_tuple
        fields = [
            f"{prefix}_f{piece:02d}_b{block:02d}_{part}"
            for prefix in self._prefixes
            for block, count in enumerate(self._num_frequency_blocks)
            for piece in range(count)
            for part in "cm"
        ]
        self._number = len(fields)
        self._state_tuple_type: Any = collections.namedtuple(self._tuple_name, fields) if state_is_tuple else None

    @property
    def state_size(self) -> Any:
        sizes = [self._num_units] * self._number
        return self._state_tuple_type(*sizes) if self._state_is_tuple else sum(sizes)

    @property
    def output_size(self) -> Any:
        return self._num_units * self._number

    @property
    def state_tuple_type(self) -> Any:
        """The class of the states, a named tuple; None if states are tensors."""
        return self._state_tuple_type

    def call(self, inputs: Any, state: Any) -> Any:  # type: ignore[override]
        blocks = self._pieces(inputs)
        with variable_scope(get_variable_scope(), initializer=self._initializer):
            if self._state_is_tuple:
                outputs, states = self._over_blocks(blocks, list(state))
                return array.concat(outputs, 1), self._state_tuple_type(*states)
            parts = array.split(state, self._number, axis=1)
            outputs, states = [], []
            for block, pieces in enumerate(blocks):
                more, new = self._over_pieces(pieces, block, parts)
                outputs += more
                states += new
            return array.concat(outputs, 1), array.concat(states, 1)

    def _over_blocks(self, blocks: list[list[Any]], states: list[Any]) -> tuple[list[Any], list[Any]]:
        """The outputs and the new states of all blocks, one after the other."""
        outputs, new_states = [], []
        for block, pieces in enumerate(blocks):
            own, states = states[: 2 * len(pieces)], states[2 * len(pieces) :]
            more, new = self._over_pieces(pieces, block, own)
            outputs += more
            new_states += new
        return outputs, new_states

    def _over_pieces(self, pieces: list[Any], block: int, states: list[Any]) -> tuple[list[Any], list[Any]]:
        dtype = pieces[0].dtype.base_dtype
        freq, time = self._weights(block, input_depth(pieces[0].shape), dtype)
        batch = pieces[0].shape.as_list()[0]
        m_freq = c_freq = batch_zeros(array.shape(pieces[0])[0] if batch is None else batch, self._num_units, dtype)
        outputs, new_states = [], []
        for piece, c_time, m_time in zip(pieces, states[::2], states[1::2], strict=False):
            joined = array.concat([piece, m_time, m_freq], 1)
            freq_gates = self._gates(joined, freq)
            time_gates = freq_gates if time is freq else self._gates(joined, time)
            new_c_freq = self._new_c(freq_gates, freq, c_freq, c_freq, c_time)
            new_c_time = self._new_c(time_gates, time, c_time, c_freq, c_time)
            c_freq, c_time = new_c_freq, new_c_time
            m_freq = math.sigmoid(freq.gate("O", freq_gates["o"], c_freq, c_time)) * math.tanh(c_freq)
            m_time = math.sigmoid(time.gate("O", time_gates["o"], c_freq, c_time)) * math.tanh(c_time)
            new_states += [c_time, m_time]
            outputs += [m_time, m_freq]
        return outputs, new_states

    def _weights(self, block: int, width: int, dtype: Any) -> tuple[_Weights, _Weights]:
        """The weights over frequencies and over time, which may be the same."""
        units, shared = self._num_units, self._share_time_frequency_weights
        wide = units * (3 if self._couple_input_forget_gates else 4)
        matrices = []
        for which in "f" if shared else "ft":
            matrix = sharded_variable(f"W_{which}_{block}", [width + 2 * units, wide], dtype, self._num_unit_shards)
            bias = get_variable(f"B_{which}_{block}", [wide], dtype, initializer=initializers.Zeros())
            matrices.append((matrix, bias))
        both = []
        for (matrix, bias), which in zip(matrices, ("freq", "time"), strict=False):
            see: dict[str, tuple[Any, Any]] = {}
            if self._use_peepholes:
                for gate in "IO" if self._couple_input_forget_gates else "FIO":
                    of_freq, of_time = (
                        get_variable(f"W_{gate}_diag_{which}{source}_{block}", [units], dtype) for source in "ft"
                    )
                    see[gate] = of_freq, of_time
            both.append(_Weights(matrix, bias, see))
        return both[0], both[-1]

    def _gates(self, joined: Any, weights: _Weights) -> dict[str, Any]:
        names = "ijo" if self._couple_input_forget_gates else "ijfo"
        parts = array.split(bias_add(matmul(joined, weights.matrix), weights.bias), len(names), axis=1)
        return dict(zip(names, parts, strict=True))

    def _new_c(self, gates: dict[str, Any], weights: _Weights, old: Any, c_freq: Any, c_time: Any) -> Any:
        enter = math.sigmoid(weights.gate("I", gates["i"], c_freq, c_time))
        if self._couple_input_forget_gates:
            keep = 1.0 - enter
        else:
            keep = math.sigmoid(weights.gate("F", gates["f"] + self._forget_bias, c_freq, c_time))
        new = keep * old + enter * math.tanh(gates["j"])
        return new if self._cell_clip is None else clip_by_value(new, -self._cell_clip, self._cell_clip)

    def _pieces(self, inputs: Any, offset: int = 0) -> list[list[Any]]:
        """The pieces of each block, `offset` further up; zeros where they reach over the inputs."""
        whole = input_depth(inputs.shape)
        if offset:
            inputs = array.pad(inputs, [[0, 0], [max(-offset, 0), max(offset, 0)]])
            offset = max(offset, 0)
        blocks = []
        for start, end, asked in zip(*self._borders(whole), self._num_frequency_blocks, strict=True):
            count = int((end - start - self._feature_size) / self._frequency_skip) + 1
            if count != asked:
                raise ValueError(
                    f"Invalid num_frequency_blocks, requires {asked} but gets {count}: pieces of feature_size "
                    f"{self._feature_size}, every {self._frequency_skip}, from {start} to {end} of inputs of width "
                    f"{whole} {at()}"
                )
            begins = [start + offset + i * self._frequency_skip for i in range(count)]
            blocks.append([inputs[:, begin : begin + self._feature_size] for begin in begins])
        return blocks

    def _borders(self, whole: int) -> tuple[Sequence[int], Sequence[int]]:
        """Where the blocks begin and end."""
        starts, ends, count = self._start_freqindex_list, self._end_freqindex_list, len(self._num_frequency_blocks)
        if not starts:
            if count != 1:
                raise ValueError(
                    f"Length of num_frequency_blocks is not 1, but instead is {count}; give start_freqindex_list and "
                    f"end_freqindex_list for several blocks {at()}"
                )
            return [0], [whole]
        if len(starts) != len(ends or ()):
            raise ValueError(
                f"Length of start and end freqindex_list does not match {len(starts)} {len(ends or ())} {at()}"
            )
        if count != len(starts):
            raise ValueError(
                f"Length of num_frequency_blocks is not equal to start_freqindex_list {count} {len(starts)} {at()}"
            )
        return starts, ends or ()


class BidirectionalGridLSTMCell(GridLSTMCell):
    """A grid LSTM that goes up the frequencies and, with weights of its own, down: `GridLSTMCell` twice.

    The output has what goes up, then what goes down. The state is a named tuple with fields `fwd_state_f00_b00_c` and
    so on, then `bwd_state_...`, whose piece 0 is the highest.

    Args:
      num_units: The width of the state and the output of each LSTM.
      use_peepholes: True lets the gates see `c` of both LSTMs.
      share_time_frequency_weights: True uses the weights of the LSTM over frequencies for the one over time.
      cell_clip: The bound of each element of `c`; None for no bound.
      initializer: What the matrices start from; None for the initializer of the variable scope.
      num_unit_shards: Into how many variables each matrix is divided.
      forget_bias: What is added to the forget gates, so that a new cell remembers.
      feature_size: The width of a piece.
      frequency_skip: How far the next piece is from one.
      num_frequency_blocks: A list with the number of pieces of each block.
      start_freqindex_list: Where each block begins in the inputs; None for one block over all inputs.
      end_freqindex_list: Where each block ends.
      couple_input_forget_gates: True takes in as much as is forgotten: the forget gate is 1 minus the input gate.
      backward_slice_offset: How much further up the pieces begin that are gone down; zeros where the inputs end.
      reuse: True to use variables that exist; None or False to make them.

    >>> cell = tf.contrib.rnn.BidirectionalGridLSTMCell(
    ...     2, feature_size=2, frequency_skip=1, num_frequency_blocks=[3])
    >>> output, state = cell(tf.zeros([1, 4]), cell.zero_state(1, tf.float32))
    >>> output.shape.as_list(), state.bwd_state_f02_b00_c.shape.as_list()
    ([1, 24], [1, 2])
    """

    _prefixes = ("fwd_state", "bwd_state")
    _tuple_name = "BidirectionalGridLSTMStateTuple"

    def __init__(
        self, num_units: int, use_peepholes: bool = False, share_time_frequency_weights: bool = False,
        cell_clip: float | None = None, initializer: Any = None, num_unit_shards: int = 1, forget_bias: float = 1.0,
        feature_size: int | None = None, frequency_skip: int | None = None,
        num_frequency_blocks: Sequence[int] | None = None, start_freqindex_list: Sequence[int] | None = None,
        end_freqindex_list: Sequence[int] | None = None, couple_input_forget_gates: bool = False,
        backward_slice_offset: int = 0, reuse: Any = None,
    ) -> None:  # fmt: skip
        super().__init__(
            num_units, use_peepholes, share_time_frequency_weights, cell_clip, initializer, num_unit_shards,
            forget_bias, feature_size, frequency_skip, num_frequency_blocks, start_freqindex_list, end_freqindex_list,
            couple_input_forget_gates, True, reuse,
        )  # fmt: skip
        self._backward_slice_offset = int(backward_slice_offset)

    def call(self, inputs: Any, state: Any) -> Any:  # type: ignore[override]
        up = self._pieces(inputs)
        down = self._pieces(inputs, self._backward_slice_offset) if self._backward_slice_offset else up
        parts, half = list(state), self._number // 2
        with variable_scope("fwd", initializer=self._initializer):
            outputs, states = self._over_blocks(up, parts[:half])
        with variable_scope("bwd", initializer=self._initializer):
            more, new = self._over_blocks([pieces[::-1] for pieces in down], parts[half:])
        return array.concat(outputs + more, 1), self._state_tuple_type(*states, *new)
