"""Layer objects: names, reuse, errors, losses, updates, variables."""

import inspect

import numpy as np
import pytest
from running import initialize_and_run, initialized_session, run

import headrace as tf


def placeholder(*shape: int | None) -> tf.Tensor:
    return tf.placeholder(tf.float32, shape)


def test_names_of_layers_and_scopes() -> None:
    first, second = tf.layers.Dense(3), tf.layers.Dense(3)
    assert (first.name, second.name) == ("dense_1", "dense_2")
    x = placeholder(None, 2)
    assert first(x).name == "dense/BiasAdd:0"
    assert first(x).name == "dense/BiasAdd_1:0"
    assert second(x).name == "dense_1/BiasAdd:0"
    assert first.scope_name == "dense"
    assert first.dtype == "float32"
    assert [v.name for v in first.weights] == ["dense/kernel:0", "dense/bias:0"]


def test_two_objects_of_one_name_do_not_share() -> None:
    for _ in range(2):
        tf.layers.Dense(3, name="a")(placeholder(2, 2))
    assert [v.name for v in tf.global_variables()] == ["a/kernel:0", "a/bias:0", "a_1/kernel:0", "a_1/bias:0"]


def test_functions_share_by_name_and_reuse_only() -> None:
    tf.layers.dense(placeholder(2, 2), 3, name="a")
    with pytest.raises(ValueError, match="Variable a/kernel already exists"):
        tf.layers.dense(placeholder(2, 2), 3, name="a")
    with pytest.raises(ValueError, match="but specified shape \\(4, 3\\) and found shape \\(2, 3\\)"):
        tf.layers.dense(placeholder(2, 4), 3, name="a", reuse=True)
    with pytest.raises(ValueError, match="Variable b/kernel does not exist"):
        tf.layers.dense(placeholder(2, 2), 3, name="b", reuse=True)
    tf.layers.dense(placeholder(2, 2), 3, name="a", reuse=tf.AUTO_REUSE)
    assert len(tf.global_variables()) == 2


@pytest.mark.parametrize(
    ("make", "error", "text"),
    [
        (lambda: tf.layers.dense(placeholder(3), 3), ValueError, "expected min_ndim=2, found ndim=1"),
        (lambda: tf.layers.dense(placeholder(None, None), 3), ValueError, "last dimension of the inputs to `Dense`"),
        (lambda: tf.layers.dense(tf.placeholder(tf.int32, [2, 3]), 3), TypeError, "non-floating point dtype"),
        (lambda: tf.layers.dense(placeholder(2, 2), 3, activation="foo"), ValueError, "Unknown activation function: foo"),
        (lambda: tf.layers.dense([placeholder(2, 2)] * 2, 3), ValueError, "expects 1 inputs"),
        (lambda: tf.layers.Dense(3, foo=1), TypeError, "foo"),
        (lambda: tf.layers.Dense(3).scope_name, ValueError, "has not been used yet"),
        (lambda: tf.layers.Dense(3).count_params(), ValueError, "isn't built"),
        (lambda: tf.layers.conv2d(placeholder(None, 3, 3), 3, 3), ValueError, "expected ndim=4, found ndim=3"),
        (lambda: tf.layers.conv2d(placeholder(1, 3, 3, None), 3, 3), ValueError, "channel dimension"),
        (lambda: tf.layers.conv2d(placeholder(1, 8, 8, 3), 3, (3, 3, 3)), ValueError, "tuple of 2 integers"),
        (lambda: tf.layers.conv2d(placeholder(1, 8, 8, 3), 3, 3, padding="foo"), ValueError, "Received: foo"),
        (lambda: tf.layers.conv2d(placeholder(1, 8, 8, 3), 3, 3, padding="causal"), ValueError, "Received: causal"),
        (lambda: tf.layers.conv2d(placeholder(1, 8, 8, 3), 3, 3, data_format="NHWC"), ValueError, "channels_first"),
        (lambda: tf.layers.conv2d(placeholder(1, 8, 8, 3), 3, 3, 2, dilation_rate=2), ValueError, "strides > 1"),
        (lambda: tf.layers.max_pooling2d(placeholder(1, 8, 8), 2, 2), ValueError, "expected ndim=4"),
        (lambda: tf.layers.batch_normalization(placeholder(1, 8), fused=True), ValueError, "rank 4"),
        (lambda: tf.layers.batch_normalization(placeholder(1, 8), axis=2), ValueError, "Invalid axis"),
        (lambda: tf.layers.batch_normalization(placeholder(1, None)), ValueError, "undefined `axis`"),
    ],
)  # fmt: skip
def test_errors(make, error, text) -> None:
    with pytest.raises(error, match=text.replace("(", "\\(")):
        make()


def test_later_inputs_must_fit_the_first() -> None:
    layer = tf.layers.Dense(3)
    layer(placeholder(2, 2))
    with pytest.raises(ValueError, match="expected axis -1 of input shape to have value 2"):
        layer(placeholder(2, 5))


def test_regularizers_once_per_variable() -> None:
    l2 = tf.nn.l2_loss
    tf.layers.dense(placeholder(2, 2), 3, name="a", kernel_regularizer=l2)
    tf.layers.dense(placeholder(2, 2), 3, name="a", kernel_regularizer=l2, reuse=True)
    losses = tf.get_collection(tf.GraphKeys.REGULARIZATION_LOSSES)
    assert [loss.name for loss in losses] == ["a/kernel/Regularizer/L2Loss:0"]


def test_scope_regularizer_adds_to_the_layers_own() -> None:
    with tf.variable_scope("z", regularizer=tf.reduce_max):
        tf.layers.dense(placeholder(2, 2), 3, kernel_regularizer=tf.nn.l2_loss)
    assert [loss.name for loss in tf.get_collection("regularization_losses")] == [
        "z/dense/kernel/Regularizer/Max:0", "z/dense/kernel/Regularizer/L2Loss:0", "z/dense/bias/Regularizer/Max:0",
    ]  # fmt: skip


def test_not_trainable() -> None:
    layer = tf.layers.Dense(3, trainable=False)
    layer(placeholder(2, 2))
    assert layer.trainable_variables == []
    assert layer.non_trainable_variables == tf.global_variables()
    assert tf.trainable_variables() == []
    assert layer.count_params() == 9


def test_own_layer() -> None:
    class Scale(tf.layers.Layer):
        def build(self, input_shape) -> None:
            self.factor = self.add_variable("factor", [int(input_shape[-1])], initializer=tf.ones_initializer())
            self.steps = self.add_weight("steps", [], dtype=tf.int32, trainable=False)
            super().build(input_shape)

        def call(self, inputs, extra=0.0):
            self.add_update(self.steps.assign_add(1), inputs=True)
            self.add_loss(tf.reduce_sum(inputs), inputs=inputs)
            return inputs * self.factor + extra

    layer = Scale()
    x = tf.constant([[1.0, 2.0]])
    y = layer.apply(x, extra=1.0)
    assert y.name == "scale/add:0"
    assert [v.name for v in layer.variables] == ["scale/factor:0", "scale/steps:0"]
    assert layer.updates == tf.get_collection(tf.GraphKeys.UPDATE_OPS)
    assert layer.losses == tf.get_collection(tf.GraphKeys.REGULARIZATION_LOSSES)
    assert layer.get_losses_for(x) == layer.losses
    assert layer.get_losses_for(None) == []
    assert layer.get_updates_for(x) == []
    assert (layer.input, layer.output, layer.input_shape, layer.output_shape) == (x, y, (1, 2), (1, 2))
    with initialized_session() as session:
        session.run(layer.updates)
        np.testing.assert_array_equal(session.run(y), [[2.0, 3.0]])
        layer.set_weights([[5.0, 6.0], 7])
        np.testing.assert_array_equal(layer.get_weights()[0], [5.0, 6.0])


def test_numpy_input_and_dtype() -> None:
    layer = tf.layers.Dense(3)
    assert layer(np.zeros([2, 2])).dtype == tf.float64
    assert layer.dtype == "float64"


def test_channels_first_gives_the_same() -> None:
    image = np.random.RandomState(0).randn(2, 6, 6, 3).astype(np.float32)
    made = []
    for layout in ("channels_last", "channels_first"):
        x = tf.constant(image if layout == "channels_last" else image.transpose(0, 3, 1, 2))
        with tf.variable_scope("m", reuse=tf.AUTO_REUSE):
            y = tf.layers.conv2d(x, 4, 3, data_format=layout, name="a")
            y = tf.layers.max_pooling2d(y, 2, 1, data_format=layout)
            y = tf.layers.conv2d_transpose(y, 2, 3, 2, padding="same", data_format=layout, name="b")
            y = tf.layers.separable_conv2d(y, 2, 3, data_format=layout, name="c")
            y = tf.layers.average_pooling2d(y, 2, 2, data_format=layout)
        made.append(tf.layers.flatten(y, data_format=layout))
    first, second = initialize_and_run(made)
    np.testing.assert_allclose(first, second, rtol=1e-4, atol=1e-5)


def test_partial_shapes() -> None:
    assert tf.layers.conv2d(placeholder(None, None, 8, 3), 4, 3).shape.as_list() == [None, None, 6, 4]
    assert tf.layers.conv2d_transpose(placeholder(None, None, 8, 3), 4, 3, 2).shape.as_list() == [None, None, 17, 4]
    assert tf.layers.flatten(placeholder(None, 2, 3)).shape.as_list() == [None, 6]
    assert tf.layers.flatten(placeholder(None, None, 3)).shape.as_list() == [None, None]
    assert tf.layers.dense(placeholder(None, 5, 3), 4).shape.as_list() == [None, 5, 4]
    assert tf.layers.Conv2D(4, 3, padding="same").compute_output_shape((None, 7, 7, 3)).as_list() == [None, 7, 7, 4]


def test_dropout_keeps_the_mean() -> None:
    x = tf.ones([100, 100])
    kept = run(tf.layers.dropout(x, 0.25, training=True, seed=1))
    assert set(np.unique(kept)) == {np.float32(0.0), np.float32(4 / 3)}
    assert abs(kept.mean() - 1.0) < 0.05
    assert tf.layers.dropout(x, training=False).op.type == "Identity"


def test_what_the_constructors_and_functions_show() -> None:
    class Blurred(tf.layers.Conv2D):
        def __init__(self, width: int, strides: int = 1) -> None:
            super().__init__(1, width, strides)

    conv, own = inspect.signature(tf.layers.Conv3D).parameters, inspect.signature(Blurred)
    assert conv["strides"].default == conv["dilation_rate"].default == (1, 1, 1)
    assert "dilation_rate" not in inspect.signature(tf.layers.Conv2DTranspose).parameters
    assert list(own.parameters) == ["width", "strides"] and own.parameters["strides"].default == 1
    assert list(inspect.signature(tf.layers.max_pooling1d).parameters)[-1] == "name"
    with pytest.raises(TypeError, match=r"conv2d\(\) missing a required argument: 'filters'"):
        tf.layers.conv2d(tf.zeros([1, 8, 8, 3]))
