"""What a program would do on many machines: its step is planned for a cluster that is described, and simulated there.

    headrace simulate --workers 1:1000 --ps 1:64 --mode async,sync --slow pareto:1.5 train.py --batch=64

The program is run up to the step of its loop, as by `headrace explain`; a program for one machine is timed for some steps.  Then
the step is planned as for a real cluster, and a simulator runs it: tasks, links and messages, and the aggregator of
`tf.train.replicas` itself.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Final, TypeVar

from headrace.library.simulation.cluster import Cluster
from headrace.library.simulation.grid import Row, best_of, explore
from headrace.library.simulation.job import Job, Rules, computing, scaled
from headrace.library.simulation.law import Failures, counts_of, link_of, rate_of, slow_of
from headrace.library.simulation.machines import machine
from headrace.library.simulation.measure import measure
from headrace.library.simulation.modes import EVERY, MODES
from headrace.passes.cost.rates import Link
from headrace.tools.simulate_program import Plans, Wish, plan_all
from headrace.tools.time_text import time_text

T = TypeVar("T")
HEADER: Final = (
    "mode", "workers", "ps", "steps/s", "of ideal", "step", "90 %", "99 %", "of which", "server", "network", "late", "goodput",
    "ps holds", "worker holds",
)  # fmt: skip


class Options:
    """What the command was asked for; ValueError says what is wrong with it."""

    def __init__(self, **given: Any) -> None:
        self.workers = _of("--workers", counts_of, given["workers"])
        self.servers = _of("--ps", counts_of, given["ps"])
        self.modes = _modes(given["mode"])
        for name, least in {"backups": -1, "staleness": 0, "every": 1, "grace_ms": 0, "cores": 0, "events": 1}.items():
            if not least <= given[name] < float("inf"):
                raise ValueError(f"--{name.replace('_', '-')} must be at least {least}, got {given[name]:g}")
        if given["step"] is not None and given["step"] < 1:
            raise ValueError(f"--step is the number of a request, counted from 1; got {given['step']}")
        self.backups, self.staleness, self.every = given["backups"], given["staleness"], given["every"]
        self.quorum, self.grace = given["quorum"], given["grace_ms"] / 1000
        latency, bandwidth = _of("--link", link_of, given["link"])
        failures = Failures(
            _of("--fail", rate_of, given["fail"]), _seconds("--noticed", given["noticed"]),
            _seconds("--restart", given["restart"]),
            _positive("--save", given["save"]), _seconds("--copies", given["copies"]),
        )  # fmt: skip
        self.cluster = Cluster(
            1, 1, Link(latency, bandwidth), cores=given["cores"], together=given["one_host"],
            slow=_of("--slow", slow_of, given["slow"]),
            failures=failures, speed=_positive("--speed", given["speed"]),
        )  # fmt: skip
        self.step = None if given["step_ms"] is None else _positive("--step-ms", given["step_ms"]) / 1000
        self.events, self.seed = given["events"], given["seed"]
        self.accelerator = "GPU" if given["gpu"] else ""
        self.request, self.fetch = given["step"], given["fetch"]
        self.measures = given["measure"]
        if not 0 < self.quorum <= 1:
            raise ValueError(f"--quorum is a share of the workers, above 0 and at most 1; got {self.quorum:g}")

    def rules(self, mode: str) -> Rules:
        """How workers wait for each other in a mode."""
        return {
            "backup": Rules("backup", backups=self.backups), "quorum": Rules("quorum", quorum=self.quorum, grace=self.grace),
            "stale": Rules("stale", staleness=self.staleness),
        }.get(mode, Rules(mode))  # fmt: skip


def _of(name: str, read: Callable[[str], T], text: str) -> T:
    try:
        return read(text)
    except ValueError as e:
        raise ValueError(f"{name}: {e}") from e


def _positive(name: str, value: float) -> float:
    if not 0 < value < float("inf"):
        raise ValueError(f"{name} must be a positive number, got {value:g}")
    return value


def _seconds(name: str, value: float) -> float:
    if not 0 <= value < float("inf"):
        raise ValueError(f"{name} is a number of seconds, got {value:g}")
    return value


def _modes(text: str) -> list[str]:
    names = list(MODES) if text == "all" else text.split(",") if text else [""]
    strange = [name for name in names if name not in ("", *MODES)]
    if strange:
        raise ValueError(f"--mode is all, or some of {', '.join(MODES)}; got {', '.join(strange)}")
    return names


def simulate_program(program: Sequence[str], options: Options, as_json: bool = False, png: str | None = None) -> int:
    """Runs the command; returns its exit status."""
    began = time.monotonic()
    wish = Wish(
        tuple(options.servers), max(options.workers), every=options.every, accelerator=options.accelerator,
        step=options.request, fetch=options.fetch,
    )  # fmt: skip
    plans = plan_all(program, wish, options.modes)
    jobs = {mode: {n: _as_asked(job, mode, options) for n, job in one.jobs.items()} for mode, one in plans.items()}
    where = options.cluster
    if options.measures:
        where = replace(where, tolls=measure(machine=machine()))
        said = ", ".join(
            f"{name} {time_text(getattr(where.tolls, name))}"
            for name in ("message", "partition", "resume", "step", "wake")
        )
        print(f"messages here: {said}", file=sys.stderr)
    planned = time.monotonic()
    first = next(iter(plans.values()))
    if not as_json:
        print(_title(first, jobs, options), flush=True)
    rows = []
    stopped = False
    try:
        for row in explore(jobs, options.workers, where, options.seed, options.events):
            rows.append(row)
            if sys.stderr.isatty():
                print(f"\r{len(rows)} clusters", end="", file=sys.stderr)
    except KeyboardInterrupt:  # what is known so far may be what was wanted
        stopped = True
        print(f"headrace simulate: stopped after {len(rows)} clusters", file=sys.stderr)
        if not rows:
            return 130
    if sys.stderr.isatty():
        print("\r", end="", file=sys.stderr)
    if as_json:
        best = best_of(rows)
        listed = [{"mode": row.mode, **row.outcome.to_dict()} for row in rows]
        print(json.dumps({"step": first.title, "rows": listed, "best": rows.index(best)}, indent=1))
    else:
        print(table(rows))
        print(_advice(rows))
        print(f"planned in {planned - began:.0f} s, simulated in {time.monotonic() - planned:.0f} s")
    if png is not None:
        _draw(rows, png)
    return 130 if stopped else 0


def _as_asked(job: Job, mode: str, options: Options) -> Job:
    if mode != job.rules.mode or options.modes != [""]:
        job = job.with_rules(options.rules(mode))
    if not options.step:
        return job
    factor = options.step / max(computing(job.step), 1e-12)
    between = None if job.between is None else scaled(job.between, factor, -1)
    return replace(job, step=scaled(job.step, factor, -1), between=between)


def _title(plans: Plans, jobs: dict[str, dict[int, Job]], options: Options) -> str:
    job = next(iter(next(iter(jobs.values())).values()))
    sizes = [0.0, 0.0]
    for message in job.step.messages:
        sizes[job.step.partitions[message.source].task < 0] += message.size
    lines = [plans.title]
    if plans.step:
        times = f"{plans.scale:.2g} times what the costs of its nodes say"
        lines.append(f"  here, alone  {time_text(plans.step)} a step, {times}")
    computes = time_text(computing(job.step) / options.cluster.speed)
    lines.append(f"  a worker     computes {computes} a step, sends {_bytes(sizes[1])} and takes {_bytes(sizes[0])}")
    lines.append(f"  the servers  hold {_bytes(sum(job.state))}")
    return "\n".join(lines)


def table(rows: Sequence[Row]) -> str:
    """A line for each cluster."""
    alone: dict[str, float] = {}
    for row in rows:
        each = row.outcome.counted / row.outcome.workers
        alone[row.mode] = max(alone.get(row.mode, 0.0), each)
    lines = [HEADER, *(_cells(row, alone[row.mode]) for row in rows)]
    widths = [max(len(line[i]) for line in lines) for i in range(len(HEADER))]

    def padded(line: Sequence[str]) -> str:
        first, *others = zip(line, widths, strict=True)
        return "  ".join([first[0].ljust(first[1]), *(cell.rjust(width) for cell, width in others)])

    return "\n".join(map(padded, lines))


def _cells(row: Row, alone: float) -> tuple[str, ...]:
    one = row.outcome
    late = 1 - one.counted / one.steps if one.steps else 0.0
    return (
        row.mode, str(one.workers), str(one.servers), f"{one.useful:,.4g}", f"{one.counted / one.workers / alone:.0%}",
        time_text(one.times["p50"]), time_text(one.times["p90"]), time_text(one.times["p99"]), _causes(one.causes),
        f"{one.busy['server']:.0%}", f"{max(one.busy['in'], one.busy['out']):.0%}", f"{late:.0%}", f"{one.goodput:.1%}",
        _bytes(one.memory.get("server", 0.0)), _bytes(one.memory.get("worker", 0.0)),
    )  # fmt: skip


def _causes(causes: Any) -> str:
    """The largest two: what a step's time goes into."""
    total = sum(causes.values()) or 1.0
    largest = sorted(causes, key=lambda name: -causes[name])[:2]
    return " ".join(f"{name} {causes[name] / total:.0%}" for name in largest)


def _advice(rows: Sequence[Row]) -> str:
    best = best_of(rows)
    one = best.outcome
    said = f"best: {one.workers} workers and {one.servers} servers, mode {best.mode}: {one.useful:,.4g} steps a second"
    others = [other for other in rows if other.outcome.useful >= 1.005 * one.useful]  # less is none in whole percents
    more = (
        f"; no cluster here does more than {max(o.outcome.useful for o in others) / one.useful - 1:.0%} more"
        if others
        else ""
    )
    stale = f"; a gradient is {one.staleness:.1f} updates old" if one.staleness else ""
    return said + more + stale


def _bytes(size: float) -> str:
    for unit, much in (("GB", 1e9), ("MB", 1e6), ("kB", 1e3)):
        if size >= much:
            return f"{size / much:.3g} {unit}"
    return f"{size:.0f} B"


def _draw(rows: Sequence[Row], path: str) -> None:
    """Steps a second over workers: a panel for each mode and number of servers."""
    from headrace.tools.curve_picture import picture

    curves: dict[str, list[tuple[int, float]]] = {}
    for row in rows:
        curves.setdefault(f"{row.mode}, {row.outcome.servers} ps: steps a second by workers", []).append(
            (row.outcome.workers, row.outcome.useful)
        )
    picture(curves).save(path)


DEFAULTS: Final[dict[str, Any]] = {
    "workers": "1:64", "ps": "1:4", "mode": "", "slow": "none", "fail": "0/h", "link": "10Gbit,0.1ms", "cores": 0,
    "one_host": False, "speed": 1.0, "step_ms": None, "backups": 1, "staleness": 4, "every": EVERY, "quorum": 0.75,
    "grace_ms": 0.0, "noticed": 5.0, "restart": 30.0, "save": 600.0, "copies": 0.0, "gpu": False, "seed": 0, "events": 200_000,
    "measure": False, "step": None, "fetch": None,
}  # fmt: skip
HELP: Final = {
    "workers": "How many workers: 8, or 1,2,5, or 1:1000 for 1, 2, 4 ... 1000.",
    "ps": "How many parameter servers, in the same way.",
    "mode": "Who waits for whom: all, or some of async,stale,sync,backup,quorum,local; else as the program says.",
    "slow": "How slow steps are: none, pareto:SHAPE, lognormal:SPREAD, or one:TIMES for one slow worker.",
    "fail": "How often each task fails: 0.01/h.",
    "link": "The network of each task: its speed and latency, 10Gbit,0.1ms.",
    "cores": "Cores of each host; 0: enough.",
    "one_host": "All tasks are on one host.",
    "speed": "How many times as fast as this machine workers compute.",
    "step_ms": "Milliseconds that a worker computes in a step, in place of what was measured.",
    "backups": "Mode backup: gradients to do without; -1: chosen by the times of steps.",
    "staleness": "Mode stale: steps that a worker may be ahead.",
    "every": "Mode local: steps between two averages.",
    "quorum": "Mode quorum: share of the workers to wait for.",
    "grace_ms": "Mode quorum: milliseconds in which more gradients may come.",
    "noticed": "Seconds until the others know that a task is lost.",
    "restart": "Seconds until a task that failed works again.",
    "save": "Seconds between two checkpoints.",
    "copies": "Seconds between two copies that servers keep of each other (copies_secs); 0: none.",
    "gpu": "Each worker has a GPU.",
    "seed": "Of all that is random.",
    "events": "Events to simulate for each cluster, at least for a few steps.",
    "measure": "Measure first what messages cost on this machine: three processes, some fifteen seconds.",
    "step": "Simulate this request, counted from 1.",
    "fetch": "Simulate the first request that fetches this tensor or operation.",
}  # fmt: skip


def main(argv: Sequence[str]) -> int:
    """The command without typer."""
    parser = argparse.ArgumentParser(prog="python -m headrace.tools.simulate", description=__doc__.splitlines()[0])
    for name, default in DEFAULTS.items():
        value = {"step": int, "step_ms": float}.get(name, type(default) if default is not None else str)
        option: dict[str, Any] = {"action": "store_true"} if value is bool else {"type": value, "default": default}
        parser.add_argument("--" + name.replace("_", "-"), help=HELP[name].replace("%", "%%"), **option)
    parser.add_argument("--json", action="store_true", help="print JSON")
    parser.add_argument("--png", help="where a picture of steps a second by workers goes")
    parser.add_argument("program", nargs=argparse.REMAINDER, help="a file, or -m and a module, and its arguments")
    given = vars(parser.parse_args(argv))
    if not given["program"]:
        parser.error("which program?")
    return run(given["program"], given["json"], given["png"], **{name: given[name] for name in DEFAULTS})


def run(program: Sequence[str], as_json: bool, png: str | None, **given: Any) -> int:
    """The command, its mistakes told in a line."""
    try:
        options = Options(**given)
        if png is not None and not Path(png).absolute().parent.is_dir():  # said before anything is computed
            raise ValueError(f"--png is a file that can be written; there is no folder {str(Path(png).parent)!r}")
    except ValueError as e:
        print(f"headrace simulate: {e}", file=sys.stderr)
        return 2
    return simulate_program(program, options, as_json, png)


def command(typer: Any) -> Any:
    """The command for the command line; ``typer`` is handed in so that importing this file needs none."""
    import inspect
    from typing import Annotated

    def simulate(program: Any, as_json: bool = False, png: str | None = None, **given: Any) -> None:
        raise typer.Exit(run(program, as_json, png, **given))

    types = {"step": int | None, "step_ms": float | None, "fetch": str | None}
    options = {name: types.get(name, type(default)) for name, default in DEFAULTS.items()}
    annotations: dict[str, Any] = {
        "program": Annotated[
            list[str], typer.Argument(help="A Python file, or -m and a module; then its own arguments.")
        ],
        **{name: Annotated[value, typer.Option(help=HELP[name])] for name, value in options.items()},
        "as_json": Annotated[bool, typer.Option("--json", help="Print JSON.")],
        "png": Annotated[str | None, typer.Option(help="Where a picture goes.", metavar="FILE")],
    }
    defaults = {**DEFAULTS, "as_json": False, "png": None}
    simulate.__annotations__ = annotations
    alone, empty = inspect.Parameter.KEYWORD_ONLY, inspect.Parameter.empty
    simulate.__signature__ = inspect.Signature(  # type: ignore[attr-defined]
        [
            inspect.Parameter(name, alone, default=defaults.get(name, empty), annotation=annotation)
            for name, annotation in annotations.items()
        ]
    )
    simulate.__doc__ = (
        "Say what a program would do on many machines: steps a second, what they wait for, the best cluster."
    )
    simulate.__doc__ += "\n\nExample: headrace simulate --workers 1:1000 --ps 1:64 --slow pareto:1.5 train.py"
    return simulate


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
