"""Facts about tensors as Keras states them: shapes as tuples, dtypes as strings, whether a layer made them."""

from __future__ import annotations

from typing import Any

from headrace.core import dtypes
from headrace.core.registry import REGISTRY
from headrace.core.shape import TensorShape
from headrace.eager.tensor import Immediate
from headrace.graph.operation import Tensor
from headrace.graph.structures import SparseTensor
from headrace.library import nest
from headrace.library.backend.config import floatx
from headrace.library.backend.graph import get_graph, in_keras_graph
from headrace.library.state.variable import Variable
from headrace.library.tensor.creation import placeholder as tf_placeholder
from headrace.library.tensor.creation import sparse_placeholder


def is_symbolic(value: Any) -> bool:
    """Whether the value is a tensor of a graph, with no value yet."""
    return (isinstance(value, Tensor) and not isinstance(value, Immediate)) or (
        isinstance(value, SparseTensor) and is_symbolic(value.values)
    )


def is_tensor(value: Any) -> bool:
    """Whether the value is a tensor, sparse ones and variables included."""
    return isinstance(value, (Tensor, SparseTensor, Variable))


def is_keras_tensor(x: Any) -> bool:
    """Whether a Keras layer (or `tf.keras.Input`) made the tensor.

    Args:
      x: A tensor.

    Returns:
      A Python bool.

    >>> tf.keras.backend.is_keras_tensor(tf.keras.Input([2]))
    True
    >>> tf.keras.backend.is_keras_tensor(tf.zeros([2]))
    False
    """
    if not is_tensor(x):
        raise ValueError(
            f"Unexpectedly found an instance of type `{type(x).__name__}`. Expected a symbolic tensor instance."
        )
    return hasattr(x, "_keras_history")


def int_shape(x: Any) -> tuple[int | None, ...] | None:
    """The static shape of a tensor or variable.

    Args:
      x: A tensor or variable.

    Returns:
      A tuple of ints, None for sizes that are not known; None if not even the rank is.

    >>> tf.keras.backend.int_shape(tf.keras.Input([3]))
    (None, 3)
    """
    shape = getattr(x, "shape", None)
    if shape is None:
        return None
    dims = TensorShape(shape).tuple
    return None if dims is None else tuple(dims)


def dtype(x: Any) -> str:
    """The dtype of a tensor or variable.

    Args:
      x: A tensor or variable.

    Returns:
      A string, such as "float32".

    >>> tf.keras.backend.dtype(tf.keras.Input([3]))
    'float32'
    """
    return dtypes.as_dtype(x.dtype).base_dtype.name


def ndim(x: Any) -> int | None:
    """The number of axes of a tensor.

    Args:
      x: A tensor or variable.

    Returns:
      An int, or None if it is not known.

    >>> tf.keras.backend.ndim(tf.keras.Input([3]))
    2
    """
    return x.shape.ndims


def is_sparse(tensor: Any) -> bool:
    """Whether a tensor is a SparseTensor.

    Args:
      tensor: A tensor.

    Returns:
      A Python bool.

    >>> tf.keras.backend.is_sparse(tf.keras.backend.placeholder([2, 2], sparse=True))
    True
    """
    return isinstance(tensor, SparseTensor)


def placeholder(
    shape: Any = None, ndim: int | None = None, dtype: Any = None, sparse: bool = False, name: str | None = None,
    ragged: bool = False,
) -> Any:  # fmt: skip
    """A tensor to be fed.

    Args:
      shape: Its shape, with None for sizes that are not known.
      ndim: The number of its axes, if no `shape` is given.
      dtype: The type of its elements; None for `floatx`.
      sparse: Whether it is a SparseTensor.
      name: A name for the op.
      ragged: Must be False: Headrace has no ragged tensors.

    Returns:
      A tensor.

    >>> x = tf.keras.backend.placeholder(shape=(2, 4, 5))
    >>> tf.keras.backend.int_shape(x)
    (2, 4, 5)
    """
    if ragged:
        raise NotImplementedError("Headrace has no ragged tensors: use a padded tensor with a mask.")
    dtype = dtypes.as_dtype(dtype or floatx())
    if shape is None and ndim is not None:
        shape = (None,) * ndim
    graph = get_graph()
    with graph.as_default():
        if sparse:
            return sparse_placeholder(dtype, shape=shape, name=name)
        if in_keras_graph(graph):
            return _argument(graph, dtype, shape, name)
        return tf_placeholder(dtype, shape=shape, name=name)


def _argument(graph: Any, dtype: Any, shape: Any, name: str | None) -> Any:
    """What is fed in the Keras graph, which has no session: an argument of the body that it is."""
    attrs = {"dtype": dtype.base_dtype, "shape": TensorShape(shape)}
    return graph.create_op(REGISTRY.get("_Arg"), [], [dtype], name=name or "Placeholder", attrs=attrs)._outputs[0]


def is_placeholder(x: Any) -> bool:
    """Whether a tensor is one to be fed.

    Args:
      x: A tensor.

    Returns:
      A Python bool.

    >>> tf.keras.backend.is_placeholder(tf.keras.backend.placeholder([2]))
    True
    """
    try:
        return x.op.type in ("Placeholder", "_Arg")
    except AttributeError:
        return False


def unnested(structure: Any) -> Any:
    """The only tensor of a structure, or the structure if it has several."""
    flat = nest.flatten(structure)
    return flat[0] if not isinstance(structure, dict) and len(flat) == 1 else structure
