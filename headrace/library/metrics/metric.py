"""What metrics share: their local variables, the fitting of labels, predictions and weights, and their collections."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from headrace.core import dtypes
from headrace.graph import context, raw_ops
from headrace.graph.collection import GraphKeys
from headrace.graph.convert import convert_to_tensor
from headrace.graph.operation import Tensor
from headrace.library.control.control_flow import cond
from headrace.library.losses.weights import remove_squeezable_dimensions, squeezed_if_longer
from headrace.library.numeric import math
from headrace.library.state.variable import Variable
from headrace.library.state.variable_creator import VariableAggregation, VariableSynchronization
from headrace.library.tensor import array, creation

Result = tuple[Any, Any]
Collections = str | Sequence[str] | None


def help_text(summary: str, arguments: str, weights: str, returns: str, example: str) -> str:
    """The docstring of a metric that a factory makes: ``example`` is a call, and what its update gives."""
    call, _, shown = example.partition(" -> ")
    return f"""{summary}

Args:
{arguments}
  weights: {weights}; 0 leaves it out, None counts all as 1.
  metrics_collections: The collections to add the value to; None for none.
  updates_collections: The collections to add the update to; None for none.
  name: A name for the variables' scope; None for that of the metric.

Returns:
  Two {returns}: the value so far, and the update, which takes one more batch into account. Initialize the local
  variables first.

>>> value, update = {call}
>>> with tf.Session() as session:
...     session.run(tf.local_variables_initializer())
...     session.run(update).tolist()
{shown}
"""


def metric_variable(shape: Any, dtype: Any, validate_shape: bool = True, name: str | None = None) -> Any:
    """A zero that counts: in LOCAL_VARIABLES and METRIC_VARIABLES, not trained, not saved."""
    variable: Any = Variable(
        lambda: creation.zeros(shape, dtype), trainable=False, validate_shape=validate_shape, name=name,
        collections=[GraphKeys.LOCAL_VARIABLES, GraphKeys.METRIC_VARIABLES],
        synchronization=VariableSynchronization.ON_READ, aggregation=VariableAggregation.SUM,
    )  # fmt: skip
    variable._reads_all = True  # in a distribution strategy a metric's value is that of all replicas
    return variable


def collected(value: Any, update: Any, metrics_collections: Collections, updates_collections: Collections) -> Result:
    """(value, update), each added to the collections named for it."""
    graph = context.get_default_graph()
    if metrics_collections:
        graph.add_to_collections(metrics_collections, value)
    if updates_collections:
        graph.add_to_collections(updates_collections, update)
    return value, update


def fitted(predictions: Any, labels: Any = None, weights: Any = None) -> tuple[Tensor, Any, Any]:
    """(predictions, labels, weights) with trailing dimensions of one dropped, or added to weights, so that they fit."""
    predictions = convert_to_tensor(predictions)
    if labels is not None:
        labels, predictions = remove_squeezable_dimensions(labels, predictions)
        predictions.shape.assert_is_compatible_with(labels.shape)
    if weights is None:
        return predictions, labels, None
    weights = convert_to_tensor(weights)
    rank, weights_rank = predictions.shape.ndims, weights.shape.ndims
    if weights_rank == 0:
        return predictions, labels, weights
    if rank is None or weights_rank is None:
        return predictions, labels, _fitted_when_run(weights, predictions)
    if weights_rank - rank == 1 and weights.shape.tuple[-1] in (1, None):
        weights = array.squeeze(weights, [-1])
    elif rank - weights_rank == 1:
        weights = array.expand_dims(weights, -1)
    return predictions, labels, weights


def _fitted_when_run(weights: Tensor, predictions: Tensor) -> Tensor:
    """Weights with a dimension of one dropped or added at the end, where ranks are known only when it runs."""
    rank = raw_ops.Rank(weights)
    excess = rank - raw_ops.Rank(predictions)
    is_short = raw_ops.LogicalAnd(raw_ops.Equal(excess, -1), raw_ops.Greater(rank, 0))
    longer: Tensor = cond(is_short, lambda: array.expand_dims(weights, -1), lambda: raw_ops.Identity(weights))
    return squeezed_if_longer(longer, excess)


def as_floats(predictions: Any, labels: Any, weights: Any = None) -> tuple[Tensor, Tensor, Any]:
    """``fitted`` as float32."""
    return fitted(math.cast(predictions, dtypes.float32), math.cast(labels, dtypes.float32), weights)


def as_bools(predictions: Any, labels: Any, weights: Any = None) -> tuple[Tensor, Tensor, Any]:
    """``fitted`` as truth values."""
    return fitted(math.cast(predictions, dtypes.bool), math.cast(labels, dtypes.bool), weights)
