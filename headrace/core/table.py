"""Table: rows with names of columns, as text for a terminal and as HTML for a notebook."""

from __future__ import annotations

import html
from collections.abc import Mapping, Sequence
from typing import Any


class Table:
    """What a report is: a title, rows (dicts with the same keys), and a last line with totals.

    Args:
      title: The first line.
      rows: Dicts with the same keys, which head the columns.
      end: The last line; "" for none.

    >>> from headrace.core.table import Table
    >>> print(Table('two things', [{'name': 'a', 'bytes': 4}, {'name': 'long', 'bytes': 16}], 'together 20'))
    two things
    name  bytes
    a         4
    long     16
    together 20
    """

    def __init__(self, title: str, rows: Sequence[Mapping[str, Any]], end: str = "") -> None:
        self.title = title
        self.rows = list(rows)
        self.end = end

    def __len__(self) -> int:
        return len(self.rows)

    def __iter__(self) -> Any:
        return iter(self.rows)

    def _columns(self) -> list[str]:
        return list(self.rows[0]) if self.rows else []

    def _is_number(self, column: str) -> bool:
        return all(isinstance(row.get(column), (int, float)) for row in self.rows)

    def lines(self) -> list[str]:
        """The rows under their names, numbers to the right."""
        columns = self._columns()
        right = [self._is_number(column) for column in columns]
        cells = [columns, *([_text(row.get(column, "")) for column in columns] for row in self.rows)]
        widths = [max(len(line[i]) for line in cells) for i in range(len(columns))]
        return [
            "  ".join(
                cell.rjust(width) if number else cell.ljust(width)
                for cell, width, number in zip(line, widths, right, strict=True)
            ).rstrip()
            for line in (cells if columns else [])
        ]

    def __str__(self) -> str:
        return "\n".join(filter(None, [self.title, *self.lines(), self.end]))

    __repr__ = __str__

    def _repr_html_(self) -> str:
        columns = self._columns()
        head = "".join(f"<th>{html.escape(column)}</th>" for column in columns)
        rows = "".join(
            "<tr>" + "".join(f"<td>{html.escape(_text(row.get(column, '')))}</td>" for column in columns) + "</tr>"
            for row in self.rows
        )
        return (
            f"<table><caption>{html.escape(self.title)}</caption><thead><tr>{head}</tr></thead><tbody>{rows}</tbody>"
            f"<tfoot><tr><td colspan='{max(len(columns), 1)}'>{html.escape(self.end)}</td></tr></tfoot></table>"
        )


def _text(value: Any) -> str:
    return f"{value:,}" if type(value) is int else str(value)


def in_words(size: float) -> str:
    """A number of bytes for people."""
    for unit in ("bytes", "KB", "MB"):
        if size < 1000:
            return f"{size:.0f} {unit}" if unit == "bytes" else f"{size:.1f} {unit}"
        size /= 1000
    return f"{size:.1f} GB"
