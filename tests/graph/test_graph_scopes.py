"""Scopes that mark the nodes made inside, and what operations say of themselves: TensorFlow's names and forms."""

import inspect

import numpy as np
import pytest

import headrace as tf
from headrace.core.registry import REGISTRY
from headrace.graph import attr_value, raw_ops


def test_attributes_of_a_scope() -> None:
    graph = tf.get_default_graph()
    with graph._attr_scope({"_mark": tf.AttrValue(s=b"outer"), "_of": lambda node: tf.AttrValue(s=node.op.encode())}):
        first = tf.constant(1.0)
        with graph._attr_scope({"_mark": tf.AttrValue(i=3)}):
            inner = tf.constant(1.0)
        with graph._attr_scope({"_mark": None}):
            bare = tf.constant(1.0)
    after = tf.constant(1.0)
    assert [t.op.get_attr("_mark") for t in (first, inner)] == [b"outer", 3]
    assert [t.op.get_attr("_of") for t in (first, inner, bare)] == [b"Const"] * 3
    assert first.op.node_def.attr["_mark"].s == b"outer"
    for tensor in (bare, after):
        with pytest.raises(ValueError, match="has no attr named '_mark'"):
            tensor.op.get_attr("_mark")
    for wrong in ([], {"a": 1}, {1: None}):
        with pytest.raises(TypeError, match="attr_map"), graph._attr_scope(wrong):  # type: ignore[arg-type]
            pass


def test_kernel_labels_and_overridden_gradients() -> None:
    graph = tf.get_default_graph()
    with graph._kernel_label_map({"Const": "special"}), graph.gradient_override_map({"Square": "Mine"}):
        square = tf.square(tf.constant(2.0, name="x"))
    assert graph.get_operation_by_name("x").get_attr("_kernel") == b"special"
    assert square.op.get_attr("_gradient_op_type") == b"Mine" and "_kernel" not in square.op.attrs
    with pytest.raises(TypeError, match="mapping strings to strings"), graph._kernel_label_map({"Const": 1}):  # type: ignore[dict-item]
        pass


def test_errors_name_what_a_node_stands_for() -> None:
    graph = tf.get_default_graph()
    first = tf.constant(1.0, name="first")
    with graph._original_op(first.op):
        second = tf.constant(2.0, name="second")
    with graph._original_op(second.op):
        third = tf.check_numerics(tf.constant(float("nan")), "bad", name="third")
    assert third.op._original_op is second.op and second.op._original_op is first.op and first.op._original_op is None
    with tf.Session() as session, pytest.raises(tf.errors.InvalidArgumentError) as raised:
        session.run(third)
    text = str(raised.value)
    places = [text.index(f"originally created as op '{name}', defined at:") for name in ("second", "first")]
    assert places == sorted(places)


def test_text_in_attributes_is_bytes_and_can_be_passed_back() -> None:
    x, kernel = tf.ones([1, 4, 4, 2]), tf.ones([2, 2, 2, 3])
    op = tf.nn.conv2d(x, kernel, [1, 1, 1, 1], "SAME").op
    padding, layout, strides = (op.get_attr(name) for name in ("padding", "data_format", "strides"))
    assert (padding, layout, strides) == (b"SAME", b"NHWC", [1, 1, 1, 1])
    again = tf.nn.conv2d(x, kernel, strides, padding, data_format=layout)
    back = tf.nn.conv2d_backprop_input([1, 4, 4, 2], kernel, again, strides, padding, data_format=layout)
    assert back.shape.as_list() == [1, 4, 4, 2]
    queue = tf.FIFOQueue(2, [tf.float32, tf.int32], shared_name="name").queue_ref.op
    assert [queue.get_attr(name) for name in ("shared_name", "component_types", "shapes")] == [
        b"name", [tf.float32, tf.int32], [],
    ]  # fmt: skip


def test_raw_ops_have_signatures() -> None:
    assert str(inspect.signature(raw_ops.MatMul)) == "(a, b, transpose_a=False, transpose_b=False, name=None)"
    assert str(inspect.signature(raw_ops.ConcatV2)) == "(values, axis, name=None)"
    assert str(inspect.signature(raw_ops.ArgMax)) == "(input, dimension, output_type=tf.int64, name=None)"
    assert str(inspect.signature(raw_ops.Conv2D)) == (
        "(input, filter, strides, padding, use_cudnn_on_gpu=True, explicit_paddings=[], data_format='NHWC', "
        "dilations=[1, 1, 1, 1], name=None)"
    )
    for definition in REGISTRY:
        inspect.signature(getattr(raw_ops, definition.name))


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (1, "dtype: DT_INT32 tensor_shape { } int_val: 1"),
        (np.float32(2), "dtype: DT_FLOAT tensor_shape { } float_val: 2"),
        (np.array(4.0), "dtype: DT_DOUBLE tensor_shape { } double_val: 4"),
        (np.uint8(3), "dtype: DT_UINT8 tensor_shape { } int_val: 3"),
        (np.float16(1), "dtype: DT_HALF tensor_shape { } half_val: 15360"),
        ([1.0], "dtype: DT_FLOAT tensor_shape { dim { size: 1 } } float_val: 1"),
        ([True, False], "dtype: DT_BOOL tensor_shape { dim { size: 2 } } bool_val: true bool_val: false"),
        (np.complex64(1 + 2j), "dtype: DT_COMPLEX64 tensor_shape { } scomplex_val: 1 scomplex_val: 2"),
        ([1j], "dtype: DT_COMPLEX128 tensor_shape { dim { size: 1 } } dcomplex_val: 0 dcomplex_val: 1"),
        (
            [1, 2],
            r'dtype: DT_INT32 tensor_shape { dim { size: 2 } } tensor_content: "\001\000\000\000\002\000\000\000"',
        ),
        (b"a", 'dtype: DT_STRING tensor_shape { } string_val: "a"'),
        ([], "dtype: DT_FLOAT tensor_shape { dim { } }"),
    ],
)
def test_tensors_as_messages(value: object, text: str) -> None:
    message = tf.make_tensor_proto(value)
    assert " ".join(str(message).split()) == text
    np.testing.assert_array_equal(tf.make_ndarray(message), np.array(value, tf.make_ndarray(message).dtype))


def test_quantized_numbers_are_records_of_numpy(session: tf.Session) -> None:
    records = np.array([(1,), (2,)], dtype=tf.quint8.as_numpy_dtype)
    assert tf.make_tensor_proto([(1,), (2,)], dtype=tf.quint8).tensor_content == b"\x01\x02"
    fed = tf.placeholder(tf.quint8, [2])
    assert session.run(tf.constant([(1,), (200,)], dtype=tf.quint8)).tolist() == [1, 200]
    for numbers in (tf.constant(records), tf.constant([1, 2], dtype=tf.quint8)):
        np.testing.assert_allclose(session.run(tf.dequantize(numbers, 0.0, 255.0)), [1, 2])
    np.testing.assert_allclose(session.run(tf.dequantize(fed, 0.0, 255.0), {fed: records}), [1, 2])


def test_messages_have_a_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(attr_value, "LIMIT", 100)
    with pytest.raises(ValueError, match="Cannot create a tensor proto whose content is larger than 2GB"):
        tf.make_tensor_proto(np.zeros(50, np.float32))
    for _ in range(2):
        tf.constant(np.zeros(15, np.float32))
    with pytest.raises(ValueError, match="GraphDef cannot be larger than 2GB"):
        tf.get_default_graph().as_graph_def()


@pytest.mark.parametrize(
    ("name", "canonical"),
    [
        ("/device:Foo:0", "/device:Foo:0"), ("/device:foo:1", "/device:foo:1"), ("/cpu:0", "/device:CPU:0"),
        ("/device:gpu:1", "/device:GPU:1"), ("/job:Worker/GPU:0", "/job:Worker/device:GPU:0"),
    ],
)  # fmt: skip
def test_unknown_types_of_devices_keep_their_case(name: str, canonical: str) -> None:
    with tf.device(name):
        assert tf.constant(1).device == canonical
    assert tf.DeviceSpec.from_string(name).to_string() == canonical


def test_gradients_are_summed_where_they_are() -> None:
    with tf.device("/cpu:0"):
        v = tf.Variable([1.0, 2.0], name="v")
    with tf.device("/gpu:0"):
        z = tf.add_n([tf.multiply(v, 2.0, name="first"), v * 3.0])
    (total,) = tf.gradients(z, v, colocate_gradients_with_ops=True)
    assert (total.op.type, total.device, total.op.colocation_groups()) == ("AddN", "/device:GPU:0", [b"loc:@first"])
    with tf.device("/gpu:1"):
        other = v * 4.0
    (total,) = tf.gradients([z, other], v, colocate_gradients_with_ops=True)
    parts = {t.op.type: t.device for t in total.op.inputs}
    assert total.op.type == "AddN" and parts["AddN"] == "/device:GPU:0" and "/device:GPU:1" in parts.values()
    assert (total.device, total.op.colocation_groups()) == ("/device:CPU:0", [b"loc:@v"])  # the sum of all is with v


def test_averages_are_with_their_variable() -> None:
    with tf.device("/job:ps/task:0"):
        v = tf.Variable(1.0, name="v")
    average = tf.train.ExponentialMovingAverage(0.9)
    with tf.device("/job:worker"):
        average.apply([v])
    assert average.average(v).device == "/job:ps/task:0"
