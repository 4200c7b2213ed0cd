"""Layers that make one tensor of several, element by element or end to end, and their functions.

Elementwise ones broadcast: inputs of fewer axes get axes of length one after the batch's.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import reduce
from typing import Any

from headrace.core.shape import TensorShape, as_shape
from headrace.core.source import at
from headrace.graph.operation import Tensor
from headrace.library.layers.base_layer import Layer
from headrace.library.numeric import math, reduction
from headrace.library.tensor import array, creation

Dims = list[int | None]


def checked_list(layer: Any, inputs: Any, exactly: int | None = None) -> list[Any]:
    """The inputs (or masks, or shapes) of a layer that takes a list of two or more; ValueError for anything else."""
    accepted = "at least 2 inputs" if exactly is None else f"exactly {exactly} inputs"
    if not isinstance(inputs, (list, tuple)):
        raise ValueError(
            f"A `{type(layer).__name__}` layer should be called on a list of {accepted}. Received: {inputs} {at()}"
        )
    if len(inputs) < 2 or exactly not in (None, len(inputs)):
        raise ValueError(
            f"A `{type(layer).__name__}` layer should be called on a list of {accepted}. Got {len(inputs)} inputs {at()}"
        )
    return list(inputs)


def checked_shapes(layer: Any, input_shape: Any, exactly: int | None = None) -> list[Dims | None]:
    """The shapes of a list of inputs, as lists of lengths; None for one of unknown rank."""
    if isinstance(input_shape, TensorShape) or any(d is None or isinstance(d, int) for d in input_shape):
        raise ValueError(
            f"A `{type(layer).__name__}` layer should be called on a list of inputs. Received an input of shape "
            f"{input_shape} {at()}"
        )
    shapes = [as_shape(s) for s in checked_list(layer, input_shape, exactly)]
    return [None if s.ndims is None else s.as_list() for s in shapes]


def checked_masks(inputs: Any, mask: Any) -> list[Any]:
    """A mask for each input; ValueError unless there are as many."""
    for name, value in (("mask", mask), ("inputs", inputs)):
        if not isinstance(value, (list, tuple)):
            raise ValueError(f"`{name}` should be a list. Received: {value} {at()}")
    if len(mask) != len(inputs):
        raise ValueError(
            f"The lists `inputs` and `mask` should have the same length. Received {len(inputs)} inputs and {len(mask)} masks "
            f"{at()}"
        )
    return list(mask)


class Merge(Layer):
    """A layer that makes one tensor of a list of them, element by element."""

    def __init__(self, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.supports_masking = True

    def _merge_function(self, inputs: list[Any]) -> Tensor:
        """The result for inputs of equal ranks."""
        raise NotImplementedError(f"{type(self).__name__} does not say how it merges its inputs")

    def build(self, input_shape: Any) -> None:
        self.compute_output_shape(input_shape)
        super().build(input_shape)

    def call(self, inputs: Any) -> Any:  # type: ignore[override]
        inputs = checked_list(self, inputs)
        ranks = [x.shape.ndims for x in inputs]
        if len(set(ranks)) > 1 or None in ranks:
            inputs = _of_one_rank(inputs, ranks)
        return self._merge_function(inputs)

    def compute_output_shape(self, input_shape: Any) -> TensorShape:
        shapes = checked_shapes(self, input_shape)
        batches = {s[0] for s in shapes if s} - {None}
        if len(batches) > 1:
            raise ValueError(
                f"Can not merge tensors with different batch sizes. Got tensors with shapes: {shapes} {at()}"
            )
        if any(s is None for s in shapes):
            return TensorShape(None)
        rest: Dims = reduce(_broadcast, [s[1:] for s in shapes if s is not None])
        return TensorShape([batches.pop() if batches else None, *rest])

    def compute_mask(self, inputs: Any, mask: Any = None) -> Any:
        if mask is None:
            return None
        masks = [array.expand_dims(m, 0) for m in checked_masks(inputs, mask) if m is not None]
        return reduction.reduce_all(array.concat(masks, axis=0), axis=0) if masks else None


def _broadcast(a: Dims, b: Dims) -> Dims:
    if len(a) < len(b):
        a, b = b, a
    outer: Dims = a[: len(a) - len(b)]
    for i, j in zip(a[len(outer) :], b, strict=True):
        if i is not None and j is not None and i != j and 1 not in (i, j):
            raise ValueError(f"Operands could not be broadcast together with shapes {a} {b} {at()}")
        outer = [*outer, None if i is None or j is None else j if i == 1 else i]
    return outer


def _of_one_rank(inputs: list[Any], ranks: Sequence[int | None]) -> list[Any]:
    """The inputs with axes of length one after the batch's, as many as they lack."""
    known = [r for r in ranks if r is not None]
    if len(known) == len(ranks):
        widened = []
        for x, rank in zip(inputs, known, strict=True):
            for _ in range(max(known) - rank):
                x = array.expand_dims(x, 1)
            widened.append(x)
        return widened
    sizes: list[Any] = [array.shape(x) for x in inputs]
    most = reduce(math.maximum, [array.rank(x) for x in inputs])
    filled = [creation.ones(array.expand_dims(most - array.rank(x), 0), "int32") for x in inputs]
    return [
        array.reshape(x, array.concat([s[:1], ones, s[1:]], 0))
        for x, s, ones in zip(inputs, sizes, filled, strict=True)
    ]


class Add(Merge):
    """The sum of a list of tensors.

    Args:
      **kwargs: What every layer takes, such as ``name``.

    >>> a, b = tf.constant([[1.0, 2.0]]), tf.constant([[10.0, 20.0]])
    >>> tf.Session().run(tf.keras.layers.Add()([a, b])).tolist()
    [[11.0, 22.0]]
    """

    def _merge_function(self, inputs: list[Any]) -> Tensor:
        return reduce(lambda a, b: a + b, inputs)


class Subtract(Merge):
    """The first of two tensors less the second.

    Args:
      **kwargs: What every layer takes, such as ``name``.

    >>> a, b = tf.constant([[1.0, 2.0]]), tf.constant([[10.0, 20.0]])
    >>> tf.Session().run(tf.keras.layers.Subtract()([a, b])).tolist()
    [[-9.0, -18.0]]
    """

    def build(self, input_shape: Any) -> None:
        checked_shapes(self, input_shape, exactly=2)
        super().build(input_shape)

    def _merge_function(self, inputs: list[Any]) -> Tensor:
        first, second = checked_list(self, inputs, exactly=2)
        return first - second


class Multiply(Merge):
    """The product of a list of tensors, element by element.

    Args:
      **kwargs: What every layer takes, such as ``name``.

    >>> a, b = tf.constant([[1.0, 2.0]]), tf.constant([[10.0, 20.0]])
    >>> tf.Session().run(tf.keras.layers.Multiply()([a, b])).tolist()
    [[10.0, 40.0]]
    """

    def _merge_function(self, inputs: list[Any]) -> Tensor:
        return reduce(lambda a, b: a * b, inputs)


class Average(Merge):
    """The mean of a list of tensors, element by element.

    Args:
      **kwargs: What every layer takes, such as ``name``.

    >>> a, b = tf.constant([[1.0, 2.0]]), tf.constant([[3.0, 6.0]])
    >>> tf.Session().run(tf.keras.layers.Average()([a, b])).tolist()
    [[2.0, 4.0]]
    """

    def _merge_function(self, inputs: list[Any]) -> Tensor:
        return reduce(lambda a, b: a + b, inputs) / len(inputs)


class Maximum(Merge):
    """The largest of a list of tensors, element by element.

    Args:
      **kwargs: What every layer takes, such as ``name``.

    >>> a, b = tf.constant([[1.0, 20.0]]), tf.constant([[10.0, 2.0]])
    >>> tf.Session().run(tf.keras.layers.Maximum()([a, b])).tolist()
    [[10.0, 20.0]]
    """

    def _merge_function(self, inputs: list[Any]) -> Tensor:
        return reduce(math.maximum, inputs)


class Minimum(Merge):
    """The smallest of a list of tensors, element by element.

    Args:
      **kwargs: What every layer takes, such as ``name``.

    >>> a, b = tf.constant([[1.0, 20.0]]), tf.constant([[10.0, 2.0]])
    >>> tf.Session().run(tf.keras.layers.Minimum()([a, b])).tolist()
    [[1.0, 2.0]]
    """

    def _merge_function(self, inputs: list[Any]) -> Tensor:
        return reduce(math.minimum, inputs)


class Concatenate(Merge):
    """Tensors one after the other along an axis; their other axes have equal lengths.

    Args:
      axis: The axis along which they are joined.
      **kwargs: What every layer takes, such as ``name``.

    >>> a, b = tf.zeros([2, 3]), tf.zeros([2, 5])
    >>> tf.keras.layers.Concatenate()([a, b]).shape.as_list()
    [2, 8]
    """

    def __init__(self, axis: int = -1, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.axis = axis

    def call(self, inputs: Any) -> Any:
        return array.concat(checked_list(self, inputs), axis=self.axis)

    def compute_output_shape(self, input_shape: Any) -> TensorShape:
        shapes = [s for s in checked_shapes(self, input_shape) if s is not None]
        if len(shapes) < len(input_shape):
            return TensorShape(None)
        others = [s[: self.axis % len(s)] + s[self.axis % len(s) + 1 :] for s in shapes]
        if any(not as_shape(o).is_compatible_with(others[0]) for o in others):
            raise ValueError(
                "A `Concatenate` layer requires inputs with matching shapes except for the concat axis. Got inputs shapes: "
                f"{shapes} {at()}"
            )
        lengths = [s[self.axis] for s in shapes]
        known = [n for n in lengths if n is not None]
        merged = list(shapes[0])
        merged[self.axis] = sum(known) if len(known) == len(lengths) else None
        return TensorShape(merged)

    def compute_mask(self, inputs: Any, mask: Any = None) -> Any:
        if mask is None or all(m is None for m in checked_masks(inputs, mask)):
            return None
        masks = []
        for x, m in zip(inputs, mask, strict=True):
            every = creation.ones_like(x, dtype="bool")
            if m is not None:
                every = math.logical_and(every, array.expand_dims(m, -1) if m.shape.ndims < x.shape.ndims else m)
            masks.append(every)
        return reduction.reduce_all(array.concat(masks, axis=self.axis), axis=-1)

    def get_config(self) -> dict[str, Any]:
        return {**super().get_config(), "axis": self.axis}


def _function(name: str, layer: Callable[..., Any], what: str, example: str) -> Callable[..., Any]:
    """The function of a layer that takes a list of tensors and nothing else."""

    def merged(inputs: Any, **kwargs: Any) -> Any:
        return layer(**kwargs)(inputs)

    merged.__name__ = merged.__qualname__ = name
    merged.__doc__ = f"""{what}.

    Args:
      inputs: A list of two or more tensors.
      **kwargs: What every layer takes, such as ``name``.

    Returns:
      A tensor.

    >>> a, b = tf.constant([[1.0, 20.0]]), tf.constant([[10.0, 2.0]])
    >>> tf.Session().run(tf.keras.layers.{name}([a, b])).tolist()
    {example}
    """
    return merged


add = _function("add", Add, "The sum of a list of tensors", "[[11.0, 22.0]]")
subtract = _function("subtract", Subtract, "The first of two tensors less the second", "[[-9.0, 18.0]]")
multiply = _function("multiply", Multiply, "The product of a list of tensors", "[[10.0, 40.0]]")
average = _function("average", Average, "The mean of a list of tensors", "[[5.5, 11.0]]")
maximum = _function("maximum", Maximum, "The largest of a list of tensors, element by element", "[[10.0, 20.0]]")
minimum = _function("minimum", Minimum, "The smallest of a list of tensors, element by element", "[[1.0, 2.0]]")


def concatenate(inputs: Any, axis: int = -1, **kwargs: Any) -> Any:
    """Tensors one after the other along an axis.

    Args:
      inputs: A list of two or more tensors, whose other axes have equal lengths.
      axis: The axis along which they are joined.
      **kwargs: What every layer takes, such as ``name``.

    Returns:
      A tensor.

    >>> tf.keras.layers.concatenate([tf.zeros([2, 3]), tf.zeros([2, 5])]).shape.as_list()
    [2, 8]
    """
    return Concatenate(axis=axis, **kwargs)(inputs)
