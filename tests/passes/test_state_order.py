"""Reads made explicit, the order of a strand, and which reads are copied: before -> after."""

import numpy as np
import pytest
from passes.steps import lines, piped, step

import headrace as tf
from headrace.graph import raw_ops
from headrace.passes.read import insert_reads
from headrace.passes.schedule import last_use, protect_reads, root, schedule


def variable(name="v", shape=(2,)):  # type: ignore[no-untyped-def]
    return raw_ops.VariableV2(shape=shape, dtype=tf.float32, name=name)


def ordered(fetches=(), targets=()):  # type: ignore[no-untyped-def]
    graph = step(fetches, [], targets, insert_reads)
    order = schedule(graph.nodes)
    copied = protect_reads(order, set(graph.fetches))
    return [n.name for n in order], [n.name for n in copied]


class TestInsertReads:
    def test_uses_of_a_variable_share_one_read(self) -> None:
        v = variable()
        total = raw_ops.Add(v, raw_ops.Neg(v, name="minus"), name="total")
        assert lines(step([total], [], [], insert_reads)) == [
            '%v = VariableV2() {container=\'\', dtype=float32, shape=(2), shared_name=\'\'} : float32_ref[2]',
            "%v/_read = _Read(%v) : float32[2]",
            "%minus = Neg(%v/_read) : float32[2]",
            "%total = Add(%v/_read, %minus) : float32[2]",
            "fetch %total",
        ]  # fmt: skip

    def test_identity_is_the_read(self) -> None:
        v = variable()
        value = raw_ops.Identity(v, name="value")
        assert lines(step([value], [], [], insert_reads))[1:] == ["%value = _Read(%v) : float32[2]", "fetch %value"]

    def test_a_fetched_handle_is_read(self) -> None:
        assert lines(step([variable()], [], [], insert_reads))[1:] == [
            "%v/_read = _Read(%v) : float32[2]",
            "fetch %v/_read",
        ]

    def test_the_value_of_an_assignment_is_read_after_it(self) -> None:
        v = variable()
        after = raw_ops.Neg(raw_ops.AssignAdd(v, [1.0, 1.0], name="add"), name="after")
        assert lines(step([after], [], [], insert_reads))[2:] == [
            "%add = AssignAdd(%v, %add/value) {use_locking=False} : float32_ref[2]",
            "%add/_read = _Read(%add) : float32[2]",
            "%after = Neg(%add/_read) : float32[2]",
            "fetch %after",
        ]


class TestSchedule:
    def test_nodes_run_in_the_order_they_were_made_and_writes_last(self) -> None:
        v = variable()
        write = raw_ops.Assign(v, [1.0, 1.0], name="write")
        read = raw_ops.Identity(v, name="read")
        use = raw_ops.Neg(read, name="use")
        order, copied = ordered([use], [write.op])
        assert order == ["v", "write/value", "read", "use", "write"]
        assert copied == []

    def test_control_inputs_are_obeyed(self) -> None:
        v = variable()
        write = raw_ops.Assign(v, [1.0, 1.0], name="write")
        with tf.control_dependencies([write]):
            read = raw_ops.Identity(v, name="read")
        order, _ = ordered([read])
        assert order.index("write") < order.index("read")

    def test_cycles_are_an_error(self) -> None:
        a = raw_ops.NoOp(name="a")
        b = raw_ops.NoOp(name="b")
        graph = step([], [], [a, b])
        first, second = graph.nodes
        first.control_inputs.append(second)
        second.control_inputs.append(first)
        with pytest.raises(ValueError, match="cycle through a, b"):
            schedule(graph.nodes)


class TestProtectReads:
    def test_a_fetched_read_is_copied_when_written_afterwards(self) -> None:
        v = variable()
        write = raw_ops.Assign(v, [1.0, 1.0], name="write")
        read = raw_ops.Identity(v, name="read")
        _, copied = ordered([read], [write.op])
        assert copied == ["read"]

    def test_a_view_of_a_read_counts(self) -> None:
        v = variable()
        read = raw_ops.Identity(v, name="read")
        row = raw_ops.Reshape(read, [2, 1], name="row")
        write = raw_ops.Assign(v, [1.0, 1.0], name="write")
        assert ordered([row], [write.op])[1] == ["read"]

    def test_what_leaves_a_critical_section_is_copied(self) -> None:
        """Another step may write as soon as the section has ended."""
        v = variable()
        section = tf.CriticalSection(name="section")
        both = section.execute(lambda: [raw_ops.Identity(v, name="whole"), raw_ops.Sum(v, [0], name="sum")])
        copied = ordered(both)[1]
        assert [name for name in copied if name.endswith("whole")]
        assert ordered([both[1]])[1] == [], "a result that the section has computed is not the variable's buffer"

    def test_what_is_used_only_before_the_write_is_not_copied(self) -> None:
        v = variable()
        read = raw_ops.Identity(v, name="read")
        write = raw_ops.AssignAdd(v, raw_ops.Neg(read), name="write")
        assert ordered([write])[1] == []

    def test_a_write_that_takes_a_view_of_what_it_overwrites(self, session: tf.Session) -> None:
        v = variable(shape=(2, 2))
        flipped = raw_ops.Transpose(v, [1, 0])
        write = raw_ops.Assign(v, flipped, name="write")
        assert ordered([], [write.op])[1] == ["v/_read"]
        session.run(raw_ops.Assign(v, [[1.0, 2.0], [3.0, 4.0]]))
        session.run(write)
        assert session.run(v).tolist() == [[1.0, 3.0], [2.0, 4.0]]

    def test_the_write_of_another_variable_does_not_matter(self) -> None:
        v, w = variable("v"), variable("w")
        read = raw_ops.Identity(v, name="read")
        assert ordered([read], [raw_ops.Assign(w, [1.0, 1.0]).op])[1] == []

    def test_a_read_between_two_writes(self, session: tf.Session) -> None:
        v = variable()
        first = raw_ops.Assign(v, [1.0, 2.0], name="first")
        with tf.control_dependencies([first]):
            middle = raw_ops.Identity(v, name="middle")
        with tf.control_dependencies([middle]):
            second = raw_ops.AssignAdd(v, [10.0, 10.0], name="second")
        between, end = session.run([middle, second])
        assert between.tolist() == [1.0, 2.0] and end.tolist() == [11.0, 12.0]

    def test_chained_assignments_have_one_root(self) -> None:
        v = variable()
        chain = raw_ops.AssignSub(raw_ops.AssignAdd(v, [1.0, 1.0]), [2.0, 2.0], name="chain")
        graph = step([chain], [], [], insert_reads)
        handle = next(n for n in graph.nodes if n.name == "v").outputs[0]
        assert root(next(n for n in graph.nodes if n.name == "chain").outputs[0]) is handle

    def test_last_use(self) -> None:
        v = variable()
        read = raw_ops.Identity(v, name="read")
        row = raw_ops.Reshape(read, [1, 2], name="row")
        end = raw_ops.Neg(row, name="end")
        graph = step([end], [], [], insert_reads)
        order = schedule(graph.nodes)
        at = {n.name: i for i, n in enumerate(order)}
        last = last_use(order, set(graph.fetches))
        value = {n.name: n.outputs[0] for n in order}
        assert last[value["read"]] == at["end"]  # through the view
        assert last[value["end"]] == len(order)  # fetched


def test_a_training_step_copies_nothing() -> None:
    w, x = variable("w"), raw_ops.Placeholder(dtype=tf.float32, shape=[2], name="x")
    loss = raw_ops.Mul(w, x)
    update = raw_ops.ApplyGradientDescent(w, 0.1, raw_ops.Mul(loss, x))
    graph = piped([loss], [x], [update.op])
    order = schedule(graph.nodes)
    assert protect_reads(order, set(graph.fetches)) == []


def test_concurrent_values_of_one_run_are_of_one_moment(session: tf.Session) -> None:
    v = variable()
    read, write = raw_ops.Identity(v), raw_ops.AssignAdd(v, [1.0, 1.0])
    session.run(raw_ops.Assign(v, np.zeros(2, np.float32)))
    for i in range(3):
        before, after = session.run([read, write])
        assert before.tolist() == [i, i] and after.tolist() == [i + 1, i + 1]
