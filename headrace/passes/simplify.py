"""Simplify: nodes that compute what is already there, or what a cheaper node computes.

    %a = Mul(%x, 1)   %b = Neg(%a)   %c = Neg(%b)   %d = AddV2(%y, %b)      ->      %c = %x   %d = Sub(%y, %x)

The rules are in ``rules_arithmetic`` and ``rules_arrangement``; this module says when one may be applied.  The value stays
the same to the last bit, except by the rules marked ``rounds``, which change rounding or the sign of a zero.
"""

from __future__ import annotations

from headrace.core.registry import REGISTRY
from headrace.passes.rule import Change, Facts, Rule
from headrace.passes.rules_arithmetic import RULES as ARITHMETIC
from headrace.passes.rules_arrangement import RULES as ARRANGEMENT
from headrace.passes.schedule import root
from headrace.passes.step_graph import Node, StepGraph, Value
from headrace.passes.trim import holds, written_handles

RULES: dict[str, list[Rule]] = {}
for _rule in (*ARITHMETIC, *ARRANGEMENT):
    for _kind in _rule.kinds:
        RULES.setdefault(_kind, []).append(_rule)

_MOST = 16  # changes of one node


def simplify(graph: StepGraph, rounding: bool = True) -> StepGraph:
    """``rounding``: whether the rules that change rounding are used as well."""
    if any(n.op_def.traits.flow for n in graph.nodes):
        return graph  # a value dropped may be a dead one, which makes its user dead too
    facts = Facts(graph.users(), set(graph.fetches), set(graph.targets))
    guard = _Guard(graph)
    values: dict[Value, Value] = {}
    nodes: dict[Node, Node] = {}
    kept: list[Node] = []
    for node in graph.nodes:
        if values and any(v in values for v in node.inputs):
            node.inputs = [values.get(v, v) for v in node.inputs]
        replacement = _apply(node, facts, guard, rounding, kept)
        kept.append(node)
        if replacement is not None:
            for old, new in zip(node.outputs, replacement, strict=True):
                values[old] = new
                if not new.op.op_def.traits.feed:
                    new.shape = new.shape.merge_with(old.shape)
            nodes[node] = replacement[0].op
    graph.nodes = kept
    graph.replace(values, nodes)
    graph.sweep()
    return graph


def _apply(node: Node, facts: Facts, guard: _Guard, rounding: bool, made: list[Node]) -> list[Value] | None:
    """Changes the node as often as a rule fits; gives the values that stand for its outputs once one needs no node."""
    for _ in range(_MOST):
        for rule in RULES.get(node.type, ()):
            if rule.rounds and not rounding:
                continue
            found = rule.function(node, facts)
            if found is None:
                continue
            if isinstance(found, Change):
                if not guard.allows_change(node, found):
                    continue
                made += found.made
                node.op_def = REGISTRY.get(found.kind)
                node.inputs = list(found.inputs)
                node.attrs = found.attrs
                break
            given = found if isinstance(found, list) else [found]
            if guard.allows_values(node, given):
                return given
        else:
            return None
    return None


class _Guard:
    """What must stay as it is whatever the arithmetic says: effects, waiting, and the place where a variable is read."""

    def __init__(self, graph: StepGraph) -> None:
        self._effects = graph.after_effects()
        self._written = written_handles(graph)

    def allows_change(self, node: Node, change: Change) -> bool:
        new = [v for v in change.inputs if v not in node.inputs and v.op not in change.made]
        return self._may_pass(node, change.inputs) and not any(self._held(v) for v in new)

    def allows_values(self, node: Node, values: list[Value]) -> bool:
        if node.control_inputs or any(v.dtype.base_dtype != o.dtype for v, o in zip(values, node.outputs, strict=True)):
            return False
        return self._may_pass(node, values) and not any(self._held(v) for v in values)

    def _may_pass(self, node: Node, used: list[Value]) -> bool:
        """Whether the inputs that are not used any more have nothing to wait for and nothing to do."""
        left = [v.op for v in node.inputs if v not in used]
        return not any(n.control_inputs or n in self._effects for n in left)

    def _held(self, value: Value) -> bool:
        """A use of such a value at another place may find another value."""
        return holds(value, self._written) or (value.dtype._is_ref_dtype and root(value) in self._written)
