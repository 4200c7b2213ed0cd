"""The layers Dense, Activation, ActivityRegularization and Masking."""

from __future__ import annotations

from typing import Any

from headrace.core.shape import TensorShape, as_shape
from headrace.core.source import at
from headrace.graph import raw_ops
from headrace.graph.convert import convert_to_tensor
from headrace.graph.operation import Tensor
from headrace.graph.structures import SparseTensor
from headrace.library.layers import activations, regularizers
from headrace.library.layers import weight_arguments as weight
from headrace.library.layers.base_layer import Layer
from headrace.library.layers.spec import InputSpec
from headrace.library.linalg.tensordot import tensordot
from headrace.library.network.activation import bias_add
from headrace.library.numeric import math, reduction
from headrace.library.sparse.math import sparse_tensor_dense_matmul


class Dense(Layer):
    """``activation(inputs @ kernel + bias)`` over the last axis of inputs of rank 2 or more.

    Args:
      units: The number of outputs.
      activation: A function of the result, or its name; None for none.
      use_bias: Whether a bias is added.
      kernel_initializer, bias_initializer: What makes the first values: an initializer, or its name.
      kernel_regularizer, bias_regularizer: Functions of a weight that give a loss, or None.
      activity_regularizer: A function of the output that gives a loss, or None.
      kernel_constraint, bias_constraint: Functions that an optimizer applies to a weight after each update, or None.
      **kwargs: What every layer takes, such as ``name``.

    >>> x = tf.keras.layers.Dense(4, activation="relu")(tf.zeros([8, 3]))
    >>> x.shape.as_list()
    [8, 4]
    """

    def __init__(
        self, units: int, activation: Any = None, use_bias: bool = True, kernel_initializer: Any = "glorot_uniform",
        bias_initializer: Any = "zeros", kernel_regularizer: Any = None, bias_regularizer: Any = None,
        activity_regularizer: Any = None, kernel_constraint: Any = None, bias_constraint: Any = None, **kwargs: Any,
    ) -> None:  # fmt: skip
        if "input_dim" in kwargs:
            kwargs.setdefault("input_shape", (kwargs.pop("input_dim"),))
        super().__init__(activity_regularizer=regularizers.get(activity_regularizer), **kwargs)
        self.units = int(units)
        self.activation = activations.get(activation)
        self.use_bias = use_bias
        weight.keep_arguments(self, "kernel", kernel_initializer, kernel_regularizer, kernel_constraint)
        weight.keep_arguments(self, "bias", bias_initializer, bias_regularizer, bias_constraint)
        self.supports_masking = True
        self.input_spec = InputSpec(min_ndim=2)
        self.kernel: Any = None
        self.bias: Any = None

    def build(self, input_shape: Any) -> None:
        dtype = self._float_dtype()
        width = _last(input_shape)
        if width is None:
            raise ValueError(f"The last dimension of the inputs to `Dense` should be defined. Found `None`. {at()}")
        self.input_spec = InputSpec(min_ndim=2, axes={-1: width})
        self.kernel = weight.make(self, "kernel", [width, self.units], dtype)
        if self.use_bias:
            self.bias = weight.make(self, "bias", [self.units], dtype)
        self.built = True

    def call(self, inputs: Any) -> Tensor:  # type: ignore[override]
        if isinstance(inputs, SparseTensor):
            outputs = sparse_tensor_dense_matmul(inputs, self.kernel)
        else:
            outputs = self._product(convert_to_tensor(inputs))
        if self.use_bias:
            outputs = bias_add(outputs, self.bias)
        return self.activation(outputs) if self.activation is not None else outputs

    def _product(self, inputs: Tensor) -> Tensor:
        rank = inputs.shape.ndims
        if self._dtype is not None and inputs.dtype.name != self._dtype:
            inputs = raw_ops.Cast(inputs, DstT=self._dtype)
        if rank is None or rank <= 2:
            return raw_ops.MatMul(inputs, self.kernel)
        outputs = tensordot(inputs, self.kernel, [[rank - 1], [0]])
        outputs.set_shape([*inputs.shape.as_list()[:-1], self.units])
        return outputs

    def compute_output_shape(self, input_shape: Any) -> TensorShape:
        shape = as_shape(input_shape).with_rank_at_least(2)
        if _last(shape) is None:
            raise ValueError(f"The innermost dimension of input_shape must be defined, but saw: {shape}")
        return shape[:-1].concatenate(self.units)

    def get_config(self) -> dict[str, Any]:
        return {
            **super().get_config(), "units": self.units, "activation": activations.serialize(self.activation),
            "use_bias": self.use_bias, **weight.config(self, "kernel", "bias"),
            "activity_regularizer": regularizers.serialize(self.activity_regularizer),
        }  # fmt: skip


def _last(shape: Any) -> int | None:
    dims = as_shape(shape).tuple
    return dims[-1] if dims else None


class Activation(Layer):
    """An activation function as a layer.

    Args:
      activation: A function of a tensor, or its name.
      **kwargs: What every layer takes, such as ``name``.

    >>> tf.Session().run(tf.keras.layers.Activation("relu")(tf.constant([-1.0, 2.0]))).tolist()
    [0.0, 2.0]
    """

    def __init__(self, activation: Any, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.supports_masking = True
        self.activation = activations.get(activation)

    def call(self, inputs: Any) -> Any:  # type: ignore[override]
        return self.activation(inputs)

    def compute_output_shape(self, input_shape: Any) -> TensorShape:
        return as_shape(input_shape)

    def get_config(self) -> dict[str, Any]:
        return {**super().get_config(), "activation": activations.serialize(self.activation)}


class ActivityRegularization(Layer):
    """Adds a loss for the size of its inputs, which it passes on.

    Args:
      l1: The factor of the sum of absolute values.
      l2: The factor of the sum of squares.
      **kwargs: What every layer takes, such as ``name``.

    >>> layer = tf.keras.layers.ActivityRegularization(l1=0.5)
    >>> y = layer(tf.constant([[3.0, -4.0]]))
    >>> tf.Session().run(layer.losses)
    [np.float32(3.5)]
    """

    def __init__(self, l1: float = 0.0, l2: float = 0.0, **kwargs: Any) -> None:
        super().__init__(activity_regularizer=regularizers.L1L2(l1=l1, l2=l2), **kwargs)
        self.supports_masking = True
        self.l1 = l1
        self.l2 = l2

    def compute_output_shape(self, input_shape: Any) -> TensorShape:
        return as_shape(input_shape)

    def get_config(self) -> dict[str, Any]:
        return {**super().get_config(), "l1": self.l1, "l2": self.l2}


class Masking(Layer):
    """Marks the time steps whose features all equal a value, so that later layers leave them out.

    Args:
      mask_value: The value of a step to be left out.
      **kwargs: What every layer takes, such as ``name``.

    >>> layer = tf.keras.layers.Masking(mask_value=-1.0)
    >>> x = tf.constant([[[1.0, 2.0], [-1.0, -1.0]]])
    >>> tf.Session().run([layer(x), layer.compute_mask(x)])[1].tolist()
    [[True, False]]
    """

    def __init__(self, mask_value: float = 0.0, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.supports_masking = True
        self.mask_value = mask_value

    def compute_mask(self, inputs: Any, mask: Any = None) -> Tensor:
        return reduction.reduce_any(math.not_equal(inputs, self.mask_value), axis=-1)

    def call(self, inputs: Any) -> Tensor:  # type: ignore[override]
        seen = reduction.reduce_any(math.not_equal(inputs, self.mask_value), axis=-1, keepdims=True)
        return inputs * math.cast(seen, inputs.dtype)

    def compute_output_shape(self, input_shape: Any) -> TensorShape:
        return as_shape(input_shape)

    def get_config(self) -> dict[str, Any]:
        return {**super().get_config(), "mask_value": self.mask_value}
