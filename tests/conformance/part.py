"""One part of the comparison with TensorFlow: what was compared, how much of it, and what differs."""

from __future__ import annotations

from typing import NamedTuple


class Part(NamedTuple):
    """What one part found.  `differences` is empty when both agree on everything that was compared."""

    name: str
    compared: str
    differences: list[str]

    def __str__(self) -> str:
        return f"{self.name:12} {self.compared}: {len(self.differences) or 'none'} differ"


def summary(parts: list[Part], version: str) -> str:
    """The lines at the end: a line for each part, every difference, and the verdict."""
    found = [f"    {part.name}: {problem}" for part in parts for problem in part.differences]
    verdict = f"{len(found)} differences" if found else "Headrace agrees with TensorFlow"
    return "\n".join([f"Compared with TensorFlow {version}", *map(str, parts), *found, verdict])
