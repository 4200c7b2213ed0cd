"""The text of one generated function while it is written: its lines, its names, and the objects the names stand for.

Knows nothing of ops.  `codegen` writes one line per node; `holder` adds the lines that convert values.
"""

from __future__ import annotations

import re
from collections.abc import Sequence, Set
from itertools import groupby
from operator import itemgetter
from typing import Any

from headrace.passes.step_graph import Node
from headrace.runtime.host.recorder import Recorder

_LITERALS = (bool, int, type(None))
_SHORT = 24  # characters of a text: names of other partitions are longer, and equal strands stay equal without them
_OWNED = re.compile(r"\b[vt]\d+\b")
_VALUES = re.compile(r"\b[cistv]\d+\b")  # parameters, constants and state too


class Script:
    """Lines of Python in order.  Local variables are called v1, t2, ...; bound objects have other letters: c1, k2, s3, ..."""

    def __init__(self, recorder: Recorder | None = None) -> None:
        """``recorder``: notes when the node of each line ran; None: nothing does."""
        self.recorder = recorder
        self.namespace: dict[str, Any] = {}
        self.lines: list[tuple[str, Node | None]] = []
        self._owned: set[str] = set()
        self._bound: dict[int, str] = {}
        self._kept: list[Any] = []
        self._count = 0

    def fresh(self, prefix: str) -> str:
        """A name that nothing has yet."""
        self._count += 1
        return f"{prefix}{self._count}"

    def local(self, prefix: str) -> str:
        """The name of a new local variable, "v..." or "t...", which is deleted after the last line that mentions it."""
        name = self.fresh(prefix)
        self._owned.add(name)
        return name

    def bind(self, prefix: str, thing: Any) -> str:
        """A global name for an object; the same object gets the same name."""
        name = self._bound.get(id(thing))
        if name is None:
            name = self._bound[id(thing)] = self.fresh(prefix)
            self._kept.append(thing)
            self.namespace[name] = thing
        return name

    def literal(self, value: Any) -> str:
        """An expression for a value: written out where that is short, else bound."""
        if type(value) in _LITERALS or (type(value) is str and len(value) <= _SHORT):
            return repr(value)
        if type(value) is float and value == value and value not in (float("inf"), float("-inf")):
            return repr(value)
        if type(value) in (tuple, list) and all(type(v) in (int, bool) for v in value):
            return repr(value)
        return self.bind("a", value)

    def write(self, line: str, node: Node | None) -> None:
        """Adds a line, which belongs to ``node`` when it raises."""
        self.lines.append((line, node))

    def assemble(
        self, inputs: int, returned: str, parameters: Sequence[str] = (), optional: Set[str] = frozenset(), quiet: bool = False
    ) -> tuple[str, dict[int, Node]]:  # fmt: skip
        """The text of the function ``strand(i0, i1, ..., *parameters)``, and the node behind each of its lines.

        ``returned`` is the expression that it returns.
        Lines that only make an ``optional`` variable which nothing mentions are left out.  ``quiet``: numpy does not warn of
        overflow and division by zero meanwhile; TF1 does not either.
        """
        keep = set(_OWNED.findall(returned))
        first: dict[str, int] = {}
        last: dict[str, int] = {}
        for i, (line, _) in enumerate(self.lines):
            for name in _OWNED.findall(line):
                if name in self._owned:
                    first.setdefault(name, i)
                    last[name] = i
        unused = {first[n] for n in optional if first[n] == last[n] and n not in keep}
        recorded = {} if self.recorder is None else self._recorded(self.recorder, unused, inputs)
        for i, line in recorded.items():
            last.update((name, max(last[name], i)) for name in _OWNED.findall(line) if name in self._owned)
        dying: dict[int, list[str]] = {}
        for name, i in last.items():
            if name not in keep:
                dying.setdefault(i, []).append(name)
        text = [f"def strand({', '.join([*(f'i{i}' for i in range(inputs)), *parameters])}):"]
        numbered: dict[int, Node] = {}
        margin = "    "
        if quiet:
            text.append('    with quiet(all="ignore"):')
            margin += "    "
        for i, (line, node) in enumerate(self.lines):
            if i in unused:
                continue
            line = recorded.get(i, line)
            if i in dying:
                line += f"; del {', '.join(dying[i])}"
            text.append(margin + line)
            if node is not None:
                numbered[len(text)] = node
        text.append(f"{margin}return {returned}")
        return "\n".join(text) + "\n", numbered

    def _recorded(self, recorder: Recorder, unused: Set[int], inputs: int) -> dict[int, str]:
        """The lines of nodes with the clock around them; lines of one node that follow each other are timed together.

        Values that these lines mention first are outputs of the node, the others its inputs.
        """
        self.namespace["clock"], self.namespace["note"] = recorder.clock, recorder.note
        changed: dict[int, str] = {}
        known = {*self.namespace, *(f"i{i}" for i in range(inputs))}
        used = [(i, *self.lines[i]) for i in range(len(self.lines)) if i not in unused]
        for node, group in groupby(used, key=itemgetter(2)):
            lines = {i: line for i, line, _ in group}
            names = dict.fromkeys(_VALUES.findall("\n".join(lines.values())))
            given = ", ".join(name for name in names if name in known)
            made = ", ".join(name for name in names if name[0] == "v" and name in self._owned - known)
            known |= self._owned & names.keys()
            if node is None or node.op_def.traits.asynchronous:
                continue
            first, last = min(lines), max(lines)
            changed |= lines
            changed[first] = f"at = clock(); {lines[first]}"
            changed[last] += f"; note({self.bind('n', node)}, at, [{made}], [{given}])"
        return changed
