"""Laws: how slow steps of workers are, how often tasks fail, how fast a link is.  What is random comes from the caller."""

from __future__ import annotations

import re
from dataclasses import dataclass, fields
from math import nan
from numbers import Integral, Real
from random import Random
from typing import Any, Final

MOST: Final = 20.0  # times the usual time, the longest that a step takes by Pareto's law
LAWS: Final = ("none", "pareto", "lognormal", "one")
_UNITS: Final = {"s": 1.0, "min": 60.0, "h": 3600.0, "d": 86400.0}


def check_number(name: str, value: Any, least: float = 0.0, above: bool = False, whole: bool = False) -> None:
    """Refuses what is no number, or too small a one.  ``above``: the least one is too small itself."""
    is_number = isinstance(value, Integral if whole else Real) and not isinstance(value, bool)
    found = float(value) if is_number else nan
    if not (found > least if above else found >= least):
        number, bound = "a whole number" if whole else "a number", "above" if above else "of at least"
        raise ValueError(f"{name} must be {number} {bound} {least:g}; got {value!r}")


@dataclass(frozen=True, slots=True)
class Slow:
    """What a worker's computing is multiplied with.

    ``law``: "none"; "pareto", Pareto's law with this shape for each step; "lognormal" with this spread for each step; "one": the
    last worker takes so many times as long.
    """

    law: str = "none"
    number: float = 1.0

    def __post_init__(self) -> None:
        if self.law not in LAWS:
            raise ValueError(f"the law of slow steps is one of {', '.join(LAWS)}; got {self.law!r}")
        check_number("the number of the law", self.number, above=True)

    def draw(self, source: Random, worker: int, workers: int) -> float:
        """The factor of one step of one worker."""
        if self.law == "pareto":
            return min(MOST, source.paretovariate(self.number))
        if self.law == "lognormal":
            return source.lognormvariate(0.0, self.number)
        if self.law == "one":
            return self.number if worker == workers - 1 and worker else 1.0
        return 1.0

    def __str__(self) -> str:
        return "none" if self.law == "none" else f"{self.law}:{self.number:g}"


def slow_of(text: str) -> Slow:
    """``pareto:1.5``, ``lognormal:0.1``, ``one:4`` or ``none``."""
    law, _, number = text.partition(":")
    if law == "none" and not number:
        return Slow()
    try:
        value = float(number)
    except ValueError:
        value = -1.0
    if law not in LAWS[1:] or not 0 < value < float("inf"):
        raise ValueError(
            f"slow is none, pareto:SHAPE, lognormal:SPREAD or one:TIMES, with a positive number; got {text!r}"
        )
    return Slow(law, value)


@dataclass(frozen=True, slots=True)
class Failures:
    """``rate``: failures of each task, worker or server, a second.  ``noticed``: seconds until the others know.

    ``restart``: seconds from its failure until a task works again.  ``save``: seconds between two checkpoints.  ``copies``:
    between two copies that servers keep of each other (`copies_secs` of monitored sessions); 0: there are none.
    """

    rate: float = 0.0
    noticed: float = 5.0
    restart: float = 30.0
    save: float = 600.0
    copies: float = 0.0

    def __post_init__(self) -> None:
        for one in fields(self):
            check_number(one.name, getattr(self, one.name), above=one.name == "save")


def rate_of(text: str) -> float:
    """``0.01/h`` -> failures a second."""
    found = re.fullmatch(r"\s*([0-9.eE+-]+)\s*/\s*(s|min|h|d)\s*", text)
    try:
        number = float(found[1]) if found else -1.0
    except ValueError:
        number = -1.0
    if found is None or not 0 <= number < float("inf"):
        raise ValueError(f"a rate of failures is a number for each s, min, h or d, such as 0.01/h; got {text!r}")
    return number / _UNITS[found[2]]


_BITS: Final = {"": 1.0, "k": 1e3, "M": 1e6, "G": 1e9, "T": 1e12}
_SECONDS: Final = {"ns": 1e-9, "us": 1e-6, "ms": 1e-3, "s": 1.0}


def link_of(text: str) -> tuple[float, float]:
    """``10Gbit,0.1ms`` -> seconds until the first byte is there, and bytes a second."""
    found = re.fullmatch(r"\s*([0-9.]+)\s*([kMGT]?)bit(?:/s)?\s*(?:,\s*([0-9.]+)\s*(ns|us|ms|s)\s*)?", text)
    try:
        bits = float(found[1]) if found else 0.0
        seconds = float(found[3]) if found and found[3] else 1e-4 / _SECONDS["s"]
    except ValueError:
        bits = seconds = 0.0
    if found is None or bits <= 0:
        raise ValueError(f"a link is its speed and its latency, such as 10Gbit,0.1ms; got {text!r}")
    return seconds * _SECONDS[found[4] or "s"], bits * _BITS[found[2]] / 8


def counts_of(text: str) -> list[int]:
    """``8`` -> [8]; ``1,3,5`` as it stands; ``1:64`` -> 1, 2, 4 ... 64, each twice the one before, and the last."""
    try:
        if ":" in text:
            first, last = map(int, text.split(":"))
            counts = [first]
            while first >= 1 and counts[-1] * 2 < last:
                counts.append(counts[-1] * 2)
            counts = sorted({*counts, last})
            fits = 1 <= first <= last
        else:
            counts = [int(one) for one in text.split(",")]
            fits = min(counts) >= 1
    except ValueError:
        fits = False
    if not fits:
        raise ValueError(f"numbers of tasks are 8, or 1,2,5, or 1:64 for 1, 2, 4 ... 64, each at least 1; got {text!r}")
    return counts
