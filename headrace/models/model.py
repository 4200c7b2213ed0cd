"""What `build` of every model returns: the ends of a training graph, and its variables."""

from dataclasses import dataclass
from typing import Any

import headrace as tf
from headrace.models.seeded import initial_value


@dataclass(frozen=True)
class Model:
    """A training graph: feed `inputs` and `labels`, fetch `loss`, run `train_op`.

    A resident model has variables instead of placeholders there: fill them once with `hold`, then run steps without feeds.
    """

    inputs: Any
    labels: Any
    logits: Any
    loss: Any
    train_op: Any
    variables: list[Any]

    def initialize(self, session, seed=0):
        """Gives every variable its seeded NumPy value (`global_variables_initializer` draws others, in the graph)."""
        _assign(session, {v: initial_value(v.op.name, v.shape.as_list(), seed) for v in self.variables})

    def hold(self, session, inputs, labels):
        """Fills the variables that a resident model reads its batch from."""
        _assign(session, {self.inputs: inputs, self.labels: labels})

    def step(self, session, inputs, labels):
        """Runs one training step; returns the loss before it."""
        return float(session.run([self.loss, self.train_op], {self.inputs: inputs, self.labels: labels})[0])


def source(name, dtype, shape, resident=False):
    """Where a batch comes from: a placeholder, or a variable that lives where the model does."""
    if not resident:
        return tf.placeholder(dtype, shape, name=name)
    return tf.get_variable(name, shape, dtype, tf.zeros_initializer(), trainable=False, collections=["batch"])


def pictures(batch, size, channels, network, learning_rate, resident=False):
    """The model that classifies square pictures by `network`, a function that returns logits."""
    inputs = source("inputs", tf.float32, [batch, size, size, channels], resident)
    labels = source("labels", tf.int32, [batch], resident)
    return classifier(inputs, labels, network(tf.identity(inputs)), learning_rate)


def classifier(inputs, labels, logits, learning_rate, classes=None):
    """The model whose loss is the mean cross entropy of `logits` with `classes` (else the labels), by gradient descent."""
    classes = labels if classes is None else classes
    losses = tf.nn.sparse_softmax_cross_entropy_with_logits(labels=classes, logits=logits)
    return trained(inputs, labels, logits, tf.reduce_mean(losses, name="loss"), learning_rate)


def trained(inputs, labels, logits, loss, learning_rate):
    """The model that minimises `loss` by gradient descent; collected `UPDATE_OPS` (moving averages) belong to the step."""
    with tf.control_dependencies(tf.get_collection(tf.GraphKeys.UPDATE_OPS)):
        train_op = tf.train.GradientDescentOptimizer(learning_rate).minimize(loss)
    return Model(inputs, labels, logits, loss, train_op, tf.global_variables())


def _assign(session, values):
    """Runs the variables' initializers on these values instead of their own."""
    session.run([v.initializer for v in values], {v.initializer.inputs[1]: value for v, value in values.items()})
