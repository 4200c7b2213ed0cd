"""How fast this machine is with Headrace, in ten seconds: steps of four sizes, a queue, a checkpoint.

    headrace bench          or   python -m headrace.tools.bench

Each case is a loop of one call, interpreted (``compile="off"``), whose median is shown beside that of a small server: two
quiet cores of 64-bit Arm (Neoverse-N1).  Far above it, the machine is busy, or something is wrong: see `headrace doctor`.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from statistics import median
from time import perf_counter
from typing import Any, Final

import headrace as tf
from headrace.models import lenet, lstm_lm, mlp
from headrace.runtime.explain.explanation_text import text_table
from headrace.tools.time_text import time_text

Call = Callable[[], Any]
LEAST: Final = 3  # calls that are timed, however long they take
SLOW: Final = 3.0  # times the small server: worth a look
MEGABYTES: Final = 64  # of a checkpoint


@dataclass(frozen=True, slots=True)
class Case:
    """Something to measure: ``begin(session, folder)`` returns the call.  ``usual``: seconds on the small server."""

    name: str
    begin: Callable[[Any, Path], Call]
    usual: float


@dataclass(frozen=True, slots=True)
class Result:
    """The median of a case, in seconds."""

    name: str
    calls: int
    seconds: float
    usual: float
    ratio: float


def _short(session: Any, _: Path) -> Call:
    x = tf.placeholder(tf.float32, [])
    y = x + 1.0
    return lambda: session.run(y, {x: 1.0})


def _model(model: Any, batch: int) -> Callable[[Any, Path], Call]:
    def begin(session: Any, _: Path) -> Call:
        built = model.build(batch)
        built.initialize(session)
        inputs, labels = model.example(batch)
        return lambda: built.step(session, inputs, labels)

    return begin


def _queue(session: Any, _: Path) -> Call:
    queue = tf.FIFOQueue(10, [tf.float32], shapes=[[]])
    put, take = queue.enqueue(1.0), queue.dequeue()

    def both() -> None:
        session.run(put)
        session.run(take)

    return both


def _checkpoint(session: Any, folder: Path) -> Call:
    weights = tf.get_variable("weights", initializer=tf.zeros([MEGABYTES << 18]))
    session.run(weights.initializer)
    saver = tf.train.Saver(max_to_keep=1)
    return lambda: saver.save(session, str(folder / "model"), write_meta_graph=False)


CASES: Final = (
    Case("feed one number, add, fetch it", _short, 21e-6),
    Case("MLP 784-128-10, batch 32", _model(mlp, 32), 0.77e-3),
    Case("LeNet, batch 64", _model(lenet, 64), 92e-3),
    Case("LSTM 2x512, 20 steps, batch 8", _model(lstm_lm, 8), 219e-3),
    Case("queue: add one, take one", _queue, 97e-6),
    Case(f"checkpoint of {MEGABYTES} MiB", _checkpoint, 40e-3),
)


@contextmanager
def _session() -> Iterator[Any]:
    with tf.Graph().as_default(), tf.Session(config=tf.ConfigProto(compile="off")) as session:
        yield session


def measure(case: Case, seconds: float) -> Result:
    """Calls for some seconds, after two calls that plan."""
    with tempfile.TemporaryDirectory(prefix="headrace-bench-") as folder, _session() as session:
        call = case.begin(session, Path(folder))
        call()
        call()
        times: list[float] = []
        end = perf_counter() + seconds
        while len(times) < LEAST or perf_counter() < end:
            began = perf_counter()
            call()
            times.append(perf_counter() - began)
    took = median(times)
    return Result(case.name, len(times), took, case.usual, took / case.usual)


def bench(seconds: float = 10.0, as_json: bool = False) -> int:
    """Measures all cases and prints a table, or JSON; returns 0."""
    results = [measure(case, seconds / len(CASES)) for case in CASES]
    with _session() as session:
        devices = [device.name.rpartition("device:")[2] for device in session.list_devices()]
    slow = [result.name for result in results if result.ratio > SLOW]
    if as_json:
        print(json.dumps({"devices": devices, "cases": [asdict(result) for result in results], "slow": slow}, indent=1))
        return 0
    rows = [(r.name, time_text(r.seconds), time_text(r.usual), f"{r.ratio:.2f}", r.calls) for r in results]
    print(text_table(f"On {', '.join(devices)}", ("case", "here", "small server", "ratio", "calls"), rows))
    print()
    if slow:
        print(
            f"More than {SLOW:g} times the small server: {'; '.join(slow)}. Is the machine busy? headrace doctor looks further."
        )
    else:
        print(
            f"Nothing unusual: every case takes less than {SLOW:g} times what two quiet cores of a small server take."
        )
    return 0


def main(argv: Sequence[str]) -> int:
    """The command without typer."""
    parser = argparse.ArgumentParser(prog="python -m headrace.tools.bench", description=__doc__.splitlines()[0])
    parser.add_argument("--seconds", type=float, default=10.0, help="how long to measure, in all")
    parser.add_argument("--json", action="store_true", help="print JSON")
    options = parser.parse_args(argv)
    return bench(options.seconds, options.json)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
