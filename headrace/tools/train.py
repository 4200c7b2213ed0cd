"""Runs a TensorFlow 1 program, unedited, and says how fast it goes.

    headrace train train.py --batch=64          or   python -m headrace.tools.train train.py --batch=64

`import tensorflow` in the program means Headrace.  Every ten seconds, and at the end, a line on stderr tells how many steps
the main thread has run (each `Session.run` is one) and how many a second.  What the program prints and returns is its own.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from time import monotonic
from typing import Any

from headrace.client.session import BaseSession
from headrace.tensorflow.__main__ import main as run_program
from headrace.tools.trace import Choice, Tracer
from headrace.tools.watch import Call, watching

MODES = ("auto", "off", "always")


@dataclass
class Progress:
    """Counts steps and tells of them now and then.  Not thread-safe: one thread runs the steps that count."""

    every: float  # seconds between two lines; 0: only the last one
    as_json: bool = False
    clock: Callable[[], float] = monotonic
    steps: int = 0
    told: int = 0  # steps when the last line was written
    began: float = field(init=False)
    last: float = field(init=False)  # when the last line was written

    def __post_init__(self) -> None:
        self.began = self.last = self.clock()

    def step(self) -> None:
        """A step is over."""
        self.steps += 1
        now = self.clock()
        if self.every and now - self.last >= self.every:
            self._tell((self.steps - self.told) / (now - self.last), now)
            self.told, self.last = self.steps, now

    def end(self, failed: bool = False) -> None:
        """The program is over, or has raised an error."""
        now = self.clock()
        self._tell(self.steps / max(now - self.began, 1e-9), now, "failed" if failed else "done")

    def _tell(self, rate: float, now: float, end: str = "") -> None:
        seconds = now - self.began
        if self.as_json:
            facts = {
                "steps": self.steps,
                "seconds": round(seconds, 3),
                "steps_per_second": round(rate, 3),
                "done": end == "done",
                "failed": end == "failed",
            }
            text = json.dumps(facts)
        else:
            count = f"{self.steps} step{'s' * (self.steps != 1)}"
            text = f"headrace train: {count} in {seconds:.1f} s, {rate:.3g} a second{end and ', '}{end}"
        print(text, file=sys.stderr, flush=True)


def train(program: Sequence[str], progress: Progress, trace: str | None = None) -> int:
    """Runs a program (a file or ``-m`` and a module, then its arguments); returns its exit code, and raises what it raises.

    ``trace``: where a timeline of five steps goes; the verdict is printed to stderr.
    """
    tracer = None if trace is None else Tracer(Choice(out=trace, go_on=True), sys.stderr)

    def around(session: BaseSession, fetches: Any, feed_dict: Any, call: Call) -> Any:
        results = call() if tracer is None else tracer.see(session, fetches, feed_dict, call)
        progress.step()
        return results

    failed = True
    try:
        with watching(around):
            status = run_program(program)
        failed = status != 0
        return status
    except SystemExit:  # the program's own end
        failed = False
        raise
    finally:
        progress.end(failed)


def set_environment(compile_mode: str | None, check_numerics: bool) -> None:
    """What the options say, as the variables that sessions read."""
    if compile_mode is not None:
        os.environ["HEADRACE_COMPILE"] = compile_mode
    if check_numerics:
        os.environ["HEADRACE_CHECK_NUMERICS"] = "1"


def main(argv: Sequence[str]) -> int:
    """The command without typer."""
    parser = argparse.ArgumentParser(prog="python -m headrace.tools.train", description=__doc__.splitlines()[0])
    parser.add_argument(
        "--every", type=float, default=10.0, help="seconds between two lines of progress; 0: only the last"
    )
    parser.add_argument("--compile", choices=MODES, help="whether steps are compiled; wins over the program")
    parser.add_argument("--check-numerics", action="store_true", help="stop where a number becomes NaN or infinite")
    parser.add_argument("--trace", help="where a timeline of five steps goes")
    parser.add_argument("--json", action="store_true", help="lines of progress as JSON")
    parser.add_argument("program", nargs=argparse.REMAINDER, help="a file, or -m and a module, and its arguments")
    options = parser.parse_args(argv)
    if not options.program:
        parser.error("which program?")
    set_environment(options.compile, options.check_numerics)
    return train(options.program, Progress(options.every, options.json), options.trace)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
