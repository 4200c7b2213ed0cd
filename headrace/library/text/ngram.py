"""Runs of consecutive strings (``tf.strings.ngrams``)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from headrace.core import dtypes
from headrace.core.source import at
from headrace.graph import raw_ops
from headrace.graph.convert import convert_to_tensor
from headrace.graph.operation import Tensor
from headrace.library.numeric import math, reduction
from headrace.library.scope import name_scope
from headrace.library.tensor import array, creation


def ngrams(
    data: Any, ngram_width: int | Sequence[int], separator: str = " ", pad_values: str | tuple[str, str] | None = None,
    padding_width: int | None = None, preserve_short_sequences: bool = False, name: str | None = None,
) -> Tensor:  # fmt: skip
    """Every run of `ngram_width` strings along the last dimension, joined with `separator`.

    Several widths give the runs of the first, then those of the next. With `pad_values`, one for both sides or (left, right),
    rows are padded on both sides, by `padding_width` or else so that every string comes first and last in a run. A row too
    short for a run gives none, or itself with `preserve_short_sequences`.

    Args:
      data: A tensor of strings of known rank, at least 1.
      ngram_width: How many strings a run has, an integer, or a list of them.
      separator: What stands between two strings of a run.
      pad_values: What rows are padded with, a string, or a tuple of two; None for no padding.
      padding_width: How many strings to pad by on each side, at least 1; None for one less than the width.
      preserve_short_sequences: Whether a row too short for any run gives itself as one.
      name: A name for the op.

    Returns:
      A tensor of strings: the shape of `data` with the number of runs for its last size.

    >>> tf.Session().run(tf.strings.ngrams(["not", "to", "be"], 2))
    array([b'not to', b'to be'], dtype=object)
    """
    with name_scope(name, "StringNGrams", [data]):
        strings = convert_to_tensor(data, dtypes.string, name="data")
        if strings.shape.ndims is None:
            raise ValueError(f"ngrams: the rank of data must be known {at()}")
        if strings.shape.ndims == 0:
            raise ValueError(f"ngrams: data must have rank > 0, received a scalar {at()}")
        widths = _widths(ngram_width)
        left, right = _pads(pad_values)
        sizes = array.shape(strings, out_type=dtypes.int64)
        rows = reduction.reduce_prod(sizes[:-1])
        flat = raw_ops.StringNGrams(
            array.reshape(strings, [-1]), creation.range(rows + 1) * sizes[-1], separator, widths, left, right,
            _padding_width(pad_values, padding_width), preserve_short_sequences,
        )[0]  # fmt: skip
        each = array.size(flat, out_type=dtypes.int64) // math.maximum(rows, 1)
        joined = array.reshape(flat, array.concat([sizes[:-1], [each]], 0))
        joined.set_shape([*strings.shape.as_list()[:-1], None])
        return joined


def _widths(ngram_width: Any) -> list[int]:
    widths = [ngram_width] if isinstance(ngram_width, int) else list(ngram_width)
    for width in widths:
        if not isinstance(width, int):
            raise TypeError(f"ngram_width must be an integer or several of them, received {ngram_width!r} {at()}")
        if width < 1:
            raise ValueError(f"All ngram_widths must be greater than 0. Got {ngram_width!r} {at()}")
    return widths


def _pads(pad_values: Any) -> tuple[str | bytes, str | bytes]:
    if pad_values is None:
        return "", ""
    pads = (pad_values, pad_values) if isinstance(pad_values, (str, bytes)) else pad_values
    if not isinstance(pads, tuple) or len(pads) != 2 or not all(isinstance(p, (str, bytes)) for p in pads):
        raise TypeError(f"pad_values must be a string, tuple of strings, or None, received {pad_values!r} {at()}")
    return pads


def _padding_width(pads: Any, padding_width: Any) -> int:
    if padding_width is None:
        return 0 if pads is None else -1
    if pads is None:
        raise ValueError(f"pad_values must be provided if padding_width is set, received {padding_width!r} {at()}")
    if not isinstance(padding_width, int):
        raise TypeError(f"padding_width must be an integer or None, received {padding_width!r} {at()}")
    if padding_width < 1:
        raise ValueError(f"padding_width must be greater than 0, received {padding_width!r} {at()}")
    return padding_width
