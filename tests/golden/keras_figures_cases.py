"""Losses, metrics and optimizers of tf.keras, run by real Keras (make_keras_training.py) and by Headrace.

``figures(tf)`` gives the values of losses and metrics by name, ``steps(tf)`` a variable after three steps of each optimizer.
"""

import numpy as np

_STATE = np.random.RandomState(0)


def _softmax(x):
    e = np.exp(x - x.max(-1, keepdims=True))
    return (e / e.sum(-1, keepdims=True)).astype(np.float32)


LABELS = _STATE.randint(0, 2, (4, 3)).astype(np.float32)
PROBABILITIES = (_STATE.rand(4, 3) * 0.9 + 0.05).astype(np.float32)
NUMBERS = np.array([0, 2, 1, 1])
ONE_HOT = np.eye(3, dtype=np.float32)[NUMBERS]
CLASSES = _softmax(_STATE.randn(4, 3))
WEIGHTS = np.array([1, 0.5, 0, 2], np.float32)
PLAIN = LABELS, PROBABILITIES
DATA = {
    "CategoricalCrossentropy": (ONE_HOT, CLASSES),
    "SparseCategoricalCrossentropy": (NUMBERS, CLASSES),
    "CategoricalHinge": (ONE_HOT, CLASSES),
    "KLDivergence": (_softmax(_STATE.randn(4, 3)), CLASSES),
    "Hinge": (LABELS * 2 - 1, PROBABILITIES),
    "CategoricalAccuracy": (ONE_HOT, CLASSES),
    "TopKCategoricalAccuracy": (ONE_HOT, CLASSES),
    "SparseCategoricalAccuracy": (NUMBERS, CLASSES),
    "SparseTopKCategoricalAccuracy": (NUMBERS, CLASSES),
    "MeanIoU": ((NUMBERS > 1).astype(np.int32), (NUMBERS > 0).astype(np.int32)),
}
LOSSES = (
    "MeanSquaredError", "MeanAbsoluteError", "MeanAbsolutePercentageError", "MeanSquaredLogarithmicError",
    "BinaryCrossentropy", "CategoricalCrossentropy", "SparseCategoricalCrossentropy", "Hinge", "SquaredHinge",
    "CategoricalHinge", "Poisson", "LogCosh", "KLDivergence", "Huber", "CosineSimilarity",
)  # fmt: skip
LOSS_OPTIONS = (
    ("BinaryCrossentropy", {"from_logits": True}),
    ("CategoricalCrossentropy", {"from_logits": True}),
    ("SparseCategoricalCrossentropy", {"from_logits": True}),
    ("BinaryCrossentropy", {"label_smoothing": 0.2}),
    ("CategoricalCrossentropy", {"label_smoothing": 0.2}),
)
METRICS = (
    *((name, {}) for name in LOSSES if name not in ("Huber", "LogCosh")),
    *((name, {}) for name in ("LogCoshError", "RootMeanSquaredError", "Accuracy", "BinaryAccuracy")),
    *((name, {}) for name in ("CategoricalAccuracy", "SparseCategoricalAccuracy")),
    *((name, {}) for name in ("FalseNegatives", "TrueNegatives", "TruePositives", "Precision")),
    ("TopKCategoricalAccuracy", {"k": 2}),
    ("SparseTopKCategoricalAccuracy", {"k": 2}),
    ("FalsePositives", {"thresholds": [0.2, 0.6]}),
    ("Recall", {"thresholds": [0.2, 0.6]}),
    ("Precision", {"top_k": 2}),
    ("Recall", {"class_id": 1}),
    ("AUC", {"num_thresholds": 7}),
    ("AUC", {"curve": "PR", "num_thresholds": 9}),
    ("AUC", {"curve": "PR", "num_thresholds": 9, "summation_method": "majoring"}),
    ("AUC", {"summation_method": "minoring"}),
    ("MeanIoU", {"num_classes": 2}),
    ("BinaryCrossentropy", {"from_logits": True, "label_smoothing": 0.1}),
)
OPTIMIZERS = (
    *((name, {}) for name in ("SGD", "Adam", "Adamax", "Nadam", "Adagrad", "Adadelta", "RMSprop", "Ftrl")),
    ("SGD", {"momentum": 0.9}),
    ("SGD", {"momentum": 0.9, "nesterov": True, "clipnorm": 0.5}),
    ("SGD", {"decay": 0.5, "clipvalue": 0.3}),
    ("Adam", {"amsgrad": True}),
    ("RMSprop", {"momentum": 0.9}),
    ("RMSprop", {"centered": True}),
    ("RMSprop", {"centered": True, "momentum": 0.5}),
    ("Ftrl", {"l2_shrinkage_regularization_strength": 0.1, "l1_regularization_strength": 0.01}),
)


def figures(tf):
    """Values by name: of each loss, and of each metric after two batches."""
    with tf.Graph().as_default(), tf.Session() as session:
        found = dict(_losses(tf.keras.losses, tf))
        found = {name: session.run(loss) for name, loss in found.items()}
        for name, options in METRICS:
            for weights in (None, WEIGHTS):
                key = f"metric {name} {options} {'plain' if weights is None else 'weighed'}"
                found[key] = _metric(tf, session, name, options, weights)
    return {name: np.asarray(value, float).round(6).tolist() for name, value in found.items()}


def _losses(losses, tf):
    for name in LOSSES:
        y_true, y_pred = map(tf.constant, DATA.get(name, PLAIN))
        for how in ("none", "sum", "sum_over_batch_size"):
            for weights in (None, WEIGHTS):
                loss = getattr(losses, name)(reduction=how)(y_true, y_pred, sample_weight=weights)
                yield f"loss {name} {how} {'plain' if weights is None else 'weighed'}", loss
    for name, options in LOSS_OPTIONS:
        y_true, y_pred = map(tf.constant, DATA.get(name, PLAIN))
        yield f"loss {name} {options}", getattr(losses, name)(**options)(y_true, y_pred)


def _metric(tf, session, name, options, weights):
    metric = getattr(tf.keras.metrics, name)(**options)
    data = DATA.get(name, PLAIN)
    fed = [tf.placeholder(tf.as_dtype(a.dtype), a.shape) for a in data]
    update, result = metric.update_state(*fed, sample_weight=weights), metric.result()
    session.run([v.initializer for v in metric.variables])
    for factor in (1, 0.5):
        second = data[1] * np.float32(factor) if data[1].dtype == np.float32 else data[1]
        session.run(update, {fed[0]: data[0], fed[1]: second})
    return session.run(result)


def steps(tf):
    """A variable after three steps of each optimizer, by dense and by sparse gradients."""
    found = {}
    with tf.Graph().as_default(), tf.Session() as session:
        made = {}
        for name, options in OPTIMIZERS:
            for sparse in (False, True):
                if sparse and ("clipnorm" in options or "clipvalue" in options):
                    continue
                optimizer = getattr(tf.keras.optimizers, name)(0.1, **options)
                w = tf.Variable(np.arange(6, dtype=np.float32).reshape(3, 2), use_resource=True)

                def loss(w=w, sparse=sparse):
                    rows = tf.gather(w, [0, 2, 0]) if sparse else w
                    return tf.reduce_sum(tf.square(rows - 3.0) * [[1.0, 2.0]])

                key = f"{name} {options} {'sparse' if sparse else 'dense'}"
                made[key] = w, optimizer.minimize(loss, [w])
        session.run(tf.global_variables_initializer())
        for _ in range(3):
            session.run([step for _, step in made.values()])
        for key, (w, _) in made.items():
            found[key] = session.run(w).astype(float).round(6).tolist()
    return found
