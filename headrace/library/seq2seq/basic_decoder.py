"""BasicDecoder: a cell, a helper that chooses its inputs, and perhaps a layer on the outputs."""

from __future__ import annotations

from typing import Any, NamedTuple

from headrace.core.shape import TensorShape
from headrace.library import nest
from headrace.library.rnn.base import assert_like_cell, map_sizes
from headrace.library.scope import name_scope
from headrace.library.seq2seq.decoder import Decoder
from headrace.library.seq2seq.helper import Helper


class BasicDecoderOutput(NamedTuple):
    """What a step puts out: ``rnn_output`` of the cell (and the output layer), ``sample_id`` of the helper."""

    rnn_output: Any
    sample_id: Any


class BasicDecoder(Decoder):
    """Runs a cell on the inputs of a helper; ``output_layer`` (a Layer) is applied before sampling.

    Args:
      cell: The cell, with which each step is computed.
      helper: The `Helper` that gives the inputs of each step and says when a sequence has finished.
      initial_state: The cell's state before the first step.
      output_layer: A layer from the cell's outputs to logits, such as `tf.layers.Dense`; None for none.

    >>> cell = tf.nn.rnn_cell.GRUCell(4)
    >>> helper = tf.contrib.seq2seq.TrainingHelper(tf.zeros([2, 5, 3]), sequence_length=[5, 2])
    >>> decoder = tf.contrib.seq2seq.BasicDecoder(cell, helper, cell.zero_state(2, tf.float32))
    >>> outputs, state, lengths = tf.contrib.seq2seq.dynamic_decode(decoder)
    """

    def __init__(self, cell: Any, helper: Helper, initial_state: Any, output_layer: Any = None) -> None:
        assert_like_cell(cell)
        if not isinstance(helper, Helper):
            raise TypeError(f"helper must be a Helper, received: {type(helper)}")
        if output_layer is not None and not callable(output_layer):
            raise TypeError(f"output_layer must be a Layer, received: {type(output_layer)}")
        self._cell = cell
        self._helper = helper
        self._initial_state = initial_state
        self._output_layer = output_layer

    @property
    def batch_size(self) -> Any:
        return self._helper.batch_size

    def _rnn_output_size(self) -> Any:
        size = self._cell.output_size
        if self._output_layer is None:
            return size
        return map_sizes(lambda s: rnn_output_shape(s, self._output_layer), size)

    @property
    def output_size(self) -> BasicDecoderOutput:
        return BasicDecoderOutput(rnn_output=self._rnn_output_size(), sample_id=self._helper.sample_ids_shape)

    @property
    def output_dtype(self) -> BasicDecoderOutput:
        dtype = nest.flatten(self._initial_state)[0].dtype.base_dtype
        return BasicDecoderOutput(map_sizes(lambda _: dtype, self._rnn_output_size()), self._helper.sample_ids_dtype)

    def initialize(self, name: str | None = None) -> Any:
        return (*self._helper.initialize(), self._initial_state)

    def step(self, time: Any, inputs: Any, state: Any, name: str | None = None) -> Any:
        with name_scope(name, "BasicDecoderStep", (time, inputs, state)):
            outputs, cell_state = self._cell(inputs, state)
            if self._output_layer is not None:
                outputs = self._output_layer(outputs)
            sample_ids = self._helper.sample(time=time, outputs=outputs, state=cell_state)
            finished, next_inputs, next_state = self._helper.next_inputs(
                time=time, outputs=outputs, state=cell_state, sample_ids=sample_ids
            )
        return BasicDecoderOutput(outputs, sample_ids), next_state, next_inputs, finished


def rnn_output_shape(size: Any, output_layer: Any) -> TensorShape:
    """The shape of a cell's output, without the batch, after a layer."""
    dims = size.as_list() if isinstance(size, TensorShape) else [size]
    shape = output_layer.compute_output_shape(TensorShape([None, *dims]))
    return TensorShape(shape.as_list()[1:])
