"""InputLayer and Input: where a model of layers begins."""

from __future__ import annotations

from typing import Any

from headrace.core import dtypes
from headrace.core.shape import TensorShape
from headrace.library.backend.config import floatx
from headrace.library.backend.graph import get_graph, graph_state
from headrace.library.backend.keras_tensor import dtype as dtype_of
from headrace.library.backend.keras_tensor import is_symbolic, placeholder
from headrace.library.backend.naming import get_uid
from headrace.library.layers.base_layer import Layer
from headrace.library.layers.node import Node


class InputLayer(Layer):
    """The first layer of a model: a tensor to be fed, or one that is there already.

    Args:
      input_shape: The shape of one example, without the axis of the batch.
      batch_size: The number of examples; None for any.
      dtype: The dtype; None for that of `input_tensor`, or else `tf.keras.backend.floatx`.
      input_tensor: A tensor to begin with, in place of one to be fed.
      sparse: Whether the tensor to be fed is sparse.
      name: The name of the layer; None for "input_1", "input_2", ...
      ragged: Must be False: Headrace has no ragged tensors.
      **kwargs: `batch_input_shape`, the shape with the axis of the batch.

    >>> layer = tf.keras.layers.InputLayer(input_shape=(3,), name="features")
    >>> layer.output.name, layer.output.shape.as_list()
    ('features:0', [None, 3])
    """

    def __init__(
        self, input_shape: Any = None, batch_size: int | None = None, dtype: Any = None, input_tensor: Any = None,
        sparse: bool = False, name: str | None = None, ragged: bool = False, **kwargs: Any,
    ) -> None:  # fmt: skip
        batch_input_shape = kwargs.pop("batch_input_shape", None)
        if kwargs:
            raise ValueError(f"Unrecognized keyword arguments: {list(kwargs)}")
        if ragged:
            raise NotImplementedError("Headrace has no ragged tensors: use a padded tensor with a mask.")
        if input_shape and batch_input_shape:
            raise ValueError(
                "Only provide the input_shape OR batch_input_shape argument to InputLayer, not both at the same time."
            )
        if batch_input_shape:
            batch_size, input_shape = batch_input_shape[0], batch_input_shape[1:]
        if not dtype:
            dtype = floatx() if input_tensor is None else dtype_of(input_tensor)
        elif input_tensor is not None and dtypes.as_dtype(input_tensor.dtype).base_dtype != dtypes.as_dtype(dtype):
            raise ValueError(f"`input_tensor.dtype` differs from `dtype`: {input_tensor.dtype} vs. {dtype}")
        super().__init__(dtype=dtype, name=name or f"input_{get_uid('input')}")
        self.built = True
        self.sparse = bool(sparse)
        self.ragged = False
        self.batch_size = batch_size
        self.supports_masking = True
        self.is_placeholder = input_tensor is None
        if input_tensor is None:
            input_tensor = self._new_tensor(input_shape, batch_size)
        else:
            if not is_symbolic(input_tensor):
                raise ValueError(
                    "You should not pass an EagerTensor to `Input`. For example, instead of creating an InputLayer, you "
                    "should instantiate your model and directly call it on your input."
                )
            dims = input_tensor.shape.tuple
            self._batch_input_shape = None if dims is None else tuple(dims)
        graph_state(input_tensor.graph).has_inputs = True
        Node(self, None, (), {}, input_tensor)

    def _new_tensor(self, input_shape: Any, batch_size: int | None) -> Any:
        if isinstance(input_shape, TensorShape):
            input_shape = tuple(input_shape.as_list())
        elif isinstance(input_shape, int):
            input_shape = (input_shape,)
        shape = None if input_shape is None else (batch_size, *input_shape)
        self._batch_input_shape = shape
        with get_graph().as_default():
            return placeholder(shape=shape, dtype=self.dtype, name=self.name, sparse=self.sparse)

    def get_config(self) -> dict[str, Any]:
        """The arguments that make a layer like this one, as plain data.

        Returns:
          A dictionary.

        >>> sorted(tf.keras.layers.InputLayer(input_shape=(3,)).get_config())
        ['batch_input_shape', 'dtype', 'name', 'ragged', 'sparse']
        """
        return {
            "batch_input_shape": self._batch_input_shape, "dtype": self.dtype, "sparse": self.sparse,
            "ragged": self.ragged, "name": self.name,
        }  # fmt: skip


def Input(  # noqa: N802 - Keras's name
    shape: Any = None, batch_size: int | None = None, name: str | None = None, dtype: Any = None, sparse: bool = False,
    tensor: Any = None, ragged: bool = False, **kwargs: Any,
) -> Any:  # fmt: skip
    """A tensor that a model of layers begins with.

    Args:
      shape: The shape of one example, without the axis of the batch; None for sizes that are not known.
      batch_size: The number of examples; None for any.
      name: The name of the layer and of the tensor; None for "input_1", "input_2", ...
      dtype: The dtype; None for that of `tensor`, or else `tf.keras.backend.floatx`.
      sparse: Whether it is a SparseTensor.
      tensor: A tensor to begin with, in place of one to be fed.
      ragged: Must be False: Headrace has no ragged tensors.
      **kwargs: `batch_shape` or `batch_input_shape`, the shape with the axis of the batch.

    Returns:
      A tensor.

    >>> x = tf.keras.Input(shape=(32,))
    >>> x.name, x.shape.as_list()
    ('input_1:0', [None, 32])
    """
    batch_shape = kwargs.pop("batch_shape", None)
    batch_shape = kwargs.pop("batch_input_shape", batch_shape)
    if kwargs:
        raise ValueError(f"Unrecognized keyword arguments: {list(kwargs)}")
    if shape is not None and batch_shape is not None:
        raise ValueError("Only provide the `shape` OR `batch_shape` argument to Input, not both at the same time.")
    if batch_shape is None and shape is None and tensor is None:
        raise ValueError(
            "Please provide to Input either a `shape` or a `tensor` argument. Note that `shape` does not include the batch "
            "dimension."
        )
    arguments: dict[str, Any] = {
        "name": name,
        "dtype": dtype,
        "sparse": sparse,
        "ragged": ragged,
        "input_tensor": tensor,
    }
    if batch_shape:
        layer = InputLayer(batch_input_shape=tuple(batch_shape), **arguments)
    else:
        layer = InputLayer(input_shape=shape, batch_size=batch_size, **arguments)
    return layer._inbound_nodes[0].outputs
