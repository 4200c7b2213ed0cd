"""Metrics over two batches, run by real TensorFlow (make_cases.py) and by Headrace (tests/library/metrics/test_metrics.py).

A case is a function of (tf, *placeholders) that gives (value, update), and the batches to feed.
"""

import numpy as np

_STATE = np.random.RandomState(0)
BATCHES = 2


def _batches(*makers):
    return [tuple(make() for make in makers) for _ in range(BATCHES)]


def _floats(*shape):
    return lambda: _STATE.rand(*shape).astype(np.float32)


def _whole(high, *shape):
    return lambda: _STATE.randint(0, high, shape).astype(np.int64)


def _metric(name, *extra, **options):
    def case(tf, labels, predictions, *weights):
        given = {"weights": weights[0]} if weights else {}
        return getattr(tf.metrics, name)(labels, predictions, *extra, **given, **options)

    return case


def _both(name, *extra, makers, weight=None, **options):
    """The metric without weights and with them."""
    label = " ".join([name, *(f"{k}={v}" for k, v in options.items())])
    yield label, (_metric(name, *extra, **options), _batches(*makers))
    if weight is not None:
        yield f"{label} weighted", (_metric(name, *extra, **options), _batches(*makers, weight))


def _cases():
    flags, pairs, chances = (_whole(2, 6), _whole(2, 6)), (_floats(4), _floats(4)), (_whole(2, 6), _floats(6))
    yield "mean", (lambda tf, v: tf.metrics.mean(v), _batches(_floats(4)))
    yield "mean weighted", (lambda tf, v, w: tf.metrics.mean(v, weights=w), _batches(_floats(4, 2), _floats(4, 1)))
    yield "mean_tensor", (lambda tf, v: tf.metrics.mean_tensor(tf.reshape(v, [3, 2])), _batches(_floats(3, 2)))
    yield "percentage_below", (lambda tf, v: tf.metrics.percentage_below(v, 0.5), _batches(_floats(5)))
    yield "relative", (lambda tf, a, b: tf.metrics.mean_relative_error(a, b, b + 1.0), _batches(*pairs))
    yield "column", (_metric("accuracy"), _batches(_whole(2, 6, 1), _whole(2, 6)))
    for name in ("accuracy", "precision", "recall", "true_positives", "true_negatives", "false_positives"):
        yield from _both(name, makers=flags, weight=_floats(6))
    yield from _both("false_negatives", makers=flags, weight=_floats(6))
    for name in ("mean_absolute_error", "mean_squared_error", "root_mean_squared_error"):
        yield from _both(name, makers=pairs, weight=_floats(4))
    yield from _both("mean_cosine_distance", 1, makers=(_floats(4, 3), _floats(4, 3)))
    yield from _both("auc", makers=chances, weight=_floats(6))
    yield from _both("auc", makers=chances, thresholds=[0.3, 0.6])
    for curve, how in (("PR", "trapezoidal"), ("PR", "careful_interpolation"), ("ROC", "minoring"), ("PR", "majoring")):
        yield from _both("auc", makers=chances, weight=_floats(6), curve=curve, summation_method=how, num_thresholds=20)
    yield from _both("sensitivity_at_specificity", 0.5, makers=chances, weight=_floats(6))
    yield from _both("specificity_at_sensitivity", 0.5, makers=chances, weight=_floats(6))
    for name in ("precision", "recall", "true_positives", "true_negatives", "false_positives", "false_negatives"):
        yield from _both(f"{name}_at_thresholds", [0.2, 0.5, 0.7], makers=chances, weight=_floats(6))
    for name in ("mean_iou", "mean_per_class_accuracy"):
        yield from _both(name, 3, makers=(_whole(3, 6), _whole(3, 6)), weight=_floats(6))
    ranked = (_whole(5, 4, 2), _floats(4, 5))
    for name in ("recall_at_k", "precision_at_k"):
        yield from _both(name, 2, makers=ranked, weight=_floats(4))
        yield from _both(name, 2, makers=ranked, weight=_floats(4), class_id=1)
    yield from _both("average_precision_at_k", 3, makers=ranked, weight=_floats(4))
    chosen = (_whole(5, 4, 2), _whole(5, 4, 3))
    yield from _both("precision_at_top_k", makers=chosen, weight=_floats(4))
    yield from _both("recall_at_top_k", makers=chosen, weight=_floats(4), k=3)
    yield "two", (lambda tf, a, b: (tf.metrics.accuracy(a, b), tf.metrics.accuracy(a, b))[1], _batches(*flags))


CASES = dict(_cases())


def run(tf, case):
    """Names, and the update and the value after each batch."""
    make, batches = case
    inputs = [tf.placeholder(a.dtype, [None, *a.shape[1:]]) for a in batches[0]]
    value, update = make(tf, *inputs)
    numbers = []
    with tf.Session() as session:
        session.run(tf.local_variables_initializer())
        for batch in batches:
            after = session.run(update, dict(zip(inputs, batch, strict=True)))
            numbers.append([np.asarray(a, float).round(6).tolist() for a in (after, session.run(value))])
    return {
        "value": [value.name, value.dtype.name, str(value.shape)],
        "update": [update.name, update.dtype.base_dtype.name, str(update.shape)],
        "variables": [[v.name, v.dtype.base_dtype.name, str(v.shape)] for v in tf.local_variables()],
        "numbers": numbers,
    }
