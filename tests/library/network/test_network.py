"""tf.nn beyond what the golden results show: names, static shapes, errors, randomness."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import headrace as tf


def ph(*shape: int | None, dtype: Any = tf.float32, name: str = "x") -> Any:
    return tf.placeholder(dtype, shape, name=name)


def run(*fetches: Any, feed: Any = None) -> Any:
    with tf.Session() as session:
        found = session.run(list(fetches), feed)
    return found[0] if len(fetches) == 1 else found


def names(graph: Any) -> list[str]:
    return [op.name for op in graph.get_operations() if op.type != "Placeholder"]


# ---- names

X4, X3, X2, F4 = (2, 6, 6, 4), (2, 6, 4), (None, 5), (3, 3, 4, 2)
NAMES: dict[str, tuple[Callable[[], Any], list[str]]] = {
    "relu": (lambda: tf.nn.relu(ph(*X2)), ["Relu"]),
    "relu6": (lambda: tf.nn.relu6(ph(*X2)), ["Relu6"]),
    "leaky_relu": (lambda: tf.nn.leaky_relu(ph(*X2)), ["LeakyRelu"]),
    "crelu": (lambda: tf.nn.crelu(ph(*X2)), ["CRelu/Neg", "CRelu/axis", "CRelu", "CRelu/Relu"]),
    "softmax": (lambda: tf.nn.softmax(ph(*X2)), ["Softmax"]),
    "bias_add": (lambda: tf.nn.bias_add(ph(*X4), ph(4)), ["BiasAdd"]),
    "conv2d": (lambda: tf.nn.conv2d(ph(*X4), ph(*F4), 1, "SAME"), ["Conv2D"]),
    "named": (lambda: tf.nn.conv2d(ph(*X4), ph(*F4), 1, "SAME", name="mine"), ["mine"]),
    "max_pool": (lambda: tf.nn.max_pool(ph(*X4), 2, 2, "SAME"), ["MaxPool"]),
    "avg_pool": (lambda: tf.nn.avg_pool(ph(*X4), 2, 2, "SAME"), ["AvgPool"]),
    "max_pool1d": (
        lambda: tf.nn.max_pool1d(ph(*X3), 2, 2, "SAME"),
        ["MaxPool1d/ExpandDims/dim", "MaxPool1d/ExpandDims", "MaxPool1d", "MaxPool1d/Squeeze"],
    ),
    "convolution": (lambda: tf.nn.convolution(ph(*X4), ph(*F4), "SAME"), ["convolution"]),
    "conv2d_transpose": (
        lambda: tf.nn.conv2d_transpose(ph(*X4), ph(3, 3, 7, 4), [2, 12, 12, 7], 2),
        ["conv2d_transpose/input_sizes", "conv2d_transpose"],
    ),
    "sparse_xent": (
        lambda: tf.nn.sparse_softmax_cross_entropy_with_logits(
            labels=ph(None, dtype=tf.int32), logits=ph(*X2)
        ),
        ["SparseSoftmaxCrossEntropyWithLogits/SparseSoftmaxCrossEntropyWithLogits"],
    ),
    "xent_v2": (
        lambda: tf.nn.softmax_cross_entropy_with_logits_v2(labels=ph(*X2), logits=ph(*X2)),
        ["softmax_cross_entropy_with_logits"],
    ),
    "xent": (
        lambda: tf.nn.softmax_cross_entropy_with_logits(labels=ph(*X2), logits=ph(*X2)),
        ["softmax_cross_entropy_with_logits_sg/labels_stop_gradient", "softmax_cross_entropy_with_logits_sg"],
    ),
    "moments": (
        lambda: tf.nn.moments(ph(*X4), [0, 1, 2]),
        [
            "moments/mean/reduction_indices", "moments/mean", "moments/StopGradient", "moments/SquaredDifference",
            "moments/variance/reduction_indices", "moments/variance", "moments/Squeeze", "moments/Squeeze_1",
        ],
    ),
    "batchnorm": (
        lambda: tf.nn.batch_normalization(ph(*X2), *[ph(5) for _ in range(4)], 1e-3),
        [f"batchnorm/{n}" for n in "add/y add Rsqrt mul mul_1 mul_2 sub add_1".split()],
    ),
    "logistic": (
        lambda: tf.nn.sigmoid_cross_entropy_with_logits(labels=ph(*X2), logits=ph(*X2)),
        [*[f"logistic_loss/{n}" for n in "zeros_like GreaterEqual Select Neg Select_1 mul sub Exp Log1p".split()],
         "logistic_loss"],
    ),
    "dropout": (
        lambda: tf.nn.dropout(ph(*X2), 0.5),
        [f"dropout/{n}" for n in (
            "rate", "sub/x", "sub", "truediv/x", "truediv", "Shape", "random_uniform/RandomUniform", "GreaterEqual",
            "Cast", "mul", "mul_1",
        )],
    ),
    "embedding": (
        lambda: tf.nn.embedding_lookup(ph(*X2), ph(None, dtype=tf.int32)),
        ["embedding_lookup/axis", "embedding_lookup", "embedding_lookup/Identity"],
    ),
}  # fmt: skip


@pytest.mark.parametrize("case", sorted(NAMES))
def test_names(case: str, graph: Any) -> None:
    build, expected = NAMES[case]
    build()
    assert sorted(names(graph)) == sorted(expected)


# ---- static shapes


@pytest.mark.parametrize(
    ("build", "shape"),
    [
        (lambda: tf.nn.conv2d(ph(None, None, 7, 3), ph(3, 3, 3, 8), 2, "SAME"), [None, None, 4, 8]),
        (lambda: tf.nn.conv2d(ph(None, None, 7, 3), ph(3, 3, 3, 8), 2, "VALID"), [None, None, 3, 8]),
        (lambda: tf.nn.conv2d(ph(None, 7, 7, None), ph(None, 3, 3, 8), 1, "VALID"), [None, None, 5, 8]),
        (
            lambda: tf.nn.conv2d(
                ph(2, 3, 7, 7), ph(3, 3, 3, 8), 1, [[0, 0], [0, 0], [1, 2], [0, 1]], data_format="NCHW"
            ),
            [2, 8, 8, 6],
        ),
        (lambda: tf.nn.conv2d(tf.placeholder(tf.float32), ph(3, 3, 3, 8), 1, "SAME"), [None, None, None, 8]),
        (lambda: tf.nn.max_pool(ph(None, 7, None, 3), 2, 2, "SAME"), [None, 4, None, 3]),
        (lambda: tf.nn.avg_pool(ph(None, 3, 7, 8), 3, 2, "VALID", data_format="NCHW"), [None, 3, 3, 3]),
        (lambda: tf.nn.depthwise_conv2d(ph(1, 4, 4, 3), ph(2, 2, 3, 4), [1, 1, 1, 1], "SAME"),
         [1, 4, 4, 12]),
        (lambda: tf.nn.conv1d(ph(None, 9, 3), ph(3, 3, 5), 2, "VALID"), [None, 4, 5]),
        (lambda: tf.nn.softmax(ph(None, 3, 4), axis=1), [None, 3, 4]),
        (lambda: tf.nn.bias_add(tf.placeholder(tf.float32, [None, None]), ph(4)), [None, 4]),
        (lambda: tf.nn.dropout(ph(None, 4), 0.5), [None, 4]),
        (lambda: tf.nn.moments(ph(None, 4, 5), [0, 2])[1], [4]),
        (lambda: tf.nn.fused_batch_norm(ph(None, 4, 4, None), ph(3), ph(3))[0], [None, 4, 4, 3]),
        (lambda: tf.nn.embedding_lookup([ph(3, 5), ph(3, 5)], ph(None, 2, dtype=tf.int64)),
         [None, 2, 5]),
        (lambda: tf.nn.l2_loss(ph(3, 4)), []),
        (lambda: tf.nn.conv2d_transpose(
            ph(None, 4, 4, 3), ph(3, 3, 8, 3), tf.stack([tf.shape(ph(None, 2))[0], 8, 8, 8]), 2),
         [None, 8, 8, 8]),
    ],
)  # fmt: skip
def test_static_shapes(build: Callable[[], Any], shape: list[int | None]) -> None:
    assert build().shape.as_list() == shape


def test_gradients_keep_static_shapes() -> None:
    x, w = ph(None, 8, 8, 3), ph(3, 3, 3, 5)
    y = tf.nn.avg_pool(tf.nn.max_pool(tf.nn.conv2d(x, w, 1, "SAME"), 2, 2, "SAME"), 2, 2, "SAME")
    dx, dw = tf.gradients(y, [x, w])
    assert dx.shape.as_list() == [None, 8, 8, 3]
    assert dw.shape.as_list() == [3, 3, 3, 5]


# ---- errors


@pytest.mark.parametrize(
    ("build", "error", "words"),
    [
        (lambda: tf.nn.conv2d(ph(1, 4, 4, 3), ph(5, 5, 3, 2), 1, "VALID"), ValueError,
         "Negative dimension size caused by subtracting 5 from 4"),
        (lambda: tf.nn.conv2d(ph(1, 4, 4, 3), ph(2, 2, 2, 2), 1, "VALID"), ValueError, "multiple of"),
        (lambda: tf.nn.conv2d(ph(1, 4, 4, 3), ph(2, 2, 3, 2), 1, "HALF"), ValueError, "SAME"),
        (lambda: tf.nn.conv2d(ph(1, 4, 4, 3), ph(2, 2, 3, 2), [1, 2, 3], "SAME"), ValueError, "length 1"),
        (lambda: tf.nn.conv2d(ph(1, 4, 4, 3), ph(2, 2, 3, 2), 1, "EXPLICIT"), ValueError, "pairs"),
        (lambda: tf.nn.conv2d(ph(4, 4, 3), ph(2, 2, 3, 2), 1, "SAME"), ValueError, "rank 4"),
        (lambda: tf.nn.conv2d(ph(1, 4, 4, 3, dtype=tf.int32), ph(2, 2, 3, 2, dtype=tf.int32), 1, "SAME"),
         TypeError, "int32"),
        (lambda: tf.nn.max_pool(ph(1, 4, 4, 3), 5, 1, "VALID"), ValueError, "Negative dimension size"),
        (lambda: tf.nn.bias_add(ph(1, 4), ph(3)), ValueError, "must be equal, but are 4 and 3"),
        (lambda: tf.nn.bias_add(ph(1, 4), ph(4), data_format="HWC"), ValueError, "N...C"),
        (lambda: tf.nn.softmax(ph(2, 3), axis=2), ValueError, "axis"),
        (lambda: tf.nn.softmax(ph(2, 3), axis=1, dim=1), ValueError, "both 'axis' and 'dim'"),
        (lambda: tf.nn.softmax_cross_entropy_with_logits(ph(2, 3), ph(2, 3)), ValueError, "named arguments"),
        (lambda: tf.nn.softmax_cross_entropy_with_logits_v2(labels=ph(4, 3), logits=ph(3, 3)), ValueError,
         "input shapes: .3,3., .4,3."),
        (lambda: tf.nn.sparse_softmax_cross_entropy_with_logits(
            labels=ph(2, 3, dtype=tf.int32), logits=ph(2, 3)), ValueError, "Rank mismatch"),
        (lambda: tf.nn.sparse_softmax_cross_entropy_with_logits(
            labels=ph(4, dtype=tf.int32), logits=ph(2, 3)), ValueError, "Shape mismatch"),
        (lambda: tf.nn.sigmoid_cross_entropy_with_logits(labels=ph(4), logits=ph(2)), ValueError, "same shape"),
        (lambda: tf.nn.dropout(ph(4), 1.5), ValueError, r"range \[0, 1\)"),
        (lambda: tf.nn.dropout(ph(4, dtype=tf.int32), 0.5), ValueError, "floating point"),
        (lambda: tf.nn.dropout(ph(4)), ValueError, "must provide a rate"),
        (lambda: tf.nn.dropout(ph(4), 0.5, rate=0.5), ValueError, "both"),
        (lambda: tf.nn.fused_batch_norm(ph(1, 4, 4, 3), ph(3), ph(3), is_training=False),
         ValueError, "must be provided"),
        (lambda: tf.nn.embedding_lookup(None, [1]), ValueError, "params"),
        (lambda: tf.nn.embedding_lookup([ph(3, 2), ph(3, 2)], [1], "hash"), ValueError, "hash"),
        (lambda: tf.nn.pool(ph(1, 4, 4, 3), [2, 2], "SUM", "SAME"), ValueError, "SUM"),
        (lambda: tf.nn.pool(ph(1, 4, 4, 3), [2, 2], "MAX", "SAME", dilation_rate=[2, 2]), ValueError, "SAME"),
        (lambda: tf.nn.pool(ph(1, 8, 8, 3), [2, 2], "MAX", "SAME", strides=[3, 3]), ValueError, "strides > window_shape"),
    ],
)  # fmt: skip
def test_errors(build: Callable[[], Any], error: type[Exception], words: str) -> None:
    with pytest.raises(error, match=words):
        build()


def test_label_out_of_range_is_an_error_while_running() -> None:
    labels = tf.placeholder(tf.int32, [2])
    loss = tf.nn.sparse_softmax_cross_entropy_with_logits(labels=labels, logits=tf.zeros([2, 3]))
    with pytest.raises(tf.errors.InvalidArgumentError, match=r"label value of 5 .* range of \[0, 3\)"):
        run(loss, feed={labels: [1, 5]})


# ---- dropout


def test_dropout_keeps_the_mean_and_repeats_with_a_seed() -> None:
    x = tf.ones([100, 100])
    first, again = (run(tf.nn.dropout(x, keep_prob=0.8, seed=3)) for _ in range(2))
    np.testing.assert_array_equal(first, again)
    np.testing.assert_allclose(np.unique(first), [0, 1.25])
    assert abs(first.mean() - 1) < 0.03


def test_dropout_differs_between_runs_of_one_session(session: tf.Session) -> None:
    y = tf.nn.dropout(tf.ones([50]), rate=0.5)
    assert not np.array_equal(session.run(y), session.run(y))


def test_dropout_of_all_but_nothing_gives_zeros() -> None:
    x = tf.ones([5])
    keep = tf.placeholder(tf.float32, [])
    assert not run(tf.nn.dropout(x, keep_prob=1e-12)).any()
    assert not run(tf.nn.dropout(x, keep_prob=keep), feed={keep: 1e-12}).any()


def test_dropout_of_nothing_is_the_input() -> None:
    x = tf.ones([5])
    assert tf.nn.dropout(x, 1.0) is x
    assert tf.nn.dropout(x, rate=0.0) is x


def test_dropout_with_a_fed_probability_and_its_gradient() -> None:
    x, keep = tf.ones([40]), tf.placeholder(tf.float32, [])
    y = tf.nn.dropout(x, keep)
    value, slope = run(y, tf.gradients(y, x)[0], feed={keep: 0.25})
    np.testing.assert_allclose(value, slope)
    assert set(np.unique(value)) <= {0.0, 4.0}
    np.testing.assert_array_equal(run(y, feed={keep: 1.0}), np.ones(40))


@pytest.mark.parametrize("noise", [[None, 1, 3], [2, 1, None], [2, 1, 3]])
def test_dropout_noise_shape_broadcasts(noise: list[int | None]) -> None:
    x = tf.placeholder_with_default(np.ones([2, 50, 3], np.float32), [None, None, 3] if noise[2] else [2, None, None])
    value = run(tf.nn.dropout(x, 0.5, noise_shape=noise))
    assert (value == value[:, :1]).all()


# ---- the rest


def test_zero_fraction() -> None:
    assert run(tf.nn.zero_fraction(tf.constant([[0, 1, 0], [0, 2, 3]]))) == 0.5
    assert np.isnan(run(tf.nn.zero_fraction(tf.zeros([0]))))


def test_labels_of_the_first_form_get_no_gradient() -> None:
    labels, logits = tf.constant([[0.5, 0.5]]), tf.constant([[1.0, 2.0]])
    first = tf.nn.softmax_cross_entropy_with_logits(labels=labels, logits=logits)
    assert tf.gradients(first, labels) == [None]
    second = tf.nn.softmax_cross_entropy_with_logits_v2(labels=labels, logits=logits)
    np.testing.assert_allclose(run(tf.gradients(second, labels)[0]), [[1.3132617, 0.3132617]], rtol=1e-5)


def test_half_precision_losses_are_computed_in_float32() -> None:
    logits = tf.constant([[1.0, 2.0, 3.0]], tf.float16)
    dense = tf.nn.softmax_cross_entropy_with_logits_v2(labels=tf.constant([[0.0, 0.0, 1.0]]), logits=logits)
    sparse = tf.nn.sparse_softmax_cross_entropy_with_logits(labels=[2], logits=logits)
    for value in run(dense, sparse):
        assert value.dtype == np.float16
        np.testing.assert_allclose(value, [0.40760596], rtol=1e-3)


def test_embedding_of_a_variable_gets_sparse_gradients(session: tf.Session) -> None:
    table = tf.Variable(np.arange(8, dtype=np.float32).reshape(4, 2))
    rows = tf.nn.embedding_lookup(table, [[3, 1], [3, 0]])
    slices = tf.gradients(rows, table)[0]
    assert isinstance(slices, tf.IndexedSlices)
    session.run(tf.global_variables_initializer())
    value, where = session.run([rows, slices.indices])
    assert value.tolist() == [[[6, 7], [2, 3]], [[6, 7], [0, 1]]]
    assert sorted(where.tolist()) == [0, 1, 3, 3]


def test_outputs_of_channels_last_ops_are_contiguous() -> None:
    x = tf.placeholder_with_default(np.ones([2, 5, 5, 1], np.float32), [None, 5, 5, 1])
    y = tf.nn.conv2d(x, tf.ones([2, 2, 1, 3]), 1, "SAME")
    p = tf.nn.max_pool(y, 2, 1, "SAME")
    for value in run(y, p, tf.nn.avg_pool(y, 2, 2, "SAME"), tf.gradients(p, x)[0]):
        assert value.flags.c_contiguous


@pytest.mark.parametrize("known", [None, [None, None]])
def test_class_numbers_of_another_shape_are_refused_when_it_runs(session: tf.Session, known) -> None:
    """As many numbers as rows are not enough."""
    labels = tf.placeholder(tf.int32, known)
    logits = tf.placeholder(tf.float32, None if known is None else [*known, 4])
    loss = tf.nn.sparse_softmax_cross_entropy_with_logits(labels=labels, logits=logits)
    feeds = {labels: np.zeros([2, 3]), logits: np.zeros([2, 3, 4])}
    np.testing.assert_allclose(session.run(loss, feeds), np.full([2, 3], np.log(4)), rtol=1e-6)
    with pytest.raises(tf.errors.InvalidArgumentError, match="labels should equal the shape of logits except"):
        session.run(loss, {**feeds, labels: np.zeros([3, 2])})


def test_one_unknown_size_needs_no_check_of_class_numbers() -> None:
    """The op itself counts the rows."""
    labels, logits = tf.placeholder(tf.int32, [None, 3]), tf.placeholder(tf.float32, [None, 3, 4])
    loss = tf.nn.sparse_softmax_cross_entropy_with_logits(labels=labels, logits=logits)
    assert not any(op.type == "Assert" for op in loss.graph.get_operations())
    with tf.Session() as session, pytest.raises(tf.errors.InvalidArgumentError, match="the same first dimension"):
        session.run(loss, {labels: np.zeros([1, 3]), logits: np.zeros([2, 3, 4])})


@pytest.mark.parametrize("dtype", [tf.float16, tf.bfloat16, tf.float32])
def test_weighted_moments_keep_the_type(dtype: Any) -> None:
    mean, variance = tf.nn.weighted_moments(tf.constant([1.0, 3.0], dtype), [0], [3.0, 1.0])
    assert (mean.dtype, variance.dtype) == (dtype, dtype)
    with tf.Session() as session:
        assert [float(v) for v in session.run([mean, variance])] == [1.5, 0.75]
