"""Tracing: a Python function and the dtypes and shapes of its arguments -> a body with results, ready to be called.

One way for ``function``, ``Defun`` and imported graphs' functions, on the graphs and captures that conditionals and loops use.

A function that calls itself is traced more than once.  The first time nothing is known of its result, and the branches
that need it are left out: what remains, the base case, tells what the result is like.  The next time its calls have that
result, and so on until nothing changes.
"""

from __future__ import annotations

import contextvars
import inspect
import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

from headrace.core.dtypes import DType
from headrace.core.registry import REGISTRY
from headrace.core.shape import TensorShape
from headrace.core.source import at
from headrace.graph import context, raw_ops
from headrace.graph.body import FuncGraph, UnknownResult, function_name, needed_controls, order_effects
from headrace.graph.convert import convert_to_tensor
from headrace.graph.functional import build_call, call_attributes
from headrace.graph.graph import Graph
from headrace.graph.handle import value_of
from headrace.graph.operation import Operation, Tensor
from headrace.library import nest
from headrace.library.control.body import pack_tensors
from headrace.library.control.tensor_array import TensorArray
from headrace.library.state.variable_creator import variable_creator_scope

lock = threading.RLock()  # one trace at a time: functions call functions
_ATTEMPTS = 10
NESTED = 10  # traces of one function inside each other that differ in shapes only, before the shapes are given up


@dataclass(frozen=True, slots=True)
class Spec:
    """What is passed for one tensor."""

    dtype: DType
    shape: TensorShape
    name: str = "arg"

    def accepts(self, tensor: Any) -> bool:
        """Whether the tensor's shape says no less than this one."""
        mine, theirs = self.shape.tuple, tensor._shape.tuple
        if mine is None:
            return True
        if theirs is None or len(mine) != len(theirs):
            return False
        return all(a is None or a == b for a, b in zip(mine, theirs, strict=True))

    def joined(self, shape: TensorShape) -> Spec:
        """A spec that accepts this spec's shape and the given one."""
        mine, theirs = self.shape.tuple, shape.tuple
        if mine is None or theirs is None or len(mine) != len(theirs):
            return Spec(self.dtype, TensorShape(None), self.name)
        dims = [a if a == b else None for a, b in zip(mine, theirs, strict=True)]
        return Spec(self.dtype, TensorShape(dims), self.name)


@dataclass(slots=True)
class Result:
    """What a function returns: tensors, and the structure around them (``structure`` holds stand-ins for the tensors)."""

    structure: Any
    specs: list[Spec]
    captured: list[Tensor]
    stateful: bool


@dataclass(slots=True)
class Trace:
    """A traced function.  ``are_tensors`` are the results' tensors in the structure; None, and operations, are not tensors."""

    body: FuncGraph
    structure: Any
    are_tensors: list[bool]
    visible: int
    specs: list[Spec] = field(default_factory=list)
    anchors: set[FuncGraph] = field(default_factory=set)  # bodies it calls that were not finished when it was traced
    alone: bool = False  # the result is one tensor and nothing around it
    created: bool = False  # variables, by the trace before this one, which found them
    prepared: Any = None  # all of an eager call but its arguments

    def call(self, tensors: Sequence[Tensor], name: str = "") -> Any:
        """The results of a call in the default graph."""
        body = self.body
        graph: Any = context.get_default_graph()
        if graph.executing_eagerly:
            return self._run(graph, tensors)
        _anchor(self.anchors)
        outputs = body.outputs[: self.visible]
        op = build_call(body, tensors, captured(body), outputs, name, None, needed_controls([body]))
        return self.pack(op)

    def _run(self, graph: Any, tensors: Sequence[Any]) -> Any:
        if self.prepared is None:
            body, captures = self.body, captured(self.body)
            op_type, attrs = call_attributes(body, [*tensors, *captures], body.outputs[: self.visible])
            self.prepared = REGISTRY.get(op_type), captures, attrs
        definition, captures, attrs = self.prepared
        return self.pack(graph.run_function(definition, [*tensors, *captures], attrs))

    def pack(self, op: Any) -> Any:
        if self.alone:
            return op._outputs[0]
        tensors = iter(op._outputs)
        return pack_tensors(self.structure, [next(tensors) if is_tensor else None for is_tensor in self.are_tensors])


def captured(body: FuncGraph) -> list[Tensor]:
    """What a body captured, values first, then handles: the order of its inputs."""
    every = list(body.captures)
    return [t for t in every if not t.dtype._is_ref_dtype] + [t for t in every if t.dtype._is_ref_dtype]


# ---- while tracing


class Tracing:
    """A trace under way."""

    def __init__(self, owner: Any, key: Any, specs: list[Spec], expected: Result | None) -> None:
        self.owner = owner
        self.key = key
        self.specs = specs
        self.expected = expected
        self.called = False  # by itself
        self.body: FuncGraph | None = None
        self.anchors: set[FuncGraph] = set()

    def call(self, tensors: Sequence[Tensor], name: str) -> Any:
        """A call of the function inside its own body."""
        self.called = True
        expected, body = self.expected, self.body
        if body is not None:
            _anchor({body})
        if expected is None or body is None:
            raise UnknownResult(self.owner)
        body.recursive = True
        inner = [body.captures[t] for t in expected.captured if t in body.captures]
        inner = [t for t in inner if not t.dtype._is_ref_dtype] + [t for t in inner if t.dtype._is_ref_dtype]
        op = build_call(body, tensors, inner, [_Typed(s) for s in expected.specs], name, expected.stateful)  # type: ignore[misc]
        results = iter(op._outputs)
        leaves = nest.flatten(expected.structure, expand_composites=True)
        return pack_tensors(expected.structure, [None if leaf is None else next(results) for leaf in leaves])


class _Typed:
    """A dtype and shape that look like a tensor."""

    def __init__(self, spec: Spec) -> None:
        self.dtype, self._shape = spec.dtype, spec.shape


class Widen(Exception):  # noqa: N818 - nothing is wrong
    """A function calls itself with ever new shapes: its outermost trace must do without static shapes."""

    def __init__(self, tracing: Tracing, shapes: Sequence[TensorShape]) -> None:
        super().__init__("recursion with ever new shapes")
        self.tracing = tracing
        self.shapes = shapes


under_way: contextvars.ContextVar[tuple[Tracing, ...]] = contextvars.ContextVar("headrace_tracing", default=())


def _anchor(bodies: set[FuncGraph]) -> None:
    """Notes for all traces inside these bodies that they cannot be used outside them."""
    for body in bodies:
        inside = False
        for tracing in under_way.get():
            if inside:
                tracing.anchors.add(body)
            inside = inside or tracing.body is body


def recursive_call(owner: Any, key: Any, tensors: Sequence[Tensor]) -> Tracing | None:
    """The trace under way that this call means, if the function is being traced for such arguments."""
    same = [t for t in under_way.get() if t.owner is owner and t.key == key]
    for tracing in reversed(same):
        if all(spec.accepts(t) for spec, t in zip(tracing.specs, tensors, strict=True)):
            return tracing
    if same and (len(same) >= NESTED or _in_branch(same[-1])):
        raise Widen(same[0], [t._shape for t in tensors])
    return None


def _in_branch(tracing: Tracing) -> bool:
    """Whether a condition or a loop lies between the trace and what is built now: then Python does not end the recursion."""
    graph: Any = context.get_default_graph()
    while graph is not tracing.body and isinstance(graph, FuncGraph):
        if not graph.name:
            return True
        graph = graph.outer_graph
    return False


def trace(
    owner: Any, python_function: Callable[..., Any], name: str, key: Any, specs: Sequence[Spec],
    arguments: Callable[[Sequence[Tensor]], tuple[Sequence[Any], dict[str, Any]]], may_create: bool = True,
    convert_result: Callable[[Any], Any] | None = None, body_name: str = "", singletons: bool = False,
) -> Trace:  # fmt: skip
    """``arguments(tensors)`` are what the Python function is called with.  ``may_create``: variables, on this trace.

    ``singletons``: variables that it makes must be made once only, so that it is traced again and must make none then.
    """
    outer = context.get_default_graph()
    specs = list(specs)
    expected: Result | None = None
    variables: list[Any] = []
    for attempt in range(_ATTEMPTS):
        tracing = Tracing(owner, key, specs, expected)
        token = under_way.set((*under_way.get(), tracing))
        try:
            traced = _trace_once(
                tracing, outer, python_function, name, arguments, variables if may_create and not attempt else None,
                convert_result, body_name,
            )  # fmt: skip
        except UnknownResult as e:
            if e.args[0] is not owner:
                raise
            raise ValueError(
                f"{name} calls itself without a base case: a recursive call must be in a branch of tf.cond (or tf.case) "
                f"whose other branch does not call {name} {at()}"
            ) from None
        except Widen as e:
            if e.tracing is not tracing:
                raise
            specs = [s.joined(shape) for s, shape in zip(specs, e.shapes, strict=True)]
            continue
        finally:
            under_way.reset(token)
        if not tracing.called:
            if variables and singletons and not attempt:
                continue
            break
        result = _result(traced, expected)
        if expected is not None and _agree(result, expected):
            break
        expected = result
    else:
        raise ValueError(
            f"the result of the recursive function {name} does not settle: it has another type, structure or set of "
            f"captured tensors each time it is traced {at()}"
        )
    traced.specs = specs
    traced.anchors = tracing.anchors
    traced.created = bool(variables) and singletons
    return traced


def _trace_once(
    tracing: Tracing, outer: Graph, python_function: Any, name: str, arguments: Any, variables: list[Any] | None,
    convert: Any, body_name: str,
) -> Trace:  # fmt: skip
    body = FuncGraph(f"the function {name}", outer, body_name or function_name(name))
    body.defined = _defined_at(python_function)
    tracing.body = body
    with body.as_default(), variable_creator_scope(_creator(name, variables)):
        tensors = [body.add_arg(s.dtype, s.shape, s.name) for s in tracing.specs]
        for tensor in tracing.expected.captured if tracing.expected else ():
            body.capture(tensor)
        args, kwargs = arguments(tensors)
        result = python_function(*args, **kwargs)
        if convert is not None:
            result = convert(result)
        structure, are_tensors, outputs, run = _results(result, body, name)
        last = order_effects(body)
        body.control_outputs = [*last, *(op for op in run if op not in last)]
        if last:
            with body.control_dependencies(last):
                outputs = [raw_ops.Identity(t) for t in outputs]
        body.outputs = outputs
    return Trace(body, structure, are_tensors, len(outputs), alone=isinstance(structure, Tensor))


def _defined_at(python_function: Any) -> str:
    """The line of the definition, if it has one."""
    unwrapped = inspect.unwrap(getattr(python_function, "__func__", python_function))
    code = getattr(unwrapped, "__code__", None)
    return f"{code.co_filename}:{code.co_firstlineno}" if code is not None else ""


def _results(result: Any, body: FuncGraph, name: str) -> tuple[Any, list[bool], list[Tensor], list[Operation]]:
    """The structure of what was returned, which leaves are tensors, the tensors, and operations to run."""
    are_tensors, outputs, run = [], [], []
    for leaf in nest.flatten(result, expand_composites=True):
        if leaf is None or isinstance(leaf, Operation):
            are_tensors.append(False)
            if leaf is not None:
                run.append(leaf)
            continue
        tensor = value_of(_as_tensor(leaf, name))
        are_tensors.append(True)
        outputs.append(body._own(tensor, "result of the function"))
    return result, are_tensors, outputs, run


def _as_tensor(leaf: Any, name: str) -> Tensor:
    if isinstance(leaf, TensorArray):
        if leaf.handle is not None and leaf.handle.graph is context.get_default_graph():
            raise TypeError(
                f"{name} returns a TensorArray that it made: return array.stack() or array.concat() instead {at()}"
            )
        return leaf.flow
    try:
        tensor: Tensor = convert_to_tensor(leaf)
    except (TypeError, ValueError) as e:
        raise TypeError(
            f"To be compatible with tf.function, Python functions must return zero or more Tensors; in compilation of {name}, "
            f"found return value of type {type(leaf).__name__}, which is not a Tensor: {e} {at()}"
        ) from None
    return tensor


def _creator(name: str, variables: list[Any] | None) -> Callable[..., Any]:
    """Puts the variables that a trace makes into the list; without one it may make none."""

    def create(next_creator: Callable[..., Any], **kwargs: Any) -> Any:
        if variables is None:
            raise ValueError(
                f"tf.function-decorated function tried to create variables on non-first call: {name} makes one in each trace "
                "(the first call of a function that makes variables traces it twice). Make it once, outside the function or "
                f"under a condition such as `if self.v is None:` {at()}"
            )
        variables.append(next_creator(**kwargs))
        return variables[-1]

    return create


def _result(traced: Trace, expected: Result | None) -> Result:
    leaves = nest.flatten(traced.structure, expand_composites=True)
    stand_ins = [
        (leaf if isinstance(leaf, TensorArray) else 0) if is_tensor else None
        for leaf, is_tensor in zip(leaves, traced.are_tensors, strict=True)
    ]
    specs = [Spec(t.dtype.base_dtype, t._shape) for t in traced.body.outputs]
    every = list(traced.body.captures)
    stateful = traced.body.stateful
    if expected is not None:
        every = [*expected.captured, *(t for t in every if t not in expected.captured)]
        stateful = stateful or expected.stateful
        if len(specs) == len(expected.specs) and all(
            a.dtype == b.dtype for a, b in zip(specs, expected.specs, strict=True)
        ):
            specs = [b.joined(a.shape) for a, b in zip(specs, expected.specs, strict=True)]
    return Result(nest.pack_sequence_as(traced.structure, stand_ins, expand_composites=True), specs, every, stateful)


def _agree(result: Result, expected: Result) -> bool:
    try:
        nest.assert_same_structure(result.structure, expected.structure, expand_composites=True)
    except (TypeError, ValueError):
        return False
    same = [(s.dtype, s.shape.tuple) for s in result.specs] == [(s.dtype, s.shape.tuple) for s in expected.specs]
    return same and len(result.captured) == len(expected.captured) and result.stateful == expected.stateful


def hoist(traced: Trace) -> None:
    """Moves a body out of the bodies around it, as far as its captures come from outside them, so that it can be called there."""
    body = traced.body
    while isinstance(body.outer_graph, FuncGraph) and not body.outer_controls:
        around = body.outer_graph
        if around in traced.anchors:
            break
        sources = {inner: outer for outer, inner in around.captures.items()}
        if not all(t in sources for t in body.captures):
            break
        body.captures = {sources[t]: inner for t, inner in body.captures.items()}
        body.outer_graph = around.outer_graph
