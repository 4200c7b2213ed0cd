"""The base class of tf.keras.metrics, sums and means.

A metric is a layer: it has variables, a name and a configuration.  ``update_state`` takes a batch into account, ``result``
gives the figure so far, a call does both; ``reset_states`` begins anew.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from headrace.core.source import at
from headrace.graph import context, raw_ops
from headrace.graph.convert import convert_to_tensor
from headrace.graph.operation import Operation, Tensor
from headrace.library.backend.config import floatx
from headrace.library.backend.session import batch_set_value
from headrace.library.control import replica
from headrace.library.control.dependency import group
from headrace.library.function.function import Function
from headrace.library.keras.weighting import squeeze_or_expand
from headrace.library.layers.added import MetricClasses
from headrace.library.layers.base_layer import Layer
from headrace.library.losses.weights import broadcast_weights
from headrace.library.numeric import math, reduction
from headrace.library.scope import control_dependencies, init_scope
from headrace.library.state.variable_creator import VariableAggregation, VariableSynchronization
from headrace.library.tensor import array

_OWN_ROOM = Path(__file__).parent


class Metric(Layer):
    """Base class of metrics: a subclass makes variables, changes them in ``update_state`` and gives the figure by ``result``.

    Args:
      name: The name of the metric; None for that of the class.
      dtype: The type of its variables; None for `tf.keras.backend.floatx`.
      **kwargs: Further arguments of `tf.keras.layers.Layer`.

    >>> class Count(tf.keras.metrics.Metric):
    ...     def __init__(self, name='count'):
    ...         super().__init__(name=name)
    ...         self.total = self.add_weight('total', initializer='zeros')
    ...     def update_state(self, y_true, y_pred, sample_weight=None):
    ...         self.total.assign_add(tf.cast(tf.size(y_true), tf.float32))
    ...     def result(self):
    ...         return self.total
    >>> count = Count()
    >>> update = count.update_state(tf.constant([1, 2, 3]), tf.constant([1, 2, 4]))
    >>> _ = tf.keras.backend.get_session().run(update)
    >>> tf.keras.backend.get_value(count.result())
    np.float32(3.0)
    """

    def __new__(cls, *args: Any, **kwargs: Any) -> Any:
        metric = super().__new__(cls)
        if not _is_built_in(cls.update_state):  # it may change variables without returning anything
            object.__setattr__(metric, "update_state", _in_order(cls.update_state.__get__(metric, cls)))
        return metric

    def __init__(self, name: str | None = None, dtype: Any = None, **kwargs: Any) -> None:
        super().__init__(name=name, dtype=dtype or floatx(), **kwargs)
        self.stateful = True
        self.built = True
        self._call_result: Any = None

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Takes a batch into account and gives the figure after that."""
        updated = self.update_state(*args, **kwargs)
        with control_dependencies([] if updated is None else [updated]):
            result: Any = convert_to_tensor(self.result())
            if not context.executing_eagerly():
                result = raw_ops.Identity(result)
        result._metric_obj = self
        self._call_result = result
        return result

    def update_state(self, *args: Any, **kwargs: Any) -> Any:
        """Takes a batch into account; in a graph the operation that does so."""
        raise NotImplementedError(f"{type(self).__name__} must define update_state {at()}")

    def result(self) -> Any:
        """The figure so far, a tensor."""
        raise NotImplementedError(f"{type(self).__name__} must define result {at()}")

    def reset_states(self) -> None:
        """Sets all variables to zero."""
        batch_set_value([(v, np.zeros(v.shape.as_list(), v.dtype.base_dtype.as_numpy_dtype)) for v in self.weights])

    def add_weight(  # type: ignore[override]
        self, name: str | None = None, shape: Any = (),
        aggregation: VariableAggregation = VariableAggregation.SUM,
        synchronization: VariableSynchronization = VariableSynchronization.ON_READ, initializer: Any = None,
        dtype: Any = None, **kwargs: Any,
    ) -> Any:  # fmt: skip
        """A variable of the metric, which is not trained."""
        with init_scope():
            return super().add_weight(
                name=name, shape=shape, dtype=dtype or self._dtype, trainable=False, initializer=initializer,
                collections=[], synchronization=synchronization, aggregation=aggregation, **kwargs,
            )  # fmt: skip

    def get_config(self) -> dict[str, Any]:
        """The constructor's arguments as plain data."""
        return {"name": self.name, "dtype": self.dtype}


def _is_built_in(function: Callable[..., Any]) -> bool:
    """Whether a file of this folder defines the function."""
    code = getattr(function, "__code__", None)
    return code is not None and Path(code.co_filename).parent == _OWN_ROOM


def _in_order(update_state: Callable[..., Any]) -> Callable[..., Any]:
    """The user's function, with all it changes done in the order of its lines; in a graph it gives an operation."""

    def update(*args: Any, **kwargs: Any) -> Any:
        if context.executing_eagerly() or context.get_default_graph().building_function:
            return update_state(*args, **kwargs)
        mode = replica.current()
        number = None if mode is None else mode.copy  # each replica changes variables of its own
        if number not in in_graph:
            in_graph[number] = Function(body, "update_state")
        return in_graph[number](*args, **kwargs).op

    def body(*args: Any, **kwargs: Any) -> Any:
        result = update_state(*args, **kwargs)
        with control_dependencies([] if result is None else [result]):
            return convert_to_tensor(0.0)

    in_graph: dict[int | None, Function] = {}
    return update


class _Reduction(Metric):
    """A running sum, or with ``_counts`` a running mean."""

    _counts: str | None = None  # what the sum is divided by: "values", or "weights" where they are given

    def __init__(self, name: str | None, dtype: Any) -> None:
        super().__init__(name=name, dtype=dtype)
        self.total = self.add_weight("total", initializer="zeros")
        if self._counts:
            self.count = self.add_weight("count", initializer="zeros")

    def update_state(self, values: Any, sample_weight: Any = None) -> Any:
        """Takes a batch of values into account.

        Args:
          values: A tensor.
          sample_weight: The weight of each value, which broadcasts to them; None counts all as 1.

        Returns:
          The operation that does so.
        """
        values = math.cast(values, self._dtype)
        if sample_weight is not None:
            values, sample_weight = weighed(values, math.cast(sample_weight, self._dtype))
        added = self.total.assign_add(reduction.reduce_sum(values))
        if not self._counts:
            return done(added)
        if self._counts == "values" or sample_weight is None:
            number = math.cast(array.size(values), self._dtype)
        else:
            number = reduction.reduce_sum(sample_weight)
        return done(added, self.count.assign_add(number))

    def result(self) -> Any:
        """The figure so far."""
        if not self._counts:
            return raw_ops.Identity(self.total)
        return raw_ops.DivNoNan(self.total, self.count, name="value")


def done(*changes: Any) -> Any:
    """The operation that makes these changes; None where the variables are eager, so that they are made in any case."""
    if any(change.graph.executing_eagerly for change in changes):
        return None
    return group(*(change if isinstance(change, Operation) else change.op for change in changes))


def weighed(values: Any, sample_weight: Any) -> tuple[Any, Any]:
    """The values times their weights, and the weights broadcast to them; values are averaged where weights are for whole rows."""
    values, _, sample_weight = squeeze_or_expand(values, None, sample_weight)
    try:
        sample_weight = broadcast_weights(sample_weight, values)
    except ValueError:
        axes = list(range(sample_weight.shape.ndims, values.shape.ndims))
        values = reduction.reduce_mean(values, axis=axes)
    return raw_ops.Mul(values, sample_weight), sample_weight


class Sum(_Reduction):
    """The sum of all values, each times its weight.

    Args:
      name: The name of the metric.
      dtype: The type of its variables.

    >>> total = tf.keras.metrics.Sum()
    >>> update = total.update_state([1.0, 3.0, 5.0])
    >>> _ = tf.keras.backend.get_session().run(update)
    >>> tf.keras.backend.get_value(total.result())
    np.float32(9.0)
    """

    def __init__(self, name: str | None = "sum", dtype: Any = None) -> None:
        super().__init__(name, dtype)


class Mean(_Reduction):
    """The mean of all values, weighed.

    Args:
      name: The name of the metric.
      dtype: The type of its variables.

    >>> mean = tf.keras.metrics.Mean()
    >>> update = mean.update_state([1.0, 3.0, 5.0, 7.0], sample_weight=[1.0, 1.0, 0.0, 0.0])
    >>> _ = tf.keras.backend.get_session().run(update)
    >>> tf.keras.backend.get_value(mean.result())
    np.float32(2.0)
    """

    _counts = "weights"

    def __init__(self, name: str | None = "mean", dtype: Any = None) -> None:
        super().__init__(name, dtype)


class MeanRelativeError(Mean):
    """The mean of ``|y_pred - y_true| / normalizer``; 0 where the normalizer is 0.

    Args:
      normalizer: What errors are divided by, of the shape of the predictions.
      name: The name of the metric.
      dtype: The type of its variables.

    >>> error = tf.keras.metrics.MeanRelativeError(normalizer=[1.0, 2.0])
    >>> update = error.update_state([1.0, 3.0], [2.0, 4.0])
    >>> _ = tf.keras.backend.get_session().run(update)
    >>> tf.keras.backend.get_value(error.result())
    np.float32(0.75)
    """

    def __init__(self, normalizer: Any, name: str | None = None, dtype: Any = None) -> None:
        super().__init__(name, dtype)
        self.normalizer = normalizer

    def update_state(self, y_true: Any, y_pred: Any, sample_weight: Any = None) -> Any:  # type: ignore[override]
        y_true, y_pred = math.cast(y_true, self._dtype), math.cast(y_pred, self._dtype)
        y_pred, y_true, _ = squeeze_or_expand(y_pred, y_true)
        y_pred.shape.assert_is_compatible_with(y_true.shape)
        error = raw_ops.DivNoNan(raw_ops.Abs(y_true - y_pred), math.cast(self.normalizer, self._dtype))
        return super().update_state(error, sample_weight)

    def get_config(self) -> dict[str, Any]:
        normalizer = self.normalizer
        return {
            "normalizer": normalizer if isinstance(normalizer, Tensor) else np.asarray(normalizer),
            **super().get_config(),
        }


class MeanMetricWrapper(Mean):
    """The mean of what a function of labels and predictions gives; further arguments are passed to it.

    Args:
      fn: A function of labels and predictions that gives a value for each element of the batch.
      name: The name of the metric.
      dtype: The type of its variables.
      **kwargs: Arguments of `fn`.
    """

    def __init__(self, fn: Callable[..., Any], name: str | None = None, dtype: Any = None, **kwargs: Any) -> None:
        super().__init__(name, dtype)
        self._fn = fn
        self._fn_kwargs = kwargs

    def update_state(self, y_true: Any, y_pred: Any, sample_weight: Any = None) -> Any:  # type: ignore[override]
        """Takes a batch into account.

        Args:
          y_true: The labels.
          y_pred: The predictions.
          sample_weight: The weight of each element of the batch; None counts all as 1.

        Returns:
          The operation that does so.
        """
        y_true, y_pred = math.cast(y_true, self._dtype), math.cast(y_pred, self._dtype)
        y_pred, y_true, _ = squeeze_or_expand(y_pred, y_true)
        return super().update_state(self._fn(y_true, y_pred, **self._fn_kwargs), sample_weight)

    def get_config(self) -> dict[str, Any]:
        return {**super().get_config(), **self._fn_kwargs}


class MeanTensor(Metric):
    """The mean of tensors of one shape, element by element, weighed.

    Args:
      name: The name of the metric.
      dtype: The type of its variables.

    >>> mean = tf.keras.metrics.MeanTensor()
    >>> update = mean.update_state([0.0, 1.0])
    >>> with tf.control_dependencies([update]):
    ...     again = mean.update_state([2.0, 3.0])
    >>> _ = tf.keras.backend.get_session().run(again)
    >>> tf.keras.backend.get_value(mean.result())
    array([1., 2.], dtype=float32)
    """

    def __init__(self, name: str | None = "mean_tensor", dtype: Any = None) -> None:
        super().__init__(name=name, dtype=dtype)
        self._shape: Any = None

    @property
    def total(self) -> Any:
        """The sum of the weighed tensors; None before the first."""
        return self._total if self._shape is not None else None

    @property
    def count(self) -> Any:
        """The sum of the weights; None before the first tensor."""
        return self._count if self._shape is not None else None

    def _make(self, shape: Any) -> None:
        self._shape = shape
        self._total = self.add_weight("total", shape=shape, initializer="zeros")
        self._count = self.add_weight("count", shape=shape, initializer="zeros")

    def update_state(self, values: Any, sample_weight: Any = None) -> Any:
        """Takes a tensor into account.

        Args:
          values: A tensor, of the same shape each time.
          sample_weight: The weight of each element, which broadcasts to them; None counts all as 1.

        Returns:
          The operation that does so.
        """
        values = math.cast(values, self._dtype)
        if self._shape is None:
            self._make(values.shape)
        elif values.shape != self._shape:
            raise ValueError(f"MeanTensor got values of shape {values.shape}, before of shape {self._shape} {at()}")
        number = raw_ops.OnesLike(values)
        if sample_weight is not None:
            values, number = weighed(values, math.cast(sample_weight, self._dtype))
        return done(self._total.assign_add(values), self._count.assign_add(number))

    def result(self) -> Any:
        if self._shape is None:
            raise ValueError(
                f"MeanTensor does not have any result yet: call it or use `.update_state(value)` first {at()}"
            )
        return raw_ops.DivNoNan(self._total, self._count)

    def reset_states(self) -> None:
        if self._shape is not None:
            super().reset_states()


MetricClasses.mean = Mean
