"""Every op that writes variables marks the rows it writes: by its kernels, on arrays, eagerly, and as part of compiled code."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from ops.test_opcheck import SAMPLES
from ops.test_resource_form import samples_of

import headrace as tf
from headrace.core.registry import REGISTRY
from headrace.core.shape import TensorShape
from headrace.library.testing.opcheck import build, flatten
from headrace.passes.region import find_regions, replace_region
from headrace.resources.calling.invoke import arguments, array_attrs
from headrace.resources.calling.value import from_numpy
from headrace.resources.state.variable import Variable
from headrace.runtime.code.codegen import generate

BODIES = "holds bodies, whose nodes mark what they write"
NOT_HERE = {
    **dict.fromkeys(("If", "While", "_Repeat", "StatefulPartitionedCall"), BODIES),
    "_Region": "every other op runs inside one here",
    "RefSelect": "hands a variable on",
    "DestroyTemporaryVariable": "ends a variable that nobody can ask about",
    "DestroyResourceOp": "leaves no rows: test_a_variable_without_a_value",
}
WRITERS = sorted(d.name for d in REGISTRY if d.traits.writes and d.built_in and d.name not in NOT_HERE)
BY_REF = [name for name in WRITERS if not REGISTRY.get(name).traits.by_ref]
FORMS = [name for name in WRITERS if REGISTRY.get(name).traits.by_ref]


class Watched:
    """Variables whose marks are compared with what happened to their values."""

    def __init__(self, variables):
        self.variables = [v for v in variables if v.initialized]
        for v in self.variables:
            v.take_touched("test", "", "1")
        self.before = [_copy(v.value) for v in self.variables]

    def check(self, exact):
        """No changed row may be unmarked; ``exact``: the rows that must be marked, and no others.  How many rows changed."""
        count = 0
        for v, before in zip(self.variables, self.before, strict=True):
            rows = v.take_touched("test", "1", "2")
            if not isinstance(before, torch.Tensor) or not before.ndim:
                assert rows is None
                continue
            after = v.value
            if after.shape != before.shape:
                assert rows is None
                continue
            same = (after == before) | ((after != after) & (before != before))
            changed = set((~same).nonzero()[:, 0].tolist())
            count += len(changed)
            if exact is None:
                assert rows is None
            else:
                assert set(rows.tolist()) == exact
                assert changed <= exact
        return count


def _copy(value):
    return value.clone() if isinstance(value, torch.Tensor) else value.copy()


def rows_of(name, sample):
    """The rows that an op writes; None: all."""
    inputs = dict(zip([a.name for a in REGISTRY.get(name).signature.inputs], sample.inputs, strict=True))
    if "indices" not in inputs:
        return None
    indices = np.asarray(inputs["indices"])
    if "ScatterNd" in name:
        if not indices.shape[-1]:
            return None
        indices = indices[..., 0]
    return set(indices.reshape(-1).tolist())


def good(name):
    return [s for s in SAMPLES[name] if not s.error]


@pytest.mark.parametrize("name", BY_REF)
@pytest.mark.parametrize("known", [True, False])
def test_marks_what_it_writes(name, known):
    op_def, changed = REGISTRY.get(name), 0
    for sample in good(name):
        slots = flatten(op_def, sample)
        shapes = None if known else [TensorShape(None)] * len(slots)
        built = build(op_def, sample, slots, shapes=shapes)
        with built.session() as sess:
            variables = [v for *_, v in sess._resources.everything_of(Variable)]
            watched = Watched(variables)
            sess.run(built.node, built.feed)
            changed += watched.check(rows_of(name, sample))
    assert changed or name == "CountUpTo"  # which has no rows


@pytest.mark.parametrize("name", BY_REF)
def test_marks_what_compiled_code_writes(name):
    """A region of this one node; what stands for its compiled code runs the kernel on variables that nobody asks about."""
    op_def, count = REGISTRY.get(name), 0
    for sample in good(name):
        built = build(op_def, sample, flatten(op_def, sample))
        with built.session() as sess:
            plan = sess._master.plan(list(built.feed), [], [built.node])
            graph = sess._master.planner.plan(plan.request).graph
            for region in find_regions(graph.nodes, graph.fetches, smallest=1):
                if not any(n.op_def.traits.writes for n in region.nodes):
                    continue
                program = generate(
                    [*(v.op for v in region.constants), *region.nodes], [*region.plain, *region.refs], region.outputs,
                    sess._master.registered, "region",
                )  # fmt: skip
                variables = [sess._master.registered.state(v.op) for v in region.refs]
                fed = dict(zip(graph.feeds, built.feed.values(), strict=True))
                inputs = [torch.from_numpy(np.array(fed[v])) for v in region.plain]
                replace_region(graph, region, lambda inputs, refs, p=program: p.call(*inputs, *map(_shadow, refs)), 0)
                (node,) = [n for n in graph.nodes if n.op_def.name == "_Region"]
                watched = Watched(variables)
                (kernel,) = node.op_def.kernels.by_device
                kernel.call(inputs, variables, *(node.attrs[name] for name in ("call", "Tout", "written", "made")))
                watched.check(rows_of(name, sample) if op_def.traits.rows else None)
                count += 1
    assert count or op_def.traits.opaque or op_def.traits.opaque_on_cpu


def _holder(slot):
    variable = Variable("v", slot.dtype, torch.device("cpu"))
    variable.assign(from_numpy(np.array(slot.value), slot.dtype))
    return variable


def _shadow(variable):
    shadow = Variable(variable.name, variable.dtype, variable.device)
    shadow.value = variable.value
    return shadow


@pytest.mark.parametrize("name", [n for n in BY_REF if REGISTRY.get(n).kernels.on_arrays])
def test_marks_what_it_writes_on_arrays(name):
    op_def, count = REGISTRY.get(name), 0
    for sample in good(name):
        slots = flatten(op_def, sample)
        attrs = build(op_def, sample, slots).node.attrs
        kernel = op_def.find_array_kernel(attrs)
        if kernel is None or sample.inputs[0] is None or any(np.size(slot.value) == 0 for slot in slots):
            continue
        inputs = [_holder(slot) if slot.arg.ref else np.array(slot.value) for slot in slots]
        watched = Watched([v for v in inputs if isinstance(v, Variable)])
        kernel.call(*arguments(op_def, inputs, attrs)[: len(op_def.signature.inputs)], *array_attrs(op_def, attrs))
        watched.check(rows_of(name, sample))
        count += 1
    assert count


@pytest.mark.parametrize("name", FORMS)
def test_marks_what_it_writes_eagerly(name):
    form = REGISTRY.get(name)
    samples = samples_of(name) or good(form.traits.by_ref)
    for sample in samples:
        attrs = {k: v for k, v in sample.attrs.items() if k in form.attr_names}
        with tf.eager_mode():
            arguments, variables = [], []
            for arg, value in zip(form.signature.inputs, sample.inputs, strict=True):
                if arg.ref or arg.resource:
                    variables.append(tf.Variable(np.asarray(value)))
                    arguments.append(variables[-1].handle)
                else:
                    arguments.append(np.asarray(value))
            if "T" in form.attr_names:
                attrs["T"] = np.asarray(sample.inputs[0]).dtype
            watched = Watched([v.handle._value for v in variables])
            getattr(tf.raw_ops, name)(*arguments, **attrs)
            watched.check(rows_of(name, sample))


def test_every_writer_is_looked_at():
    assert not [name for name in BY_REF if not good(name)]
    assert not [name for name in NOT_HERE if name not in REGISTRY]


def state_of(sess, variable):
    (state,) = [v for *_, v in sess._resources.everything_of(Variable) if v.name == variable.op.name]
    return state


def test_an_update_that_fails_half_way_has_marked():
    with tf.Session() as sess:
        table = tf.Variable(np.ones((8, 2), np.int32))
        divide = tf.scatter_div(table, [1, 2], [[2, 2], [0, 1]])
        sess.run(table.initializer)
        state = state_of(sess, table)
        state.take_touched("test", "", "1")
        with pytest.raises(tf.errors.InvalidArgumentError, match="division by zero"):
            sess.run(divide)
        assert sess.run(table)[1].tolist() == [0, 0]
        assert state.take_touched("test", "1", "2").tolist() == [1, 2]


def test_a_variable_without_a_value():
    with tf.Session() as sess:
        v = tf.Variable(np.ones((8, 2)), use_resource=True)
        sess.run(v.initializer)
        state = state_of(sess, v)
        state.take_touched("test", "", "1")
        sess.run(tf.raw_ops.DestroyResourceOp(v.handle))
        sess.run(v.initializer)
        assert state.take_touched("test", "1", "2") is None


def test_a_step_of_an_optimizer_marks_table_and_slots():
    with tf.Session() as sess:
        table = tf.get_variable("table", initializer=np.ones((100, 4), np.float32))
        bias = tf.get_variable("bias", initializer=np.zeros(4, np.float32))
        ids = tf.placeholder(tf.int64, [None])
        loss = tf.reduce_sum(tf.nn.embedding_lookup(table, ids) ** 2 + bias)
        optimizer = tf.train.AdagradOptimizer(0.1)
        train = optimizer.minimize(loss)
        sess.run(tf.global_variables_initializer())
        states = [state_of(sess, v) for v in (table, optimizer.get_slot(table, "accumulator"), bias)]
        for state in states:
            state.take_touched("test", "", "1")
        sess.run(train, {ids: [7, 3, 7]})
        found = [state.take_touched("test", "1", "2") for state in states]
        assert [rows if rows is None else rows.tolist() for rows in found] == [[3, 7], [3, 7], None]


def test_parts_of_a_partitioned_table_have_rows_of_their_own():
    with tf.Session() as sess:
        table = tf.get_variable(
            "t", [10, 2], initializer=tf.zeros_initializer(), partitioner=tf.fixed_size_partitioner(2)
        )
        ids = tf.placeholder(tf.int64, [None])
        loss = tf.reduce_sum(tf.nn.embedding_lookup(table, ids, partition_strategy="div"))
        train = tf.train.GradientDescentOptimizer(0.1).minimize(loss)
        sess.run(tf.global_variables_initializer())
        states = [state_of(sess, v) for v in table]
        for state in states:
            state.take_touched("test", "", "1")
        sess.run(train, {ids: [1, 9, 5]})
        assert [state.take_touched("test", "1", "2").tolist() for state in states] == [[1], [0, 4]]


def test_real_compiled_code_marks_rows():
    with tf.Session(config=tf.ConfigProto(compile="always")) as sess:
        table = tf.get_variable("table", initializer=np.ones((50, 4), np.float32))
        other = tf.get_variable("other", initializer=np.ones((50, 4), np.float32))
        ids = tf.placeholder(tf.int64, [2])
        rows = tf.placeholder(tf.float32, [2, 4])
        update = tf.group(
            tf.scatter_update(table, ids, tf.tanh(rows) * 2 + 1).op, tf.assign_add(other, tf.ones([50, 4]) * rows[0]).op
        )
        sess.run(tf.global_variables_initializer())
        first, second = state_of(sess, table), state_of(sess, other)
        first.take_touched("test", "", "1")
        second.take_touched("test", "", "1")
        sess.run(update, {ids: [4, 40], rows: np.ones((2, 4))})
        (plan,) = sess._master.plan([ids, rows], [], [update]).variants.compiled.values()
        assert any(n.type == "_Region" and n.attrs["written"] for n in plan.graph.nodes)
        assert first.take_touched("test", "1", "2").tolist() == [4, 40]
        assert second.take_touched("test", "1", "2") is None


def test_writes_in_loops_and_functions_are_marked():
    with tf.Session() as sess:
        table = tf.get_variable("table", initializer=np.ones((20, 4), np.float32), use_resource=True)

        def body(i):
            with tf.control_dependencies([tf.raw_ops.ResourceScatterAdd(table.handle, [i], tf.ones([1, 4]))]):
                return i + 1

        loop = tf.while_loop(lambda i: i < 3, body, [0])
        sess.run(tf.global_variables_initializer())
        state = state_of(sess, table)
        state.take_touched("test", "", "1")
        sess.run(loop)
        assert state.take_touched("test", "1", "2").tolist() == [0, 1, 2]


@pytest.mark.parametrize("use_resource", [False, True])
def test_a_node_takes_the_rows(use_resource):
    with tf.Session() as sess:
        table = tf.get_variable("table", initializer=np.ones((20, 4), np.float32), use_resource=use_resource)
        since, now, at = tf.placeholder(tf.string, []), tf.placeholder(tf.string, []), tf.placeholder(tf.int32, [None])
        op = tf.raw_ops._TakeTouchedResource if use_resource else tf.raw_ops._TakeTouched
        take = op(table._ref(), since, now, asker="test")
        small = op(table._ref(), since, now, asker="small", small=321)
        update = tf.scatter_add(table, at, tf.ones([tf.size(at), 4]))
        sess.run(tf.global_variables_initializer())
        assert sess.run(take, {since: "", now: "1"})[1]
        sess.run(update, {at: [3, 5]})
        rows, whole = sess.run(take, {since: "1", now: "2"})
        assert rows.tolist() == [3, 5]
        assert not whole
        sess.run(update, {at: range(10)})
        rows, whole = sess.run(take, {since: "2", now: "3"})
        assert rows.tolist() == list(range(10))
        assert not whole
        sess.run(update, {at: range(11)})
        rows, whole = sess.run(take, {since: "3", now: "4"})
        assert rows.tolist() == []
        assert whole
        for moment in range(3):
            assert sess.run(small, {since: str(moment), now: str(moment + 1)})[1]
