"""SimpleRNN: the output of a step goes into the next one."""

from __future__ import annotations

from typing import Any

from headrace.library.layers.recurrent.cell import GatedCell
from headrace.library.layers.recurrent.cell_layer import CellLayer


class SimpleRNNCell(GatedCell):
    """One step of SimpleRNN: ``activation(inputs @ kernel + state @ recurrent_kernel + bias)``.

    Args:
      units: The size of the state and the output.
      activation: A function of the sum, or its name; None for none.
      use_bias: Whether a bias is added.
      kernel_initializer, recurrent_initializer, bias_initializer: What makes the first values: an initializer, or its name.
      kernel_regularizer, recurrent_regularizer, bias_regularizer: Functions of a weight that give a loss, or None.
      kernel_constraint, recurrent_constraint, bias_constraint: Functions that an optimizer applies to a weight after each
        update, or None.
      dropout: Which part of the inputs is dropped while training.
      recurrent_dropout: Which part of the state is dropped while training.
      **kwargs: What every layer takes, such as ``name``.

    >>> cell = tf.keras.layers.SimpleRNNCell(4)
    >>> output, states = cell(tf.zeros([2, 3]), [tf.zeros([2, 4])])
    >>> output.shape.as_list(), len(states)
    ([2, 4], 1)
    """

    argument_names = (
        "units", "activation", "use_bias", "kernel_initializer", "recurrent_initializer", "bias_initializer",
        "kernel_regularizer", "recurrent_regularizer", "bias_regularizer", "kernel_constraint", "recurrent_constraint",
        "bias_constraint", "dropout", "recurrent_dropout",
    )  # fmt: skip

    def __init__(
        self, units: int, activation: Any = "tanh", use_bias: bool = True, kernel_initializer: Any = "glorot_uniform",
        recurrent_initializer: Any = "orthogonal", bias_initializer: Any = "zeros", kernel_regularizer: Any = None,
        recurrent_regularizer: Any = None, bias_regularizer: Any = None, kernel_constraint: Any = None,
        recurrent_constraint: Any = None, bias_constraint: Any = None, dropout: float = 0.0,
        recurrent_dropout: float = 0.0, **kwargs: Any,
    ) -> None:  # fmt: skip
        super().__init__(**kwargs)
        self._keep(locals())

    def call_projected(self, projected: Any, states: Any, training: Any = None) -> tuple[Any, list[Any]]:
        """One step, from the product of the inputs and the kernel."""
        masks = self._state_masks(states[0], training)
        output = projected + self._recurrent_product(states[0], masks)
        if self.activation is not None:
            output = self.activation(output)
        return output, [output]


class SimpleRNN(CellLayer):
    """A recurrent layer in which the output of a step goes into the next one.

    Args:
      units: The size of the state and the output.
      activation: A function of the sum, or its name; None for none.
      use_bias: Whether a bias is added.
      kernel_initializer, recurrent_initializer, bias_initializer: What makes the first values: an initializer, or its name.
      kernel_regularizer, recurrent_regularizer, bias_regularizer: Functions of a weight that give a loss, or None.
      activity_regularizer: A function of the output that gives a loss, or None.
      kernel_constraint, recurrent_constraint, bias_constraint: Functions that an optimizer applies to a weight after each
        update, or None.
      dropout: Which part of the inputs is dropped while training.
      recurrent_dropout: Which part of the state is dropped while training.
      return_sequences: True for the outputs of all steps, False for the last one.
      return_state: Whether the last state is returned too.
      go_backwards: Whether the last step comes first.
      stateful: Whether a batch begins with the state that the batch before ended with.
      unroll: Whether the graph holds each step, in place of a loop.
      **kwargs: What every layer takes, such as ``name``; `time_major`, as in `RNN`.

    >>> tf.keras.layers.SimpleRNN(4)(tf.zeros([2, 5, 3])).shape.as_list()
    [2, 4]
    """

    cell_class = SimpleRNNCell

    def __init__(
        self, units: int, activation: Any = "tanh", use_bias: bool = True, kernel_initializer: Any = "glorot_uniform",
        recurrent_initializer: Any = "orthogonal", bias_initializer: Any = "zeros", kernel_regularizer: Any = None,
        recurrent_regularizer: Any = None, bias_regularizer: Any = None, activity_regularizer: Any = None,
        kernel_constraint: Any = None, recurrent_constraint: Any = None, bias_constraint: Any = None,
        dropout: float = 0.0, recurrent_dropout: float = 0.0, return_sequences: bool = False,
        return_state: bool = False, go_backwards: bool = False, stateful: bool = False, unroll: bool = False,
        **kwargs: Any,
    ) -> None:  # fmt: skip
        kwargs.pop("implementation", None)  # it has none
        self._start(locals())
