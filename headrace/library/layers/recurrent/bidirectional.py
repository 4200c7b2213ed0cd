"""Bidirectional: a recurrent layer forward over sequences, and one backward."""

from __future__ import annotations

import inspect
from typing import Any

from headrace.core.shape import TensorShape
from headrace.core.source import at
from headrace.library import nest
from headrace.library.backend.keras_tensor import is_keras_tensor
from headrace.library.layers.base_layer import Layer
from headrace.library.layers.recurrent.stacked import all_cells
from headrace.library.layers.recurrent.state import separated
from headrace.library.layers.recurrent.wrapper import Wrapper
from headrace.library.layers.registry import deserialize, serialize
from headrace.library.scope import name_scope
from headrace.library.tensor import array

_MODES = ("sum", "mul", "ave", "concat", None)


class Bidirectional(Wrapper):
    """Runs a recurrent layer over sequences in both directions, and merges the outputs.

    Args:
      layer: The recurrent layer, which two copies are made of.
      merge_mode: How the outputs are merged: ``"concat"``, ``"sum"``, ``"mul"``, ``"ave"``, or None for a list of both.
      weights: The first values of the weights, those of the forward layer first; None for those that the layers make.
      backward_layer: The layer that goes backward; None for one like `layer`.
      **kwargs: What every layer takes, such as ``name``.

    >>> layer = tf.keras.layers.Bidirectional(tf.keras.layers.LSTM(4, return_sequences=True))
    >>> layer(tf.zeros([2, 5, 3])).shape.as_list()
    [2, 5, 8]
    """

    def __init__(
        self, layer: Any, merge_mode: str | None = "concat", weights: Any = None, backward_layer: Any = None,
        **kwargs: Any,
    ) -> None:  # fmt: skip
        if merge_mode not in _MODES:
            raise ValueError(f"Invalid merge mode. Merge mode should be one of {_MODES}, got {merge_mode!r} {at()}")
        if backward_layer is not None and not isinstance(backward_layer, Layer):
            raise ValueError(f"`backward_layer` should be a `tf.keras.layers.Layer`, got {backward_layer!r} {at()}")
        super().__init__(layer, **kwargs)
        self.backward_layer: Any
        self._tracked_attributes.pop("layer", None)  # its copies hold the weights
        self.forward_layer = _copy(layer)
        self._backward_config = None if backward_layer is None else serialize(backward_layer)
        self.backward_layer = _copy(layer, backward=True) if backward_layer is None else backward_layer
        self.forward_layer._name = f"forward_{self.forward_layer.name}"
        self.backward_layer._name = f"backward_{self.backward_layer.name}"
        self._check_pair()
        for one in (self.forward_layer, self.backward_layer):
            if hasattr(one, "zero_output_for_mask"):  # the steps before a sequence, and those behind it, are added
                one.zero_output_for_mask = one.return_sequences
        self.merge_mode = merge_mode
        if weights:
            half = len(weights) // 2
            self.forward_layer._initial_weights = weights[:half]
            self.backward_layer._initial_weights = weights[half:]
        self.stateful = layer.stateful
        self.return_sequences = layer.return_sequences
        self.return_state = layer.return_state
        self.supports_masking = True
        self._trainable = kwargs.get("trainable", layer.trainable)
        self._num_constants = 0
        self.input_spec = layer.input_spec

    def _check_pair(self) -> None:
        first, second = self.forward_layer, self.backward_layer
        if first.go_backwards == second.go_backwards:
            raise ValueError(
                f"Forward layer and backward layer should have different `go_backwards`, both have {first.go_backwards}"
            )
        for name in ("stateful", "return_sequences", "return_state"):
            if getattr(first, name) != getattr(second, name):
                raise ValueError(
                    f"Forward layer and backward layer should have the same `{name}`, got {getattr(first, name)} and "
                    f"{getattr(second, name)}"
                )

    # ---- shapes

    def compute_output_shape(self, input_shape: Any) -> Any:
        """The shape of the merged output, and of the states if they are returned.

        Args:
          input_shape: The shape of the inputs.

        Returns:
          A `tf.TensorShape`, or a list of them.
        """
        shape = self.forward_layer.compute_output_shape(input_shape)
        states = shape[1:] if self.return_state else []
        output = shape[0] if self.return_state else shape
        if self.merge_mode == "concat":
            outputs = [TensorShape([*output.as_list()[:-1], output.as_list()[-1] * 2])]
        else:
            outputs = [output] * (2 if self.merge_mode is None else 1)
        every = [*outputs, *states, *states]
        return every[0] if len(every) == 1 else every

    def build(self, input_shape: Any = None) -> None:
        """Builds both layers.

        Args:
          input_shape: The shape of the inputs.
        """
        for layer in (self.forward_layer, self.backward_layer):
            with name_scope(layer.name):
                if not layer.built:
                    layer.build(input_shape)
                    layer.built = True
        self.built = True

    # ---- calling

    def __call__(self, inputs: Any, initial_state: Any = None, constants: Any = None, **kwargs: Any) -> Any:
        """Runs both layers over sequences.

        Args:
          inputs: A tensor [batch, time, ...], or a list with it, the initial states and the constants.
          initial_state: The states before the first step, those of the forward layer first; None for zeros.
          constants: A list of tensors that the cells get at each step; None for none.
          **kwargs: `mask` and `training`.

        Returns:
          The merged output, or a list with the outputs and the last states.
        """
        inputs, initial_state, constants = separated(inputs, initial_state, constants, self._num_constants)
        if initial_state is None and constants is None:
            return super().__call__(inputs, **kwargs)
        if initial_state is not None and len(initial_state) % 2:
            raise ValueError(
                "`initial_state` of a Bidirectional RNN has the states of both layers, an even number; got "
                f"{len(initial_state)} {at()}"
            )
        further = nest.flatten([initial_state or [], constants or []])
        self._num_constants = len(constants or [])
        from_layers = [is_keras_tensor(one) for one in further]
        if any(from_layers) and not all(from_layers):
            raise ValueError(f"The initial state of a Bidirectional layer cannot mix Keras tensors with others {at()}")
        if not any(from_layers):
            optional = {"initial_state": initial_state, "constants": constants}
            return super().__call__(inputs, **{k: v for k, v in optional.items() if v is not None}, **kwargs)
        own, self.input_spec = self.input_spec, None
        try:
            return super().__call__([inputs, *further], **kwargs)
        finally:
            self.input_spec = own

    def call(  # type: ignore[override]
        self, inputs: Any, training: Any = None, mask: Any = None, initial_state: Any = None, constants: Any = None
    ) -> Any:
        """Runs both layers over sequences; see `__call__`."""
        if isinstance(inputs, list):
            inputs, initial_state, constants = separated(inputs, None, None, self._num_constants)
        names = inspect.signature(self.layer.call).parameters
        given = {
            "training": training,
            "mask": nest.flatten(mask)[0] if mask is not None else None,
            "constants": constants,
        }
        options = {name: value for name, value in given.items() if name in names and value is not None}
        half = len(initial_state or []) // 2
        states = ((initial_state[:half], initial_state[half:])) if initial_state else (None, None)
        found = []
        for layer, own in zip((self.forward_layer, self.backward_layer), states, strict=True):
            found.append(layer(inputs, **options) if own is None else layer(inputs, initial_state=own, **options))
        if not self.return_state:
            return self._merged(*found)
        (first, *forward_states), (second, *backward_states) = found
        merged = self._merged(first, second)
        return [*(merged if isinstance(merged, list) else [merged]), *forward_states, *backward_states]

    def _merged(self, forward: Any, backward: Any) -> Any:
        if self.return_sequences:
            time = 0 if getattr(self.forward_layer, "time_major", False) else 1
            backward = array.reverse(backward, axis=[time])
        if self.merge_mode is None:
            return [forward, backward]
        if self.merge_mode == "concat":
            return array.concat([forward, backward], -1)
        if self.merge_mode == "mul":
            return forward * backward
        total = forward + backward
        return total if self.merge_mode == "sum" else total / 2

    def compute_mask(self, inputs: Any, mask: Any = None) -> Any:
        """The mask of the outputs: that of the inputs, if all steps are returned."""
        flat = nest.flatten(mask)
        one = flat[0] if self.return_sequences and flat else None
        outputs = [one, one] if self.merge_mode is None else [one]
        states = [None for _ in nest.flatten(self.forward_layer.states)] * 2 if self.return_state else []
        every = [*outputs, *states]
        return every[0] if len(every) == 1 else every

    def reset_states(self, states: Any = None) -> None:
        """Sets the states that the next batch begins with.

        Args:
          states: Arrays, those of the forward layer first; None for zeros.

        Example: ``layer.reset_states()``
        """
        if not self.stateful:
            raise AttributeError("Layer must be stateful.")
        if states is not None and not isinstance(states, list | tuple):
            raise ValueError(f"`states` should be a list or tuple, got {type(states).__name__}")
        half = len(states) // 2 if states is not None else 0
        self.forward_layer.reset_states(states[:half] if states is not None else None)
        self.backward_layer.reset_states(states[half:] if states is not None else None)

    # ---- as plain data

    def get_config(self) -> dict[str, Any]:
        """The arguments that make a layer like this one, as plain data."""
        config = {**super().get_config(), "merge_mode": self.merge_mode}
        if self._num_constants:
            config["num_constants"] = self._num_constants
        if self._backward_config is not None:
            config["backward_layer"] = self._backward_config
        return config

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
        constant_count = config.pop("num_constants", 0)
        for name in ("layer", "backward_layer"):
            if name in config:
                config[name] = deserialize(config[name], custom_objects=custom_objects)
        layer = cls(**config)
        layer._num_constants = constant_count
        return layer


def _copy(layer: Any, backward: bool = False) -> Any:
    """A new layer with the arguments of this one."""
    config = layer.get_config()
    if backward:
        config["go_backwards"] = not config["go_backwards"]
    make = type(layer).from_config
    if "custom_objects" not in inspect.signature(make).parameters:
        return make(config)
    cells = all_cells(layer.cell) if hasattr(layer, "cell") else ()
    return make(config, custom_objects={type(cell).__name__: type(cell) for cell in cells})
