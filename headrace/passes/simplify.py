"""Simplify: nodes that compute what is already there, or what a cheaper node computes.

    %a = Mul(%x, 1)   %b = Pow(%a, 2)   %c = AddV2(%b, 0)   %d = Neg(%c)      ->      %b = Square(%x)   %d = Neg(%b)

The rules are in ``rules`` and ``loss_rules``; this module says when one may be applied.  The value stays the
same to the last bit, except by the rules marked ``rounds``, which change rounding or the sign of a zero.
"""

from __future__ import annotations

from headrace.core.registry import REGISTRY
from headrace.passes.loss_rules import LOSS_RULES
from headrace.passes.rule import Change, Facts, Rule
from headrace.passes.rules import RULES
from headrace.passes.schedule import root
from headrace.passes.step_graph import Node, StepGraph, Value
from headrace.passes.trim import holds, may_stand_for, written_handles

_BY_TYPE: dict[str, list[Rule]] = {}
for _rule in (*RULES, *LOSS_RULES):
    for _type in _rule.types:
        _BY_TYPE.setdefault(_type, []).append(_rule)

_MOST = 16  # changes of one node


def simplify(graph: StepGraph, rounding: bool = True) -> StepGraph:
    """``rounding``: whether the rules that change rounding are used as well."""
    if any(n.op_def.traits.primitive for n in graph.nodes):
        return graph  # a dropped value may be dead, and then its user must be dead too
    facts = Facts(graph.users(), set(graph.fetches), set(graph.targets))
    guard = _Guard(graph)
    values: dict[Value, Value] = {}
    nodes: dict[Node, Node] = {}
    rewritten: list[Node] = []
    for node in graph.nodes:
        if values and any(v in values for v in node.inputs):
            node.inputs = [values.get(v, v) for v in node.inputs]
        replacement = _apply(node, facts, guard, rounding, rewritten)
        rewritten.append(node)
        if replacement is not None:
            values[node.outputs[0]] = replacement
            if not replacement.op.op_def.traits.feed:
                replacement.shape = replacement.shape.merge_with(node.outputs[0].shape)
            nodes[node] = replacement.op
    graph.nodes = rewritten
    graph.replace(values, nodes)
    graph.sweep()
    return graph


def _apply(node: Node, facts: Facts, guard: _Guard, rounding: bool, nodes: list[Node]) -> Value | None:
    """Changes the node as often as a rule fits; returns the value that replaces its output, if a rule gives one."""
    for _ in range(_MOST):
        for rule in _BY_TYPE.get(node.type, ()):
            answer = None if rule.rounds and not rounding else rule.call(node, facts)
            if isinstance(answer, Change):
                if guard.allows_change(node, answer):
                    nodes += answer.new
                    node.op_def, node.inputs, node.attrs = REGISTRY.get(answer.type), list(answer.inputs), answer.attrs
                    break
            elif answer is not None and guard.allows_value(node, answer):
                return answer
        else:
            return None
    return None


class _Guard:
    """What must stay as it is whatever the arithmetic says: effects, waiting, devices, and the place where a variable is read."""

    def __init__(self, graph: StepGraph) -> None:
        self._effects = graph.after_effects()
        self._written = written_handles(graph)

    def allows_change(self, node: Node, change: Change) -> bool:
        absorbed = (v.op for v in node.inputs if v not in change.inputs)
        if not all(n.op_def.traits.constant or may_stand_for(node, n) for n in absorbed):
            return False
        new = [v for v in change.inputs if v not in node.inputs and v.op not in change.new]
        return self._may_pass(node, change.inputs) and not any(self._held(v) for v in new)

    def allows_value(self, node: Node, value: Value) -> bool:
        if node.control_inputs or value.dtype.base_dtype != node.outputs[0].dtype:
            return False
        return may_stand_for(value.op, node) and self._may_pass(node, [value]) and not self._held(value)

    def _may_pass(self, node: Node, used: list[Value]) -> bool:
        """Whether the dropped inputs neither wait for anything nor have an effect."""
        left = [v.op for v in node.inputs if v not in used]
        return not any(n.control_inputs or n in self._effects for n in left)

    def _held(self, value: Value) -> bool:
        """Whether the value depends on the place in the order where it is used."""
        return holds(value, self._written) or (value.dtype._is_ref_dtype and root(value) in self._written)
