"""The list in docs/differences.md of what is known to differ from TensorFlow, read for the tests.

Its table has three columns: ops (patterns in backquotes), what differs, why.  What differs is a kind as `call.compare` names
it (`error`, `static`, `outputs 1`, `gradient`), perhaps followed by `of` and the beginning of a dtype among the inputs, or by
`at extremes`: where inputs are infinite, NaN or huge, or the largest integers.  Several are separated by commas.
"""

from __future__ import annotations

import fnmatch
import re
from pathlib import Path
from typing import Any, NamedTuple

PAGE = Path(__file__).parent.parent.parent / "docs/differences.md"
HEADING = "## Op by op"
_WHAT = re.compile(r"(error|static|outputs|state|gradient)( \d+)?(?: of (\w+))?( at extremes)?\Z")


class Difference(NamedTuple):
    """One cell of the second column, for the ops of the first."""

    ops: tuple[str, ...]
    kind: str
    dtype: str
    why: str
    extremes: bool = False

    def covers(self, call: dict[str, Any], problem: str) -> bool:
        if not any(fnmatch.fnmatchcase(call["op"], pattern) for pattern in self.ops):
            return False
        if self.extremes and not call.get("extremes"):
            return False
        found = problem.partition(":")[0]
        if found != self.kind and not (" " not in self.kind and found.startswith(self.kind + " ")):
            return False
        return any(dtype.startswith(self.dtype) for dtype in input_dtypes(call)) if self.dtype else True


def input_dtypes(call: dict[str, Any]) -> list[str]:
    return [item["dtype"] for x in call["inputs"] for item in (x if isinstance(x, list) else [x])]


def read(page: Path = PAGE) -> list[Difference]:
    """Every line of the table under the heading; ValueError for one that cannot be read."""
    text = page.read_text(encoding="utf-8")
    _, heading, rest = text.partition(f"\n{HEADING}\n")
    if not heading:
        raise ValueError(f"{page} has no heading {HEADING!r}")
    section = rest.split("\n## ")[0]
    rows = [line for line in section.splitlines() if line.startswith("|")][2:]
    return [difference for row in rows for difference in _row(row)]


def _row(row: str) -> list[Difference]:
    cells = [cell.strip() for cell in row.strip().strip("|").split("|")]
    if len(cells) != 3 or not cells[2]:
        raise ValueError(f"a line needs ops, what differs and why: {row}")
    ops = tuple(re.findall(r"`([^`]+)`", cells[0]))
    found = []
    for what in cells[1].split(","):
        match = _WHAT.match(what.strip())
        if match is None or not ops:
            raise ValueError(f"not understood: {what.strip()!r} in {row}")
        found.append(Difference(ops, match[1] + (match[2] or ""), match[3] or "", cells[2], bool(match[4])))
    return found


def unlisted(call: dict[str, Any], problems: list[str], known: list[Difference]) -> list[str]:
    """The problems that no line covers."""
    return [p for p in problems if not any(d.covers(call, p) for d in known)]
