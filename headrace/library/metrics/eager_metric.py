"""Metrics as objects that keep their own variables, for programs whose ops run eagerly (tf.contrib.eager.metrics).

accuracy = tfe.metrics.Accuracy()
accuracy(labels, predictions)  # as often as there are batches
accuracy.result()
"""

from __future__ import annotations

from typing import Any

from headrace.core import dtypes
from headrace.core.dtypes import DType, as_dtype
from headrace.core.source import at
from headrace.graph import context, raw_ops
from headrace.graph.convert import convert_to_tensor
from headrace.library.numeric.math import cast
from headrace.library.numeric.reduction import argmax, reduce_sum
from headrace.library.scope import name_scope
from headrace.library.state.variable import Variable
from headrace.library.tensor.creation import zeros


class Metric:
    """A running figure.  Subclasses make variables in ``build``, update them in ``call``, and give the figure by ``result``.

    ``build`` gets the arguments of the first call.  Calling the metric gives what ``call`` gives.

    Args:
      name: A name for the metric's variables; None for that of the class.

    >>> class Count(tf.contrib.eager.metrics.Metric):
    ...     def build(self, values):
    ...         self.total = self.add_variable('total')
    ...     def call(self, values):
    ...         self.total.assign_add(tf.cast(tf.size(values), tf.float64))
    ...     def result(self):
    ...         return self.total.read_value()
    >>> with tf.eager_mode():
    ...     count = Count()
    ...     _ = count([1, 2]), count([3])
    ...     print(count.result().numpy())
    3.0
    """

    def __init__(self, name: str | None = None) -> None:
        self._name = name or type(self).__name__
        self._built = False
        self._variables: list[Variable] = []

    @property
    def name(self) -> str:
        return self._name

    @property
    def variables(self) -> list[Variable]:
        return list(self._variables)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        if not self._built:
            with name_scope(self._name):
                self.build(*args, **kwargs)
            self._built = True
        return self.call(*args, **kwargs)

    def build(self, *args: Any, **kwargs: Any) -> None:
        """Makes the variables, with ``add_variable``."""

    def call(self, *args: Any, **kwargs: Any) -> Any:
        """Takes one more batch into account."""
        raise NotImplementedError(f"{type(self).__name__} must define call")

    def result(self) -> Any:
        """The figure so far."""
        raise NotImplementedError(f"{type(self).__name__} must define result")

    def add_variable(self, name: str, shape: Any = None, dtype: Any = None, initializer: Any = None) -> Variable:
        """A variable of the metric, zero unless ``initializer`` says otherwise; only inside ``build``."""
        if self._built:
            raise RuntimeError(f"Can't call add_variable() except in build(). {at()}")
        element_type = as_dtype(dtype or dtypes.float64)
        shape = () if shape is None else shape
        start = (
            (lambda: zeros(shape, element_type))
            if initializer is None
            else (lambda: initializer(shape, dtype=element_type))
        )
        variable = Variable(start, trainable=False, name=name)
        self._variables.append(variable)
        return variable

    def init_variables(self) -> None:
        """Starts again from zero."""
        if not context.executing_eagerly():
            raise RuntimeError(
                f"init_variables() is for ops that run eagerly; initialise local variables instead. {at()}"
            )
        for variable in self._variables:
            variable.assign(zeros(variable.shape, variable.dtype))


class Mean(Metric):
    """The mean of all values, weighted if weights are given.

    Args:
      name: A name for the metric's variables; None for that of the class.
      dtype: The type of the sums, of floats.
      use_global_variables: Accepted for TensorFlow's sake; it changes nothing.

    >>> with tf.eager_mode():
    ...     mean = tf.contrib.eager.metrics.Mean()
    ...     _ = mean([1.0, 2.0]), mean(6.0)
    ...     print(mean.result().numpy())
    3.0
    """

    def __init__(
        self, name: str | None = None, dtype: DType = dtypes.float64, use_global_variables: bool = False
    ) -> None:
        super().__init__(name)
        self.dtype = dtype
        self.use_global_variables = use_global_variables

    def build(self, *args: Any, **kwargs: Any) -> None:
        self.numer = self.add_variable("numer", (), self.dtype)
        self.denom = self.add_variable("denom", (), self.dtype)

    def call(self, values: Any, weights: Any = None) -> Any:
        """Adds values to the mean; ``weights`` broadcast to them.  Gives its arguments."""
        values = convert_to_tensor(values)
        if weights is None:
            self.denom.assign_add(cast(raw_ops.Size(values), self.dtype))
            self.numer.assign_add(reduce_sum(cast(values, self.dtype)))
            return values
        weighing = cast(weights, self.dtype)
        self.denom.assign_add(reduce_sum(raw_ops.Mul(raw_ops.OnesLike(cast(values, self.dtype)), weighing)))
        self.numer.assign_add(reduce_sum(raw_ops.Mul(cast(values, self.dtype), weighing)))
        return values, weights

    def result(self) -> Any:
        return raw_ops.RealDiv(self.numer, self.denom)


class Accuracy(Mean):
    """The share of predictions equal to their labels.

    Args:
      name: A name for the metric's variables; None for that of the class.
      dtype: The type of the sums, of floats.

    >>> with tf.eager_mode():
    ...     accuracy = tf.contrib.eager.metrics.Accuracy()
    ...     _ = accuracy([1, 0, 1, 1], [1, 1, 1, 1])
    ...     print(accuracy.result().numpy())
    0.75
    """

    def __init__(self, name: str | None = None, dtype: DType = dtypes.float64) -> None:
        super().__init__(name, dtype)

    def call(self, labels: Any, predictions: Any, weights: Any = None) -> Any:  # type: ignore[override]
        self._count(labels, predictions, weights)
        return (labels, predictions) if weights is None else (labels, predictions, weights)

    def _count(self, labels: Any, predictions: Any, weights: Any) -> None:
        labels, predictions = convert_to_tensor(labels), convert_to_tensor(predictions)
        if not labels.shape.is_compatible_with(predictions.shape):
            raise ValueError(
                f"Shapes {predictions.shape} of predictions and {labels.shape} of labels are incompatible {at()}"
            )
        matches = raw_ops.Equal(predictions, cast(labels, predictions.dtype))
        super().call(cast(matches, self.dtype), weights)


class CategoricalAccuracy(Accuracy):
    """The share of right predictions, labels and predictions being scores of the classes in the last dimension.

    Args:
      name: A name for the metric's variables; None for that of the class.
      dtype: The type of the sums, of floats.

    >>> with tf.eager_mode():
    ...     accuracy = tf.contrib.eager.metrics.CategoricalAccuracy()
    ...     _ = accuracy([[0.0, 1.0], [1.0, 0.0]], [[0.2, 0.8], [0.4, 0.6]])
    ...     print(accuracy.result().numpy())
    0.5
    """

    def _count(self, labels: Any, predictions: Any, weights: Any) -> None:
        super()._count(argmax(labels, -1), argmax(predictions, -1), weights)


class SparseAccuracy(Accuracy):
    """The share of right predictions, labels being numbers of classes and predictions scores of the classes.

    Args:
      name: A name for the metric's variables; None for that of the class.
      dtype: The type of the sums, of floats.

    >>> with tf.eager_mode():
    ...     accuracy = tf.contrib.eager.metrics.SparseAccuracy()
    ...     _ = accuracy([1, 0], [[0.2, 0.8], [0.4, 0.6]])
    ...     print(accuracy.result().numpy())
    0.5
    """

    def _count(self, labels: Any, predictions: Any, weights: Any) -> None:
        super()._count(labels, argmax(predictions, -1), weights)


class BinaryAccuracy(Accuracy):
    """The share of right predictions of two classes: one above ``threshold`` means the second class.

    Args:
      threshold: The number above which a prediction means the second class.
      name: A name for the metric's variables; None for that of the class.
      dtype: The type of the sums, of floats.

    >>> with tf.eager_mode():
    ...     accuracy = tf.contrib.eager.metrics.BinaryAccuracy(threshold=0.5)
    ...     _ = accuracy([1, 0], [0.8, 0.6])
    ...     print(accuracy.result().numpy())
    0.5
    """

    def __init__(self, threshold: float, name: str | None = None, dtype: DType = dtypes.float64) -> None:
        super().__init__(name, dtype)
        self.threshold = threshold

    def _count(self, labels: Any, predictions: Any, weights: Any) -> None:
        predictions = convert_to_tensor(predictions)
        chosen = raw_ops.Greater(predictions, self.threshold)
        super()._count(cast(labels, dtypes.int32), cast(chosen, dtypes.int32), weights)
