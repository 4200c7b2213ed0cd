"""The picture of docs/replicas_study.md: `python -m benchmarks._replica_chart`, by a Python that has matplotlib."""

import json
import statistics
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
SOURCE, PICTURE = ROOT / "benchmarks/results/replicas.json", ROOT / "docs/replicas_study.svg"
TITLES = {"none": "no stragglers", "one": "one worker is 4 times slower", "pareto": "Pareto's law"}


def main():
    """Seconds to the loss over the number of workers, a line for each mode."""
    import matplotlib  # a program of its own, in an environment that has it

    matplotlib.use("Agg")
    from matplotlib import pyplot

    matplotlib.rcParams["svg.hashsalt"] = "headrace"
    result = json.loads(SOURCE.read_text())
    rows = result["rows"]
    models, modes = sorted({row["model"] for row in rows}), list(dict.fromkeys(sorted(row["mode"] for row in rows)))
    figure, axes = pyplot.subplots(len(models), 3, figsize=(10, 6), sharex=True, sharey=True, layout="constrained")
    for line, model in zip(axes, models, strict=True):
        for place, (stragglers, title) in zip(line, TITLES.items(), strict=True):
            for mode, marker in zip(modes, "osD^v*P", strict=True):
                points = _points(rows, model, stragglers, mode)
                place.plot(*zip(*points, strict=True), marker=marker, markersize=4, linewidth=1, label=mode)
            place.set(
                xscale="log",
                yscale="log",
                title=f"{model}, {title}",
                xticks=(1, 2, 4, 8, 12),
                yticks=(0.5, 1, 2, 5, 10),
            )
            place.set_xticklabels(("1", "2", "4", "8", "12"))
            place.set_yticklabels(("0.5", "1", "2", "5", "10"))
            place.minorticks_off()
            place.grid(alpha=0.3)
            place.title.set_fontsize(9)
    for place in axes[-1]:
        place.set_xlabel("workers")
    for place in axes[:, 0]:
        place.set_ylabel("seconds to the loss")
    figure.legend(*axes[0, 0].get_legend_handles_labels(), loc="outside lower center", ncols=7, fontsize=8)
    figure.savefig(PICTURE, metadata={"Date": None})
    print(f"picture: {PICTURE}")


def _points(rows, model, stragglers, mode):
    points = []
    for workers in (1, 2, 4, 8, 12):
        kind = stragglers if workers > 1 else "none"
        found = [
            row["seconds"]
            for row in rows
            if (row["model"], row["mode"], row["workers"], row["stragglers"]) == (model, mode, workers, kind)
        ]
        if found and None not in found:
            points.append((workers, statistics.median(found)))
    return points


if __name__ == "__main__":
    main()
