"""RNN: the layer that runs a recurrent cell over the steps of sequences."""

from __future__ import annotations

import inspect
from contextlib import ExitStack
from typing import Any

import numpy as np

from headrace.core.shape import TensorShape
from headrace.core.source import at
from headrace.graph.convert import convert_to_tensor
from headrace.library import nest
from headrace.library.backend.config import floatx
from headrace.library.backend.keras_tensor import is_keras_tensor
from headrace.library.backend.rnn import exchange_batch_and_time, run_steps
from headrace.library.backend.session import batch_set_value
from headrace.library.backend.variable import variable
from headrace.library.layers.base_layer import Layer
from headrace.library.layers.recurrent.stacked import StackedRNNCells, all_cells
from headrace.library.layers.recurrent.state import (
    as_list,
    batch_of,
    dims,
    has_several,
    separated,
    zero_states,
)  # fmt: skip
from headrace.library.layers.registry import deserialize, serialize
from headrace.library.layers.spec import InputSpec
from headrace.library.state.assign import assign

_NEEDS_BATCH = (
    "If a RNN is stateful, it needs to know its batch size. Specify the batch size of your input tensors: `batch_input_shape` "
    "of the first layer of a Sequential model, or `batch_shape` of an Input."
)
_NEEDS_STEPS = (
    "Cannot unroll a RNN if the time dimension is undefined. Specify it: `input_shape` of the first layer of a Sequential "
    "model (`input_length` of an Embedding), or `shape` of an Input."
)


class RNN(Layer):
    """Runs a recurrent cell over the steps of sequences.

    A cell has a method ``call(inputs, states)``, which returns an output and the list of new states, and an attribute
    ``state_size``, a number or a list of numbers. It may have ``output_size`` and ``get_initial_state``.

    Args:
      cell: The cell, or a list of cells, one on top of the other.
      return_sequences: True for the outputs of all steps, False for the last one.
      return_state: Whether the last states are returned too, in a list behind the output.
      go_backwards: Whether the last step comes first.
      stateful: Whether a batch begins with the states that the batch before ended with.
      unroll: Whether the graph holds each step, in place of a loop.
      time_major: Whether inputs and outputs are [time, batch, ...].
      **kwargs: What every layer takes, such as ``name``; `input_dim` and `input_length` for the first layer of a model.

    >>> cell = tf.keras.layers.SimpleRNNCell(4)
    >>> outputs, state = tf.keras.layers.RNN(cell, return_sequences=True, return_state=True)(tf.zeros([2, 5, 3]))
    >>> outputs.shape.as_list(), state.shape.as_list()
    ([2, 5, 4], [2, 4])
    """

    _OWN = Layer._OWN | {"_states"}
    constants_spec: Any
    state_spec: Any

    def __init__(
        self, cell: Any, return_sequences: bool = False, return_state: bool = False, go_backwards: bool = False,
        stateful: bool = False, unroll: bool = False, time_major: bool = False, **kwargs: Any,
    ) -> None:  # fmt: skip
        if isinstance(cell, list | tuple):
            cell = StackedRNNCells(list(cell))
        for needed in ("call", "state_size"):
            if needed not in dir(cell):
                raise ValueError(f"`cell` should have `{needed}`, which a recurrent cell has; got {cell!r} {at()}")
        self.zero_output_for_mask = kwargs.pop("zero_output_for_mask", False)
        length, width = kwargs.pop("input_length", None), kwargs.pop("input_dim", None)
        if "input_shape" not in kwargs and (length is not None or width is not None):
            kwargs["input_shape"] = (length, width)
        super().__init__(**kwargs)
        self.cell = cell
        self.return_sequences = return_sequences
        self.return_state = return_state
        self.go_backwards = go_backwards
        self.stateful = stateful
        self.unroll = unroll
        self.time_major = time_major
        self.supports_masking = True
        self.input_spec = None
        self.state_spec = None
        self.constants_spec = None
        self._states: Any = None
        self._num_constants = 0

    # ---- shapes

    @property
    def states(self) -> Any:
        """The states that a stateful layer keeps: variables, or None for each before it is built."""
        if self._states is None:
            return nest.map_structure(lambda _: None, as_list(self.cell.state_size))
        return self._states

    @states.setter
    def states(self, states: Any) -> None:
        self._states = states

    def compute_output_shape(self, input_shape: Any) -> Any:
        """The shape of the output, and of the states if they are returned.

        Args:
          input_shape: The shape of the inputs, or a list with it and those of the states.

        Returns:
          A `tf.TensorShape`, or a list of them.
        """
        shape = _first_shape(input_shape)
        batch, steps = (shape[1], shape[0]) if self.time_major else (shape[0], shape[1])
        lead = [steps, batch] if self.time_major else [batch, steps]

        def of_output(size: Any) -> TensorShape:
            return TensorShape([*(lead if self.return_sequences else [batch]), *self._step_output_dims(shape, size)])

        sizes = as_list(self.cell.state_size)
        output_size = getattr(self.cell, "output_size", None)
        outputs = [of_output(size) for size in nest.flatten(sizes[0] if output_size is None else output_size)]
        if not self.return_state:
            return outputs[0] if len(outputs) == 1 else outputs
        return [*outputs, *(TensorShape([batch, *self._step_output_dims(shape, s)]) for s in nest.flatten(sizes))]

    def _step_output_dims(self, input_shape: list[Any], size: Any) -> list[Any]:
        """The shape of a step's output, or of a state, without the batch."""
        return dims(size)

    def compute_mask(self, inputs: Any, mask: Any = None) -> Any:
        """The mask of the outputs: that of the inputs, if all steps are returned."""
        flat = nest.flatten(mask)
        output_mask = flat[0] if self.return_sequences and flat else None
        return [output_mask] + [None for _ in nest.flatten(self.states)] if self.return_state else output_mask

    # ---- building

    def build(self, input_shape: Any) -> None:
        """Builds the cell, and the variables of a stateful layer's states.

        Args:
          input_shape: The shape of the inputs, or a list with it and those of the states.
        """
        if isinstance(input_shape, list):
            input_shape = input_shape[0]
        specs = nest.map_structure(self._input_spec, _as_shapes(input_shape))
        self.input_spec = [specs, *(self.input_spec or [None])[1:]]
        if isinstance(self.cell, Layer) and not self.cell.built:
            self.cell.build(nest.map_structure(self._step_shape, _as_shapes(input_shape)))
            self.cell.built = True
        self._check_or_make_state_spec()
        if self.stateful:
            self.reset_states()
        self.built = True

    def _input_spec(self, shape: TensorShape) -> InputSpec:
        sizes = shape.as_list()
        batch, time = (1, 0) if self.time_major else (0, 1)
        sizes[time] = None
        if not self.stateful:
            sizes[batch] = None
        return InputSpec(shape=tuple(sizes))

    def _step_shape(self, shape: TensorShape) -> TensorShape:
        sizes = shape.as_list()
        return TensorShape(sizes[1:] if self.time_major else [sizes[0], *sizes[2:]])

    def _check_or_make_state_spec(self) -> None:
        sizes = [self._state_dims(size) for size in nest.flatten(self.cell.state_size)]
        if self.state_spec is None:
            self.state_spec = [InputSpec(shape=(None, *size)) for size in sizes]
        given = [TensorShape(spec.shape[1:]) for spec in nest.flatten(self.state_spec)]
        if len(given) != len(sizes) or not all(
            a.is_compatible_with(TensorShape(b)) for a, b in zip(given, sizes, strict=True)
        ):
            raise ValueError(
                "An `initial_state` was passed that is not compatible with `cell.state_size`. Received "
                f"`state_spec`={self.state_spec}; however `cell.state_size` is {self.cell.state_size} {at()}"
            )

    def _state_dims(self, size: Any) -> list[Any]:
        return dims(size)

    # ---- calling

    def __call__(self, inputs: Any, initial_state: Any = None, constants: Any = None, **kwargs: Any) -> Any:
        """Runs the cell over sequences.

        Args:
          inputs: A tensor [batch, time, ...], or a list with it, the initial states and the constants.
          initial_state: The states before the first step, a list of tensors; None for zeros.
          constants: A list of tensors that the cell gets at each step; None for none.
          **kwargs: `mask` and `training`.

        Returns:
          The output, or a list with the outputs and the last states.
        """
        inputs, initial_state, constants = separated(inputs, initial_state, constants, self._num_constants)
        if initial_state is None and constants is None:
            return super().__call__(inputs, **kwargs)
        further = nest.flatten([initial_state or [], constants or []])
        if initial_state is not None:
            self.state_spec = [_spec_of(state) for state in nest.flatten(initial_state)]
        if constants is not None:
            self.constants_spec = [_spec_of(one) for one in constants]
            self._num_constants = len(constants)
        from_layers = [is_keras_tensor(one) for one in further]
        if any(from_layers) and not all(from_layers):
            raise ValueError(
                "The initial state or constants of an RNN layer cannot be specified with a mix of Keras tensors and non-Keras "
                f"tensors (a Keras tensor is one that a Keras layer or `Input` returned) {at()}"
            )
        if not any(from_layers):
            optional = {"initial_state": initial_state, "constants": constants}
            return super().__call__(inputs, **{k: v for k, v in optional.items() if v is not None}, **kwargs)
        own = self.input_spec
        self.input_spec = [*((own or [None])[:1]), *(_spec_of(one) for one in further)]
        try:
            return super().__call__([inputs, *further], **kwargs)
        finally:
            self.input_spec = (self.input_spec or [None])[:1] if self.built else own

    def call(  # type: ignore[override]
        self, inputs: Any, mask: Any = None, training: Any = None, initial_state: Any = None, constants: Any = None
    ) -> Any:
        """Runs the cell over sequences; see `__call__`."""
        inputs, states, constants = self._process_inputs(inputs, initial_state, constants)
        masks = nest.flatten(mask)
        with ExitStack() as stack:
            for cell in all_cells(self.cell):
                if hasattr(cell, "prepared"):
                    stack.enter_context(cell.prepared())
            last, outputs, states = self._run(inputs, states, constants, masks[0] if masks else None, training)
        if self.stateful:
            self._keep_states(states)
        output = outputs if self.return_sequences else last
        if not self.return_state:
            return output
        return [*(output if isinstance(output, list | tuple) else [output]), *states]

    def _run(self, inputs: Any, states: Any, constants: Any, mask: Any, training: Any) -> tuple[Any, Any, Any]:
        steps = self._static_steps(inputs)
        if self.unroll and steps is None:
            raise ValueError(f"{_NEEDS_STEPS} {at()}")
        options = {"training": training} if _takes(self.cell, "training") else {}
        if constants:
            if not _takes(self.cell, "constants"):
                raise ValueError(f"RNN cell {self.cell} does not support constants {at()}")
            options["constants"] = None
        project = getattr(self.cell, "project_all", None)
        one_step = self.cell.call_projected if project else _caller(self.cell)
        time_major = self.time_major
        if project is not None:
            if not time_major:  # before the product, which is larger
                inputs, time_major = exchange_batch_and_time(inputs), True
                mask = None if mask is None else exchange_batch_and_time(convert_to_tensor(mask))
            inputs = project(inputs, training)

        def step(values: Any, step_states: list[Any]) -> tuple[Any, Any]:
            if constants:
                step_states, options["constants"] = step_states[: -len(constants)], step_states[-len(constants) :]
            output, new_states = one_step(values, step_states, **options)
            return output, new_states if nest.is_sequence(new_states) else [new_states]

        last, outputs, states = run_steps(
            step, inputs, states, go_backwards=self.go_backwards, mask=mask, constants=constants, unroll=self.unroll,
            input_length=steps, time_major=time_major, zero_output_for_mask=self.zero_output_for_mask,
            all_outputs=self.return_sequences,
        )  # fmt: skip
        if outputs is not None and time_major is not self.time_major:
            outputs = exchange_batch_and_time(outputs)
        return last, outputs, states

    def _static_steps(self, inputs: Any) -> int | None:
        shape = nest.flatten(inputs)[0].shape
        return shape.as_list()[0 if self.time_major else 1]

    def _process_inputs(self, inputs: Any, initial_state: Any, constants: Any) -> tuple[Any, list[Any], Any]:
        if isinstance(inputs, list):
            inputs, initial_state, constants = separated(inputs, None, None, self._num_constants)
        inputs = nest.map_structure(convert_to_tensor, inputs)
        if initial_state is None:
            initial_state = self.states if self.stateful else self.get_initial_state(inputs)
        expected = nest.flatten(self.states)
        flat = [convert_to_tensor(state) for state in nest.flatten(initial_state)]
        if len(flat) != len(expected):
            raise ValueError(
                f"Layer {self.name} has {len(expected)} states but was passed {len(flat)} initial states {at()}"
            )
        return inputs, nest.pack_sequence_as(self.states, flat), constants

    def get_initial_state(self, inputs: Any) -> list[Any]:
        """The states before the first step.

        Args:
          inputs: A tensor [batch, time, ...], or a structure of such tensors.

        Returns:
          A list of tensors.
        """
        first = convert_to_tensor(nest.flatten(inputs)[0])
        return self._initial_states(batch_of(first, 1 if self.time_major else 0), first.dtype)

    def _initial_states(self, batch_size: Any, dtype: Any) -> list[Any]:
        make = getattr(self.cell, "get_initial_state", None)
        if make is None:
            made = zero_states(batch_size, self.cell.state_size, dtype)
        else:
            made = make(inputs=None, batch_size=batch_size, dtype=dtype)
        return list(made) if has_several(made) else [made]

    # ---- states from batch to batch

    def _keep_states(self, states: Any) -> None:
        pairs = zip(nest.flatten(self.states), nest.flatten(states), strict=True)
        self.add_update([assign(one, state) for one, state in pairs])

    def reset_states(self, states: Any = None) -> None:
        """Sets the states that the next batch begins with.

        Args:
          states: Arrays, one for each state; None for zeros.

        Example: ``model.layers[0].reset_states()``
        """
        if not self.stateful:
            raise AttributeError("Layer must be stateful.")
        spec = nest.flatten(self.input_spec)[0] if self.input_spec else None
        batch_size = None if spec is None or spec.shape is None else spec.shape[1 if self.time_major else 0]
        if not batch_size:
            raise ValueError(f"{_NEEDS_BATCH} {at()}")
        if nest.flatten(self.states)[0] is None:
            made = self._initial_states(batch_size, self.dtype or floatx())
            self.states = nest.pack_sequence_as(made, [variable(state, state.dtype) for state in nest.flatten(made)])
        variables = nest.flatten(self.states)
        if states is None:
            values = [np.zeros(one.shape.as_list()) for one in variables]
        else:
            values = [np.asarray(one) for one in nest.flatten(states)]
        if len(values) != len(variables):
            raise ValueError(
                f"Layer {self.name} expects {len(variables)} states, but it received {len(values)} state values. Input received: "
                f"{states}"
            )
        for number, (value, one) in enumerate(zip(values, variables, strict=True)):
            if list(value.shape) != one.shape.as_list():
                raise ValueError(
                    f"State {number} is incompatible with layer {self.name}: expected shape={tuple(one.shape.as_list())}, "
                    f"found shape={value.shape}"
                )
        batch_set_value(list(zip(variables, values, strict=True)))

    # ---- as plain data

    def get_config(self) -> dict[str, Any]:
        """The arguments that make a layer like this one, as plain data."""
        names = ("return_sequences", "return_state", "go_backwards", "stateful", "unroll", "time_major")
        config: dict[str, Any] = {name: getattr(self, name) for name in names}
        if self._num_constants:
            config["num_constants"] = self._num_constants
        if self.zero_output_for_mask:
            config["zero_output_for_mask"] = True
        return {**super().get_config(), **config, "cell": serialize(self.cell)}

    @classmethod
    def from_config(cls, config: dict[str, Any], custom_objects: Any = None) -> Any:
        """A new layer, from what `get_config` gives.

        Args:
          config: A dictionary.
          custom_objects: The user's own classes by name.

        Returns:
          A layer.
        """
        config = dict(config)
        cell = deserialize(config.pop("cell"), custom_objects=custom_objects)
        constant_count = config.pop("num_constants", 0)
        layer = cls(cell, **config)
        layer._num_constants = constant_count
        return layer


def _caller(cell: Any) -> Any:
    return cell if callable(cell) else cell.call


def _takes(cell: Any, name: str) -> bool:
    parameters = inspect.signature(cell.call).parameters
    return name in parameters or any(p.kind is p.VAR_KEYWORD for p in parameters.values())


def _spec_of(tensor: Any) -> InputSpec:
    shape = convert_to_tensor(tensor).shape
    return InputSpec(shape=tuple(shape.as_list()))


def _as_shapes(shape: Any) -> Any:
    """One TensorShape, or a structure of them."""
    if isinstance(shape, TensorShape):
        return shape
    if isinstance(shape, list | tuple) and all(one is None or isinstance(one, int) for one in shape):
        return TensorShape(shape)
    return nest.map_structure(TensorShape, shape)


def _first_shape(shape: Any) -> list[Any]:
    if isinstance(shape, list) and shape and not (shape[0] is None or isinstance(shape[0], int)):
        shape = shape[0]
    return nest.flatten(_as_shapes(shape))[0].as_list()
