"""Tensor and Operation: what they show, what they refuse, and what may change after they are made."""

import copy

import numpy as np
import pytest

import headrace as tf
from headrace.graph import raw_ops


class TestTensor:
    def test_what_it_shows(self) -> None:
        x = tf.placeholder(tf.float32, [None, 3], name="x")
        assert (x.name, x.dtype, x.shape.as_list(), x.value_index, x.op.type) == (
            "x:0",
            tf.float32,
            [None, 3],
            0,
            "Placeholder",
        )
        assert repr(x) == "<tf.Tensor 'x:0' shape=(?, 3) dtype=float32>"
        assert str(x) == 'Tensor("x:0", shape=(?, 3), dtype=float32)'
        assert str(tf.placeholder(tf.int32, name="y")) == 'Tensor("y:0", dtype=int32)'
        with tf.device("/cpu:0"):
            z = tf.constant(1.0, name="z")
        assert str(z) == 'Tensor("z:0", shape=(), dtype=float32, device=/device:CPU:0)'

    def test_it_has_no_numpy_and_says_what_to_do(self) -> None:
        x = tf.constant(1.0, name="x")
        assert not hasattr(x, "numpy")
        with pytest.raises(AttributeError, match=r"no attribute 'numpy' \(x:0\).*Session.run.*test_operation.py:"):
            x.numpy()

    def test_identity_is_equality(self) -> None:
        a, b = tf.constant(1.0), tf.constant(1.0)
        assert a == a and a != b and len({a, b, a}) == 2
        assert copy.copy(a) is a and copy.deepcopy([a])[0] is a

    def test_what_it_refuses(self) -> None:
        x = tf.constant([1.0, 2.0], name="x")
        with pytest.raises(TypeError, match="only iterable when eager"):
            iter(x)
        with pytest.raises(TypeError, match="x.shape"):
            len(x)
        with pytest.raises(TypeError, match="as a Python `bool` is not allowed"):
            bool(x)
        with pytest.raises(TypeError, match="as a Python `bool`"):
            assert x and x
        with pytest.raises(NotImplementedError, match=r"symbolic Tensor \(x:0\)"):
            np.array(x)

    def test_set_shape_refines(self) -> None:
        x = tf.placeholder(tf.float32)
        x.set_shape([None, 3])
        x.set_shape([2, None])
        assert x.shape.as_list() == [2, 3]
        with pytest.raises(ValueError, match=r"static shape \(2, 3\), which cannot be refined to \(4, 3\)"):
            x.set_shape([4, 3])

    def test_consumers(self) -> None:
        x = tf.constant(1.0)
        a, b = raw_ops.Neg(x), raw_ops.Add(x, x)
        assert x.consumers() == [a.op, b.op]


class TestOperation:
    def test_what_it_shows(self) -> None:
        a, b = tf.constant([[1.0]], name="a"), tf.constant([[2.0]], name="b")
        with tf.control_dependencies([tf.no_op(name="first")]), tf.device("/cpu:0"):
            op = raw_ops.MatMul(a, b, transpose_a=True, name="product").op
        assert (op.name, op.type, op.device) == ("product", "MatMul", "/device:CPU:0")
        assert list(op.inputs) == [a, b] and [c.name for c in op.control_inputs] == ["first"]
        assert op.get_attr("transpose_a") is True and op.get_attr("T") == tf.float32
        assert op.outputs == list(op.values())
        assert repr(op) == "<tf.Operation 'product' type=MatMul>"
        definition = op.node_def
        assert isinstance(definition, tf.NodeDef)
        assert (definition.name, definition.op, definition.input) == ("product", "MatMul", ["a", "b", "^first"])
        assert definition.device == "/device:CPU:0" and definition.attr["transpose_a"].b is True

    def test_unknown_attributes(self) -> None:
        with pytest.raises(
            ValueError, match=r"Operation 'x' \(Const\) has no attr named 'y'; it has \['dtype', 'value'\]"
        ):
            tf.constant(1.0, name="x").op.get_attr("y")

    def test_source_is_the_users_line(self) -> None:
        op = tf.no_op()
        filename, _, function, _ = op.traceback[-1]
        assert filename == __file__ and function == "test_source_is_the_users_line"

    def test_control_inputs_can_be_added(self) -> None:
        a, b = tf.no_op(), tf.no_op()
        b._add_control_input(a)
        b._add_control_inputs([a, a])
        assert b.control_inputs == [a]
        with pytest.raises(TypeError, match="must be an Operation"):
            b._add_control_input("a")  # type: ignore[arg-type]
        with tf.Graph().as_default():
            foreign = tf.no_op()
        with pytest.raises(ValueError, match="different graph"):
            b._add_control_input(foreign)

    def test_an_input_can_be_rewired(self, session: tf.Session) -> None:
        a, b = tf.constant(1.0), tf.constant(2.0)
        y = raw_ops.Neg(a)
        assert session.run(y) == -1.0
        y.op._update_input(0, b)
        assert session.run(y) == -2.0
        assert a.consumers() == [] and b.consumers() == [y.op]
        with pytest.raises(TypeError, match="is float32; .* is int32"):
            y.op._update_input(0, tf.constant(1))

    def test_results_of_several_outputs_have_names(self) -> None:
        result = raw_ops.TopKV2([3.0, 1.0, 2.0], 2)
        assert result._fields == ("values", "indices") and result.indices.value_index == 1
