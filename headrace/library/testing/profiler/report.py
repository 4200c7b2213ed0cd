"""The report of the profiler as text, and where it is written."""

from __future__ import annotations

from collections.abc import Mapping, Sequence, Set

from headrace.core import errors
from headrace.core.source import at
from headrace.library.testing.profiler.node_proto import COLUMNS, Column, GraphNodeProto
from headrace.library.testing.profiler.option import Options

ROOT = "_TFProfRoot"


def selected(options: Options) -> list[str]:
    """The columns of a report: a time is shown with its parts."""
    asked = set(options["select"])
    if "micros" in asked:
        asked |= {"accelerator_micros", "cpu_micros"}
    return [name for name in COLUMNS if name in asked]


def tree_report(root: GraphNodeProto, options: Options, accounted: Set[str] | None, shapes: Mapping[str, str]) -> str:
    """Each line below what it belongs to.  ``accounted``: the names of those with numbers of their own; None for all."""
    columns = selected(options)
    lines = _heading(columns)
    waiting = [(root, "")]
    while waiting:
        line, indent = waiting.pop()
        own = line.name != ROOT and (accounted is None or line.name in accounted)
        numbers = [_number(line, COLUMNS[name], own, shapes.get(line.name)) for name in columns]
        lines.append(f"{indent}{line.name} ({', '.join(numbers)})")
        waiting += [(child, indent + "  ") for child in reversed(line.children)]
    return "\n".join(lines) + "\n"


def type_report(root: GraphNodeProto, options: Options) -> str:
    """One type below the other."""
    columns = selected(options)
    lines, line = _heading(columns), root
    while line.children:
        line = line.children[0]
        lines.append(f"{line.name:28} {', '.join(_type_number(line, root, COLUMNS[name]) for name in columns)}")
    return "\n".join(lines) + "\n"


def _heading(columns: Sequence[str]) -> list[str]:
    return ["Profile:", " | ".join(["node name", *(COLUMNS[name].title for name in columns)])]


def _number(line: GraphNodeProto, column: Column, own: bool, shape: str | None) -> str:
    mine = quantity(getattr(line, column.field), column) if own else "--"
    text = f"{mine}/{quantity(getattr(line, f'total_{column.field}'), column)}"
    if column.unit not in ("B", "us"):
        text += column.unit
    return f"{shape}, {text}" if column.field == "parameters" and own and shape else text


def _type_number(line: GraphNodeProto, root: GraphNodeProto, column: Column) -> str:
    own, left = getattr(line, column.field), getattr(line, f"total_{column.field}")
    every = getattr(root, f"total_{column.field}")
    part = [100 * x / every if every else 0 for x in (left, own)]
    unit = "" if column.unit in ("B", "us") else column.unit
    return f"{quantity(own, column)}{unit} ({part[0]:.2f}%, {part[1]:.2f}%)"


def quantity(number: int, column: Column) -> str:
    """60B, 34.67ms, 1.20k."""
    if column.unit == "B":
        return _scaled(number, ((10**9, "GB"), (10**6, "MB"), (10**3, "KB")), "B")
    if column.unit == "us":
        return _scaled(number, ((10**6, "sec"), (10**3, "ms")), "us")
    return _scaled(number, ((10**9, "b"), (10**6, "m"), (10**3, "k")), "")


def _scaled(number: int, scales: Sequence[tuple[int, str]], plain: str) -> str:
    for size, unit in scales:
        if number >= size:
            return f"{number / size:.2f}{unit}"
    return f"{number}{plain}"


def write(report: str, output: str) -> None:
    """Writes the report where the option ``output`` says."""
    sink, _, where = output.partition(":")
    if sink == "stdout":
        print(report, end="")
    elif sink == "file" and where.startswith("outfile="):
        with open(where.removeprefix("outfile="), "w", encoding="utf-8") as file:
            file.write(report)
    elif sink != "none":
        accepted = "'stdout', 'none', 'file:outfile=PATH' and, for cmd='graph', 'timeline:outfile=PATH'"
        raise errors.InvalidArgumentError(
            None, None, f"profile: unknown output {output!r}; accepted are {accepted} {at()}"
        )
