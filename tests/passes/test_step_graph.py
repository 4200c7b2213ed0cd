"""The order of nodes: topological, and of those that are ready the one of smallest priority first."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headrace.core import dtypes
from headrace.core.registry import REGISTRY
from headrace.core.shape import TensorShape
from headrace.passes.step_graph import Node, topological


def _node(i, order, before):
    node = Node(f"n{i}", REGISTRY.get("NoOp"), [], {}, order, before)
    return node.add_outputs([(dtypes.float32, TensorShape([]))])


@st.composite
def _graphs(draw):
    """Nodes in any order; each depends on some that were made before it, whatever their priorities are."""
    nodes = []
    for i in range(draw(st.integers(0, 12))):
        before = draw(st.lists(st.sampled_from(nodes), max_size=3, unique=True)) if nodes else []
        nodes.append(_node(i, draw(st.integers(0, 5)), before))
    return draw(st.permutations(nodes))


def _one_by_one(nodes):
    left, done = list(nodes), []
    while left:
        ready = [n for n in left if all(p in done for p in n.predecessors())]
        done.append(min(ready, key=lambda n: n.order))  # the first of several that are equal
        left.remove(done[-1])
    return done


@given(_graphs())
def test_the_ready_node_of_smallest_priority_comes_next(nodes):
    assert topological(nodes, lambda n: n.order) == _one_by_one(nodes)


def test_a_cycle_is_named():
    a = _node("a", 0, [])
    b = _node("b", 1, [a])
    a.control_inputs = [b]
    with pytest.raises(ValueError, match="cycle through na, nb"):
        topological([a, b], lambda n: n.order)


def test_what_closes_a_loop_of_primitives_comes_after_what_it_closes():
    merge = _node("merge", 0, [])
    end = Node("next", REGISTRY.get("NextIteration"), list(merge.outputs), {}, 1)
    merge.control_inputs = [end]
    assert topological([end, merge], lambda n: n.order) == [merge, end]
