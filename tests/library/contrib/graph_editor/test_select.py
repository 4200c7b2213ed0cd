"""Walks along the edges of a graph, and choices by name."""

from types import SimpleNamespace
from typing import Any

import pytest

import headrace as tf

ge = tf.contrib.graph_editor


@pytest.fixture
def nodes() -> Any:
    """x -> a -> b -> d, x -> c -> d, and `late`, which waits for b."""
    x = tf.constant(1.0, name="x")
    with tf.name_scope("part"):
        a = tf.negative(x, name="a")
        b = tf.exp(a, name="b")
    c = tf.square(x, name="c")
    d = tf.add(b, c, name="d")
    with tf.control_dependencies([b]):
        late = tf.constant(2.0, name="late")
    return SimpleNamespace(x=x, a=a, b=b, c=c, d=d, late=late)


def _names(ops: Any) -> list[str]:
    return sorted(op.name for op in ops)


def test_forward(nodes: Any) -> None:
    assert _names(ge.get_forward_walk_ops(nodes.a.op)) == ["d", "part/a", "part/b"]
    assert _names(ge.get_forward_walk_ops(nodes.a)) == ["d", "part/b"]  # of a tensor: what takes it
    assert _names(ge.get_forward_walk_ops([nodes.x.op], inclusive=False, stop_at_ts=[nodes.a])) == ["c", "d", "part/a"]
    assert _names(ge.get_forward_walk_ops(nodes.a.op, control_outputs=True)) == ["d", "late", "part/a", "part/b"]
    within = [nodes.x.op, nodes.c.op]
    assert _names(ge.get_forward_walk_ops(nodes.x.op, within_ops=within)) == ["c", "x"]
    assert _names(ge.get_forward_walk_ops(nodes.x.op, within_ops_fn=lambda op: op.type != "Exp")) == [
        "c",
        "d",
        "part/a",
        "x",
    ]


def test_backward(nodes: Any) -> None:
    assert _names(ge.get_backward_walk_ops(nodes.d)) == ["c", "d", "part/a", "part/b", "x"]
    assert _names(ge.get_backward_walk_ops(nodes.d.op, inclusive=False, stop_at_ts=[nodes.b])) == ["c", "x"]
    assert _names(ge.get_backward_walk_ops(nodes.late)) == ["late"]
    assert _names(ge.get_backward_walk_ops(nodes.late, control_inputs=True)) == ["late", "part/a", "part/b", "x"]


def test_between(nodes: Any) -> None:
    assert _names(ge.get_walks_intersection_ops(nodes.a, nodes.d)) == ["d", "part/b"]
    assert _names(ge.get_walks_intersection_ops(nodes.a.op, nodes.d.op, False, False)) == ["part/b"]
    every = tf.get_default_graph()
    assert _names(ge.get_within_boundary_ops(every, nodes.b.op, [nodes.x.op, nodes.d.op])) == [
        "d",
        "part/a",
        "part/b",
        "x",
    ]
    assert _names(ge.get_within_boundary_ops(every, nodes.b.op, [nodes.x.op, nodes.d.op], inclusive=False)) == [
        "part/a",
        "part/b",
    ]
    with pytest.raises(ValueError, match="are not among ops"):
        ge.get_within_boundary_ops([nodes.a.op], nodes.b.op)


def test_by_name(nodes: Any) -> None:
    graph = tf.get_default_graph()
    assert _names(ge.select_ops("^part/.*", nodes.c.op, graph=graph)) == ["c", "part/a", "part/b"]
    assert [t.name for t in ge.select_ts("/b", graph=graph)] == ["part/b:0"]
    assert _names(ge.select_ops("a", graph=graph, positive_filter=lambda op: op.type == "Neg")) == ["part/a"]
    assert _names(ge.get_name_scope_ops(graph, "part/")) == ["part/a", "part/b"]
    assert [t.name for t in ge.filter_ts([nodes.b.op], True)] == ["part/a:0", "part/b:0"]
    with pytest.raises(ValueError, match="Use the keyword argument 'graph'"):
        ge.select_ops("^part/")
    with pytest.raises(TypeError, match=r"expected a tf\.Operation"):
        ge.filter_ops(nodes.a, True)


def test_the_border(nodes: Any) -> None:
    inputs, outputs, both = ge.compute_boundary_ts([nodes.a.op, nodes.b.op, nodes.c.op])
    assert (inputs, outputs, both) == ([nodes.x], [nodes.b, nodes.c], [])
    _, outputs, both = ge.compute_boundary_ts([nodes.x.op, nodes.a.op])
    assert outputs == [nodes.x, nodes.a] and both == [nodes.x]
