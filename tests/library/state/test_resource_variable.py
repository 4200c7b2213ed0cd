"""Resource variables: TensorFlow's order of reads and writes, its nodes, and what the rest of the library does with them."""

import functools
from typing import Any

import numpy as np
import pytest
from golden import program
from golden.optimizer_cases import CASES, train
from golden.resource_programs import PROGRAMS
from running import initialize_and_run, initialized_session

import headrace as tf
from headrace.library.state.resource_variable import ResourceVariable, UnreadVariable, is_resource_variable

golden = functools.cache(lambda: program.load("resource"))


@pytest.mark.parametrize("name", PROGRAMS)
def test_same_as_tensorflow(name: str) -> None:
    program.compare(tf, PROGRAMS, name, golden())


@pytest.mark.parametrize("name", ["reads among writes", "loops", "gathers", "raw ops"])
def test_same_as_tensorflow_compiled(name: str) -> None:
    values, _ = program.run(tf, PROGRAMS[name], config=tf.ConfigProto(compile="always"))
    for found, expected in zip(values, golden()[name]["values"], strict=True):
        np.testing.assert_allclose(found, program.decode(expected), rtol=1e-5)


@pytest.fixture
def by_default() -> Any:
    tf.enable_resource_variables()
    yield
    tf.disable_resource_variables()


class TestMaking:
    def test_who_asks_for_one(self, graph: Any) -> None:
        assert not is_resource_variable(tf.Variable(1.0))
        assert is_resource_variable(tf.Variable(1.0, use_resource=True))
        assert isinstance(tf.get_variable("a", [], use_resource=True), ResourceVariable)
        with tf.variable_scope("s", use_resource=True):
            assert is_resource_variable(tf.get_variable("b", []))
            assert is_resource_variable(tf.Variable(1.0))
            assert not is_resource_variable(tf.get_variable("c", [], use_resource=False))
            with tf.variable_scope("t"):
                assert is_resource_variable(tf.get_variable("d", []))
        assert tf.get_variable("e", []).op.type == "VariableV2"

    def test_by_default(self, graph: Any, by_default: None) -> None:
        assert tf.resource_variables_enabled()
        assert tf.Variable(1.0).op.type == tf.get_variable("a", []).op.type == "VarHandleOp"
        assert tf.Variable(1.0, use_resource=False).op.type == "VariableV2"

    def test_what_it_is(self, graph: Any) -> None:
        v = tf.get_variable("v", [2, 3], use_resource=True)
        assert (v.name, v.op.name, v.op.type, v.dtype, v.shape.as_list()) == (
            "v:0",
            "v",
            "VarHandleOp",
            tf.float32,
            [2, 3],
        )
        assert v.handle.dtype == tf.resource and tf.resource == v.handle.dtype and v.handle.op is v.op
        assert v.initializer.type == "AssignVariableOp" and v.create is v.initializer
        assert repr(v) == "<tf.Variable 'v:0' shape=(2, 3) dtype=float32>"
        assert v in tf.trainable_variables() and v in tf.global_variables()

    def test_initial_values_of_others(self, session: tf.Session, graph: Any) -> None:
        v = tf.Variable(2.0, use_resource=True)
        w = tf.Variable(v.value() * 3.0, use_resource=True)
        x = tf.Variable(w.initialized_value() + 1.0, use_resource=True)
        rows = tf.Variable([1.0, 2.0], use_resource=True)
        session.run(rows.initializer)
        y = tf.Variable(tf.gather(rows, 1), use_resource=True)
        session.run(tf.global_variables_initializer())
        assert session.run([v, w, x, y]) == [2.0, 6.0, 7.0, 2.0]

    def test_a_value_of_another_shape(self, graph: Any) -> None:
        v = tf.Variable([1.0, 2.0], use_resource=True)
        with pytest.raises(ValueError, match=r"Shapes \(2,\) and \(3,\) are incompatible.*test_resource_variable"):
            v.assign([1.0, 2.0, 3.0])

    def test_a_shape_that_is_not_fixed(self, session: tf.Session, graph: Any) -> None:
        v = tf.Variable([1.0], use_resource=True, validate_shape=False)
        assert v.shape.ndims is None
        session.run(v.initializer)
        assert session.run(v.assign([[1.0, 2.0]])).tolist() == [[1.0, 2.0]]

    def test_partitioned(self, graph: Any) -> None:
        with tf.variable_scope("s", partitioner=tf.fixed_size_partitioner(2), use_resource=True):
            v = tf.get_variable("v", initializer=np.arange(8.0, dtype=np.float32).reshape(4, 2))
        assert all(is_resource_variable(part) for part in v)
        rows = tf.nn.embedding_lookup(v, [3, 0], partition_strategy="div")
        assert initialize_and_run(rows).tolist() == [[6.0, 7.0], [0.0, 1.0]]

    def test_definition_finds_the_variable_again(self, graph: Any) -> None:
        v = tf.Variable([1.0], name="v", use_resource=True)
        definition = v.to_proto()
        assert definition.is_resource and definition.snapshot_name == "v/Read/ReadVariableOp:0"
        again = tf.Variable.from_proto(definition)
        assert is_resource_variable(again) and again.handle is v.handle and again.initializer is v.initializer


class TestOrder:
    def test_a_fetch_of_the_variable_is_its_first_read(self, session: tf.Session, graph: Any) -> None:
        v = tf.Variable(1.0, use_resource=True)
        session.run(v.initializer)
        assert session.run([v, v.value()], {v: 5.0}) == [5.0, 1.0]
        assert v.eval() == 1.0

    def test_read_value_false_gives_the_op(self, graph: Any) -> None:
        v = tf.Variable(1.0, use_resource=True)
        for change in (v.assign, v.assign_add, v.assign_sub):
            assert isinstance(change(1.0, read_value=False), tf.Operation)
            assert isinstance(change(1.0), UnreadVariable)

    def test_rows_are_read_after_the_assignment(self, session: tf.Session, graph: Any) -> None:
        v = tf.Variable([1.0, 2.0, 3.0], use_resource=True)
        changed = v.assign([10.0, 20.0, 30.0])
        session.run(v.initializer)
        assert session.run([changed.sparse_read([2]), changed.gather_nd([[0]])]) == [[30.0], [10.0]]

    def test_a_cached_value(self, session: tf.Session, graph: Any) -> None:
        v = tf.Variable(1.0, use_resource=True, caching_device="/cpu:0")
        assert v.value() is v.value()
        with tf.control_dependencies([v.value()]):
            write = v.assign(7.0)
        with tf.control_dependencies([write]):
            late, fresh = v + 0.0, v.read_value()
        session.run(v.initializer)
        assert session.run([late, fresh]) == [1.0, 7.0]

    def test_functions_run_their_effects_in_order(self, session: tf.Session, graph: Any) -> None:
        v = tf.Variable(1.0, use_resource=True)

        @tf.function
        def step(x: Any) -> Any:
            before = v * 1.0
            v.assign_add(x)
            v.assign(v * 2.0)
            return before, v + 0.0

        before, after = step(tf.constant(3.0))
        session.run(v.initializer)
        assert session.run([before, after]) == [1.0, 8.0]

    def test_a_handle_as_an_argument_of_a_function(self, graph: Any) -> None:
        v, w = (tf.Variable(x, use_resource=True) for x in (1.0, 2.0))

        @tf.function
        def double(handle: Any) -> Any:
            tf.raw_ops.AssignAddVariableOp(resource=handle, value=10.0)
            return tf.raw_ops.ReadVariableOp(resource=handle, dtype=tf.float32) * 2.0

        assert initialize_and_run([double(v.handle), double(w.handle)]) == [22.0, 24.0]

    def test_destroying(self, session: tf.Session, graph: Any) -> None:
        v = tf.Variable(1.0, use_resource=True)
        destroy = tf.raw_ops.DestroyResourceOp(resource=v.handle)
        strict = tf.raw_ops.DestroyResourceOp(resource=v.handle, ignore_lookup_error=False)
        session.run(v.initializer)
        session.run(destroy)
        session.run(destroy)
        assert not session.run(v.is_initialized())
        with pytest.raises(tf.errors.NotFoundError, match="does not exist"):
            session.run(strict)
        with pytest.raises(tf.errors.FailedPreconditionError, match="uninitialized value Variable"):
            session.run(v)

    def test_a_read_is_on_the_variables_device(self, graph: Any) -> None:
        with tf.device("/cpu:0"):
            v = tf.Variable(1.0, use_resource=True)
        with tf.device("/gpu:3"):
            assert v.value().device == v.handle.device
        with tf.colocate_with(v):
            assert tf.no_op().colocation_groups() == [b"loc:@Variable"]


class TestTraining:
    @pytest.mark.parametrize("kind", ["dense", "sparse"])
    @pytest.mark.parametrize("name", CASES)
    def test_same_as_with_references(self, name: str, kind: str, by_default: None) -> None:
        found = train(tf, CASES[name], kind == "sparse")
        tf.disable_resource_variables()
        wanted = train(tf, CASES[name], kind == "sparse")
        assert sorted(found) == sorted(wanted)
        for variable, value in wanted.items():
            np.testing.assert_allclose(found[variable], value, rtol=1e-6, atol=1e-7, err_msg=variable)

    def test_updates_by_handle(self, graph: Any) -> None:
        w = tf.Variable([1.0, 2.0], name="w", use_resource=True)
        step = tf.Variable(0, name="step", trainable=False, use_resource=True)
        tf.train.AdamOptimizer(0.1).minimize(tf.reduce_sum(w * w), global_step=step)
        types = {op.name: op.type for op in graph.get_operations()}
        assert types["Adam/update_w/ResourceApplyAdam"] == "ResourceApplyAdam"
        assert types["Adam"] == "AssignAddVariableOp" and types["w/Adam_1"] == types["beta1_power"] == "VarHandleOp"

    def test_a_moving_average(self, graph: Any) -> None:
        v = tf.Variable(10.0, use_resource=True)
        average = tf.train.ExponentialMovingAverage(0.5)
        update = average.apply([v])
        with initialized_session() as session:
            session.run(v.assign(20.0))
            session.run(update)
            assert session.run(average.average(v)) == 15.0

    def test_a_small_network(self, graph: Any, by_default: None) -> None:
        x = tf.placeholder(tf.float32, [None, 4])
        hidden = tf.layers.batch_normalization(tf.layers.dense(x, 8, tf.nn.tanh), training=True)
        cell = tf.nn.rnn_cell.GRUCell(3)
        output, _ = tf.nn.dynamic_rnn(cell, tf.reshape(hidden, [-1, 4, 2]), dtype=tf.float32)
        loss = tf.reduce_mean(tf.square(output - 0.5))
        with tf.control_dependencies(tf.get_collection(tf.GraphKeys.UPDATE_OPS)):
            train_op = tf.train.MomentumOptimizer(0.5, 0.5).minimize(loss)
        assert all(is_resource_variable(v) for v in tf.global_variables())
        feed = {x: np.random.RandomState(0).standard_normal((5, 4)).astype(np.float32)}
        with initialized_session() as session:
            first = session.run(loss, feed)
            for _ in range(60):
                session.run(train_op, feed)
            assert session.run(loss, feed) < 0.3 * first


class TestGraphs:
    def test_a_graph_def_keeps_them(self, graph: Any) -> None:
        v = tf.Variable([1.0, 2.0], name="v", use_resource=True)
        found = tf.cond(
            tf.reduce_sum(v) > 2.0, lambda: v * 2.0, lambda: v.assign_add([1.0, 1.0]).value(), name="chosen"
        )
        tf.identity(found, name="found")
        definition = graph.as_graph_def()
        with tf.Graph().as_default() as other, tf.Session() as session:
            tf.import_graph_def(definition, name="")
            assert other.get_operation_by_name("v").type == "VarHandleOp"
            session.run("v/Assign")
            assert session.run("found:0").tolist() == [2.0, 4.0]
            assert {n.name: n.op for n in other.as_graph_def().node} == {n.name: n.op for n in definition.node}

    def test_freezing(self, graph: Any) -> None:
        v = tf.Variable([1.0, 2.0], name="v", use_resource=True)
        tf.add(v * 2.0, tf.gather(v, [1]), name="y")
        with tf.Session() as session:
            session.run(v.initializer)
            frozen = tf.graph_util.convert_variables_to_constants(session, graph.as_graph_def(), ["y"])
        with tf.Graph().as_default(), tf.Session() as session:
            tf.import_graph_def(frozen, name="")
            assert session.run("y:0").tolist() == [4.0, 6.0]

    def test_two_handles_of_one_name_share_the_variable(self, session: tf.Session, graph: Any) -> None:
        one, two = (tf.raw_ops.VarHandleOp(dtype=tf.float32, shape=[], shared_name="shared") for _ in range(2))
        session.run(tf.raw_ops.AssignVariableOp(resource=one, value=3.0))
        assert session.run(tf.raw_ops.ReadVariableOp(resource=two, dtype=tf.float32)) == 3.0
