"""Runs an example as it is, or with its import of Headrace replaced by TensorFlow's.

    python tests/examples/run_both.py examples/vae.py --steps 40

uses Headrace if the Python has it, else TensorFlow; `--tensorflow` as the first argument insists on the latter.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

OURS = "import headrace as tf\n"
THEIRS = "import tensorflow.compat.v1 as tf; tf.disable_v2_behavior()\n"


def load(path: Path, tensorflow: bool = False) -> dict[str, Any]:
    """The program's names, its `main` not yet run."""
    source = path.read_text()
    if source.count(OURS) != 1:
        raise ValueError(f"{path} must contain the line {OURS.strip()!r} exactly once")
    if str(path.parent) not in sys.path:
        sys.path.append(str(path.parent))  # where Python finds cartpole.py when it runs an example
    if tensorflow:
        source = source.replace(OURS, THEIRS)
    names: dict[str, Any] = {"__file__": str(path), "__name__": path.stem}
    exec(compile(source, str(path), "exec"), names)
    return names


def run(path: Path, steps: int, seed: int = 0, tensorflow: bool = False) -> list[float]:
    """The losses of a run of the example."""
    losses: list[float] = load(path, tensorflow)["main"](["--steps", str(steps), "--seed", str(seed)])
    return losses


def numbers(path: Path, flags: list[str], tensorflow: bool = False) -> list[float]:
    """Every number that the example's `main` returns, in order."""
    return list(_flat(load(path, tensorflow)["main"](flags)))


def _flat(value: Any) -> Iterator[float]:
    if isinstance(value, tuple | list | np.ndarray):
        for item in value:
            yield from _flat(item)
    else:
        yield float(value)


def _has_headrace() -> bool:
    try:
        import headrace  # noqa: F401
    except ImportError:
        return False
    return True


def main(arguments: list[str]) -> None:
    """Runs the example named by the first argument with the others."""
    tensorflow = arguments[:1] == ["--tensorflow"]
    path, *rest = arguments[tensorflow:]
    load(Path(path).resolve(), tensorflow or not _has_headrace())["main"](rest)


if __name__ == "__main__":
    main(sys.argv[1:])
