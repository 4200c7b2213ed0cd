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
    """Bars for every workload: each framework's step time over that of our best."""
    import matplotlib  # a program of its own, in an environment that has it

    matplotlib.use("Agg")
    from matplotlib import pyplot

    result = json.loads(path.read_text())
    rows = {w["title"]: w["found"] for w in result["workloads"].values() if _step_runner.best(w["found"])}
    figure, axes = pyplot.subplots(figsize=(9, 1.2 + 0.7 * len(rows)))
    height = 0.8 / len(result["frameworks"])
    for i, framework in enumerate(result["frameworks"]):
        places, lengths = [], []
        for row, found in enumerate(rows.values()):
            if "step_s" in found.get(framework, {}):
                places.append(row - 0.4 + (i + 0.5) * height)
                lengths.append(found[framework]["step_s"] / found[_step_runner.best(found) or ""]["step_s"])
        axes.barh(places, lengths, height, label=NAMES.get(framework, framework))
    axes.set_yticks(range(len(rows)), list(rows))
    axes.invert_yaxis()
    axes.axvline(1.0, color="black", linewidth=0.8)
    axes.set_xscale("log")
    axes.set_xlabel("step time over that of Headrace's best (shorter is better)")
    axes.set_title(f"{result['processor']}, {result.get('threads') or result['cpus']} threads", fontsize=9)
    axes.legend(fontsize=8)
    figure.tight_layout()
    figure.savefig(path.with_suffix(".png"), dpi=150)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
