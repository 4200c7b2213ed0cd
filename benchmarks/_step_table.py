"""Results of `_step_runner` as tables: step times, ratios, starting times and memory; in plain text or Markdown."""

from __future__ import annotations

import json
import statistics
from collections.abc import Callable, Sequence
from typing import Any

from benchmarks import _step_runner
from benchmarks._harness import RESULTS, duration

PAPER = {"alexnet": "AlexNet", "overfeat": "Overfeat", "vgg": "OxfordNet", "googlenet": "GoogleNet"}
Found = dict[str, dict[str, Any]]
NAMES = {
    "headrace": "Headrace",
    "headrace-compiled": "Headrace compiled",
    "headrace-before": "Headrace before",
    "headrace-compiled-before": "Headrace compiled before",
    "tensorflow": "TensorFlow",
    "torch": "PyTorch eager",
    "torch-compiled": "torch.compile",
    "torch-graphs": "torch.compile, CUDA graphs",
    "jax": "JAX",
}


def step_times(result: dict[str, Any]) -> list[list[str]]:
    """The median step time of every framework, and ours over each peer's."""
    frameworks = result["frameworks"]
    peers = [name for name in frameworks if name not in (*_step_runner.OURS, *_step_runner.BEFORE)]
    rows = [["step time", *map(_name, frameworks), *(f"best / {_name(peer)}" for peer in peers)]]
    for workload in result["workloads"].values():
        found = workload["found"]
        ratios = [ratio_text(_step_runner.ratios(found, peer)) for peer in peers]
        rows.append([workload["title"], *(_cell(found, name, "step_s", duration) for name in frameworks), *ratios])
    return rows


def others(result: dict[str, Any], title: str, key: str) -> list[list[str]]:
    """Another number of every framework: the first step, building, compiling, memory."""
    form = _gib if key == "peak_bytes" else duration
    rows = [[title, *map(_name, result["frameworks"])]]
    for workload in result["workloads"].values():
        rows.append([workload["title"], *(_cell(workload["found"], name, key, form) for name in result["frameworks"])])
    return rows


def against_before(result: dict[str, Any]) -> list[list[str]]:
    """The step now over the step at the earlier commit, interpreted and compiled, round by round."""
    rows = [["now / before", "interpreted", "compiled"]]
    for workload in result["workloads"].values():
        pairs = zip(_step_runner.OURS, _step_runner.BEFORE, strict=True)
        ratios = [_step_runner.ratios(workload["found"], before, now) for now, before in pairs]
        rows.append([workload["title"], *map(ratio_text, ratios)])
    return rows


def all_tables(result: dict[str, Any]) -> list[list[list[str]]]:
    """Every table of a result."""
    more = (
        ("time to the first loss", "start_s"),
        ("of it compiling", "compile_s"),
        ("peak memory", "peak_bytes"),
    )
    compared = [against_before(result)] if _step_runner.BEFORE[0] in result["frameworks"] else []
    return [step_times(result), *compared, *(others(result, title, key) for title, key in more)]


def errors(result: dict[str, Any]) -> list[str]:
    """Why numbers are missing."""
    return [
        f"{workload['title']}, {_name(name)}: {entry['error']}"
        for workload in result["workloads"].values()
        for name, entry in workload["found"].items()
        if "error" in entry
    ]


def ratio_text(ratios: Sequence[float]) -> str:
    """The median and the range."""
    return f"{statistics.median(ratios):.2f} ({min(ratios):.2f}-{max(ratios):.2f})" if ratios else "-"


def markdown(rows: Sequence[Sequence[str]]) -> str:
    """Rows as a Markdown table, numbers to the right."""
    rule = ["---", *("---:" for _ in rows[0][1:])]
    return "\n".join(f"| {' | '.join(row)} |" for row in (rows[0], rule, *rows[1:]))


def _cell(found: Found, framework: str, key: str, form: Callable[[float], str]) -> str:
    entry = found.get(framework, {})
    return form(entry[key]) if key in entry and "error" not in entry else "failed" if "error" in entry else "-"


def _name(framework: str) -> str:
    return NAMES.get(framework, framework)


def _gib(count: float) -> str:
    return f"{count / 2**30:.2f} GiB"


def against_fastest(result: dict[str, Any]) -> list[list[str]]:
    """Compiled steps beside the fastest peer of each workload, and the paper's Table 1; milliseconds, for `markdown`."""
    rows = [["model", "Headrace", "fastest peer", "ratio", "the paper's TensorFlow, Titan X"]]
    for key, workload in result["workloads"].items():
        times = {
            name: 1e3 * statistics.median(sample["median_s"] for sample in entry["samples"])
            for name, entry in workload["found"].items()
            if entry.get("samples")
        }
        ours = times["headrace-compiled"]
        best = min((name for name in times if name not in _step_runner.OURS), key=lambda name: times[name])
        rows.append(
            [
                workload["title"],
                f"{ours:.3g}",
                f"{times[best]:.3g} ({NAMES[best]})",
                f"{ours / times[best]:.2f}",
                _paper(key),
            ]
        )
    return rows


def _paper(workload: str) -> str:
    """TensorFlow's step in Table 1 of the paper (OSDI 2016), milliseconds, for the same model and batch."""
    table = json.loads((RESULTS / "paper.json").read_text())["table1_step_ms"]
    column = PAPER.get(workload)
    return str(table["TensorFlow"][table["columns"].index(column)]) if column else ""


def against_each(result: dict[str, Any]) -> list[list[str]]:
    """The better of our two step times, and its ratio to each peer's; rows as for `markdown`."""
    peers = [name for name in result["frameworks"] if name not in _step_runner.OURS]
    rows = [["step", "Headrace", *(f"/ {_name(peer)}" for peer in peers)]]
    for workload in result["workloads"].values():
        found = workload["found"]
        best = min(found[name]["step_s"] for name in _step_runner.OURS if "step_s" in found.get(name, {}))
        ratios = [_step_runner.ratios(found, peer) for peer in peers]
        rows.append([workload["title"], duration(best), *(f"{statistics.median(r):.2f}" if r else "-" for r in ratios)])
    return rows
