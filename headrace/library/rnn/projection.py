"""Wrappers of ``tf.contrib.rnn`` that change what goes in or out of a cell: projections, embeddings, attention to the past.

Unlike DropoutWrapper and its kin these have variables, so they have a scope: ``output_projection_wrapper/kernel``.
"""

from __future__ import annotations

import math as python_math
from typing import Any

from headrace.library import nest
from headrace.library.layers import activations
from headrace.library.linalg.matrix import matmul
from headrace.library.network.activation import bias_add
from headrace.library.network.convolution import conv2d
from headrace.library.network.embedding import embedding_lookup
from headrace.library.network.softmax import softmax
from headrace.library.numeric import math, reduction
from headrace.library.rnn.base import RNNCell, assert_like_cell, input_depth
from headrace.library.rnn.linear import Linear
from headrace.library.scope import name_scope
from headrace.library.state import initializers
from headrace.library.state.variable_scope import get_variable, get_variable_scope, variable_scope
from headrace.library.tensor import array
from headrace.library.tensor.slicing import slice as slice_


class _Wrapper(RNNCell):
    def __init__(self, cell: Any, reuse: Any) -> None:
        super().__init__(_reuse=reuse)
        assert_like_cell(cell)
        self._cell = cell

    @property
    def state_size(self) -> Any:
        return self._cell.state_size

    @property
    def output_size(self) -> Any:
        return self._cell.output_size

    def zero_state(self, batch_size: Any, dtype: Any) -> Any:
        with name_scope(type(self).__name__ + "ZeroState", values=[batch_size]):
            return self._cell.zero_state(batch_size, dtype)


class InputProjectionWrapper(_Wrapper):
    """A linear map of the inputs before a cell.

    Args:
      cell: The cell that gets the projected inputs.
      num_proj: The width of the projected inputs.
      activation: A function of the projected inputs, or its name; None for none.
      input_size: Accepted and not used: the width of the inputs is known when the cell is called.
      reuse: True to use variables that exist; None or False to make them.

    >>> cell = tf.contrib.rnn.InputProjectionWrapper(tf.nn.rnn_cell.GRUCell(4), num_proj=2)
    >>> output, state = cell(tf.zeros([1, 3]), cell.zero_state(1, tf.float32))
    """

    def __init__(
        self, cell: Any, num_proj: int, activation: Any = None, input_size: Any = None, reuse: Any = None
    ) -> None:
        super().__init__(cell, reuse)
        self._num_proj = num_proj
        self._activation = activations.get(activation)
        self._linear: Linear | None = None

    def call(self, inputs: Any, state: Any) -> Any:  # type: ignore[override]
        if self._linear is None:
            self._linear = Linear(inputs, self._num_proj, True)
        projected = self._linear(inputs)
        return self._cell(self._activation(projected) if self._activation else projected, state)


class OutputProjectionWrapper(_Wrapper):
    """A linear map of the outputs of a cell.

    Args:
      cell: The cell whose outputs are projected; its state stays as it is.
      output_size: The width of the projected outputs.
      activation: A function of the projected outputs, or its name; None for none.
      reuse: True to use variables that exist; None or False to make them.

    >>> cell = tf.contrib.rnn.OutputProjectionWrapper(tf.nn.rnn_cell.GRUCell(4), output_size=2)
    >>> output, state = cell(tf.zeros([1, 3]), cell.zero_state(1, tf.float32))
    >>> output.shape.as_list(), state.shape.as_list()
    ([1, 2], [1, 4])
    """

    def __init__(self, cell: Any, output_size: int, activation: Any = None, reuse: Any = None) -> None:
        super().__init__(cell, reuse)
        if output_size < 1:
            raise ValueError(f"Parameter output_size must be > 0: {output_size}.")
        self._output_size = output_size
        self._activation = activations.get(activation)
        self._linear: Linear | None = None

    @property
    def output_size(self) -> Any:
        return self._output_size

    def call(self, inputs: Any, state: Any) -> Any:  # type: ignore[override]
        output, new_state = self._cell(inputs, state)
        if self._linear is None:
            self._linear = Linear(output, self._output_size, True)
        projected = self._linear(output)
        return self._activation(projected) if self._activation else projected, new_state


class HighwayWrapper(_Wrapper):
    """Lets inputs pass beside a cell to its outputs, as much as a gate says (Srivastava et al., 2015).

    Args:
      cell: The cell, whose outputs are as wide as its inputs.
      couple_carry_transform_gates: True takes 1 minus the gate of the inputs for the outputs; False gives them their own.
      carry_bias_init: What the bias of the gate starts from: the more, the more inputs pass at first.

    >>> cell = tf.contrib.rnn.HighwayWrapper(tf.nn.rnn_cell.GRUCell(3))
    >>> output, state = cell(tf.zeros([2, 3]), cell.zero_state(2, tf.float32))
    """

    def __init__(self, cell: Any, couple_carry_transform_gates: bool = True, carry_bias_init: float = 1.0) -> None:
        super().__init__(cell, None)
        self._couple_carry_transform_gates = couple_carry_transform_gates
        self._carry_bias_init = carry_bias_init

    def __call__(self, inputs: Any, state: Any, scope: Any = None) -> Any:  # type: ignore[override]
        outputs, new_state = self._cell(inputs, state, scope=scope)
        nest.assert_same_structure(inputs, outputs)
        nest.map_structure(lambda i, o: i.shape.assert_is_compatible_with(o.shape), inputs, outputs)
        return nest.map_structure(self._highway, inputs, outputs), new_state

    def _highway(self, inputs: Any, outputs: Any) -> Any:
        carry = self._gate("carry", inputs, self._carry_bias_init)
        if self._couple_carry_transform_gates:
            transform = 1 - carry
        else:
            transform = self._gate("transform", inputs, -self._carry_bias_init)
        return inputs * carry + outputs * transform

    @staticmethod
    def _gate(name: str, inputs: Any, bias: float) -> Any:
        width, dtype = input_depth(inputs.shape), inputs.dtype.base_dtype
        w = get_variable(f"{name}_w", [width, width], dtype)
        b = get_variable(f"{name}_b", [width], dtype, initializer=initializers.Constant(bias))
        return math.sigmoid(bias_add(matmul(inputs, w), b))


class EmbeddingWrapper(_Wrapper):
    """Takes ids and gives the cell their rows of an embedding, which it trains.

    Args:
      cell: The cell that gets the embedded inputs.
      embedding_classes: The number of ids.
      embedding_size: The width of a row of the embedding.
      initializer: What the embedding starts from; None for the initializer of the variable scope, or else uniform values
        of variance 1.
      reuse: True to use variables that exist; None or False to make them.

    >>> cell = tf.contrib.rnn.EmbeddingWrapper(tf.nn.rnn_cell.GRUCell(4), embedding_classes=10, embedding_size=2)
    >>> output, state = cell(tf.constant([[7], [3]]), cell.zero_state(2, tf.float32))
    """

    def __init__(
        self, cell: Any, embedding_classes: int, embedding_size: int, initializer: Any = None, reuse: Any = None
    ) -> None:
        super().__init__(cell, reuse)
        if embedding_classes <= 0 or embedding_size <= 0:
            raise ValueError(
                f"Both embedding_classes and embedding_size must be > 0: {embedding_classes}, {embedding_size}."
            )
        self._embedding_classes = embedding_classes
        self._embedding_size = embedding_size
        self._initializer = initializer

    def call(self, inputs: Any, state: Any) -> Any:  # type: ignore[override]
        initializer = self._initializer or get_variable_scope().initializer
        if initializer is None:
            sqrt3 = python_math.sqrt(3)  # uniform with variance 1
            initializer = initializers.RandomUniform(-sqrt3, sqrt3)
        dtype = nest.flatten(state)[0].dtype.base_dtype
        embedding = get_variable(
            "embedding", [self._embedding_classes, self._embedding_size], initializer=initializer, dtype=dtype
        )
        return self._cell(embedding_lookup(embedding, array.reshape(inputs, [-1])), state)


class AttentionCellWrapper(_Wrapper):
    """A cell that attends to its last ``attn_length`` outputs (Bahdanau et al., 2014, over its own past).

    The state is (the cell's state, the last attention, the outputs remembered), or the three joined.

    Args:
      cell: The cell whose outputs are remembered.
      attn_length: The number of outputs that are remembered.
      attn_size: The width of the outputs and of the attention; None for the cell's `output_size`.
      attn_vec_size: The width of the hidden layer that scores the outputs; None for `attn_size`.
      input_size: The width of the cell's inputs, which are a linear map of inputs and attention; None for that of the inputs.
      state_is_tuple: True for a state of three parts; False for one joined tensor.
      reuse: True to use variables that exist; None or False to make them.

    >>> cell = tf.contrib.rnn.AttentionCellWrapper(tf.nn.rnn_cell.GRUCell(4), attn_length=3)
    >>> output, (state, attention, past) = cell(tf.zeros([1, 2]), cell.zero_state(1, tf.float32))
    >>> past.shape.as_list()
    [1, 12]
    """

    def __init__(
        self, cell: Any, attn_length: int, attn_size: int | None = None, attn_vec_size: int | None = None,
        input_size: int | None = None, state_is_tuple: bool = True, reuse: Any = None,
    ) -> None:  # fmt: skip
        super().__init__(cell, reuse)
        if nest.is_sequence(cell.state_size) and not state_is_tuple:
            raise ValueError(f"Cell returns tuple of states, but the flag state_is_tuple is not set: {cell.state_size}")
        if attn_length <= 0:
            raise ValueError(f"attn_length should be greater than zero, got {attn_length}")
        self._attn_length = attn_length
        self._attn_size = cell.output_size if attn_size is None else attn_size
        self._attn_vec_size = self._attn_size if attn_vec_size is None else attn_vec_size
        self._input_size = input_size
        self._state_is_tuple = state_is_tuple

    @property
    def state_size(self) -> Any:
        sizes = (self._cell.state_size, self._attn_size, self._attn_size * self._attn_length)
        return sizes if self._state_is_tuple else sum(sizes)

    @property
    def output_size(self) -> Any:
        return self._attn_size

    def zero_state(self, batch_size: Any, dtype: Any) -> Any:
        return RNNCell.zero_state(self, batch_size, dtype)

    def call(self, inputs: Any, state: Any) -> Any:  # type: ignore[override]
        state, attention, past = self._parts(state)
        past = array.reshape(past, [-1, self._attn_length, self._attn_size])
        inputs = Linear([inputs, attention], self._input_size or input_depth(inputs.shape), True)([inputs, attention])
        output, new_state = self._cell(inputs, state)
        query = array.concat(nest.flatten(new_state), 1) if self._state_is_tuple else new_state
        attention, past = self._attend(query, past)
        with variable_scope("attn_output_projection"):
            output = Linear([output, attention], self._attn_size, True)([output, attention])
        past = array.concat([past, array.expand_dims(output, 1)], 1)
        past = array.reshape(past, [-1, self._attn_length * self._attn_size])
        parts = (new_state, attention, past)
        return output, parts if self._state_is_tuple else array.concat(list(parts), 1)

    def _parts(self, state: Any) -> Any:
        if self._state_is_tuple:
            return state
        sizes, start, parts = (self._cell.state_size, self._attn_size, self._attn_size * self._attn_length), 0, []
        for size in sizes:
            parts.append(slice_(state, [0, start], [-1, size]))
            start += size
        return parts

    def _attend(self, query: Any, past: Any) -> tuple[Any, Any]:
        """The attention to the past, and the past without its oldest output."""
        length, size, width = self._attn_length, self._attn_size, self._attn_vec_size
        with variable_scope("attention"):
            k = get_variable("attn_w", [1, 1, size, width])
            v = get_variable("attn_v", [width])
            hidden = array.reshape(past, [-1, length, 1, size])
            features = conv2d(hidden, k, [1, 1, 1, 1], "SAME")
            y = array.reshape(Linear(query, width, True)(query), [-1, 1, 1, width])
            scores = softmax(reduction.reduce_sum(v * math.tanh(features + y), [2, 3]))
            attended = reduction.reduce_sum(array.reshape(scores, [-1, length, 1, 1]) * hidden, [1, 2])
            return array.reshape(attended, [-1, size]), slice_(past, [0, 1, 0], [-1, -1, -1])
