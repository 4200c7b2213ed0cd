"""Eager calls of functions: the body is planned once, as a step is, and run on the values.

A tape that follows an argument sees the call as one op.  What its gradient will need is then computed with the results.
"""

from __future__ import annotations

import threading
from collections.abc import Sequence
from typing import Any

from headrace.autodiff.function import whole_gradient
from headrace.core.config import ConfigProto
from headrace.core.dtypes import DType
from headrace.core.registry import OpDef
from headrace.eager import tape_entry
from headrace.eager.binding import unshare
from headrace.eager.tape_entry import TapeEntry
from headrace.eager.tensor import EagerHandle, holding
from headrace.graph.body import Detached, FuncGraph
from headrace.passes.pipeline import make_body_graph
from headrace.passes.read import ref_positions
from headrace.passes.schedule import root
from headrace.resources.calling.value import tensor_held
from headrace.runtime.drive.plans import StepPlan
from headrace.runtime.session.master import Master


class Runner:
    """The plans of one function, by the number of results.  Thread-safe."""

    def __init__(self, f: FuncGraph) -> None:
        self._f = f
        self._master = Master(f, ConfigProto())
        self._plans: dict[int, tuple[StepPlan, list[int]]] = {}
        self._by_itself: Any = None
        self._lock = threading.Lock()

    def by_itself(self) -> Any:
        """The function as one of run-time values, for any thread."""
        with self._lock:
            if self._by_itself is None:
                f, planner = self._f, self._master.planner
                graph = make_body_graph(f.inputs, f.outputs, f.control_outputs, planner.options())
                self._by_itself = planner.plan_body(graph)
            return self._by_itself

    def plan(self, results: int) -> tuple[StepPlan, list[int]]:
        """The plan for that many results, and the positions of the handles that it writes."""
        planned = self._plans.get(results)
        if planned is None:
            with self._lock:
                plan = self._master.plan(self._f.inputs, self._f.outputs[:results], self._f.control_outputs)
                writers = [n for n in plan.graph.nodes if n.op_def.traits.writes]
                written = {root(n.inputs[p]) for n in writers for p in ref_positions(n)}
                planned = plan, [i for i, v in enumerate(plan.feeds) if v in written]
                self._plans[results] = planned
        return planned


def runner(f: FuncGraph) -> Runner:
    cached: Runner | None = f.gradients.get(Runner)
    if cached is None:
        cached = f.gradients.setdefault(Runner, Runner(f))
    return cached


def detached(attr: Any) -> Any:
    """The attribute as a kernel gets it: a body that runs by itself as a function of values, for any thread."""
    if not isinstance(attr, Detached):
        return attr
    return runner(attr.body).by_itself()


def call(
    definition: OpDef, inputs: Sequence[Any], outputs: Sequence[DType], attrs: dict[str, Any], context: Any
) -> TapeEntry:
    """Runs a call.  Tapes keep it as one entry."""
    f: FuncGraph = attrs["f"]
    tapes = tape_entry.active.get()
    for tape in tapes:
        for tensor in inputs:
            if isinstance(tensor, EagerHandle) and tensor.trainable:
                tape.accessed(tensor)
    following = [t for t in tapes if t.tracked is not None and any(id(x) in t.tracked for x in inputs)]
    count = len(outputs)
    if following and any(d.is_floating or d.is_complex or d.name == "variant" for d in outputs):
        orders = len(following) + any(t._persistent for t in following)
        count = max(count, *(1 + (_slot(f, attrs["visible"], k)) for k in range(1, orders + 1)))
    entry = run(definition, inputs, attrs, count, context)
    if tapes:
        tape_entry.keep_custom(tapes, entry)
    return entry


def _slot(f: FuncGraph, visible: int, order: int) -> int:
    if "custom" in f.gradients:
        return visible - 1
    slot = whole_gradient(f, visible, order).slot
    return visible - 1 if slot is None else slot


def run(definition: OpDef, inputs: Sequence[Any], attrs: dict[str, Any], count: int, context: Any) -> TapeEntry:
    """The first ``count`` results of the function."""
    f: FuncGraph = attrs["f"]
    plan, written = runner(f).plan(count)
    device = context.place()
    values = []
    for tensor in inputs:
        value = tensor._value
        if context.several_devices and not isinstance(tensor, EagerHandle) and hasattr(value, "to"):
            value = value.to(device)
        values.append(value)
    for i in written:
        unshare(values[i])
    results = plan.run(values)
    out_dtypes = [t.dtype.base_dtype for t in f.outputs[:count]]
    outputs = [holding(tensor_held(v), dtype) for v, dtype in zip(results, out_dtypes, strict=True)]
    attrs = {**attrs, "Tout": tuple(out_dtypes)}
    return TapeEntry(definition, list(inputs), outputs, attrs)


def call_again(op: TapeEntry, count: int, context: Any) -> TapeEntry:
    """Runs a call again with more results: a gradient needs values that no tape asked for when it ran."""
    if op.type.startswith("Stateful"):
        raise RuntimeError(
            f"the gradient of {op.attrs['f'].description} is asked for after it ran, in a way that no tape foresaw, and running "
            "it again would repeat its side effects. Compute the first gradient inside a GradientTape(persistent=True)."
        )
    token = tape_entry.active.set(())
    try:
        return run(op.op_def, op.inputs, op.attrs, count, context)
    finally:
        tape_entry.active.reset(token)
