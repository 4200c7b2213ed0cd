"""An explanation as text: a section for each kind of record, in columns."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

from headrace.core.device import task_of

if TYPE_CHECKING:
    from headrace.runtime.explain.explanation import ExplainedPass, ExplainedStrand, ExplainedTransfer, Explanation

SHOWN = 6  # names in one line


def render(step: Explanation) -> str:
    """The whole report.  Device names lose their task where there is but one."""
    tasks = {task_of(p.name) for p in step.partitions}
    task = tasks.pop() if len(tasks) == 1 else ""
    return "\n\n".join([_summary(step), *_sections(step, task)])


def outline(step: Explanation, compile_mode: str) -> str:
    """Five lines: what runs where, and whether it is compiled.  ``compile_mode``: "auto", "always" or "off"."""
    tasks = {task_of(p.name) for p in step.partitions}
    task = tasks.pop() if len(tasks) == 1 else ""
    on = Counter(device for n in step.nodes for device in [n.device.replace(task, "") if task else n.device])
    crossing = [t for t in step.transfers if t.message]
    sizes = [t.bytes for t in crossing]
    size = "" if not sizes else f" of {_bytes(None if None in sizes else sum(filter(None, sizes)))}"
    waits = [s.waits_for for s in step.strands if s.waits_for]
    more = [f"... ({len(waits)} in all)"] if len(waits) > SHOWN else []
    lines = {
        "devices": ", ".join(f"{device} ({_count(number, 'node')})" for device, number in on.most_common()),
        "nodes": f"{len(step.nodes)} placed, {sum(p.nodes for p in step.partitions)} run after rewrites",
        "partitions": f"{len(step.partitions)}, which exchange {_count(len(crossing), 'message')}{size}"
        if len(step.partitions) > 1
        else "1: nothing is sent",
        "waits": "; ".join([*waits[:SHOWN], *more]) or "nothing",
        "compiled": _compiled(step, compile_mode),
    }
    return "\n".join(f"  {name:<10}  {text}" for name, text in lines.items())


def _compiled(step: Explanation, mode: str) -> str:
    """Whether the step is compiled, and why not, or when."""
    tiers = Counter(s.tier for s in step.strands if s.tier)
    if tiers["compiled"] or tiers["being compiled"] or tiers["to be compiled"]:
        return ", ".join(f"{_count(number, 'strand')} {tier}" for tier, number in tiers.most_common())
    if mode == "off":
        return 'no: compiling is off (ConfigProto(compile="off") or HEADRACE_COMPILE=off)'
    if all("device:CPU" in device for p in step.partitions for device in p.devices):
        asked = 'compile="auto" interprets steps on the CPU; compile="always" compiles them'
        return f"no: {asked}" if mode == "auto" else "no: nothing in it is left to a compiler"
    return "not yet: in the background, when it has run ten times with feeds of the same shapes"


def _summary(step: Explanation) -> str:
    running = sum(p.nodes for p in step.partitions)
    devices = {d for p in step.partitions for d in p.devices}
    messages = sum(bool(t.message) for t in step.transfers)
    line = f"{_count(len(step.nodes), 'node')} placed, {running} run, on {_count(len(devices), 'device')}"
    line += f" in {_count(len(step.partitions), 'partition')}"
    return line + (f" that exchange {_count(messages, 'message')}" if messages else "")


def _sections(step: Explanation, task: str) -> Iterator[str]:
    def table(title: str, header: Sequence[str], rows: Sequence[Sequence[Any]]) -> str:
        return text_table(
            title, header, [[str(cell).replace(task, "") if task else str(cell) for cell in r] for r in rows]
        )

    yield table(
        "Partitions", ("partition", "nodes", "strands", "threads", "sends", "takes", "devices"),
        [
            (p.name, p.nodes, p.strands, "?" if p.threads is None else p.threads, p.sends, p.takes, " ".join(p.devices))
            for p in step.partitions
        ],
    )  # fmt: skip
    many = len(step.partitions) > 1
    yield table(
        "Nodes", ("node", "op", "device", "strand", "why"),
        [
            (n.name, n.op, n.device, "-" if n.strand is None else n.strand, n.why + (f" (in {n.body})" if n.body else ""))
            for n in step.nodes
        ],
    )  # fmt: skip
    if step.transfers:
        columns = ("from", "to", "message", "round", "bytes", "values")
        yield table("Transfers", columns, [_transfer(t) for t in step.transfers])
    if step.spans:
        rows = [(s.name, s.op, " ".join(s.partitions), s.source) for s in step.spans]
        yield table("Loops and conditionals over several partitions", ("node", "op", "partitions", "made at"), rows)
    header = ("strand", "after", "runs", "nodes", "on arrays", "threads", "what")
    yield table("Strands", (*["partition"] * many, *header), [_strand(s, many) for s in step.strands])
    if step.passes:
        changed = [p for p in step.passes if p.diff or p.reordered]
        title = f"Passes: {len(changed)} of {_count(len(step.passes), 'run')} changed something"
        yield table(title, ("pass", "graph", "nodes", "after", "gone", "new"), [_pass(p) for p in changed])
        for one in changed:
            if one.diff:
                text = f"{one.name}: {one.graph}\n{_indented(one.diff)}"
                yield text.replace(task, "") if task else text


def _transfer(transfer: ExplainedTransfer) -> Sequence[Any]:
    what = ", ".join(f"{v.name} {v.type}" for v in transfer.values[:SHOWN]) or "(a signal)"
    if len(transfer.values) > SHOWN:
        what += f", ... ({len(transfer.values)} in all)"
    if transfer.body:
        what += f" (each time in {transfer.body})"
    message = transfer.message.rpartition(" ")[2] or "copy"
    number = "-" if transfer.round is None else transfer.round
    return transfer.source, transfer.destination, message, number, _bytes(transfer.bytes), what


def _strand(strand: ExplainedStrand, many: bool) -> Sequence[Any]:
    tier = strand.tier or "waits"
    if strand.regions:
        tier += f" ({_count(strand.regions, 'region')})"
    after = " ".join(map(str, strand.after)) or "-"
    what = strand.waits_for or _what(strand.nodes)
    row = (strand.index, after, tier, len(strand.nodes), strand.arrays, strand.threads, what)
    return (strand.partition, *row) if many else row


def _what(nodes: Sequence[str]) -> str:
    """The nodes of a strand, and the messages that it sends."""
    sends = [n.rpartition(" ")[2].partition("/")[0] for n in nodes if n.startswith("_send/")]
    names = [n for n in nodes if not n.startswith("_send/")]
    words = [*names[:SHOWN], *["..."] * (len(names) > SHOWN)]
    if sends:
        words.append(f"{'; ' * bool(names)}sends message{'s' * (len(sends) > 1)} {', '.join(sends)}".lstrip())
    return " ".join(words).replace(" ; ", "; ")


def _pass(one: ExplainedPass) -> Sequence[Any]:
    lines = one.diff.splitlines()
    gone, new = (sum(line.startswith(sign) for line in lines) for sign in "-+")
    return one.name, one.graph, one.before, one.after, gone, f"{new}{' (reordered)' * one.reordered}"


def text_table(title: str, header: Sequence[str], rows: Sequence[Sequence[Any]]) -> str:
    cells = [list(map(str, row)) for row in (header, *rows)]
    widths = [max(len(row[i]) for row in cells) for i in range(len(header))]
    lines = ["  " + "  ".join(c.ljust(w) for c, w in zip(row, widths, strict=True)).rstrip() for row in cells]
    return "\n".join([title, *lines])


def _indented(text: str) -> str:
    return "\n".join(f"  {line}" for line in text.splitlines())


def _count(number: int, what: str) -> str:
    return f"{number} {what}{'' if number == 1 else 's'}"


def _bytes(number: int | None) -> str:
    if number is None:
        return "?"
    size, unit = float(number), "B"
    for larger in ("KiB", "MiB", "GiB", "TiB"):
        if size < 1024:
            break
        size, unit = size / 1024, larger
    return f"{size:.0f} {unit}" if unit == "B" else f"{size:.1f} {unit}"
