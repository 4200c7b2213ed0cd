"""Draws the pictures of the docs: ``python docs/site/pictures.py`` writes them again.  A test compares them with the files.

A picture is boxes and arrows.  Boxes are named, and an arrow goes from the side of one to the side of another.
"""

from collections.abc import Iterable
from html import escape
from pathlib import Path
from typing import NamedTuple

DOCS = Path(__file__).parents[1]
COLOURS = {
    "user": ("#fff4e0", "#c77700"), "once": ("#e8f0fe", "#2456a6"), "each": ("#e6f4ea", "#1e7a3c"),
    "group": ("#fafafa", "#bbbbbb"),
}  # fmt: skip
STYLE = "text{font:13px sans-serif;fill:#222}.b{font-weight:bold}.s{font-size:11px;fill:#555}"
HEAD = (
    '<marker id="head" markerWidth="9" markerHeight="8" refX="8" refY="4" orient="auto">'
    '<path d="M0,0L9,4L0,8z" fill="#444"/></marker>'
)
LINE = 16
SIDES = {"left": (0, 0.5), "right": (1, 0.5), "top": (0.5, 0), "bottom": (0.5, 1)}


class Box(NamedTuple):
    """A rectangle: its first line is bold, the others are small."""

    x: int
    y: int
    width: int
    height: int
    kind: str
    lines: tuple[str, ...]

    def side(self, name: str) -> tuple[float, float]:
        across, down = SIDES[name]
        return self.x + across * self.width, self.y + down * self.height

    def svg(self) -> str:
        fill, stroke = COLOURS[self.kind]
        place = f'x="{self.x}" y="{self.y}" width="{self.width}" height="{self.height}"'
        top = 18 if self.kind == "group" else (self.height - LINE * len(self.lines)) / 2 + 12
        middle = self.x + self.width / 2
        texts = [
            f'<text class="{"s" if i else "b"}" x="{middle:g}" y="{self.y + top + LINE * i:g}" text-anchor="middle">'
            f"{escape(line)}</text>"
            for i, line in enumerate(self.lines)
        ]
        return "\n".join([f'<rect {place} rx="6" fill="{fill}" stroke="{stroke}"/>', *texts])


class Arrow(NamedTuple):
    """From ``plan.bottom`` to ``code.top``, straight, with words beside its middle."""

    start: str
    end: str
    words: str = ""


def picture(title: str, boxes: dict[str, Box], arrows: Iterable[Arrow]) -> str:
    """The SVG file."""
    width = max(box.x + box.width for box in boxes.values()) + 10
    height = max(box.y + box.height for box in boxes.values()) + 10
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}" role="img">',
        f"<title>{escape(title)}</title>",
        f"<style>{STYLE}</style>",
        f"<defs>{HEAD}</defs>",
        f'<rect width="{width}" height="{height}" fill="white"/>',
        *(box.svg() for box in boxes.values()),
    ]
    for arrow in arrows:
        (x1, y1), (x2, y2) = (boxes[name].side(side) for name, side in (arrow.start.split("."), arrow.end.split(".")))
        parts.append(
            f'<line x1="{x1:g}" y1="{y1:g}" x2="{x2:g}" y2="{y2:g}" stroke="#444" stroke-width="1.4" marker-end="url(#head)"/>'
        )
        if arrow.words:
            level = y1 == y2
            x, y, anchor = (x1 + x2) / 2 - (0 if level else 10), (y1 + y2) / 2 - 6, "middle" if level else "end"
            parts.append(f'<text class="s" x="{x:g}" y="{y:g}" text-anchor="{anchor}">{escape(arrow.words)}</text>')
    return "\n".join([*parts, "</svg>\n"])


def life_of_a_step() -> str:
    boxes = {
        "once": Box(300, 10, 560, 342, "group", ("once for each request",)),
        "call": Box(10, 120, 190, 64, "user", ("sess.run(fetches, feeds)", "your program")),
        "map": Box(10, 240, 190, 64, "each", ("map fetches and feeds", "nested structure to tensors")),
        "known": Box(10, 376, 190, 64, "each", ("look for the plan", "kept by request")),
        "prune": Box(330, 44, 220, 64, "once", ("prune and fold", "keep what the fetches need")),
        "place": Box(610, 44, 220, 64, "once", ("place", "a device for each node")),
        "rewrite": Box(610, 144, 220, 64, "once", ("rewrite", "share, simplify, fuse updates")),
        "strands": Box(330, 144, 220, 64, "once", ("cut into strands", "nodes that are ready together")),
        "code": Box(330, 250, 220, 76, "once", ("generate code", "one Python function", "for each strand")),
        "compile": Box(
            610, 250, 220, 76, "once", ("compile", "hot steps, in another process;", "kept if it is faster")
        ),
        "drive": Box(330, 376, 220, 64, "each", ("drive", "run strands as they become ready")),
        "kernels": Box(610, 376, 220, 64, "each", ("kernels", "torch, on each device")),
        "result": Box(330, 484, 220, 64, "each", ("rebuild the structure", "numpy arrays, in your shape")),
        "back": Box(10, 484, 190, 64, "user", ("values", "back in your program")),
    }
    arrows = [
        Arrow("call.bottom", "map.top"), Arrow("map.bottom", "known.top"),
        Arrow("known.right", "drive.left", "there"), Arrow("known.right", "prune.left", "not there"),
        Arrow("prune.right", "place.left"), Arrow("place.bottom", "rewrite.top"), Arrow("rewrite.left", "strands.right"),
        Arrow("strands.bottom", "code.top"), Arrow("code.right", "compile.left", "hot"),
        Arrow("code.bottom", "drive.top"), Arrow("compile.bottom", "kernels.top"), Arrow("drive.right", "kernels.left"),
        Arrow("drive.bottom", "result.top"), Arrow("result.left", "back.right"),
    ]  # fmt: skip
    return picture("The life of a step", boxes, arrows)


def step_over_tasks() -> str:
    boxes = {
        "client": Box(10, 70, 200, 200, "group", ("your program",)),
        "worker": Box(300, 10, 240, 330, "group", ("worker 0",)),
        "ps": Box(630, 10, 240, 330, "group", ("parameter server 0",)),
        "master": Box(
            25, 102, 170, 80, "once", ("master", "cuts the step, once;", "begins its partitions", "on all tasks")
        ),
        "run": Box(25, 200, 170, 50, "user", ("sess.run(train)",)),
        "read": Box(650, 50, 200, 50, "each", ("read w", "where the variable is")),
        "send": Box(650, 120, 200, 44, "each", ("send w",)),
        "take": Box(320, 120, 200, 44, "each", ("take w",)),
        "compute": Box(320, 185, 200, 54, "each", ("forward and backward", "on this worker's batch")),
        "gradient": Box(320, 265, 200, 54, "each", ("send the gradient",)),
        "apply": Box(650, 265, 200, 54, "each", ("update w", "in its place")),
    }
    arrows = [
        Arrow("run.top", "master.bottom"), Arrow("master.right", "take.left", "begin"),
        Arrow("read.bottom", "send.top"), Arrow("send.left", "take.right", "w"), Arrow("take.bottom", "compute.top"),
        Arrow("compute.bottom", "gradient.top"), Arrow("gradient.right", "apply.left", "gradient"),
    ]  # fmt: skip
    return picture("One step over two tasks", boxes, arrows)


PICTURES = {"life_of_a_step.svg": life_of_a_step, "step_over_tasks.svg": step_over_tasks}

if __name__ == "__main__":
    for name, draw in PICTURES.items():
        (DOCS / name).write_text(draw())
