"""Cells one on top of the other, as one cell."""

from __future__ import annotations

import inspect
from collections.abc import Iterator
from typing import Any

from headrace.core.shape import TensorShape, as_shape
from headrace.library import nest
from headrace.library.layers.base_layer import Layer
from headrace.library.layers.recurrent.state import as_list, cell_zero_states, dims, has_several, zero_states
from headrace.library.layers.registry import deserialize, serialize


class StackedRNNCells(Layer):
    """Several recurrent cells as one: each gets the output of the one before.

    Args:
      cells: A list of cells, the one that gets the inputs first.
      **kwargs: What every layer takes, such as ``name``; `reverse_state_order`, whether the states of the last cell come
        first, as they did in old releases.

    >>> cells = tf.keras.layers.StackedRNNCells([tf.keras.layers.LSTMCell(4), tf.keras.layers.GRUCell(3)])
    >>> tf.keras.layers.RNN(cells)(tf.zeros([2, 5, 3])).shape.as_list()
    [2, 3]
    """

    def __init__(self, cells: list[Any], **kwargs: Any) -> None:
        for cell in cells:
            if not hasattr(cell, "call") or not hasattr(cell, "state_size"):
                raise ValueError(f"All cells must have a `call` method and a `state_size`. Received: {cell!r}")
        self.reverse_state_order = kwargs.pop("reverse_state_order", False)
        super().__init__(**kwargs)
        self.cells = list(cells)

    def _in_state_order(self) -> list[Any]:
        return self.cells[::-1] if self.reverse_state_order else self.cells

    @property
    def state_size(self) -> tuple[Any, ...]:
        """The sizes of the states of each cell."""
        return tuple(cell.state_size for cell in self._in_state_order())

    @property
    def output_size(self) -> Any:
        """The size of the output of the last cell."""
        return output_size_of(self.cells[-1])

    def get_initial_state(self, inputs: Any = None, batch_size: Any = None, dtype: Any = None) -> tuple[Any, ...]:
        """The states before the first step.

        Args:
          inputs: A tensor whose batch and type the states get; None where the other arguments are given.
          batch_size: The size of the batch.
          dtype: The type of the states.

        Returns:
          A tuple with the states of each cell.
        """
        made = []
        for cell in self._in_state_order():
            make = getattr(cell, "get_initial_state", None)
            if make is not None:
                made.append(make(inputs=inputs, batch_size=batch_size, dtype=dtype))
            elif inputs is not None:
                made.append(cell_zero_states(cell, inputs, batch_size, dtype))
            else:
                made.append(zero_states(batch_size, cell.state_size, dtype))
        return tuple(made)

    def build(self, input_shape: Any) -> None:
        shape = as_shape(input_shape[0] if isinstance(input_shape, list) else input_shape)
        for cell in self.cells:
            if isinstance(cell, Layer) and not cell.built:
                cell.build(shape)
                cell.built = True
            shape = TensorShape([shape.as_list()[0], *dims(nest.flatten(output_size_of(cell))[0])])
        self.built = True

    def call(  # type: ignore[override]
        self, inputs: Any, states: Any, constants: Any = None, **kwargs: Any
    ) -> tuple[Any, list[Any]]:
        """One step of all cells.

        Args:
          inputs: The inputs of the step.
          states: The states of each cell.
          constants: Tensors that cells with an argument of that name get.
          **kwargs: `training`, for cells that take it.

        Returns:
          The output of the last cell, and the new states of each cell.
        """
        sizes = self.state_size
        nested = nest.pack_sequence_as(sizes, nest.flatten(states))
        by_cell = nested[::-1] if self.reverse_state_order else nested
        new_states = []
        for cell, own in zip(self.cells, by_cell, strict=True):
            own = list(own) if has_several(own) else [own]
            names = inspect.signature(cell.call).parameters
            options = {name: value for name, value in kwargs.items() if name in names}
            if "constants" in names and constants is not None:
                options["constants"] = constants
            inputs, new = (cell if callable(cell) else cell.call)(inputs, own, **options)
            new = list(new) if nest.is_sequence(new) else [new]
            new_states.append(nest.pack_sequence_as(cell.state_size, nest.flatten(new)))
        ordered = new_states[::-1] if self.reverse_state_order else new_states
        return inputs, nest.pack_sequence_as(sizes, nest.flatten(ordered))

    def get_config(self) -> dict[str, Any]:
        """The arguments that make a layer like this one, as plain data."""
        config = {**super().get_config(), "cells": [serialize(cell) for cell in self.cells]}
        return {**config, "reverse_state_order": True} if self.reverse_state_order else config

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
        cells = [deserialize(one, custom_objects=custom_objects) for one in config.pop("cells")]
        return cls(cells, **config)


def output_size_of(cell: Any) -> Any:
    """The size of a cell's output: its first state's, if it does not say another."""
    size = getattr(cell, "output_size", None)
    return as_list(cell.state_size)[0] if size is None else size


def all_cells(cell: Any) -> Iterator[Any]:
    """A cell, and the cells that it is made of."""
    yield cell
    for one in getattr(cell, "cells", ()):
        yield from all_cells(one)
