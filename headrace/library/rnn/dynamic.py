"""Unrolling in a loop: ``dynamic_rnn`` and ``bidirectional_dynamic_rnn`` run the cell once for each step of the longest
sequence, however long that is; the graph holds the cell once.  ``raw_rnn``, where a function says what comes next, is in
``raw``.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from headrace.core import dtypes
from headrace.core.shape import TensorShape
from headrace.graph.convert import constant, convert_to_tensor
from headrace.graph.operation import Tensor
from headrace.library import nest
from headrace.library.control.assertion import Assert
from headrace.library.control.dependency import identity
from headrace.library.control.tensor_array import TensorArray
from headrace.library.control.while_loop import while_loop
from headrace.library.numeric import math, reduction
from headrace.library.rnn.base import (
    as_dims,
    assert_like_cell,
    batch_zeros,
    flat_sizes,
    map_sizes,
)
from headrace.library.rnn.base import (
    initial_state as initial_state_of,
)
from headrace.library.rnn.static import check_stack
from headrace.library.rnn.step import (
    best_effort_input_batch_size,
    copy_some_through,
    lengths_as_tensor,
    transpose_batch_time,
)  # fmt: skip
from headrace.library.scope import control_dependencies, name_scope
from headrace.library.state.variable_scope import variable_scope
from headrace.library.tensor import array, creation


def dynamic_rnn(
    cell: Any, inputs: Any, sequence_length: Any = None, initial_state: Any = None, dtype: Any = None,
    parallel_iterations: int | None = None, swap_memory: bool = False, time_major: bool = False, scope: Any = None,
) -> tuple[Any, Any]:  # fmt: skip
    """The outputs [batch, time, size] and the final state of a cell run over inputs [batch, time, ...].

    With ``time_major`` inputs and outputs are [time, batch, ...].  With ``sequence_length`` outputs past the end of a
    sequence are zero and the final state is the one at its end.

    Args:
      cell: The cell, with which each step is computed.
      inputs: A tensor [batch, time, ...], or a nested structure of such tensors.
      sequence_length: The length of each sequence, an integer vector [batch]; None if all have all the steps.
      initial_state: The state before the first step; None for zeros of type `dtype`.
      dtype: The type of the initial state and of the outputs. It must be given if `initial_state` is None.
      parallel_iterations: How many steps of the loop may be under way together; None for 32.
      swap_memory: True keeps what the gradient needs in the host's memory.
      time_major: True if inputs and outputs are [time, batch, ...].
      scope: The variable scope, or its name; None for `rnn`.

    Returns:
      The outputs [batch, time, size], nested like the cell's `output_size`, and the final state, nested like its
      `state_size`.

    >>> cell = tf.nn.rnn_cell.BasicLSTMCell(4)
    >>> outputs, state = tf.nn.dynamic_rnn(cell, tf.zeros([2, 5, 3]), dtype=tf.float32)
    """
    assert_like_cell(cell)
    with variable_scope(scope or "rnn"):
        inputs = nest.map_structure(convert_to_tensor, inputs)
        if not time_major:
            inputs = nest.map_structure(transpose_batch_time, inputs)
        flat_inputs = nest.flatten(inputs)
        lengths = None
        if sequence_length is not None:
            lengths = identity(lengths_as_tensor(sequence_length), name="sequence_length")
        batch_size = best_effort_input_batch_size(flat_inputs)
        state = initial_state_of(cell, initial_state, batch_size, dtype)
        if lengths is not None and (lengths.shape.ndims is None or lengths.shape.as_list() != [batch_size]):
            lengths = _checked_lengths(lengths, batch_size)
        loop = _Loop(cell, inputs, lengths, batch_size, dtype)
        outputs, final_state = loop.build(state, parallel_iterations or 32, swap_memory)
        if not time_major:
            outputs = nest.map_structure(transpose_batch_time, outputs)
    return outputs, final_state


def _checked_lengths(lengths: Tensor, batch_size: Any) -> Tensor:
    """The lengths, checked at run time to be one for each sequence of the batch."""
    shape, expected = array.shape(lengths), array.stack([batch_size])
    message = f"Expected shape for Tensor {lengths.name} is "
    agree = reduction.reduce_all(math.equal(shape, expected))
    with control_dependencies([Assert(agree, [message, expected, " but saw shape: ", shape])]):
        return identity(lengths, name="CheckSeqLen")


class _Loop:
    """The loop of a ``dynamic_rnn`` over time-major inputs, while it is built."""

    def __init__(self, cell: Any, inputs: Any, lengths: Tensor | None, batch_size: Any, dtype: Any) -> None:
        self.cell = cell
        self.inputs = inputs
        self.flat_inputs = nest.flatten(inputs)
        self.lengths = lengths
        self.batch_size = batch_size
        self.dtype = dtype
        self.sizes = flat_sizes(cell.output_size)
        self.static_steps, self.static_batch = self._known_sizes()
        self.steps = array.shape(self.flat_inputs[0])[0]

    def _known_sizes(self) -> tuple[int | None, int | None]:
        steps: int | None = None
        batch: int | None = None
        for tensor in self.flat_inputs:
            if tensor.shape.ndims is None or tensor.shape.ndims < 2:
                raise ValueError(f"inputs of dynamic_rnn must have rank 2 or more, saw {tensor.name}: {tensor.shape}")
            dims = tensor.shape.as_list()
            if None in dims[2:]:
                raise ValueError(
                    f"Input size (depth of inputs) must be accessible via shape inference, but saw value {dims[2:]}."
                )
            for size, dim, what in ((steps, dims[0], "Time steps"), (batch, dims[1], "Batch_size")):
                if size is not None and dim is not None and size != dim:
                    raise ValueError(f"{what} is not the same for all the elements in the input in a batch.")
            steps = dims[0] if steps is None else steps
            batch = dims[1] if batch is None else batch
        return steps, batch

    def build(self, state: Any, parallel_iterations: int, swap_memory: bool) -> tuple[Any, Any]:
        zeros: list[Any] = []
        bound = self.steps
        if self.lengths is not None:
            out_dtypes = self._output_types(state)
            zeros = [
                batch_zeros(self.batch_size, s, element_type)
                for s, element_type in zip(self.sizes, out_dtypes, strict=True)
            ]
            longest = math.cast(reduction.reduce_max(self.lengths), dtypes.int32)
            bound = math.minimum(self.steps, math.maximum(1, longest))
        time = constant(0, dtype=dtypes.int32, name="time")
        with name_scope("dynamic_rnn") as base_name:
            pass
        arrays = [
            self._array(element_type, [self.static_batch, *as_dims(size)], f"{base_name}output_{i}")
            for i, (size, element_type) in enumerate(zip(self.sizes, self._output_types(state), strict=True))
        ]
        sources = [
            self._array(t.dtype.base_dtype, t.shape[1:], f"{base_name}input_{i}").unstack(t)
            for i, t in enumerate(self.flat_inputs)
        ]

        finished = None if self.lengths is None else self._finished(self.lengths)

        def step(time: Tensor, written: tuple[Any, ...], state: Any) -> Any:
            return self._step(time, written, state, sources, finished, zeros)

        _, written, final_state = while_loop(
            lambda time, *_: time < bound,
            step,
            (time, tuple(arrays), state),
            parallel_iterations=parallel_iterations,
            maximum_iterations=self.steps,
            swap_memory=swap_memory,
        )
        outputs = [ta.stack() for ta in written]
        for output, size in zip(outputs, self.sizes, strict=True):
            output.set_shape([self.static_steps, self.static_batch, *as_dims(size)])
        return _packed_like(self.cell.output_size, outputs), final_state

    def _output_types(self, state: Any) -> list[Any]:
        if self.dtype is not None:
            flat = nest.flatten(self.dtype)
            return flat * len(self.sizes) if len(flat) == 1 else flat
        return [_state_type(state)] * len(self.sizes)

    def _array(self, dtype: Any, shape: Any, name: str) -> TensorArray:
        size = self.static_steps if self.static_steps is not None else self.steps
        return TensorArray(dtype, size=size, element_shape=TensorShape(shape), tensor_array_name=name)

    def _finished(self, lengths: Tensor) -> TensorArray:
        """For each step which sequences [batch, 1] have ended: all steps are compared together, not one by one in the loop."""
        steps = array.reshape(creation.range(self.steps), [-1, 1, 1])
        ended = math.cast(steps, lengths.dtype.base_dtype) >= array.reshape(lengths, [1, -1, 1])
        ended.set_shape([self.static_steps, self.static_batch, 1])
        return self._array(dtypes.bool, [self.static_batch, 1], "finished").unstack(ended)

    def _step(
        self, time: Tensor, written: Sequence[Any], state: Any, sources: list[TensorArray],
        finished: TensorArray | None, zeros: list[Any],
    ) -> Any:  # fmt: skip
        values = [source.read(time) for source in sources]
        for value, tensor in zip(values, self.flat_inputs, strict=True):
            value.set_shape(tensor.shape[1:])
        output, new_state = self.cell(nest.pack_sequence_as(self.inputs, values), state)
        nest.assert_same_structure(state, new_state)
        outputs = nest.flatten(output)
        if len(outputs) != len(self.sizes):
            raise ValueError(f"the cell's output {output!r} does not match its output_size {self.cell.output_size!r}")
        if finished is not None:
            flat = copy_some_through(finished.read(time), zeros, nest.flatten(state), outputs, nest.flatten(new_state))
            outputs = flat[: len(outputs)]
            new_state = nest.pack_sequence_as(new_state, flat[len(outputs) :])
        arrays = tuple(ta.write(time, out) for ta, out in zip(written, outputs, strict=True))
        return time + 1, arrays, nest.pack_sequence_as(state, nest.flatten(new_state))


def _state_type(state: Any) -> Any:
    """The type that all tensors of a state have."""
    element_types = {t.dtype.base_dtype for t in nest.flatten(state) if t.dtype.base_dtype.is_floating}
    if len(element_types) != 1:
        raise ValueError(
            "State has tensors of different inferred_dtypes. Unable to infer a single representative dtype."
        )
    return element_types.pop()


def _packed_like(sizes: Any, leaves: list[Any]) -> Any:
    rest = iter(leaves)
    return map_sizes(lambda _: next(rest), sizes)


def bidirectional_dynamic_rnn(
    cell_fw: Any, cell_bw: Any, inputs: Any, sequence_length: Any = None, initial_state_fw: Any = None,
    initial_state_bw: Any = None, dtype: Any = None, parallel_iterations: int | None = None,
    swap_memory: bool = False, time_major: bool = False, scope: Any = None,
) -> tuple[tuple[Any, Any], tuple[Any, Any]]:  # fmt: skip
    """One cell forward and one backward: ((outputs forward, outputs backward), (state forward, state backward)).

    The backward outputs are in the order of the inputs: both outputs at a position have seen the input there.

    Args:
      cell_fw: The cell that goes from the first step to the last.
      cell_bw: The cell that goes from the last step to the first.
      inputs: A tensor [batch, time, ...], or a nested structure of such tensors.
      sequence_length: The length of each sequence, an integer vector [batch]; None if all have all the steps.
      initial_state_fw: The state of `cell_fw` before its first step; None for zeros of type `dtype`.
      initial_state_bw: The state of `cell_bw` before its first step; None for zeros of type `dtype`.
      dtype: The type of the initial states and of the outputs. It must be given if an initial state is None.
      parallel_iterations: How many steps of a loop may be under way together; None for 32.
      swap_memory: True keeps what the gradient needs in the host's memory.
      time_major: True if inputs and outputs are [time, batch, ...].
      scope: The variable scope, or its name; None for `bidirectional_rnn`.

    Returns:
      Two pairs: the outputs [batch, time, size] of both cells, and their final states.

    >>> cells = [tf.nn.rnn_cell.GRUCell(4) for _ in range(2)]
    >>> outputs, states = tf.nn.bidirectional_dynamic_rnn(*cells, tf.zeros([2, 5, 3]), dtype=tf.float32)
    >>> tf.concat(outputs, 2).shape.as_list()
    [2, 5, 8]
    """
    assert_like_cell(cell_fw, "cell_fw")
    assert_like_cell(cell_bw, "cell_bw")
    options: dict[str, Any] = {
        "sequence_length": sequence_length, "dtype": dtype, "parallel_iterations": parallel_iterations,
        "swap_memory": swap_memory, "time_major": time_major,
    }  # fmt: skip

    def backwards(value: Any) -> Any:
        time, batch = (0, 1) if time_major else (1, 0)
        if sequence_length is None:
            return array.reverse(value, axis=[time])
        return array.reverse_sequence(value, lengths_as_tensor(sequence_length), seq_axis=time, batch_axis=batch)

    with variable_scope(scope or "bidirectional_rnn"):
        with variable_scope("fw") as fw_scope:
            out_fw, state_fw = dynamic_rnn(cell_fw, inputs, initial_state=initial_state_fw, scope=fw_scope, **options)
        with variable_scope("bw") as bw_scope:
            turned = nest.map_structure(backwards, nest.map_structure(convert_to_tensor, inputs))
            out_bw, state_bw = dynamic_rnn(cell_bw, turned, initial_state=initial_state_bw, scope=bw_scope, **options)
    return (out_fw, nest.map_structure(backwards, out_bw)), (state_fw, state_bw)


def stack_bidirectional_dynamic_rnn(
    cells_fw: Sequence[Any], cells_bw: Sequence[Any], inputs: Any, initial_states_fw: Any = None,
    initial_states_bw: Any = None, dtype: Any = None, sequence_length: Any = None,
    parallel_iterations: int | None = None, time_major: bool = False, scope: Any = None, swap_memory: bool = False,
) -> tuple[Any, tuple[Any, ...], tuple[Any, ...]]:  # fmt: skip
    """Bidirectional layers one on top of the other: (joined outputs, states forward, states backward).

    Args:
      cells_fw: A list with the forward cell of each layer, the lowest first.
      cells_bw: A list with the backward cell of each layer, as many as forward ones.
      inputs: A tensor [batch, time, ...].
      initial_states_fw: A list with the initial state of each forward cell; None for zeros of type `dtype`.
      initial_states_bw: A list with the initial state of each backward cell; None for zeros of type `dtype`.
      dtype: The type of the initial states. It must be given if they are None.
      sequence_length: The length of each sequence, an integer vector [batch]; None if all have all the steps.
      parallel_iterations: How many steps of a loop may be under way together; None for 32.
      time_major: True if inputs and outputs are [time, batch, ...].
      scope: The variable scope, or its name; None for `stack_bidirectional_rnn`.
      swap_memory: True keeps what the gradient needs in the host's memory.

    Returns:
      The outputs of the highest layer, forward and backward joined along the last axis; a tuple with the final state of
      each forward cell; the same for the backward cells.

    >>> fw, bw = [tf.nn.rnn_cell.GRUCell(4)], [tf.nn.rnn_cell.GRUCell(4)]
    >>> outputs, _, _ = tf.contrib.rnn.stack_bidirectional_dynamic_rnn(fw, bw, tf.zeros([2, 5, 3]), dtype=tf.float32)
    >>> outputs.shape.as_list()
    [2, 5, 8]
    """
    check_stack(cells_fw, cells_bw, initial_states_fw, initial_states_bw)
    states_fw, states_bw, current = [], [], inputs
    with variable_scope(scope or "stack_bidirectional_rnn"):
        for i, (fw, bw) in enumerate(zip(cells_fw, cells_bw, strict=True)):
            with variable_scope(f"cell_{i}"):
                outputs, (state_fw, state_bw) = bidirectional_dynamic_rnn(
                    fw, bw, current, initial_state_fw=initial_states_fw[i] if initial_states_fw else None,
                    initial_state_bw=initial_states_bw[i] if initial_states_bw else None,
                    sequence_length=sequence_length, parallel_iterations=parallel_iterations, dtype=dtype,
                    swap_memory=swap_memory, time_major=time_major,
                )  # fmt: skip
                current = array.concat(outputs, 2)
            states_fw.append(state_fw)
            states_bw.append(state_bw)
    return current, tuple(states_fw), tuple(states_bw)
