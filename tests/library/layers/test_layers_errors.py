"""What Keras's layers say of arguments and inputs that they do not take."""

import re

import pytest

import headrace as tf

K, layers = tf.keras, tf.keras.layers


def placeholder(*shape: int | None) -> tf.Tensor:
    return tf.placeholder(tf.float32, shape)


def x(*shape: int) -> tf.Tensor:
    return tf.zeros(shape)


@pytest.mark.parametrize(
    ("make", "error", "text"),
    [
        (lambda: layers.Dense(3)(placeholder(2, None)), ValueError, "last dimension of the inputs to `Dense`"),
        (lambda: layers.Dense(3)(tf.zeros([2, 2], tf.int32)), TypeError, "non-floating point dtype"),
        (lambda: layers.Dense(3, foo=1), TypeError, "foo"),
        (lambda: layers.Dense(3, activation="foo"), ValueError, "Unknown activation function: foo"),
        (lambda: layers.Dense(3, activation=3), TypeError, "Could not interpret activation function identifier: 3"),
        (lambda: layers.Dense(3, kernel_initializer="foo"), ValueError, "Unknown initializer: foo"),
        (lambda: layers.Dense(3, kernel_initializer=3.0), ValueError, "Could not interpret initializer identifier: 3.0"),
        (lambda: layers.Dense(3, kernel_regularizer="foo"), ValueError, "Unknown regularizer: foo"),
        (lambda: layers.Dense(3, bias_constraint="foo"), ValueError, "Unknown constraint: foo"),
        (lambda: layers.Activation("softmax")(x(3)), ValueError, "Cannot apply softmax to a tensor that is 1D"),
        (lambda: K.regularizers.l2("much"), ValueError, "must be a number. Received: 'much'"),
        (lambda: K.regularizers.Regularizer().get_config(), NotImplementedError, "no get_config"),
        (lambda: K.constraints.RadialConstraint()(x(3, 4, 1, 1)), ValueError, "[size, size, channels, filters]"),
        (lambda: layers.Dropout(1.5)(x(2, 3), training=True), ValueError, "range [0, 1)"),
        (lambda: layers.SpatialDropout2D(0.5)(x(2, 3)), ValueError, "expected ndim=4, found ndim=2"),
        (lambda: layers.Reshape((4, 5))(x(2, 3)), ValueError, "Total size of new array must be unchanged"),
        (lambda: layers.Reshape((-1, -1))(x(2, 3)), ValueError, "Can only specify one unknown dimension"),
        (lambda: layers.Permute((0, 1)), ValueError, "must be consecutive and start from 1"),
        (lambda: layers.Lambda(3), TypeError, "must be callable"),
        (lambda: layers.Conv2D(3, 3, data_format="NHWC"), ValueError, "channels_first"),
        (lambda: layers.Conv2D(3, 3, padding="causal"), ValueError, "Received: causal"),
        (lambda: layers.Conv2D(3, (3, 3, 3)), ValueError, "tuple of 2 integers"),
        (lambda: layers.Conv2D(3, 3, 2, dilation_rate=2), ValueError, "`strides > 1` not supported"),
        (lambda: layers.DepthwiseConv2D(3)(placeholder(1, 8, 8, None)), ValueError, "channel dimension"),
        (lambda: layers.Conv2DTranspose(3, 3, output_padding=1), ValueError, "greater than output padding"),
        (lambda: layers.Conv3DTranspose(3, 2, dilation_rate=2)(x(1, 4, 4, 4, 2)), ValueError, "dilation_rate above 1"),
        (lambda: layers.Cropping1D(4)(x(1, 8, 3)), ValueError, "leaves nothing of an axis of length 8"),
        (lambda: layers.ZeroPadding2D((1, 2, 3)), ValueError, "a tuple of 2 pairs of ints"),
        (lambda: layers.UpSampling2D(2, interpolation="cubic"), ValueError, "'cubic'"),
        (lambda: layers.MaxPooling2D()(x(1, 8, 8)), ValueError, "expected ndim=4"),
        (lambda: layers.Embedding(9, 4, input_length=4).compute_output_shape((2, 5)), ValueError, '"input_length" is 4'),
        (lambda: layers.LocallyConnected1D(2, 3, padding="same"), ValueError, 'implementation 1 supports only "valid"'),
        (lambda: layers.LocallyConnected1D(2, 3, implementation=4), ValueError, "Unrecognized implementation mode: 4"),
        (lambda: layers.LocallyConnected1D(2, 3)(placeholder(1, None, 3)), ValueError, "should be fully-defined"),
        (lambda: layers.LocallyConnected1D(2, 9)(x(1, 4, 3)), ValueError, "does not fit"),
        (lambda: layers.LayerNormalization(axis=3)(x(2, 3)), ValueError, "Invalid axis"),
        (lambda: layers.LayerNormalization(axis="last"), ValueError, "Expected an int or a list"),
        (lambda: layers.LayerNormalization()(placeholder(2, None)), ValueError, "undefined `axis` dimension"),
        (lambda: layers.BatchNormalization(fused=True)(x(2, 3)), ValueError, "rank 4"),
        (lambda: layers.PReLU()(placeholder(2, None)), ValueError, "needs the sizes of the axes"),
        (lambda: layers.ReLU(max_value=-1.0), ValueError, "cannot be negative value: -1.0"),
        (lambda: layers.Add()(x(2, 3)), ValueError, "should be called on a list of inputs"),
        (lambda: layers.Add()([x(2, 3)]), ValueError, "at least 2 inputs. Got 1 inputs"),
        (lambda: layers.Subtract()([x(2, 3)] * 3), ValueError, "exactly 2 inputs. Got 3 inputs"),
        (lambda: layers.Add()([x(2, 3), x(2, 4)]), ValueError, "could not be broadcast together"),
        (lambda: layers.Add()([x(2, 3), x(5, 3)]), ValueError, "different batch sizes"),
        (lambda: layers.Concatenate()([x(2, 3), x(5, 3)]), ValueError, "matching shapes except for the concat axis"),
        (lambda: layers.Dot("a"), TypeError, "Invalid type for `axes`"),
        (lambda: layers.Dot((1, 2, 3)), ValueError, "should contain two integers"),
        (lambda: layers.Dot(0)([x(2, 3), x(2, 3)]), ValueError, "axes other than the batch's"),
        (lambda: layers.Dot(1)([x(2, 3), x(2, 4)]), ValueError, "Dimension incompatibility 3 != 4"),
        (lambda: layers.Attention()(x(2, 3, 4)), ValueError, "must be called on a list of inputs"),
    ],
)  # fmt: skip
def test_errors(make, error, text) -> None:
    with pytest.raises(error, match=re.escape(text)):
        make()


def test_an_error_says_where_the_layer_was_called() -> None:
    with pytest.raises(ValueError, match=r"test_layers_errors\.py:\d+"):
        layers.Add()([x(2, 3), x(2, 4)])
