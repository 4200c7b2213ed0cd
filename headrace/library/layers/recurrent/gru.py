"""GRU: gated recurrent units (Cho et al., 2014)."""

from __future__ import annotations

from typing import Any, ClassVar

from headrace.graph import raw_ops
from headrace.graph.convert import convert_to_tensor
from headrace.graph.operation import Tensor
from headrace.library.layers import weight_arguments as weight
from headrace.library.layers.recurrent.cell import GatedCell
from headrace.library.layers.recurrent.cell_layer import CellLayer
from headrace.library.tensor import array


class GRUCell(GatedCell):
    """One step of a GRU: the gates for updating and resetting and the candidate, in this order in the weights.

    Args:
      units: The size of the state and the output.
      activation: The function of the candidate, or its name; None for none.
      recurrent_activation: The function of the gates, or its name.
      use_bias: Whether a bias is added.
      kernel_initializer, recurrent_initializer, bias_initializer: What makes the first values: an initializer, or its name.
      kernel_regularizer, recurrent_regularizer, bias_regularizer: Functions of a weight that give a loss, or None.
      kernel_constraint, recurrent_constraint, bias_constraint: Functions that an optimizer applies to a weight after each
        update, or None.
      dropout: Which part of the inputs is dropped while training.
      recurrent_dropout: Which part of the state is dropped while training.
      implementation: 1 drops other parts for each gate, 2 the same for all.
      reset_after: Whether the gate for resetting comes after the product with the recurrent kernel, as in CuDNN; there are
        two biases then.
      **kwargs: What every layer takes, such as ``name``.

    >>> cell = tf.keras.layers.GRUCell(4)
    >>> output, states = cell(tf.zeros([2, 3]), [tf.zeros([2, 4])])
    >>> output.shape.as_list(), len(states)
    ([2, 4], 1)
    """

    gates = 3
    argument_names: ClassVar[tuple[str, ...]] = (
        "units", "activation", "recurrent_activation", "use_bias", "kernel_initializer", "recurrent_initializer",
        "bias_initializer", "kernel_regularizer", "recurrent_regularizer", "bias_regularizer", "kernel_constraint",
        "recurrent_constraint", "bias_constraint", "dropout", "recurrent_dropout", "implementation", "reset_after",
    )  # fmt: skip
    reset_after: bool

    def __init__(
        self, units: int, activation: Any = "tanh", recurrent_activation: Any = "hard_sigmoid", use_bias: bool = True,
        kernel_initializer: Any = "glorot_uniform", recurrent_initializer: Any = "orthogonal",
        bias_initializer: Any = "zeros", kernel_regularizer: Any = None, recurrent_regularizer: Any = None,
        bias_regularizer: Any = None, kernel_constraint: Any = None, recurrent_constraint: Any = None,
        bias_constraint: Any = None, dropout: float = 0.0, recurrent_dropout: float = 0.0, implementation: int = 1,
        reset_after: bool = False, **kwargs: Any,
    ) -> None:  # fmt: skip
        super().__init__(**kwargs)
        self._keep(locals())

    def _make_bias(self) -> Any:
        columns = self.units * 3
        return weight.make(self, "bias", [2, columns] if self.reset_after else [columns])

    def _biases(self) -> list[Tensor]:
        """The bias of the inputs and that of the state."""
        return self._once("biases", lambda: array.unstack(convert_to_tensor(self.bias)))

    def _input_bias(self) -> Any:
        return self._biases()[0] if self.use_bias and self.reset_after else super()._input_bias()

    def call_projected(self, projected: Any, states: Any, training: Any = None) -> tuple[Any, list[Any]]:
        """One step, from the product of the inputs and the kernel."""
        before = states[0]
        masks = self._state_masks(before, training)
        if self.reset_after:
            update, candidate = self._reset_after_product(projected, before, masks)
        else:
            update, candidate = self._reset_before_product(projected, before, masks)
        if self.activation is not None:
            candidate = self.activation(candidate)
        if masks is not None and len(masks) == 1:  # as in Keras: the one mask is also on the state that is kept
            before = before * masks[0]
        output = update * before + (1.0 - update) * candidate
        return output, [output]

    def _reset_after_product(self, projected: Any, before: Any, masks: Any) -> tuple[Any, Any]:
        product = self._recurrent_product(before, masks)
        if self.use_bias:
            product = raw_ops.BiasAdd(product, self._biases()[1])
        sizes = [2 * self.units, self.units]
        gates, candidate = array.split(projected, sizes, axis=1)
        state_gates, state_candidate = array.split(product, sizes, axis=1)
        update, reset = self._activated(gates + state_gates, 2)
        return update, candidate + reset * state_candidate

    def _reset_before_product(self, projected: Any, before: Any, masks: Any) -> tuple[Any, Any]:
        kernels = self._gates_and_candidate()
        gates, candidate = array.split(projected, [2 * self.units, self.units], axis=1)
        if masks is not None and len(masks) > 1:
            parts = zip(masks[:2], self._recurrent_parts()[:2], strict=True)
            product = array.concat([raw_ops.MatMul(before * mask, part) for mask, part in parts], 1)
            dropped = before * masks[2]
        else:
            dropped = before if masks is None else before * masks[0]
            product = raw_ops.MatMul(dropped, kernels[0])
        update, reset = self._activated(gates + product, 2)
        return update, candidate + raw_ops.MatMul(reset * dropped, kernels[1])

    def _gates_and_candidate(self) -> list[Tensor]:
        """The recurrent kernel of both gates, and that of the candidate."""
        sizes = [2 * self.units, self.units]
        return self._once("gates_and_candidate", lambda: array.split(self._recurrent(), sizes, axis=1))


class GRU(CellLayer):
    """Gated recurrent units: a recurrent layer that learns what to replace (Cho et al., 2014).

    Args:
      units: The size of the state and the output.
      activation: The function of the candidate, or its name; None for none.
      recurrent_activation: The function of the gates, or its name.
      use_bias: Whether a bias is added.
      kernel_initializer, recurrent_initializer, bias_initializer: What makes the first values: an initializer, or its name.
      kernel_regularizer, recurrent_regularizer, bias_regularizer: Functions of a weight that give a loss, or None.
      activity_regularizer: A function of the output that gives a loss, or None.
      kernel_constraint, recurrent_constraint, bias_constraint: Functions that an optimizer applies to a weight after each
        update, or None.
      dropout: Which part of the inputs is dropped while training.
      recurrent_dropout: Which part of the state is dropped while training.
      implementation: 1 drops other parts for each gate, 2 the same for all.
      return_sequences: True for the outputs of all steps, False for the last one.
      return_state: Whether the last state is returned too.
      go_backwards: Whether the last step comes first.
      stateful: Whether a batch begins with the state that the batch before ended with.
      unroll: Whether the graph holds each step, in place of a loop.
      reset_after: Whether the gate for resetting comes after the product with the recurrent kernel, as in CuDNN; there are
        two biases then.
      **kwargs: What every layer takes, such as ``name``; `time_major`, as in `RNN`.

    >>> tf.keras.layers.GRU(4, return_sequences=True)(tf.zeros([2, 5, 3])).shape.as_list()
    [2, 5, 4]
    """

    cell_class = GRUCell

    def __init__(
        self, units: int, activation: Any = "tanh", recurrent_activation: Any = "hard_sigmoid", use_bias: bool = True,
        kernel_initializer: Any = "glorot_uniform", recurrent_initializer: Any = "orthogonal",
        bias_initializer: Any = "zeros", kernel_regularizer: Any = None, recurrent_regularizer: Any = None,
        bias_regularizer: Any = None, activity_regularizer: Any = None, kernel_constraint: Any = None,
        recurrent_constraint: Any = None, bias_constraint: Any = None, dropout: float = 0.0,
        recurrent_dropout: float = 0.0, implementation: int = 1, return_sequences: bool = False,
        return_state: bool = False, go_backwards: bool = False, stateful: bool = False, unroll: bool = False,
        reset_after: bool = False, **kwargs: Any,
    ) -> None:  # fmt: skip
        self._start(locals())
