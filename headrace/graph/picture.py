"""A picture of a graph by name scopes, as SVG: a box for each scope at the top, an arrow where tensors go from one to another.

Scopes are in columns from left to right, each after those whose tensors it uses.  A large graph has its largest scopes drawn; the
others are one box.
"""

from __future__ import annotations

from collections import Counter
from html import escape
from typing import Any, Final

from headrace.core.card import card

MOST: Final = 40  # boxes
_REST: Final = "..."
_WIDTH, _HEIGHT, _GAP_X, _GAP_Y = 170, 40, 50, 14
_LETTERS = 22


def graph_svg(graph: Any) -> str:
    """The picture."""
    sizes, arrows = _scopes(graph)
    places = _places(sizes, arrows)
    width = max((x for x, _ in places.values()), default=0) + _WIDTH + 10
    height = max((y for _, y in places.values()), default=0) + _HEIGHT + 10
    lines = [_arrow(places[a], places[b], f"{a} to {b}: {count} tensors") for (a, b), count in arrows.items()]
    boxes = [_box(places[name], name, f"{size} ops") for name, size in sizes.items()]
    head = (
        '<defs><marker id="tip" viewBox="0 0 8 8" refX="8" refY="4" markerWidth="7" markerHeight="7" orient="auto">'
        '<path d="M0 0 L8 4 L0 8 z" fill="#888"/></marker></defs>'
    )
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" viewBox="0 0 {width} {height}" '
        f'font-family="sans-serif" font-size="12">{head}{"".join(lines)}{"".join(boxes)}</svg>'
    )


def graph_html(graph: Any) -> str:
    """The graph in a notebook: how large it is, and the picture."""
    ops = graph.get_operations()
    common = ", ".join(f"{name} {count}" for name, count in Counter(op.type for op in ops).most_common(5))
    facts = {"operations": len(ops), "most common": common, "finalized": "yes" if graph.finalized else "no"}
    return card("tf.Graph", facts, graph_svg(graph) if ops else "")


def _scopes(graph: Any) -> tuple[dict[str, int], dict[tuple[str, str], int]]:
    """How many ops each scope has, in the order they were begun, and how many tensors go from one to another."""
    sizes: Counter[str] = Counter()
    for op in graph.get_operations():
        sizes[op.name.partition("/")[0]] += 1
    drawn = set(sizes) if len(sizes) <= MOST else {name for name, _ in sizes.most_common(MOST - 1)}
    merged: dict[str, int] = {}
    for name, size in sizes.items():
        shown = name if name in drawn else _REST
        merged[shown] = merged.get(shown, 0) + size
    arrows: Counter[tuple[str, str]] = Counter()
    for op in graph.get_operations():
        target = op.name.partition("/")[0]
        for tensor in op.inputs:
            source = tensor.op.name.partition("/")[0]
            ends = tuple(end if end in drawn else _REST for end in (source, target))
            if ends[0] != ends[1]:
                arrows[ends[0], ends[1]] += 1
    return merged, dict(arrows)


def _places(sizes: dict[str, int], arrows: dict[tuple[str, str], int]) -> dict[str, tuple[int, int]]:
    """The corner of each box.  Scopes may use each other's tensors: only those begun before count for the column."""
    order = {name: i for i, name in enumerate(sizes)}
    columns: dict[str, int] = {}
    for name in sizes:
        before = [columns[a] for a, b in arrows if b == name and order[a] < order[name]]
        columns[name] = max(before, default=-1) + 1
    rows: Counter[int] = Counter()
    places = {}
    for name, column in columns.items():
        places[name] = 5 + column * (_WIDTH + _GAP_X), 5 + rows[column] * (_HEIGHT + _GAP_Y)
        rows[column] += 1
    return places


def _box(corner: tuple[int, int], name: str, below: str) -> str:
    x, y = corner
    shown = name if len(name) <= _LETTERS else f"{name[: _LETTERS - 1]}…"
    return (
        f'<g><title>{escape(name)}: {below}</title><rect x="{x}" y="{y}" width="{_WIDTH}" height="{_HEIGHT}" rx="6" '
        f'fill="#eef3fb" stroke="#5b7db1"/><text x="{x + 8}" y="{y + 17}">{escape(shown)}</text>'
        f'<text x="{x + 8}" y="{y + 32}" fill="#666">{below}</text></g>'
    )


def _arrow(start: tuple[int, int], end: tuple[int, int], title: str) -> str:
    x1, y1, x2, y2 = start[0] + _WIDTH, start[1] + _HEIGHT // 2, end[0], end[1] + _HEIGHT // 2
    return (
        f'<path d="M{x1} {y1} C{x1 + 30} {y1} {x2 - 30} {y2} {x2} {y2}" fill="none" stroke="#888" '
        f'marker-end="url(#tip)"><title>{escape(title)}</title></path>'
    )
