"""convert_to_tensor: dtypes and errors as TensorFlow's, tensors inside lists, types that users register."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from golden.convert_cases import DTYPES, VALUES, describe
from running import run

import headrace as tf
from headrace.graph import convert

GOLDEN = json.loads((Path(__file__).parent.parent / "golden" / "convert.json").read_text())
# Where Headrace differs on purpose: strings given as numbers are a TypeError like every other wrong kind, a list of
# arrays is stacked, and a range converts to any dtype its numbers fit.
DIFFERENT = {
    (name, d) for name in ("numpy_texts", "numpy_objects") for d in DTYPES if d not in (None, "string", "bfloat16")
}
DIFFERENT |= {("list_of_arrays", d) for d in DTYPES if d != "string"} | {("numpy_empty", "string")}
DIFFERENT |= {("range", d) for d in ("float16", "uint8", "complex64")}


@pytest.mark.parametrize("name", VALUES)
def test_python_values_convert_as_in_tensorflow(name: str) -> None:
    for dtype in DTYPES:
        ours, theirs = describe(tf, VALUES[name], dtype), GOLDEN[name][str(dtype)]
        assert (ours != theirs) == ((name, dtype) in DIFFERENT), f"{name} as {dtype}: {ours}, TensorFlow {theirs}"


def test_what_differs_on_purpose() -> None:
    assert describe(tf, VALUES["numpy_texts"], "float32") == "TypeError"
    assert describe(tf, VALUES["list_of_arrays"], None) == ["float64", [2, 2]]
    assert describe(tf, range(3), "uint8") == ["uint8", [3]]


def test_tensors_are_never_promoted() -> None:
    x = tf.constant(1.0)
    assert tf.convert_to_tensor(x) is x
    assert tf.convert_to_tensor(x, tf.float32) is x
    with pytest.raises(ValueError, match=r"requested dtype int32 for Tensor with dtype float32.*test_convert.py:\d+"):
        tf.convert_to_tensor(x, tf.int32)


def test_preferred_dtype_gives_way() -> None:
    assert tf.convert_to_tensor(1, preferred_dtype=tf.float32).dtype == tf.float32
    assert tf.convert_to_tensor(1.5, preferred_dtype=tf.int32).dtype == tf.float32
    assert tf.convert_to_tensor(1, dtype=tf.int64, preferred_dtype=tf.float32).dtype == tf.int64
    assert tf.convert_to_tensor(1, dtype_hint=tf.float64).dtype == tf.float64


class TestListsOfTensors:
    def test_they_are_packed(self) -> None:
        x = tf.constant(1.0, name="x")
        packed = tf.convert_to_tensor([x, 2.0], name="both")
        assert packed.op.type == "Pack" and packed.name == "both:0" and packed.shape == [2]
        assert [t.name for t in packed.op.inputs] == ["x:0", "both/1:0"]

    def test_nested(self) -> None:
        x = tf.constant(1.0)
        packed = tf.convert_to_tensor([[x, 2.0], [3.0, 4.0]])
        assert packed.shape == [2, 2]
        assert run(packed).tolist() == [[1.0, 2.0], [3.0, 4.0]]

    def test_the_tensor_decides_the_dtype(self) -> None:
        assert tf.convert_to_tensor([1, tf.constant(2, tf.int64)]).dtype == tf.int64
        with pytest.raises(TypeError):
            tf.convert_to_tensor([1.5, tf.constant(2)])

    def test_they_are_cast_to_the_dtype_that_is_asked_for(self, session: tf.Session) -> None:
        whole = tf.convert_to_tensor([[tf.constant(2.7), 3], [4, tf.constant(5)]], tf.int32)
        assert [n.name for n in whole.graph.get_operations() if n.type == "Cast"] == ["Cast"]
        zeros = tf.zeros([tf.constant(2, tf.int64), 3])
        assert session.run(whole).tolist() == [[2, 3], [4, 5]]
        assert session.run(zeros).shape == (2, 3)

    def test_the_first_that_has_it_forbids_others(self) -> None:
        with pytest.raises(
            TypeError, match="list containing a tensor of dtype int64 to int32.*made at .*test_convert.py"
        ):
            tf.convert_to_tensor([tf.constant(2), tf.constant(1, tf.int64)], tf.int32)

    def test_shapes_must_agree(self) -> None:
        with pytest.raises(ValueError, match="[Ss]hape"):
            tf.convert_to_tensor([tf.constant([1.0]), tf.constant([1.0, 2.0])])


class TestShapes:
    def test_shapes_and_dimensions(self) -> None:
        x = tf.placeholder(tf.float32, [2, None])
        assert tf.convert_to_tensor(tf.TensorShape([2, 3])).dtype == tf.int32
        assert tf.convert_to_tensor(tf.TensorShape([2, 3]), tf.int64).dtype == tf.int64
        assert tf.convert_to_tensor(x.shape[0]).shape == []
        assert tf.convert_to_tensor([x.shape[0], 3]).op.get_attr("value").tolist() == [2, 3]

    def test_unknown_ones(self) -> None:
        x = tf.placeholder(tf.float32, [2, None])
        with pytest.raises(ValueError, match="partially known TensorShape"):
            tf.convert_to_tensor(x.shape)
        with pytest.raises(ValueError, match="unknown Dimension"):
            tf.convert_to_tensor(x.shape[1])
        with pytest.raises(TypeError, match="unknown Dimension"):
            tf.convert_to_tensor([x.shape[1], 3])
        with pytest.raises(TypeError, match="int32 and int64"):
            tf.convert_to_tensor(tf.TensorShape([2]), tf.float32)


def test_operations_and_dtypes_do_not_convert() -> None:
    with pytest.raises(TypeError, match="Can't convert Operation 'step'"):
        tf.convert_to_tensor(tf.no_op(name="step"))
    with pytest.raises(TypeError, match="a dtype"):
        tf.convert_to_tensor(tf.float32)


class TestRegistration:
    @pytest.fixture(autouse=True)
    def forget(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(convert, "_converters", {k: list(v) for k, v in convert._converters.items()})
        convert._cache.clear()

    def test_a_new_type(self) -> None:
        class Celsius:
            degrees = 36.6

        def to_tensor(value: Any, dtype: Any = None, name: Any = None, as_ref: bool = False) -> Any:
            return tf.constant(value.degrees, dtype, name=name or "celsius")

        tf.register_tensor_conversion_function(Celsius, to_tensor)
        assert tf.identity(Celsius()).op.inputs[0].name == "Identity/input:0"
        assert tf.convert_to_tensor(Celsius()).name == "celsius:0"
        assert tf.convert_to_tensor(Celsius(), tf.float64).dtype == tf.float64

    def test_priority_and_not_implemented(self) -> None:
        class Value:
            pass

        calls = []

        def first(value: Any, dtype: Any = None, name: Any = None, as_ref: bool = False) -> Any:
            calls.append("first")
            return NotImplemented

        def second(value: Any, dtype: Any = None, name: Any = None, as_ref: bool = False) -> Any:
            calls.append("second")
            return tf.constant(1)

        tf.register_tensor_conversion_function(Value, second, priority=20)
        tf.register_tensor_conversion_function(Value, first, priority=10)
        tf.convert_to_tensor(Value())
        assert calls == ["first", "second"]

    def test_conversions_that_break_their_word(self) -> None:
        class Value:
            pass

        tf.register_tensor_conversion_function(Value, lambda value, dtype=None, name=None, as_ref=False: 3)
        with pytest.raises(RuntimeError, match="returned non-Tensor: 3"):
            tf.convert_to_tensor(Value())

        class Other:
            pass

        tf.register_tensor_conversion_function(Other, lambda value, dtype=None, name=None, as_ref=False: tf.constant(3))
        with pytest.raises(RuntimeError, match="incompatible dtype: requested = float32, actual = int32"):
            tf.convert_to_tensor(Other(), tf.float32)

    def test_wrong_arguments(self) -> None:
        with pytest.raises(TypeError, match="base_type must be a type"):
            tf.register_tensor_conversion_function("int", lambda *a: None)
        with pytest.raises(TypeError, match="must be callable"):
            tf.register_tensor_conversion_function(int, 3)  # type: ignore[arg-type]


class TestConstant:
    @pytest.mark.parametrize(
        ("value", "shape", "expected"),
        [
            (1.0, [2, 2], [[1.0, 1.0], [1.0, 1.0]]),
            ([1, 2], [4], [1, 2, 2, 2]),
            ([1, 2, 3, 4], [2, 2], [[1, 2], [3, 4]]),
            (0.0, [0, 3], []),
            ("a", [2], [b"a", b"a"]),
            (7, [], 7),
        ],
    )
    def test_shape_repeats_the_last_value(self, value: Any, shape: Any, expected: Any) -> None:
        made = tf.constant(value, shape=shape)
        assert made.shape == shape
        assert np.asarray(run(made)).tolist() == expected

    def test_too_many_values(self) -> None:
        with pytest.raises(ValueError, match="Too many elements provided. Needed at most 1, but received 2"):
            tf.constant([1, 2], shape=[1])

    def test_verify_shape(self) -> None:
        tf.constant([1, 2], shape=[2], verify_shape=True)
        with pytest.raises(TypeError, match=r"Expected Tensor's shape: \(3,\), got \(2,\)"):
            tf.constant([1, 2], shape=[3], verify_shape=True)

    def test_the_array_is_copied(self) -> None:
        array = np.ones(2, np.float32)
        made = tf.constant(array)
        array[:] = 7
        assert run(made).tolist() == [1.0, 1.0]
