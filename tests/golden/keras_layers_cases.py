"""Keras's layers, made and called by real TensorFlow (make_keras_layers.py) and by Headrace (test_layers_keras.py).

A case is a function from ``tf.keras`` to a layer, the shapes of its inputs, and arguments of the call.  Weights get the numbers
of ``layers_cases.values``, so that both agree.
"""

import numpy as np
from golden.layers_cases import values

STEPS, IMAGE, VOLUME = (2, 7, 3), (2, 6, 5, 3), (1, 4, 5, 3, 2)
STEPS_FIRST, IMAGE_FIRST = (2, 3, 7), (2, 3, 6, 5)
FIRST = {"data_format": "channels_first"}


def case(make, *shapes, ids=None, **call):
    """``ids``: the inputs are integers below it."""
    return make, shapes, ids, call


CASES = {
    "dense": case(lambda K: K.layers.Dense(4, "tanh"), (3, 5)),
    "dense_rank3": case(lambda K: K.layers.Dense(4, use_bias=False, kernel_initializer="he_normal"), (3, 2, 5)),
    "dense_regularized": case(
        lambda K: K.layers.Dense(
            4, "relu", kernel_regularizer=K.regularizers.l1_l2(0.1, 0.2), bias_regularizer="l2",
            activity_regularizer=K.regularizers.l2(0.3), kernel_constraint="max_norm", bias_constraint="non_neg",
            bias_initializer=K.initializers.RandomNormal(stddev=0.1), name="named",
        ),
        (3, 5),
    ),
    "activation": case(lambda K: K.layers.Activation("softplus"), (3, 5)),
    "activation_softmax": case(lambda K: K.layers.Activation("softmax"), (3, 2, 5)),
    "activation_elu": case(lambda K: K.layers.Activation("elu"), (3, 5)),
    "activation_selu": case(lambda K: K.layers.Activation("selu"), (3, 5)),
    "activation_hard_sigmoid": case(lambda K: K.layers.Activation("hard_sigmoid"), (3, 5)),
    "activation_exponential": case(lambda K: K.layers.Activation("exponential"), (3, 5)),
    "activation_softsign": case(lambda K: K.layers.Activation("softsign"), (3, 5)),
    "activity_regularization": case(lambda K: K.layers.ActivityRegularization(0.1, 0.2), (3, 5)),
    "dropout": case(lambda K: K.layers.Dropout(0.4, noise_shape=(None, 1), seed=3), (3, 5), training=False),
    "spatial_dropout1d": case(lambda K: K.layers.SpatialDropout1D(0.4), STEPS),
    "flatten": case(lambda K: K.layers.Flatten(), IMAGE),
    "flatten_first": case(lambda K: K.layers.Flatten(**FIRST), IMAGE_FIRST),
    "reshape": case(lambda K: K.layers.Reshape((3, -1)), (2, 6, 2)),
    "permute": case(lambda K: K.layers.Permute((2, 3, 1)), IMAGE),
    "repeat_vector": case(lambda K: K.layers.RepeatVector(3), (2, 5)),
    "conv1d": case(lambda K: K.layers.Conv1D(4, 3, strides=2, padding="same", activation="relu"), STEPS),
    "conv1d_causal": case(lambda K: K.layers.Conv1D(4, 2, padding="causal", dilation_rate=2), STEPS),
    "conv2d": case(lambda K: K.layers.Conv2D(4, (3, 2), strides=(1, 2), activation="sigmoid"), IMAGE),
    "conv2d_dilated": case(lambda K: K.layers.Conv2D(4, 3, padding="same", dilation_rate=2, use_bias=False), IMAGE),
    "conv3d": case(lambda K: K.layers.Conv3D(3, 2, padding="same"), VOLUME),
    "conv2d_transpose": case(lambda K: K.layers.Conv2DTranspose(4, 3, strides=2, padding="same"), IMAGE),
    "conv2d_transpose_padded": case(
        lambda K: K.layers.Conv2DTranspose(4, 3, strides=(2, 3), output_padding=(1, 2)), IMAGE
    ),
    "conv2d_transpose_dilated": case(lambda K: K.layers.Conv2DTranspose(4, 3, dilation_rate=2, padding="same"), IMAGE),
    "conv3d_transpose": case(lambda K: K.layers.Conv3DTranspose(3, 2, strides=2), VOLUME),
    "separable_conv1d": case(lambda K: K.layers.SeparableConv1D(4, 3, depth_multiplier=2, padding="same"), STEPS),
    "separable_conv2d": case(lambda K: K.layers.SeparableConv2D(4, 3, strides=2, pointwise_regularizer="l2"), IMAGE),
    "depthwise_conv2d": case(lambda K: K.layers.DepthwiseConv2D(3, depth_multiplier=2, activation="relu"), IMAGE),
    "depthwise_conv2d_same": case(lambda K: K.layers.DepthwiseConv2D((2, 3), padding="same", use_bias=False), IMAGE),
    "cropping1d": case(lambda K: K.layers.Cropping1D((2, 1)), STEPS),
    "cropping2d": case(lambda K: K.layers.Cropping2D(((1, 0), (2, 1))), IMAGE),
    "cropping2d_first": case(lambda K: K.layers.Cropping2D((1, 2), **FIRST), IMAGE_FIRST),
    "cropping3d": case(lambda K: K.layers.Cropping3D(1), VOLUME),
    "zero_padding1d": case(lambda K: K.layers.ZeroPadding1D((2, 1)), STEPS),
    "zero_padding2d": case(lambda K: K.layers.ZeroPadding2D(((1, 0), (2, 1))), IMAGE),
    "zero_padding2d_first": case(lambda K: K.layers.ZeroPadding2D(2, **FIRST), IMAGE_FIRST),
    "zero_padding3d": case(lambda K: K.layers.ZeroPadding3D((0, 1, 2)), VOLUME),
    "up_sampling1d": case(lambda K: K.layers.UpSampling1D(3), STEPS),
    "up_sampling2d": case(lambda K: K.layers.UpSampling2D((2, 3)), IMAGE),
    "up_sampling2d_first": case(lambda K: K.layers.UpSampling2D(2, **FIRST), IMAGE_FIRST),
    "up_sampling2d_bilinear": case(lambda K: K.layers.UpSampling2D((2, 3), interpolation="bilinear"), IMAGE),
    "up_sampling3d": case(lambda K: K.layers.UpSampling3D((1, 2, 3)), VOLUME),
    "max_pooling1d": case(lambda K: K.layers.MaxPooling1D(3, 2, "same"), STEPS),
    "max_pooling2d": case(lambda K: K.layers.MaxPooling2D(), IMAGE),
    "max_pooling3d": case(lambda K: K.layers.MaxPooling3D(), VOLUME),
    "average_pooling1d": case(lambda K: K.layers.AveragePooling1D(), STEPS),
    "average_pooling2d": case(lambda K: K.layers.AveragePooling2D(3, strides=(1, 2), padding="same"), IMAGE),
    "average_pooling3d": case(lambda K: K.layers.AveragePooling3D((2, 1, 2)), VOLUME),
    "global_max_pooling1d": case(lambda K: K.layers.GlobalMaxPooling1D(), STEPS),
    "global_max_pooling2d": case(lambda K: K.layers.GlobalMaxPooling2D(**FIRST), IMAGE_FIRST),
    "global_max_pooling3d": case(lambda K: K.layers.GlobalMaxPooling3D(), VOLUME),
    "global_average_pooling1d": case(lambda K: K.layers.GlobalAveragePooling1D(), STEPS),
    "global_average_pooling1d_masked": case(
        lambda K: K.layers.GlobalAveragePooling1D(), STEPS, mask=[[True] * 4 + [False] * 3, [False] * 2 + [True] * 5]
    ),
    "global_average_pooling2d": case(lambda K: K.layers.GlobalAveragePooling2D(), IMAGE),
    "global_average_pooling3d": case(lambda K: K.layers.GlobalAveragePooling3D(), VOLUME),
    "embedding": case(lambda K: K.layers.Embedding(9, 4, mask_zero=True), (3, 5), ids=9),
    "embedding_length": case(
        lambda K: K.layers.Embedding(9, 4, input_length=5, embeddings_regularizer="l2"), (3, 5), ids=9
    ),
    "locally_connected1d": case(lambda K: K.layers.LocallyConnected1D(2, 3, strides=2), STEPS),
    "locally_connected1d_first": case(lambda K: K.layers.LocallyConnected1D(2, 3, **FIRST), STEPS_FIRST),
    "locally_connected1d_matrix": case(
        lambda K: K.layers.LocallyConnected1D(2, 3, padding="same", implementation=2), STEPS
    ),
    "locally_connected1d_sparse": case(
        lambda K: K.layers.LocallyConnected1D(2, 3, padding="same", implementation=3), STEPS
    ),
    "locally_connected2d": case(lambda K: K.layers.LocallyConnected2D(2, (3, 2), activation="relu"), IMAGE),
    "locally_connected2d_first": case(lambda K: K.layers.LocallyConnected2D(2, 3, use_bias=False, **FIRST), IMAGE_FIRST),
    "locally_connected2d_matrix": case(
        lambda K: K.layers.LocallyConnected2D(2, 2, strides=2, padding="same", implementation=2, **FIRST), IMAGE_FIRST
    ),
    "locally_connected2d_sparse": case(lambda K: K.layers.LocallyConnected2D(2, 2, implementation=3), IMAGE),
    "batch_normalization": case(lambda K: K.layers.BatchNormalization(), (4, 3), training=False),
    "batch_normalization_trains": case(lambda K: K.layers.BatchNormalization(momentum=0.8), (4, 3), training=True),
    "batch_normalization_fused": case(lambda K: K.layers.BatchNormalization(), IMAGE, training=True),
    "batch_normalization_axis": case(
        lambda K: K.layers.BatchNormalization(axis=1, scale=False, epsilon=0.1), STEPS, training=True
    ),
    "batch_normalization_frozen": case(lambda K: K.layers.BatchNormalization(trainable=False), (4, 3), training=True),
    "layer_normalization": case(lambda K: K.layers.LayerNormalization(), STEPS),
    "layer_normalization_axes": case(lambda K: K.layers.LayerNormalization(axis=[1, 2], center=False), IMAGE),
    "add": case(lambda K: K.layers.Add(), (3, 5), (3, 5), (3, 5)),
    "add_broadcast": case(lambda K: K.layers.Add(), (3, 4, 5), (3, 5)),
    "subtract": case(lambda K: K.layers.Subtract(), (3, 5), (3, 1)),
    "multiply": case(lambda K: K.layers.Multiply(), (3, 5), (3, 5)),
    "average": case(lambda K: K.layers.Average(), (3, 5), (3, 5), (3, 5)),
    "maximum": case(lambda K: K.layers.Maximum(), (3, 5), (3, 5)),
    "minimum": case(lambda K: K.layers.Minimum(), (3, 5), (3, 5)),
    "concatenate": case(lambda K: K.layers.Concatenate(axis=1), (3, 2, 5), (3, 4, 5)),
    "dot": case(lambda K: K.layers.Dot(1), (3, 5), (3, 5)),
    "dot_normalized": case(lambda K: K.layers.Dot((2, 1), normalize=True), (3, 4, 5), (3, 5, 2)),
    "dot_rank4": case(lambda K: K.layers.Dot((3, -1)), (3, 2, 4, 5), (3, 5)),
    "gaussian_noise": case(lambda K: K.layers.GaussianNoise(0.4), (3, 5), training=False),
    "gaussian_dropout": case(lambda K: K.layers.GaussianDropout(0.4), (3, 5), training=False),
    "alpha_dropout": case(lambda K: K.layers.AlphaDropout(0.4), (3, 5), training=False),
    "leaky_relu": case(lambda K: K.layers.LeakyReLU(), (3, 5)),
    "prelu": case(lambda K: K.layers.PReLU(shared_axes=[1, 2]), IMAGE),
    "elu": case(lambda K: K.layers.ELU(0.7), (3, 5)),
    "thresholded_relu": case(lambda K: K.layers.ThresholdedReLU(0.3), (3, 5)),
    "softmax": case(lambda K: K.layers.Softmax(axis=1), (3, 4, 5)),
    "relu": case(lambda K: K.layers.ReLU(0.8, 0.1, 0.2), (3, 5)),
    "relu_plain": case(lambda K: K.layers.ReLU(max_value=6), (3, 5)),
    "attention": case(lambda K: K.layers.Attention(use_scale=True), (2, 4, 3), (2, 5, 3)),
    "attention_masked": case(
        lambda K: K.layers.Attention(), (2, 3, 3), (2, 4, 3), (2, 4, 3),
        mask=[[[True, True, False]] * 2, [[True, False, True, True], [True, True, False, False]]],
    ),
    "attention_causal": case(lambda K: K.layers.Attention(causal=True), (2, 4, 3), (2, 4, 3)),
    "additive_attention": case(lambda K: K.layers.AdditiveAttention(), (2, 4, 3), (2, 5, 3)),
    "masking": case(lambda K: K.layers.Masking(0.5), STEPS),
}  # fmt: skip

# Functions of a tensor of rank 2 or, if their name says so, of the kernel of a convolution.
FUNCTIONS = {
    "max_norm": lambda K: K.constraints.MaxNorm(0.8),
    "max_norm_axis": lambda K: K.constraints.get({"class_name": "MaxNorm", "config": {"max_value": 1, "axis": 1}}),
    "max_norm_kernel": lambda K: K.constraints.max_norm(1.5, axis=[0, 1, 2]),
    "non_neg": lambda K: K.constraints.get("non_neg"),
    "unit_norm": lambda K: K.constraints.get("unit_norm"),
    "min_max_norm": lambda K: K.constraints.MinMaxNorm(0.5, 0.9, rate=0.7, axis=1),
    "radial_odd_kernel": lambda K: K.constraints.get("radial_constraint"),
    "l1": lambda K: K.regularizers.l1(0.3),
    "l2": lambda K: K.regularizers.get("l2"),
    "l1_l2": lambda K: K.regularizers.l1_l2(),
    "elu": lambda K: lambda x: K.activations.elu(x, 0.5),
    "relu": lambda K: lambda x: K.activations.relu(x, 0.1, 0.7, 0.2),
    "relu_max": lambda K: lambda x: K.activations.relu(x, max_value=0.5),
    "relu_slope": lambda K: lambda x: K.activations.relu(x, alpha=0.5),
    "relu_threshold": lambda K: lambda x: K.activations.relu(x, threshold=0.5),
    "softmax_axis": lambda K: lambda x: K.activations.softmax(x, axis=0),
    "hard_sigmoid": lambda K: lambda x: K.activations.hard_sigmoid(x * 5.0),
    "tanh": lambda K: K.activations.get("tanh"),
    "sigmoid": lambda K: K.activations.deserialize("sigmoid"),
    "linear": lambda K: K.activations.get(None),
    "zeros": lambda K: lambda x: K.initializers.get("zeros")([2, 3]) + x[0, 0],
    "ones": lambda K: lambda x: K.initializers.get("ones")([2, 3]) * x[0, 0],
    "constant": lambda K: lambda x: K.initializers.Constant(0.3)([2, 3]) * x[0, 0],
    "identity": lambda K: lambda x: K.initializers.Identity(0.3)([3, 3]) * x[0, 0],
}


def run_function(tf, session, name, make):
    """The result of a function, and the gradient of its sum."""
    size = 5 if "odd" in name else 4
    x = tf.constant(values([size, size, 2, 3] if "kernel" in name else [4, 6], 1.1))
    y = make(tf.keras)(x)
    if "radial" in name:  # of which TensorFlow has no gradient
        return session.run([y])
    return session.run([y, tf.gradients(tf.reduce_sum(y), x)[0]])


def inputs(tf, shapes, ids):
    """Tensors to call a layer with."""
    if ids:
        return [tf.constant(np.arange(np.prod(s)).reshape(s) * 5 % ids, tf.int32) for s in shapes]
    return [tf.constant(values(s, 0.5 * i)) for i, s in enumerate(shapes)]


def weight(variable, place):
    """The numbers of a weight; variances are positive."""
    numbers = values(variable.shape.as_list(), 0.9 + place)
    return np.abs(numbers) + 0.5 if "variance" in variable.name else numbers


def as_masks(tf, mask):
    if isinstance(mask[0][0], list):
        return [tf.constant(m) for m in mask]
    return tf.constant(mask)


def run_case(tf, session, make, shapes, ids, call):
    """The numbers of a case, and its facts as plain data."""
    layer = make(tf.keras)
    xs = inputs(tf, shapes, ids)
    call = {k: as_masks(tf, v) if k == "mask" else v for k, v in call.items()}
    y = layer(xs if len(xs) > 1 else xs[0], **call)
    session.run([v.initializer for v in layer.weights])
    for place, variable in enumerate(layer.weights):
        variable.load(weight(variable, place), session)
    sources = [*layer.trainable_weights, *([] if ids else xs)]
    gradients = tf.gradients(tf.reduce_sum(y * tf.constant(values(y.shape.as_list(), 2.0))), sources)
    dense = [None if g is None else tf.convert_to_tensor(g) for g in gradients]
    sums = [tf.reduce_sum(g * tf.constant(values(g.shape.as_list(), 0.1))) for g in dense if g is not None]
    losses = [tf.cast(loss, tf.float32) for loss in layer.losses]
    arrays = session.run([y, tf.stack([*sums, tf.constant(0.0)]), tf.stack([*losses, tf.constant(0.0)])])
    if layer.updates:
        session.run(layer.updates)
        arrays += session.run(layer.non_trainable_weights)
    shapes_given = [tuple(s) for s in shapes]
    computed = layer.compute_output_shape(shapes_given if len(shapes) > 1 else shapes_given[0])
    facts = {
        "name": layer.name,
        "weights": {v.name: v.shape.as_list() for v in layer.weights},
        "trainable": [v.name for v in layer.trainable_weights],
        "computed": tf.TensorShape(computed).as_list(),
        "updates": len(layer.updates),
        "losses": len(losses),
        "masking": bool(layer.supports_masking),
        "config": layer.get_config(),
    }
    return arrays, facts
