"""The picture in the README: `python -m benchmarks picture` draws docs/speed.svg from the steps that docs/speed.md shows.

A row for each whole model, a dot for each peer at the ratio of Headrace's step time to its own: left of the line, Headrace is
faster.  The numbers are those of the table.  Plain SVG, made without any library.
"""

from __future__ import annotations

import json
import math
import re
import sys
from pathlib import Path
from typing import Any

from benchmarks import _harness, _step_table

PAGE = _harness.ROOT / "docs/speed.md"
PICTURE = _harness.ROOT / "docs/speed.svg"
COLOURS = {"TensorFlow": "#e07b00", "PyTorch eager": "#7a4fbf", "torch.compile": "#c2185b", "JAX": "#00796b"}
NO_MODELS = ("null step", "1,000 tiny ops", "logistic regression")  # what they measure is Python's overhead
LEAST, MOST = 0.3, 1.4  # the ends of the axis
LEFT, WIDTH, ROW, TOP = 220, 480, 26, 70


def source() -> Path:
    """The results that the page's table of steps is made from."""
    before, mark, _ = PAGE.read_text(encoding="utf-8").partition("<!-- steps -->")
    names = re.findall(r"benchmarks/results/(steps-[\d-]+\.json)", before)
    if not mark or not names:
        raise ValueError(f"{PAGE} names no results above <!-- steps -->")
    return _harness.RESULTS / names[-1]


def x_of(ratio: float) -> float:
    """Where a ratio lies, on a logarithmic axis."""
    return LEFT + WIDTH * math.log(ratio / LEAST) / math.log(MOST / LEAST)


def svg(result: dict[str, Any]) -> str:
    """The picture."""
    (_, _, *peers), *rows = _step_table.against_each(result)
    peers = [peer.removeprefix("/ ") for peer in peers]
    rows = [row for row in rows if not row[0].startswith(NO_MODELS)]
    height = TOP + ROW * len(rows) + 40
    lines = [
        f'<svg xmlns="http://www.w3.org/2000/svg" width="760" height="{height}" viewBox="0 0 760 {height}" '
        'font-family="sans-serif" font-size="12">',
        f'<rect width="760" height="{height}" fill="white"/>',
        '<text x="16" y="22" font-size="14">Time of a training step: Headrace / peer '
        "(left of the line, Headrace is faster)</text>",
    ]
    for i, peer in enumerate(peers):
        x = LEFT + 125 * i
        lines.append(f'<circle cx="{x}" cy="42" r="5" fill="{COLOURS[peer]}"/><text x="{x + 10}" y="46">{peer}</text>')
    bottom = TOP + ROW * len(rows)
    for tick in (0.35, 0.5, 0.7, 1.0, 1.2):
        stroke = "black" if tick == 1.0 else "#dddddd"
        lines.append(
            f'<line x1="{x_of(tick):.1f}" y1="{TOP - 8}" x2="{x_of(tick):.1f}" y2="{bottom}" stroke="{stroke}"/>'
        )
        lines.append(f'<text x="{x_of(tick):.1f}" y="{bottom + 16}" text-anchor="middle">{tick:g}</text>')
    for i, (title, _, *ratios) in enumerate(rows):
        y = TOP + ROW * i + ROW // 2
        lines.append(f'<text x="{LEFT - 12}" y="{y + 4}" text-anchor="end">{title}</text>')
        for peer, text in zip(peers, ratios, strict=True):
            if text != "-":
                x = x_of(min(max(float(text), LEAST), MOST))
                lines.append(f'<circle cx="{x:.1f}" cy="{y}" r="5" fill="{COLOURS[peer]}" fill-opacity="0.85"/>')
    where = f"{result['processor']}, {result.get('threads') or result['cpus']} threads, {result['time'][:10]}"
    lines.append(
        f'<text x="16" y="{height - 6}" fill="#555555" font-size="10">{where}; docs/speed.md has the numbers</text>'
    )
    return "\n".join([*lines, "</svg>"]) + "\n"


def main(argv: list[str]) -> int:
    """Draws it."""
    PICTURE.write_text(svg(json.loads(source().read_text())), encoding="utf-8")
    print(f"picture: {PICTURE}")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
