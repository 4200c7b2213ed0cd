"""How many elements a chain has, as far as its stages tell without taking any."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from headrace.resources.data.ahead import ParallelMap, Prefetch
from headrace.resources.data.cache import FileCache, MemoryCache
from headrace.resources.data.chain import Concatenate, Repeat, Shard, Skip, Take, Window, Zip
from headrace.resources.data.device import CopyToDevice
from headrace.resources.data.elsewhere import Processes
from headrace.resources.data.function import Map, OneByOne, Scan
from headrace.resources.data.group import Batch, PaddedBatch, SparseBatch
from headrace.resources.data.shuffle import Shuffle
from headrace.resources.data.source import Listed, Random, Range, Slices
from headrace.resources.data.stage import Stage
from headrace.resources.data.stats import Measured, Observed

INFINITE: Final = -1
UNKNOWN: Final = -2


def cardinality(stage: Stage) -> int:
    """The number of elements, `INFINITE` or `UNKNOWN`."""
    rule = _RULES.get(type(stage))
    return UNKNOWN if rule is None else rule(stage)


def _repeated(stage: Any) -> int:
    count, n = stage.count, cardinality(stage.input)
    if n == 0 or count == 0:
        return 0
    return INFINITE if count < 0 or n == INFINITE else _scaled(n, lambda n: n * count)


def _scaled(n: int, change: Callable[[int], int]) -> int:
    return n if n < 0 else change(n)


def _taken(stage: Any) -> int:
    n = cardinality(stage.input)
    if n == UNKNOWN or stage.count < 0:
        return n
    return stage.count if n == INFINITE else min(n, stage.count)  # type: ignore[no-any-return]


def _skipped(stage: Any) -> int:
    n = cardinality(stage.input)
    if stage.count < 0:
        return UNKNOWN if n == UNKNOWN else 0
    return _scaled(n, lambda n: max(0, n - stage.count))


def _zipped(stage: Any) -> int:
    numbers = [cardinality(one) for one in stage.inputs]
    if UNKNOWN in numbers:
        return UNKNOWN
    return min((n for n in numbers if n != INFINITE), default=INFINITE)


def _joined(stage: Any) -> int:
    numbers = [cardinality(one) for one in stage.inputs]
    return min(numbers, key=lambda n: (n != INFINITE, n != UNKNOWN)) if min(numbers) < 0 else sum(numbers)


def _batches(stage: Any) -> int:
    round_up = 0 if stage.drop_remainder else stage.size - 1
    return _scaled(cardinality(stage.input), lambda n: (n + round_up) // stage.size)


def _windows(stage: Any) -> int:
    n = cardinality(stage.input)
    whole = (stage.size - 1) * stage.stride + 1 if stage.drop_remainder else 1
    return _scaled(n, lambda n: max(0, (n - whole) // stage.shift + 1))


def _of_input(stage: Any) -> int:
    return cardinality(stage.input)


def _mapped(stage: Any) -> int:
    return cardinality(stage.input) if stage.preserves else UNKNOWN


_RULES: dict[type[Stage], Callable[[Any], int]] = {
    Listed: lambda stage: len(stage.elements), Slices: lambda stage: stage.count,
    Range: lambda stage: len(stage.numbers), Random: lambda stage: INFINITE,
    Take: _taken, Skip: _skipped, Repeat: _repeated, Shuffle: _repeated, Zip: _zipped, Concatenate: _joined,
    Shard: lambda stage: _scaled(cardinality(stage.input), lambda n: len(range(stage.index, n, stage.count))),
    Batch: _batches, PaddedBatch: _batches, SparseBatch: _batches, Window: _windows,
    **dict.fromkeys((Measured, Observed, CopyToDevice, Prefetch, MemoryCache, FileCache, Scan), _of_input),
    **dict.fromkeys((OneByOne, Processes), _of_input),
    Map: _mapped, ParallelMap: _mapped,
}  # fmt: skip
