"""LSTMBlockWrapper: what LSTMs over whole sequences share, for kernels of your own."""

from __future__ import annotations

from typing import Any

from headrace.core.source import at
from headrace.graph.convert import convert_to_tensor
from headrace.library.layers.base import Layer
from headrace.library.rnn.base import batch_zeros
from headrace.library.rnn.cell import LSTMStateTuple
from headrace.library.tensor import array, creation, indexing


class LSTMBlockWrapper(Layer):
    """Base class of LSTMs that take a whole sequence, [time, batch, size], in one call.

    A subclass gives `num_units` and `_call_cell`, which computes `c` and the output of every step, each
    [time, batch, num_units]. This class gives it a first state, sets the outputs after the end of each sequence to 0, and
    takes the states where the sequences end.

    Args:
      trainable: False keeps the variables out of `tf.trainable_variables()`.
      name: The name of the layer, under which its variables are; None for a name made of the class's.
      dtype: The type of the variables; None takes that of the first inputs.
      **kwargs: The further arguments of `tf.layers.Layer`.

    >>> class Sums(tf.contrib.rnn.LSTMBlockWrapper):
    ...     num_units = 1
    ...     def _call_cell(self, inputs, initial_cell_state, initial_output, dtype, sequence_length=None):
    ...         return tf.cumsum(inputs) + initial_cell_state, inputs
    >>> outputs, (c, h) = Sums()(tf.ones([3, 2, 1]), dtype=tf.float32, sequence_length=[1, 3])
    >>> tf.Session().run(c)
    array([[1.],
           [3.]], dtype=float32)
    """

    @property
    def num_units(self) -> int:
        """The width of the output and of the two halves of the state."""
        raise NotImplementedError("Abstract method")

    def _call_cell(
        self, inputs: Any, initial_cell_state: Any, initial_output: Any, dtype: Any, sequence_length: Any
    ) -> tuple[Any, Any]:
        raise NotImplementedError(f"{type(self).__name__} must have a method _call_cell")

    def call(
        self, inputs: Any, initial_state: Any = None, dtype: Any = None, sequence_length: Any = None
    ) -> tuple[Any, LSTMStateTuple]:
        """The outputs of all steps, as a list if the inputs are one, and the last state.

        Args:
          inputs: A tensor [time, batch, size], or a list with a tensor [batch, size] for each step.
          initial_state: A pair (c, h) of tensors [batch, num_units]; None for zeros of `dtype`.
          dtype: The type of the state; None takes that of `initial_state`.
          sequence_length: The length of each sequence, [batch]; None if all are as long as the inputs.
        """
        as_list = isinstance(inputs, list)
        joined = array.stack(inputs) if as_list else convert_to_tensor(inputs)
        time, batch, size = joined.shape.with_rank(3).as_list()
        if not size:
            raise ValueError(f"Expecting inputs_shape[2] to be set: {joined.shape} {at()}")
        count = array.shape(joined)[1] if batch is None else batch
        if initial_state is None:
            if dtype is None:
                raise ValueError(f"Either initial_state or dtype needs to be specified {at()}")
            initial_state = (batch_zeros(count, self.num_units, dtype),) * 2
        if len(initial_state) != 2:
            raise ValueError(
                f"Expecting initial_state to be a tuple with length 2 or None, got {len(initial_state)} {at()}"
            )
        dtype = initial_state[0].dtype if dtype is None else dtype
        lengths = None if sequence_length is None else convert_to_tensor(sequence_length)
        c, h = initial_state
        states, outputs = self._call_cell(joined, c, h, dtype, lengths)
        if lengths is None:
            last = LSTMStateTuple(states[-1], outputs[-1])
        else:
            steps = array.shape(joined)[0] if time is None else time
            outputs = outputs * array.transpose(creation.sequence_mask(lengths, steps, dtype))[..., None]
            last = LSTMStateTuple(*(_at_end(*pair, lengths) for pair in ((c, states), (h, outputs))))
        return array.unstack(outputs, time) if as_list else outputs, last


def _at_end(first: Any, values: Any, lengths: Any) -> Any:
    """The value after the last step of each sequence; of one without steps the first."""
    rows = creation.range(array.shape(lengths, out_type=lengths.dtype)[0], dtype=lengths.dtype)
    return indexing.gather_nd(array.concat([first[None], values], 0), array.stack([lengths, rows], 1))
