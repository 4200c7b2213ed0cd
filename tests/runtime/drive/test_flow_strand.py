"""The pure parts of running a step, as tables: the flow of strands, and how nodes are cut into them."""

import pytest
from passes.steps import step

import headrace as tf
from headrace.core.registry import REGISTRY
from headrace.graph import raw_ops
from headrace.passes.schedule import schedule
from headrace.passes.step_graph import Node, Value
from headrace.passes.strand import Strand, cut
from headrace.runtime.drive.flow import Flow

# (what each strand waits for, [(strand that ends, strands that become ready)])
FLOWS = {
    "one": ([set()], [(0, [])]),
    "chain": ([set(), {0}, {1}], [(0, [1]), (1, [2]), (2, [])]),
    "fork": ([set(), {0}, {0}], [(0, [1, 2]), (1, []), (2, [])]),
    "join": ([set(), set(), {0, 1}], [(1, []), (0, [2]), (2, [])]),
    "diamond": ([set(), {0}, {0}, {1, 2}], [(0, [1, 2]), (2, []), (1, [3]), (3, [])]),
    "apart": ([set(), set()], [(1, []), (0, [])]),
}


@pytest.mark.parametrize("name", FLOWS)
def test_flow(name: str) -> None:
    before, events = FLOWS[name]
    whole = Flow.of(before)
    flow = whole.copy()
    assert flow.start() == [i for i, b in enumerate(before) if not b]
    for ended, ready in events:
        assert flow.done(ended) == ready
    assert flow.pending() == []
    assert whole.pending() == [i for i, b in enumerate(before) if b]  # a copy's progress is its own


def test_pending_names_what_waits() -> None:
    flow = Flow.of([set(), {0}, {1}])
    flow.done(0)
    assert flow.pending() == [2]


class TestCut:
    def cut(self, fetches: list[tf.Tensor], blocking: set[str]) -> dict[str, Strand]:
        graph = step(fetches)
        strands = cut(schedule(graph.nodes), graph.fetches, lambda node: node.name in blocking)
        assert [s.index for s in strands] == list(range(len(strands)))
        assert all(before < s.index for s in strands for before in s.after)
        return {"+".join(n.name for n in s.nodes): s for s in strands}

    def test_nothing_blocks(self) -> None:
        x = tf.constant(1.0, name="x")
        (strand,) = self.cut([raw_ops.Neg(raw_ops.Neg(x, name="a"), name="b")], set()).items()
        assert strand[0] == "a+b" and not strand[1].waits and strand[1].inputs == []
        assert [v.name for v in strand[1].outputs] == ["b:0"]

    def test_a_blocking_node_is_a_strand_of_its_own(self) -> None:
        x = tf.constant(1.0, name="x")
        wait = raw_ops.Neg(x, name="wait")
        beside = raw_ops.Neg(x, name="beside")
        after = raw_ops.Add(wait, beside, name="after")
        strands = self.cut([after], {"wait"})
        assert set(strands) == {"beside", "wait", "after"}  # each strand has its own constants
        first, wait_strand, last = strands["beside"], strands["wait"], strands["after"]
        assert wait_strand.waits and not last.waits
        assert wait_strand.after == set() and last.after == {first.index, wait_strand.index}
        assert [v.name for v in first.outputs] == ["beside:0"]
        assert [v.name for v in last.inputs] == ["wait:0", "beside:0"]

    def test_nodes_are_grouped_by_what_they_wait_for(self) -> None:
        x = tf.constant(1.0, name="x")
        w1, w2 = raw_ops.Neg(x, name="w1"), raw_ops.Abs(x, name="w2")
        only1 = raw_ops.Neg(w1, name="only1")
        only2 = raw_ops.Neg(w2, name="only2")
        both = raw_ops.Add(only1, only2, name="both")
        also1 = raw_ops.Abs(only1, name="also1")
        strands = self.cut([both, also1], {"w1", "w2"})
        assert set(strands) == {"w1", "w2", "only1+also1", "only2", "both"}
        assert strands["only1+also1"].after == {strands["w1"].index}

    def test_control_edges_count(self) -> None:
        wait = tf.constant(1.0, name="wait")
        with tf.control_dependencies([wait]):
            after = tf.constant(2.0, name="after")
        strands = self.cut([after], {"wait"})
        assert strands["after"].after == {strands["wait"].index} and strands["after"].inputs == []

    def test_one_blocking_node_after_another(self) -> None:
        x = tf.constant(1.0, name="x")
        strands = self.cut([raw_ops.Neg(raw_ops.Neg(x, name="w1"), name="w2")], {"w1", "w2"})
        assert set(strands) == {"w1", "w2"} and strands["w2"].after == {strands["w1"].index}


def test_values_keep_their_names() -> None:
    node = Node("n", REGISTRY.get("NoOp"), [], {}, 0)
    value = Value(node, 2, tf.float32, tf.TensorShape([]))
    assert value.name == "n:2" and repr(value) == "<value n:2>" and repr(node) == "<node n NoOp>"
