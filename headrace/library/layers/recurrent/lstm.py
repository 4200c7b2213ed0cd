"""LSTM: long short-term memory (Hochreiter and Schmidhuber, 1997)."""

from __future__ import annotations

from typing import Any, ClassVar

from headrace.library.layers import activations, initializers
from headrace.library.layers.recurrent.cell import GatedCell
from headrace.library.layers.recurrent.cell_layer import CellLayer
from headrace.library.tensor import array


class LSTMCell(GatedCell):
    """One step of an LSTM: the gates for input, forgetting, memory and output, in this order in the weights.

    Args:
      units: The size of the states and the output.
      activation: A function of the memory, or its name; None for none.
      recurrent_activation: The function of the gates, or its name.
      use_bias: Whether a bias is added.
      kernel_initializer, recurrent_initializer, bias_initializer: What makes the first values: an initializer, or its name.
      unit_forget_bias: Whether the bias of the gate for forgetting begins with ones.
      kernel_regularizer, recurrent_regularizer, bias_regularizer: Functions of a weight that give a loss, or None.
      kernel_constraint, recurrent_constraint, bias_constraint: Functions that an optimizer applies to a weight after each
        update, or None.
      dropout: Which part of the inputs is dropped while training.
      recurrent_dropout: Which part of the state is dropped while training.
      implementation: 1 drops other parts for each gate, 2 the same for all.
      **kwargs: What every layer takes, such as ``name``.

    >>> cell = tf.keras.layers.LSTMCell(4)
    >>> output, states = cell(tf.zeros([2, 3]), [tf.zeros([2, 4]), tf.zeros([2, 4])])
    >>> output.shape.as_list(), len(states)
    ([2, 4], 2)
    """

    gates = 4
    argument_names: ClassVar[tuple[str, ...]] = (
        "units", "activation", "recurrent_activation", "use_bias", "kernel_initializer", "recurrent_initializer",
        "bias_initializer", "unit_forget_bias", "kernel_regularizer", "recurrent_regularizer", "bias_regularizer",
        "kernel_constraint", "recurrent_constraint", "bias_constraint", "dropout", "recurrent_dropout", "implementation",
    )  # fmt: skip
    unit_forget_bias: bool

    def __init__(
        self, units: int, activation: Any = "tanh", recurrent_activation: Any = "hard_sigmoid", use_bias: bool = True,
        kernel_initializer: Any = "glorot_uniform", recurrent_initializer: Any = "orthogonal",
        bias_initializer: Any = "zeros", unit_forget_bias: bool = True, kernel_regularizer: Any = None,
        recurrent_regularizer: Any = None, bias_regularizer: Any = None, kernel_constraint: Any = None,
        recurrent_constraint: Any = None, bias_constraint: Any = None, dropout: float = 0.0,
        recurrent_dropout: float = 0.0, implementation: int = 1, **kwargs: Any,
    ) -> None:  # fmt: skip
        super().__init__(**kwargs)
        self._keep(locals())

    @property
    def state_size(self) -> list[int]:
        """The sizes of the output and the memory."""
        return [self.units, self.units]

    def _make_bias(self) -> Any:
        return make_forget_bias(self, self.units)

    def call_projected(self, projected: Any, states: Any, training: Any = None) -> tuple[Any, list[Any]]:
        """One step, from the product of the inputs and the kernel."""
        before, memory = states
        masks = self._state_masks(before, training)
        return self._lstm_step(projected + self._recurrent_product(before, masks), memory)

    def _lstm_step(self, sums: Any, memory: Any, axis: int = 1) -> tuple[Any, list[Any]]:
        """The output and the states, from the sums at the gates."""
        size = self.units
        first, candidate, last = array.split(sums, [2 * size, size, size], axis=axis)
        taken, remembered = self._activated(first, 2, axis)
        (shown,) = self._activated(last, 1, axis)
        activation = self.activation or activations.linear
        memory = remembered * memory + taken * activation(candidate)
        output = shown * activation(memory)
        return output, [output, memory]


def make_forget_bias(cell: Any, size: int, copies: int = 1) -> Any:
    """The bias of a cell with four gates of this size; `copies` of it in a row, of which the last has the ones."""
    initial = cell.bias_initializer
    if cell.unit_forget_bias:

        def initializer(shape: Any, dtype: Any = None, partition_info: Any = None) -> Any:
            ones = initializers.get("ones")([size], dtype=dtype)
            first = cell.bias_initializer([size * (4 * copies - 3)], dtype=dtype)
            return array.concat([first, ones, cell.bias_initializer([2 * size], dtype=dtype)], 0)

        initial = initializer
    return cell.add_weight(
        name="bias", shape=[size * 4 * copies], initializer=initial, regularizer=cell.bias_regularizer,
        constraint=cell.bias_constraint,
    )  # fmt: skip


class LSTM(CellLayer):
    """Long short-term memory: a recurrent layer that learns what to keep (Hochreiter and Schmidhuber, 1997).

    Args:
      units: The size of the states and the output.
      activation: A function of the memory, or its name; None for none.
      recurrent_activation: The function of the gates, or its name.
      use_bias: Whether a bias is added.
      kernel_initializer, recurrent_initializer, bias_initializer: What makes the first values: an initializer, or its name.
      unit_forget_bias: Whether the bias of the gate for forgetting begins with ones.
      kernel_regularizer, recurrent_regularizer, bias_regularizer: Functions of a weight that give a loss, or None.
      activity_regularizer: A function of the output that gives a loss, or None.
      kernel_constraint, recurrent_constraint, bias_constraint: Functions that an optimizer applies to a weight after each
        update, or None.
      dropout: Which part of the inputs is dropped while training.
      recurrent_dropout: Which part of the state is dropped while training.
      implementation: 1 drops other parts for each gate, 2 the same for all.
      return_sequences: True for the outputs of all steps, False for the last one.
      return_state: Whether the last states, the output and the memory, are returned too.
      go_backwards: Whether the last step comes first.
      stateful: Whether a batch begins with the states that the batch before ended with.
      unroll: Whether the graph holds each step, in place of a loop.
      **kwargs: What every layer takes, such as ``name``; `time_major`, as in `RNN`.

    >>> output, state, memory = tf.keras.layers.LSTM(4, return_state=True)(tf.zeros([2, 5, 3]))
    >>> output.shape.as_list(), memory.shape.as_list()
    ([2, 4], [2, 4])
    """

    cell_class = LSTMCell

    def __init__(
        self, units: int, activation: Any = "tanh", recurrent_activation: Any = "hard_sigmoid", use_bias: bool = True,
        kernel_initializer: Any = "glorot_uniform", recurrent_initializer: Any = "orthogonal",
        bias_initializer: Any = "zeros", unit_forget_bias: bool = True, kernel_regularizer: Any = None,
        recurrent_regularizer: Any = None, bias_regularizer: Any = None, activity_regularizer: Any = None,
        kernel_constraint: Any = None, recurrent_constraint: Any = None, bias_constraint: Any = None,
        dropout: float = 0.0, recurrent_dropout: float = 0.0, implementation: int = 1, return_sequences: bool = False,
        return_state: bool = False, go_backwards: bool = False, stateful: bool = False, unroll: bool = False,
        **kwargs: Any,
    ) -> None:  # fmt: skip
        self._start(locals())
