"""Small trainings that `make_cases.py` runs with TensorFlow and `test_optimizer.py` with Headrace: the same code.

`CASES` gives each optimizer as a function of (tf, global step).  `train(tf, make, sparse)` gives every variable by name
after twenty steps, so it also compares the names and values of slots.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

STEPS = 20

CASES: dict[str, Callable[[Any, Any], Any]] = {
    "GradientDescent": lambda tf, step: tf.train.GradientDescentOptimizer(0.1),
    "GradientDescentLocked": lambda tf, step: tf.train.GradientDescentOptimizer(0.1, use_locking=True),
    "GradientDescentDecay": lambda tf, step: tf.train.GradientDescentOptimizer(
        tf.train.exponential_decay(0.2, step, 5, 0.8, staircase=True)
    ),
    "ProximalGradientDescent": lambda tf, step: tf.train.ProximalGradientDescentOptimizer(0.1, 0.01, 0.02),
    "Momentum": lambda tf, step: tf.train.MomentumOptimizer(0.05, 0.9),
    "Nesterov": lambda tf, step: tf.train.MomentumOptimizer(0.05, 0.9, use_nesterov=True),
    "Adam": lambda tf, step: tf.train.AdamOptimizer(0.05),
    "AdamCallable": lambda tf, step: tf.train.AdamOptimizer(lambda: 0.05, beta1=lambda: 0.5, name="MyAdam"),
    "Adagrad": lambda tf, step: tf.train.AdagradOptimizer(0.3),
    "ProximalAdagrad": lambda tf, step: tf.train.ProximalAdagradOptimizer(0.3, 0.1, 0.01, 0.02),
    "AdagradDA": lambda tf, step: tf.train.AdagradDAOptimizer(0.3, step, 0.1, 0.001, 0.002),
    "Adadelta": lambda tf, step: tf.train.AdadeltaOptimizer(1.0, 0.9, 1e-3),
    "RMSProp": lambda tf, step: tf.train.RMSPropOptimizer(0.02, momentum=0.5),
    "CenteredRMSProp": lambda tf, step: tf.train.RMSPropOptimizer(0.02, momentum=0.5, epsilon=1e-3, centered=True),
    "Ftrl": lambda tf, step: tf.train.FtrlOptimizer(0.3, -0.6, 0.1, 0.01, 0.02),
    "FtrlShrinkage": lambda tf, step: tf.train.FtrlOptimizer(0.3, l2_shrinkage_regularization_strength=0.05),
}


def train(tf: Any, make: Callable[[Any, Any], Any], sparse: bool) -> dict[str, np.ndarray]:
    """A linear model, or rows of a table gathered with repeats, fitted to fixed targets."""
    random = np.random.RandomState(3)
    table = random.standard_normal((6, 3)).astype(np.float32)
    bias = random.standard_normal(3).astype(np.float32)
    with tf.Graph().as_default(), tf.Session() as session:
        step = tf.Variable(np.int64(0), trainable=False, name="step")
        with tf.variable_scope("model"):
            w = tf.get_variable("W", initializer=table)
            b = tf.get_variable("b", initializer=bias)
        if sparse:
            given = tf.placeholder(tf.int32, [None])
            output = tf.gather(w, given) + b
            batches = [random.randint(0, 5, size=4).astype(np.int32) for _ in range(STEPS)]
        else:
            given = tf.placeholder(tf.float32, [None, 6])
            output = tf.matmul(given, w) + b
            batches = [random.standard_normal((4, 6)).astype(np.float32) for _ in range(STEPS)]
        target = tf.constant(random.standard_normal((4, 3)).astype(np.float32))
        loss = tf.reduce_mean(tf.square(output - target))
        train_op = make(tf, step).minimize(loss, global_step=step)
        session.run(tf.global_variables_initializer())
        for batch in batches:
            session.run(train_op, {given: batch})
        return {v.op.name: session.run(v) for v in tf.global_variables()}
