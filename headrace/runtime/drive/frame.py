"""The state of a step with loops and dead values as a machine without threads (white paper 4.4).

A value carries a tag: the iteration, of the frame, it belongs to.  A node runs in an iteration once all its inputs are
there; if one is dead the node does not run and its outputs are dead.  Six primitives differ:

    switch  gives its input to one of two outputs; the other output is dead
    merge   runs with the first input that is alive; it is dead when all that can come in this iteration are
    enter   gives its input to the first iteration of a child frame (constant: to every iteration)
    exit    gives its input to the parent frame; dead ones count only when the frame is done and the exit was never alive
    next    gives its input to the next iteration; a dead one ends the loop, so it goes nowhere
    trigger runs once all that it waits for has run or is dead

At most ``parallel`` iterations of a frame run at the same time.  Values are opaque.  Not thread-safe: the driver serialises.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final


class _Dead:
    def __repr__(self) -> str:
        return "DEAD"


DEAD: Final = _Dead()
_CONTROL: Final = -1


@dataclass(frozen=True, slots=True)
class FlowNode:
    """What the machine knows of a node.  ``inputs`` are (node, output) pairs, ``controls`` nodes."""

    primitive: str = "plain"
    inputs: tuple[tuple[int, int], ...] = ()
    controls: tuple[int, ...] = ()
    outputs: int = 1
    frame: str = ""
    constant: bool = False
    parallel: int = 10


@dataclass(frozen=True, slots=True)
class Ready:
    """An instruction: run the node on these inputs.  ``chosen``: which input a merge takes."""

    node: int
    tag: Iteration
    inputs: tuple[Any, ...]
    chosen: int = 0


class Iteration:
    """One iteration of one frame."""

    __slots__ = ("frame", "index", "outstanding", "slots")

    def __init__(self, frame: Frame, index: int) -> None:
        self.frame = frame
        self.index = index
        self.outstanding = 0  # nodes that are ready and not done, and child frames
        self.slots: dict[int, _Slot] = {}

    def __repr__(self) -> str:
        return f"{self.frame.name}[{self.index}]"


class Frame:
    """One execution of one loop."""

    __slots__ = (
        "alive_exits",
        "constants",
        "dead_exits",
        "done",
        "iterations",
        "missing",
        "name",
        "parallel",
        "parent",
        "waiting",
    )

    def __init__(self, name: str, parent: Iteration | None, missing: int, parallel: int) -> None:
        self.name = name
        self.parent = parent
        self.missing = missing  # enters that have not come yet
        self.parallel = parallel
        self.iterations: dict[int, Iteration] = {0: Iteration(self, 0)}
        self.constants: list[tuple[int, Any]] = []
        self.waiting: list[tuple[int, Any]] = []  # values for an iteration that must not start yet
        self.dead_exits: set[int] = set()
        self.alive_exits: set[int] = set()
        self.done = 0  # iterations that are over


class _Slot:
    """A node in one iteration while its inputs come in."""

    __slots__ = ("dead", "fired", "inputs", "left", "pending")

    def __init__(self, inputs: int, left: int, pending: int) -> None:
        self.inputs: list[Any] = [None] * inputs
        self.left = left  # data inputs of a merge that may still come
        self.pending = pending
        self.dead = False
        self.fired = False


class FramedFlow:
    """``start() -> ready`` and ``done(ready, outputs) -> ready``; DEAD among a switch's outputs is a dead output."""

    def __init__(self, nodes: Sequence[FlowNode]) -> None:
        self.nodes = list(nodes)
        self._uses: list[list[list[tuple[int, int]]]] = [[[] for _ in range(n.outputs)] for n in nodes]
        self._after: list[list[int]] = [[] for _ in nodes]
        self._enters: dict[str, int] = {}
        for i, node in enumerate(nodes):
            for position, (producer, output) in enumerate(node.inputs):
                self._uses[producer][output].append((i, position))
            for control in node.controls:
                self._after[control].append(i)
            if node.primitive == "enter":
                self._enters[node.frame] = self._enters.get(node.frame, 0) + 1
        self._children: dict[tuple[Iteration, str], Frame] = {}
        self._work: deque[tuple[int, Iteration, _Slot]] = deque()
        self.root = Frame("", None, 0, 1)

    def start(self) -> list[Ready]:
        first = self.root.iterations[0]
        for i, node in enumerate(self.nodes):
            if not node.inputs and not node.controls:
                self._schedule(i, first, _Slot(0, 0, 0))
        return self._drain()

    def done(self, ready: Ready, outputs: Sequence[Any]) -> list[Ready]:
        """Notes that the node ran; returns what becomes ready."""
        self._finish(ready.node, ready.tag, outputs)
        return self._drain()

    @property
    def finished(self) -> bool:
        return self.root.iterations[0].outstanding == 0 if 0 in self.root.iterations else True

    # ---- tokens

    def _deliver(self, node: int, position: int, tag: Iteration, value: Any) -> None:
        slot = tag.slots.get(node)
        if slot is None:
            slot = tag.slots[node] = self._slot(node, tag)
        if slot.fired:
            return
        if self.nodes[node].primitive == "merge":
            self._deliver_merge(node, position, tag, slot, value)
            return
        if value is DEAD:
            slot.dead = self.nodes[node].primitive != "trigger"
        elif position != _CONTROL:
            slot.inputs[position] = value
        slot.pending -= 1
        if not slot.pending:
            self._schedule(node, tag, slot)

    def _slot(self, node: int, tag: Iteration) -> _Slot:
        flow_node = self.nodes[node]
        if flow_node.primitive != "merge":
            return _Slot(len(flow_node.inputs), 0, len(flow_node.inputs) + len(flow_node.controls))
        back = sum(self.nodes[p].primitive == "next" for p, _ in flow_node.inputs)
        count = (
            back if back and tag.index else len(flow_node.inputs) - back
        )  # of a loop's Merge: what enters, or what comes back
        slot = _Slot(len(flow_node.inputs), count, len(flow_node.controls))
        slot.inputs = []
        return slot

    def _deliver_merge(self, node: int, position: int, tag: Iteration, slot: _Slot, value: Any) -> None:
        if position == _CONTROL:
            slot.pending -= 1
        else:
            slot.left -= 1
            if value is not DEAD and not slot.inputs:
                slot.inputs = [(position, value)]
        if slot.pending <= 0 and (slot.inputs or slot.left == 0):
            slot.dead = not slot.inputs
            self._schedule(node, tag, slot)

    def _schedule(self, node: int, tag: Iteration, slot: _Slot) -> None:
        slot.fired = True
        tag.outstanding += 1
        self._work.append((node, tag, slot))

    def _drain(self) -> list[Ready]:
        """Passes dead values on until none is left; returns what must run."""
        ready = []
        while self._work:
            node, tag, slot = self._work.popleft()
            primitive = self.nodes[node].primitive
            if slot.dead:
                self._finish(node, tag, [DEAD] * self.nodes[node].outputs)
            elif primitive == "merge":
                position, value = slot.inputs[0]
                ready.append(Ready(node, tag, (value,), position))
            else:
                ready.append(Ready(node, tag, tuple(slot.inputs)))
        return ready

    # ---- what a node that is done sets off

    def _finish(self, node: int, tag: Iteration, outputs: Sequence[Any]) -> None:
        flow_node = self.nodes[node]
        dead = bool(outputs) and all(o is DEAD for o in outputs)
        if flow_node.primitive == "enter":
            self._enter(node, tag, outputs[0])
        elif flow_node.primitive == "exit":
            self._exit(node, tag, outputs[0])
        elif flow_node.primitive == "next":
            if not dead:
                self._next(node, tag, outputs[0])
        else:
            self._send(node, tag, outputs)
        tag.outstanding -= 1
        self._settle(tag)

    def _send(self, node: int, tag: Iteration, outputs: Sequence[Any]) -> None:
        for output, value in enumerate(outputs):
            for user, position in self._uses[node][output]:
                self._deliver(user, position, tag, value)
        # Waiting for a switch means waiting for it to run: one of its outputs is always dead.
        dead = bool(outputs) and all(o is DEAD for o in outputs)
        for user in self._after[node]:
            self._deliver(user, _CONTROL, tag, DEAD if dead else None)

    def _enter(self, node: int, tag: Iteration, value: Any) -> None:
        flow_node = self.nodes[node]
        key = (tag, flow_node.frame)
        frame = self._children.get(key)
        if frame is None:
            frame = self._children[key] = Frame(flow_node.frame, tag, self._enters[flow_node.frame], flow_node.parallel)
            tag.outstanding += 1
        frame.missing -= 1
        if flow_node.constant:
            frame.constants.append((node, value))
            for iteration in list(frame.iterations.values()):
                self._send(node, iteration, [value])
        else:
            self._send(node, frame.iterations[0], [value])
        for iteration in list(frame.iterations.values()):
            self._settle(iteration)

    def _exit(self, node: int, tag: Iteration, value: Any) -> None:
        frame = tag.frame
        if value is DEAD:
            frame.dead_exits.add(node)
        elif frame.parent is not None:
            frame.alive_exits.add(node)
            self._send(node, frame.parent, [value])

    def _next(self, node: int, tag: Iteration, value: Any) -> None:
        frame, index = tag.frame, tag.index + 1
        following = frame.iterations.get(index)
        if following is None:
            if len(frame.iterations) >= frame.parallel:
                frame.waiting.append((node, value))
                return
            following = self._begin(frame, index)
        self._send(node, following, [value])

    def _begin(self, frame: Frame, index: int) -> Iteration:
        iteration = frame.iterations[index] = Iteration(frame, index)
        for node, value in frame.constants:
            self._send(node, iteration, [value])
        return iteration

    def _settle(self, tag: Iteration) -> None:
        """Forgets iterations that are over, oldest first, lets waiting ones begin, and ends the frame."""
        frame = tag.frame
        while frame.iterations:
            oldest = min(frame.iterations)
            if frame.iterations[oldest].outstanding or frame.missing:
                return
            if frame.waiting and oldest == max(frame.iterations):
                waiting, frame.waiting = frame.waiting, []
                following = self._begin(frame, oldest + 1)
                del frame.iterations[oldest]
                for node, value in waiting:
                    self._send(node, following, [value])
                return
            del frame.iterations[oldest]
            frame.done += 1
            if frame.waiting and len(frame.iterations) < frame.parallel:
                waiting, frame.waiting = frame.waiting, []
                following = self._begin(frame, max(frame.iterations) + 1)
                for node, value in waiting:
                    self._send(node, following, [value])
        if frame.parent is None:
            return
        self._children.pop((frame.parent, frame.name), None)
        for node in sorted(frame.dead_exits - frame.alive_exits):
            self._send(node, frame.parent, [DEAD])
        frame.dead_exits.clear()
        frame.parent.outstanding -= 1
        self._settle(frame.parent)
