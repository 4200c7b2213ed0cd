"""Connectionist temporal classification (tf.nn): loss and decoders; and tf.edit_distance."""

from __future__ import annotations

from typing import Any

from headrace.core import dtypes
from headrace.graph import raw_ops
from headrace.graph.convert import convert_to_tensor
from headrace.graph.operation import Tensor
from headrace.graph.structures import SparseTensor, SparseTensorValue
from headrace.library.argument import either
from headrace.library.numeric.math import cast
from headrace.library.scope import name_scope
from headrace.library.tensor import array
from headrace.library.tensor.creation import sequence_mask
from headrace.library.tensor.indexing import gather_nd, where


def ctc_loss(
    labels: Any, inputs: Any = None, sequence_length: Any = None, preprocess_collapse_repeated: bool = False,
    ctc_merge_repeated: bool = True, ignore_longer_outputs_than_inputs: bool = False, time_major: bool = True,
    logits: Any = None,
) -> Tensor:  # fmt: skip
    """For each sequence minus the log-probability of its labels, however they are aligned with the steps.

    ``labels`` is a sparse [batch, time] of int32, ``inputs`` are logits [time, batch, classes] (batch first unless
    ``time_major``); the last class is the blank.

    Args:
      labels: An int32 `tf.SparseTensor` [batch, time]: the labels of each sequence.
      inputs: A float tensor [time, batch, classes], or [batch, time, classes] if not `time_major`.
      sequence_length: An int32 vector [batch]: how many steps of each sequence count.
      preprocess_collapse_repeated: Whether equal labels in a row are taken as one first.
      ctc_merge_repeated: Whether equal classes in a row, with no blank between them, stand for one label.
      ignore_longer_outputs_than_inputs: Whether sequences with more labels than steps have no loss; otherwise they
        are an error.
      time_major: Whether time comes first in `inputs`.
      logits: Another name of `inputs`; give one of them.

    Returns:
      A vector [batch] of losses.

    >>> labels = tf.SparseTensor([[0, 0]], [0], [1, 1])
    >>> tf.Session().run(tf.nn.ctc_loss(labels, tf.zeros([1, 1, 2]), [1])).round(3)
    array([0.693], dtype=float32)
    """
    logits = either("logits", logits, "inputs", inputs)
    if not isinstance(labels, SparseTensor):
        raise TypeError(f"Expected labels (first argument) to be a SparseTensor, got {type(labels).__name__}")
    logits = convert_to_tensor(logits, name="logits")
    if not time_major:
        logits = array.transpose(logits, [1, 0, 2])
    return raw_ops.CTCLoss(
        logits, labels.indices, labels.values, sequence_length, preprocess_collapse_repeated, ctc_merge_repeated,
        ignore_longer_outputs_than_inputs,
    ).loss  # fmt: skip


def ctc_loss_v2(
    labels: Any, logits: Any, label_length: Any, logit_length: Any, logits_time_major: bool = True, unique: Any = None,
    blank_index: int | None = None, name: str | None = None,
) -> Tensor:  # fmt: skip
    """``ctc_loss`` of dense ``labels`` [batch, time] and their lengths, with the blank at ``blank_index`` (0 by default).

    Args:
      labels: An integer tensor [batch, time], or an int32 `tf.SparseTensor`, which needs `blank_index`.
      logits: A float tensor [time, batch, classes], or [batch, time, classes] if not `logits_time_major`.
      label_length: A vector [batch]: how many labels each row has; not used for a `tf.SparseTensor`.
      logit_length: An int32 vector [batch]: how many steps of each sequence count.
      logits_time_major: Whether time comes first in `logits`.
      unique: Accepted for TensorFlow's sake: what `tf.nn.ctc_unique_labels` gives; it changes nothing.
      blank_index: The number of the blank; negative ones count from the end, None is 0.
      name: A name for the op.

    Returns:
      A vector [batch] of losses.

    >>> tf.Session().run(tf.nn.ctc_loss_v2([[1]], tf.zeros([1, 1, 2]), [1], [1])).round(3)
    array([0.693], dtype=float32)
    """
    with name_scope(name, "ctc_loss", [labels, logits, label_length, logit_length]):
        logits = convert_to_tensor(logits, name="logits")
        if not logits_time_major:
            logits = array.transpose(logits, [1, 0, 2])
        if isinstance(labels, SparseTensor):
            if blank_index is None:
                raise ValueError("blank_index must be given when using SparseTensor labels.")
            sparse = labels
        else:
            labels = cast(convert_to_tensor(labels), dtypes.int32)
            places = where(sequence_mask(label_length, array.shape(labels)[1]))
            sparse = SparseTensor(places, gather_nd(labels, places), array.shape(labels, out_type=dtypes.int64))
        return _with_blank_at(sparse, logits, logit_length, blank_index or 0)


def _with_blank_at(sparse: SparseTensor, logits: Tensor, lengths: Any, blank: int) -> Tensor:
    """The op wants the blank last."""
    values = cast(sparse.values, dtypes.int32)
    if blank < 0:
        classes = logits.shape[2].value
        if classes is None and blank != -1:
            raise ValueError("a negative blank_index other than -1 needs a known number of classes")
        blank = -1 if classes is None else blank + classes
    if blank != -1:
        logits = array.concat([logits[:, :, :blank], logits[:, :, blank + 1 :], logits[:, :, blank : blank + 1]], 2)
        values = where(values < blank, values, values - 1)
    return ctc_loss(SparseTensor(sparse.indices, values, sparse.dense_shape), logits, lengths)


def ctc_greedy_decoder(
    inputs: Any, sequence_length: Any, merge_repeated: bool = True
) -> tuple[list[SparseTensor], Tensor]:
    """The best class of each step, without blanks (and repetitions): ([decoded], minus the sum of the best logits).

    Args:
      inputs: A float tensor of logits [time, batch, classes]; the last class is the blank.
      sequence_length: An int32 vector [batch]: how many steps of each sequence count.
      merge_repeated: Whether equal classes in a row stand for one label.

    Returns:
      A list of one int64 `tf.SparseTensor` [batch, time], and a float matrix [batch, 1].

    >>> logits = tf.reshape([[5.0, 0.0], [5.0, 0.0], [0.0, 5.0]], [3, 1, 2])
    >>> decoded, score = tf.nn.ctc_greedy_decoder(logits, [3])
    >>> tf.Session().run(decoded[0]).values.tolist()
    [0]
    """
    indices, values, shape, total = raw_ops.CTCGreedyDecoder(inputs, sequence_length, merge_repeated)
    return [SparseTensor(indices, values, shape)], total


def ctc_beam_search_decoder(
    inputs: Any, sequence_length: Any, beam_width: int = 100, top_paths: int = 1, merge_repeated: bool = True
) -> tuple[list[SparseTensor], Tensor]:
    """The ``top_paths`` most likely label sequences, and the logarithms of their probabilities.

    Args:
      inputs: A float tensor of logits [time, batch, classes]; the last class is the blank.
      sequence_length: An int32 vector [batch]: how many steps of each sequence count.
      beam_width: How many sequences are followed at a time.
      top_paths: How many sequences to give, at most `beam_width`.
      merge_repeated: Whether equal labels in a row of a result are shown as one.

    Returns:
      A list of `top_paths` int64 `tf.SparseTensor`s [batch, time], best first, and a float matrix [batch, top_paths].

    >>> logits = tf.reshape([[5.0, 0.0, 0.0], [0.0, 5.0, 0.0]], [2, 1, 3])
    >>> decoded, score = tf.nn.ctc_beam_search_decoder(logits, [2])
    >>> tf.Session().run(decoded[0]).values.tolist()
    [0, 1]
    """
    indices, values, shapes, total = raw_ops.CTCBeamSearchDecoder(
        inputs, sequence_length, beam_width, top_paths, merge_repeated
    )
    return [SparseTensor(i, v, s) for i, v, s in zip(indices, values, shapes, strict=True)], total


def ctc_beam_search_decoder_v2(
    inputs: Any, sequence_length: Any, beam_width: int = 100, top_paths: int = 1
) -> tuple[list[SparseTensor], Tensor]:
    """``ctc_beam_search_decoder`` that does not merge repetitions in the result.

    Args:
      inputs: A float tensor of logits [time, batch, classes]; the last class is the blank.
      sequence_length: An int32 vector [batch]: how many steps of each sequence count.
      beam_width: How many sequences are followed at a time.
      top_paths: How many sequences to give, at most `beam_width`.

    Returns:
      A list of `top_paths` int64 `tf.SparseTensor`s [batch, time], best first, and a float matrix [batch, top_paths].

    >>> logits = tf.reshape([[5.0, 0.0, 0.0], [0.0, 5.0, 0.0]], [2, 1, 3])
    >>> decoded, score = tf.nn.ctc_beam_search_decoder_v2(logits, [2])
    >>> tf.Session().run(decoded[0]).values.tolist()
    [0, 1]
    """
    return ctc_beam_search_decoder(inputs, sequence_length, beam_width, top_paths, merge_repeated=False)


def edit_distance(hypothesis: Any, truth: Any, normalize: bool = True, name: str = "edit_distance") -> Tensor:
    """The Levenshtein distance between sequences (the last dimension), over the length of ``truth`` if normalized.

    Args:
      hypothesis: A `tf.SparseTensor` whose last dimension holds the elements of each sequence.
      truth: A `tf.SparseTensor` of the type and rank of `hypothesis`.
      normalize: Whether to divide by the length of the sequence in `truth`.
      name: A name for the op.

    Returns:
      A float32 tensor without the last dimension of the inputs.

    >>> hypothesis, truth = tf.SparseTensor([[0, 0]], ["a"], [1, 1]), tf.SparseTensor([[0, 0], [0, 1]], ["a", "b"], [1, 2])
    >>> tf.Session().run(tf.edit_distance(hypothesis, truth)).tolist()
    [0.5]
    """
    if not isinstance(hypothesis, (SparseTensor, SparseTensorValue)):
        raise TypeError("Hypothesis must be a SparseTensor.")
    if not isinstance(truth, (SparseTensor, SparseTensorValue)):
        raise TypeError("Truth must be a SparseTensor.")
    hypothesis, truth = SparseTensor.from_value(hypothesis), SparseTensor.from_value(truth)
    return raw_ops.EditDistance(
        hypothesis.indices, hypothesis.values, hypothesis.dense_shape, truth.indices, truth.values, truth.dense_shape,
        normalize, name=name,
    )  # fmt: skip
