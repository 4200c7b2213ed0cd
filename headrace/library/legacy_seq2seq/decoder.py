"""Decoders over lists of inputs: plain, with embeddings, with attention to the encoder's outputs."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from headrace.core.shape import as_shape
from headrace.graph.convert import convert_to_tensor
from headrace.library import nest
from headrace.library.control.dependency import stop_gradient
from headrace.library.network.activation import xw_plus_b
from headrace.library.network.convolution import conv2d
from headrace.library.network.embedding import embedding_lookup
from headrace.library.network.softmax import softmax
from headrace.library.numeric import math, reduction
from headrace.library.rnn.linear import Linear
from headrace.library.state.variable_scope import get_variable, get_variable_scope, variable_scope
from headrace.library.tensor import array, creation


def extract_argmax_and_embed(
    embedding: Any, output_projection: Any = None, update_embedding: bool = True
) -> Callable[[Any, int], Any]:
    """A loop function: the embedding of the most likely symbol of the previous output."""

    def loop_function(prev: Any, _: int) -> Any:
        if output_projection is not None:
            prev = xw_plus_b(prev, output_projection[0], output_projection[1])
        embedded = embedding_lookup(embedding, reduction.argmax(prev, 1))
        return embedded if update_embedding else stop_gradient(embedded)

    return loop_function


def rnn_decoder(
    decoder_inputs: Any, initial_state: Any, cell: Any, loop_function: Callable[[Any, int], Any] | None = None,
    scope: Any = None,
) -> tuple[list[Any], Any]:  # fmt: skip
    """The outputs and the final state of a cell run over a list of inputs.

    With ``loop_function(previous_output, i)`` all inputs but the first come from it.

    Args:
      decoder_inputs: A list with the input [batch, size] of each step.
      initial_state: The cell's state before the first step.
      cell: The cell, with which each step is computed.
      loop_function: A function of the previous output and the number of the step that gives the next input; None uses
        `decoder_inputs`.
      scope: The variable scope, or its name; None for `rnn_decoder`.

    Returns:
      A list with the output [batch, size] of each step, and the final state.

    >>> cell = tf.nn.rnn_cell.GRUCell(4)
    >>> outputs, state = tf.contrib.legacy_seq2seq.rnn_decoder([tf.zeros([2, 3])] * 5, cell.zero_state(2, tf.float32), cell)
    >>> len(outputs)
    5
    """
    with variable_scope(scope or "rnn_decoder"):
        state, outputs, prev = initial_state, [], None
        for i, inp in enumerate(decoder_inputs):
            if loop_function is not None and prev is not None:
                with variable_scope("loop_function", reuse=True):
                    inp = loop_function(prev, i)
            if i > 0:
                get_variable_scope().reuse_variables()
            output, state = cell(inp, state)
            outputs.append(output)
            if loop_function is not None:
                prev = output
    return outputs, state


def embedding_rnn_decoder(
    decoder_inputs: Any, initial_state: Any, cell: Any, num_symbols: int, embedding_size: int,
    output_projection: Any = None, feed_previous: bool = False, update_embedding_for_previous: bool = True,
    scope: Any = None,
) -> tuple[list[Any], Any]:  # fmt: skip
    """``rnn_decoder`` over a list of symbols, or over its own most likely symbols if ``feed_previous``.

    Args:
      decoder_inputs: A list with the symbols of each step, int32 [batch].
      initial_state: The cell's state before the first step.
      cell: The cell, with which each step is computed.
      num_symbols: The number of symbols.
      embedding_size: The width of a symbol's embedding.
      output_projection: A pair (weights [output size, symbols], biases [symbols]) that makes logits of an output where
        the next input is chosen; None if the outputs are logits.
      feed_previous: True uses the most likely symbol of each output as the next input; of `decoder_inputs` only the first
        counts then.
      update_embedding_for_previous: False lets no gradient pass to the embedding through symbols that were fed back.
      scope: The variable scope, or its name; None for `embedding_rnn_decoder`.

    Returns:
      A list with the output [batch, size] of each step, and the final state.

    >>> cell = tf.nn.rnn_cell.GRUCell(4)
    >>> outputs, state = tf.contrib.legacy_seq2seq.embedding_rnn_decoder(
    ...     [tf.constant([0, 1])] * 5, cell.zero_state(2, tf.float32), cell, num_symbols=4, embedding_size=3)
    >>> len(outputs)
    5
    """
    with variable_scope(scope or "embedding_rnn_decoder") as entered:
        if output_projection is not None:
            _check_projection(output_projection, num_symbols, entered.dtype)
        embedding = get_variable("embedding", [num_symbols, embedding_size])
        loop_function = (
            extract_argmax_and_embed(embedding, output_projection, update_embedding_for_previous)
            if feed_previous
            else None
        )
        embedded = [embedding_lookup(embedding, i) for i in decoder_inputs]
        return rnn_decoder(embedded, initial_state, cell, loop_function=loop_function)


def _check_projection(projection: Any, num_symbols: int, dtype: Any) -> None:
    weights = convert_to_tensor(projection[0], dtype=dtype)
    as_shape(weights.shape).assert_is_compatible_with([None, num_symbols])
    bias = convert_to_tensor(projection[1], dtype=dtype)
    as_shape(bias.shape).assert_is_compatible_with([num_symbols])


class _Attention:
    """Heads that attend to ``attention_states`` [batch, length, size]."""

    def __init__(self, states: Any, num_heads: int) -> None:
        length, size = states.shape.as_list()[1:]
        if size is None:
            raise ValueError(f"Shape[2] of attention_states must be known: {states.shape}")
        self.length = array.shape(states)[1] if length is None else length
        self.size = size
        self.hidden = array.reshape(states, [-1, self.length, 1, size])
        self.heads = []
        for head in range(num_heads):
            k = get_variable(f"AttnW_{head}", [1, 1, size, size])
            features = conv2d(self.hidden, k, [1, 1, 1, 1], "SAME")
            self.heads.append((features, get_variable(f"AttnV_{head}", [size])))

    def __call__(self, query: Any) -> list[Any]:
        """What each head finds [batch, size] for a state."""
        query = array.concat(nest.flatten(query), 1) if nest.is_sequence(query) else query
        contexts = []
        for head, (features, v) in enumerate(self.heads):
            with variable_scope(f"Attention_{head}"):
                y = array.reshape(Linear(query, self.size, True)(query), [-1, 1, 1, self.size])
                weights = softmax(reduction.reduce_sum(v * math.tanh(features + y), [2, 3]))
                attended = reduction.reduce_sum(array.reshape(weights, [-1, self.length, 1, 1]) * self.hidden, [1, 2])
                contexts.append(array.reshape(attended, [-1, self.size]))
        return contexts


def attention_decoder(
    decoder_inputs: Any, initial_state: Any, attention_states: Any, cell: Any, output_size: int | None = None,
    num_heads: int = 1, loop_function: Callable[[Any, int], Any] | None = None, dtype: Any = None, scope: Any = None,
    initial_state_attention: bool = False,
) -> tuple[list[Any], Any]:  # fmt: skip
    """``rnn_decoder`` whose inputs and outputs are joined with attention to ``attention_states`` [batch, length, size].

    Args:
      decoder_inputs: A list with the input [batch, size] of each step.
      initial_state: The cell's state before the first step.
      attention_states: What is attended to, [batch, length, size].
      cell: The cell, with which each step is computed.
      output_size: The width of the outputs; None for the cell's `output_size`.
      num_heads: The number of attention heads.
      loop_function: A function of the previous output and the number of the step that gives the next input; None uses
        `decoder_inputs`.
      dtype: The type of the variables; None for that of the variable scope.
      scope: The variable scope, or its name; None for `attention_decoder`.
      initial_state_attention: True attends before the first step already; False begins with zeros.

    Returns:
      A list with the output [batch, output_size] of each step, and the final state of the cell.

    >>> cell = tf.nn.rnn_cell.GRUCell(4)
    >>> outputs, state = tf.contrib.legacy_seq2seq.attention_decoder(
    ...     [tf.zeros([2, 3])] * 5, cell.zero_state(2, tf.float32), tf.zeros([2, 6, 4]), cell)
    >>> len(outputs)
    5
    """
    if not decoder_inputs:
        raise ValueError("Must provide at least 1 input to attention decoder.")
    if num_heads < 1:
        raise ValueError("With less than 1 heads, use a non-attention decoder.")
    output_size = cell.output_size if output_size is None else output_size
    with variable_scope(scope or "attention_decoder", dtype=dtype) as entered:
        attend = _Attention(attention_states, num_heads)
        batch_size = array.shape(decoder_inputs[0])[0]
        attention = [creation.zeros(array.stack([batch_size, attend.size]), dtype=entered.dtype) for _ in attend.heads]
        for a in attention:
            a.set_shape([None, attend.size])
        state, outputs, prev = initial_state, [], None
        if initial_state_attention:
            attention = attend(initial_state)
        for i, inp in enumerate(decoder_inputs):
            if i > 0:
                get_variable_scope().reuse_variables()
            if loop_function is not None and prev is not None:
                with variable_scope("loop_function", reuse=True):
                    inp = loop_function(prev, i)
            width = inp.shape.with_rank(2).as_list()[1]
            if width is None:
                raise ValueError(f"Could not infer input size from input: {inp.name}")
            joined = [inp, *attention]
            output, state = cell(Linear(joined, width, True)(joined), state)
            if i == 0 and initial_state_attention:
                with variable_scope(get_variable_scope(), reuse=True):
                    attention = attend(state)
            else:
                attention = attend(state)
            with variable_scope("AttnOutputProjection"):
                joined = [output, *attention]
                output = Linear(joined, output_size, True)(joined)
            if loop_function is not None:
                prev = output
            outputs.append(output)
    return outputs, state


def embedding_attention_decoder(
    decoder_inputs: Any, initial_state: Any, attention_states: Any, cell: Any, num_symbols: int, embedding_size: int,
    num_heads: int = 1, output_size: int | None = None, output_projection: Any = None, feed_previous: bool = False,
    update_embedding_for_previous: bool = True, dtype: Any = None, scope: Any = None,
    initial_state_attention: bool = False,
) -> tuple[list[Any], Any]:  # fmt: skip
    """``attention_decoder`` over a list of symbols, or over its own most likely symbols if ``feed_previous``.

    Args:
      decoder_inputs: A list with the symbols of each step, int32 [batch].
      initial_state: The cell's state before the first step.
      attention_states: What is attended to, [batch, length, size].
      cell: The cell, with which each step is computed.
      num_symbols: The number of symbols.
      embedding_size: The width of a symbol's embedding.
      num_heads: The number of attention heads.
      output_size: The width of the outputs; None for the cell's `output_size`.
      output_projection: A pair (weights [output size, symbols], biases [symbols]) that makes logits of an output where
        the next input is chosen; None if the outputs are logits.
      feed_previous: True uses the most likely symbol of each output as the next input; of `decoder_inputs` only the first
        counts then.
      update_embedding_for_previous: False lets no gradient pass to the embedding through symbols that were fed back.
      dtype: The type of the variables; None for that of the variable scope.
      scope: The variable scope, or its name; None for `embedding_attention_decoder`.
      initial_state_attention: True attends before the first step already; False begins with zeros.

    Returns:
      A list with the output [batch, output_size] of each step, and the final state of the cell.

    >>> cell = tf.nn.rnn_cell.GRUCell(4)
    >>> outputs, state = tf.contrib.legacy_seq2seq.embedding_attention_decoder(
    ...     [tf.constant([0, 1])] * 5, cell.zero_state(2, tf.float32), tf.zeros([2, 6, 4]), cell, 4, embedding_size=3)
    >>> len(outputs)
    5
    """
    output_size = cell.output_size if output_size is None else output_size
    if output_projection is not None:
        as_shape(convert_to_tensor(output_projection[1]).shape).assert_is_compatible_with([num_symbols])
    with variable_scope(scope or "embedding_attention_decoder", dtype=dtype):
        embedding = get_variable("embedding", [num_symbols, embedding_size])
        loop_function = (
            extract_argmax_and_embed(embedding, output_projection, update_embedding_for_previous)
            if feed_previous
            else None
        )
        embedded = [embedding_lookup(embedding, i) for i in decoder_inputs]
        return attention_decoder(
            embedded, initial_state, attention_states, cell, output_size=output_size, num_heads=num_heads,
            loop_function=loop_function, initial_state_attention=initial_state_attention,
        )  # fmt: skip
