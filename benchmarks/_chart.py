"""A chart of the step times: `draw(path)` beside the JSON file, by a Python that has matplotlib.

Matplotlib is needed for nothing else, so it is not installed with Headrace: it comes from this environment if it is there, else
from one in `.bench`.
"""

from __future__ import annotations

import importlib.util
import json
import subprocess
import sys
from pathlib import Path

from benchmarks import _harness, _step_runner
from benchmarks._step_table import NAMES


def draw(path: Path) -> str:
    """Draws the results in `path`; says where the chart is, or why there is none."""
    try:
        have = importlib.util.find_spec("matplotlib") is not None
        python = _harness.peer_python(
            "chart", "HEADRACE_CHART_PYTHON", sys.executable if have else None, ["matplotlib"]
        )
        subprocess.run([python, "-m", "benchmarks._chart", str(path)], cwd=_harness.ROOT, check=True)
    except (OSError, subprocess.SubprocessError, SystemExit) as error:
        return f"no chart: {error}"
    return f"chart: {path.with_suffix('.png')}"


def main(path: Path) -> None:
    """A row of dots for every workload: each framework's step time over that of our best."""
    import matplotlib  # a program of its own, in an environment that has it

    matplotlib.use("Agg")
    from matplotlib import pyplot
    from matplotlib.ticker import FuncFormatter, NullFormatter

    result = json.loads(path.read_text())
    rows = {w["title"]: w["found"] for w in result["workloads"].values() if _step_runner.best(w["found"])}
    figure, axes = pyplot.subplots(figsize=(9, 1.6 + 0.4 * len(rows)))
    for framework, marker in zip(result["frameworks"], "oDsv^P*X", strict=False):
        points = [
            (found[framework]["step_s"] / found[_step_runner.best(found) or ""]["step_s"], row)
            for row, found in enumerate(rows.values())
            if "step_s" in found.get(framework, {}) and "error" not in found[framework]
        ]
        xs, ys = [x for x, _ in points], [y for _, y in points]
        axes.scatter(xs, ys, marker=marker, s=45, alpha=0.85, label=NAMES.get(framework, framework))
    axes.set_yticks(range(len(rows)), list(rows))
    axes.set_ylim(len(rows) - 0.5, -0.5)
    axes.axvline(1.0, color="black", linewidth=0.8)
    axes.grid(axis="y", alpha=0.3)
    axes.set_xscale("log", base=2)
    axes.xaxis.set_major_formatter(FuncFormatter(lambda x, _: f"{x:g}x"))
    axes.xaxis.set_minor_formatter(NullFormatter())
    axes.set_xlabel("step time over that of Headrace's best (left of the line: faster than Headrace)")
    place = result.get("accelerator") or f"{result['processor']}, {result.get('threads') or result['cpus']} threads"
    figure.suptitle(f"{place}, {result['time'][:10]}", fontsize=9)
    figure.legend(loc="outside lower center", ncols=3, fontsize=8)
    figure.set_layout_engine("constrained")
    figure.savefig(path.with_suffix(".png"), dpi=150)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
