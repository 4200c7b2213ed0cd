"""Weights of losses and metrics: how they fit the values they weigh, and dimensions of size one that may be left out.

A weight is a scalar, or has the rank of the values with each dimension equal to theirs or one.  Nothing else
broadcasts: a vector of weights for a matrix of values is almost always a mistake.
"""

from __future__ import annotations

from typing import Any

from headrace.graph import raw_ops
from headrace.graph.convert import convert_to_tensor
from headrace.graph.operation import Operation, Tensor
from headrace.library.control.assertion import Assert
from headrace.library.control.control_flow import cond
from headrace.library.control.dependency import no_op
from headrace.library.scope import control_dependencies, name_scope
from headrace.library.tensor import array, creation

_PROBLEM = "weights can not be broadcast to values."


def assert_broadcastable(weights: Any, values: Any) -> Operation:
    """An op that fails unless the weights fit the values; ValueError where the static shapes already say so."""
    with name_scope(None, "assert_broadcastable", [weights, values]) as scope:
        values = convert_to_tensor(values, name="values")
        weights = convert_to_tensor(weights, name="weights")
        if _fits_statically(weights, values):
            return no_op(name=scope)
        with control_dependencies(None):
            fits = _fits_dynamically(weights, values)
        is_scalar = raw_ops.Equal(raw_ops.Rank(weights), 0)
        message = [
            _PROBLEM, "weights.shape=", weights.name, array.shape(weights),
            "values.shape=", values.name, array.shape(values), "is_scalar=", is_scalar,
        ]  # fmt: skip
        return Assert(fits, message, name="AssertGuard")


def _fits_statically(weights: Tensor, values: Tensor) -> bool:
    """True if the static shapes fit, False if they do not say."""
    weights_shape, values_shape = weights.shape.tuple, values.shape.tuple
    if weights_shape == ():
        return True
    if weights_shape is None or values_shape is None:
        return False
    problem = f"{_PROBLEM} values.rank={len(values_shape)}. weights.rank={len(weights_shape)}."
    problem += f" values.shape={values.shape}. weights.shape={weights.shape}."
    if len(weights_shape) != len(values_shape):
        raise ValueError(problem)
    fits = True
    for a, b in zip(weights_shape, values_shape, strict=True):
        if a is None or (b is None and a != 1):
            fits = False
        elif a not in (1, b):
            raise ValueError(problem)
    return fits


def _fits_dynamically(weights: Tensor, values: Tensor) -> Tensor:
    weights_shape, values_shape = raw_ops.Shape(weights), raw_ops.Shape(values)

    def dimensions_fit() -> Tensor:
        equal = raw_ops.LogicalOr(raw_ops.Equal(weights_shape, values_shape), raw_ops.Equal(weights_shape, 1))
        return raw_ops.All(equal, [0])

    if weights.shape.ndims is not None and weights.shape.ndims == values.shape.ndims:
        return dimensions_fit()
    no = convert_to_tensor(False)
    rank = raw_ops.Size(weights_shape)
    ranked = cond(raw_ops.Equal(rank, raw_ops.Size(values_shape)), dimensions_fit, lambda: raw_ops.Identity(no))
    return raw_ops.LogicalOr(raw_ops.Equal(rank, 0), ranked)


def broadcast_weights(weights: Any, values: Any) -> Tensor:
    """The weights repeated to the shape of the values, checked."""
    with name_scope(None, "broadcast_weights", [weights, values]) as scope:
        values = convert_to_tensor(values, name="values")
        weights = convert_to_tensor(weights, dtype=values.dtype.base_dtype, name="weights")
        same = weights.shape.is_fully_defined() and values.shape.is_fully_defined()
        if same and weights.shape.tuple == values.shape.tuple:
            return weights
        with control_dependencies([assert_broadcastable(weights, values)]):
            return raw_ops.Mul(weights, creation.ones_like(values), name=scope)


def squeezed_if_longer(tensor: Tensor, excess: Tensor) -> Tensor:
    """The tensor without its last dimension, of size one, if ``excess`` is 1 when it runs."""
    dims = tensor.shape.tuple
    if dims is not None and (not dims or dims[-1] not in (1, None)):
        return tensor
    return cond(raw_ops.Equal(excess, 1), lambda: array.squeeze(tensor, [-1]), lambda: raw_ops.Identity(tensor))


def remove_squeezable_dimensions(
    labels: Any, predictions: Any, expected_rank_diff: int = 0, name: str | None = None
) -> tuple[Tensor, Tensor]:
    """Squeezes a last dimension of size one where the ranks differ by one more, or less, than expected.

    Where a rank is not known, that happens when it runs.
    """
    with name_scope(name, "remove_squeezable_dimensions", [labels, predictions]):
        labels, predictions = convert_to_tensor(labels), convert_to_tensor(predictions)
        label_rank, prediction_rank = labels.shape.ndims, predictions.shape.ndims
        if label_rank is None or prediction_rank is None:
            excess = raw_ops.Rank(predictions) - raw_ops.Rank(labels) - expected_rank_diff
            return squeezed_if_longer(labels, -excess), squeezed_if_longer(predictions, excess)
        difference = prediction_rank - label_rank
        if difference == expected_rank_diff + 1 and predictions.shape.tuple[-1] in (1, None):
            predictions = array.squeeze(predictions, [-1])
        elif difference == expected_rank_diff - 1 and labels.shape.tuple[-1] in (1, None):
            labels = array.squeeze(labels, [-1])
        return labels, predictions
