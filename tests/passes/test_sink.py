"""What depends on variables only is computed after the wait; what is kept has memory of its own."""

import numpy as np
from passes.steps import options

import headrace as tf
from headrace.graph.verify import verify_graph
from headrace.passes.copy_kept import copy_kept
from headrace.passes.pipeline import make_step_graph
from headrace.passes.sink import sink
from headrace.passes.step_graph import StepGraph


def _sunk(fetches, feeds=(), targets=()) -> StepGraph:  # type: ignore[no-untyped-def]
    graph = sink(make_step_graph(feeds, fetches, targets, options()), lambda node: node.op_def.traits.waits)
    verify_graph(graph)
    return graph


def _after(graph: StepGraph) -> dict[str, set[str]]:
    """The waiting nodes that each node depends on."""
    after: dict[str, set[str]] = {}
    for node in graph.nodes:
        after[node.name] = set().union(
            *(after[p.name] | ({p.name} if p.op_def.traits.waits else set()) for p in node.predecessors())
        )
    return after


def _queue() -> tf.Tensor:
    return tf.FIFOQueue(5, tf.float32, [[2, 3]], name="q").dequeue(name="take")


def test_a_variable_is_read_after_the_wait() -> None:
    w = tf.get_variable("w", initializer=np.ones((3, 2), np.float32))
    graph = _sunk([tf.matmul(_queue(), w, name="product")])
    reads = [n for n in graph.nodes if n.op_def.traits.reads_buffer]
    assert [[c.name for c in r.control_inputs] for r in reads] == [["take"]]


def test_what_is_made_of_variables_goes_with_them() -> None:
    w = tf.get_variable("w", initializer=np.ones((3, 2), np.float32))
    after = _after(_sunk([tf.matmul(_queue(), tf.tanh(w, name="tanh"), name="product")]))
    assert after["tanh"] == {"take"}


def test_each_strand_reads_for_itself() -> None:
    w = tf.get_variable("w", initializer=np.ones((3, 2), np.float32))
    before = tf.nn.l2_loss(w, name="before")
    graph = _sunk([before, tf.matmul(_queue(), w, name="product")])
    reads = [n for n in graph.nodes if n.op_def.traits.reads_buffer]
    assert sorted(len(r.control_inputs) for r in reads) == [0, 1] and _after(graph)["before"] == set()


def test_what_depends_on_feeds_runs_while_others_wait() -> None:
    x = tf.placeholder(tf.float32, [3, 2])
    after = _after(_sunk([tf.matmul(_queue(), tf.tanh(x, name="tanh"), name="product")], [x]))
    assert after["tanh"] == set()


def test_what_somebody_waits_for_stays() -> None:
    v = tf.get_variable("v", initializer=1.0)
    before = tf.identity(v, name="before")
    queue = tf.FIFOQueue(5, tf.float32, [[]])
    with tf.control_dependencies([before]):
        taken = queue.dequeue(name="take")
    graph = _sunk([before * taken])
    (read,) = [n for n in graph.nodes if n.op_def.traits.reads_buffer]  # not read again after the wait
    assert not _after(graph)[read.name]


def test_all_uses_of_a_read_see_one_value(interpreted: tf.Session) -> None:
    v = tf.get_variable("v", initializer=2.0, use_resource=True)
    value = v.read_value()
    queue = tf.FIFOQueue(5, tf.float32, [[]])
    taken = queue.dequeue(name="take")
    with tf.control_dependencies([value * 3.0]):
        write = v.assign(10.0, read_value=False)  # nothing orders it and what uses the value after the wait
    graph = _sunk([value * taken, value + 1.0], targets=[write])
    assert sum(n.op_def.traits.reads_buffer for n in graph.nodes) == 1
    interpreted.run([v.initializer, queue.enqueue(7.0)])
    product, total, _ = interpreted.run([value * taken, value + 1.0, write])
    assert (product, total, interpreted.run(v)) == (14.0, 3.0, 10.0)


def _copies(fetches, feeds, targets) -> list[str]:  # type: ignore[no-untyped-def]
    graph = make_step_graph(feeds, fetches, targets, options())
    verify_graph(graph)
    again = copy_kept(graph)  # the pipeline has run it: nothing is left to copy
    assert len(again.nodes) == len(graph.nodes)
    return [line for line in graph.to_text().splitlines() if "_Own(" in line]


def test_only_what_others_may_see_is_copied() -> None:
    queue = tf.FIFOQueue(5, tf.float32, name="q")
    x = tf.placeholder(tf.float32, [2], name="x")
    v = tf.get_variable("v", initializer=[1.0, 2.0])
    fresh = tf.exp(x, name="fresh")
    assert _copies([], [x], [queue.enqueue(fresh)]) == []
    assert len(_copies([], [x], [queue.enqueue(x)])) == 1
    assert len(_copies([], [], [queue.enqueue(v)])) == 1
    assert len(_copies([], [], [queue.enqueue(tf.constant([1.0, 2.0]))])) == 1
    assert len(_copies([fresh], [x], [queue.enqueue(fresh)])) == 1
    assert len(_copies([], [x], [queue.enqueue(fresh), queue.enqueue(fresh)])) >= 1
