"""What each optional pass and each second implementation earns on whole programs, beside its lines: the 5 % rule as a command.

For each program of `programs`, and each part of Headrace that it could do without (`_forms.py`): the time of the program without
the part over the time with all of them, the fastest of the rounds each.  Above 1: the part pays.  "=" means that plans and
generated code are the same without it, so that nothing is timed.  A part stays if it makes some program 5 % faster.  All variants
of a program take turns.  About two hours on two quiet cores; `--decide` needs a fraction of them, since it looks at a part no
longer once it has paid ("-").
"""

from __future__ import annotations

import argparse
import hashlib
import math
import statistics
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from benchmarks import _forms, _harness, programs

EARNS = 1.05  # in some program
SHORT = 50  # steps after which all plans of a program are made (a step is planned again for fed shapes after 32)
QUICK = ("policy_gradient", "towers")


def main(argv: list[str] | None = None) -> None:
    """Measures, prints the table, saves the numbers."""
    options = _options(argv)
    _harness.compile_bytecode(sys.executable)
    forms = [form for form in _forms.forms() if not options.only or form.name in options.only]
    result: dict[str, Any] = {
        "rounds": options.rounds, "factor": options.steps, "lines": {form.name: form.lines() for form in forms}, "programs": {},
    }  # fmt: skip
    for program in options.programs:
        paid = {row[0] for row in rows(result) if not row[-1]} if options.decide and result["programs"] else set()
        result["programs"][program] = _measure(program, [form for form in forms if form.name not in paid], options)
        path = _harness.save("worth", result, options.out)  # after each, so that nothing is lost
    print(_harness.table(["without", "lines", *options.programs, "best", "mean", ""], rows(result)))
    print(f"saved to {path}")


def _measure(program: str, forms: Sequence[_forms.Form], options: argparse.Namespace) -> dict[str, Any]:
    """{"seconds": {name: of each round}, "same": names of what the program does not use}"""
    print(f"{program}: comparing plans", end="", flush=True)
    plans = _plans(program, [_forms.NOTHING, *(form.name for form in forms if form.in_plans)])
    same = [name for name, digest in plans.items() if name != _forms.NOTHING and digest == plans[_forms.NOTHING]]
    timed = [_forms.NOTHING, *(form.name for form in forms if form.name not in same)]
    steps = SHORT if options.quick else max(1, round(programs.STEPS[program] * options.steps))
    print(f"\n  timing {len(timed)}, {steps} steps", end="", flush=True)
    seconds: dict[str, list[float]] = {name: [] for name in timed}
    for number in range(options.rounds):
        for name in timed if number % 2 == 0 else reversed(timed):
            seconds[name].append(programs.timed(_command(name), program, steps)[options.clock])
            print(".", end="", flush=True)
    print(flush=True)
    return {"steps": steps, "seconds": seconds, "same": same}


def _command(*names: str) -> list[str]:
    return [sys.executable, "-m", "benchmarks._forms", ",".join(names)]


def _plans(program: str, names: Sequence[str]) -> dict[str, str]:
    """For each part a digest of all plans that the program has without it, and of the code generated for them."""
    if len(names) < 2:
        return {}
    with tempfile.TemporaryDirectory(prefix="headrace-worth-") as folder:
        programs.timed(_command(*names), program, SHORT, HEADRACE_DUMP=folder)
        return {name: _digest(Path(folder, name)) for name in names}


def _digest(folder: Path) -> str:
    digest = hashlib.sha256()
    for file in sorted(folder.iterdir()):
        digest.update(file.name.encode() + file.read_bytes())
    return digest.hexdigest()


def rows(result: dict[str, Any]) -> list[list[str]]:
    """A row for each part: its lines, its ratios, the best of them, their geometric mean, and whether that is enough."""
    table = []
    for name, lines in result["lines"].items():
        cells, ratios = [], []
        for entry in result["programs"].values():
            if name in entry["same"]:
                ratios.append(1.0)
                cells.append("=")
                continue
            if name not in entry["seconds"]:  # it had paid before
                cells.append("-")
                continue
            of = {n: min(entry["seconds"][n]) for n in (name, _forms.NOTHING)}  # what disturbs only adds time
            ratios.append(of[name] / of[_forms.NOTHING])
            cells.append(f"{ratios[-1]:.2f}")
        mean = math.exp(statistics.fmean(map(math.log, ratios)))
        table.append(
            [
                name,
                str(lines),
                *cells,
                f"{max(ratios):.2f}",
                f"{mean:.2f}",
                "" if max(ratios) >= EARNS else "does not pay",
            ]
        )
    return table


def _options(argv: list[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m benchmarks worth", description=__doc__.partition("\n")[0])
    add = parser.add_argument
    known = list(programs.STEPS)
    add("--programs", nargs="+", choices=known, metavar="NAME", help=f"which of {', '.join(known)} (default: all)")
    add("--only", nargs="+", metavar="PART", help="parts to leave out in turn (default: all)")
    add("--rounds", type=int, default=3, help="runs of each, in turn (default: %(default)s)")
    add("--steps", type=float, default=1.0, metavar="FACTOR", help="of the programs' steps (default: %(default)s)")
    add("--decide", action="store_true", help="leave out what has made a program 5 %% faster from those that follow")
    add(
        "--clock",
        choices=["wall", "cpu"],
        default="wall",
        help="cpu: time of the processor, for a machine that is not quiet",
    )
    add(
        "--quick",
        action="store_true",
        help=f"two programs, {SHORT} steps, one round: to see that it works, not to decide",
    )
    add("--out", type=Path, default=_harness.RESULTS, help="folder of the results (default: %(default)s)")
    options = parser.parse_args(argv)
    if options.quick:
        options.rounds = 1
    options.programs = options.programs or (list(QUICK) if options.quick else known)
    unknown = set(options.only or ()) - (names := {form.name for form in _forms.forms()})
    if unknown:
        parser.error(f"--only names {', '.join(sorted(unknown))}; there are {', '.join(sorted(names))}")
    return options


if __name__ == "__main__":
    main()
