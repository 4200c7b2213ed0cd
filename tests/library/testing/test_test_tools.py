"""What tf.test has beside TestCase's own assertions: absl's, captured output, stubs, comparison of graphs."""

import os
import sys
from typing import Any

import numpy as np
import pytest
from library.testing.bare_case import Case

import headrace as tf


def test_assertions_of_absl() -> None:
    case: Any = Case()
    case.assertBetween(1, 0, 2)
    case.assertSameElements([1, 2, 2], [2, 1])
    case.assertContainsSubset([1], [1, 2])
    case.assertSequenceAlmostEqual([1.0, 2.0], [1.0, 2.0000001], places=3)
    case.assertEndsWith("text", "xt")
    case.assertSameStructure({"a": [1]}, {"a": [1]})
    with case.assertRaisesWithLiteralMatch(ValueError, "(literally)"):
        raise ValueError("(literally)")
    with pytest.raises(AssertionError, match="unexpectedly not between"):
        case.assertBetween(0, 1, 2)
    for name in ("assertNothing", "nothing"):
        with pytest.raises(AttributeError, match=name):
            getattr(case, name)


def test_dictionaries_of_arrays() -> None:
    case = Case()
    case.assertDictEqual({"a": 1, "b": "x"}, {"a": 1, "b": "x"})
    case.assertDictEqual({"a": np.float32([1, 2]), "b": [1]}, {"a": np.float32([1, 2.0000001]), "b": np.array([1])})
    for other in ({"a": [1.0, 3.0]}, {"b": [1.0, 2.0]}):
        with pytest.raises(AssertionError):
            case.assertDictEqual({"a": np.array([1.0, 2.0])}, other)


def test_messages_without_their_versions() -> None:
    case, graph = Case(), tf.Graph()
    with graph.as_default():
        tf.no_op(name="nothing")
    graph_def = graph.as_graph_def()
    graph_def.ClearField("library")
    case.assertProtoEqualsVersion('node { name: "nothing" op: "NoOp" }', graph_def)
    with pytest.raises(AssertionError):
        case.assertProtoEqualsVersion('node { name: "nothing" op: "NoOp" }', graph_def, producer=1)


def test_captured_writes(capfd: Any) -> None:
    case = Case()
    with case.captureWritesToStream(sys.stdout) as captured:
        os.write(sys.stdout.fileno(), b"by number ")
        print("by name")
    print("outside")
    assert captured.contents() == "by number by name\n"
    assert capfd.readouterr().out == "outside\n"


class Thing:
    value = 1

    @staticmethod
    def static() -> str:
        return "static"


def test_stubs_are_put_back() -> None:
    thing = Thing()
    stubs = tf.test.StubOutForTesting()
    stubs.Set(os.path, "exists", lambda path: "always")
    stubs.Set(Thing, "static", lambda: "stub")
    stubs.SmartSet(thing, "value", 2)
    assert (os.path.exists("nowhere"), Thing.static(), Thing.value) == ("always", "stub", 2)
    with pytest.raises(AttributeError, match="absent"):
        stubs.SmartSet(thing, "absent", 3)
    stubs.CleanUp()
    assert (os.path.exists("nowhere"), thing.static(), Thing.value) == (False, "static", 1)
    with tf.test.StubOutForTesting() as block:
        block.Set(thing, "value", 5)
        assert thing.value == 5 and Thing.value == 1
    assert thing.value == 1


def graph_def(scale: float, name: str = "scaled", reverse: bool = False) -> Any:
    with tf.Graph().as_default() as graph:
        tf.multiply(tf.constant(1.0, name="one"), scale, name=name)
    message = graph.as_graph_def()
    if reverse:
        nodes = list(message.node)
        del message.node[:]
        message.node.extend(reversed(nodes))
    return message


def test_graphs_are_compared_node_by_node() -> None:
    tf.test.assert_equal_graph_def(graph_def(2.0), graph_def(2.0, reverse=True))
    with pytest.raises(AssertionError, match="'scaled/y' has attributes"):
        tf.test.assert_equal_graph_def(graph_def(2.0), graph_def(3.0))
    with pytest.raises(AssertionError, match="unexpected node"):
        tf.test.assert_equal_graph_def(graph_def(2.0), graph_def(2.0, "other"))
    with pytest.raises(TypeError, match="Expected tf.GraphDef for expected, got str"):
        tf.test.assert_equal_graph_def(graph_def(2.0), "graph")


def test_source_directory(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TEST_SRCDIR", "/run")
    monkeypatch.setenv("TEST_WORKSPACE", "org")
    assert tf.test.test_src_dir_path("a/b") == "/run/org/tensorflow/a/b"
    monkeypatch.delenv("TEST_WORKSPACE")
    with pytest.raises(KeyError, match="TEST_WORKSPACE"):
        tf.test.test_src_dir_path("a/b")
