"""What recurrent cells have in common: arguments, weights, dropout, and what is computed once for all steps.

The product of the inputs and the kernel does not depend on the states, so `RNN` computes it for all steps together
(``project_all``) and the loop holds the rest (``call_projected``).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, ClassVar

from headrace.core.shape import as_shape
from headrace.core.source import at
from headrace.graph import raw_ops
from headrace.graph.convert import convert_to_tensor
from headrace.graph.operation import Tensor
from headrace.library.layers import activations
from headrace.library.layers import weight_arguments as weight
from headrace.library.layers.base_layer import Layer
from headrace.library.layers.recurrent.state import cell_zero_states, merged_steps, split_steps
from headrace.library.layers.train_phase import training_or_phase, while_training
from headrace.library.network.dropout import dropout
from headrace.library.tensor import array, creation

_PLAIN = frozenset({"units", "use_bias", "unit_forget_bias", "implementation", "reset_after"})

_ELEMENTWISE = (activations.sigmoid, activations.hard_sigmoid, activations.tanh)


class AbstractRNNCell(Layer):
    """The base of recurrent cells of one's own, to derive from.

    A subclass has ``call(inputs, states)``, which returns an output and a list of new states, and the properties
    ``state_size`` and ``output_size``.

    Args:
      trainable: Whether training changes its variables.
      name: Its name; None for that of the class, with a number.
      dtype: The dtype of its variables; None for that of the first input.
      dynamic: Whether `call` has to run eagerly.
      **kwargs: What every layer takes, such as ``input_shape``.

    >>> class Sum(tf.keras.layers.AbstractRNNCell):
    ...     state_size = output_size = 3
    ...     def call(self, inputs, states):
    ...         total = states[0] + inputs
    ...         return total, [total]
    >>> y = tf.keras.layers.RNN(Sum())(tf.ones([1, 4, 3]))
    >>> tf.Session().run(y).tolist()
    [[4.0, 4.0, 4.0]]
    """

    def call(self, inputs: Any, states: Any) -> Any:  # type: ignore[override]
        """One step.

        Args:
          inputs: The inputs of the step, [batch, ...].
          states: A list of the states.

        Returns:
          The output, and a list of the new states.
        """
        raise NotImplementedError("Abstract method")

    @property
    def state_size(self) -> Any:
        """The size of the state, or a list of sizes."""
        raise NotImplementedError("Abstract method")

    @property
    def output_size(self) -> Any:
        """The size of the output."""
        raise NotImplementedError("Abstract method")

    def get_initial_state(self, inputs: Any = None, batch_size: Any = None, dtype: Any = None) -> Any:
        """Zeros for each state.

        Args:
          inputs: A tensor whose batch and type the states get; None where the other arguments are given.
          batch_size: The size of the batch.
          dtype: The type of the states.

        Returns:
          A tensor, or a structure like `state_size`.
        """
        return cell_zero_states(self, inputs, batch_size, dtype)


class DropoutCell(Layer):
    """A cell that drops parts of its inputs and states, the same in all steps of a sequence."""

    dropout: float
    recurrent_dropout: float
    _OWN = Layer._OWN | {"_masks", "_kept"}
    _masks: dict[str, Any]
    _kept: dict[str, Any] | None

    def _keep_dropout(self, dropout: float, recurrent_dropout: float) -> None:
        self.dropout = min(1.0, max(0.0, dropout))
        self.recurrent_dropout = min(1.0, max(0.0, recurrent_dropout))
        self._masks = {}
        self._kept = None

    def reset_dropout_mask(self) -> None:
        """Draws what is dropped of the inputs anew at the next step."""
        self._masks.pop("inputs", None)

    def reset_recurrent_dropout_mask(self) -> None:
        """Draws what is dropped of the states anew at the next step."""
        self._masks.pop("states", None)

    def get_initial_state(self, inputs: Any = None, batch_size: Any = None, dtype: Any = None) -> Any:
        """Zeros for each state.

        Args:
          inputs: A tensor whose batch and type the states get; None where the other arguments are given.
          batch_size: The size of the batch.
          dtype: The type of the states.

        Returns:
          A tensor, or a structure like `state_size`.
        """
        return cell_zero_states(self, inputs, batch_size, dtype)

    @contextmanager
    def prepared(self) -> Iterator[None]:
        """The block in which a layer runs the cell over sequences: what does not change from step to step is made once."""
        self.reset_dropout_mask()
        self.reset_recurrent_dropout_mask()
        self._kept = {}
        try:
            yield
        finally:
            self._kept = None

    def _once(self, name: str, make: Callable[[], Any]) -> Any:
        """What ``make`` makes: once for all steps of a sequence where a layer runs the cell."""
        if self._kept is None:
            return make()
        if name not in self._kept:
            self._kept[name] = make()
        return self._kept[name]

    def _dropout_masks(self, what: str, like: Any, rate: float, training: Any, count: int) -> list[Any] | None:
        """``count`` tensors to multiply the inputs or the states with; None if nothing is dropped."""
        if not rate or training_or_phase(training) in (False, 0):
            return None
        if what not in self._masks:
            ones = creation.ones_like(like)
            self._masks[what] = [while_training(training, lambda: dropout(ones, rate=rate), ones) for _ in range(count)]
        return self._masks[what]


class GatedCell(DropoutCell):
    """A cell with a kernel for the inputs, one for the state and a bias, each with columns for several gates."""

    gates: ClassVar[int] = 1
    argument_names: ClassVar[tuple[str, ...]] = ()  # of the constructor
    units: int
    use_bias: bool
    activation: Any
    recurrent_activation: Any
    implementation: int = 1
    kernel: Any = None
    recurrent_kernel: Any = None
    bias: Any = None

    def _keep(self, given: dict[str, Any]) -> None:
        """Keeps the arguments of the constructor."""
        if not isinstance(given["units"], int) or given["units"] <= 0:
            raise ValueError(f"`units` must be a positive integer, got {given['units']!r} {at()}")
        for name in _PLAIN & set(given):
            setattr(self, name, given[name])
        for name in ("activation", "recurrent_activation"):
            if name in given:
                setattr(self, name, activations.get(given[name]))
        for name in ("kernel", "recurrent", "bias"):
            parts = (given[f"{name}_{part}"] for part in ("initializer", "regularizer", "constraint"))
            weight.keep_arguments(self, name, *parts)
        self._keep_dropout(given["dropout"], given["recurrent_dropout"])

    @property
    def state_size(self) -> Any:
        """The size of the state, or a list of sizes."""
        return self.units

    @property
    def output_size(self) -> int:
        """The size of the output."""
        return self.units

    # ---- weights

    def build(self, input_shape: Any) -> None:
        width = as_shape(input_shape).as_list()[-1]
        if width is None:
            raise ValueError(f"The last dimension of the inputs to `{type(self).__name__}` should be defined {at()}")
        columns = self.units * self.gates
        self.kernel = weight.make(self, "kernel", [width, columns])
        self.recurrent_kernel = weight.make(self, "recurrent", [self.units, columns], suffix="_kernel")
        if self.use_bias:
            self.bias = self._make_bias()
        self.built = True

    def _make_bias(self) -> Any:
        return weight.make(self, "bias", [self.units * self.gates])

    def _recurrent(self) -> Tensor:
        return self._once("recurrent_kernel", lambda: convert_to_tensor(self.recurrent_kernel))

    def _recurrent_parts(self) -> list[Tensor]:
        """The recurrent kernel, gate by gate."""
        return self._once("recurrent_parts", lambda: array.split(self._recurrent(), self.gates, axis=1))

    # ---- steps

    def call(self, inputs: Any, states: Any, training: Any = None) -> tuple[Any, list[Any]]:  # type: ignore[override]
        """One step.

        Args:
          inputs: The inputs of the step, [batch, size].
          states: A list of the states, [batch, units] each.
          training: Whether to drop out; None for the learning phase.

        Returns:
          The output [batch, units], and a list of the new states.
        """
        inputs = convert_to_tensor(inputs)
        return self.call_projected(self._project(inputs, self._input_masks(inputs, training)), states, training)

    @property
    def project_all(self) -> Any:
        """A function from the inputs of all steps to what `call_projected` takes; None if a subclass has its own `call`."""
        return self._project_all if type(self).call is GatedCell.call else None

    def _project_all(self, inputs: Any, training: Any) -> Tensor:
        """What `call_projected` takes, for all steps of time-major inputs."""
        return self._project(inputs, self._input_masks(inputs[0], training))

    def _input_masks(self, like: Any, training: Any) -> list[Any] | None:
        return self._dropout_masks("inputs", like, self.dropout, training, self._mask_count)

    def _state_masks(self, like: Any, training: Any) -> list[Any] | None:
        return self._dropout_masks("states", like, self.recurrent_dropout, training, self._mask_count)

    @property
    def _mask_count(self) -> int:
        """A mask for each gate, or one for all."""
        return self.gates if self.implementation == 1 else 1

    def _project(self, inputs: Tensor, masks: list[Any] | None) -> Tensor:
        """``inputs @ kernel + bias`` over the last axis."""
        kernel = convert_to_tensor(self.kernel)
        if masks is None:
            projected = _product(inputs, kernel)
        elif len(masks) == 1:
            projected = _product(inputs * masks[0], kernel)
        else:
            parts = array.split(kernel, self.gates, axis=1)
            projected = array.concat([_product(inputs * m, part) for m, part in zip(masks, parts, strict=True)], -1)
        bias = self._input_bias()
        return projected if bias is None else raw_ops.BiasAdd(projected, bias)

    def _input_bias(self) -> Any:
        """What is added to the projected inputs."""
        return convert_to_tensor(self.bias) if self.use_bias else None

    def _recurrent_product(self, state: Any, masks: list[Any] | None) -> Tensor:
        """``state @ recurrent_kernel``, with parts of the state dropped."""
        if masks is None:
            return raw_ops.MatMul(state, self._recurrent())
        if len(masks) == 1:
            return raw_ops.MatMul(state * masks[0], self._recurrent())
        pairs = zip(masks, self._recurrent_parts(), strict=True)
        return array.concat([raw_ops.MatMul(state * mask, part) for mask, part in pairs], 1)

    def _activated(self, sums: Any, count: int, axis: int = 1) -> list[Tensor]:
        """The recurrent activation of several gates; together where it treats each number by itself."""
        activation = self.recurrent_activation
        if activation in _ELEMENTWISE:
            return array.split(activation(sums), count, axis=axis)
        return [activation(one) for one in array.split(sums, count, axis=axis)]

    def call_projected(self, projected: Any, states: Any, training: Any = None) -> tuple[Any, list[Any]]:
        """One step, from the product of the inputs and the kernel."""
        raise NotImplementedError("Abstract method")

    def get_config(self) -> dict[str, Any]:
        """The arguments that make a layer like this one, as plain data."""
        config = weight.config(self, "kernel", "recurrent", "bias")
        for name in self.argument_names:
            if name not in config:
                value = getattr(self, name)
                config[name] = activations.serialize(value) if name.endswith("activation") else value
        return {**super().get_config(), **config}


def _product(inputs: Tensor, kernel: Tensor) -> Tensor:
    """``inputs @ kernel`` over the last axis of inputs of rank 2 or 3."""
    if inputs.shape.ndims == 2:
        return raw_ops.MatMul(inputs, kernel)
    return split_steps(inputs, raw_ops.MatMul(merged_steps(inputs), kernel))
