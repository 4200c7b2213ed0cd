"""``raw_rnn``: a loop over a cell in which a function of the user chooses each input and decides when to stop."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from headrace.core import dtypes
from headrace.core.shape import TensorShape
from headrace.graph.convert import constant, convert_to_tensor
from headrace.graph.operation import Tensor
from headrace.library import nest
from headrace.library.control.tensor_array import TensorArray
from headrace.library.control.while_loop import while_loop
from headrace.library.numeric import math, reduction
from headrace.library.rnn.base import assert_like_cell, batch_zeros, map_sizes
from headrace.library.rnn.step import choose
from headrace.library.state.variable_scope import variable_scope
from headrace.library.tensor import array, creation


def raw_rnn(
    cell: Any, loop_fn: Callable[..., Any], parallel_iterations: int | None = None, swap_memory: bool = False,
    scope: Any = None,
) -> tuple[Any, Any, Any]:  # fmt: skip
    """Runs a cell with inputs chosen by ``loop_fn``: (a TensorArray of what was emitted, final state, final loop state).

    ``loop_fn(time, cell_output, cell_state, loop_state)`` gives ``(finished, next_input, next_state, emit_output,
    next_loop_state)``.  It is first called with time 0 and None for the output and the states: its ``next_state`` is then
    the initial state, and ``emit_output`` an example (without the batch) of what will be emitted, or None for the cell's
    output.  ``finished`` says for each sequence whether it has ended; its state stays and it emits zeros from then on.

    Args:
      cell: The cell, with which each step is computed.
      loop_fn: The function that gives the input, the state and what is emitted.
      parallel_iterations: How many steps of the loop may be under way together; None for 32.
      swap_memory: True keeps what the gradient needs in the host's memory.
      scope: The variable scope, or its name; None for `rnn`.

    Returns:
      A TensorArray of what was emitted, the final state of the cell, and the last loop state (None if there is none).

    >>> cell = tf.nn.rnn_cell.BasicRNNCell(2)
    >>> def loop_fn(time, output, state, loop_state):
    ...     state = cell.zero_state(1, tf.float32) if output is None else state
    ...     return tf.fill([1], time >= 3), tf.ones([1, 2]), state, output, None
    >>> emitted, state, _ = tf.nn.raw_rnn(cell, loop_fn)
    >>> emitted.stack().shape.as_list()
    [None, 1, 2]
    """
    assert_like_cell(cell)
    if not callable(loop_fn):
        raise TypeError("loop_fn must be a callable")
    with variable_scope(scope or "rnn"):
        time = constant(0, dtype=dtypes.int32)
        finished, inputs, state, example, loop_state = loop_fn(time, None, None, None)
        inputs = nest.map_structure(convert_to_tensor, inputs)
        state = nest.map_structure(lambda s: s if isinstance(s, TensorArray) else convert_to_tensor(s), state)
        has_loop_state = loop_state is not None
        loop_state = loop_state if has_loop_state else constant(0, dtype=dtypes.int32)
        batch_size, static_batch = _batch_size(nest.flatten(inputs))
        emits = _Emits(cell, example, state, batch_size, static_batch)
        finished = convert_to_tensor(finished)

        def step(time: Any, done: Tensor, inputs: Any, arrays: Any, state: Any, loop_state: Any) -> Any:
            output, cell_state = cell(inputs, state)
            nest.assert_same_structure(state, cell_state)
            following = loop_fn(time + 1, output, cell_state, loop_state if has_loop_state else None)
            next_done, next_inputs, next_state, emitted, next_loop_state = following
            nest.assert_same_structure(state, next_state)
            nest.assert_same_structure(inputs, next_inputs)
            emitted = nest.map_structure(lambda e, zero: choose(done, zero, e), emitted, emits.zeros)
            next_state = nest.map_structure(lambda new, old: choose(done, old, new), next_state, state)
            arrays = [ta.write(time, e) for ta, e in zip(arrays, nest.flatten(emitted), strict=True)]
            done = math.logical_or(done, next_done)
            return time + 1, done, next_inputs, arrays, next_state, next_loop_state if has_loop_state else loop_state

        result = while_loop(
            lambda time, done, *_: math.logical_not(reduction.reduce_all(done)),
            step,
            [time, finished, inputs, emits.arrays, state, loop_state],
            parallel_iterations=parallel_iterations or 32,
            swap_memory=swap_memory,
        )
        _, _, _, arrays, final_state, final_loop_state = result
        emitted = nest.pack_sequence_as(emits.zeros, list(arrays))
        return emitted, final_state, final_loop_state if has_loop_state else None


def _batch_size(flat_inputs: list[Any]) -> tuple[Any, int | None]:
    dims = [t.shape.as_list()[0] for t in flat_inputs if t.shape.ndims]
    static_dims = [d for d in dims if d is not None]
    if static_dims:
        return static_dims[0], static_dims[0]
    return array.shape(flat_inputs[0])[0], None


class _Emits:
    """The arrays for what is emitted, and zeros for the sequences that have ended."""

    def __init__(self, cell: Any, example: Any, state: Any, batch_size: Any, static_batch: int | None) -> None:
        if example is None:
            dtype = nest.flatten(state)[0].dtype.base_dtype
            self.zeros = map_sizes(lambda size: batch_zeros(batch_size, size, dtype), cell.output_size)
        else:
            example = nest.map_structure(convert_to_tensor, example)
            self.zeros = nest.map_structure(lambda e: _zeros_like(e, batch_size, static_batch), example)
        self.arrays = [
            TensorArray(
                z.dtype.base_dtype,
                size=0,
                dynamic_size=True,
                element_shape=z.shape,
                tensor_array_name=f"rnn_output_{i}",
            )
            for i, z in enumerate(nest.flatten(self.zeros))
        ]


def _zeros_like(example: Tensor, batch_size: Any, static_batch: int | None) -> Tensor:
    if example.shape.is_fully_defined():
        return batch_zeros(batch_size, TensorShape(example.shape), example.dtype.base_dtype)
    shape = array.concat([array.expand_dims(batch_size, 0), array.shape(example)], 0)
    zeros = creation.zeros(shape, dtype=example.dtype.base_dtype)
    zeros.set_shape(TensorShape([static_batch]).concatenate(example.shape))
    return zeros
