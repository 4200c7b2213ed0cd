"""What the tasks of a running cluster do: steps per second, bytes per link, queues, and who waits on what.

    headrace top grpc://localhost:2222          or   python -m headrace.tools.top grpc://localhost:2222

Without a target it is the job that ``headrace launch`` runs on this machine.  Any task of the cluster will do: it is asked for
the others.  On a terminal the tables are refreshed every second until Ctrl-C; elsewhere they are printed once.  `--json` prints
the same as JSON, once; `--svg` writes a picture of the tables.  The cluster's key is needed, as by every client.
"""

from __future__ import annotations

import argparse
import io
import json
import re
import sys
import threading
from collections.abc import Sequence
from pathlib import Path
from time import strftime
from typing import Any, Final

from headrace.cluster import jobs
from headrace.cluster.overview import Overview
from headrace.core.errors import InvalidArgumentError, OpError
from headrace.tools.said import said
from headrace.tools.top_report import Sample, report

WIDTH: Final = 110  # letters of a picture
MISSING = "headrace top: the tables need rich: pip install rich, or take --json"


def show_cluster(
    target: str | None = None, as_json: bool = False, interval: float = 1.0, picture: str | None = None
) -> int:
    """Shows the cluster of a target, or the job of this machine; returns 0, 1 if it cannot be reached, 2 if there is none.

    ``picture``: where the tables go as SVG, once, in place of the terminal.
    """
    try:
        target = jobs.only_target() if target is None else target
        with Overview(target) as overview:
            if as_json:
                print(json.dumps({"target": target, **report(*_two_samples(overview, interval))}, indent=1))
                return 0
            return _show_tables(overview, target, interval, picture)
    except KeyboardInterrupt:
        return 0
    except (OpError, ImportError) as e:
        print(f"headrace top: {said(e)}", file=sys.stderr)
        return 2 if isinstance(e, InvalidArgumentError) else 1


def _two_samples(overview: Overview, interval: float) -> tuple[Sample, Sample]:
    before = overview.sample()
    threading.Event().wait(interval)
    return before, overview.sample()


def _show_tables(overview: Overview, target: str, interval: float, picture: str | None) -> int:
    try:
        from rich.console import Console
        from rich.live import Live
    except ImportError:
        print(MISSING, file=sys.stderr)
        return 2
    from headrace.tools.top_table import tables

    before, after = _two_samples(overview, interval)
    if picture is not None:
        return _draw(Console(width=WIDTH, record=True, file=io.StringIO()), before, after, target, picture)
    console = Console()
    if not console.is_terminal:
        console.print(tables(report(before, after), target))
        return 0
    with Live(console=console, screen=True, auto_refresh=False) as live:
        while True:
            live.update(tables(report(before, after), f"{target}   {strftime('%H:%M:%S')}   Ctrl-C ends"), refresh=True)
            threading.Event().wait(interval)
            before, after = after, overview.sample()


def _draw(console: Any, before: Sample, after: Sample, target: str, path: str) -> int:
    from headrace.tools.top_table import tables

    console.print(tables(report(before, after), target))
    try:
        drawn = re.sub(r"@font-face \{.*?\}\s*", "", console.export_svg(title="headrace top"), flags=re.DOTALL)
        Path(path).write_text(drawn, encoding="utf-8")  # without fonts that a viewer would fetch
    except OSError as e:
        print(f"headrace top: {path} cannot be written: {e.strerror or e}", file=sys.stderr)
        return 2
    return 0


def main(argv: Sequence[str]) -> int:
    """The command without typer."""
    parser = argparse.ArgumentParser(prog="python -m headrace.tools.top", description=__doc__.splitlines()[0])
    parser.add_argument("target", nargs="?", help="grpc://host:port of any task; else the job of this machine")
    parser.add_argument("--json", action="store_true", help="print JSON once")
    parser.add_argument("--interval", type=float, default=1.0, help="seconds between two looks")
    parser.add_argument("--svg", help="where the tables go as a picture, once")
    options = parser.parse_args(argv)
    return show_cluster(options.target, options.json, options.interval, options.svg)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
