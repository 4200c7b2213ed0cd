"""Sparse tensors as components of elements: one host value of dtype variant each."""

from __future__ import annotations

import torch

from headrace.core.dtypes import ANY
from headrace.core.errors import InvalidArgumentError
from headrace.core.registry import op
from headrace.core.shape import TensorShape
from headrace.resources.data.sparse import SparseValue

to_element = op(
    "_SparseToElement(indices: int64[2], values: T[1], dense_shape: int64[1]) -> (element: variant)",
    T=ANY,
    host=True,
    keeps=True,
)
to_element.not_differentiable()
to_element.shape(lambda indices, values, dense_shape: ())


@to_element.kernel
def _(indices, values, dense_shape):
    return SparseValue(indices, values, dense_shape.tolist())


from_element = op(
    "_SparseFromElement(element: variant; T: type, shape: shape = None) -> (indices: int64, values: T, dense_shape: int64)",
    T=ANY,
    host=True,
    view=True,
)
from_element.not_differentiable()


@from_element.shape
def _(element, T, shape):  # noqa: N803
    rank = TensorShape(shape).ndims
    return (None, rank), (None,), (rank,)


@from_element.kernel
def _(element, T, shape):  # noqa: N803
    if not isinstance(element, SparseValue):
        raise InvalidArgumentError(None, None, f"a sparse element is needed, got a {type(element).__name__}")
    return element.indices, element.values, torch.tensor(element.shape, dtype=torch.int64)
