"""Encoder and decoder together: basic, tied, with embeddings, with attention; and a model for several lengths."""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any

from headrace.core import dtypes
from headrace.library import nest
from headrace.library.control.control_flow import cond
from headrace.library.legacy_seq2seq.decoder import (
    embedding_attention_decoder,
    embedding_rnn_decoder,
    extract_argmax_and_embed,
    rnn_decoder,
)  # fmt: skip
from headrace.library.legacy_seq2seq.loss import sequence_loss, sequence_loss_by_example
from headrace.library.network.embedding import embedding_lookup
from headrace.library.rnn.projection import EmbeddingWrapper, OutputProjectionWrapper
from headrace.library.rnn.static import static_rnn
from headrace.library.scope import name_scope
from headrace.library.state.variable_scope import get_variable, get_variable_scope, variable_scope
from headrace.library.tensor import array


def basic_rnn_seq2seq(
    encoder_inputs: Any, decoder_inputs: Any, cell: Any, dtype: Any = dtypes.float32, scope: Any = None
) -> tuple[list[Any], Any]:
    """An encoder and, with variables of its own, a decoder that starts from the encoder's state.

    Args:
      encoder_inputs: A list with the input [batch, size] of each step of the encoder.
      decoder_inputs: A list with the input [batch, size] of each step of the decoder.
      cell: The decoder's cell; the encoder has a copy of it.
      dtype: The type of the encoder's initial state.
      scope: The variable scope, or its name; None for `basic_rnn_seq2seq`.

    Returns:
      A list with the output [batch, size] of each step of the decoder, and its final state.

    >>> cell, inputs = tf.nn.rnn_cell.GRUCell(4), [tf.zeros([2, 3])] * 3
    >>> outputs, state = tf.contrib.legacy_seq2seq.basic_rnn_seq2seq(inputs, inputs, cell)
    >>> len(outputs)
    3
    """
    with variable_scope(scope or "basic_rnn_seq2seq"):
        _, state = static_rnn(copy.deepcopy(cell), encoder_inputs, dtype=dtype)
        return rnn_decoder(decoder_inputs, state, cell)


def tied_rnn_seq2seq(
    encoder_inputs: Any, decoder_inputs: Any, cell: Any, loop_function: Any = None, dtype: Any = dtypes.float32,
    scope: Any = None,
) -> tuple[list[Any], Any]:  # fmt: skip
    """An encoder and a decoder with the same variables.

    Args:
      encoder_inputs: A list with the input [batch, size] of each step of the encoder.
      decoder_inputs: A list with the input [batch, size] of each step of the decoder.
      cell: The cell of both.
      loop_function: A function of the previous output and the number of the step that gives the decoder's next input;
        None uses `decoder_inputs`.
      dtype: The type of the encoder's initial state.
      scope: The variable scope, or its name; None for `tied_rnn_seq2seq`.

    Returns:
      A list with the output [batch, size] of each step of the decoder, and its final state.

    >>> cell, inputs = tf.nn.rnn_cell.GRUCell(4), [tf.zeros([2, 3])] * 3
    >>> outputs, state = tf.contrib.legacy_seq2seq.tied_rnn_seq2seq(inputs, inputs, cell)
    >>> len(tf.trainable_variables())
    4
    """
    with variable_scope("combined_tied_rnn_seq2seq"):
        scope = scope or "tied_rnn_seq2seq"
        _, state = static_rnn(cell, encoder_inputs, dtype=dtype, scope=scope)
        get_variable_scope().reuse_variables()
        return rnn_decoder(decoder_inputs, state, cell, loop_function=loop_function, scope=scope)


def _for_either(
    feed_previous: Any, state: Any, decode: Callable[[bool], tuple[list[Any], Any]]
) -> tuple[list[Any], Any]:
    """A decoder whose ``feed_previous`` may be known only when it runs: then both are in the graph."""
    if isinstance(feed_previous, bool):
        return decode(feed_previous)

    def branch(feed: bool) -> list[Any]:
        with variable_scope(get_variable_scope(), reuse=None if feed else True):
            outputs, last = decode(feed)
            return [*outputs, *nest.flatten(last)]

    flat = cond(feed_previous, lambda: branch(True), lambda: branch(False), strict=True)
    count = len(flat) - len(nest.flatten(state))
    return flat[:count], nest.pack_sequence_as(state, flat[count:]) if nest.is_sequence(state) else flat[count]


def embedding_rnn_seq2seq(
    encoder_inputs: Any, decoder_inputs: Any, cell: Any, num_encoder_symbols: int, num_decoder_symbols: int,
    embedding_size: int, output_projection: Any = None, feed_previous: Any = False, dtype: Any = None,
    scope: Any = None,
) -> tuple[list[Any], Any]:  # fmt: skip
    """``basic_rnn_seq2seq`` over symbols.  Outputs are logits, unless an ``output_projection`` is to be applied later.

    Args:
      encoder_inputs: A list with the symbols of each step of the encoder, int32 [batch].
      decoder_inputs: A list with the symbols of each step of the decoder, int32 [batch].
      cell: The decoder's cell; the encoder has a copy of it.
      num_encoder_symbols: The number of symbols of the encoder.
      num_decoder_symbols: The number of symbols of the decoder.
      embedding_size: The width of a symbol's embedding.
      output_projection: A pair (weights [output size, symbols], biases [symbols]) that makes logits of an output where
        the next input is chosen; None puts logits out.
      feed_previous: True uses the most likely symbol of each output as the next input; a bool, or a bool scalar tensor.
      dtype: The type of the variables and of the initial state; None for that of the variable scope.
      scope: The variable scope, or its name; None for `embedding_rnn_seq2seq`.

    Returns:
      A list with the output of each step of the decoder, [batch, num_decoder_symbols] or the cell's output, and the
      final state.

    >>> cell, symbols = tf.nn.rnn_cell.GRUCell(4), [tf.constant([0, 1])] * 3
    >>> outputs, state = tf.contrib.legacy_seq2seq.embedding_rnn_seq2seq(symbols, symbols, cell, 5, 6, embedding_size=3)
    >>> outputs[0].shape.as_list()
    [2, 6]
    """
    with variable_scope(scope or "embedding_rnn_seq2seq") as entered:
        dtype = entered.dtype if dtype is None else dtype
        entered.set_dtype(dtype)
        encoder = EmbeddingWrapper(
            copy.deepcopy(cell), embedding_classes=num_encoder_symbols, embedding_size=embedding_size
        )
        _, state = static_rnn(encoder, encoder_inputs, dtype=dtype)
        if output_projection is None:
            cell = OutputProjectionWrapper(cell, num_decoder_symbols)
        return _for_either(
            feed_previous,
            state,
            lambda feed: embedding_rnn_decoder(
                decoder_inputs,
                state,
                cell,
                num_decoder_symbols,
                embedding_size,
                output_projection,
                feed,
                update_embedding_for_previous=isinstance(feed_previous, bool),
            ),  # fmt: skip
        )


def embedding_tied_rnn_seq2seq(
    encoder_inputs: Any, decoder_inputs: Any, cell: Any, num_symbols: int, embedding_size: int,
    num_decoder_symbols: int | None = None, output_projection: Any = None, feed_previous: Any = False,
    dtype: Any = None, scope: Any = None,
) -> tuple[list[Any], Any]:  # fmt: skip
    """``tied_rnn_seq2seq`` over symbols that share one embedding.

    Args:
      encoder_inputs: A list with the symbols of each step of the encoder, int32 [batch].
      decoder_inputs: A list with the symbols of each step of the decoder, int32 [batch].
      cell: The cell of both.
      num_symbols: The number of symbols.
      embedding_size: The width of a symbol's embedding.
      num_decoder_symbols: The number of symbols that the decoder puts out; None for `num_symbols`.
      output_projection: A pair (weights [output size, symbols], biases [symbols]) that makes logits of an output where
        the next input is chosen; None puts logits out.
      feed_previous: True uses the most likely symbol of each output as the next input; a bool, or a bool scalar tensor.
      dtype: The type of the variables and of the initial state; None for that of the variable scope.
      scope: The variable scope, or its name; None for `embedding_tied_rnn_seq2seq`.

    Returns:
      A list with the output of each step of the decoder, [batch, symbols] or the cell's output, and the final state.

    >>> cell, symbols = tf.nn.rnn_cell.GRUCell(4), [tf.constant([0, 1])] * 3
    >>> outputs, state = tf.contrib.legacy_seq2seq.embedding_tied_rnn_seq2seq(symbols, symbols, cell, 5, embedding_size=3)
    >>> outputs[0].shape.as_list()
    [2, 5]
    """
    with variable_scope(scope or "embedding_tied_rnn_seq2seq", dtype=dtype) as entered:
        dtype = entered.dtype
        embedding = get_variable("embedding", [num_symbols, embedding_size], dtype=dtype)
        encoded = [embedding_lookup(embedding, x) for x in encoder_inputs]
        decoded = [embedding_lookup(embedding, x) for x in decoder_inputs]
        symbols = num_decoder_symbols or num_symbols
        if output_projection is None:
            cell = OutputProjectionWrapper(cell, symbols)

        def decode(feed: bool) -> tuple[list[Any], Any]:
            update = isinstance(feed_previous, bool)
            loop = extract_argmax_and_embed(embedding, output_projection, update) if feed else None
            return tied_rnn_seq2seq(encoded, decoded, cell, loop_function=loop, dtype=dtype)

        if isinstance(feed_previous, bool):
            return decode(feed_previous)
        return _for_either(feed_previous, nest.map_structure(lambda _: 0, cell.state_size), decode)


def embedding_attention_seq2seq(
    encoder_inputs: Any, decoder_inputs: Any, cell: Any, num_encoder_symbols: int, num_decoder_symbols: int,
    embedding_size: int, num_heads: int = 1, output_projection: Any = None, feed_previous: Any = False,
    dtype: Any = None, scope: Any = None, initial_state_attention: bool = False,
) -> tuple[list[Any], Any]:  # fmt: skip
    """An encoder and a decoder over symbols, the decoder attending to all outputs of the encoder.

    Args:
      encoder_inputs: A list with the symbols of each step of the encoder, int32 [batch].
      decoder_inputs: A list with the symbols of each step of the decoder, int32 [batch].
      cell: The decoder's cell; the encoder has a copy of it.
      num_encoder_symbols: The number of symbols of the encoder.
      num_decoder_symbols: The number of symbols of the decoder.
      embedding_size: The width of a symbol's embedding.
      num_heads: The number of attention heads.
      output_projection: A pair (weights [output size, symbols], biases [symbols]) that makes logits of an output where
        the next input is chosen; None puts logits out.
      feed_previous: True uses the most likely symbol of each output as the next input; a bool, or a bool scalar tensor.
      dtype: The type of the variables and of the initial state; None for that of the variable scope.
      scope: The variable scope, or its name; None for `embedding_attention_seq2seq`.
      initial_state_attention: True attends before the first step already; False begins with zeros.

    Returns:
      A list with the output of each step of the decoder, [batch, num_decoder_symbols] or the cell's output, and the
      final state.

    >>> cell, symbols = tf.nn.rnn_cell.GRUCell(4), [tf.constant([0, 1])] * 3
    >>> outputs, state = tf.contrib.legacy_seq2seq.embedding_attention_seq2seq(symbols, symbols, cell, 5, 6, 3)
    >>> outputs[0].shape.as_list()
    [2, 6]
    """
    with variable_scope(scope or "embedding_attention_seq2seq", dtype=dtype) as entered:
        dtype = entered.dtype
        encoder = EmbeddingWrapper(
            copy.deepcopy(cell), embedding_classes=num_encoder_symbols, embedding_size=embedding_size
        )
        encoded, state = static_rnn(encoder, encoder_inputs, dtype=dtype)
        attended = array.concat([array.reshape(e, [-1, 1, cell.output_size]) for e in encoded], 1)
        output_size = None
        if output_projection is None:
            cell = OutputProjectionWrapper(cell, num_decoder_symbols)
            output_size = num_decoder_symbols
        return _for_either(
            feed_previous,
            state,
            lambda feed: embedding_attention_decoder(
                decoder_inputs,
                state,
                attended,
                cell,
                num_decoder_symbols,
                embedding_size,
                num_heads=num_heads,
                output_size=output_size,
                output_projection=output_projection,
                feed_previous=feed,
                update_embedding_for_previous=isinstance(feed_previous, bool),
                initial_state_attention=initial_state_attention,
            ),  # fmt: skip
        )


def model_with_buckets(
    encoder_inputs: list[Any], decoder_inputs: list[Any], targets: list[Any], weights: list[Any], buckets: Any,
    seq2seq: Callable[[Any, Any], tuple[list[Any], Any]], softmax_loss_function: Any = None,
    per_example_loss: bool = False, name: str | None = None,
) -> tuple[list[Any], list[Any]]:  # fmt: skip
    """The outputs and the loss for each bucket (encoder length, decoder length), with shared variables.

    ``seq2seq(encoder_inputs, decoder_inputs)`` gives the outputs and a state.

    Args:
      encoder_inputs: A list with the symbols of each step of the encoder, as many as the longest bucket has.
      decoder_inputs: A list with the symbols of each step of the decoder.
      targets: A list with the correct symbols of each step of the decoder, int32 or int64 [batch].
      weights: A list with the weights of each step of the decoder, float [batch].
      buckets: A list of pairs (encoder length, decoder length), the largest last.
      seq2seq: A function of both lists of inputs that gives a list of outputs and a state.
      softmax_loss_function: A function (labels, logits), called with these names; None for the sparse softmax cross-entropy.
      per_example_loss: True for a loss of each sequence, [batch]; False for a scalar.
      name: The name scope of the ops.

    Returns:
      Two lists with an entry for each bucket: the list of its outputs, and its loss.

    >>> def seq2seq(encoder, decoder):
    ...     cell = tf.nn.rnn_cell.GRUCell(4)
    ...     return tf.contrib.legacy_seq2seq.embedding_rnn_seq2seq(encoder, decoder, cell, 5, 5, embedding_size=3)
    >>> symbols, weights = [tf.constant([0, 1])] * 4, [tf.ones([2])] * 4
    >>> outputs, losses = tf.contrib.legacy_seq2seq.model_with_buckets(
    ...     symbols, symbols, symbols, weights, [(2, 2), (4, 4)], seq2seq)
    >>> [len(steps) for steps in outputs]
    [2, 4]
    """
    for what, sequence, least in (
        ("encoder_inputs", encoder_inputs, buckets[-1][0]),
        ("targets", targets, buckets[-1][1]),
        ("weights", weights, buckets[-1][1]),
    ):
        if len(sequence) < least:
            raise ValueError(f"Length of {what} ({len(sequence)}) must be at least that of last bucket ({least}).")
    losses, outputs = [], []
    every = [*encoder_inputs, *decoder_inputs, *targets, *weights]
    with name_scope(name, "model_with_buckets", every):
        for j, (encoder_length, length) in enumerate(buckets):
            with variable_scope(get_variable_scope(), reuse=True if j > 0 else None):
                bucket_outputs, _ = seq2seq(encoder_inputs[:encoder_length], decoder_inputs[:length])
                outputs.append(bucket_outputs)
                loss = sequence_loss_by_example if per_example_loss else sequence_loss
                losses.append(
                    loss(
                        bucket_outputs, targets[:length], weights[:length], softmax_loss_function=softmax_loss_function
                    )
                )
    return outputs, losses
