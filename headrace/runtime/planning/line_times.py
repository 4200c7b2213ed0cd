"""What the lines of an interpreted step cost, and how much of that compiled code would save.

A few runs of the step are made by a copy of its program with a clock around each line.  Calls of small kernels and element-wise
work can be saved; large products and convolutions cannot: compiled code calls the same libraries.
"""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import replace
from time import perf_counter
from typing import Any, Final

from headrace.passes.bodies import held_bodies
from headrace.passes.match import Ops
from headrace.passes.region import may_compile
from headrace.passes.step_graph import Node
from headrace.runtime.code.codegen import Program

RUNS: Final = 3  # with the clock; of each line the best time counts, since other work on the machine only ever adds
LIBRARY: Final = Ops(
    "_AddProduct", "_ApplyProduct", "_ApplyMomentumProduct", "Conv2D", "Conv2DBackpropInput", "Conv2DBackpropFilter", "Conv3D",
    "Conv3DBackpropInputV2", "Conv3DBackpropFilterV2", "DepthwiseConv2dNative", "DepthwiseConv2dNativeBackpropInput",
    "DepthwiseConv2dNativeBackpropFilter", "Einsum", "MatMul", "SparseMatMul", "BatchMatMul", "BatchMatMulV2",
)  # fmt: skip
# How much of a line compiled code saves: nearly all of a short one, which is mostly the call; of a long one what fusing saves.
SHORT: Final = 20e-6
SAVED_SHORT, SAVED_LONG = 0.9, 0.4
CALL: Final = 20e-6  # of compiled code: what it costs to call it
_LINE: Final = re.compile(r"(\s*)(.*)")


class LineTimes:
    """The times of the lines of one program and of the bodies it calls, over several runs."""

    def __init__(self) -> None:
        self.runs = 0
        self._best: dict[Node, tuple[float, int]] = {}
        self._now: dict[Node, tuple[float, int]] = {}
        self._programs: list[Counter[Node]] = []  # how many lines each node of a program has

    def note(self, node: Node, began: float) -> None:
        """A line of the node is over."""
        seconds, calls = self._now.get(node, (0.0, 0))
        self._now[node] = seconds + perf_counter() - began, calls + 1

    def end_run(self) -> None:
        """All that was noted since the last call is one run."""
        noted, self._now = self._now, {}
        for node, now in list(noted.items()):  # another thread may run the step too
            self._best[node] = min(now, self._best.get(node, now))
        self.runs += 1

    def saving(self) -> float:
        """The seconds of a run that compiled code would save."""
        return sum(max(self._saving(nodes), 0.0) for nodes in self._programs)

    def _saving(self, nodes: Counter[Node]) -> float:
        """What is saved in one program, of which several runs may be part of one of the step."""
        saved, runs = 0.0, 0
        for node, lines in nodes.items():
            seconds, noted = self._best.get(node, (0.0, 0))
            calls = noted // lines
            if calls and may_compile(node) and node not in LIBRARY and not held_bodies(node):
                saved += seconds * (SAVED_SHORT if seconds < SHORT * calls else SAVED_LONG)
                runs = max(runs, calls)
        return saved - runs * CALL

    def program(self, program: Program) -> Program:
        """The program with the clock around each of its lines, and of the bodies that they call."""
        self._programs.append(Counter(program.lines.values()))
        bodies = tuple(self.program(body) for body in program.bodies)
        timed = {id(body.call): copy.call for body, copy in zip(program.bodies, bodies, strict=True)}
        names: dict[str, Any] = {name: timed.get(id(v), v) for name, v in program.call.__globals__.items()}
        names |= {"clock": perf_counter, "note": self.note}
        lines = program.source.split("\n")
        for number, node in program.lines.items():
            names[f"line{number}"] = node
            lines[number - 1] = _LINE.sub(rf"\1at = clock(); \2; note(line{number}, at)", lines[number - 1], count=1)
        exec(compile("\n".join(lines), "<headrace timed step>", "exec"), names)
        return replace(program, call=names.pop("strand"), bodies=bodies)
