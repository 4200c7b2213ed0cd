"""How long `import headrace` takes beyond `import torch`, with compiled bytecode and without.

Each import runs in a fresh interpreter with warm file caches, in turn; the fastest of several is reported, since everything
that disturbs such a measurement makes it slower. Bytecode is kept in folders made for this: one holds that of everything, the
other torch's and not ours, as in a container that copies the sources and sets PYTHONDONTWRITEBYTECODE. The target is at most
0.4 s beyond torch with bytecode.
"""

import os
import subprocess
import sys
import tempfile

from benchmarks import _harness

RUNS = 5
TARGET_S = 0.4
CASES = ("torch", "headrace", "headrace, no bytecode")


def main() -> None:
    """Prints wall time and processor time of each import, and whether the target is met."""
    with tempfile.TemporaryDirectory() as everything, tempfile.TemporaryDirectory() as torch_only:
        measure("headrace", everything, write=True)
        measure("torch", torch_only, write=True)
        commands = (("torch", everything), ("headrace", everything), ("headrace", torch_only))
        rounds = [[measure(*command) for command in commands] for _ in range(RUNS)]
    wall, processor = ([min(r[case][i] for r in rounds) for case in range(len(CASES))] for i in (0, 1))
    rows = [
        [name, *(f"{time:.2f} s" for time in (w, w - wall[0], p, p - processor[0]))]
        for name, w, p in zip(CASES, wall, processor, strict=True)
    ]
    print(_harness.table(["import", "wall", "beyond torch", "processor", "beyond torch"], rows))
    print(f"target {TARGET_S} s of wall time beyond torch: {'met' if wall[1] - wall[0] <= TARGET_S else 'MISSED'}")
    result = {"torch_s": wall[0], "headrace_s": wall[1], "no_bytecode_s": wall[2], "target_s": TARGET_S}
    _harness.save("import_time", {**result, "processor_s": dict(zip(CASES, processor, strict=True))})


def measure(module: str, bytecode: str, write: bool = False) -> tuple[float, float]:
    """Imports a module in a fresh interpreter with this folder of bytecode: seconds of wall time and of the processor."""
    clocks = "time.perf_counter(), time.process_time()"
    code = (
        f"import time; begin = {clocks}; import {module}; end = {clocks}; print(end[0] - begin[0], end[1] - begin[1])"
    )
    environment = {**os.environ, "PYTHONPYCACHEPREFIX": bytecode, "PYTHONDONTWRITEBYTECODE": "" if write else "1"}
    wall, processor = subprocess.check_output([sys.executable, "-c", code], env=environment, text=True).split()
    return float(wall), float(processor)


if __name__ == "__main__":
    main()
