"""Calling an op: the errors users meet, with the op, the argument, what came, what is accepted, the line."""

import inspect
from typing import Any

import numpy as np
import pytest

import headrace as tf
from headrace.core import dtypes
from headrace.core.registry import REGISTRY, op
from headrace.graph import infer, raw_ops
from headrace.graph.infer import constant_value, constant_value_as_shape


def here() -> str:
    """The file and line of the caller, as error messages write it."""
    frame = inspect.stack()[1]
    return f"{frame.filename}:{frame.lineno}"


class TestArguments:
    def test_too_many_missing_twice_unknown(self) -> None:
        with pytest.raises(TypeError, match="Neg takes at most 1 arguments"):
            raw_ops.Neg(1.0, 2.0)
        with pytest.raises(TypeError, match=r"No argument for input 'y' of Add\(x: T, y: T\)"):
            raw_ops.Add(1.0)
        with pytest.raises(TypeError, match="got two values for argument 'x'"):
            raw_ops.Neg(1.0, x=2.0)
        with pytest.raises(TypeError, match="Neg has no argument 'z'; it has x"):
            raw_ops.Neg(1.0, z=2.0)
        with pytest.raises(TypeError, match="No argument for attr 'DstT'"):
            raw_ops.Cast(1.0)
        with pytest.raises(AttributeError, match="no op type is called 'Negg'"):
            raw_ops.Negg  # noqa: B018

    def test_inputs_that_do_not_match(self) -> None:
        x = tf.constant(1.0)
        with pytest.raises(
            TypeError, match="Input 'y' of 'Add' Op has type int32 that does not match type float32 of argument 'x'"
        ):
            raw_ops.Add(x, tf.constant(1))
        with pytest.raises(TypeError, match="Input 'y' of 'Add' Op has type string"):
            raw_ops.Add(x, "a")
        with pytest.raises(TypeError, match="DataType string not in list of allowed values"):
            raw_ops.Neg(tf.constant("a"))
        with pytest.raises(TypeError, match="Expected list for 'inputs' argument to 'AddN' Op"):
            raw_ops.AddN(x)
        with pytest.raises(ValueError, match="length 0 shorter than minimum length 1"):
            raw_ops.AddN([])
        with pytest.raises(TypeError, match="don't all match"):
            raw_ops.AddN([x, tf.constant(1)])
        with pytest.raises(TypeError, match="requires that input 'ref' be a mutable tensor"):
            raw_ops.Assign(x, 1.0)

    @pytest.mark.parametrize(
        ("call", "match"),
        [
            (
                lambda x: raw_ops.MatMul(x, x, transpose_a=1),
                "Expected a bool for attr 'transpose_a' of 'MatMul' Op, got 1",
            ),
            (lambda x: raw_ops.Pack([x], "0"), "Expected an int for attr 'axis' of 'Pack' Op, got '0'"),
            (lambda x: raw_ops.Pack([x], True), "Expected an int for attr 'axis'"),
            (lambda x: raw_ops.Cast(x, DstT="nothing"), "attr 'DstT' of 'Cast' Op, got 'nothing'"),
            (lambda x: raw_ops.Placeholder(dtype=tf.float32, shape="ab"), "attr 'shape' of 'Placeholder' Op"),
        ],
    )
    def test_attributes(self, call: Any, match: str) -> None:
        with pytest.raises(TypeError, match=match):
            call(tf.constant([[1.0]]))

    def test_messages_name_the_users_line(self) -> None:
        x = tf.constant(1.0)
        with pytest.raises(TypeError) as caught:
            line = here(); raw_ops.Add(x, tf.constant(1))  # fmt: skip # noqa: E702
        assert f"(at {line})" in str(caught.value)
        with pytest.raises(ValueError) as shapes:
            line = here(); raw_ops.MatMul(tf.zeros([2, 3]), tf.zeros([4, 5]), name="bad")  # fmt: skip # noqa: E702
        text = str(shapes.value)
        assert f"(at {line})" in text and "'bad' (op: 'MatMul') with input shapes: [2,3], [4,5]" in text

    def test_names_of_constants(self) -> None:
        assert [t.name for t in raw_ops.Add(tf.constant(1.0, name="a"), 2.0).op.inputs] == ["a:0", "Add/y:0"]
        assert [t.name for t in raw_ops.AddN([1.0, 2.0], name="n").op.inputs] == ["n/inputs_0:0", "n/inputs_1:0"]


class TestRules:
    @pytest.fixture(autouse=True)
    def forget(self) -> Any:
        yield
        for name in ("TestRule",):
            REGISTRY.remove(name)

    def declare(self, shape: Any, signature: str = "TestRule(x: T) -> (y: T)") -> Any:
        made = op(signature, T=dtypes.FLOATING)
        made.shape(shape)
        return made

    @pytest.mark.parametrize(
        ("result", "shape"),
        [(None, None), ((2, None), [2, None]), ([2, 3], [2, 3]), ((), []), (tf.TensorShape([4]), [4]), ([], [])],
    )
    def test_what_a_shape_rule_may_return(self, result: Any, shape: Any) -> None:
        self.declare(lambda x: result)
        made = raw_ops.TestRule(tf.constant(1.0))
        assert (made.shape.as_list() if made.shape.ndims is not None else None) == shape

    def test_several_outputs(self) -> None:
        self.declare(lambda x: [(1,), None], "TestRule(x: T) -> (a: T, b: T)")
        a, b = raw_ops.TestRule(tf.constant(1.0))
        assert a.shape == [1] and b.shape.ndims is None

    def test_wrong_number_of_shapes(self) -> None:
        self.declare(lambda x: [(1,)], "TestRule(x: T) -> (a: T, b: T)")
        with pytest.raises(ValueError, match="gave 1 shapes for 2 outputs"):
            raw_ops.TestRule(tf.constant(1.0))

    def test_host_values_as_far_as_known(self) -> None:
        seen: list[Any] = []

        def rule(x: Any, size: Any) -> None:
            seen.append(size)

        self.declare(rule, "TestRule(x: T, size: host int32) -> (y: T)")
        x = tf.constant(1.0)
        n = tf.placeholder(tf.int32, [])
        raw_ops.TestRule(x, [1, 2])
        raw_ops.TestRule(x, raw_ops.Pack([tf.constant(1), n], 0))
        raw_ops.TestRule(x, 5)
        raw_ops.TestRule(x, n)
        raw_ops.TestRule(x, tf.placeholder(tf.int32, [None]))
        assert seen == [[1, 2], [1, None], 5, None, None]

    def test_shapes_come_from_the_kernel_without_a_rule(self) -> None:
        made = op("TestRule(x: T) -> (y: T)", T=dtypes.FLOATING)
        made.kernel(lambda x: x.sum(0))
        assert raw_ops.TestRule(tf.placeholder(tf.float32, [2, None, 3])).shape.as_list() == [None, 3]
        assert raw_ops.TestRule(tf.placeholder(tf.float32)).shape.ndims is None


class TestStaticValues:
    def test_arithmetic_on_shapes(self) -> None:
        x = tf.placeholder(tf.float32, [None, 3, 4])
        shape = raw_ops.Shape(x)
        assert constant_value(shape) is None
        assert constant_value(shape, partial=True).tolist() == [None, 3, 4]
        last = raw_ops.StridedSlice(shape, [1], [3], [1])
        assert constant_value(last).tolist() == [3, 4]
        assert constant_value(raw_ops.Prod(last, 0)) == 12
        flat = raw_ops.Reshape(x, raw_ops.Pack([tf.constant(-1), raw_ops.Prod(last, 0)], 0))
        assert flat.shape.as_list() == [None, 12]

    def test_a_value_as_a_shape(self) -> None:
        assert constant_value_as_shape(tf.constant([2, -1])).as_list() == [2, None]
        assert constant_value_as_shape(tf.placeholder(tf.int32, [2])).as_list() == [None, None]
        assert constant_value_as_shape(tf.placeholder(tf.int32)).ndims is None
        with pytest.raises(ValueError, match="must be a 1-D tensor"):
            constant_value_as_shape(tf.constant(3))

    @pytest.mark.parametrize(
        ("build", "known"),
        [
            (lambda n: tf.stack([16, 37, n]), [16, 37, None]),
            (lambda n: tf.stack([16, -1, n]), [16, None, None]),
            (lambda n: tf.cast(tf.stack([16, n]), tf.int64), [16, None]),
            (lambda n: tf.concat([tf.stack([16, n]), [5]], 0), [16, None, 5]),
            (lambda n: tf.stack([16, 37, n])[:2], [16, 37]),
            (lambda n: tf.stack([16, 37, n])[-2:], [37, None]),
            (lambda n: tf.stack([16, 37, n])[::2], [16, None]),
            (lambda n: tf.shape(tf.placeholder(tf.float32, [None, 16, 37]))[1:], [16, 37]),
            (lambda n: tf.shape(tf.placeholder(tf.float32, [16, None]), out_type=tf.int64), [16, None]),
            (lambda n: tf.constant([], tf.int32), []),
        ],
    )
    def test_a_shape_known_in_part(self, build: Any, known: list[int | None]) -> None:
        assert constant_value_as_shape(build(tf.placeholder(tf.int32, []))).as_list() == known

    def test_shapes_without_a_rank(self) -> None:
        unknown = tf.placeholder(tf.int32)
        for shape in (tf.concat([unknown, [5]], 0), tf.shape(unknown), tf.shape(unknown)[:2]):
            assert constant_value_as_shape(shape).ndims is None

    def test_a_stack_known_in_part(self) -> None:
        part = constant_value(tf.stack([16, 37, tf.placeholder(tf.int32, [])]), partial=True)
        assert part.tolist() == [16, 37, None]

    def test_constants(self) -> None:
        assert constant_value(tf.constant([1.5, 2.5])).tolist() == [1.5, 2.5]
        assert constant_value(tf.placeholder(tf.float32, [2])) is None
        assert constant_value(raw_ops.Neg(tf.constant(np.float32(2)))) == -2.0


def test_a_question_about_a_shape_does_not_follow_what_led_to_it(monkeypatch: pytest.MonkeyPatch) -> None:
    x = tf.placeholder(tf.float32, [None, 4])
    for _ in range(3):
        x = tf.nn.relu(x)
    asked = [raw_ops.Shape(x), raw_ops.Rank(x), raw_ops.Size(x), *raw_ops.ShapeN([x, x])]
    followed: list[Any] = []
    computed = infer._computed
    monkeypatch.setattr(infer, "_computed", lambda t, *rest: followed.append(t) or computed(t, *rest))
    values = [infer.partial_value(t) for t in asked]
    assert [None if v is None else v.tolist() for v in values] == [[None, 4], 2, None, [None, 4], [None, 4]]
    assert {t.op.type for t in followed} == {"Shape", "Rank", "Size", "ShapeN"}
