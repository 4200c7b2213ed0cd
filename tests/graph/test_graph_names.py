"""Names, control inputs, devices and colocation of small programs, node by node as TensorFlow gives them."""

import json
from pathlib import Path

import pytest
from golden.name_programs import PROGRAMS, describe

import headrace as tf

GOLDEN = json.loads((Path(__file__).parent.parent / "golden" / "names.json").read_text())


@pytest.mark.parametrize("name", sorted(PROGRAMS))
def test_nodes_are_named_as_by_tensorflow(name: str) -> None:
    assert describe(tf, PROGRAMS[name]) == GOLDEN[name]


def test_every_program_has_golden_names() -> None:
    assert sorted(PROGRAMS) == sorted(GOLDEN)


@pytest.mark.parametrize("name", ["_a", "bad name", "/x", "a b/", "-a", "é"])
def test_invalid_node_names(name: str) -> None:
    with pytest.raises(ValueError, match="not a valid node name"):
        tf.no_op(name=name)
    with pytest.raises(ValueError, match="not a valid node name"):
        tf.identity([1.0], name=name)
    assert tf.get_default_graph().get_operations() == []


@pytest.mark.parametrize("name", ["_a", "bad name", "/x", "a b/", "é"])
def test_invalid_scope_names(name: str) -> None:
    with pytest.raises(ValueError, match="not a valid scope name"), tf.name_scope(name):
        pass


def test_inside_a_scope_a_name_may_start_with_an_underscore() -> None:
    with tf.name_scope("s"):
        assert tf.no_op(name="_a").name == "s/_a"


@pytest.mark.parametrize("name", [1, 1.5, ["a"], object()])
def test_scope_names_are_strings(name: object) -> None:
    with pytest.raises(TypeError), tf.name_scope(name):  # type: ignore[arg-type]
        pass


def test_two_nodes_never_share_a_name() -> None:
    first, second = tf.constant(1, name="x/"), tf.constant(2, name="x/")
    assert first.name == "x:0" and second.name == "x_1:0"


def test_scope_is_left_when_the_body_raises() -> None:
    graph = tf.get_default_graph()
    with pytest.raises(KeyError), tf.name_scope("a"), tf.name_scope("b"):
        assert graph.get_name_scope() == "a/b"
        raise KeyError
    assert graph.get_name_scope() == ""


def test_a_scope_object_may_be_entered_again() -> None:
    scope = tf.name_scope("a")
    with scope as first:
        pass
    with scope as second:
        pass
    assert (first, second) == ("a/", "a_1/")


def test_name_scope_takes_the_graph_of_its_values() -> None:
    other = tf.Graph()
    with other.as_default():
        x = tf.constant(1.0)
    with tf.name_scope("s", values=[x]):
        assert tf.get_default_graph() is other
        assert tf.identity(x).name == "s/Identity:0"
    assert tf.get_default_graph() is not other
