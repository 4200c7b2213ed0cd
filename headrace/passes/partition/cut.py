"""Cut: a placed step -> a step graph for each partition; what crosses a border is sent under a key and taken by its name.

    %a @A   %b = Exp(%a) @B      ->      A: %a   _SendMany(%a; "A>B 0")      B: %a' = _RecvMany("A>B 0")   %b = Exp(%a')

A value goes to a partition once, however many nodes there use it.  A control edge crosses as a message without values.

**Rounds.**  Each wait for another partition ends a strand, so transfers are gathered: the number of border crossings on the
longest path to a node is its round; what one partition takes in one round, and behind the same other waits, it takes together.

**Bodies.**  A conditional or loop over several partitions becomes one in each, with its part of the bodies.  Bodies run on one
thread in a fixed order, so there the transfers stand in the order of their rounds: then no two partitions wait for each other.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from headrace.core import dtypes
from headrace.core.device import task_of
from headrace.core.errors import InvalidArgumentError
from headrace.core.registry import REGISTRY
from headrace.graph.added_attr import LOSSY
from headrace.passes.instantiate import mark_numbers, on_host
from headrace.passes.match import Ops
from headrace.passes.partition.credit import Ahead, keep_together, producers
from headrace.passes.partition.homes import PREDICATE, Homes, Span, is_free, stays
from headrace.passes.partition.retrace import Crossing, retrace
from headrace.passes.partition.rotate import condition
from headrace.passes.sink import union
from headrace.passes.specialise import may_wait
from headrace.passes.step_graph import Node, StepGraph, Value

Waits = frozenset[Node]
Group = tuple[Any, ...]  # (destination, round, waits before it), and a number of its own if transfers are kept apart

NOTHING: Final = Ops("NoOp")


@dataclass(slots=True)
class _Message:
    """What one partition sends another in one round."""

    source: str
    values: list[Value] = field(default_factory=list)  # in the source
    controls: list[Node] = field(default_factory=list)
    outputs: list[Value] = field(default_factory=list)  # in the destination


@dataclass(slots=True)
class _Transfer:
    """All that one partition takes in one round."""

    node: Node  # the _RecvMany
    destination: str
    round: int
    messages: dict[str, _Message] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Cutting:
    """How values cross.

    ``gather``: what one partition takes in one round, it takes together.  ``share``: a value goes to a partition once, however
    many nodes there use it.  ``lossy``: float32 crosses as its upper 16 bits, whoever made it.  ``late``: large weights cross
    shortly before they are used (late.py).
    """

    gather: bool = True
    share: bool = True
    lossy: bool = False
    late: bool = False


USUAL = Cutting()


class Cutter:
    """Cuts one graph: a step, or a body that spans partitions.  Uses up the graph."""

    def __init__(
        self, graph: StepGraph, homes: Homes, prefix: str = "", how: Cutting = USUAL, outer: Cutter | None = None
    ) -> None:
        """``prefix`` makes the keys of a body its own.  ``outer`` cuts the step that a body is in."""
        self.graph = graph
        self.homes = homes
        self._prefix = prefix
        self._how = how
        self._nodes: dict[str, list[Node]] = {}
        self._here: dict[tuple[Value, str], Value] = {}  # a value, as a partition has it
        self._native: dict[Value, list[str]] = {}  # the partitions that have a value without being sent it
        self._parts: dict[tuple[Node, str], Node] = {}
        self._round: dict[Node, int] = {}
        self._waits: dict[Node, Waits] = {}
        self._transfers: dict[Group, _Transfer] = {}
        self._waited: dict[tuple[Node, str, str], Node] = {}
        self._devices: dict[str, str] = {}
        self._shared: set[Value] = set()  # values that may share the memory of a variable
        self._credits: list[Node] = [] if outer is None else outer._credits  # what lets loops begin
        self.rounds: dict[str, int] = {} if outer is None else outer.rounds  # of messages, by their keys

    def cut(
        self, feeds: Sequence[Sequence[str]], fetches: Sequence[Sequence[str]], parts: Sequence[str]
    ) -> dict[str, StepGraph]:
        """``feeds`` and ``fetches`` say in which partitions each is; a graph for each of ``parts``."""
        graph = self.graph
        fed = {v.op for v in graph.feeds}
        for node in graph.nodes:
            if node not in fed and node not in self.homes.spans and not is_free(node):
                home = self.homes.of_node[node]
                self._devices.setdefault(home, node.device)
                for value in node.outputs:
                    self._here[value, home] = value
                    self._native[value] = [home]
        self._nodes = {part: [] for part in parts}
        feeds_of: dict[str, list[Value]] = {part: [] for part in parts}
        for value, where in zip(graph.feeds, feeds, strict=True):
            self._round[value.op], self._waits[value.op] = 0, frozenset()
            for i, part in enumerate(where):
                copy = value if i == len(where) - 1 else value.op.again().outputs[value.value_index]
                copy.op.device = self._device(part)
                self._put(value, part, copy)
                self._nodes[part].append(copy.op)
                feeds_of[part].append(copy)
                if self._prefix:  # of a body: it may be what was read of a variable
                    self._shared.add(copy)
        last = [] if self._prefix else self._free_last()
        for node in graph.nodes:
            if node not in fed:
                self._place(node)
        fetches_of: dict[str, list[Value]] = {part: [] for part in parts}
        for value, where in zip(graph.fetches, fetches, strict=True):
            for part in where:
                fetches_of[part].append(self._take(value, part))
        must_run = [*graph.targets, *last, *(n for n in graph.nodes if n in self.homes.spans)]
        targets_of = {part: [self._parts[n, part] for n in must_run if (n, part) in self._parts] for part in parts}
        sends = self._write_transfers()
        if not self._prefix:
            for credit in self._credits:
                home = self.homes.of_node[credit]
                self._nodes[home].append(credit)
                sends.setdefault(home, []).append(credit)
        result = {}
        for part in parts:
            one = StepGraph(
                self._nodes[part], feeds_of[part], fetches_of[part], [*targets_of[part], *sends.get(part, ())]
            )
            one.sort()
            result[part] = one
        return result

    # ---- nodes

    def _free_last(self) -> list[Node]:
        """What does nothing and comes last, as `tf.group` makes it, waits for no other partition: the step waits for all.

        Returns what it waited for there, which must run.
        """
        must_run: dict[Node, None] = {}
        waited_for = {before for node in self.graph.nodes for before in node.control_inputs}
        for node in self.graph.nodes:
            if node in NOTHING and node not in waited_for:
                home = self.homes.parts(node)
                elsewhere = [b for b in node.control_inputs if self.homes.parts(b) not in ([], home)]
                must_run.update(dict.fromkeys(elsewhere))
                node.control_inputs = [b for b in node.control_inputs if b not in elsewhere]
        return list(must_run)

    def _place(self, node: Node) -> None:
        if is_free(node):
            return
        self._count(node)
        span = self.homes.spans.get(node)
        if span is not None:
            self._split(node, span)
            return
        part = self.homes.of_node[node]
        node.inputs = [self._take(v, part) for v in node.inputs]
        node.control_inputs = self._after(node, part)
        self._add(node, part, node)
        traits = node.op_def.traits
        if traits.reads_buffer or ((traits.view or traits.identity) and not self._shared.isdisjoint(node.inputs)):
            self._shared.update(node.outputs)

    def _add(self, node: Node, part: str, copy: Node) -> None:
        self._nodes[part].append(copy)
        self._parts[node, part] = copy

    def _put(self, value: Value, part: str, copy: Value) -> None:
        self._here[value, part] = copy
        self._native.setdefault(value, []).append(part)

    def _count(self, node: Node) -> None:
        """The round of a node, and the nodes that wait which it depends on, or is."""
        parts = self.homes.parts(node)
        rounds = 0
        for value in node.inputs:
            last = self._round.get(value.op, 0)  # what closes a loop of primitives comes later
            if last >= rounds:
                rounds = last + (len(parts) > 1 or self._comes_from_elsewhere(value, parts))
        for before in node.control_inputs:
            crosses = len(parts) > 1 or self.homes.parts(before) not in ([], parts)
            rounds = max(rounds, self._round.get(before, 0) + crosses)
        waits = union([self._waits.get(before, frozenset()) for before in node.predecessors()])
        if may_wait(node) or node in self.homes.spans:
            waits |= {node}
        self._round[node], self._waits[node] = rounds, waits

    def _comes_from_elsewhere(self, value: Value, parts: Sequence[str]) -> bool:
        """Whether not all of the partitions have the value without being sent it."""
        native = self._native.get(value, parts)
        return not (native == parts or is_free(value.op) or all(p in native for p in parts))

    def _device(self, part: str) -> str:
        return self._devices.get(part, part)

    # ---- what crosses

    def _take(self, value: Value, part: str) -> Value:
        """The value as the partition has it; brought there if need be."""
        here = self._here.get((value, part))
        if here is not None:
            return here
        if is_free(value.op):
            copy = value.op.again()
            copy.device = self._device(part)
            self._nodes[part].append(copy)
            for one, copied in zip(value.op.outputs, copy.outputs, strict=True):
                self._put(one, part, copied)
            return self._here[value, part]
        source = self._native[value][0]
        if stays(value):
            self._refuse(value, source, part)
        transfer, message = self._message(value.op, source, part)
        sent = self._here[value, source]
        lossy = value.dtype.base_dtype is dtypes.float32 and (self._how.lossy or may_lose(value.op))
        if lossy:
            sent = self._narrowed(sent, source)
        output = Value(transfer.node, 0, sent.dtype.base_dtype, value.shape)
        message.values.append(sent)
        message.outputs.append(output)
        if lossy:
            output = self._cast(output, value.op, part, dtypes.float32)
        if self._how.share:
            self._here[value, part] = output
        return output

    def _narrowed(self, value: Value, part: str) -> Value:
        """The upper 16 bits of a float32 (white paper 5.5), computed once however many partitions take them."""
        narrow = self._here.get((value, f"narrow {part}"))
        if narrow is None:
            narrow = self._here[value, f"narrow {part}"] = self._cast(value, value.op, part, dtypes.bfloat16)
        return narrow

    def _cast(self, value: Value, about: Node, part: str, dtype: dtypes.DType) -> Value:
        """The value in another type; bits that do not fit are dropped."""
        attrs = {"SrcT": value.dtype.base_dtype, "DstT": dtype, "Truncate": True}
        name = f"_{dtype.name}/{about.name}/{len(self._nodes[part])}"
        node = Node(
            name,
            REGISTRY.get("Cast"),
            [value],
            attrs,
            about.order,
            None,
            self._device(part),
            about.source,
            about.origin,
        )
        self._nodes[part].append(node)
        return node.add_outputs([(dtype, value.shape)]).outputs[0]

    def _after(self, node: Node, part: str) -> list[Node]:
        """What a node waits for by control edges, in its partition."""
        after: dict[Node, None] = {}
        for before in node.control_inputs:
            for home in self.homes.parts(before):
                after[self._parts[before, part] if home == part else self._signal(before, home, part)] = None
        return list(after)

    def _signal(self, before: Node, source: str, part: str) -> Node:
        """What runs in a partition once a node of another has run."""
        key = (before, source, part)
        if key not in self._waited:
            transfer, message = self._message(before, source, part)
            message.controls.append(self._parts[before, source])
            self._waited[key] = transfer.node
        return self._waited[key]

    def _message(self, node: Node, source: str, part: str) -> tuple[_Transfer, _Message]:
        group: Group = (part, self._round[node] + 1, self._waits[node])
        if not self._how.gather:
            group = (*group, len(self._transfers))
        transfer = self._transfers.get(group)
        if transfer is None:
            name = f"_recv/{self._prefix}{part}/{len(self._transfers)}"
            recv = Node(
                name, REGISTRY.get("_RecvMany"), [], {}, node.order, device=self._device(part), source=node.source
            )
            transfer = self._transfers[group] = _Transfer(recv, part, self._round[node] + 1)
            self._nodes[part].append(recv)
        return transfer, transfer.messages.setdefault(source, _Message(source))

    def _refuse(self, value: Value, source: str, part: str) -> None:
        subject = "A handle" if value.dtype.name == "resource" or value.dtype._is_ref_dtype else "A value"
        raise InvalidArgumentError(
            None, value.op.origin,
            f"{subject} of type {value.dtype.name} made by {value.op.name} (at {value.op.source}) in {source} is used in {part}; "
            "it cannot leave the device that made it. Put its users there too, with tf.device or tf.colocate_with",
        )  # fmt: skip

    def _write_transfers(self) -> dict[str, list[Node]]:
        """Writes the keys into the nodes that take, and makes those that send; these, by partition."""
        sends: dict[str, list[Node]] = {}
        events: dict[str, list[tuple[tuple[int, int, int], Node]]] = {}
        crossings = []
        for i, transfer in enumerate(self._transfers.values()):
            keys = []
            outputs: list[Value] = []
            gives: dict[str, Node] = {}
            for message in transfer.messages.values():
                key = f"{self._prefix}{message.source}>{transfer.destination} {i}"
                keys.append(key)
                self.rounds[key] = transfer.round
                outputs += message.outputs
                send = gives[message.source] = self._send(message, key, transfer)
                sends.setdefault(message.source, []).append(send)
                events.setdefault(message.source, []).append(((transfer.round, 0, i), send))
            recv = transfer.node
            crossings.append(Crossing(gives, {transfer.destination: recv}))
            for k, value in enumerate(outputs):
                value.value_index = k
            recv.outputs = outputs
            recv.attrs = {
                "keys": tuple(keys), "T": tuple(v.dtype for v in outputs), "shapes": tuple(v.shape for v in outputs)
            }  # fmt: skip
            events.setdefault(transfer.destination, []).append(((transfer.round, 1, i), recv))
        if self._prefix:
            self._put_in_order(events)
        else:
            spans = [
                {part: self._parts[node, part] for part in span.parts}
                for node, span in self.homes.spans.items()
                if (node, span.parts[0]) in self._parts
            ]
            everywhere = [node for nodes in self._nodes.values() for node in nodes]
            retrace(everywhere, crossings, [Crossing(copies, copies) for copies in spans])
        return sends

    def _send(self, message: _Message, key: str, transfer: _Transfer) -> Node:
        local = task_of(message.source) == task_of(transfer.destination)  # another task gets a copy anyway
        inputs = [self._owned(v, message.source) for v in message.values] if local else list(message.values)
        send = Node(
            f"_send/{key}", REGISTRY.get("_SendMany"), inputs,
            {"key": key, "destination": transfer.destination, "T": tuple(v.dtype for v in inputs), "times": 1},
            max((n.order for n in [*(v.op for v in inputs), *message.controls]), default=0.0), list(message.controls),
            self._device(message.source), transfer.node.source,
        )  # fmt: skip
        self._nodes[message.source].append(send)
        return send

    def _owned(self, value: Value, part: str) -> Value:
        """The value in memory of its own, if it may share that of a variable."""
        if value not in self._shared:
            return value
        owned = self._here.get((value, f"owned {part}"))
        if owned is None:
            node = Node(
                f"_own/{value.op.name}/{value.value_index}", REGISTRY.get("_Own"), [value], {"T": value.dtype.base_dtype},
                value.op.order, None, value.op.device, value.op.source, value.op.origin,
            )  # fmt: skip
            owned = node.add_outputs([(value.dtype.base_dtype, value.shape)]).outputs[0]
            self._nodes[part].append(node)
            self._here[value, f"owned {part}"] = owned
        return owned

    def _put_in_order(self, events: dict[str, list[tuple[tuple[int, int, int], Node]]]) -> None:
        """Transfers and spanning nodes of a body, one after another: sends of a round, then takes, then what spans."""
        for i, node in enumerate(self.homes.spans):
            for part in self.homes.spans[node].parts:
                if (node, part) in self._parts:
                    events.setdefault(part, []).append(((self._round[node], 2, i), self._parts[node, part]))
        for ordered in events.values():
            ordered.sort(key=lambda event: event[0])
            for (_, before), (_, after) in zip(ordered, ordered[1:], strict=False):
                if before not in after.control_inputs:
                    after.control_inputs.append(before)

    # ---- what spans

    def _split(self, node: Node, span: Span) -> None:
        """One conditional or loop for each partition."""
        bodies: dict[str, dict[str, StepGraph]] = {}
        names = ("body",) if "body" in node.attrs else ("then_branch", "else_branch")
        for name in names:
            inner = Cutter(node.attrs[name], self.homes, f"{self._prefix}{node.name}/{name}/", self._how, self)
            bodies[name] = inner.cut(span.feeds, span.fetches, span.parts)
        if "body" in bodies:
            self._keep_together(node, span, bodies["body"])
        first_in = 0 if "cond" in node.attrs and "body" in node.attrs else 1
        first_out = 1 - first_in if "body" in node.attrs else 0
        effects = REGISTRY.get(node.type.replace("Stateless", ""))
        for part in span.parts:
            inputs = [v for v, where in zip(node.inputs, span.inputs, strict=True) if part in where]
            outputs = [v for v, where in zip(node.outputs, span.outputs, strict=True) if part in where]
            attrs = {**node.attrs, **{name: cut[part] for name, cut in bodies.items()}}
            copy = Node(
                node.name, effects, [self._take(v, part) for v in inputs], attrs, node.order, self._after(node, part),
                self._device(part), node.source, node.origin,
            )  # fmt: skip
            copy.add_outputs((v.dtype, v.shape) for v in outputs)
            if not self._shared.isdisjoint(copy.inputs):
                self._shared.update(copy.outputs)
            _describe(copy, span, part, first_in, first_out)
            self._add(node, part, copy)
            for value, copied in zip(outputs, copy.outputs, strict=True):
                self._put(value, part, copied)

    def _keep_together(self, loop: Node, span: Span, bodies: dict[str, StepGraph]) -> None:
        """Bounds how far partitions run ahead: of a loop with a condition, that which decides; else those which only send."""
        if PREDICATE in loop.attrs:
            decides, *others = span.fetches[loop.attrs[PREDICATE]]
            ahead: Ahead = {decides: others}
        else:
            ahead = producers(bodies)
        credits = keep_together(loop, self._prefix, bodies, ahead, self._device)
        self._credits += credits
        self.homes.of_node.update(credits)


def may_lose(node: Node) -> bool:
    """Whether a scope says that 16 bits of what the node makes are enough; of a read, that the variable was made in one."""
    reads = node.op_def.traits.reads_buffer and node.inputs
    return bool(node.attrs.get(LOSSY)) or bool(reads and node.inputs[0].op.attrs.get(LOSSY))


def _describe(copy: Node, span: Span, part: str, first_in: int, first_out: int) -> None:
    """Gives one partition's conditional or loop the attributes of what it has."""
    attrs = copy.attrs
    results = copy.outputs[first_out:]
    outer = len(results) if "body" in attrs else 0
    captured = copy.inputs[first_in + outer :]
    attrs["Tref"] = tuple(v.dtype.base_dtype for v in captured if v.dtype._is_ref_dtype)
    attrs["Tin"] = tuple(v.dtype.base_dtype for v in captured if not v.dtype._is_ref_dtype)
    attrs["output_shapes"] = tuple(v.shape for v in results)
    attrs["visible"] = min(attrs["visible"], len(results))
    if "body" not in attrs:
        attrs["Tout"] = tuple(v.dtype for v in results)
        resident = [on_host(v.dtype, v.shape) for v in results]
        for name in ("then_branch", "else_branch"):
            attrs[name].host_feeds = [on_host(v.dtype, v.shape) for v in copy.inputs[1:]]
            attrs[name].host_fetches = resident
        attrs["host_inputs"] = {0} | {i for i, v in enumerate(copy.inputs) if on_host(v.dtype, v.shape)}
        attrs["host_outputs"] = {i for i, host in enumerate(resident) if host}
        return
    attrs["T"] = tuple(v.dtype for v in results)
    if "parallel_iterations" in attrs:
        attrs["parallel_iterations"] = 1  # messages of one iteration come before those of the next
    if "cond" in attrs:
        before = sum(part in where for where in span.fetches[: attrs[PREDICATE]])
        attrs["cond"] = condition(copy, attrs["body"].feeds, before)
        attrs[PREDICATE] = before
    mark_numbers(copy)
