"""What sessions on one server share (white paper 4.7): variables, tables and mutexes by name and container; nothing else.

Every outcome is TensorFlow 2.21's (compat.v1, `create_local_server`) except where a test says so.
"""

import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from typing import Any

import numpy as np
import pytest

import headrace as tf
from headrace.graph import raw_ops
from headrace.runtime.host.registered import RegisteredGraph

Open = Callable[..., tf.Session]
Uninitialised = tf.errors.FailedPreconditionError


class Model:
    """A graph with one variable."""

    def __init__(self, value: Any, name: str = "v", container: str = "", device: str = "") -> None:
        self.graph = tf.Graph()
        with self.graph.as_default(), tf.container(container), tf.device(device):
            self.v = tf.Variable(value, name=name)
            self.init = self.v.initializer
            self.add = self.v.assign_add(tf.ones_like(value))
            self.there = tf.is_variable_initialized(self.v)


@pytest.fixture
def sessions(server: tf.train.Server) -> Iterator[Open]:
    """Opens sessions on the server for the graph of a model, and closes them in the end."""
    with ExitStack() as stack:

        def start(model: Any, **keywords: Any) -> tf.Session:
            sess = tf.Session(server.target, graph=model.graph, **keywords)
            stack.callback(sess.close)
            return sess

        yield start


class TestVariables:
    def test_two_graphs_share_by_name(self, sessions: Open) -> None:
        one, two = Model(1.0), Model(5.0)
        a, b = sessions(one), sessions(two)
        assert not b.run(two.there)
        a.run(one.init)
        assert b.run(two.there) and b.run(two.v) == 1
        b.run(two.add)
        assert a.run(one.v) == 2

    def test_state_outlives_its_sessions(self, sessions: Open) -> None:
        one, two = Model(1.0), Model(5.0)
        a, b = sessions(one), sessions(two)
        a.run(one.init)
        a.close()
        assert b.run(two.add) == 2
        b.close()
        assert sessions(one).run(one.v) == 2

    def test_names_and_containers_keep_apart(self, sessions: Open) -> None:
        models = [Model(1.0), Model(2.0, name="w"), Model(3.0, container="box"), Model(4.0, container="crate")]
        opened = [sessions(m) for m in models]
        for model, sess in zip(models, opened, strict=True):
            with pytest.raises(Uninitialised):
                sess.run(model.v)
            sess.run(model.init)
        assert [s.run(m.v) for m, s in zip(models, opened, strict=True)] == [1, 2, 3, 4]

    def test_another_dtype(self, sessions: Open) -> None:
        one, other = Model(1.0), Model(7)
        a, b = sessions(one), sessions(other)
        a.run(one.init)
        for fetch in (other.v, other.init, other.there):
            with pytest.raises(
                tf.errors.InternalError,
                match=r"(?s)dtype int32, but the default container.*float32.*test_shared_state.py",
            ):
                b.run(fetch)
        assert a.run(one.v) == 1

    def test_another_shape(self, sessions: Open) -> None:
        """TensorFlow lets a graph read a value that has not the shape of its variable; only assigning is an error there."""
        one, other = Model(1.0), Model([1.0, 2.0])
        a, b = sessions(one), sessions(other)
        a.run(one.init)
        for fetch in (other.v, other.init):
            with pytest.raises(
                tf.errors.InvalidArgumentError, match=r"has shape \(2,\), but the default container.*\(\)"
            ):
                b.run(fetch)
        assert a.run(one.v) == 1

    def test_a_shape_that_fits(self, sessions: Open) -> None:
        one = Model([1.0, 2.0])
        free = Model(0.0, name="other")
        with free.graph.as_default():
            free.v = raw_ops.VariableV2(shape=[None], dtype=tf.float32, shared_name="v")
        a, b = sessions(one), sessions(free)
        a.run(one.init)
        assert b.run(free.v).tolist() == [1, 2]

    def test_another_device(self, make_server: Callable[..., tf.train.Server]) -> None:
        target = make_server(config=tf.ConfigProto(device_count={"CPU": 2})).target
        here, there, anywhere = Model(1.0, device="/cpu:0"), Model(2.0, device="/cpu:1"), Model(3.0)
        with (
            tf.Session(target, graph=here.graph) as a,
            tf.Session(target, graph=there.graph) as b,
            tf.Session(target, graph=anywhere.graph) as c,
        ):
            a.run(here.init)
            assert c.run(anywhere.v) == 1
            with pytest.raises(Uninitialised):
                b.run(there.v)

    def test_local_sessions_share_nothing(self, sessions: Open) -> None:
        one = Model(1.0)
        sessions(one).run(one.init)
        with tf.Session(graph=one.graph) as a, tf.Session(graph=one.graph) as b:
            a.run(one.init)
            with pytest.raises(Uninitialised):
                b.run(one.v)

    def test_isolated_sessions_share_nothing(self, sessions: Open) -> None:
        one = Model(1.0)
        shared, alone = sessions(one), sessions(one, config=tf.ConfigProto(isolate_session_state=True))
        shared.run(one.init)
        with pytest.raises(Uninitialised):
            alone.run(one.v)
        alone.run(one.init)
        alone.run(one.add)
        assert (alone.run(one.v), shared.run(one.v)) == (2, 1)

    def test_two_servers_share_nothing(self, make_server: Callable[..., tf.train.Server]) -> None:
        one = Model(1.0)
        with (
            tf.Session(make_server().target, graph=one.graph) as a,
            tf.Session(make_server().target, graph=one.graph) as b,
        ):
            a.run(one.init)
            with pytest.raises(Uninitialised):
                b.run(one.v)


class TestReset:
    """TensorFlow also ends every session of the server; here sessions go on."""

    def test_empties_one_container(self, server: tf.train.Server, sessions: Open) -> None:
        plain, boxed = Model(1.0), Model(2.0, container="box")
        a, b = sessions(plain), sessions(boxed)
        a.run(plain.init)
        b.run(boxed.init)
        tf.Session.reset(server.target, ["box"])
        assert a.run(plain.v) == 1
        with pytest.raises(Uninitialised, match="uninitialized value v"):
            b.run(boxed.v)
        assert not b.run(boxed.there)
        b.run(boxed.init)
        assert sessions(boxed).run(boxed.v) == 2

    @pytest.mark.parametrize("names", [None, [], [""], ["localhost"], (b"localhost",)])
    def test_the_default_container(self, server: tf.train.Server, sessions: Open, names: Any) -> None:
        plain, boxed = Model(1.0), Model(2.0, container="box")
        a, b = sessions(plain), sessions(boxed)
        a.run(plain.init)
        b.run(boxed.init)
        tf.Session.reset(server.target, names)
        assert b.run(boxed.v) == 2
        with pytest.raises(Uninitialised):
            a.run(plain.v)

    def test_a_container_that_is_not_there(self, server: tf.train.Server, sessions: Open) -> None:
        plain = Model(1.0)
        a = sessions(plain)
        a.run(plain.init)
        tf.Session.reset(server.target, ["nosuch"])
        assert a.run(plain.v) == 1

    def test_callables_and_graphs_with_both(self, server: tf.train.Server) -> None:
        with tf.container("box"):
            boxed = tf.Variable(2.0)
        plain = tf.Variable(1.0)
        with tf.Session(server.target) as sess:
            sess.run(tf.global_variables_initializer())
            read = sess.make_callable([plain, boxed])
            assert read() == [1, 2]
            tf.Session.reset(server.target, ["box"])
            with pytest.raises(Uninitialised):
                read()
            sess.run(boxed.assign(7.0))
            assert read() == [1, 7]

    def test_random_generators_go_on(self, server: tf.train.Server) -> None:
        x = tf.random_uniform([], seed=3)
        with tf.Session(server.target) as sess, tf.Session(server.target) as other:
            expected = [sess.run(x) for _ in range(4)]
            assert [other.run(x) for _ in range(2)] == expected[:2], "generators belong to a session"
            tf.Session.reset(server.target, ["box"])
            assert [other.run(x) for _ in range(2)] == expected[2:]

    def test_while_another_session_plans(
        self, server: tf.train.Server, sessions: Open, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """A plan that found its variables before the reset is made anew."""
        plain = Model(1.0)
        a = sessions(plain)
        a.run(plain.init)
        find_state = RegisteredGraph.state

        def reset_afterwards(graph: RegisteredGraph, node: Any) -> Any:
            state = find_state(graph, node)
            tf.Session.reset(server.target)
            return state

        with monkeypatch.context() as patch:
            patch.setattr(RegisteredGraph, "state", reset_afterwards)
            assert a.run(plain.v) == 1
        with pytest.raises(Uninitialised):
            a.run(plain.v)

    def test_arguments(self, server: tf.train.Server) -> None:
        with pytest.raises(TypeError, match="containers must be a list of names, got 'box'"):
            tf.Session.reset(server.target, "box")
        with pytest.raises(TypeError, match=r"containers must be a list of names, got \[3\]"):
            tf.Session.reset(server.target, [3])
        with pytest.raises(tf.errors.NotFoundError, match="No session factory"):
            tf.Session.reset("nowhere:1")


class Table:
    """A graph with one table."""

    def __init__(self, shared_name: str = "", value: Any = 1, container: str = "", by_node_name: bool = False) -> None:
        dtype = tf.as_dtype(np.asarray(value).dtype)
        self.graph = tf.Graph()
        with self.graph.as_default(), tf.container(container):
            table = raw_ops.MutableHashTableV2(
                key_dtype=tf.string, value_dtype=dtype, shared_name=shared_name, use_node_name_sharing=by_node_name
            )
            self.insert = raw_ops.LookupTableInsertV2(table, ["a"], tf.constant([value], dtype))
            self.size = raw_ops.LookupTableSizeV2(table)
            self.find = raw_ops.LookupTableFindV2(table, ["a"], tf.constant(-1, dtype))


class TestTables:
    @pytest.mark.parametrize("names", [{"shared_name": "words"}, {"by_node_name": True}])
    def test_shared_by_name(self, sessions: Open, names: dict[str, Any]) -> None:
        one, two = Table(**names), Table(**names, value=2)
        a, b = sessions(one), sessions(two)
        a.run(one.insert)
        assert b.run(two.find) == 1
        b.run(two.insert)
        a.close()
        assert sessions(one).run(one.find) == 2

    def test_without_a_name_each_session_has_its_own(self, sessions: Open) -> None:
        one, two = Table(), Table()
        a, b, again = sessions(one), sessions(two), sessions(one)
        a.run(one.insert)
        assert (a.run(one.size), b.run(two.size), again.run(one.size)) == (1, 0, 0)
        a.close()
        assert sessions(one).run(one.size) == 0

    def test_a_closed_session_frees_its_own(self, server: tf.train.Server, sessions: Open) -> None:
        stores = server._worker.resources._items
        one = Table()
        a = sessions(one)
        a.run(one.insert)
        assert sum(map(len, stores.values())) == 1
        a.close()
        assert sum(map(len, stores.values())) == 0

    def test_containers_and_resets(self, server: tf.train.Server, sessions: Open) -> None:
        named, boxed, private = Table("words"), Table("words", container="box"), Table(container="box")
        a, b, c = sessions(named), sessions(boxed), sessions(private)
        a.run(named.insert)
        assert b.run(boxed.size) == 0, "another container"
        b.run(boxed.insert)
        c.run(private.insert)
        tf.Session.reset(server.target, ["box"])
        assert (a.run(named.size), b.run(boxed.size), c.run(private.size)) == (1, 0, 0)

    def test_other_dtypes(self, sessions: Open) -> None:
        one, other = Table("words"), Table("words", value=1.0)
        sessions(one).run(one.insert)
        with pytest.raises(
            tf.errors.InvalidArgumentError,
            match=r"Conflicting key/value dtypes string->float64 with string->int64 for table words\s.*test_shared_state",
        ):
            sessions(other).run(other.size)


def test_critical_sections_of_one_name_exclude_each_other(server: tf.train.Server) -> None:
    """Two graphs add to one variable by reading and assigning; without the section, updates would be lost."""

    class Counter:
        def __init__(self) -> None:
            self.graph = tf.Graph()
            with self.graph.as_default():
                self.v = v = tf.Variable(0, name="count")
                self.step = tf.CriticalSection(name="section").execute(lambda: tf.assign(v, v.read_value() + 1))

    one, two = Counter(), Counter()
    with tf.Session(server.target, graph=one.graph) as a, tf.Session(server.target, graph=two.graph) as b:
        a.run(one.v.initializer)

        def count(sess: tf.Session, model: Counter) -> None:
            for _ in range(200):
                sess.run(model.step)

        threads = [threading.Thread(target=count, args=pair) for pair in ((a, one), (b, two)) * 2]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert a.run(one.v) == 800


def test_all_state_made_inside_lives_in_the_container() -> None:
    with tf.container("box"):
        made = [tf.Variable(1.0).op, tf.CriticalSection()._handle.op]
        made.append(tf.lookup.StaticHashTable(tf.lookup.KeyValueTensorInitializer(["a"], [1]), -1).resource_handle.op)
        with tf.container("inner"):
            inner = tf.Variable(1.0)
        with tf.container(None):
            default = tf.Variable(1.0)
    assert [op.get_attr("container") for op in made] == [b"box"] * 3
    assert (inner.op.get_attr("container"), default.op.get_attr("container")) == (b"inner", b"")
