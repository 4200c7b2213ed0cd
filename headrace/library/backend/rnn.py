"""A function run over the steps of sequences, in a loop or one after the other: `tf.keras.backend.rnn`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from headrace.core import dtypes
from headrace.core.shape import TensorShape
from headrace.core.source import at
from headrace.graph import context, raw_ops
from headrace.graph.convert import constant, convert_to_tensor
from headrace.graph.operation import Tensor
from headrace.library import nest
from headrace.library.control.tensor_array import TensorArray
from headrace.library.control.while_loop import while_loop
from headrace.library.numeric import math
from headrace.library.tensor import array, creation

Step = Callable[[Any, Any], tuple[Any, Any]]


def rnn(
    step_function: Step, inputs: Any, initial_states: Any, go_backwards: bool = False, mask: Any = None,
    constants: Any = None, unroll: bool = False, input_length: Any = None, time_major: bool = False,
    zero_output_for_mask: bool = False,
) -> tuple[Any, Any, Any]:  # fmt: skip
    """Calls a function for each step of sequences, with the states that it gave for the step before.

    Args:
      step_function: A function of the inputs of a step, [batch, ...], and a list of states followed by the `constants`,
        that returns an output and a list of new states.
      inputs: A tensor [batch, time, ...], or a structure of such tensors.
      initial_states: A list of the states before the first step.
      go_backwards: Whether the last step comes first; the outputs are in the order of the steps then.
      mask: A tensor [batch, time]: where it is false, the states stay, and the output is the one before.
      constants: A list of what `step_function` gets at each step.
      unroll: Whether the graph holds each step, in place of a loop.
      input_length: The number of steps, or the lengths of the sequences, an integer tensor [batch], in place of a mask.
      time_major: Whether inputs and outputs are [time, batch, ...].
      zero_output_for_mask: Whether outputs are zero where the mask is false.

    Returns:
      The output of the last step, the outputs [batch, time, ...], and a list of the last states.

    >>> x = tf.constant([[[1.0], [2.0], [3.0]]])
    >>> add = lambda x, states: (x + states[0], [x + states[0]])
    >>> last, outputs, states = tf.keras.backend.rnn(add, x, [tf.zeros([1, 1])])
    >>> tf.Session().run(outputs).tolist()
    [[[1.0], [3.0], [6.0]]]
    """
    last, outputs, states = run_steps(
        step_function, inputs, initial_states, go_backwards=go_backwards, mask=mask, constants=constants, unroll=unroll,
        input_length=input_length, time_major=time_major, zero_output_for_mask=zero_output_for_mask,
    )  # fmt: skip
    return last, outputs, states


def run_steps(
    step_function: Step, inputs: Any, initial_states: Any, go_backwards: bool = False, mask: Any = None,
    constants: Any = None, unroll: bool = False, input_length: Any = None, time_major: bool = False,
    zero_output_for_mask: bool = False, all_outputs: bool = True,
) -> tuple[Any, Any, Any]:  # fmt: skip
    """What `rnn` does.  Without ``all_outputs`` only the last output is kept, and None is in the place of all."""
    inputs = nest.map_structure(convert_to_tensor, inputs)
    if not time_major:
        inputs = nest.map_structure(exchange_batch_and_time, inputs)
    flat = nest.flatten(inputs)
    for one in flat:
        one.shape.with_rank_at_least(3)
    mask = _time_major_mask(mask, input_length, flat[0], time_major)
    if go_backwards:
        inputs = nest.map_structure(lambda t: array.reverse(t, axis=[0]), inputs)
        mask = None if mask is None else array.reverse(mask, axis=[0])
    further = list(constants or ())

    def step(values: Any, states: list[Any]) -> tuple[Any, list[Any]]:
        output, new_states = step_function(values, [*states, *further])
        return output, list(new_states)

    steps = _Steps(step, inputs, mask, list(initial_states), zero_output_for_mask, all_outputs)
    if unroll or context.executing_eagerly():
        last, outputs, states = steps.unroll()
    else:
        last, outputs, states = steps.loop()
    if outputs is not None and not time_major:
        outputs = nest.map_structure(exchange_batch_and_time, outputs)
    return last, outputs, states


def exchange_batch_and_time(x: Any) -> Tensor:
    """[batch, time, ...] -> [time, batch, ...], and back."""
    return array.transpose(x, [1, 0, *range(2, x.shape.ndims)])


def _time_major_mask(mask: Any, lengths: Any, like: Tensor, time_major: bool) -> Tensor | None:
    """The mask as bools [time, batch, 1]; made of the lengths if there is none."""
    if mask is None:
        if not isinstance(lengths, Tensor) or lengths.shape.ndims == 0:
            return None
        steps = creation.range(array.shape(like)[0])
        made = math.less(array.expand_dims(steps, 1), array.expand_dims(math.cast(lengths, dtypes.int32), 0))
        return array.expand_dims(made, 2)
    mask = convert_to_tensor(mask)
    if mask.dtype.base_dtype != dtypes.bool:
        mask = math.cast(mask, dtypes.bool)
    if mask.shape.ndims == 2:
        mask = array.expand_dims(mask, 2)
    return mask if time_major else exchange_batch_and_time(mask)


class _Steps:
    """What is run over time-major inputs, in a loop or one step after the other."""

    def __init__(
        self, step: Step, inputs: Any, mask: Tensor | None, states: list[Any], zero_output: bool, all_outputs: bool
    ) -> None:
        self.step = step
        self.inputs = inputs
        self.flat_inputs = nest.flatten(inputs)
        self.mask = mask
        self.states = states
        self.flat_states = [convert_to_tensor(state) for state in nest.flatten(states)]
        self.zero_output = zero_output
        self.all_outputs = all_outputs
        self.count = self.flat_inputs[0].shape.as_list()[0]

    def call(self, flat_inputs: list[Tensor], flat_states: list[Tensor]) -> tuple[Any, list[Tensor]]:
        """The output, and the new states as a list of tensors, for one step."""
        values = nest.pack_sequence_as(self.inputs, flat_inputs)
        output, states = self.step(values, nest.pack_sequence_as(self.states, flat_states))
        new = nest.flatten(states)
        if len(new) != len(flat_states):
            raise ValueError(f"a step has {len(flat_states)} states, and returned {len(new)} new ones {at()}")
        return output, new

    # ---- one step after the other

    def unroll(self) -> tuple[Any, Any, Any]:
        if not self.count:
            raise ValueError(f"Unrolling requires a fixed number of timesteps, at least 1, got {self.count} {at()}")
        by_step = list(zip(*(array.unstack(one) for one in self.flat_inputs), strict=True))
        masks = [None] * self.count if self.mask is None else array.unstack(self.mask)
        states, previous, by_output = self.flat_states, None, []
        like: Any = None
        for values, mask in zip(by_step, masks, strict=True):
            like, new = self.call(list(values), states)
            outputs = nest.flatten(like)
            if mask is not None:
                if previous is None or self.zero_output:
                    previous = [creation.zeros_like(one) for one in outputs]
                outputs = [_chosen(mask, one, old) for one, old in zip(outputs, previous, strict=True)]
                new = [_chosen(mask, one, old) for one, old in zip(new, states, strict=True)]
            states, previous = new, outputs
            by_output.append(outputs)
        last = nest.pack_sequence_as(like, by_output[-1])
        stacked = None
        if self.all_outputs:
            stacked = nest.pack_sequence_as(like, [array.stack(steps) for steps in zip(*by_output, strict=True)])
        return last, stacked, nest.pack_sequence_as(self.states, states)

    # ---- a loop

    def loop(self) -> tuple[Any, Any, Any]:
        steps = array.shape(self.flat_inputs[0])[0]
        # The step is called once outside: it makes what it keeps for all steps (variables, masks of dropout), and shows the
        # type and shape of its outputs. What it computes there for the first step is not used.
        like, _ = self.call([one[0] for one in self.flat_inputs], self.flat_states)
        shown = nest.flatten(like)
        sources = [self._array(one.dtype, steps, one.shape[1:]).unstack(one) for one in self.flat_inputs]
        masks = None if self.mask is None else self._array(dtypes.bool, steps, self.mask.shape[1:]).unstack(self.mask)
        written = [self._array(one.dtype, steps, one.shape) for one in shown] if self.all_outputs else []
        carries = masks is not None or not self.all_outputs
        zeros = [creation.zeros_like(one) for one in shown] if carries else []

        def body(time: Tensor, arrays: Any, previous: Any, states: Any) -> Any:
            outputs, new = self._one(time, [source.read(time) for source in sources], states)
            if masks is not None:
                now = masks.read(time)
                before = zeros if self.zero_output else previous
                outputs = [_chosen(now, one, old) for one, old in zip(outputs, before, strict=True)]
                new = [_chosen(now, one, old) for one, old in zip(new, states, strict=True)]
            arrays = [one.write(time, output) for one, output in zip(arrays, outputs, strict=False)]
            return time + 1, arrays, outputs if carries else [], new

        _, arrays, previous, states = while_loop(
            lambda time, *_: time < steps, body,
            (constant(0, dtype=dtypes.int32, name="time"), written, zeros, self.flat_states),
            parallel_iterations=32, maximum_iterations=steps,
        )  # fmt: skip
        outputs = None
        if self.all_outputs:
            stacked = [one.stack() for one in arrays]
            for one, output in zip(stacked, shown, strict=True):
                one.set_shape(TensorShape([self.count]).concatenate(output.shape))
            outputs = nest.pack_sequence_as(like, stacked)
            previous = [one[-1] for one in stacked]
        return nest.pack_sequence_as(like, previous), outputs, nest.pack_sequence_as(self.states, states)

    def _one(self, time: Tensor, values: list[Tensor], states: list[Tensor]) -> tuple[list[Tensor], list[Tensor]]:
        for value, whole in zip(values, self.flat_inputs, strict=True):
            value.set_shape(whole.shape[1:])
        output, new = self.call(values, states)
        for one, state in zip(new, states, strict=True):
            one.set_shape(state.shape)
        return nest.flatten(output), new

    def _array(self, dtype: Any, steps: Tensor, shape: TensorShape) -> TensorArray:
        size = steps if self.count is None else self.count
        return TensorArray(dtype.base_dtype, size=size, element_shape=shape)


def _chosen(mask: Tensor, new: Tensor, old: Tensor) -> Tensor:
    """The new value where the mask [batch, 1] is true, row by row."""
    rank = new.shape.ndims or 2
    if rank > 2:
        mask = array.reshape(mask, [-1, *[1] * (rank - 1)])
    chosen: Tensor = raw_ops.SelectV2(mask, new, old)
    if not context.executing_eagerly():
        chosen.set_shape(new.shape)
    return chosen
