"""The scalars of an event file as a picture: a panel for each tag, its values over the steps."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any, Final

WIDTH, HEIGHT, COLUMNS = 420, 240, 2
LEFT, RIGHT, TOP, BOTTOM = 64, 20, 26, 26  # of a panel, around its axes
MOST: Final = 100  # panels: a picture of more could not be looked at
INK, LINE, GRID = "#222222", "#4c78a8", "#dddddd"

Points = Sequence[tuple[int, float]]


def picture(curves: Mapping[str, Points]) -> Any:
    """A Pillow image of the curves, in the order of their names."""
    from PIL import Image, ImageDraw

    names = sorted(curves)[:MOST]
    columns = min(COLUMNS, len(names))
    image = Image.new("RGB", (WIDTH * columns, HEIGHT * math.ceil(len(names) / columns)), "white")
    canvas = ImageDraw.Draw(image)
    for i, name in enumerate(names):
        _panel(canvas, (i % columns) * WIDTH, (i // columns) * HEIGHT, name, curves[name])
    return image


def _panel(canvas: Any, x: int, y: int, name: str, points: Points) -> None:
    finite = [(step, value) for step, value in points if math.isfinite(value)]
    lost = len(points) - len(finite)
    title = name if len(name) <= 50 else f"{name[:24]}...{name[-23:]}"
    canvas.text((x + LEFT, y + 6), title + f" ({lost} not finite)" * bool(lost), fill=INK)
    box = (x + LEFT, y + TOP, x + WIDTH - RIGHT, y + HEIGHT - BOTTOM)
    canvas.rectangle(box, outline=GRID)
    if not finite:
        return
    steps, values = zip(*finite, strict=True)
    across = _scale(min(steps), max(steps), box[0], box[2])
    up = _scale(min(values), max(values), box[3], box[1])
    for value in {min(values), max(values)}:
        canvas.line((box[0], up(value), box[2], up(value)), fill=GRID)
        canvas.text((x + 4, up(value) - 6), f"{value:.4g}", fill=INK)
    for step in {min(steps), max(steps)}:
        canvas.text((across(step) - 8, box[3] + 6), str(step), fill=INK)
    line = [(across(step), up(value)) for step, value in finite]
    if len(line) == 1:
        canvas.circle(line[0], 2, fill=LINE)
    else:
        canvas.line(line, fill=LINE, width=2)


def _scale(low: float, high: float, begin: int, end: int) -> Any:
    """From numbers between two others to places between two others; equal numbers come to the middle."""
    if not high > low:
        return lambda value: (begin + end) / 2
    return lambda value: begin + (value / 2 - low / 2) / (high / 2 - low / 2) * (end - begin)  # halves do not overflow
