"""A loop that passes can change: its variables and captured values are in many places that must agree.

Used by the passes that move work out of loops.  Knows nothing of what they move.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from headrace.core.dtypes import DType, as_dtype
from headrace.core.registry import REGISTRY
from headrace.core.shape import TensorShape
from headrace.graph.infer import infer_shapes
from headrace.passes.colocate import is_state
from headrace.passes.instantiate import mark_numbers
from headrace.passes.step_graph import Node, StepGraph, Value


def loops(graph: StepGraph) -> Iterator[Loop]:
    """The instantiated loops of a graph."""
    for node in list(graph.nodes):
        if "body" in node.attrs and isinstance(node.attrs["body"], StepGraph):
            yield Loop(node, graph)


class Loop:
    """One loop in ``graph``.  What ``before`` and ``after`` make is added to the graph when ``commit`` is called."""

    def __init__(self, node: Node, graph: StepGraph) -> None:
        self.node = node
        self.graph = graph
        self.body: StepGraph = node.attrs["body"]
        self.cond: StepGraph | None = node.attrs.get("cond")
        self._first_in, self._first_out = (0, 1) if self.cond is not None else (1, 0)
        self._new_nodes: list[Node] = []
        self._values: dict[Value, Value] = {}  # results that are replaced
        self._count = 0

    # ---- what there is

    @property
    def count(self) -> int:
        """The number of loop variables."""
        return len(self.node.attrs["T"])

    def initial(self, j: int) -> Value:
        return self.node.inputs[self._first_in + j]

    def result(self, j: int) -> Value:
        return self.node.outputs[self._first_out + j]

    def source(self, value: Value) -> Value | None:
        """The outer value behind a captured one, None for anything else: these are the same in every iteration."""
        captured = self.body.feeds[self.count :]
        return self.node.inputs[self._first_in + self.count + captured.index(value)] if value in captured else None

    def is_plain(self, j: int) -> bool:
        """Whether the condition does not look at a loop variable."""
        if self.cond is None:
            return True
        feed = self.cond.feeds[j]
        return feed not in self.cond.fetches and not any(feed in n.inputs for n in self.cond.nodes)

    # ---- changes

    def capture(self, value: Value) -> Value:
        """An outer value as a value of the body."""
        captured = self.node.inputs[self._first_in + self.count :]
        if value in captured:
            return self.body.feeds[self.count + captured.index(value)]
        at = self.count + len(self.node.attrs["Tin"])
        self.node.attrs["Tin"] = (*self.node.attrs["Tin"], value.dtype.base_dtype)
        return self._insert(at, value, value.dtype, value.shape)

    def add_variable(self, initial: Value) -> Value:
        """One more loop variable, after the others; the caller adds its next value to the body's fetches."""
        at = self.count
        feed = self._insert(at, initial, initial.dtype, initial.shape)
        self.node.outputs.append(Value(self.node, len(self.node.outputs), initial.dtype, initial.shape))
        self.node.attrs["T"] = (*self.node.attrs["T"], initial.dtype)
        return feed

    def drop_variable(self, j: int) -> None:
        """Drops a variable that is not used any more, inside or outside."""
        for body in self._bodies:
            dead = body.feeds.pop(j).op
            body.nodes = [n for n in body.nodes if n is not dead]
        del self.body.fetches[j]
        del self.node.inputs[self._first_in + j]
        del self.node.outputs[self._first_out + j]
        for i, value in enumerate(self.node.outputs):
            value.value_index = i
        types = list(self.node.attrs["T"])
        del types[j]
        self.node.attrs["T"] = tuple(types)

    def replace_result(self, old: Value, new: Value) -> None:
        """Replaces a result of the loop for all its users outside."""
        self._values[old] = new

    @property
    def _bodies(self) -> list[StepGraph]:
        return [self.body] if self.cond is None else [self.cond, self.body]

    def _drop_unused(self) -> None:
        """Drops the captured values that nothing in the loop uses any more."""
        used = {v for body in self._bodies for n in body.nodes for v in n.inputs}
        used |= {v for body in self._bodies for v in body.fetches}
        used |= {v for body in self._bodies for n in body.nodes for c in n.control_inputs for v in c.outputs}
        for at in range(len(self.body.feeds) - 1, self.count - 1, -1):
            if not any(body.feeds[at] in used for body in self._bodies):
                for body in self._bodies:
                    dead = body.feeds.pop(at).op
                    body.nodes = [n for n in body.nodes if n is not dead]
                del self.node.inputs[self._first_in + at]

    def _insert(self, at: int, outer: Value, dtype: DType, shape: TensorShape) -> Value:
        feeds = []
        device = outer.op.device if is_state(outer) else self.node.device
        for body in self._bodies:
            self._count += 1
            feed = Node(
                f"{self.node.name}/_given_{self.count}_{self._count}", REGISTRY.get("_Feed"), [],
                {"dtype": dtype.base_dtype, "shape": shape}, -1.0, device=device, source=self.node.source,
            )  # fmt: skip
            feed.add_outputs([(dtype, shape)])
            body.feeds.insert(at, feed.outputs[0])
            body.nodes.insert(0, feed)
            feeds.append(feed.outputs[0])
        self.node.inputs.insert(self._first_in + at, outer)
        return feeds[-1]

    # ---- new nodes

    def before(self, like: Node, op_type: str, inputs: Sequence[Value], outputs: Any = None, **attrs: Any) -> Value:
        """A node of the outer graph that runs before the loop, on the device of ``like``; its first output."""
        return self._outer(like, op_type, inputs, outputs, -0.5, attrs)

    def after(self, like: Node, op_type: str, inputs: Sequence[Value], outputs: Any = None, **attrs: Any) -> Value:
        """A node of the outer graph that runs after the loop, on the device of ``like``."""
        return self._outer(like, op_type, inputs, outputs, 0.5, attrs)

    def _outer(
        self, like: Node, op_type: str, inputs: Sequence[Value], outputs: Any, shift: float, attrs: dict[str, Any]
    ) -> Value:
        node = self._make(op_type, inputs, outputs, self.node.order + shift, attrs, self.node, like.device)
        self._new_nodes.append(node)
        return node.outputs[0]

    def inside(self, like: Node, op_type: str, inputs: Sequence[Value], outputs: Any = None, **attrs: Any) -> Value:
        """A new node of the body, with the order, source and device of ``like``; its first output."""
        node = self._make(op_type, inputs, outputs, like.order, attrs, like, like.device)
        self.body.nodes.append(node)
        return node.outputs[0]

    def constant(self, like: Node, value: Any) -> Value:
        """A constant of integers before the loop, on the device of ``like``."""
        array = np.array(value, np.int32)
        dtype = as_dtype(array.dtype)
        return self.before(like, "Const", [], [(dtype, TensorShape(list(array.shape)))], value=array, dtype=dtype)

    def _make(
        self, op_type: str, inputs: Sequence[Value], outputs: Any, order: float, attrs: dict[str, Any], owner: Node,
        device: str,
    ) -> Node:  # fmt: skip
        definition = REGISTRY.get(op_type)
        self._count += 1
        node = Node(
            f"{owner.name}/_{op_type.strip('_')}_{self._count}", definition, list(inputs), attrs, order,
            device=device, source=owner.source, origin=owner.origin,
        )  # fmt: skip
        if outputs is None:
            shapes = infer_shapes(definition, node.inputs, attrs, 1)  # type: ignore[arg-type]
            outputs = [(attrs.get("T", inputs[0].dtype).base_dtype, shapes[0])]
        return node.add_outputs(outputs)

    def commit(self) -> None:
        """Makes all places agree; the loop must not be changed through this object afterwards."""
        attrs = self.node.attrs
        self.body.sweep()
        self._drop_unused()
        attrs["output_shapes"] = tuple(v.shape for v in self.node.outputs[self._first_out :])
        captured = self.node.inputs[self._first_in + self.count :]
        attrs["Tref"] = tuple(v.dtype.base_dtype for v in captured if v.dtype._is_ref_dtype)
        attrs["Tin"] = tuple(v.dtype.base_dtype for v in captured if not v.dtype._is_ref_dtype)
        mark_numbers(self.node)
        self.body.sort()
        self.graph.nodes = self.graph.nodes + self._new_nodes
        self.graph.replace(self._values, {})


def users_of(graph: StepGraph) -> dict[Value, list[Node | None]]:
    """The users of each value; None stands for being fetched."""
    users: dict[Value, list[Node | None]] = {v: list(nodes) for v, nodes in graph.users().items()}
    for value in graph.fetches:
        users.setdefault(value, []).append(None)
    return users
