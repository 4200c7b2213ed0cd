"""Graph: look-up, collections, finalising, default graphs and their threads, devices and colocation errors."""

import threading
from collections.abc import Callable
from typing import Any

import pytest
from resources.calls import run_threads

import headrace as tf
from headrace.graph import raw_ops


class TestLookUp:
    def test_by_name(self) -> None:
        graph = tf.get_default_graph()
        x = tf.constant(1.0, name="a/x")
        assert graph.get_tensor_by_name("a/x:0") is x
        assert graph.get_operation_by_name("a/x") is x.op
        assert graph.as_graph_element("a/x:0") is x
        assert graph.as_graph_element("a/x") is x.op
        assert graph.as_graph_element(b"a/x") is x.op
        assert graph.as_graph_element(x) is x
        assert graph.as_graph_element(x.op) is x.op

    def test_a_tensor_is_not_an_operation(self) -> None:
        graph = tf.get_default_graph()
        x = tf.constant(1.0, name="x")
        with pytest.raises(ValueError, match="appears to refer to a Tensor, not a Operation"):
            graph.get_operation_by_name("x:0")
        with pytest.raises(ValueError, match="refers to an Operation, not a Tensor.*did you mean 'x:0'"):
            graph.get_tensor_by_name("x")
        with pytest.raises(ValueError, match="looks like an \\(invalid\\) Operation name"):
            graph.get_tensor_by_name("y")
        with pytest.raises(TypeError, match="Can not convert a Tensor into a Operation"):
            graph.as_graph_element(x, allow_tensor=False)
        with pytest.raises(TypeError, match="Can not convert a Operation into a Tensor"):
            graph.as_graph_element(x.op, allow_operation=False)

    @pytest.mark.parametrize("thing", [1, None, [1], object()])
    def test_what_is_no_element(self, thing: object) -> None:
        with pytest.raises(TypeError, match="Can not convert a .* into a Tensor or Operation"):
            tf.get_default_graph().as_graph_element(thing)

    def test_names_are_strings(self) -> None:
        graph = tf.get_default_graph()
        with pytest.raises(TypeError, match="Tensor names are strings"):
            graph.get_tensor_by_name(1)  # type: ignore[arg-type]
        with pytest.raises(TypeError, match="Operation names are strings"):
            graph.get_operation_by_name(None)  # type: ignore[arg-type]

    def test_elements_of_another_graph(self) -> None:
        x = tf.constant(1.0)
        other = tf.Graph()
        for element in (x, x.op):
            with pytest.raises(ValueError, match=r"not an element of this graph.*test_graph.py:\d+"):
                other.as_graph_element(element)

    def test_objects_that_stand_for_an_element(self) -> None:
        x = tf.constant(1.0)

        class Wrapper:
            def _as_graph_element(self) -> tf.Tensor:
                return x

        assert tf.get_default_graph().as_graph_element(Wrapper()) is x


class TestMixingGraphs:
    def test_inputs_decide_the_graph(self) -> None:
        other = tf.Graph()
        with other.as_default():
            x = tf.constant(1.0)
        assert raw_ops.Neg(x).graph is other
        assert raw_ops.Add(x, 2.0).graph is other

    def test_inputs_of_two_graphs(self) -> None:
        x = tf.constant(1.0, name="here")
        with tf.Graph().as_default():
            y = tf.constant(2.0, name="there")
            with pytest.raises(
                ValueError, match=r"'here:0' \(made at .*test_graph.py:\d+\) must be from the same graph"
            ):
                raw_ops.Add(y, x)

    def test_control_inputs_of_another_graph(self) -> None:
        x = tf.no_op()
        with tf.Graph().as_default() as other, pytest.raises(ValueError), other.control_dependencies([x]):
            pass


class TestCollections:
    def test_order_copies_and_scopes(self) -> None:
        graph = tf.get_default_graph()
        a, b = tf.constant(1.0, name="s/a"), tf.constant(1.0, name="t/b")
        for item in (b, a, 3):
            tf.add_to_collection("c", item)
        assert tf.get_collection("c") == [b, a, 3]
        assert tf.get_collection("c", scope="s/") == [a]
        assert tf.get_collection("c", scope=".*/b") == [b]
        tf.get_collection("c").clear()
        assert len(tf.get_collection("c")) == 3
        tf.get_collection_ref("c").append(4)
        assert tf.get_collection("c")[-1] == 4
        graph.clear_collection("c")
        assert tf.get_collection("c") == [] and tf.get_collection("never") == []

    def test_several_at_once(self) -> None:
        tf.add_to_collections(["a", "b", "a"], 1)
        tf.add_to_collections("c", 2)
        assert [tf.get_collection(k) for k in "abc"] == [[1], [1], [2]]
        assert sorted(tf.get_default_graph().get_all_collection_keys()) == ["a", "b", "c"]

    def test_of_one_graph(self) -> None:
        tf.add_to_collection("c", 1)
        with tf.Graph().as_default():
            assert tf.get_collection("c") == []

    def test_keys(self) -> None:
        assert tf.GraphKeys.GLOBAL_VARIABLES == "variables"
        assert tf.GraphKeys.TRAINABLE_VARIABLES == "trainable_variables"


class TestFinalize:
    def test_nothing_can_be_added(self) -> None:
        graph = tf.get_default_graph()
        graph.finalize()
        assert graph.finalized
        changes: list[Callable[[], Any]] = [
            lambda: tf.constant(1.0),
            lambda: tf.add_to_collection("c", 1),
            lambda: graph.clear_collection("c"),
        ]
        for change in changes:
            with pytest.raises(RuntimeError, match="Graph is finalized and cannot be modified"):
                change()

    def test_running_still_works(self, session: tf.Session) -> None:
        x = tf.constant(1.0)
        tf.get_default_graph().finalize()
        assert session.run(x) == 1.0


class TestDefaultGraph:
    def test_nesting(self) -> None:
        outer = tf.get_default_graph()
        first, second = tf.Graph(), tf.Graph()
        with first.as_default() as entered:
            assert entered is first is tf.get_default_graph()
            with second.as_default():
                assert tf.get_default_graph() is second
            assert tf.get_default_graph() is first
        assert tf.get_default_graph() is outer

    def test_reset(self) -> None:
        before = tf.get_default_graph()
        tf.constant(1.0)
        tf.reset_default_graph()
        assert tf.get_default_graph() is not before and tf.get_default_graph().get_operations() == []

    def test_reset_inside_a_graph(self) -> None:
        with tf.Graph().as_default(), pytest.raises(AssertionError, match="Do not use tf.reset_default_graph"):
            tf.reset_default_graph()

    def test_left_in_the_wrong_order(self) -> None:
        first, second = tf.Graph().as_default(), tf.Graph().as_default()
        first.__enter__()
        second.__enter__()
        with pytest.raises(AssertionError, match="Nesting violated for default stack of graphs"):
            first.__exit__(None, None, None)
        second.__exit__(None, None, None)

    def test_stacks_are_per_thread(self) -> None:
        found: list[Any] = []
        with tf.Graph().as_default() as graph, tf.name_scope("s"), tf.device("/cpu:0"):
            thread = threading.Thread(target=lambda: found.append(tf.get_default_graph()))
            thread.start()
            thread.join()

            def build() -> None:
                with graph.as_default():
                    found.append(tf.constant(1.0, name="x"))

            thread = threading.Thread(target=build)
            thread.start()
            thread.join()
        assert found[0] is not graph
        assert found[1].name == "x:0" and found[1].device == ""

    def test_sessions_nest_too(self) -> None:
        assert tf.get_default_session() is None
        with tf.Session() as outer:
            assert tf.get_default_session() is outer
            with tf.Session() as inner:
                assert tf.get_default_session() is inner
            assert tf.get_default_session() is outer
        assert tf.get_default_session() is None

    def test_eval_without_a_session(self) -> None:
        x = tf.constant(1.0)
        with pytest.raises(ValueError, match="No default session is registered"):
            x.eval()
        with pytest.raises(ValueError, match="No default session is registered"):
            tf.no_op().run()
        with tf.Session(graph=tf.Graph()) as session, pytest.raises(ValueError, match="graph is different"):
            x.eval(session=session)

    def test_threads_may_build_one_graph(self) -> None:
        graph = tf.Graph()

        def build() -> None:
            with graph.as_default(), graph.name_scope("t"):
                for _ in range(50):
                    raw_ops.Neg(tf.constant(1.0))

        run_threads(*[build] * 4)
        names = [op.name for op in graph.get_operations()]
        assert len(names) == len(set(names)) == 400


class TestScopes:
    @pytest.mark.parametrize("device", [3, ["/cpu:0"], object()])
    def test_what_is_no_device(self, device: object) -> None:
        with pytest.raises(TypeError, match="device takes a string"), tf.device(device):
            pass

    @pytest.mark.parametrize("device", ["/gpu:x", "/job", "/device:CPU:0:1", "/job:a/job:b/what:1"])
    def test_malformed_devices(self, device: str) -> None:
        with pytest.raises(ValueError), tf.device(device):
            pass

    def test_colocation_cannot_be_reset_by_accident(self) -> None:
        with pytest.raises(ValueError, match="ignore_existing is not True"), tf.colocate_with(None):
            pass

    @pytest.mark.parametrize("given", [3, "x", [1]])
    def test_gradient_override_map_is_checked(self, given: object) -> None:
        with pytest.raises(TypeError), tf.get_default_graph().gradient_override_map(given):  # type: ignore[arg-type]
            pass
        with pytest.raises(TypeError), tf.get_default_graph().gradient_override_map({"a": 1}):  # type: ignore[dict-item]
            pass

    def test_gradient_override_map_marks_nodes(self) -> None:
        with tf.get_default_graph().gradient_override_map({"Neg": "Mine"}):
            inside = raw_ops.Neg(1.0)
        assert inside.op.get_attr("_gradient_op_type") == b"Mine"
        with pytest.raises(ValueError, match="no attr named '_gradient_op_type'"):
            raw_ops.Neg(1.0).op.get_attr("_gradient_op_type")

    def test_control_dependencies_take_what_stands_for_a_node(self) -> None:
        x = tf.constant(1.0, name="x")
        slices = tf.IndexedSlices(tf.constant([1.0], name="values"), tf.constant([0], name="indices"))
        with tf.control_dependencies([x, slices, x.op]):
            after = tf.no_op()
        assert [c.name for c in after.control_inputs] == ["x", "values"]
        with pytest.raises(TypeError), tf.control_dependencies([3]):
            pass

    def test_feeding_and_fetching_can_be_forbidden(self, session: tf.Session) -> None:
        graph = tf.get_default_graph()
        x = tf.constant(1.0)
        assert graph.is_feedable(x) and graph.is_fetchable(x)
        graph.prevent_feeding(x)
        graph.prevent_fetching(x.op)
        assert not graph.is_feedable(x) and not graph.is_fetchable(x)
        with pytest.raises(ValueError, match="not fetchable|marked as not fetchable"):
            session.run(x)
        with pytest.raises(ValueError, match="may not be fed"):
            session.run(tf.identity(x), {x: 2.0})


def test_the_repr_says_how_large_it_is() -> None:
    graph = tf.Graph()
    with graph.as_default(), tf.Session() as session:
        tf.constant(1.0) + 2.0
        assert repr(graph) == "<tf.Graph of 3 nodes>"
        assert repr(session) == "<tf.Session, graph of 3 nodes, 1 device, open>"
