"""Turns results into Markdown: `python -m benchmarks report [file]`.

Without a file the newest of `steps`; `op_families` or `queues`, or a file that they made, gives their table.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

from benchmarks import _family_table, _harness, _step_runner, _step_table, queues


def main(argv: list[str]) -> int:
    """Prints the tables; returns 1 when there are no results yet."""
    if argv in (["op_families"], ["queues"]):
        argv = [str(_harness.RESULTS / f"{argv[0]}.json")]
    files = [Path(argv[0])] if argv else sorted(_harness.RESULTS.glob("steps-*.json"))
    if not files:
        print("no results yet: run python -m benchmarks steps", file=sys.stderr)
        return 1
    result = json.loads(files[-1].read_text())
    if "clock" in result:
        print(f"{_family_table.caption(result)}\n\n{_step_table.markdown(_family_table.rows(result))}")
        return 0
    if "rows" in result:
        print(f"{queues.caption(result)}\n\n{_step_table.markdown(queues.table(result))}")
        return 0
    print(caption(result))
    for rows in _step_table.all_tables(result):
        print(f"\n{_step_table.markdown(rows)}")
    if failed := _step_table.errors(result):
        print("\nNot measured:", *failed, sep="\n- ")
    return 0


def caption(result: dict[str, Any]) -> str:
    """What was measured, where and how."""
    versions = ", ".join(
        f"{_step_table.NAMES.get(name, name)} {version}" for name, version in _versions(result).items()
    )
    beside = ", two busy processes beside" if result.get("busy") else ""
    place = result.get("accelerator") or f"{result['processor']}, {result.get('threads') or result['cpus']} threads"
    kind = "Mean" if result.get("busy") else "Median"
    return (
        f"{result['time'][:10]}, {place}{beside}; {versions}. "
        f"{kind} step time, median over {result['rounds']} interleaved rounds of {result['seconds']:g} s; "
        "ratios are the best of Headrace over the peer, median (range) over rounds: below 1, Headrace is faster."
    )


def _versions(result: dict[str, Any]) -> dict[str, str]:
    found: dict[str, str] = {}
    for workload in result["workloads"].values():
        for name, entry in workload["found"].items():
            if "version" in entry and name not in (_step_runner.OURS[1], "torch-compiled", "torch-graphs"):
                found[name] = entry["version"]
    return found


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
