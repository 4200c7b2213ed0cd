"""Cells made of cells: MultiRNNCell, DropoutWrapper, ResidualWrapper, DeviceWrapper.

A wrapper has no scope of its own: the variables of a wrapped cell are named as if it were used directly.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from typing import Any

from headrace.graph.convert import convert_to_tensor
from headrace.graph.infer import constant_value
from headrace.library import nest
from headrace.library.control.dependency import identity
from headrace.library.control.tensor_array import TensorArray
from headrace.library.network.dropout import dropout
from headrace.library.numeric import division, math
from headrace.library.numeric.random import random_uniform
from headrace.library.rnn.base import RNNCell, as_dims, assert_like_cell, flat_sizes
from headrace.library.rnn.cell import LSTMStateTuple
from headrace.library.scope import device, name_scope
from headrace.library.state.variable_scope import variable_scope
from headrace.library.tensor import array
from headrace.library.tensor.slicing import slice as slice_


class MultiRNNCell(RNNCell):
    """Cells one on top of the other: the output of each is the input of the next.

    Args:
      cells: A list of cells, the lowest first.
      state_is_tuple: True for a tuple with the state of each cell; False for all joined along the last axis.

    >>> cell = tf.nn.rnn_cell.MultiRNNCell([tf.nn.rnn_cell.BasicLSTMCell(4) for _ in range(2)])
    >>> output, states = cell(tf.zeros([2, 3]), cell.zero_state(2, tf.float32))
    """

    def __init__(self, cells: Any, state_is_tuple: bool = True) -> None:
        super().__init__()
        if not cells:
            raise ValueError("Must specify at least one cell for MultiRNNCell.")
        if not nest.is_sequence(cells):
            raise TypeError(f"cells must be a list or tuple, but saw: {cells}.")
        for cell in cells:
            assert_like_cell(cell, "cell in MultiRNNCell.cells")
        self._cells = cells
        self._state_is_tuple = state_is_tuple
        if not state_is_tuple and any(nest.is_sequence(c.state_size) for c in cells):
            sizes = str([c.state_size for c in cells])
            raise ValueError(f"Some cells return tuples of states, but the flag state_is_tuple is not set: {sizes}")

    @property
    def cells(self) -> Any:
        """The cells, the lowest first."""
        return self._cells

    @property
    def state_size(self) -> Any:
        sizes = tuple(cell.state_size for cell in self._cells)
        return sizes if self._state_is_tuple else sum(sizes)

    @property
    def output_size(self) -> Any:
        return self._cells[-1].output_size

    def zero_state(self, batch_size: Any, dtype: Any) -> Any:
        with name_scope(type(self).__name__ + "ZeroState", values=[batch_size]):
            if self._state_is_tuple:
                return tuple(cell.zero_state(batch_size, dtype) for cell in self._cells)
            return super().zero_state(batch_size, dtype)

    @property
    def trainable_weights(self) -> list[Any]:
        """The variables of all cells that training changes."""
        if not self.trainable:
            return []
        return [w for cell in self._cells for w in getattr(cell, "trainable_weights", [])]

    @property
    def non_trainable_weights(self) -> list[Any]:
        """The variables of all cells that training leaves alone."""
        weights = [w for cell in self._cells for w in getattr(cell, "non_trainable_weights", [])]
        if self.trainable:
            return weights
        return [w for cell in self._cells for w in getattr(cell, "trainable_weights", [])] + weights

    def call(self, inputs: Any, state: Any) -> Any:  # type: ignore[override]
        position, states, current = 0, [], inputs
        for i, cell in enumerate(self._cells):
            with variable_scope(f"cell_{i}"):
                if self._state_is_tuple:
                    if not nest.is_sequence(state):
                        raise ValueError(
                            f"Expected state to be a tuple of length {len(self.state_size)}, but received: {state}"
                        )
                    its_state = state[i]
                else:
                    its_state = slice_(state, [0, position], [-1, cell.state_size])
                    position += cell.state_size
                current, new_state = cell(current, its_state)
                states.append(new_state)
        return current, tuple(states) if self._state_is_tuple else array.concat(states, 1)


class RNNCellWrapper(RNNCell):
    """Base of wrappers of one cell; a subclass overrides ``_call_wrapped_cell``."""

    def __init__(self, cell: Any, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        assert_like_cell(cell)
        self.cell = cell

    def __call__(self, inputs: Any, state: Any, scope: Any = None) -> Any:
        return self._call_wrapped_cell(inputs, state, self.cell, scope=scope)

    def call(self, inputs: Any, state: Any, **kwargs: Any) -> Any:  # type: ignore[override]
        return self._call_wrapped_cell(inputs, state, self.cell.call, **kwargs)

    def _call_wrapped_cell(self, inputs: Any, state: Any, cell_call_fn: Callable[..., Any], **kwargs: Any) -> Any:
        raise NotImplementedError

    @property
    def wrapped_cell(self) -> Any:
        """The cell inside."""
        return self.cell

    @property
    def state_size(self) -> Any:
        return self.cell.state_size

    @property
    def output_size(self) -> Any:
        return self.cell.output_size

    def zero_state(self, batch_size: Any, dtype: Any) -> Any:
        with name_scope(type(self).__name__ + "ZeroState", values=[batch_size]):
            return self.cell.zero_state(batch_size, dtype)

    @property
    def trainable_weights(self) -> list[Any]:
        """The variables of the cell that training changes."""
        return self.cell.trainable_weights if self.trainable else []

    @property
    def non_trainable_weights(self) -> list[Any]:
        """The variables of the cell that training leaves alone."""
        return self.cell.non_trainable_weights if self.trainable else self.cell.weights


def _drops_nothing_remembered(substate: Any) -> Any:
    """The default choice of what to drop from a state: all of it but an LSTM's ``c`` and tensor arrays."""
    if isinstance(substate, LSTMStateTuple):
        return LSTMStateTuple(c=False, h=True)
    return not isinstance(substate, TensorArray)


class DropoutWrapper(RNNCellWrapper):
    """Dropout on the inputs, the outputs and the states of a cell.

    With ``variational_recurrent`` the same elements are dropped at every step (Gal and Ghahramani, 2015); that needs
    ``dtype`` and, if inputs are dropped, ``input_size``.

    Args:
      cell: The cell whose inputs, outputs and states are dropped.
      input_keep_prob: The probability to keep an element of the inputs, a number or a scalar tensor; 1.0 drops none.
      output_keep_prob: The probability to keep an element of the outputs; 1.0 drops none.
      state_keep_prob: The probability to keep an element of the new state; 1.0 drops none. By default `c` of an LSTM is kept.
      variational_recurrent: True drops the same elements at every step.
      input_size: The sizes of the inputs, without the batch, for `variational_recurrent`.
      dtype: The type of inputs, states and outputs, for `variational_recurrent`.
      seed: The seed of the dropout.
      dropout_state_filter_visitor: A function of a part of the state that says whether it may be dropped: a bool, or a
        structure of bools; None for all but `c` of an LSTM and TensorArrays.
      **kwargs: Further arguments of `tf.layers.Layer`.

    >>> cell = tf.nn.rnn_cell.DropoutWrapper(tf.nn.rnn_cell.GRUCell(4), output_keep_prob=0.5)
    >>> output, state = cell(tf.zeros([2, 3]), cell.zero_state(2, tf.float32))
    """

    def __init__(
        self, cell: Any, input_keep_prob: Any = 1.0, output_keep_prob: Any = 1.0, state_keep_prob: Any = 1.0,
        variational_recurrent: bool = False, input_size: Any = None, dtype: Any = None, seed: int | None = None,
        dropout_state_filter_visitor: Any = None, **kwargs: Any,
    ) -> None:  # fmt: skip
        super().__init__(cell, dtype=dtype, **kwargs)
        if dropout_state_filter_visitor is not None and not callable(dropout_state_filter_visitor):
            raise TypeError("dropout_state_filter_visitor must be callable")
        self._visitor = dropout_state_filter_visitor or _drops_nothing_remembered
        with name_scope("DropoutWrapperInit"):
            self._input_keep = _probability("input_keep_prob", input_keep_prob)
            self._state_keep = _probability("state_keep_prob", state_keep_prob)
            self._output_keep = _probability("output_keep_prob", output_keep_prob)
        self._variational_recurrent = variational_recurrent
        self._seed = seed
        self._noise: dict[str, list[Any]] = {}
        if variational_recurrent:
            self._make_noise(input_size, dtype)

    def _make_noise(self, input_size: Any, dtype: Any) -> None:
        if dtype is None:
            raise ValueError("When variational_recurrent=True, dtype must be provided")

        def noise(size: Any, which: str, index: int) -> Any:
            return random_uniform([1, *as_dims(size)], seed=self._gen_seed(which, index), dtype=dtype)

        if _drops(self._input_keep):
            if input_size is None:
                raise ValueError(
                    "When variational_recurrent=True and input_keep_prob < 1.0 or is unknown, input_size must be provided"
                )
            self._noise["input"] = [noise(s, "input", i) for i, s in enumerate(flat_sizes(input_size))]
        sizes = flat_sizes(self.cell.state_size)
        self._noise["state"] = [noise(s, "state", i) for i, s in enumerate(sizes)]
        self._noise["output"] = [noise(s, "output", i) for i, s in enumerate(flat_sizes(self.cell.output_size))]

    def _gen_seed(self, which: str, index: int) -> int | None:
        """Another seed for each use, from the given one."""
        if self._seed is None:
            return None
        digest = hashlib.md5(f"{self._seed}{which}_{index}".encode(), usedforsecurity=False).hexdigest()
        return int(digest[:8], 16) & 0x7FFFFFFF

    def _call_wrapped_cell(self, inputs: Any, state: Any, cell_call_fn: Callable[..., Any], **kwargs: Any) -> Any:
        if _drops(self._input_keep):
            inputs = self._dropped("input", inputs, self._input_keep)
        output, new_state = cell_call_fn(inputs, state, **kwargs)
        if _drops(self._state_keep):
            chosen = nest.get_traverse_shallow_structure(self._visitor, new_state)
            new_state = self._dropped("state", new_state, self._state_keep, chosen)
        if _drops(self._output_keep):
            output = self._dropped("output", output, self._output_keep)
        return output, new_state

    def _dropped(self, which: str, values: Any, keep_prob: Any, chosen: Any = None) -> Any:
        """``values`` after dropout, except the parts for which ``chosen`` (a structure, perhaps shallower) says False."""
        chosen = nest.map_structure(lambda _: True, values) if chosen is None else chosen
        index = iter(range(len(nest.flatten(values))))

        def drop(do: Any, value: Any) -> Any:
            i = next(index)
            if not do:
                return value
            if self._variational_recurrent:
                return self._dropped_alike(value, self._noise[which][i], keep_prob)
            return dropout(value, keep_prob=keep_prob, seed=self._gen_seed(which, i))

        return nest.map_structure_up_to(chosen, drop, chosen, values)

    def _dropped_alike(self, value: Any, noise: Any, keep_prob: Any) -> Any:
        scaled = division.div(value, keep_prob) * math.floor(keep_prob + noise)
        scaled.set_shape(value.shape)
        return scaled


def _probability(name: str, value: Any) -> Any:
    """The float where it is known, else the tensor."""
    tensor = convert_to_tensor(value)
    static_value = constant_value(tensor)
    if static_value is None:
        return tensor
    if static_value < 0 or static_value > 1:
        raise ValueError(f"Parameter {name} must be between 0 and 1, but is: {float(static_value):.6g}")
    return float(static_value)


def _drops(probability: Any) -> bool:
    return not isinstance(probability, float) or probability < 1.0


class ResidualWrapper(RNNCellWrapper):
    """Adds the inputs to the outputs of a cell, or combines them with ``residual_fn(inputs, outputs)``.

    Args:
      cell: The cell whose outputs the inputs are added to.
      residual_fn: A function of the inputs and the outputs that gives the new outputs; None adds them, which must have the
        same shape then.
      **kwargs: Further arguments of `tf.layers.Layer`.

    >>> cell = tf.nn.rnn_cell.ResidualWrapper(tf.nn.rnn_cell.GRUCell(3))
    >>> output, state = cell(tf.zeros([2, 3]), cell.zero_state(2, tf.float32))
    """

    def __init__(self, cell: Any, residual_fn: Callable[[Any, Any], Any] | None = None, **kwargs: Any) -> None:
        super().__init__(cell, **kwargs)
        self._residual_fn = residual_fn

    def _call_wrapped_cell(self, inputs: Any, state: Any, cell_call_fn: Callable[..., Any], **kwargs: Any) -> Any:
        outputs, new_state = cell_call_fn(inputs, state, **kwargs)
        if self._residual_fn is not None:
            return self._residual_fn(inputs, outputs), new_state
        nest.assert_same_structure(inputs, outputs)
        nest.map_structure(lambda i, o: i.shape.assert_is_compatible_with(o.shape), inputs, outputs)
        inputs = nest.map_structure(identity, inputs)
        outputs = nest.map_structure(identity, outputs)
        return nest.map_structure(lambda i, o: i + o, inputs, outputs), new_state


class DeviceWrapper(RNNCellWrapper):
    """Runs a cell on a device.

    Args:
      cell: The cell to run.
      device: A device as in `tf.device`: a name such as `/gpu:0`, or a function of an operation that gives a name.
      **kwargs: Further arguments of `tf.layers.Layer`.

    >>> cell = tf.nn.rnn_cell.DeviceWrapper(tf.nn.rnn_cell.GRUCell(4), "/cpu:0")
    >>> output, state = cell(tf.zeros([2, 3]), cell.zero_state(2, tf.float32))
    """

    def __init__(self, cell: Any, device: Any, **kwargs: Any) -> None:
        super().__init__(cell, **kwargs)
        self._device = device

    def zero_state(self, batch_size: Any, dtype: Any) -> Any:
        with name_scope(type(self).__name__ + "ZeroState", values=[batch_size]), device(self._device):
            return self.cell.zero_state(batch_size, dtype)

    def _call_wrapped_cell(self, inputs: Any, state: Any, cell_call_fn: Callable[..., Any], **kwargs: Any) -> Any:
        with device(self._device):
            return cell_call_fn(inputs, state, **kwargs)


class CompiledWrapper(RNNCellWrapper):
    """The cell as it is: steps on accelerators are compiled without being asked.

    Args:
      cell: The cell.
      compile_stateful: Accepted for TensorFlow's sake; it changes nothing.

    >>> cell = tf.contrib.rnn.CompiledWrapper(tf.nn.rnn_cell.GRUCell(4))
    >>> output, state = cell(tf.zeros([2, 3]), cell.zero_state(2, tf.float32))
    """

    def __init__(self, cell: Any, compile_stateful: bool = False) -> None:
        super().__init__(cell)

    def _call_wrapped_cell(self, inputs: Any, state: Any, cell_call_fn: Callable[..., Any], **kwargs: Any) -> Any:
        return cell_call_fn(inputs, state, **kwargs)
