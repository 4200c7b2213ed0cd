"""1 GB of variables, saved and restored, beside torch.save, safetensors, TensorFlow's Saver and the disk itself.

Each library has a process of its own (`_checkpoint_peers.py`); all are asked in turn, in rounds, so that whatever slows the disk
slows all.  "The disk" is `dd` with 4 MB blocks and conv=fsync, and `dd` to /dev/null.  A restore ends in the model's own
variables or tensors.  Headrace verifies the checksums of all it restores before it changes a variable; of the others, only
TensorFlow verifies any.
"""

import argparse
import contextlib
import os
import statistics
import subprocess
import sys
import tempfile
import time

from benchmarks import _checkpoint_peers, _harness

SAVE, CACHED, COLD = "save", "restore, cached", "restore, from the disk"
MEMORY = {"save": "memory of a save", "restore": "memory of a restore"}
STEPS, SAVING = "steps", "steps, saving"
TARGET_SPEED, TARGET_MB, TARGET_SLOWER = 0.9, 64, 1.05
PEERS = {  # name: library of the worker, environment
    "torch": ("torch", {}),
    "torch, mmap": ("torch", {"CHECKPOINT_MMAP": "1"}),
    "safetensors": ("safetensors", {}),
    "tensorflow": ("tensorflow", {}),
}


class Disk:
    """What `dd` takes for as many bytes; answers as a worker does."""

    def __init__(self, folder, megabytes):
        self._path, self._megabytes = f"{folder}/dd", megabytes
        self._write(f"{self._path}-kept")

    def sample(self, case):
        if case == SAVE:
            seconds = self._write(self._path)
            os.remove(self._path)
            return seconds
        path = f"{self._path}-kept"
        (_checkpoint_peers.read_ahead if case == CACHED else _checkpoint_peers.drop)(path)
        return _timed(["dd", f"if={path}", "of=/dev/null", "bs=4M"])

    def _write(self, path):
        return _timed(["dd", "if=/dev/zero", f"of={path}", "bs=4M", f"count={self._megabytes // 4}", "conv=fsync"])


def _timed(command):
    begin = time.perf_counter()
    subprocess.run(command, check=True, stderr=subprocess.DEVNULL)
    return time.perf_counter() - begin


# ---- the comparison


def main(argv=None):
    """Prints the table and whether the targets are met, and saves the samples."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--tf-python", help="a Python that has TensorFlow")
    parser.add_argument("--peers", nargs="*", choices=PEERS, default=list(PEERS))
    parser.add_argument("--rounds", type=int, default=9, help="samples of each (default: %(default)s)")
    parser.add_argument("--megabytes", type=int, default=1024, help="of variables (default: %(default)s)")
    parser.add_argument("--folder", help="on the disk to measure (default: where temporary files are)")
    parser.add_argument("--no-save", action="store_true", help="do not write the result file")
    options = parser.parse_args(argv)
    with tempfile.TemporaryDirectory(dir=options.folder) as folder, contextlib.ExitStack() as stack:
        sides = {"the disk": Disk(folder, options.megabytes)}
        for name in ("headrace", *options.peers):
            sides[name] = stack.enter_context(contextlib.closing(_worker(name, folder, options)))
        memory = {  # first, since later calls use again what an allocator has kept
            name: {what: side.values(case)[0] / 2**20 for what, case in MEMORY.items()}
            for name, side in sides.items()
            if name != "the disk"
        }
        samples = {case: _sampled(sides, case, options.rounds) for case in (SAVE, CACHED, COLD)}
        steps = _steps(sides["headrace"], min(options.rounds, 7))
        versions = {name: side.version for name, side in sides.items() if name != "the disk"}
    result = {
        "megabytes": options.megabytes,
        "versions": versions,
        "samples": samples,
        "memory_mb": memory,
        "steps": steps,
    }
    header, *lines = table(result)
    print("\n" + _harness.table(header, lines))
    for line in targets(result):
        print(line)
    if not options.no_save:
        print(f"saved to {_harness.save('checkpoint', result)}")


def _worker(name, folder, options):
    library, environment = PEERS.get(name, (name, {}))
    own = os.path.join(folder, name.replace(", ", "_"))
    os.mkdir(own)
    python = _harness.tensorflow_python(options.tf_python) if library == "tensorflow" else sys.executable
    environment = {
        **environment, "CHECKPOINT_FOLDER": own, "CHECKPOINT_MEGABYTES": str(options.megabytes), "HEADRACE_COMPILE": "off",
    }  # fmt: skip
    return _harness.Worker(python, library, "benchmarks._checkpoint_peers", environment)


def _sampled(sides, case, rounds):
    """Seconds of every side in every round; the order turns around."""
    for side in sides.values():
        side.sample(case)  # warms up
    samples = {name: [] for name in sides}
    for number in range(rounds):
        for name in list(sides) if number % 2 else reversed(list(sides)):
            samples[name].append(sides[name].sample(case))
        print(".", end="", flush=True)
    return samples


def _steps(worker, rounds):
    """Seconds for a step without a save and with one in the background, in turn."""
    for case in (STEPS, SAVING):
        worker.sample(case)
    samples = {STEPS: [], SAVING: []}
    for number in range(rounds):
        for case in (STEPS, SAVING) if number % 2 else (SAVING, STEPS):
            samples[case].append(worker.sample(case))
    return samples


# ---- the tables


def table(result):
    """A saved result as lines of text, the header first: median seconds, and Headrace's time over that of each side."""
    lines = [("", *(f"{case}{what}" for case in result["samples"] for what in ("", "  ratio")), *MEMORY_COLUMNS)]
    for name in next(iter(result["samples"].values())):
        cells = []
        for samples in result["samples"].values():
            ratio = ratios(samples, name)
            cells.append(f"{statistics.median(samples[name]):.2f} s")
            cells.append(f"{statistics.median(ratio):.2f} ({min(ratio):.2f}-{max(ratio):.2f})")
        memory = result["memory_mb"].get(name)
        lines.append((name, *cells, *(f"{memory[what]:.0f} MB" if memory else "" for what in MEMORY)))
    return lines


MEMORY_COLUMNS = tuple(f"memory, {what}" for what in MEMORY)


def ratios(samples, name):
    """Headrace's time over that of a side, round by round: below 1, Headrace is faster."""
    return [ours / theirs for ours, theirs in zip(samples["headrace"], samples[name], strict=True)]


def targets(result):
    """Whether each target is met, in words."""
    speed = 1 / statistics.median(ratios(result["samples"][SAVE], "the disk"))
    yield f"a save has {speed:.2f} of the disk's speed; target {TARGET_SPEED}: {_verdict(speed >= TARGET_SPEED)}"
    memory = result["memory_mb"]["headrace"]["save"]
    yield f"a save takes {memory:.0f} MB of memory; target {TARGET_MB} MB: {_verdict(memory < TARGET_MB)}"
    pairs = zip(result["steps"][SAVING], result["steps"][STEPS], strict=True)
    ratio = statistics.median(saving / plain for saving, plain in pairs)
    yield (
        f"a save in the background every 50 steps makes a step {ratio:.3f} times as long; target {TARGET_SLOWER}: "
        f"{_verdict(ratio < TARGET_SLOWER)}"
    )
    for case, samples in result["samples"].items():
        slower = [
            n for n in samples if n not in ("headrace", "the disk") and statistics.median(ratios(samples, n)) >= 1
        ]
        yield f"{case}: ahead of all libraries: {_verdict(not slower)}{' by ' + ', '.join(slower) if slower else ''}"


def _verdict(met):
    return "met" if met else "MISSED"


if __name__ == "__main__":
    main()
