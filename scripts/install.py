"""Installs Headrace from its checkout into ``.venv``, with the versions of ``constraints.txt``.

    python3 scripts/install.py          what programs need
    python3 scripts/install.py --dev    also Ray, the tests' and the developers' tools

Runs before anything is installed, so it needs Python alone.  pip says nothing for minutes while it downloads and unpacks PyTorch;
this says every few seconds what it is doing and how much is there.
"""

import argparse
import contextlib
import itertools
import os
import queue
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Sequence
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
OLDEST = (3, 11)
QUIET_S = 4.0  # the longest silence
SHOWN = (
    "Downloading ",
    "Using cached ",
    "Installing collected",
    "ERROR",
    "error:",
)  # how lines of pip begin
WIDTH = 110
PACKAGES = {False: "PyTorch, NumPy, TensorBoard and what they need", True: "PyTorch, TensorBoard, Ray, tests, linters"}
SIZES = {
    False: "1.1 GB on disk with PyTorch for CPUs, 5 GB with CUDA",
    True: "1.5 GB with PyTorch for CPUs, 5.5 GB with CUDA",
}


def main(argv: Sequence[str] | None = None) -> int:
    """Installs; returns pip's exit status."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--dev", action="store_true", help="also Ray, the tests' and the developers' tools")
    parser.add_argument("--into", type=Path, default=ROOT / ".venv", help="the virtual environment (default: .venv)")
    options = parser.parse_args(argv)
    if sys.version_info < OLDEST:
        parser.error(f"Headrace needs Python {OLDEST[0]}.{OLDEST[1]} or newer, this is {sys.version.split()[0]}")
    say(f"Installing into {os.path.relpath(options.into)}: {PACKAGES[options.dev]}")
    say(f"  {SIZES[options.dev]}; once, some minutes. Versions: constraints.txt")
    for number, step in enumerate(commands(options.into, options.dev), 1):
        status = run(step, lambda: f"{megabytes(options.into)} MB in {options.into.name}")
        if status:
            say(f"step {number} failed with status {status}: {' '.join(step)}")
            return status
    say(f"Installed: {megabytes(options.into)} MB")
    return 0


def commands(venv: Path, dev: bool) -> list[list[str]]:
    """What is run, in turn.

    The build uses the same environment, so that it, too, has pinned versions.  pip compiles bytecode for what it copies, but
    not for a checkout, and where PYTHONDONTWRITEBYTECODE is set no import does either.
    """
    python = str(venv / "bin" / "python")
    pip = [python, "-m", "pip", "install", "--progress-bar", "off", "-c", str(ROOT / "constraints.txt")]
    package = f"{ROOT}[dev]" if dev else str(ROOT)
    make = [] if os.access(python, os.X_OK) else [[sys.executable, "-m", "venv", str(venv)]]
    return [
        *make,
        [*pip, "setuptools"],
        [*pip, "--no-build-isolation", "-e", package],
        [python, "-m", "compileall", "-q", str(ROOT / "headrace")],
    ]


def run(command: Sequence[str], state: Callable[[], str], quiet_s: float = QUIET_S) -> int:
    """Runs a command; shows what matters of its output, and ``state()`` after every ``quiet_s`` seconds of silence."""
    began = time.monotonic()
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace")
    lines: queue.SimpleQueue[str | None] = queue.SimpleQueue()
    reader = threading.Thread(
        target=lambda: [lines.put(line) for line in itertools.chain(process.stdout, [None])], daemon=True
    )
    reader.start()
    doing, told = Path(command[2] if command[1] == "-m" else command[0]).name, began
    while True:
        try:
            line = lines.get(timeout=max(0.0, told + quiet_s - time.monotonic()))
        except queue.Empty:
            say(f"  {doing} ... {state()} after {time.monotonic() - began:.0f} s")
            told = time.monotonic()
            continue
        if line is None:
            break
        if line.strip().startswith(SHOWN):
            doing = line.strip().partition(":")[0]
            say(f"  {shortened(line.strip())}")
            told = time.monotonic()
    reader.join()
    process.stdout.close()
    return process.wait()


def shortened(line: str) -> str:
    """The line, in one row of a terminal; an error is never cut."""
    return line if line.lower().startswith("error") or len(line) <= WIDTH else f"{line[: WIDTH - 3]}..."


def megabytes(folder: Path) -> int:
    """How much a folder takes."""
    total = 0
    for path, _, names in os.walk(folder):
        for name in names:
            with contextlib.suppress(FileNotFoundError):  # pip moves files about
                total += os.lstat(os.path.join(path, name)).st_size
    return total // 1_000_000


def say(line: str) -> None:
    """Prints a line, also into a pipe, now."""
    print(line, flush=True)


if __name__ == "__main__":
    try:
        sys.exit(main())
    except KeyboardInterrupt:
        sys.exit("interrupted; run it again to go on")
