"""Unrolling in the graph: one copy of the cell's ops for each step, so the number of steps is fixed."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from headrace.core.shape import TensorShape
from headrace.library import nest
from headrace.library.control.dependency import identity
from headrace.library.numeric import reduction
from headrace.library.rnn.base import assert_like_cell, batch_zeros, map_sizes
from headrace.library.rnn.base import initial_state as initial_state_of
from headrace.library.rnn.step import conditional_step, lengths_as_tensor
from headrace.library.scope import control_dependencies
from headrace.library.state.variable_scope import variable_scope
from headrace.library.tensor import array


def static_rnn(
    cell: Any, inputs: Any, initial_state: Any = None, dtype: Any = None, sequence_length: Any = None,
    scope: Any = None,
) -> tuple[list[Any], Any]:  # fmt: skip
    """The outputs of each step, as a list, and the final state, for a list of inputs [batch, size].

    With ``sequence_length`` outputs past the end of a sequence are zero and its state stays.

    Args:
      cell: The cell, with which each step is computed.
      inputs: A list with the input [batch, size] of each step, or with nested structures of such tensors.
      initial_state: The state before the first step; None for zeros of type `dtype`.
      dtype: The type of the initial state. It must be given if `initial_state` is None.
      sequence_length: The length of each sequence, an integer vector [batch]; None if all have all the steps.
      scope: The variable scope, or its name; None for `rnn`.

    Returns:
      A list with the output [batch, size] of each step, and the final state.

    >>> cell = tf.nn.rnn_cell.GRUCell(4)
    >>> outputs, state = tf.nn.static_rnn(cell, [tf.zeros([2, 3])] * 5, dtype=tf.float32)
    """
    assert_like_cell(cell)
    if not nest.is_sequence(inputs):
        raise TypeError("inputs must be a sequence")
    if not inputs:
        raise ValueError("inputs must not be empty")
    outputs = []
    with variable_scope(scope or "rnn") as varscope:
        batch_size = _batch_size(nest.flatten(inputs))
        state = initial_state_of(cell, initial_state, batch_size, dtype)
        lengths = None
        if sequence_length is not None:
            lengths = identity(lengths_as_tensor(sequence_length), name="sequence_length")
            element_type = dtype or nest.flatten(state)[0].dtype.base_dtype
            zero_output = map_sizes(lambda size: batch_zeros(batch_size, size, element_type), cell.output_size)
            shortest, longest = reduction.reduce_min(lengths), reduction.reduce_max(lengths)
        for time, input_ in enumerate(inputs):
            if time > 0:
                varscope.reuse_variables()
            if lengths is None:
                output, state = cell(input_, state)
            else:
                output, state = conditional_step(
                    time, lengths, shortest, longest, zero_output, state, _bound(cell, input_, state)
                )
            outputs.append(output)
    return outputs, state


def _bound(cell: Any, inputs: Any, state: Any) -> Any:
    return lambda: cell(inputs, state)


def _batch_size(flat_inputs: list[Any]) -> Any:
    """The first dimension of the inputs, which must all agree: an int if any knows it."""
    batch: Any = None
    for tensor in flat_inputs:
        dims = tensor.shape.as_list() if tensor.shape.ndims is not None else [None]
        if None in dims[1:]:
            raise ValueError(f"Input size (dimension 1 of inputs) must be accessible via shape inference, saw {dims}")
        if dims[0] is not None:
            if batch not in (None, dims[0]):
                raise ValueError("Shape of inputs is not consistent: batch sizes differ")
            batch = dims[0]
    return array.shape(flat_inputs[0])[0] if batch is None else batch


def static_state_saving_rnn(
    cell: Any, inputs: Any, state_saver: Any, state_name: Any, sequence_length: Any = None, scope: Any = None
) -> tuple[list[Any], Any]:
    """``static_rnn`` that starts from ``state_saver.state(name)`` and saves the final state there.

    ``state_name`` is a name, or as many names as the state has parts.

    Args:
      cell: The cell, with which each step is computed.
      inputs: A list with the input [batch, size] of each step.
      state_saver: An object with the methods `state(name)`, which gives a state, and `save_state(name, value)`, which
        gives an op.
      state_name: The name of the state; a tuple of names if the cell's state is a tuple.
      sequence_length: The length of each sequence, an integer vector [batch]; None if all have all the steps.
      scope: The variable scope, or its name; None for `rnn`.

    Returns:
      A list with the output [batch, size] of each step, and the final state. The last output and the final state wait until
      the state is saved.

    >>> class Saver:
    ...     value = tf.zeros([1, 2])
    ...     def state(self, name):
    ...         return self.value
    ...     def save_state(self, name, value):
    ...         return tf.no_op()
    >>> outputs, state = tf.nn.static_state_saving_rnn(
    ...     tf.nn.rnn_cell.GRUCell(2), [tf.ones([1, 3])] * 4, Saver(), "state")
    >>> len(outputs)
    4
    """
    state_is_tuple = nest.is_sequence(cell.state_size)
    if state_is_tuple != nest.is_sequence(state_name):
        raise ValueError(
            f"state_name should be the same type as cell.state_size. state_name: {state_name}, "
            f"cell.state_size: {cell.state_size}"
        )
    names = nest.flatten(state_name) if state_is_tuple else [state_name]
    sizes = nest.flatten(cell.state_size)
    if len(names) != len(sizes):
        raise ValueError(f"#elems(state_name) != #elems(state_size): {len(names)} vs. {len(sizes)}")
    states = [state_saver.state(name) for name in names]
    start = nest.pack_sequence_as(cell.state_size, states) if state_is_tuple else states[0]
    outputs, state = static_rnn(cell, inputs, initial_state=start, sequence_length=sequence_length, scope=scope)
    saved = [state_saver.save_state(name, s) for name, s in zip(names, nest.flatten(state), strict=True)]
    with control_dependencies(saved):
        last = nest.map_structure(identity, outputs[-1])
        outputs = [*outputs[:-1], last]
        state = nest.map_structure(identity, state)
    return outputs, state


def static_bidirectional_rnn(
    cell_fw: Any, cell_bw: Any, inputs: Any, initial_state_fw: Any = None, initial_state_bw: Any = None,
    dtype: Any = None, sequence_length: Any = None, scope: Any = None,
) -> tuple[Any, Any, Any]:  # fmt: skip
    """One cell forward and one backward over a list of inputs: (joined outputs, state forward, state backward).

    Args:
      cell_fw: The cell that goes from the first step to the last.
      cell_bw: The cell that goes from the last step to the first.
      inputs: A list with the input [batch, size] of each step, or with nested structures of such tensors.
      initial_state_fw: The state of `cell_fw` before its first step; None for zeros of type `dtype`.
      initial_state_bw: The state of `cell_bw` before its first step; None for zeros of type `dtype`.
      dtype: The type of the initial states. It must be given if an initial state is None.
      sequence_length: The length of each sequence, an integer vector [batch]; None if all have all the steps.
      scope: The variable scope, or its name; None for `bidirectional_rnn`.

    Returns:
      A list with the outputs of each step, forward and backward joined along the last axis; the final state of `cell_fw`;
      the final state of `cell_bw`.

    >>> cells = [tf.nn.rnn_cell.GRUCell(4) for _ in range(2)]
    >>> outputs, _, _ = tf.nn.static_bidirectional_rnn(*cells, [tf.zeros([2, 3])] * 5, dtype=tf.float32)
    >>> len(outputs), outputs[0].shape.as_list()
    (5, [2, 8])
    """
    assert_like_cell(cell_fw, "cell_fw")
    assert_like_cell(cell_bw, "cell_bw")
    if not nest.is_sequence(inputs):
        raise TypeError("inputs must be a sequence")
    if not inputs:
        raise ValueError("inputs must not be empty")
    with variable_scope(scope or "bidirectional_rnn"):
        with variable_scope("fw") as fw_scope:
            out_fw, state_fw = static_rnn(cell_fw, inputs, initial_state_fw, dtype, sequence_length, scope=fw_scope)
        with variable_scope("bw") as bw_scope:
            reversed_inputs = reverse_steps(inputs, sequence_length)
            out_bw, state_bw = static_rnn(
                cell_bw, reversed_inputs, initial_state_bw, dtype, sequence_length, scope=bw_scope
            )
    out_bw = reverse_steps(out_bw, sequence_length)
    flat_fw, flat_bw = nest.flatten(out_fw), nest.flatten(out_bw)
    joined = tuple(array.concat([fw, bw], 1) for fw, bw in zip(flat_fw, flat_bw, strict=True))
    return nest.pack_sequence_as(out_fw, joined), state_fw, state_bw


def reverse_steps(steps: Sequence[Any], lengths: Any) -> list[Any]:
    """A list of steps backwards: each row's own part, if lengths are given."""
    if lengths is None:
        return list(reversed(steps))
    flat = [nest.flatten(step) for step in steps]
    columns = []
    for column in zip(*flat, strict=True):
        shape = TensorShape(None)
        for tensor in column:
            shape = shape.merge_with(tensor.shape)
        for tensor in column:
            tensor.set_shape(shape)
        joined = array.stack(list(column))
        turned = array.unstack(array.reverse_sequence(joined, lengths_as_tensor(lengths), 0, 1), num=len(steps))
        for tensor in turned:
            tensor.set_shape(shape)
        columns.append(turned)
    return [nest.pack_sequence_as(steps[0], list(row)) for row in zip(*columns, strict=True)]


def stack_bidirectional_rnn(
    cells_fw: Sequence[Any], cells_bw: Sequence[Any], inputs: Any, initial_states_fw: Any = None,
    initial_states_bw: Any = None, dtype: Any = None, sequence_length: Any = None, scope: Any = None,
) -> tuple[Any, tuple[Any, ...], tuple[Any, ...]]:  # fmt: skip
    """Bidirectional layers one on top of the other, unrolled: (outputs, states forward, states backward).

    Args:
      cells_fw: A list with the forward cell of each layer, the lowest first.
      cells_bw: A list with the backward cell of each layer, as many as forward ones.
      inputs: A list with the input [batch, size] of each step.
      initial_states_fw: A list with the initial state of each forward cell; None for zeros of type `dtype`.
      initial_states_bw: A list with the initial state of each backward cell; None for zeros of type `dtype`.
      dtype: The type of the initial states. It must be given if they are None.
      sequence_length: The length of each sequence, an integer vector [batch]; None if all have all the steps.
      scope: The variable scope, or its name; None for `stack_bidirectional_rnn`.

    Returns:
      A list with the outputs of each step of the highest layer, forward and backward joined along the last axis; a tuple
      with the final state of each forward cell; the same for the backward cells.

    >>> fw, bw = [tf.nn.rnn_cell.GRUCell(4)], [tf.nn.rnn_cell.GRUCell(4)]
    >>> outputs, _, _ = tf.contrib.rnn.stack_bidirectional_rnn(fw, bw, [tf.zeros([2, 3])] * 5, dtype=tf.float32)
    >>> len(outputs), outputs[0].shape.as_list()
    (5, [2, 8])
    """
    check_stack(cells_fw, cells_bw, initial_states_fw, initial_states_bw)
    states_fw, states_bw, current = [], [], inputs
    with variable_scope(scope or "stack_bidirectional_rnn"):
        for i, (fw, bw) in enumerate(zip(cells_fw, cells_bw, strict=True)):
            with variable_scope(f"cell_{i}"):
                current, state_fw, state_bw = static_bidirectional_rnn(
                    fw, bw, current, initial_states_fw[i] if initial_states_fw else None,
                    initial_states_bw[i] if initial_states_bw else None, sequence_length=sequence_length, dtype=dtype,
                )  # fmt: skip
            states_fw.append(state_fw)
            states_bw.append(state_bw)
    return current, tuple(states_fw), tuple(states_bw)


def check_stack(cells_fw: Any, cells_bw: Any, states_fw: Any, states_bw: Any) -> None:
    """Raises ValueError unless there are as many cells and states forward as backward."""
    if not isinstance(cells_fw, list) or not isinstance(cells_bw, list) or not cells_fw:
        raise ValueError("cells_fw and cells_bw must be lists of at least one cell")
    if len(cells_fw) != len(cells_bw):
        raise ValueError("Forward and Backward cells must have the same depth.")
    for states, cells, what in ((states_fw, cells_fw, "fw"), (states_bw, cells_bw, "bw")):
        if states is not None and (not isinstance(states, list) or len(states) != len(cells)):
            raise ValueError(f"initial_states_{what} must be a list of state tensors (one per layer).")
