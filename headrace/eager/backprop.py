"""The walk back over the entries of a tape.  The gradient rules are those of graphs; here their ops run eagerly."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from headrace.autodiff.aggregate import aggregate
from headrace.autodiff.gradients import BODY_RULES, is_trainable, through_kernel
from headrace.autodiff.lives import zeros
from headrace.autodiff.registration import gradient_rule
from headrace.core.dtypes import float32, float64
from headrace.eager.binding import HOST, HostTensor
from headrace.eager.execute import frozen
from headrace.eager.learn import NOTHING, RANK, RECIPES, SHAPE, VALUE, learn
from headrace.eager.tape_entry import TapeEntry, active, watching_tapes
from headrace.eager.tensor import EagerTensor, Immediate
from headrace.graph import raw_ops
from headrace.graph.convert import convert_to_tensor
from headrace.graph.operation import Tensor
from headrace.graph.structures import IndexedSlices


def backprop(
    entries: Sequence[TapeEntry],
    targets: Sequence[Any],
    grads: Sequence[Any],
    sources: Sequence[Any],
    aliases: dict[int, Any],
) -> list[Any]:
    """The gradient of the sum of the targets for each source; None where nothing connects them.

    ``aliases`` says, by the identity of a tensor, which variable it was read from.
    """
    needed = _depending(entries, sources, aliases)
    partial: dict[int, list[Any]] = {}
    whole: dict[int, Any] = {}
    for target, grad in zip(targets, grads, strict=True):
        if id(target) in needed:
            _add(partial, target, grad, aliases)
    plain = all(g.__class__ is EagerTensor and g._value.shape == _shape(t) for t, g in zip(targets, grads, strict=True))
    for entry in reversed(entries):
        outputs = entry._outputs
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
        inputs, bound = entry.inputs, entry.bound
        asked = tuple([id(t) in needed for t in inputs])
        input_grads = None
        if plain and bound is not None and bound.learnable:
            memory = bound.backward
            if memory is None:
                memory = bound.backward = RuleMemory(bound)
            input_grads = memory.gradients(entry, arrived, asked)
        for t, g, yes in zip(inputs, input_grads or _through(entry, arrived), asked, strict=True):
            if yes and g is not None and (t._dtype_enum in _TRAINABLE or is_trainable(t.dtype)):
                key = id(aliases.get(id(t), t))
                if key in partial:
                    partial[key].append(g)
                else:
                    partial[key] = [g]
    source_grads = []
    for source in sources:
        parts = partial.get(id(source))
        source_grads.append(aggregate(parts) if parts else whole.get(id(source)))
    return source_grads


def _shape(tensor: Any) -> Any:
    return getattr(tensor._current(), "shape", None)


def _add(partial: dict[int, list[Any]], tensor: Any, grad: Any, aliases: dict[int, Any]) -> None:
    key = id(aliases.get(id(tensor), tensor))
    if key in partial:
        partial[key].append(grad)
    else:
        partial[key] = [grad]


def _depending(entries: Sequence[TapeEntry], sources: Sequence[Any], aliases: dict[int, Any]) -> set[int]:
    """The tensors that depend on a source: nothing else needs a gradient.  A tape keeps them alive."""
    dependent = {id(s) for s in sources}
    dependent.update([read for read, handle in aliases.items() if id(handle) in dependent])
    for entry in entries:
        if not dependent.isdisjoint(map(id, entry.inputs)):
            dependent.update(map(id, entry._outputs))
    return dependent


# ---- through one op


_TRAINABLE = frozenset(d.as_datatype_enum for d in (float32, float64))  # the commonest of them


class RuleMemory:
    """The recipes of an op's gradient rule.  A key says which gradients arrive, which are wanted, and the numbers on the host.

    The shapes of the inputs decide the shapes of outputs and gradients.  So if the rule looked at any shape, the key also holds
    the shapes of the inputs.
    """

    __slots__ = ("count", "hosts", "level", "recipes")

    def __init__(self, bound: Any) -> None:
        self.hosts = [i for i, code in enumerate(bound.codes) if code == HOST]
        self.recipes: dict[Any, Any] = {}
        self.level = NOTHING
        self.count = 0

    def gradients(self, entry: TapeEntry, grads: Sequence[Any], asked: tuple[bool, ...]) -> Any:
        """The wanted gradients by the recipe for such an op; None if there is no recipe and the rule itself must run."""
        tensors: list[Any] = []
        key: list[Any] = [asked]
        level = self.level
        if level and self.hosts and any(entry.inputs[i].__class__ is EagerTensor for i in self.hosts):
            key += [t._value.shape for t in entry._outputs]  # numbers in a tensor may decide them
        for t in entry.inputs:
            tensor_class = t.__class__
            if tensor_class is EagerTensor:
                tensors.append(t)
                if level == SHAPE:
                    key.append(t._value.shape)
                elif level == RANK:
                    key.append(t._value.ndim)
            elif tensor_class is HostTensor:
                key.append(frozen(t.host))
            else:
                return None
        tensors += entry._outputs
        for g in grads:
            if g is None:
                key.append(None)
            elif g.__class__ is EagerTensor:
                tensors.append(g)
            else:
                return None
        whole_key = tuple(key)
        recipe = self.recipes.get(whole_key)
        if recipe is None:
            if whole_key in self.recipes or self.count >= RECIPES or watching_tapes() is None:
                return None
            recipe = self._learn(whole_key, entry, tensors, grads, asked)
            if recipe is None:
                return None
        return recipe.run(tensors, active.get())

    def _learn(
        self, key: Any, entry: TapeEntry, tensors: Sequence[Any], grads: Sequence[Any], asked: tuple[bool, ...]
    ) -> Any:
        self.count += 1
        looked, recipe = learn(lambda probes: _ruled(entry, grads, asked, probes), tensors, shaped=True)
        if self.level < looked < VALUE:  # the keys say too little: the next such op learns again
            self.level = looked
            self.recipes.clear()
        else:
            self.recipes[key] = recipe
        return recipe


def _ruled(entry: TapeEntry, grads: Sequence[Any], asked: Sequence[bool], probes: Sequence[Any]) -> list[Any]:
    """Runs the gradient rule on probes."""
    left = iter(probes)
    inputs = [t if t.__class__ is HostTensor else next(left) for t in entry.inputs]
    outputs = [next(left) for _ in entry._outputs]
    flowing = [None if g is None else next(left) for g in grads]
    node = TapeEntry(entry.op_def, inputs, outputs, entry.attrs, bound=entry.bound)
    input_grads = _through(node, flowing)
    if not all(g is None or isinstance(g, Immediate) for g, yes in zip(input_grads, asked, strict=True) if yes):
        raise TypeError("rows of a gradient are not remembered")
    return [
        g if yes and g is not None and is_trainable(g.dtype) else None
        for g, yes in zip(input_grads, asked, strict=True)
    ]


def _through(entry: TapeEntry, grads: Sequence[Any]) -> Sequence[Any]:
    decided, rule = True, entry.rule
    if rule is None:
        decided, rule = gradient_rule(entry)  # type: ignore[arg-type]
    if decided and rule is None:
        return [None] * len(entry.inputs)
    if rule in BODY_RULES:
        return BODY_RULES[rule](entry, grads, [True] * len(entry.inputs))  # type: ignore[arg-type]
    filled = [
        zeros(t) if g is None and is_trainable(t.dtype) else g for g, t in zip(grads, entry._outputs, strict=True)
    ]
    produced = rule(entry, *filled) if rule is not None else through_kernel(entry, filled)  # type: ignore[arg-type]
    gradients = list(produced) if isinstance(produced, (list, tuple)) else [produced]
    if len(gradients) != len(entry.inputs):
        raise ValueError(
            f"Num gradients {len(gradients)} generated for op {entry.type} do not match num inputs {len(entry.inputs)}"
        )
    return [g if g is None or isinstance(g, (Tensor, IndexedSlices)) else convert_to_tensor(g) for g in gradients]


def ones_like(tensor: Any) -> Any:
    """The gradient of a target with respect to itself."""
    return raw_ops.OnesLike(tensor)
