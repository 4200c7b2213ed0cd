"""Samples of headrace/ops/ngram.py."""

from __future__ import annotations

from typing import Any

import numpy as np

from headrace.core import errors
from headrace.library.testing.opcheck import Sample


def ngrams(
    ends: list[int], widths: list[int], pads: tuple[str, str] = ("", ""), pad_width: int = 0, preserve: bool = False,
    separator: str = " ", dtype: Any = np.int64, error: type[Exception] | None = None,
) -> Sample:  # fmt: skip
    data = np.array([b"a", b"bc", b"", b"d", b"e"][: ends[-1] if ends and ends[-1] < 6 else 5], object)
    attrs = {
        "separator": separator, "ngram_widths": widths, "left_pad": pads[0], "right_pad": pads[1], "pad_width": pad_width,
        "preserve_short_sequences": preserve,
    }  # fmt: skip
    return Sample([data, np.array(ends, dtype)], attrs, error=error)


SAMPLES: dict[str, list[Sample]] = {
    "StringNGrams": [
        ngrams([0, 5], [2]),
        ngrams([0, 3, 3, 5], [1, 3], separator="|", dtype=np.int32),
        ngrams([0, 1, 5], [3], ("<", ">"), -1),
        ngrams([0, 0, 1, 5], [2, 6], ("", "R"), 9),
        ngrams([0, 2, 4], [3], ("L", "R"), 1, separator=""),
        ngrams([0, 2, 2, 5], [3, 4], preserve=True),
        ngrams([0, 2, 5], [9], ("L", "R"), 2, preserve=True),
        ngrams([0], [2]),
        ngrams([0, 0], [1]),
        ngrams([0, 0, 0], [2], ("L", "R"), -1),
        ngrams([0, 5], [], pad_width=-1, preserve=True, error=errors.InvalidArgumentError),
        ngrams([1, 5], [2], error=errors.InvalidArgumentError),
        ngrams([0, 6], [2], error=errors.InvalidArgumentError),
        ngrams([0, 4, 2, 5], [2], error=errors.InvalidArgumentError),
    ],
}
