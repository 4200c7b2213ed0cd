"""Calls of tf.keras.backend, each by name: a function of ``tf``, ``K`` and arrays that gives a tensor or several."""

import numpy as np


def numbers(*shape):
    """The same numbers everywhere, of both signs."""
    count = int(np.prod(shape))
    return (((np.arange(count) * 7919) % 97) / 24.25 - 2.0).reshape(shape).astype(np.float32)


A, B, V = numbers(3, 4), numbers(4, 2), numbers(5)
CUBE, IMAGE, VOLUME = numbers(2, 3, 4), numbers(2, 6, 6, 3), numbers(2, 4, 4, 4, 2)
FLAGS = A > 0

CASES = {
    "abs": lambda tf, K: K.abs(A),
    "all": lambda tf, K: [K.all(FLAGS), K.all(FLAGS, axis=1, keepdims=True)],
    "any": lambda tf, K: [K.any(FLAGS), K.any(A, axis=-1)],
    "arange": lambda tf, K: [K.arange(5), K.arange(2, 9, 3), K.arange(-1), K.arange(4, dtype="float32")],
    "argmax": lambda tf, K: [K.argmax(A), K.argmax(A, axis=0), K.argmin(A), K.argmin(A, axis=0)],
    "batch_dot": lambda tf, K: [
        K.batch_dot(K.constant(A), K.constant(A)), K.batch_dot(K.constant(CUBE), K.constant(CUBE), axes=2),
        K.batch_dot(K.constant(CUBE), K.constant(CUBE), axes=(1, 1)),
        K.batch_dot(K.constant(numbers(2, 4)), K.constant(numbers(2, 3, 4)), axes=(1, 2)),
        K.batch_dot(K.constant(numbers(2, 3, 4)), K.constant(numbers(2, 4)), axes=(2, 1)),
        K.batch_dot(K.constant(numbers(2, 3, 4, 5)), K.constant(numbers(2, 5, 6)), axes=(3, 1)),
        K.batch_dot(K.constant(CUBE), K.constant(numbers(2, 4, 5))),
    ],
    "batch_flatten": lambda tf, K: K.batch_flatten(CUBE),
    "batch_normalization": lambda tf, K: [
        K.batch_normalization(K.constant(A), K.constant(A[0]), K.constant(A[1] ** 2), None, None),
        K.batch_normalization(
            K.constant(IMAGE), K.constant(V[:3]), K.constant(V[:3] ** 2), K.constant(V[1:4]), K.constant(V[2:5])
        ),
    ],
    "bias_add": lambda tf, K: [
        K.bias_add(K.constant(A), K.constant(A[0])), K.bias_add(K.constant(IMAGE), K.constant(V[:3])),
        K.bias_add(K.constant(CUBE), K.constant(A)),
    ],
    "cast": lambda tf, K: K.cast(K.constant(A), "int32"),
    "clip": lambda tf, K: [K.clip(K.constant(A), -1.0, 1.0), K.clip(K.constant(A), 0.5, None), K.clip(K.constant(A), 1, -1)
    ],
    "compare": lambda tf, K: [
        K.equal(A, A), K.not_equal(A, 0.0), K.greater(A, 0.0), K.greater_equal(A, 0.5), K.less(A, 0.0), K.less_equal(A, 0.5)
    ],
    "concatenate": lambda tf, K: [K.concatenate([K.constant(A), K.constant(A)]), K.concatenate([K.constant(A)] * 2, axis=0)],
    "conv1d": lambda tf, K: [
        K.conv1d(K.constant(CUBE), K.constant(numbers(2, 4, 3)), padding=p, dilation_rate=d)
        for p, d in (("valid", 1), ("same", 1), ("causal", 2))
    ],
    "conv2d": lambda tf, K: [
        K.conv2d(K.constant(IMAGE), K.constant(numbers(3, 3, 3, 2)), strides=(2, 2), padding="same"),
        K.conv2d(K.constant(IMAGE), K.constant(numbers(2, 2, 3, 2)), dilation_rate=(2, 2)),
    ],
    "conv2d_transpose": lambda tf, K: K.conv2d_transpose(
        K.constant(IMAGE), K.constant(numbers(3, 3, 2, 3)), (None, 12, 12, 2), strides=(2, 2), padding="same"
    ),
    "conv3d": lambda tf, K: K.conv3d(K.constant(VOLUME), K.constant(numbers(2, 2, 2, 2, 3)), strides=(2, 2, 2)),
    "count_params": lambda tf, K: tf.constant(int(K.count_params(K.constant(A)))),
    "ctc": lambda tf, K: [
        K.ctc_batch_cost(
            tf.constant([[0, 1], [2, 0]]), K.softmax(K.constant(numbers(2, 6, 4))),
            tf.constant([[6], [5]]), tf.constant([[2], [1]])
        ),
        K.ctc_decode(K.softmax(K.constant(numbers(2, 6, 4))), tf.constant([6, 5]))[0][0][:, :5],
        # The width differs between versions.
        K.ctc_decode(K.softmax(K.constant(numbers(2, 6, 4))), tf.constant([6, 5]), False, beam_width=5)[0][0][:, :4],
    ],
    "cumulative": lambda tf, K: [K.cumsum(A), K.cumsum(A, axis=1), K.cumprod(A), K.cumprod(A, axis=1)],
    "depthwise_conv2d": lambda tf, K: K.depthwise_conv2d(K.constant(IMAGE), K.constant(numbers(3, 3, 3, 2)), padding="same"),
    "dot": lambda tf, K: [
        K.dot(K.constant(A), K.constant(B)), K.dot(K.constant(CUBE), K.constant(B)),
        K.dot(K.constant(A), K.constant(numbers(2, 4, 3))),
    ],
    "elu": lambda tf, K: [K.elu(K.constant(A)), K.elu(K.constant(A), 0.5)],
    "exp": lambda tf, K: [K.exp(A), K.log(K.exp(A)), K.sqrt(K.constant(A)), K.square(A), K.round(A), K.sign(A), K.pow(A, 3)],
    "expand_dims": lambda tf, K: [K.expand_dims(A), K.expand_dims(A, 1), K.squeeze(K.expand_dims(A), 2)],
    "eye": lambda tf, K: [K.eye(3), K.ones((2, 2)), K.zeros((2,)), K.ones_like(K.constant(A)), K.zeros_like(K.constant(A))],
    "flatten": lambda tf, K: K.flatten(CUBE),
    "fold": lambda tf, K: [
        K.foldl(lambda a, x: a - x, K.constant(V)), K.foldr(lambda a, x: a - x, K.constant(V)),
        K.map_fn(lambda x: x * 2, K.constant(V)),
    ],
    "gather": lambda tf, K: K.gather(K.constant(A), [2, 0]),
    "gradients": lambda tf, K: (lambda x: K.gradients(K.sum(K.square(x)), [x]))(K.constant(A)),
    "hard_sigmoid": lambda tf, K: K.hard_sigmoid(K.constant(A * 2)),
    "in_top_k": lambda tf, K: K.in_top_k(K.constant(A), tf.constant([0, 1, 2]), 2),
    "l2_normalize": lambda tf, K: [K.l2_normalize(K.constant(A)), K.l2_normalize(K.constant(A), axis=1)],
    "local_conv": lambda tf, K: [
        K.local_conv1d(K.constant(CUBE), K.constant(numbers(2, 8, 3)), (2,), (1,)),
        K.local_conv2d(K.constant(IMAGE), K.constant(numbers(9, 12, 4)), (2, 2), (2, 2), (3, 3)),
        K.local_conv2d(K.constant(numbers(2, 3, 6, 6)), K.constant(numbers(10, 12, 4)), (2, 2), (4, 1), (2, 5), "channels_first"),
    ],
    "maximum": lambda tf, K: [K.maximum(A, 0.5), K.minimum(A, 0.5)],
    "normalize_batch": lambda tf, K: [
        *K.normalize_batch_in_training(K.constant(A), K.constant(A[0]), K.constant(A[1]), [0]),
        *K.normalize_batch_in_training(K.constant(IMAGE), K.constant(V[:3]), K.constant(V[1:4]), [0, 1, 2]),
        *K.normalize_batch_in_training(K.constant(CUBE), K.constant(V[:3]), K.constant(V[1:4]), [0, 2]),
    ],
    "one_hot": lambda tf, K: K.one_hot(tf.constant([[0, 2], [1, 5]]), 3),
    "padding": lambda tf, K: [
        K.temporal_padding(CUBE, (1, 2)), K.spatial_2d_padding(IMAGE, ((0, 1), (2, 0))),
        K.spatial_2d_padding(IMAGE, data_format="channels_first"), K.spatial_3d_padding(VOLUME),
    ],
    "permute": lambda tf, K: [K.permute_dimensions(CUBE, (2, 0, 1)), K.transpose(CUBE)],
    "pool": lambda tf, K: [
        K.pool2d(K.constant(IMAGE), (2, 2), (2, 2)), K.pool2d(K.constant(IMAGE), (3, 3), (2, 2), "same", pool_mode="avg"),
        K.pool3d(K.constant(VOLUME), (2, 2, 2), (2, 2, 2)), K.pool3d(K.constant(VOLUME), (2, 2, 2), pool_mode="avg"),
    ],
    "reductions": lambda tf, K: [
        f(K.constant(A), axis=axis, keepdims=keep)
        for f in (K.sum, K.prod, K.mean, K.max, K.min, K.var, K.std) for axis, keep in ((None, False), (0, False), (-1, True))
    ],
    "mean_of_bool": lambda tf, K: K.mean(tf.constant(FLAGS)),
    "relu": lambda tf, K: [
        K.relu(K.constant(A)), K.relu(K.constant(A), 0.1), K.relu(K.constant(A), max_value=1.0),
        K.relu(K.constant(A), threshold=0.5), K.relu(K.constant(A), 0.2, 1.0, 0.5), K.relu(K.constant(A * 4), max_value=6.0),
    ],
    "repeat": lambda tf, K: [
        K.repeat(K.constant(A), 2), K.repeat_elements(K.constant(A), 3, 1), K.repeat_elements(K.constant(A), 2, 0)
    ],
    "reshape": lambda tf, K: [
        K.reshape(A, (2, 6)), K.reverse(K.constant(A), 1), K.reverse(K.constant(A), [0, 1]), K.tile(A, [1, 2])
    ],
    "resize_images": lambda tf, K: [
        K.resize_images(K.constant(IMAGE), 2, 3, "channels_last"),
        K.resize_images(K.constant(IMAGE), 2, 2, "channels_last", "bilinear"),
        K.resize_images(K.constant(IMAGE), 2, 1, "channels_first"),
    ],
    "resize_volumes": lambda tf, K: [
        K.resize_volumes(K.constant(VOLUME), 2, 1, 2, "channels_last"),
        K.resize_volumes(K.constant(VOLUME), 1, 2, 1, "channels_first")
    ],
    "separable_conv2d": lambda tf, K: K.separable_conv2d(
        K.constant(IMAGE), K.constant(numbers(2, 2, 3, 2)), K.constant(numbers(1, 1, 6, 4)), strides=(2, 2)
    ),
    "shape": lambda tf, K: [K.shape(A), K.stack([K.constant(A), K.constant(A)], axis=1)],
    "sigmoid": lambda tf, K: [K.sigmoid(A), K.tanh(A), K.softplus(A), K.softsign(A), K.sin(A), K.cos(A)],
    "softmax": lambda tf, K: [K.softmax(K.constant(A)), K.softmax(K.constant(A), axis=0)],
    "switch": lambda tf, K: [
        K.switch(tf.constant(True), lambda: K.constant(A), lambda: K.constant(-A)),
        K.switch(tf.constant(FLAGS), K.constant(A), K.constant(-A)),
        K.switch(tf.constant([[True], [False], [True]]), K.constant(A), K.constant(-A)),
        K.switch(tf.constant(0.0), K.constant(A), K.constant(-A)),
    ],
    "phases": lambda tf, K: [
        K.in_train_phase(K.constant(A), K.constant(-A), training=t) for t in (1, 0, True, tf.constant(False), None)
    ] + [K.in_test_phase(K.constant(A), K.constant(-A), training=1)],
    "variables": lambda tf, K: [
        K.update_add(K.variable(A), A), K.update_sub(K.variable(A), A), K.update(K.variable(A), A * 2),
        K.constant(K.get_value(K.variable(A, name="v"))), K.to_dense(K.constant(A)),
    ],
}  # fmt: skip


def mistakes(tf, K):
    """The classes of the errors of wrong calls."""

    def error(attempt):
        try:
            attempt()
        except Exception as e:
            return type(e).__name__
        return "none"

    return [
        error(lambda: K.set_floatx("int8")), error(lambda: K.set_image_data_format("other")),
        error(lambda: K.set_learning_phase(3)), error(lambda: K.is_keras_tensor(3)),
        error(lambda: K.batch_dot(K.constant(V), K.constant(V))),
        error(lambda: K.batch_dot(K.constant(A), K.constant(B))),
        error(lambda: K.batch_dot(K.constant(A), K.constant(A), axes=0)),
        error(lambda: K.pool2d(K.constant(IMAGE), (2, 2), pool_mode="other")),
        error(lambda: K.conv2d(K.constant(IMAGE), K.constant(numbers(1, 1, 3, 3)), padding="other")),
        error(lambda: K.spatial_2d_padding(IMAGE, data_format="other")),
        error(lambda: K.resize_volumes(K.constant(VOLUME), 1, 1, 1, "other")),
        error(lambda: K.bias_add(K.constant(CUBE), K.constant(numbers(2, 3, 4)))),
        error(lambda: K.switch(tf.constant(numbers(2, 2, 2) > 0), K.constant(A), K.constant(A))),
        error(lambda: K.function([K.placeholder((1,))], [], updates=3)),
    ]  # fmt: skip
