"""The layers that the models share: dense, convolution, pooling, batch and layer normalisation.

Each makes its variables under a scope of its own: `<name>/kernel`, `<name>/bias` ... Pictures are `[batch, height, width,
channels]`. Every initial value is drawn in the graph; `Model.initialize` gives reproducible ones instead.

The networks for pictures take these functions as an argument, so that another framework's can take their place.
"""

import headrace as tf


def kernel(shape):
    """The weights of the enclosing scope."""
    return tf.get_variable("kernel", shape, tf.float32, tf.variance_scaling_initializer(2.0))


def bias(size):
    """The biases of the enclosing scope."""
    return tf.get_variable("bias", [size], tf.float32, tf.zeros_initializer())


def table(name, rows, width):
    """A matrix whose rows are looked up by number."""
    with tf.variable_scope(name):
        return tf.get_variable("table", [rows, width], tf.float32, tf.random_uniform_initializer(-0.05, 0.05))


def dense(x, name, units, rectify=False):
    """`x @ kernel + bias` for a matrix, then perhaps a rectifier."""
    with tf.variable_scope(name):
        y = tf.nn.bias_add(tf.matmul(x, kernel([x.shape.as_list()[-1], units])), bias(units))
        return tf.nn.relu(y) if rectify else y


def convolution(x, name, filters, size, stride=1, padding="SAME"):
    """A convolution with bias and rectifier; `size` is one number or (height, width), `padding` a word or a number of pixels."""
    with tf.variable_scope(name):
        return tf.nn.relu(tf.nn.bias_add(_convolve(x, filters, size, stride, padding), bias(filters)))


def normalized_convolution(x, name, filters, size, stride=1, padding="SAME"):
    """A convolution with batch normalisation (no scale) and rectifier."""
    with tf.variable_scope(name):
        return tf.nn.relu(_normalize(_convolve(x, filters, size, stride, padding), filters))


def max_pool(x, size, stride, padding="VALID"):
    """The greatest value of every window."""
    return tf.nn.max_pool(x, [1, size, size, 1], [1, stride, stride, 1], padding)


def average_pool(x, size, stride, padding="VALID"):
    """The mean of every window."""
    return tf.nn.avg_pool(x, [1, size, size, 1], [1, stride, stride, 1], padding)


def concat(branches):
    """The channels of all, one after the other."""
    return tf.concat(branches, 3)


def mean_of_picture(x):
    """The mean of every channel."""
    return tf.reduce_mean(x, [1, 2])


def flatten(x):
    """One row for every example."""
    _, height, width, channels = x.shape.as_list()
    return tf.reshape(x, [-1, height * width * channels])


def layer_normalization(x, name, epsilon=1e-5):
    """Every row with mean 0 and variance 1, scaled and shifted."""
    with tf.variable_scope(name):
        width = x.shape.as_list()[-1]
        gamma = tf.get_variable("gamma", [width], tf.float32, tf.ones_initializer())
        beta = tf.get_variable("beta", [width], tf.float32, tf.zeros_initializer())
        mean, variance = tf.nn.moments(x, [-1], keep_dims=True)
        return tf.nn.batch_normalization(x, mean, variance, beta, gamma, epsilon)


def _convolve(x, filters, size, stride, padding):
    height, width = size if isinstance(size, tuple) else (size, size)
    weights = kernel([height, width, x.shape.as_list()[-1], filters])
    if isinstance(padding, int):
        padding = [[0, 0], [padding, padding], [padding, padding], [0, 0]]
    return tf.nn.conv2d(x, weights, strides=[1, stride, stride, 1], padding=padding)


MOMENTUM = 0.9997
EPSILON = 1e-3


def _normalize(x, channels):
    gamma = tf.ones([channels])
    beta = tf.get_variable("beta", [channels], tf.float32, tf.zeros_initializer())
    mean = tf.get_variable("moving_mean", [channels], tf.float32, tf.zeros_initializer(), trainable=False)
    variance = tf.get_variable("moving_variance", [channels], tf.float32, tf.ones_initializer(), trainable=False)
    y, batch_mean, batch_variance = tf.nn.fused_batch_norm(x, gamma, beta, epsilon=EPSILON)
    for moving, new in ((mean, batch_mean), (variance, batch_variance)):
        tf.add_to_collection(tf.GraphKeys.UPDATE_OPS, tf.assign_sub(moving, (moving - new) * (1.0 - MOMENTUM)))
    return y
