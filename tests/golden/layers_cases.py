"""Programs of layers, run by real TensorFlow (make_layers.py) and by Headrace (tests/library/layers/test_layers_golden.py).

Each takes the library and its layers and gives the tensors to compare.  Weights come from ``fixed``, so that both agree.
"""

import numpy as np


def values(shape, phase=0.0, dtype=np.float32):
    """Numbers of [-1, 1] without pattern, the same everywhere."""
    count = int(np.prod(shape))
    return np.sin(np.arange(count) * 1.7 + phase + 0.3).reshape(shape).astype(dtype)


def fixed(shape, dtype=None, partition_info=None):
    """An initializer."""
    import sys

    library = sys.modules.get("headrace") or sys.modules["tensorflow.compat.v1"]
    return library.constant(values([int(d) for d in shape], 0.9), dtype=dtype)


def trained(tf, output):
    """An output, and the gradients of the sum of its squares in all variables."""
    loss = tf.reduce_sum(output * output) + sum(tf.get_collection("regularization_losses"), tf.constant(0.0))
    return [output, *tf.gradients(loss, tf.trainable_variables())]


def _image(tf, channels=3, size=6):
    return tf.constant(values([2, size, size, channels]))


CASES = {
    "dense": lambda tf, L: trained(
        tf, L.dense(tf.constant(values([4, 3])), 5, activation=tf.nn.tanh, bias_initializer=fixed)
    ),
    "dense_rank3": lambda tf, L: trained(tf, L.dense(tf.constant(values([2, 4, 3])), 5, use_bias=False)),
    "dense_regularized": lambda tf, L: trained(
        tf,
        L.dense(
            tf.constant(values([4, 3])),
            2,
            kernel_regularizer=lambda w: tf.reduce_sum(w * w),
            bias_regularizer=lambda w: tf.reduce_sum(tf.abs(w)),
            activity_regularizer=lambda y: tf.reduce_sum(y),
        ),
    ),
    "dense_reuse": lambda tf, L: trained(
        tf,
        L.dense(L.dense(tf.constant(values([4, 3])), 3, name="d"), 3, name="d", reuse=True),
    ),
    "conv1d": lambda tf, L: trained(tf, L.conv1d(tf.constant(values([2, 9, 3])), 4, 3, strides=2, padding="same")),
    "conv1d_causal": lambda tf, L: trained(
        tf, L.conv1d(tf.constant(values([2, 9, 3])), 4, 3, padding="causal", dilation_rate=2)
    ),
    "conv2d": lambda tf, L: trained(tf, L.conv2d(_image(tf), 4, 3, activation=tf.nn.relu)),
    "conv2d_same": lambda tf, L: trained(tf, L.conv2d(_image(tf), 4, (3, 2), strides=(2, 1), padding="SAME")),
    "conv2d_dilated": lambda tf, L: trained(tf, L.conv2d(_image(tf), 4, 3, dilation_rate=2, padding="same")),
    "conv3d": lambda tf, L: trained(tf, L.conv3d(tf.constant(values([2, 4, 4, 4, 2])), 3, 2, strides=2)),
    "conv2d_transpose": lambda tf, L: trained(
        tf, L.conv2d_transpose(_image(tf, 3, 4), 2, 3, strides=2, padding="same")
    ),
    "conv2d_transpose_valid": lambda tf, L: trained(tf, L.conv2d_transpose(_image(tf, 3, 4), 2, 3, strides=2)),
    "conv3d_transpose": lambda tf, L: trained(
        tf, L.conv3d_transpose(tf.constant(values([1, 3, 3, 3, 2])), 2, 3, strides=2, padding="same")
    ),
    "separable_conv1d": lambda tf, L: trained(
        tf, L.separable_conv1d(tf.constant(values([2, 9, 3])), 4, 3, padding="same", depth_multiplier=2)
    ),
    "separable_conv2d": lambda tf, L: trained(tf, L.separable_conv2d(_image(tf), 4, 3, strides=2, depth_multiplier=2)),
    "max_pooling1d": lambda tf, L: [L.max_pooling1d(tf.constant(values([2, 9, 3])), 3, 2, padding="same")],
    "max_pooling2d": lambda tf, L: [L.max_pooling2d(_image(tf), 2, 2)],
    "max_pooling3d": lambda tf, L: [L.max_pooling3d(tf.constant(values([2, 4, 4, 4, 2])), 2, 2)],
    "average_pooling1d": lambda tf, L: [L.average_pooling1d(tf.constant(values([2, 9, 3])), 3, 2)],
    "average_pooling2d": lambda tf, L: [L.average_pooling2d(_image(tf), (3, 2), (2, 2), padding="same")],
    "average_pooling3d": lambda tf, L: [L.average_pooling3d(tf.constant(values([2, 4, 4, 4, 2])), 2, 1)],
    "flatten": lambda tf, L: [L.flatten(_image(tf))],
    "flatten_channels_first": lambda tf, L: [L.flatten(_image(tf), data_format="channels_first")],
    "dropout_off": lambda tf, L: [L.dropout(_image(tf), training=False)],
    "lenet": lambda tf, L: _lenet(tf, L),
    "scopes": lambda tf, L: _scopes(tf, L),
}


def _lenet(tf, L):
    x = _image(tf, 1, 8)
    x = L.max_pooling2d(L.conv2d(x, 4, 3, padding="same", activation=tf.nn.relu), 2, 2)
    x = L.max_pooling2d(L.conv2d(x, 6, 3, padding="same", activation=tf.nn.relu), 2, 2)
    x = L.dense(L.flatten(x), 8, activation=tf.nn.relu)
    return trained(tf, L.dense(L.dropout(x, 0.4), 3))


def _scopes(tf, L):
    x = tf.constant(values([4, 3]))
    with tf.variable_scope("outer") as scope:
        a = L.dense(x, 3)
        b = L.dense(a, 3)
    with tf.variable_scope(scope, reuse=True):
        c = L.dense(b, 3)
    with tf.variable_scope("outer", reuse=tf.AUTO_REUSE):
        d = L.dense(c, 3)
        e = L.dense(d, 3, name="named")
    with tf.name_scope("names"):
        f = L.dense(e, 2)
    layer = L.Dense(2, name="kept")
    return trained(tf, layer(layer(f)))


def variable_names(tf):
    return [v.name for v in tf.global_variables()]


def node_names(tf):
    """The nodes in the layers' own scopes; how a composite op is made of smaller ones is not compared."""
    skip = ("Initializer", "Tensordot", "gradients", "Const", "zeros", "shape", "stack", "slice", "dilation", "/Shape")
    skip += ("mul", "SpaceToBatchND", "BatchToSpaceND", "required_space", "Pad", "add", "dim", "AddN")
    names = [op.name for op in tf.get_default_graph().get_operations()]
    return sorted(n for n in names if "/" in n and not any(s in n for s in skip))
