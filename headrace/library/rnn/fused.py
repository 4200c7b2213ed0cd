"""Fused cells of ``tf.contrib.rnn``: cells that take a whole time-major sequence in one call."""

from __future__ import annotations

from typing import Any

from headrace.library import nest
from headrace.library.rnn.cell import LSTMStateTuple
from headrace.library.rnn.dynamic import dynamic_rnn
from headrace.library.rnn.experimental_cell import LSTMBlockCell
from headrace.library.rnn.static import static_rnn
from headrace.library.rnn.step import lengths_as_tensor
from headrace.library.state.variable_scope import get_variable_scope, variable_scope
from headrace.library.tensor import array


class FusedRNNCell:
    """``outputs, state = cell(inputs)`` for inputs [time, batch, size].

    >>> issubclass(tf.contrib.rnn.LSTMBlockFusedCell, tf.contrib.rnn.FusedRNNCell)
    True
    """

    def __call__(
        self, inputs: Any, initial_state: Any = None, dtype: Any = None, sequence_length: Any = None, scope: Any = None
    ) -> Any:
        raise NotImplementedError


class FusedRNNCellAdaptor(FusedRNNCell):
    """A fused cell from a cell.

    Args:
      cell: The cell, with which each step is computed.
      use_dynamic_rnn: True runs the steps in a loop; False puts each step into the graph, whose number must be known then.

    >>> cell = tf.contrib.rnn.FusedRNNCellAdaptor(tf.nn.rnn_cell.GRUCell(4))
    >>> outputs, state = cell(tf.zeros([5, 2, 3]), dtype=tf.float32)
    """

    def __init__(self, cell: Any, use_dynamic_rnn: bool = False) -> None:
        self._cell = cell
        self._use_dynamic_rnn = use_dynamic_rnn

    def __call__(
        self, inputs: Any, initial_state: Any = None, dtype: Any = None, sequence_length: Any = None, scope: Any = None
    ) -> Any:
        as_list = isinstance(inputs, list)
        options: dict[str, Any] = {
            "sequence_length": sequence_length, "initial_state": initial_state, "dtype": dtype, "scope": scope,
        }  # fmt: skip
        if self._use_dynamic_rnn:
            joined = array.stack(inputs) if as_list else inputs
            outputs, state = dynamic_rnn(self._cell, joined, time_major=True, **options)
            return array.unstack(outputs) if as_list else outputs, state
        outputs, state = static_rnn(self._cell, inputs if as_list else array.unstack(inputs), **options)
        return outputs if as_list else array.stack(outputs), state


class TimeReversedFusedRNN(FusedRNNCell):
    """A fused cell that reads its inputs, and gives its outputs, backwards.

    Args:
      cell: The fused cell that reads the sequence backwards.

    >>> forward = tf.contrib.rnn.LSTMBlockFusedCell(4)
    >>> outputs, state = tf.contrib.rnn.TimeReversedFusedRNN(forward)(tf.zeros([5, 2, 3]))
    """

    def __init__(self, cell: Any) -> None:
        self._cell = cell

    def __call__(
        self, inputs: Any, initial_state: Any = None, dtype: Any = None, sequence_length: Any = None, scope: Any = None
    ) -> Any:
        def backwards(value: Any) -> Any:
            if sequence_length is None:
                return array.reverse(value, [0])
            return array.reverse_sequence(value, lengths_as_tensor(sequence_length), seq_axis=0, batch_axis=1)

        turned = nest.map_structure(backwards, inputs)
        outputs, state = self._cell(
            turned, initial_state=initial_state, dtype=dtype, sequence_length=sequence_length, scope=scope
        )
        return nest.map_structure(backwards, outputs), state


class LSTMBlockFusedCell(FusedRNNCell):
    """An LSTM over a whole sequence, under the name and with the variables of TF1's fused kernel.

    Args:
      num_units: The width of the output and of the two halves of the state.
      forget_bias: What is added to the forget gate, so that a new cell remembers.
      cell_clip: The bound of each element of `c`; None, 0 or a negative number for no bound.
      use_peephole: True lets the gates see `c`.
      reuse: True to use variables that exist; None or False to make them.
      dtype: The type of the variables; None takes that of the first inputs.
      name: The name of the cell, under which its variables are.

    >>> cell = tf.contrib.rnn.LSTMBlockFusedCell(4)
    >>> outputs, (c, h) = cell(tf.zeros([5, 2, 3]))
    """

    def __init__(
        self, num_units: int, forget_bias: float = 1.0, cell_clip: float | None = None, use_peephole: bool = False,
        reuse: Any = None, dtype: Any = None, name: str = "lstm_fused_cell",
    ) -> None:  # fmt: skip
        self._cell = LSTMBlockCell(num_units, forget_bias, cell_clip, use_peephole, dtype=dtype, reuse=reuse, name=name)
        self._num_units = num_units

    @property
    def num_units(self) -> int:
        """The width of the output."""
        return self._num_units

    @property
    def trainable_weights(self) -> list[Any]:
        """The variables that training changes."""
        return self._cell.trainable_weights

    def __call__(
        self, inputs: Any, initial_state: Any = None, dtype: Any = None, sequence_length: Any = None, scope: Any = None
    ) -> Any:
        as_list = isinstance(inputs, list)
        joined = array.stack(inputs) if as_list else inputs
        if initial_state is None and dtype is None:
            dtype = joined.dtype.base_dtype
        if initial_state is not None and not isinstance(initial_state, LSTMStateTuple):
            initial_state = LSTMStateTuple(*initial_state)
        with variable_scope(scope if scope is not None else get_variable_scope()) as entered:
            outputs, state = dynamic_rnn(
                self._cell, joined, sequence_length, initial_state, dtype, time_major=True, scope=entered
            )
        return array.unstack(outputs) if as_list else outputs, state
