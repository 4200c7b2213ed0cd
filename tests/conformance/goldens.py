"""Makes every kept result again with real TensorFlow and compares: new against kept, and ours against new.

`python tests/conformance/goldens.py`, with HEADRACE_TF_PYTHON set.  The scripts `tests/golden/make_*.py` write beside
themselves, so they run in a copy of their folder.  Samples and optimizers are run here too, against what was just made.
"""

from __future__ import annotations

import json
import math
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parent.parent.parent
sys.path[:1] = [str(ROOT), str(ROOT / "tests")]

import numpy as np  # noqa: E402 - the path is set above
from conformance.call import blank, compare, precision, run, same  # noqa: E402
from conformance.differences import read, unlisted  # noqa: E402
from conformance.oracle import VARIABLE, Oracle  # noqa: E402
from conformance.part import Part, summary  # noqa: E402
from conformance.wire import digest  # noqa: E402
from golden import fault_results, make_faults, make_partial, optimizer_cases, partial_results, sample_results  # noqa: E402
from golden.make_samples import make  # noqa: E402
from ops.invalid import samples as invalid_samples  # noqa: E402

import headrace as tf  # noqa: E402

GOLDEN = ROOT / "tests/golden"
MADE_HERE = ("make_samples.py", "make_faults.py", "make_partial.py")  # with this interpreter, which asks TensorFlow's
SCRIPTS = sorted(p.name for p in GOLDEN.glob("make_*.py") if p.name not in MADE_HERE)
RTOL = 1e-3
ANY_ORDER = "graph"  # a serialised graph, whose maps have no order


def made_anew(folder: Path) -> Part:
    """Runs the scripts in a copy of tests/golden, and compares with the files kept."""
    copy = folder / "tests/golden"
    shutil.copytree(GOLDEN, copy, ignore=shutil.ignore_patterns("sample_results", "__pycache__"))
    for name in ("examples", "headrace", "tests/examples"):  # what the scripts look for from where they are
        (folder / name).symlink_to(ROOT / name)
    environment = {**os.environ, "TF_CPP_MIN_LOG_LEVEL": "3", "TF_ENABLE_ONEDNN_OPTS": "0", "CUDA_VISIBLE_DEVICES": ""}
    environment["PYTHONPATH"] = str(copy.parent)

    def run_one(script: str) -> list[str]:
        done = subprocess.run(
            [os.environ[VARIABLE], script], cwd=copy, env=environment, capture_output=True, text=True, check=False
        )
        print(f"{script:28} {'made' if done.returncode == 0 else 'failed'}", flush=True)
        return [f"{script} failed: {done.stderr.strip().splitlines()[-1:]}"] if done.returncode else []

    with ThreadPoolExecutor(2) as pool:
        found = [problem for problems in pool.map(run_one, SCRIPTS) for problem in problems]
    files = sorted([*GOLDEN.glob("*.json"), *GOLDEN.glob("*.npz")])
    for kept in files:
        found += [f"{kept.name}: {problem}" for problem in file_problems(copy / kept.name, kept)]
    return Part("files", f"{len(SCRIPTS)} scripts run again, {len(files)} files of results", found)


def file_problems(new: Path, kept: Path) -> list[str]:
    if kept.suffix == ".json":
        return json_problems(json.loads(new.read_text()), json.loads(kept.read_text()), "")[:5]
    with np.load(new) as a, np.load(kept) as b:
        if set(a.files) != set(b.files):
            return [f"other names: {sorted(set(a.files) ^ set(b.files))[:5]}"]
        return [n for n in a.files if a[n].shape != b[n].shape or not same(a[n], b[n], RTOL)][:5]


def json_problems(new: Any, kept: Any, where: str) -> list[str]:
    if isinstance(new, dict) and isinstance(kept, dict):
        if set(new) != set(kept):
            return [f"{where} has other keys: {sorted(set(new) ^ set(kept))[:5]}"]
        return [p for key in new if key != ANY_ORDER for p in json_problems(new[key], kept[key], f"{where}/{key}")]
    if isinstance(new, list) and isinstance(kept, list):
        if len(new) != len(kept):
            return [f"{where} has {len(new)} items instead of {len(kept)}"]
        return [p for i, (a, b) in enumerate(zip(new, kept, strict=True)) for p in json_problems(a, b, f"{where}/{i}")]
    if isinstance(new, float) and isinstance(kept, float):
        equal = math.isclose(new, kept, rel_tol=RTOL, abs_tol=1e-4) or (math.isnan(new) and math.isnan(kept))
    else:
        equal = new == kept
    return [] if equal else [f"{where} is {new!r} instead of {kept!r}"]


def samples(oracle: Oracle) -> Part:
    """Every sample again: against the results kept, and against Headrace."""
    known, found = read(), []
    ops = compared = listed = 0
    for family in sample_results.FAMILIES:
        new, kept = make(oracle, family), sample_results.load(sample_results.FOLDER, family)
        for name, entries in new.items():
            calls = list(sample_results.calls(name, sample_results.samples(family)[name]))
            if len(kept.get(name, [])) != len(entries):
                found.append(f"{name}: the results kept are stale; run {sample_results.UPDATE}")
                continue
            for i, ((sample, call), entry, old) in enumerate(zip(calls, entries, kept[name], strict=True)):
                if call is None:
                    continue
                compared += 1
                if old["call"] != digest(call):
                    found.append(f"{name} sample {i}: the result kept is stale; run {sample_results.UPDATE}")
                    continue
                rtol = max(precision(call), sample.rtol)
                ours = blank(run(call)) if sample_results.random(name, sample) else run(call)
                for what, result in (("kept", old["result"]), ("here", ours)):
                    problems = compare(result, entry["result"], rtol=rtol)
                    left = unlisted(call, problems, known)
                    listed += bool(problems) and not left
                    found += [f"{name} sample {i}, {what}: {p}" for p in left]
        ops += len(new)
        print(f"samples of {family:18} {len(new)} ops", flush=True)
    counts = f"{compared} samples of {ops} ops, forward and gradients ({listed} listed differences)"
    return Part("samples", counts, found)


def invalid_calls(oracle: Oracle) -> Part:
    """TensorFlow's outcomes of invalid calls again, against those kept, which tests/ops/test_invalid_inputs.py compares."""
    kept, spoilable = fault_results.load(), invalid_samples()
    found, calls = [], 0
    with Oracle(limit=make_faults.SECONDS) as impatient:  # some of these calls never end
        for name in kept:
            if make_faults.make(impatient, name, spoilable[name][0]) != kept[name]:
                found.append(f"{name}: the outcomes kept are stale; run {fault_results.UPDATE} {name}")
            calls += sum(len(kept[name][form]) for form in ("static", "late"))
    return Part("invalid", f"{calls} invalid calls of {len(kept)} ops, phase and class of the error", found)


def partial_shapes(oracle: Oracle) -> Part:
    """TensorFlow's static shapes again, against those kept; tests/ops/test_partial_shapes.py compares ours with them."""
    kept, spoilable = partial_results.load(), invalid_samples()
    found = [
        f"{name}: the shapes kept are stale; run {partial_results.UPDATE} {name}"
        for name in kept
        if make_partial.make(oracle, name, spoilable[name]) != kept[name]
    ]
    calls = sum(len(entry["shapes"]) for entry in kept.values())
    return Part("shapes", f"{calls} calls of {len(kept)} ops of which little is known, their static shapes", found)


def optimizers(made: Path) -> Part:
    """Every optimizer, dense and sparse, twenty steps here against those just made with TensorFlow."""
    found = []
    with np.load(made) as theirs:
        for name, optimizer in optimizer_cases.CASES.items():
            for sparse in (False, True):
                start = f"{name}/{'sparse' if sparse else 'dense'}/"
                ours = optimizer_cases.train(tf, optimizer, sparse)
                wanted = {key.removeprefix(start): theirs[key] for key in theirs.files if key.startswith(start)}
                if set(ours) != set(wanted):
                    found.append(f"{start} variables {sorted(set(ours) ^ set(wanted))}")
                found += [start + key for key in ours if key in wanted and not same(ours[key], wanted[key], RTOL)]
            print(f"optimizer {name:26} {optimizer_cases.STEPS} steps, dense and sparse", flush=True)
    count = len(optimizer_cases.CASES)
    return Part("optimizers", f"{count} optimizers over {optimizer_cases.STEPS} steps, dense and sparse", found)


def parts(oracle: Oracle, *more: Callable[[Oracle], Part]) -> list[Part]:
    """The files, the optimizers and the samples, and what `more` compares.  The scripts run meanwhile."""
    with tempfile.TemporaryDirectory() as folder, ThreadPoolExecutor(1) as pool:
        making = pool.submit(made_anew, Path(folder))
        asked = [compare_some(oracle) for compare_some in (samples, partial_shapes, invalid_calls, *more)]
        files = making.result()
        trained = optimizers(Path(folder) / "tests/golden/optimizer.npz")
    return [files, trained, *asked]


def main() -> int:
    with Oracle() as oracle:
        found = parts(oracle)
    print(summary(found, oracle.version))
    return 1 if any(part.differences for part in found) else 0


if __name__ == "__main__":
    sys.exit(main())
