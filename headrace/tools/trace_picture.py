"""A step of a timeline as a small SVG picture: a row for each thread, what computes, what waits, and messages between tasks."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape

from headrace.library.testing.profiler.findings import Event
from headrace.library.testing.profiler.wait_cause import task_name

WIDTH, MARGIN, ROW, LETTER = 960, 170, 20, 6.2
EDGE = 'stroke="#fff" stroke-width=".5"'
COLOURS = {"Op": "#4c78a8", "Wait": "#f2cf9b", "Stage": "#72b7b2"}


def picture(events: Sequence[Event]) -> str:
    """The last step of the trace."""
    step = [e for e in events if e.get("cat") == "Step"][-1]
    began, ended = step["ts"], step["ts"] + step["dur"]
    slices = [
        e for e in events if e["ph"] == "X" and e["cat"] in COLOURS and e["ts"] < ended and e["ts"] + e["dur"] > began
    ]  # fmt: skip
    rows = {lane: i for i, lane in enumerate(sorted({_lane(e) for e in slices}))}
    per_micro = (WIDTH - MARGIN - 10) / max(ended - began, 1)

    def x(time: int) -> float:
        return round(MARGIN + (min(max(time, began), ended) - began) * per_micro, 1)

    def y(event: Event) -> int:
        return ROW * (rows[_lane(event)] + 1)

    parts = [_text(4, ROW * (i + 1) + 13, title) for i, title in enumerate(_titles(events, rows))]
    for e in slices:
        left, wide = x(e["ts"]), max(x(e["ts"] + e["dur"]) - x(e["ts"]), 0.5)
        said = f"{e['name']} ({e['args']['name']}, {e['dur']} us) {e['args'].get('source', '')}"
        box = f'x="{left}" y="{y(e) + 2}" width="{wide:.1f}" height="{ROW - 4}" fill="{COLOURS[e["cat"]]}"'
        parts.append(f"<rect {box} {EDGE}><title>{escape(said)}</title></rect>")
        if len(e["name"]) * LETTER < wide:
            parts.append(_text(left + 3, y(e) + 14, e["name"], "#222" if e["cat"] == "Wait" else "#fff"))
    parts += [
        f'<line x1="{x(s["ts"])}" y1="{y(s) + ROW / 2}" x2="{x(f["ts"])}" y2="{y(f) + ROW / 2}" '
        'stroke="#333" marker-end="url(#tip)"/>'
        for s, f in _messages(events, began, ended)
    ]  # fmt: skip
    height = ROW * (len(rows) + 2)
    parts.append(_text(MARGIN, height - 6, "0"))
    parts.append(_text(WIDTH - 70, height - 6, f"{step['dur'] / 1000:.3g} ms"))
    shape = 'markerWidth="6" markerHeight="6" refX="5" refY="3" orient="auto"'
    tip = f'<defs><marker id="tip" {shape}><path d="M0 0L6 3L0 6z"/></marker></defs>'
    size = f'width="{WIDTH}" height="{height}" viewBox="0 0 {WIDTH} {height}"'
    back = f'<rect width="{WIDTH}" height="{height}" fill="#fff"/>'
    return "\n".join([f'<svg xmlns="http://www.w3.org/2000/svg" {size}>', tip, back, *parts, "</svg>"]) + "\n"


def _lane(event: Event) -> tuple[int, int]:
    return event["pid"], event["tid"]


def _titles(events: Sequence[Event], rows: dict[tuple[int, int], int]) -> list[str]:
    """For each row the task and device, and the thread."""
    devices = {e["pid"]: e["args"]["name"].removesuffix(" Compute") for e in events if e["name"] == "process_name"}
    threads = {_lane(e): e["args"]["name"] for e in events if e["name"] == "thread_name"}
    return [
        f"{task_name(devices[pid])} {devices[pid].rpartition('device:')[2]} {threads.get((pid, tid), '')}"
        for pid, tid in rows
    ]


def _messages(events: Sequence[Event], began: int, ended: int) -> list[tuple[Event, Event]]:
    """The two ends of the arrows between what sends and what receives within the step."""
    arrows = [e for e in events if e["ph"] in "sf" and e["cat"] == "Message"]
    return [
        (sent, taken) for sent, taken in zip(arrows[::2], arrows[1::2], strict=True)
        if began <= sent["ts"] <= ended and began <= taken["ts"] <= ended
    ]  # fmt: skip


def _text(x: float, y: float, text: str, fill: str = "#222") -> str:
    return f'<text x="{x}" y="{y}" style="font: 11px sans-serif" fill="{fill}">{escape(text)}</text>'
