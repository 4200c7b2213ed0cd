"""Results of `op_families` as tables: geometric means of ratios by family, with their spread, and the slowest ops."""

from __future__ import annotations

import statistics
from typing import Any

from benchmarks._harness import duration

SIZES = ("small", "medium", "large")
Rows = list[list[str]]


def ratios(result: dict[str, Any], family: str = "", size: str = "") -> list[float]:
    """The ratios of the cases of a family and a size, or of all."""
    return [entry["ratio"] for name, entry in _compared(result) if _matches(name, family, size)]


def mean(values: list[float]) -> float:
    return statistics.geometric_mean(values)


def families(result: dict[str, Any]) -> list[str]:
    """By their names, in the order of the run."""
    return list(dict.fromkeys(name.split("/")[0] for name, _ in _compared(result)))


def rows(result: dict[str, Any]) -> Rows:
    """A line for each family, and one for all: means for each size and over all, the range over ops, the number of cases."""
    header = ["family", *SIZES, "all sizes", "range over cases", "cases"]
    return [header, *(_row(result, family, family) for family in families(result)), _row(result, "all", "")]


def plain(result: dict[str, Any]) -> tuple[list[str], Rows]:
    """The same for the terminal."""
    header, *body = rows(result)
    return header, body


def caption(result: dict[str, Any]) -> str:
    """What was measured, where and how."""
    return (
        f"{result['time'][:10]}, {result['processor']}, {result['threads']} thread(s), {result['clock']} time; Headrace "
        f"{result['headrace']} interpreted, TensorFlow {result['tensorflow']}. Best of {result['rounds']} interleaved samples, "
        "Headrace over TensorFlow, geometric means: below 1, Headrace is faster."
    )


def line(name: str, entry: dict[str, Any]) -> str:
    """One case in words."""
    if "error" in entry:
        return f"{name}: {entry['error']}"
    spread = [a / b for a, b in zip(entry["headrace"], entry["tensorflow"], strict=True)]
    times = f"{duration(min(entry['headrace']))} / {duration(min(entry['tensorflow']))}"
    return f"{entry['ratio']:6.2f} ({min(spread):.2f}-{max(spread):.2f})  {name}  {times}"


def _row(result: dict[str, Any], title: str, family: str) -> list[str]:
    means = [_text(ratios(result, family, size)) for size in (*SIZES, "")]
    found = ratios(result, family)
    spread = f"{min(found):.2g} - {max(found):.2g}" if found else "-"
    return [title, *means, spread, str(len(found))]


def _text(found: list[float]) -> str:
    return f"{mean(found):.2f}" if found else "-"


def _compared(result: dict[str, Any]) -> list[tuple[str, dict[str, Any]]]:
    return [(name, entry) for name, entry in result["cases"].items() if "ratio" in entry]


def _matches(name: str, family: str, size: str) -> bool:
    own_family, _, own_size = name.split("/")
    return (not family or own_family == family) and (not size or own_size == size)
