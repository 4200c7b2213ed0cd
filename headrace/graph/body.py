"""FuncGraph: the body of a conditional, a loop or a function, built like a graph, inside another graph.

Its nodes may use tensors of the graphs around it: each becomes an ``_Arg`` of the body, and the pair is remembered as a
capture, so that the node that holds the body can be given the value.  A variable is captured by its handle: reads and
assignments in the body act on the variable itself.  Constants are captured like all else, since they may be fed and have
gradients; a plan puts those that are not fed into its bodies (passes/instantiate.py).

Names, collections and the seed are those of the outermost graph, so that a TF1 program sees one graph, as it expects.  The
body of a function, which may be called from many places, has a name and node names of its own.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass
from typing import Any

from headrace.core.dtypes import DType
from headrace.core.registry import REGISTRY, OpDef
from headrace.core.shape import TensorShape
from headrace.core.source import user_source
from headrace.graph.graph import Graph
from headrace.graph.infer import partial_value
from headrace.graph.operation import Operation, Tensor

_numbers = itertools.count()


def function_name(name: str, graph: Graph | None = None) -> str:
    """A name no other function of the process has, in TF's form.

    With a ``graph``, no other one of that graph whose names are given so: the same again when a program builds it again, so that
    checkpoints find what the function's nodes keep.
    """
    if graph is None or graph.executing_eagerly:
        return f"__inference_{name}_{next(_numbers)}"
    root: Graph = graph.root if isinstance(graph, FuncGraph) else graph
    return f"__inference_{name}_{next(root._function_numbers)}"


class UnknownResult(Exception):  # noqa: N818 - nothing is wrong
    """A function calls itself before its result is known.  Whoever has another branch goes on with that one."""


class FuncGraph(Graph):
    """A body.  ``args`` are the values its holder passes, ``captures`` map outer tensors to further arguments.

    With a ``name`` it is the body of a function: ``outputs`` are its results, ``control_outputs`` what must run besides.
    """

    def __init__(self, description: str, outer_graph: Graph, name: str = "") -> None:
        super().__init__()
        self.description = description  # in words, for messages: "the body of a loop"
        self.outer_graph = outer_graph
        self.root: Graph = outer_graph.root if isinstance(outer_graph, FuncGraph) else outer_graph
        self.building_function = True
        self.source = user_source(2)
        self.defined = ""  # the line of the Python function that it is made of, if that is known
        self.args: list[Tensor] = []
        self.captures: dict[Tensor, Tensor] = {}
        self.outputs: list[Tensor] = []
        self.control_outputs: list[Operation] = []
        self.name = name
        self.called = ""  # the type of the nodes that call it, where a program has declared one
        self.recursive = False  # whether it calls itself, so that no plan can inline its calls
        self.gradients: dict[Any, Any] = {}  # what autodiff made of it, by what was asked
        self.outer_controls: dict[Operation, list[Operation]] = {}  # outside nodes -> those here that wait for them
        self._copied: dict[Tensor, Tensor] = {}
        self._lock = self.root._lock
        self._collections = outer_graph._collections
        if outer_graph.executing_eagerly:  # nothing may stay behind in the eager context
            self._collections = {k: list(v) for k, v in outer_graph._collections.items()}
        self._container = outer_graph._container
        self._gradient_overrides = outer_graph._gradient_overrides
        self.reads_anew = bool(name) or outer_graph.reads_anew
        if name:  # so that plans tell its nodes from those of all other graphs
            self.prefix = f"{name if name.startswith('__') else function_name(name)}/"
            return
        self.prefix = outer_graph.prefix
        self._names_in_use = outer_graph._names_in_use
        self._scopes.name = outer_graph._scopes.name
        self._scopes.devices = list(outer_graph._scopes.devices)

    # ---- arguments and captures

    @property
    def inputs(self) -> list[Tensor]:
        """What the holder passes: arguments, captured values, captured handles."""
        inner = self.captures.values()
        return [
            *self.args,
            *(t for t in inner if not t.dtype._is_ref_dtype),
            *(t for t in inner if t.dtype._is_ref_dtype),
        ]

    def add_arg(self, dtype: DType, shape: TensorShape, name: str = "arg") -> Tensor:
        """One more value that the holder passes."""
        tensor = self._new_arg(dtype, shape, name)
        self.args.append(tensor)
        return tensor

    def capture(self, tensor: Tensor, op_type: str = "body") -> Tensor:
        """The tensor of an enclosing graph as a tensor of this one."""
        outer = self.outer_graph._own(tensor, op_type)
        passed = []  # what a ref went through: a user of the variable here waits for it
        while outer.op.inputs and outer.dtype._is_ref_dtype:
            passed.append(outer.op)
            outer = outer.op.inputs[0]
        argument = self.captures.get(outer)
        if argument is None:
            argument = self.captures[outer] = self._new_arg(outer.dtype, outer._shape, outer.op.name.split("/")[-1])
            argument.op._device = outer.op.device
        for op in passed[:1]:  # which waits for the others
            self.outer_controls.setdefault(op, []).append(argument.op)
        return argument

    def _new_arg(self, dtype: DType, shape: TensorShape, name: str) -> Tensor:
        attrs = {"dtype": dtype.base_dtype, "shape": shape}
        with self.plain_scopes():
            return self.create_op(REGISTRY.get("_Arg"), [], [dtype], name=f"_arg_{name}", attrs=attrs)._outputs[0]

    def copy_constant(self, tensor: Tensor) -> Tensor:
        """A constant of another graph in this one; the array itself is shared."""
        op = tensor.op
        with self.plain_scopes():
            copy = self.create_op(op.op_def, [], [tensor.dtype], name=op.name.split("/")[-1], attrs=dict(op.attrs))
        copy._device = op.device
        return copy._outputs[0]

    @contextmanager
    def plain_scopes(self) -> Iterator[None]:
        """Nodes made inside belong to no block of the user's: no control dependencies, devices or colocation."""
        scopes = self._scopes
        old = scopes.name, scopes.control, scopes.devices, scopes.colocation
        scopes.name = f"{scopes.name}/_captured" if scopes.name else "captured"
        scopes.control, scopes.devices, scopes.colocation = [], [], []
        try:
            yield
        finally:
            scopes.name, scopes.control, scopes.devices, scopes.colocation = old

    def static_value(self, arg: Tensor) -> Any:
        """What is known of a captured value while building."""
        for outer, inner in self.captures.items():
            if inner is arg:
                return None if outer.dtype._is_ref_dtype else partial_value(outer)
        return None

    # ---- what differs from a graph of its own

    def create_op(self, op_type: Any, inputs: Sequence[Tensor], *args: Any, **kwargs: Any) -> Operation:
        """What is fed, and what outlives a step, is made outside: a body has neither callers nor sessions."""
        definition = op_type if isinstance(op_type, OpDef) else REGISTRY.get(op_type)
        traits = definition.traits
        if (traits.handle or (traits.feed and not traits.argument)) and not inputs:
            outer = self.outer_graph
            name = self._scopes.name
            outside = outer.name_scope(f"{name}/" if name else None)
            with outside, outer.control_dependencies(None), outer.devices_of(self):
                return outer.create_op(definition, inputs, *args, **kwargs)
        node = super().create_op(op_type, inputs, *args, **kwargs)
        for scope in self._scopes.control:
            for op in scope.outer:
                self.outer_controls.setdefault(op, []).append(node)
        return node

    def _own(self, tensor: Tensor, op_type: str) -> Tensor:
        if isinstance(tensor, Tensor) and tensor.op.graph is not self:
            return self.capture(tensor, op_type)
        return super()._own(tensor, op_type)

    def encloses(self, graph: Graph) -> bool:
        """Whether ``graph`` is one of the graphs around this one."""
        outer: Graph = self
        while isinstance(outer, FuncGraph):
            outer = outer.outer_graph
            if outer is graph:
                return True
        return False

    def as_graph_element(self, obj: Any, allow_tensor: bool = True, allow_operation: bool = True) -> Any:
        convert = getattr(obj, "_as_graph_element", None)
        element = convert() if convert else obj
        if isinstance(element, (Tensor, Operation)) and self.encloses(element.graph):
            return element
        if isinstance(element, (str, bytes)):
            name = element.decode() if isinstance(element, bytes) else element
            if name.split(":")[0] not in self._by_name:
                return self.outer_graph.as_graph_element(name, allow_tensor, allow_operation)
        return super().as_graph_element(element, allow_tensor, allow_operation)

    @contextmanager
    def control_dependencies(self, control_inputs: Iterable[Any] | None) -> Iterator[None]:
        """What lies outside must be done before the body starts, if one of the nodes made in the block is needed.

        What lies inside orders the body's nodes.
        """
        if control_inputs is None:
            with super().control_dependencies(None):
                yield
            return
        inside: list[Operation] = []
        outside: list[Operation] = []
        for item in control_inputs:
            element = self.as_graph_element(
                item.values if hasattr(item, "indices") and hasattr(item, "values") else item
            )
            op = element.op if isinstance(element, Tensor) else element
            (inside if op.graph is self else outside).append(op)
        with super().control_dependencies(inside):
            self._scopes.control[-1].outer = outside
            yield

    def colocate_with(self, op: Any, ignore_existing: bool = False) -> Any:
        """Does nothing for what ran eagerly: it is in no graph, and an op that uses a handle is placed with its state anyway."""
        graph = getattr(getattr(op, "op", op), "graph", None)
        return (
            nullcontext()
            if isinstance(graph, Graph) and graph.executing_eagerly
            else super().colocate_with(op, ignore_existing)
        )

    def _remove(self, op: Operation) -> None:
        """Takes out a node that nothing uses."""
        self._nodes.remove(op)
        del self._by_name[op.name]

    def _mutated(self) -> None:
        self.root._mutated()

    def _check_not_finalized(self) -> None:
        self.root._check_not_finalized()

    @property
    def seed(self) -> int | None:
        return self.root.seed

    @seed.setter
    def seed(self, seed: int | None) -> None:
        self.root.seed = seed

    @property
    def _last_id(self) -> int:
        return len(self._names_in_use)

    @property
    def stateful(self) -> bool:
        """Whether running the body may change, or depend on, anything but its inputs."""
        return any(not (n.op_def.traits.pure or n.op_def.traits.argument) for n in self._nodes)

    def __repr__(self) -> str:
        return f"<{self.description} made at {self.source}, {len(self._nodes)} nodes>"


@dataclass(frozen=True, slots=True)
class Detached:
    """A body that a node holds and that runs by itself, not as a part of the node's step: the function of a dataset."""

    body: Any  # a FuncGraph; in a plan a StepGraph


def needed_controls(bodies: Sequence[FuncGraph]) -> list[Operation]:
    """The outside nodes that must run before the bodies: those that some node waits for on which their results depend."""
    controls: dict[Operation, None] = {}
    for body in bodies:
        if body.outer_controls:
            needed = ancestors([*(t.op for t in body.outputs if t is not None), *body.control_outputs])
            controls.update((op, None) for op, waiting in body.outer_controls.items() if not needed.isdisjoint(waiting))
    return list(controls)


def ancestors(ops: Iterable[Operation]) -> set[Operation]:
    """The nodes themselves and all that they depend on."""
    reached = set(ops)
    stack = list(reached)
    while stack:
        op = stack.pop()
        more = {*(t.op for t in op.inputs), *op._control_inputs} - reached
        reached |= more
        stack.extend(more)
    return reached


def share_captures(bodies: Sequence[FuncGraph]) -> list[Tensor]:
    """Makes all bodies capture the same tensors in the same order; returns those, values first, then handles."""
    every = dict.fromkeys(outer for body in bodies for outer in body.captures)
    for body in bodies:
        missing = [t for t in every if t not in body.captures]
        for tensor in missing:
            body.captures[tensor] = body._new_arg(tensor.dtype, tensor._shape, "unused")
        body.captures = {t: body.captures[t] for t in every}
    return [t for t in every if not t.dtype._is_ref_dtype] + [t for t in every if t.dtype._is_ref_dtype]


def order_effects(body: FuncGraph) -> list[Operation]:
    """Makes the nodes with effects run in the order they were built; returns what must run for all of them to run.

    A read of a variable sees the writes built before it and none of those after it.
    """
    last: Operation | None = None
    writes: dict[Tensor, Operation] = {}
    reads: dict[Tensor, list[Operation]] = {}
    for op in body._nodes:
        traits = op.op_def.traits
        handles = [_handle_of(t) for t in op.inputs if t.dtype._is_ref_dtype]
        before: list[Operation | None] = []
        if traits.has_effect:
            before = [last, *(r for h in handles for r in reads.pop(h, ()))]
            if traits.writes:
                writes.update((h, op) for h in handles)
            last = op
        elif handles and not traits.argument:
            before = [writes.get(h) for h in handles]
            for h in handles:
                reads.setdefault(h, []).append(op)
        inputs = {t.op for t in op.inputs} | set(op._control_inputs)
        op._control_inputs.extend(b for b in dict.fromkeys(before) if b is not None and b not in inputs)
    return [] if last is None else [last]


def _handle_of(ref: Tensor) -> Tensor:
    while ref.op.inputs and ref.dtype._is_ref_dtype:
        ref = ref.op.inputs[0]
    return ref


def lifted(tensor: Tensor, target: Graph) -> Tensor | None:
    """A tensor of a function's body computed again outside it; None if it depends on the function's arguments."""
    copies: dict[Operation, Any] = {}
    order: list[Operation] = []
    stack = [tensor.op]
    while stack:
        op = stack.pop()
        if op.graph is not tensor.op.graph or op.op_def.traits.feed or op.op_def.traits.has_effect:
            return None
        order.append(op)
        stack.extend(t.op for t in op.inputs)
    for op in dict.fromkeys(reversed(order)):
        inputs = [copies[t.op]._outputs[t.value_index] for t in op.inputs]
        out_dtypes = [t.dtype for t in op._outputs]
        copies[op] = target.create_op(op.op_def, inputs, out_dtypes, name=op.name.split("/")[-1], attrs=dict(op.attrs))
    copy: Tensor = copies[tensor.op]._outputs[tensor.value_index]
    return copy
