"""Measured costs: the mean seconds of nodes that have run, by what they are, so that they carry over to other graphs.

A node is known by its op, the attributes that change its kernel, and the types and shapes of its inputs; not by its name.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from headrace.core.dtypes import DType
from headrace.passes.step_graph import Node

_PLAIN: Final = (bool, int, float, str, bytes, DType)
_PLACES: Final = frozenset(("shared_name", "container", "keys", "destination", "source"))  # say where, not what


def key_of(node: Node, shapes: Sequence[Sequence[int] | None] | None = None) -> str | None:
    """What a node is known by; None where a shape is not known.  ``shapes``: of its inputs, where they were seen."""
    inputs = []
    for i, value in enumerate(node.inputs):
        seen = shapes[i] if shapes is not None else None
        dims = tuple(seen) if seen is not None else value.shape.tuple
        if dims is None or None in dims:
            return None
        inputs.append(f"{value.dtype.base_dtype.name}[{','.join(map(str, dims))}]")
    attrs = [f"{k}={_text(v)}" for k, v in sorted(node.attrs.items()) if k not in _PLACES and _is_plain(v)]
    return f"{node.type}({', '.join(inputs)}; {', '.join(attrs)})"


def _is_plain(value: Any) -> bool:
    if isinstance(value, (list, tuple)):
        return all(map(_is_plain, value))
    return value is None or isinstance(value, _PLAIN)


def _text(value: Any) -> str:
    if isinstance(value, (list, tuple)):
        return f"[{' '.join(map(_text, value))}]"
    return value.name if isinstance(value, DType) else repr(value)


@dataclass(slots=True)
class Mean:
    """Of seconds that were seen, and how many there were."""

    seconds: float = 0.0
    count: int = 0

    def add(self, seconds: float, count: int = 1) -> None:
        self.count += count
        self.seconds += (seconds - self.seconds) * count / self.count


class Measured:
    """Seconds by (type of device, key).  Not thread-safe."""

    def __init__(self) -> None:
        self._means: dict[tuple[str, str], Mean] = {}

    def __len__(self) -> int:
        return len(self._means)

    def add(self, device_type: str, key: str, seconds: float, count: int = 1) -> None:
        """Notes one run of a node, or the mean of several.  What is no finite time is refused."""
        if not (math.isfinite(seconds) and seconds >= 0 and count > 0):
            raise ValueError(
                f"a cost is a time of 0 or more seconds, seen once or more, not {seconds!r} seen {count!r}"
            )
        self._means.setdefault((device_type, key), Mean()).add(seconds, count)

    def seconds(self, device_type: str, key: str | None) -> float | None:
        """The mean; None if no such node has run on such a device."""
        mean = None if key is None else self._means.get((device_type, key))
        return None if mean is None else mean.seconds

    def merge(self, other: Measured) -> None:
        """Takes over what another has seen."""
        for device_type, key, seconds, count in other.rows():
            self.add(device_type, key, seconds, count)

    def rows(self) -> Iterator[tuple[str, str, float, int]]:
        """Type of device, key, seconds and count: plain data to be kept."""
        for (device_type, key), mean in self._means.items():
            yield device_type, key, mean.seconds, mean.count

    @staticmethod
    def of_rows(rows: Iterable[Sequence[Any]]) -> Measured:
        """The inverse of `rows`."""
        measured = Measured()
        for device_type, key, seconds, count in rows:
            measured.add(str(device_type), str(key), float(seconds), int(count))
        return measured

    def as_mapping(self) -> Mapping[tuple[str, str], float]:
        """The means alone."""
        return {key: mean.seconds for key, mean in self._means.items()}
