"""How a beam search compares beams: log-probabilities with penalties (Wu et al., 2016), and moving what beams carry."""

from __future__ import annotations

from typing import Any

from headrace.core import dtypes
from headrace.library.numeric import math, reduction
from headrace.library.tensor import array, creation, indexing


class BeamScore:
    """Scores of continuations, from their log-probabilities, lengths and the attention so far."""

    def __init__(self, length_penalty_weight: Any, coverage_penalty_weight: float) -> None:
        self.length_weight = length_penalty_weight
        self.coverage_weight = coverage_penalty_weight

    def __call__(self, log_probs: Any, lengths: Any, attention: Any) -> Any:
        """Scores [batch, beam, vocabulary]; ``attention`` [batch, beam, memory] counts only with a coverage weight."""
        scores = log_probs
        if not (isinstance(self.length_weight, (int, float)) and self.length_weight == 0.0):
            scores = scores / self._length_penalty(lengths, log_probs.dtype)
        if self.coverage_weight != 0.0:
            # What no step attended to lies past the end of the memory: it does not count.
            attention = indexing.where(math.equal(attention, 0.0), creation.ones_like(attention), attention)
            covered = math.log(math.minimum(attention, 1.0))
            penalty = self.coverage_weight * reduction.reduce_sum(covered, 2)
            scores = scores + array.expand_dims(penalty, 2)
        return scores

    def _length_penalty(self, lengths: Any, dtype: Any) -> Any:
        weight = math.cast(self.length_weight, dtype)
        return ((5.0 + math.cast(lengths, dtype)) ** weight) / ((5.0 + 1.0) ** weight)


def gather_beams(values: Any, beams: Any, batch_size: Any, width: int) -> Any:
    """values [batch, beam, ...] at ``beams`` [batch, beam]: each new beam gets what its parent had."""
    static = values.shape
    start = array.expand_dims(creation.range(batch_size) * width, 1)
    places = array.reshape(beams + start, [-1])
    shape = array.shape(values)
    flat = array.reshape(values, array.concat([[batch_size * width], shape[2:]], 0))
    moved = array.reshape(indexing.gather(flat, places), shape)
    moved.set_shape(static)
    return moved


def one_after_end(log_probs: Any, end_token: Any, finished: Any, vocabulary: Any) -> Any:
    """Log-probabilities of the next id where beams that have finished can only repeat the end."""
    low = log_probs.dtype.base_dtype.min
    only_end = creation.one_hot(end_token, vocabulary, on_value=0.0, off_value=float(low), dtype=log_probs.dtype)
    only_end = array.reshape(only_end, [1, 1, -1]) + creation.zeros_like(log_probs)
    full = math.logical_and(array.expand_dims(finished, 2), creation.ones_like(log_probs, dtype=dtypes.bool))
    return indexing.where(full, only_end, log_probs)
