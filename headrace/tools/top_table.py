"""The tables of ``headrace top``: a report -> what rich draws.  Made for terminals of 80 columns and more."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

from rich import box
from rich.console import Group, JustifyMethod, RenderableType
from rich.table import Table
from rich.text import Text

from headrace.core.device import short

BAR = 10  # characters of a full queue
_SENDER = re.compile(r"(/job:\S+)>/job:")  # in the key of a message between partitions


def tables(report: dict[str, Any], title: str = "") -> RenderableType:
    """Everything that is shown; parts that are empty are left out."""
    parts: list[RenderableType] = [Text(title, style="bold"), Text("")] if title else []
    parts.append(_tasks(report["tasks"]))
    parts += _remarks(report["tasks"])
    if report["waits"]:
        parts += [Text(""), _waits(report["waits"])]
    if report["queues"]:
        parts += [Text(""), _queues(report["queues"])]
    if report["replicas"]:
        parts += [Text(""), _replicas(report["replicas"])]
    if report["stages"]:
        parts += [Text(""), _stages(report["stages"])]
    if report["visitors"]:
        parts += [Text(""), _visitors(report["visitors"])]
    if report["links"]:  # last: there are many of them, and a small terminal cuts them off
        parts += [Text(""), _links(report["links"])]
    return Group(*parts)


def _table(*columns: str) -> Table:
    """Columns whose names begin with ">" are for numbers, that whose name ends with "..." for text that may be long."""
    table = Table(box=box.SIMPLE_HEAD, show_edge=False, pad_edge=False, header_style="bold cyan")
    for name in columns:
        justify: JustifyMethod = "right" if name.startswith(">") else "left"
        table.add_column(name.strip(">."), justify=justify, no_wrap=not name.endswith("..."), overflow="fold")
    return table


def _tasks(tasks: Sequence[dict[str, Any]]) -> Table:
    table = _table("task", ">up", ">sessions", ">steps/s", ">under way", ">memory", ">variables")
    for task in tasks:
        if "error" in task:
            table.add_row(Text(short(task["task"]), style="red"), *["-"] * 6)
            continue
        table.add_row(
            short(task["task"]), duration(task["uptime"]), str(task["sessions"]), number(task["steps_per_second"]),
            str(len(task["steps"])), size(_memory(task)), size(sum(d["variable_bytes"] for d in task["devices"])),
        )  # fmt: skip
    return table


def _remarks(tasks: Sequence[dict[str, Any]]) -> list[Text]:
    """What the columns have no room for: why a task does not answer, what it has refused, which processes have several."""
    remarks = [Text(line) for line in _processes(tasks)]
    for task in tasks:
        if "error" in task:
            remarks.append(Text(f"{short(task['task'])} does not answer: {short(task['error'])}", style="red"))
        elif task["refused"]:
            reasons = ", ".join(f"{reason} {count}" for reason, count in sorted(task["refused"].items()))
            remarks.append(Text(f"{short(task['task'])} has refused: {reasons}", style="yellow"))
    return remarks


def _processes(tasks: Sequence[dict[str, Any]]) -> list[str]:
    """Where tasks are that have moved, and the processes that have more than one."""
    lines = []
    together: dict[tuple[Any, Any], list[str]] = {}
    for task in tasks:
        if task["task"] in task.get("moves", {}):
            lines.append(f"{short(task['task'])} has moved to {task['address']}")
        if "process" in task:
            together.setdefault((task["host"], task["process"]), []).append(short(task["task"]))
    lines += [
        f"process {process} on {host} has {', '.join(names)}"
        for (host, process), names in together.items()
        if len(names) > 1
    ]
    return lines


def _memory(task: dict[str, Any]) -> int | None:
    """What the process takes of the machine's memory and of its accelerators'."""
    counted = [d["bytes_in_use"] for d in task["devices"] if d["bytes_in_use"] is not None]
    if task["resident_bytes"] is None and not counted:
        return None
    return (task["resident_bytes"] or 0) + sum(counted)


def _links(links: Sequence[dict[str, Any]]) -> Table:
    table = _table("link", ">bytes/s", ">messages/s", ">bytes", ">messages")
    for link in links:
        table.add_row(
            f"{short(link['from'])} -> {short(link['to'])}", size(link["bytes_per_second"]),
            number(link["messages_per_second"]), size(link["bytes"]), str(link["messages"]),
        )  # fmt: skip
    return table


def _visitors(visitors: Sequence[dict[str, Any]]) -> Table:
    """Who has connected to each task; red: its connections are over."""
    table = _table("connected to", "who", "at...", ">last heard", ">sessions")
    for visitor in visitors:
        who = Text(short(visitor["task"]) or "a client", style="" if visitor["connections"] else "red")
        heard = f"{duration(visitor['silent_seconds'])} ago"
        table.add_row(short(visitor["on"]), who, visitor["address"], heard, str(visitor["sessions"]))
    return table


def _queues(queues: Sequence[dict[str, Any]]) -> Table:
    table = _table("queue...", "on", "filled", ">elements", ">wait to add", ">wait to take")
    for queue in queues:
        name = Text(queue["name"])
        if queue["closed"]:
            name.append(" (closed)", style="dim")
        capacity = "no limit" if queue["capacity"] < 0 else str(queue["capacity"])
        table.add_row(
            name, short(queue["task"]), _bar(queue["size"], queue["capacity"]), f"{queue['size']} of {capacity}",
            str(queue["waiting_to_add"]), str(queue["waiting_to_take"]),
        )  # fmt: skip
    return table


def _replicas(replicas: Sequence[dict[str, Any]]) -> Table:
    """Workers that train together.  Late is the part of the gradients that was dropped, staleness the mean of the others."""
    table = _table("replicas...", "on", ">workers", ">updates", ">late", ">staleness", "slow (times the median)...")
    for one in replicas:
        counted = sum(tally["counted"] for tally in one["by_worker"].values())
        late = sum(tally["late"] for tally in one["by_worker"].values())
        stale = sum(int(steps) * count for steps, count in one["staleness"].items())
        slow = ", ".join(f"{short(worker)} ({times:.1f})" for worker, times in one["slow"])
        table.add_row(
            one["name"], short(one["task"]), str(one["workers"]), str(one["updates"]),
            f"{100 * late / (late + counted):.1f} %" if late + counted else "-", number(stale / counted if counted else None),
            Text(slow, style="yellow"),
        )  # fmt: skip
    return table


def _stages(stages: Sequence[dict[str, Any]]) -> Table:
    """Computing is in cores: 1 is one thread that does nothing else.  Waited is the part of the time that others wait for it."""
    table = _table("stage of a dataset...", "on", ">elements/s", ">computing", ">waited", "filled")
    for stage in stages:
        table.add_row(
            stage["stage"], short(stage["task"]), number(stage["elements_per_second"]), number(stage["computing"]),
            number(stage["waited"]), "" if stage["held"] is None else f"{stage['held']} of {stage['room']}",
        )  # fmt: skip
    return table


def _bar(count: int, capacity: int) -> Text:
    if capacity <= 0:
        return Text("")
    full = min(BAR, round(BAR * count / capacity))
    return Text("#" * full + "." * (BAR - full), style="yellow" if count >= capacity else "green")


def _waits(waits: Sequence[dict[str, Any]]) -> Table:
    table = _table("on", ">step", ">for", "who waits on what...")
    for wait in waits:
        table.add_row(short(wait["task"]), str(wait["step"]), duration(wait["seconds"]), who_waits(wait))
    return table


def who_waits(wait: dict[str, Any]) -> str:
    """One wait in words."""
    if wait["op"] == "_RecvMany" and (senders := sorted(set(_SENDER.findall(wait["for"])))):
        return f"{' and '.join(map(short, senders))} has not sent a value for {wait['made_at']}"
    who = f"{wait['node']} ({wait['op']}, {wait['made_at']})" if wait["node"] else "an eager op"
    return short(f"{who}: {wait['for'] or 'its own work'}")


# ---- numbers for people


def number(value: float | None) -> str:
    """A rate with three digits; "-" if nobody knows."""
    if value is None:
        return "-"
    return f"{value:.0f}" if value >= 100 else f"{value:.3g}"


def size(value: float | None) -> str:
    """Bytes in the unit that suits: 1.5 kB, 20 MB; "-" if nobody knows."""
    if value is None:
        return "-"
    for unit in ("B", "kB", "MB", "GB"):
        if value < 999.5:
            return f"{number(value)} {unit}"
        value /= 1000
    return f"{number(value)} TB"


def duration(seconds: float) -> str:
    """3.2 s, 4:05, 2:03:59."""
    if seconds < 60:
        return f"{seconds:.1f} s"
    minutes, rest = divmod(int(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{rest:02}" if hours else f"{minutes}:{rest:02}"
