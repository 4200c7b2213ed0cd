"""The reverse walk over what a tape recorded: the same gradient rules as for graphs, run at once."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from headrace.autodiff.aggregate import aggregate
from headrace.autodiff.gradients import BODY_RULES, is_trainable, through_kernel, zeros
from headrace.autodiff.registration import gradient_rule
from headrace.core.dtypes import float32, float64
from headrace.eager.binding import HOST, HostTensor
from headrace.eager.execute import frozen
from headrace.eager.learn import NOTHING, PLANS, RANK, SHAPE, VALUE, learn
from headrace.eager.tape_entry import Record, active, recording
from headrace.eager.tensor import EagerTensor, Immediate
from headrace.graph import raw_ops
from headrace.graph.convert import convert_to_tensor
from headrace.graph.operation import Tensor
from headrace.graph.structures import IndexedSlices


def backprop(
    records: Sequence[Record],
    targets: Sequence[Any],
    grads: Sequence[Any],
    sources: Sequence[Any],
    aliases: dict[int, Any],
) -> list[Any]:
    """The gradients of the targets, summed, for each source; None where nothing connects them.

    ``aliases`` are the variables that tensors, by identity, were read from.
    """
    needed = _depending(records, sources, aliases)
    partial: dict[int, list[Any]] = {}
    whole: dict[int, Any] = {}
    for target, grad in zip(targets, grads, strict=True):
        if id(target) in needed:
            _add(partial, target, grad, aliases)
    plain = all(g.__class__ is EagerTensor and g._value.shape == _shape(t) for t, g in zip(targets, grads, strict=True))
    for record in reversed(records):
        outputs = record._outputs
        arrived: list[Any] = []
        some = False
        for t in outputs:
            parts = partial.pop(id(t), None)
            if parts is None:
                arrived.append(None)
                continue
            arrived.append(parts[0] if len(parts) == 1 else aggregate(parts))
            whole[id(t)] = arrived[-1]
            some = True
        if not some:
            continue
        inputs, bound = record.inputs, record.bound
        wanted = tuple([id(t) in needed for t in inputs])
        found = None
        if plain and bound is not None and bound.learnable:
            memory = bound.backward
            if memory is None:
                memory = bound.backward = RuleMemory(bound)
            found = memory.gradients(record, arrived, wanted)
        for t, g, yes in zip(inputs, found or _through(record, arrived), wanted, strict=True):
            if yes and g is not None and (t._kind in _TRAINABLE or is_trainable(t.dtype)):
                key = id(aliases.get(id(t), t))
                if key in partial:
                    partial[key].append(g)
                else:
                    partial[key] = [g]
    found = []
    for source in sources:
        parts = partial.get(id(source))
        found.append(aggregate(parts) if parts else whole.get(id(source)))
    return found


def _shape(tensor: Any) -> Any:
    return getattr(tensor._current(), "shape", None)


def _add(partial: dict[int, list[Any]], tensor: Any, grad: Any, aliases: dict[int, Any]) -> None:
    key = id(aliases.get(id(tensor), tensor))
    if key in partial:
        partial[key].append(grad)
    else:
        partial[key] = [grad]


def _depending(records: Sequence[Record], sources: Sequence[Any], aliases: dict[int, Any]) -> set[int]:
    """The tensors that depend on a source: nothing else needs a gradient.  A tape keeps all of them alive."""
    found = {id(s) for s in sources}
    found.update([read for read, handle in aliases.items() if id(handle) in found])
    for record in records:
        if not found.isdisjoint(map(id, record.inputs)):
            found.update(map(id, record._outputs))
    return found


# ---- through one op


_TRAINABLE = frozenset(d.as_datatype_enum for d in (float32, float64))  # the commonest of them


class RuleMemory:
    """What an op's gradient rule did, by which gradients arrive, which are wanted, and numbers on the host.

    Shapes of inputs decide those of outputs and gradients, so if the rule looked at any, those of the inputs are in the key.
    """

    __slots__ = ("count", "hosts", "level", "plans")

    def __init__(self, bound: Any) -> None:
        self.hosts = [i for i, code in enumerate(bound.codes) if code == HOST]
        self.plans: dict[Any, Any] = {}
        self.level = NOTHING
        self.count = 0

    def gradients(self, record: Record, grads: Sequence[Any], wanted: tuple[bool, ...]) -> Any:
        """Those that are wanted, as the rule computed them for an op like this before; None if it must be asked."""
        tensors: list[Any] = []
        key: list[Any] = [wanted]
        level = self.level
        if level and self.hosts and any(record.inputs[i].__class__ is EagerTensor for i in self.hosts):
            key += [t._value.shape for t in record._outputs]  # numbers in a tensor may decide them
        for t in record.inputs:
            kind = t.__class__
            if kind is EagerTensor:
                tensors.append(t)
                if level == SHAPE:
                    key.append(t._value.shape)
                elif level == RANK:
                    key.append(t._value.ndim)
            elif kind is HostTensor:
                key.append(frozen(t.host))
            else:
                return None
        tensors += record._outputs
        for g in grads:
            if g is None:
                key.append(None)
            elif g.__class__ is EagerTensor:
                tensors.append(g)
            else:
                return None
        made = tuple(key)
        plan = self.plans.get(made)
        if plan is None:
            if made in self.plans or self.count >= PLANS or recording() is None:
                return None
            plan = self._learn(made, record, tensors, grads, wanted)
            if plan is None:
                return None
        return plan.run(tensors, active.get())

    def _learn(
        self, key: Any, record: Record, tensors: Sequence[Any], grads: Sequence[Any], wanted: tuple[bool, ...]
    ) -> Any:
        self.count += 1
        looked, plan = learn(lambda probes: _ruled(record, grads, wanted, probes), tensors, shaped=True)
        if self.level < looked < VALUE:  # keys say too little: the next op of this kind learns again
            self.level = looked
            self.plans.clear()
        else:
            self.plans[key] = plan
        return plan


def _ruled(record: Record, grads: Sequence[Any], wanted: Sequence[bool], probes: Sequence[Any]) -> list[Any]:
    """The rule on probes."""
    left = iter(probes)
    inputs = [t if t.__class__ is HostTensor else next(left) for t in record.inputs]
    outputs = [next(left) for _ in record._outputs]
    flowing = [None if g is None else next(left) for g in grads]
    node = Record(record.op_def, inputs, outputs, record.attrs, bound=record.bound)
    found = _through(node, flowing)
    if not all(g is None or isinstance(g, Immediate) for g, yes in zip(found, wanted, strict=True) if yes):
        raise TypeError("rows of a gradient are not remembered")
    return [
        g if yes and g is not None and is_trainable(g.dtype) else None for g, yes in zip(found, wanted, strict=True)
    ]


def _through(record: Record, grads: Sequence[Any]) -> Sequence[Any]:
    known, rule = True, record.rule
    if rule is None:
        known, rule = gradient_rule(record)  # type: ignore[arg-type]
    if known and rule is None:
        return [None] * len(record.inputs)
    if rule in BODY_RULES:
        return BODY_RULES[rule](record, grads, [True] * len(record.inputs))  # type: ignore[arg-type]
    filled = [
        zeros(t) if g is None and is_trainable(t.dtype) else g for g, t in zip(grads, record._outputs, strict=True)
    ]
    produced = rule(record, *filled) if rule is not None else through_kernel(record, filled)  # type: ignore[arg-type]
    found = list(produced) if isinstance(produced, (list, tuple)) else [produced]
    if len(found) != len(record.inputs):
        raise ValueError(
            f"Num gradients {len(found)} generated for op {record.type} do not match num inputs {len(record.inputs)}"
        )
    return [g if g is None or isinstance(g, (Tensor, IndexedSlices)) else convert_to_tensor(g) for g in found]


def ones_like(tensor: Any) -> Any:
    """The gradient of a target with respect to itself."""
    return raw_ops.OnesLike(tensor)
