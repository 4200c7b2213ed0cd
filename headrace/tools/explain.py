"""How one step of a TensorFlow 1 program runs on Headrace: the program is run up to that step, which is explained instead.

    headrace explain train.py --batch=64          or   python -m headrace.tools.explain train.py --batch=64

A *request* is what one `Session.run` asks for: what it fetches and what it feeds.  The first request of the program's main
thread that trains, or that is run for the second time, is explained: the step of its loop.  `--step 3` takes the third request
instead, `--fetch loss` the first one that fetches `loss`.  Five lines say where it runs and whether it is compiled; `--nodes`
shows every node, strand and message.  Nothing that the program prints reaches stdout, which has the explanation only, and
Headrace writes no checkpoint, event or graph.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, redirect_stdout
from dataclasses import dataclass, field
from typing import Any, ClassVar, TextIO

from headrace.client.fetch import Fetches
from headrace.client.session import BaseSession
from headrace.core.source import user_source
from headrace.library.system import graph_util
from headrace.library.train.saver.saver import Saver
from headrace.resources.file.event_file import EventFileWriter
from headrace.runtime.planning.tier import compile_mode
from headrace.tensorflow.__main__ import main as run_program
from headrace.tools.watch import Call, asked, fetches_name, watching

_UPDATE = re.compile(r"(Resource|Sparse)*Apply|(Sparse)?AccumulatorApplyGradient|(Resource)?Accumulator.*Gradient")
# What hooks ask for between steps: the value of a variable.
_READS = {"Variable", "VariableV2", "VarHandleOp", "ReadVariableOp", "Identity"}
NO_REPEAT = "no request trained or was run twice; --step N {command}s request N"


@dataclass(frozen=True)
class Choice:
    """Which request to explain, and how.  Without ``step`` and ``fetch``: the first that trains, or is run twice."""

    step: int | None = None
    fetch: str | None = None
    passes: bool | tuple[str, ...] = False
    as_json: bool = False
    nodes: bool = False


@dataclass
class Watch:
    """The requests of a program, in the order of their first runs."""

    choice: Choice
    out: TextIO
    requests: dict[Any, str] = field(default_factory=dict)
    done: bool = False
    command: ClassVar[str] = "explain"

    def see(self, session: BaseSession, fetches: Any, feed_dict: Any, call: Call) -> Any:
        """Notes a run that is about to begin; ends the program if this is the one to explain."""
        if self.done:
            return call()
        names, request = asked(session, fetches, feed_dict)
        again = request in self.requests
        self.requests.setdefault(request, f"{_some(names)} (run at {user_source(3)})")
        types = _types(Fetches(session.graph, fetches))
        in_loop = any(map(_UPDATE.match, types)) or (again and not types <= _READS)
        if not self._is_chosen(in_loop, names):
            return call()
        self.done = True
        self.found(session, fetches, feed_dict, request, call)
        raise SystemExit(0)

    def found(self, session: BaseSession, fetches: Any, feed_dict: Any, request: Any, call: Call) -> None:
        """Explains the request; ``call`` would run it."""
        explanation = session.explain(fetches, feed_dict, passes=self.choice.passes)
        text = (
            json.dumps(explanation.to_dict(), indent=1)
            if self.choice.as_json
            else self._titled(request, explanation, compile_mode(session._config))
        )
        print(text, file=self.out, flush=True)

    def _is_chosen(self, in_loop: bool, names: Sequence[str]) -> bool:
        if self.choice.fetch is not None:
            return fetches_name(names, self.choice.fetch)
        if self.choice.step is not None:
            return len(self.requests) == self.choice.step
        return in_loop

    def _titled(self, request: Any, explanation: Any, mode: str) -> str:
        number = list(self.requests).index(request) + 1
        title = f"Request {number}: {self.requests[request]}\n{explanation.outline(mode)}"
        if self.choice.nodes or self.choice.passes:
            return f"{title}\n\n{explanation}"
        return f"{title}\n--nodes shows every node, strand and message"

    def problem(self) -> str:
        """What to say of a program that ended before the request that is wanted."""
        if self.choice.fetch is not None:
            said = f"no request fetched {self.choice.fetch!r}"
        else:
            missing = f"there was no request {self.choice.step}"
            said = NO_REPEAT.format(command=self.command) if self.choice.step is None else missing
        listed = [f"  {i}: {what}" for i, what in enumerate(self.requests.values(), 1)]
        return "\n".join([f"headrace {self.command}: the program ended: {said}", *(listed or ["  (it ran no step)"])])


def _types(flat: Fetches) -> set[str]:
    """The types of the nodes that a request needs."""
    waiting = [t.op for t in flat.tensors] + list(flat.targets)
    seen = set()
    while waiting:
        op = waiting.pop()
        if op not in seen:
            seen.add(op)
            waiting += [*(t.op for t in op.inputs), *op.control_inputs]
    return {op.type for op in seen}


@contextmanager
def _no_files() -> Iterator[None]:
    """Savers, event writers and `tf.train.write_graph` do all but write."""

    def save(self: Saver, sess: Any, save_path: Any, global_step: Any = None, *more: Any, **options: Any) -> str:
        return str(save_path) if global_step is None else f"{save_path}-{global_step}"

    def make_writer(self: EventFileWriter, logdir: Any, *more: Any, **options: Any) -> None:
        self._logdir, self._closed = str(logdir), True  # as after `close`: events are dropped

    with (
        _replaced(Saver, "save", save),
        _replaced(EventFileWriter, "__init__", make_writer),
        _replaced(EventFileWriter, "reopen", lambda self: None),
        _replaced(graph_util, "MakeDirs", lambda path: None),
        _replaced(graph_util, "GFile", lambda path, mode: open(os.devnull, mode)),
    ):
        yield


@contextmanager
def _replaced(owner: Any, name: str, value: Any) -> Iterator[None]:
    before = getattr(owner, name)
    setattr(owner, name, value)
    try:
        yield
    finally:
        setattr(owner, name, before)


def _some(names: Sequence[str], shown: int = 6) -> str:
    return ", ".join(names[:shown]) + (f", ... ({len(names)} in all)" if len(names) > shown else "")


def explain_program(program: Sequence[str], choice: Choice) -> int:
    """Runs a program (a file or ``-m`` and a module, then its arguments) up to the step to explain.

    Returns 0 if that was explained, 1 if the program ended before; what the program raises is raised.
    """
    return run_up_to(Watch(choice, sys.stdout), program)


def run_up_to(watch: Watch, program: Sequence[str]) -> int:
    """Runs a program until the watch has found its step; returns as `explain_program` does."""
    try:
        with watching(watch.see), _no_files(), redirect_stdout(sys.stderr):
            status = run_program(program)
            if status and not watch.done:  # what comes after the step is the program's end, which was not its own
                return status
    except SystemExit:
        if not watch.done and not watch.requests:
            raise
    if watch.done:
        return 0
    print(watch.problem(), file=sys.stderr)
    return 1


def main(argv: Sequence[str]) -> int:
    """The command without typer."""
    parser = argparse.ArgumentParser(prog="python -m headrace.tools.explain", description=__doc__.splitlines()[0])
    parser.add_argument("--step", type=int, help="the number of the request to explain, from 1")
    parser.add_argument("--fetch", help="explain the first request that fetches this tensor or operation")
    parser.add_argument("--passes", help="what passes did: all, or names: fold,cse")
    parser.add_argument("--nodes", action="store_true", help="show every node, strand and message")
    parser.add_argument("--json", action="store_true", help="print JSON")
    parser.add_argument("program", nargs=argparse.REMAINDER, help="a file, or -m and a module, and its arguments")
    options = parser.parse_args(argv)
    if not options.program:
        parser.error("which program?")
    passes = False if options.passes is None else pass_names(options.passes)
    return explain_program(options.program, Choice(options.step, options.fetch, passes, options.json, options.nodes))


def pass_names(text: str) -> bool | tuple[str, ...]:
    """``all`` -> True; ``fold,cse`` -> the names."""
    return True if text == "all" else tuple(text.split(","))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
