"""What the user of a debugged session sees and types: before a run, and after it."""

from __future__ import annotations

import re
import shlex
from collections.abc import Callable, Mapping
from typing import Any

from headrace.client.observe import described
from headrace.core.table import Table
from headrace.library.debugging.tfdbg.dump_dir import DebugDumpDir

HELP = """run (r)            run, and look at the tensors; run -n: without looking, run -t 10: ten times without looking
                   run -f has_inf_or_nan: run until the filter finds a tensor
lt                 the tensors of the run; lt -f has_inf_or_nan, lt -n PATTERN, lt -t OP_TYPE
pt NAME            print a tensor: pt loss:0
ni NAME            the op and the line of a node
exit               end the program
help (h)           these lines"""
ROWS = 30


class Prompt:
    """``asks``: whether somebody answers.  Otherwise all is printed, and runs go on.

    Args:
      filters: Functions by name that take a datum and an array, and say whether they have found something.
      asks: Whether to ask on the terminal.

    Example: ``Prompt({"has_inf_or_nan": tfdbg.has_inf_or_nan}, asks=sys.stdin.isatty())``
    """

    def __init__(self, filters: Mapping[str, Callable[[Any, Any], bool]], asks: bool) -> None:
        self._filters = filters
        self.asks = asks
        self.ask: Callable[[str], str] = input
        self._unseen = 0  # runs that are not to be looked at
        self._until: str | None = None  # the filter that must find something first

    def before_run(self, number: int, fetches: Any, feed_dict: Any) -> bool:
        """Whether the run is looked at."""
        if not self.asks:
            return True
        if self._unseen:
            self._unseen -= 1
            return False
        if self._until is not None:
            return True
        feeds = ", ".join(str(getattr(key, "name", key)) for key in feed_dict or {}) or "nothing"
        print(f"--- run {number}: fetches {_names(fetches)}; feeds {feeds}. Type run, or help.")
        while True:
            command, arguments = self._command()
            if command in ("run", "r"):
                return self._begin(arguments)
            self._other(command)

    def _begin(self, arguments: list[str]) -> bool:
        options = dict(zip(arguments[::2], arguments[1::2], strict=False))
        if "-t" in options:
            self._unseen = max(int(options["-t"]) - 1, 0)
            return False
        if "-f" in options and options["-f"] in self._filters:
            self._until = options["-f"]
        return "-n" not in arguments

    def after_run(self, number: int, dump: DebugDumpDir) -> None:
        """Shows what a run has left; on a terminal it asks what to do next."""
        if not self.asks:
            print(self._table(dump, [], f"run {number}"))
            for name, test in self._filters.items():
                found = dump.find(test)
                if found:
                    print(f"{name}: {', '.join(datum.tensor_name for datum in found)}")
            return
        if self._until is not None:
            if not dump.find(self._filters[self._until], 1):
                return
            print(f"run {number}: {self._until} has found a tensor")
            print(self._table(dump, ["-f", self._until]))
            self._until = None
        else:
            print(self._table(dump, [], f"run {number}"))
        while True:
            command, arguments = self._command()
            if command in ("run", "r"):
                if arguments:
                    self._begin(arguments)
                return
            if command == "lt":
                print(self._table(dump, arguments))
            elif command in ("pt", "ni") and arguments:
                print(self._tensor(dump, arguments[0]) if command == "pt" else self._node(dump, arguments[0]))
            else:
                self._other(command)

    def _command(self) -> tuple[str, list[str]]:
        try:
            words = shlex.split(self.ask("tfdbg> "))
        except EOFError:
            words = ["exit"]
        return (words[0], words[1:]) if words else ("", [])

    def _other(self, command: str) -> None:
        if command in ("exit", "quit", "q"):
            raise SystemExit(1)
        if command:
            print(HELP if command in ("help", "h") else f"there is no command {command!r} here\n{HELP}")

    def _table(self, dump: DebugDumpDir, arguments: list[str], title: str = "") -> Table:
        options = dict(zip(arguments[::2], arguments[1::2], strict=False))
        data = dump.dumped_tensor_data
        if "-f" in options:
            test = self._filters.get(options["-f"])
            if test is None:
                return Table(f"there is no filter {options['-f']!r}; there are {', '.join(self._filters)}", [])
            data = dump.find(test)
        if "-n" in options:
            data = [one for one in data if re.match(options["-n"], one.node_name)]
        if "-t" in options:
            data = [one for one in data if re.match(options["-t"], _type(dump, one.node_name))]
        rows = [
            {
                "t (ms)": round((one.timestamp - (dump.t0 or 0)) / 1000, 3), "op": _type(dump, one.node_name),
                "tensor": one.tensor_name, "value": described(one.get_tensor()),
            }
            for one in (data if arguments else data[:ROWS])
        ]  # fmt: skip
        more = f"... and {len(data) - len(rows)} more: lt -n PATTERN" if len(data) > len(rows) else ""
        return Table(f"{title}: {len(data)} tensors".lstrip(": "), rows, more)

    @staticmethod
    def _tensor(dump: DebugDumpDir, name: str) -> str:
        found = [one for one in dump.dumped_tensor_data if name in (one.tensor_name, one.node_name)]
        if not found:
            return f"the run has no tensor {name!r}; lt lists those that it has"
        return "\n".join(f"{one.tensor_name} {described(one.get_tensor())}\n{one.get_tensor()!r}" for one in found)

    @staticmethod
    def _node(dump: DebugDumpDir, name: str) -> str:
        try:
            op = dump.python_graph.get_operation_by_name(name.partition(":")[0])
        except KeyError:
            return f"the graph has no node {name!r} outside loops, conditionals and functions"
        return (
            f"{op.type} {op.name} made at {op.source}\n  inputs: {', '.join(one.name for one in op.inputs) or 'none'}"
        )


def _type(dump: DebugDumpDir, name: str) -> str:
    try:
        return dump.node_op_type(name)
    except KeyError:  # inside a body
        return ""


def _names(fetches: Any) -> str:
    if isinstance(fetches, (list, tuple)):
        return ", ".join(map(_names, fetches))
    if isinstance(fetches, dict):
        return ", ".join(map(_names, fetches.values()))
    return str(getattr(fetches, "name", fetches))
