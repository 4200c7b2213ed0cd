"""``gradients(ys, xs)``: extends the graph with the derivatives of ys (OSDI 4.1, white paper 4.1).

Finds the nodes on paths from xs to ys, walks them backwards, calls each op's gradient rule once all partial gradients of its
outputs are known, and sums what arrives at each tensor.  Ops without a rule are differentiated through their kernel.
"""

from __future__ import annotations

import contextlib
from collections import deque
from collections.abc import Callable, Sequence
from contextvars import ContextVar
from typing import Any

from headrace.autodiff.aggregate import AggregationMethod, aggregate
from headrace.autodiff.lives import Lives, living, zeros
from headrace.autodiff.registration import gradient_rule
from headrace.core.dtypes import DType
from headrace.core.process import no_collection
from headrace.core.source import at
from headrace.graph import context, raw_ops
from headrace.graph.convert import convert_to_tensor, to_tensor
from headrace.graph.graph import Graph
from headrace.graph.handle import READS, shape_for_gradient
from headrace.graph.operation import Operation, Tensor
from headrace.graph.raise_cond import ALWAYS
from headrace.graph.raise_graph import raise_loops_behind
from headrace.graph.structures import IndexedSlices

__all__ = ["AggregationMethod", "UnconnectedGradients", "gradients"]


# Rules of nodes that hold bodies (autodiff/control_flow.py): called with the gradients that arrived, None among them, and
# which inputs need one.
BODY_RULES: dict[Any, Callable[[Operation, Sequence[Any], Sequence[bool]], list[Any]]] = {}

_colocating: ContextVar[bool] = ContextVar("colocating", default=False)  # whether the sweep under way colocates


class UnconnectedGradients:
    """What ``gradients`` gives for an x that no y depends on.

    >>> x, y = tf.constant(1.0), tf.constant(2.0)
    >>> tf.gradients(y, x), tf.Session().run(tf.gradients(y, x, unconnected_gradients=tf.UnconnectedGradients.ZERO))
    ([None], [np.float32(0.0)])
    """

    NONE = "none"
    ZERO = "zero"


def is_trainable(dtype: DType) -> bool:
    base = dtype.base_dtype
    return base.is_floating or base.is_complex or base.name in ("resource", "variant")


def gradients(
    ys: Any, xs: Any, grad_ys: Any = None, name: str = "gradients", colocate_gradients_with_ops: bool = False,
    gate_gradients: bool = False, aggregation_method: int | None = None, stop_gradients: Any = None,
    unconnected_gradients: str = UnconnectedGradients.NONE,
) -> list[Any]:  # fmt: skip
    """The sums of d(ys)/dx for each x in xs: Tensors, IndexedSlices for rows gathered, or None where unconnected.

    Args:
      ys: A tensor, or a list of tensors, to differentiate.
      xs: A tensor or variable, or a list of them, to differentiate by.
      grad_ys: Weights of the `ys`, each of the shape of its y; None for ones.
      name: A name scope for the ops.
      colocate_gradients_with_ops: Whether a gradient is placed with the op that it is of.
      gate_gradients: Whether all gradients of an op are computed before one of them is used.
      aggregation_method: A constant of `tf.AggregationMethod`; it changes nothing.
      stop_gradients: Tensors to take for constants; None for none.
      unconnected_gradients: A constant of `tf.UnconnectedGradients`: None or zeros where no y depends on an x.

    Returns:
      A list with one gradient for each x.

    >>> x = tf.constant(3.0)
    >>> y = x ** 3
    >>> (slope,) = tf.gradients(y, x)
    >>> (curvature,) = tf.gradients(slope, x)
    >>> tf.Session().run([slope, curvature])
    [np.float32(27.0), np.float32(18.0)]
    """
    if ys is None or xs is None:
        raise TypeError(f"gradients(ys, xs) takes tensors or lists of them, got ys={ys!r}, xs={xs!r} {at()}")
    if context.executing_eagerly():
        raise RuntimeError(
            "tf.gradients is not supported when eager execution is enabled. Use tf.GradientTape instead."
        )
    ys_list, xs_list, stops = _listed(ys), _listed(xs), _listed(stop_gradients)
    grads_list = [None] * len(ys_list) if grad_ys is None else _listed(grad_ys)
    if len(grads_list) != len(ys_list):
        raise ValueError(f"Passed {len(grads_list)} grad_ys for {len(ys_list)} ys {at()}")
    if aggregation_method not in (None, 0, 1, 2):
        raise ValueError(f"Invalid aggregation_method specified {aggregation_method}; accepted: 0, 1, 2 or None")
    if unconnected_gradients not in (UnconnectedGradients.NONE, UnconnectedGradients.ZERO):
        raise ValueError(
            f"Unknown value for unconnected_gradients: {unconnected_gradients!r}; accepted: 'none', 'zero'"
        )
    graph = _graph_of([*ys_list, *xs_list])
    with no_collection(), graph.as_default(), graph.name_scope(name or "gradients") as scope:
        y_tensors = [convert_to_tensor(_dense(y), name=f"y_{i}") for i, y in enumerate(ys_list)]
        x_tensors = [to_tensor(_dense(x), name=f"x_{i}", as_ref=True) for i, x in enumerate(xs_list)]
        stop_set = {to_tensor(s, as_ref=True) for s in stops}
        _check_ys(y_tensors, grads_list)
        standing = [stand_ins(graph, x) for x in x_tensors]
        every = [t for tensors in standing for t in tensors]
        y_tensors = [graph._own(y, "gradients") for y in y_tensors]
        reasons = raise_loops_behind(graph, y_tensors, [*x_tensors, *stop_set])
        beyond = _beyond(graph, x_tensors, every)
        found = [*every, *beyond.values()]
        sweep = _Sweep(graph, found, stop_set, colocate_gradients_with_ops, gate_gradients, scope, refused=reasons)
        for i, (y, g) in enumerate(zip(y_tensors, grads_list, strict=True)):
            sweep.add(y, _initial_gradient(y, g, i, sweep.lives))
        sweep.run(y_tensors)
        results = [aggregate([sweep.of(t) for t in tensors]) for tensors in standing]
        if beyond:
            results = _continued(graph, x_tensors, results, {t: sweep.of(a) for t, a in beyond.items()}, stop_set)
        if unconnected_gradients == UnconnectedGradients.ZERO:
            results = [zeros(x) if g is None else g for g, x in zip(results, x_tensors, strict=True)]
        return results


def stand_ins(graph: Any, x: Tensor) -> list[Tensor]:
    """What stands for ``x`` in a graph: itself, or in a body the arguments through which it, or a read of it, comes in."""
    if x.op.graph is graph or not graph.building_function:
        return [x]
    around = stand_ins(graph.outer_graph, x)
    around += [op._outputs[0] for t in around if t.dtype._is_ref_dtype for op in t._consumers if op.type in READS]
    arguments = [graph.captures[t] for t in around if t in graph.captures]
    return arguments or [graph._own(x, "gradients")]


def _beyond(graph: Any, xs: Sequence[Tensor], standing: Sequence[Tensor]) -> dict[Tensor, Tensor]:
    """What a body takes from around it that was computed there from some x: each such tensor and its argument."""
    far = _around(graph, xs)
    if not far:
        return {}
    reached = _dependents(graph.outer_graph, far)
    captures = {t: a for t, a in graph.captures.items() if t in reached and is_trainable(t.dtype)}
    return {t: a for t, a in captures.items() if a not in standing or _origin(t) in far}


def _origin(tensor: Tensor) -> Tensor:
    """What a tensor is a captured copy of."""
    captures = getattr(tensor.op.graph, "captures", {})
    return next((_origin(t) for t, a in captures.items() if a is tensor), tensor)


def _around(graph: Any, xs: Sequence[Tensor]) -> list[Tensor]:
    """The xs that belong to graphs around a body."""
    return [x for x in xs if graph.building_function and graph.encloses(x.op.graph)]


def _dependents(graph: Any, xs: Sequence[Tensor]) -> set[Tensor]:
    """The tensors of a graph that are computed from some x in it or around it; an x only if it is from another."""
    far = _around(graph, xs)
    starts = [x for x in xs if x.op.graph is graph]
    reached: set[Tensor] = set()
    if far:
        behind = _dependents(graph.outer_graph, far)
        reached = {a for t, a in graph.captures.items() if t in behind}
        starts += [a for t in far for a in stand_ins(graph, t)]
    queue = deque([*starts, *reached])
    while queue:
        for op in queue.popleft()._consumers:
            if op.graph is graph:
                new = [t for t in op._outputs if t not in reached and is_trainable(t.dtype)]
                reached.update(new)
                queue.extend(new)
    return reached


def _continued(
    graph: Any, xs: Sequence[Tensor], inner: Sequence[Any], arrived: dict[Tensor, Any], stops: set[Tensor]
) -> list[Any]:
    """The gradients ``inner`` of a body, and what goes on from its captured tensors to the xs in the graphs around it."""
    outer = graph.outer_graph
    arrived = {t: g for t, g in arrived.items() if g is not None and t not in stops}
    if not arrived:
        return list(inner)
    standing = [stand_ins(outer, x) if x in _around(graph, [x]) else [] for x in xs]
    every = [t for tensors in standing for t in tensors]
    beyond = _beyond(outer, xs, every)
    target = context.get_default_graph()
    scope = target.get_name_scope()
    sweep = _Sweep(outer, [*every, *beyond.values()], stops, False, False, f"{scope}/" if scope else "", target)
    for t, g in arrived.items():
        sweep.add(t, g)
    sweep.run(list(arrived))
    results, counted = [], [_origin(t) for t in arrived]
    for x, tensors, inside in zip(xs, standing, inner, strict=True):
        parts = [sweep.of(t) for t in tensors]
        results.append(aggregate(parts if x in counted else [inside, *parts]))
    if beyond:
        return _continued(outer, xs, results, {t: sweep.of(a) for t, a in beyond.items()}, stops)
    return results


def _listed(value: Any) -> list[Any]:
    if value is None:
        return []
    return list(value) if isinstance(value, (list, tuple)) else [value]


def _dense(value: Any) -> Any:
    return value.values if isinstance(value, IndexedSlices) else value


def _graph_of(values: Sequence[Any]) -> Graph:
    for value in values:
        graph = getattr(value, "graph", None)
        if isinstance(graph, Graph):
            default = context.get_default_graph()
            return default if default.building_function or graph.building_function else graph
    return context.get_default_graph()


def _check_ys(ys: Sequence[Tensor], grads: Sequence[Any]) -> None:
    for y, g in zip(ys, grads, strict=True):
        base = y.dtype.base_dtype
        if g is None and base.is_complex:
            raise TypeError(f"Gradients of complex tensors ({y.name}) must set grad_ys (y.dtype = {base.name})")


def _initial_gradient(y: Tensor, grad_y: Any, index: int, lives: Lives | None) -> Any:
    if grad_y is not None:
        if isinstance(grad_y, IndexedSlices):
            return grad_y
        grad = convert_to_tensor(grad_y, name=f"grad_ys_{index}")
        if is_trainable(y.dtype) and grad.dtype.base_dtype != y.dtype.base_dtype:
            raise TypeError(
                f"Gradient type {grad.dtype.name} generated for {y.name} with type {y.dtype.name} must be the same"
            )
        return grad
    one = convert_to_tensor(1, dtype=y.dtype.base_dtype, name=f"grad_ys_{index}/Const")
    shape = shape_for_gradient if lives is None or lives.guard(y) == ALWAYS else raw_ops.Shape
    return raw_ops.Fill(shape(y, name=f"Shape{f'_{index}' if index else ''}"), one, name=f"grad_ys_{index}")


class _Sweep:
    """The reverse walk over one graph.  New nodes go to ``target``: the same graph, or the body of a gradient."""

    def __init__(
        self, graph: Graph, xs: Sequence[Tensor], stops: set[Tensor], colocate: bool, gate: bool, scope: str,
        target: Graph | None = None, refused: Sequence[str] = (),
    ) -> None:  # fmt: skip
        """``refused``: why loops of primitives could not be raised."""
        self.graph = graph
        self.target = target or graph
        self.xs = xs
        self.stops = stops
        self.colocate = colocate
        self.gate = gate
        self.scope = scope
        self.reached: set[Tensor] = set()  # tensors that depend on some x: others need no gradient
        self.partial: dict[Tensor, list[Any]] = {}
        self.final: dict[Tensor, Any] = {}
        has_primitives = any(op.op_def.traits.primitive for op in graph._nodes)
        self.lives = Lives(graph, refused) if has_primitives else None  # values may be dead

    def add(self, tensor: Tensor, grad: Any) -> None:
        self.partial.setdefault(tensor, []).append(grad)

    def of(self, tensor: Tensor) -> Any:
        """The whole gradient of a tensor; None if nothing arrived."""
        if tensor not in self.final:
            parts = self.partial.get(tensor)
            if not parts:
                return None
            if len(parts) > 1:
                with self.target.name_scope(self.scope), self._colocated(tensor.op):
                    self.final[tensor] = self._sum(parts)
            else:
                self.final[tensor] = parts[0]
        return self.final[tensor]

    def _sum(self, parts: Sequence[Any]) -> Any:
        """The sum of partial gradients; with colocation, those of one device are summed there, with the first of them.

        What is left is summed where the caller is: with what made the tensor.
        """
        if not self.colocate or not all(isinstance(part, Tensor) for part in parts):
            return aggregate(parts)
        by_device: dict[str, list[Tensor]] = {}
        for part in parts:
            by_device.setdefault(part.device, []).append(part)
        sums = []
        for together in by_device.values():
            with self._colocated(together[0].op):
                sums.append(aggregate(together))
        return aggregate(sums)

    def _colocated(self, op: Operation) -> Any:
        if not self.colocate:
            return contextlib.nullcontext()
        if self.target is self.graph:
            return self.graph.colocate_with(op, ignore_existing=True)
        return self.target.device(op.device) if op.device else contextlib.nullcontext()

    def run(self, ys: Sequence[Tensor]) -> None:
        """Walks back from ``ys``.  The gradients of bodies on the way are colocated if this sweep's are."""
        token, lives = _colocating.set(self.colocate), living.set(self.lives)
        try:
            self._walk(ys)
        finally:
            _colocating.reset(token)
            living.reset(lives)

    def _walk(self, ys: Sequence[Tensor]) -> None:
        between = self._between(ys)
        pending = dict.fromkeys(between, 0)
        for op in between:
            for t in op.inputs:
                if t.op in between and t not in self.stops:
                    pending[t.op] += 1
        ready = deque(op for op in dict.fromkeys(y.op for y in ys) if op in between and pending[op] == 0)
        done: set[Operation] = set()
        while ready:
            op = ready.popleft()
            if op in done:
                continue
            done.add(op)
            self._back_propagate(op)
            for t in op.inputs:
                if t.op in between and t not in self.stops:
                    pending[t.op] -= 1
                    if pending[t.op] == 0:
                        ready.append(t.op)

    def _between(self, ys: Sequence[Tensor]) -> set[Operation]:
        """Ops on paths from xs to ys.  The ops that make xs are not entered unless another x lies behind them."""
        reached = self.reached
        queue = deque(self.xs)
        while queue:
            t = queue.popleft()
            if t in reached:
                continue
            reached.add(t)
            for op in t._consumers:
                if op.graph is not self.graph:
                    continue
                if any(is_trainable(o.dtype) for o in op._outputs) or not op._outputs:
                    queue.extend(o for o in op._outputs if o not in reached and is_trainable(o.dtype))
        producing = {t.op for t in reached}
        for x in self.xs:  # the op that makes an x is on a path only if one of its inputs is
            if not any(i in reached for i in x.op.inputs):
                producing.discard(x.op)
        between: set[Operation] = set()
        stack = [y.op for y in ys if y not in self.stops]
        while stack:
            op = stack.pop()
            if op in between or op not in producing:
                continue
            between.add(op)
            stack.extend(t.op for t in op.inputs if t not in self.stops)
        return between

    def _back_propagate(self, op: Operation) -> None:
        grads = [self.of(t) for t in op._outputs]
        if not any(g is not None for g in grads):
            return
        registered, rule = gradient_rule(op)
        if registered and rule is None:
            return
        with self.target.name_scope(self.scope), self.target.name_scope(f"{op.name}_grad"), self._colocated(op):
            if rule in BODY_RULES:
                produced = BODY_RULES[rule](op, grads, [t in self.reached for t in op.inputs])
            else:
                filled = [
                    zeros(t) if g is None and is_trainable(t.dtype) else g
                    for g, t in zip(grads, op._outputs, strict=True)
                ]
                produced = rule(op, *filled) if rule is not None else through_kernel(op, filled)
            inputs = self._check(op, produced)
            inputs = [g if t in self.reached else None for g, t in zip(inputs, op.inputs, strict=True)]
            if self.lives is not None:
                inputs = self.lives.completed(op, inputs)
            if self.gate and sum(g is not None for g in inputs) > 1:
                inputs = _gated(inputs)
        for t, g in zip(op.inputs, inputs, strict=True):
            if g is not None and is_trainable(t.dtype):
                self.add(t, g)

    def _check(self, op: Operation, produced: Any) -> list[Any]:
        grads = list(produced) if isinstance(produced, (list, tuple)) else [produced]
        if len(grads) != len(op.inputs):
            raise ValueError(
                f"Num gradients {len(grads)} generated for op {op.name} ({op.type}, made at {op.source}) do not match num "
                f"inputs {len(op.inputs)}"
            )
        for i, (g, t) in enumerate(zip(grads, op.inputs, strict=True)):
            if g is None or not is_trainable(t.dtype):
                continue
            if not isinstance(g, IndexedSlices):
                g = grads[i] = convert_to_tensor(g)
                if t._shape.ndims is not None and g is not t:
                    try:
                        g.set_shape(t._shape)
                    except ValueError:
                        raise ValueError(
                            f"Incompatible shapes between op input and calculated input gradient. Forward operation: "
                            f"{op.name}. Input index: {i}. Original input shape: {t._shape}. Calculated input gradient "
                            f"shape: {g._shape} (op made at {op.source})"
                        ) from None
            if g.dtype.base_dtype != t.dtype.base_dtype:
                raise TypeError(
                    f"Gradient type {g.dtype.name} generated for input {i} of op {op.name} ({op.type}) does not match "
                    f"its type {t.dtype.name}"
                )
        return grads


def differentiate(
    source: Graph, ys: Sequence[Tensor], grads: Sequence[Tensor], xs: Sequence[Tensor], target: Graph
) -> list[Any]:
    """The gradients of a body's outputs with respect to its inputs, as nodes of ``target``, the default graph."""
    scope = target.get_name_scope()
    sweep = _Sweep(source, xs, set(), _colocating.get(), False, f"{scope}/" if scope else "", target)
    for y, grad in zip(ys, grads, strict=True):
        sweep.add(y, grad)
    sweep.run(ys)
    return [sweep.of(x) for x in xs]


def _gated(grads: list[Any]) -> list[Any]:
    graph = context.get_default_graph()
    with graph.control_dependencies([g for g in grads if g is not None]):
        return [
            IndexedSlices(raw_ops.Identity(g.values), g.indices, g.dense_shape)
            if isinstance(g, IndexedSlices)
            else (None if g is None else raw_ops.Identity(g))
            for g in grads
        ]


def through_kernel(op: Operation, grads: Sequence[Any]) -> list[Any]:
    """The gradients of an op without a rule, by differentiating its kernel."""
    traits = op.op_def.traits
    trainable = [i for i, t in enumerate(op.inputs) if is_trainable(t.dtype)]
    if not trainable:
        return [None] * len(op.inputs)
    if not traits.pure or traits.host:
        raise LookupError(
            f"No gradient defined for operation '{op.name}' (op type: {op.type}, made at {op.source}), and its kernel is not "
            "a pure function that could be differentiated. Use tf.stop_gradient, tf.NotDifferentiable, or register a gradient."
        )
    flowing = [convert_to_tensor(g) for g, t in zip(grads, op._outputs, strict=True) if is_trainable(t.dtype)]
    produced = raw_ops._Vjp(
        list(op.inputs), flowing, op_type=op.op_def.name, op_attrs=op.attrs, trainable=trainable,
        Tout=[op.inputs[i].dtype.base_dtype for i in trainable],
    )  # fmt: skip
    result: list[Any] = [None] * len(op.inputs)
    for i, g in zip(trainable, produced, strict=True):
        result[i] = g
    return result
