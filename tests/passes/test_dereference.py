"""Ops on resource variables become ops on references, in the place where they are."""

from __future__ import annotations

from typing import Any

import numpy as np

import headrace as tf
from headrace.graph.verify import verify_graph
from headrace.passes.dereference import dereference
from headrace.passes.prune import prune
from headrace.passes.step_graph import StepGraph

raw = tf.raw_ops


def handle(shape: Any = (2,), name: str = "v") -> Any:
    return raw.VarHandleOp(dtype=tf.float32, shape=shape, shared_name=name, name=name)


def passed(fetches: Any = (), targets: Any = ()) -> StepGraph:
    graph = dereference(prune([], list(fetches), list(targets)))
    verify_graph(graph)
    return graph


def test_reads_and_updates() -> None:
    v = handle()
    read = raw.ReadVariableOp(resource=v, dtype=tf.float32, name="read")
    with tf.control_dependencies([read]):
        write = raw.AssignVariableOp(resource=v, value=[1.0, 2.0], name="write")
    apply = raw.ResourceApplyGradientDescent(var=v, alpha=1.0, delta=[1.0, 1.0], name="apply")
    nodes = {n.name: n for n in passed([read], [write, apply]).nodes}
    assert {n: nodes[n].type for n in ("v", "read", "write", "apply")} == {
        "v": "VariableV2", "read": "_Read", "write": "Assign", "apply": "ApplyGradientDescent",
    }  # fmt: skip
    assert nodes["v"].outputs[0].dtype is tf.float32._as_ref and nodes["read"].attrs["_place"]
    assert nodes["write"].attrs["validate_shape"] and nodes["read"] in nodes["write"].predecessors()[1].predecessors()


def test_a_handle_of_no_fixed_shape_takes_any() -> None:
    write = raw.AssignVariableOp(resource=handle(None), value=[1.0], name="write")
    assert not next(n for n in passed([], [write]).nodes if n.name == "write").attrs["validate_shape"]


def test_a_gather_reads_where_it_is() -> None:
    v = handle((3, 2))
    write = raw.AssignAddVariableOp(resource=v, value=np.ones((3, 2)), name="write")
    with tf.control_dependencies([write]):
        rows = raw.ResourceGather(resource=v, indices=[0], dtype=tf.float32, name="rows")
    nodes = {n.name: n for n in passed([rows]).nodes}
    assert [nodes[n].type for n in ("rows", "rows/_read", "rows/_axis")] == ["GatherV2", "_Read", "Const"]
    waits = nodes["rows/_read"].control_inputs
    assert nodes["write"] in [*waits, *(p for w in waits for p in w.predecessors())]


def test_handles_of_one_name_become_one() -> None:
    one, two = handle(), raw.VarHandleOp(dtype=tf.float32, shape=[2], shared_name="v", name="other")
    fetches = [raw.ReadVariableOp(resource=h, dtype=tf.float32) for h in (one, two)]
    nodes = passed(fetches).nodes
    assert [n.type for n in nodes].count("VariableV2") == 1 and [n.type for n in nodes].count("_Read") == 2


def test_a_read_through_another_handle_keeps_its_value(session: tf.Session) -> None:
    one, two = handle(), raw.VarHandleOp(dtype=tf.float32, shape=[2], shared_name="v", name="other")
    read = raw.ReadVariableOp(resource=one, dtype=tf.float32)
    with tf.control_dependencies([read]):
        write = raw.AssignVariableOp(resource=two, value=[7.0, 7.0])
    with tf.control_dependencies([write]):
        later = tf.identity(read)
    session.run(raw.AssignVariableOp(resource=one, value=[1.0, 2.0]))
    assert session.run(later).tolist() == [1.0, 2.0]
