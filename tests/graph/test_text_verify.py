"""The text form of graphs, and the specification that catches each broken invariant."""

from collections.abc import Iterable
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import headrace as tf
from headrace.core.registry import REGISTRY
from headrace.core.shape import TensorShape
from headrace.graph import raw_ops
from headrace.graph.text import attr_text
from headrace.graph.verify import verify_graph
from headrace.passes.step_graph import Node, StepGraph


def test_text_of_a_graph() -> None:
    with tf.device("/cpu:0"):
        x = tf.placeholder(tf.float32, [None, 3], name="x")
    w = raw_ops.VariableV2(shape=[3, 2], dtype=tf.float32, name="w")
    first = tf.no_op(name="first")
    with tf.control_dependencies([first]):
        y = raw_ops.MatMul(x, w, transpose_b=False, name="y")
    raw_ops.TopKV2(y, 1, name="best")
    tf.placeholder(tf.string, name="names")
    assert tf.get_default_graph().to_text().splitlines() == [
        "%x = Placeholder() {dtype=float32, shape=(?, 3)} @/device:CPU:0 : float32[?,3]",
        "%w = VariableV2() {container='', dtype=float32, shape=(3, 2), shared_name=''} : float32_ref[3,2]",
        "%first = NoOp()",
        "%y = MatMul(%x, %w) {transpose_a=False, transpose_b=False} ^%first : float32[?,2]",
        "%best/k = Const() {dtype=int32, value=1} : int32[]",
        "%best = TopKV2(%y, %best/k) {sorted=True} : float32[?,1], int32[?,1]",
        "%names = Placeholder() {dtype=string, shape=?} : string[...]",
    ]
    assert str(y.op).startswith("%y = MatMul")
    assert str(tf.get_default_graph()).startswith("Graph with 7 operations\n%x")


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (tf.float32, "float32"),
        (TensorShape([1, None]), "(1, ?)"),
        (TensorShape(None), "?"),
        (np.array([[1, 2], [3, 4]]), "[[1, 2], [3, 4]]"),
        (np.zeros(20, np.float32), "<float32 [20]>"),
        ([1, tf.int32], "[1, int32]"),
        (len, "<len>"),
        ("a", "'a'"),
    ],
)
def test_text_of_attributes(value: Any, text: str) -> None:
    assert attr_text(value) == text


# ---- verify


def neg(name: str, given: Any, dtype: Any = tf.float32) -> Node:
    made = Node(name, REGISTRY.get("Neg"), [given], {"T": dtype}, 0)
    return made.add_outputs([(dtype, TensorShape([]))])


def const(name: str, dtype: Any = tf.float32) -> Node:
    value = np.array(1, dtype.as_numpy_dtype)
    return Node(name, REGISTRY.get("Const"), [], {"value": value, "dtype": dtype}, 0).add_outputs(
        [(dtype, TensorShape([]))]
    )


def problems(nodes: Iterable[Node]) -> str:
    with pytest.raises(ValueError, match="invalid graph") as caught:
        verify_graph(StepGraph(list(nodes), [], [], []))
    return str(caught.value)


def test_a_valid_graph() -> None:
    a = const("a")
    verify_graph(StepGraph([a, neg("b", a.outputs[0])], [], [], []))
    raw_ops.Neg(tf.constant(1.0))
    verify_graph(tf.get_default_graph())


def test_two_nodes_of_one_name() -> None:
    assert "two nodes are called 'a'" in problems([const("a"), const("a")])


def test_input_from_outside() -> None:
    assert "b reads a:0, whose node is not in the graph" in problems([neg("b", const("a").outputs[0])])


def test_output_that_does_not_exist() -> None:
    a = const("a")
    wrong = SimpleNamespace(op=a, value_index=1, dtype=tf.float32, name="a:1")
    assert "b reads output 1 of a, which has too few" in problems([a, neg("b", wrong)])


def test_control_input_from_outside() -> None:
    a, b = const("a"), const("b")
    b.control_inputs.append(a)
    assert "b waits for a, which is not in the graph" in problems([b])


def test_missing_attribute() -> None:
    a = const("a")
    del a.attrs["dtype"]
    assert "a (Const) lacks attribute 'dtype'" in problems([a])


def test_wrong_dtype() -> None:
    a = const("a", tf.int32)
    assert "b.x must be float32; a:0 is int32" in problems([a, neg("b", a.outputs[0])])


def test_number_of_inputs() -> None:
    a = const("a")
    few, many = neg("few", a.outputs[0]), neg("many", a.outputs[0])
    few.inputs, many.inputs = [], [a.outputs[0]] * 2
    text = problems([a, few, many])
    assert "few has too few inputs for 'x': 0 of 1" in text and "many has 2 inputs, its signature 1" in text


def test_a_handle_is_needed() -> None:
    a, b = const("a"), const("b")
    attrs = {"T": tf.float32, "validate_shape": True, "use_locking": True}
    assign = Node("assign", REGISTRY.get("Assign"), [a.outputs[0], b.outputs[0]], attrs, 0)
    assert "assign.ref must be a ref; a:0 is float32" in problems([a, b, assign])


def test_cycle() -> None:
    a = const("a")
    b = neg("b", a.outputs[0])
    a.control_inputs.append(b)
    assert "depends on itself" in problems([a, b])


def test_everything_is_listed() -> None:
    assert problems([neg("x", const("a").outputs[0]), const("b"), const("b")]).count("\n") == 2
