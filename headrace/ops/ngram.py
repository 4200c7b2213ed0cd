"""Runs of consecutive strings, joined.  On the host.

StringNGrams.
"""

from __future__ import annotations

import torch

from headrace.core.dtypes import INDEX
from headrace.core.registry import op
from headrace.core.shape import TensorShape
from headrace.ops.shared.string_array import array_of, listed

string_ngrams = op(
    "StringNGrams(data: string[1], data_splits: Tsplits[1]; separator: string, ngram_widths: list(int), left_pad: string, "
    "right_pad: string, pad_width: int, preserve_short_sequences: bool) -> (ngrams: string, ngrams_splits: Tsplits)",
    Tsplits=INDEX,
    host=True,
    dynamic_shape=True,
)


@string_ngrams.shape
def _(data, splits, separator, widths, left, right, pad_width, preserve):
    data.assert_has_rank(1)
    splits.assert_has_rank(1)
    return [TensorShape([None]), splits.with_rank(1)]


def _row(row, widths, left, right, pad_width, preserve):
    """The runs of one row: those of the first width, then those of the next."""
    ngrams = []
    for width in widths:
        pad = width - 1 if pad_width < 0 else min(pad_width, width - 1)
        padded = [left] * pad + row + [right] * pad
        ngrams += [padded[i : i + width] for i in range(len(padded) - width + 1)]
    if preserve and not ngrams and row:
        pad = max(pad_width, 0)
        ngrams.append([left] * pad + row + [right] * pad)
    return ngrams


@string_ngrams.kernel
def _(data, splits, separator, widths, left, right, pad_width, preserve):
    strings, ends = listed(data), splits.tolist()
    if ends and (ends[0] != 0 or ends[-1] != len(strings) or any(a > b for a, b in zip(ends, ends[1:], strict=False))):
        raise ValueError(
            f"splits must begin with 0, not go down and end with {len(strings)}, the size of the data; got {ends}"
        )
    if preserve and not widths and pad_width < 0:
        raise ValueError(
            f"pad_width must be >= 0 to preserve short sequences where there are no ngram_widths; got {pad_width}"
        )
    if not strings:  # not even padding, as in TensorFlow
        return array_of([]), torch.zeros_like(splits)
    separator, left, right = separator.encode(), left.encode(), right.encode()
    ngrams, counts = [], [0] if ends else []
    for start, end in zip(ends, ends[1:], strict=False):
        ngrams += map(separator.join, _row(strings[start:end], widths, left, right, pad_width, preserve))
        counts.append(len(ngrams))
    return array_of(ngrams), torch.tensor(counts, dtype=splits.dtype)
