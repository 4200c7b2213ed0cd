"""Dense, Dropout and Flatten layers, and their functions."""

from __future__ import annotations

from typing import Any

import numpy as np

from headrace.core.shape import TensorShape, as_shape
from headrace.core.source import at
from headrace.graph import raw_ops
from headrace.graph.convert import convert_to_tensor
from headrace.graph.operation import Tensor
from headrace.library.layers.base import InputSpec, Layer
from headrace.library.layers.function import layer_function
from headrace.library.layers.named import ZEROS, get_activation, get_initializer, get_regularizer
from headrace.library.linalg.tensordot import tensordot
from headrace.library.network import dropout as dropout_library
from headrace.library.network.activation import bias_add
from headrace.library.state.smart_cond import smart_cond
from headrace.library.tensor import array


class Dense(Layer):
    """``activation(inputs @ kernel + bias)`` over the last axis of inputs of rank 2 or more."""

    def __init__(
        self, units: int, activation: Any = None, use_bias: bool = True, kernel_initializer: Any = None,
        bias_initializer: Any = ZEROS, kernel_regularizer: Any = None, bias_regularizer: Any = None,
        activity_regularizer: Any = None, kernel_constraint: Any = None, bias_constraint: Any = None,
        trainable: bool = True, name: Any = None, **kwargs: Any,
    ) -> None:  # fmt: skip
        super().__init__(trainable=trainable, name=name, activity_regularizer=activity_regularizer, **kwargs)
        self.units = int(units)
        self.activation = get_activation(activation)
        self.use_bias = use_bias
        self.kernel_initializer = get_initializer(kernel_initializer)
        self.bias_initializer = get_initializer(bias_initializer)
        self.kernel_regularizer = get_regularizer(kernel_regularizer)
        self.bias_regularizer = get_regularizer(bias_regularizer)
        self.kernel_constraint = kernel_constraint
        self.bias_constraint = bias_constraint
        self.input_spec = InputSpec(min_ndim=2)
        self.kernel: Any = None
        self.bias: Any = None

    def build(self, input_shape: Any) -> None:
        dtype = self._float_dtype()
        width = _last(input_shape)
        if width is None:
            raise ValueError(f"The last dimension of the inputs to `Dense` should be defined. Found `None`. {at()}")
        self.input_spec = InputSpec(min_ndim=2, axes={-1: width})
        self.kernel = self.add_weight(
            "kernel", shape=[width, self.units], initializer=self.kernel_initializer,
            regularizer=self.kernel_regularizer, constraint=self.kernel_constraint, dtype=dtype, trainable=True,
        )  # fmt: skip
        if self.use_bias:
            self.bias = self.add_weight(
                "bias", shape=[self.units], initializer=self.bias_initializer, regularizer=self.bias_regularizer,
                constraint=self.bias_constraint, dtype=dtype, trainable=True,
            )  # fmt: skip
        self.built = True

    def call(self, inputs: Any) -> Tensor:  # type: ignore[override]
        inputs = convert_to_tensor(inputs)
        rank = inputs.shape.ndims
        if self._dtype is not None and inputs.dtype.name != self._dtype:
            inputs = raw_ops.Cast(inputs, DstT=self._dtype)
        if rank is not None and rank > 2:
            outputs = tensordot(inputs, self.kernel, [[rank - 1], [0]])
            outputs.set_shape([*inputs.shape.as_list()[:-1], self.units])
        else:
            outputs = raw_ops.MatMul(inputs, self.kernel)
        if self.use_bias:
            outputs = bias_add(outputs, self.bias)
        return self.activation(outputs) if self.activation is not None else outputs

    def compute_output_shape(self, input_shape: Any) -> TensorShape:
        shape = as_shape(input_shape).with_rank_at_least(2)
        if _last(shape) is None:
            raise ValueError(f"The innermost dimension of input_shape must be defined, but saw: {shape}")
        return shape[:-1].concatenate(self.units)


def _last(shape: Any) -> int | None:
    dims = as_shape(shape).tuple
    return dims[-1] if dims else None


dense = layer_function(
    "dense",
    Dense,
    """A fully connected layer: ``activation(inputs @ kernel + bias)``.

    >>> hidden = tf.layers.dense(tf.zeros([8, 3]), 4, activation=tf.nn.relu)
    >>> [v.name for v in tf.trainable_variables()]
    ['dense/kernel:0', 'dense/bias:0']
    """,
)


class Dropout(Layer):
    """Sets a fraction ``rate`` of the elements to zero while training and scales the others up to keep the mean."""

    def __init__(
        self, rate: Any = 0.5, noise_shape: Any = None, seed: int | None = None, name: Any = None, **kwargs: Any
    ) -> None:
        super().__init__(name=name, **kwargs)
        self.rate = rate
        self.noise_shape = noise_shape
        self.seed = seed

    def call(self, inputs: Any, training: Any = False) -> Any:  # type: ignore[override]
        def dropped() -> Tensor:
            return dropout_library.dropout(inputs, noise_shape=self.noise_shape, seed=self.seed, rate=self.rate)

        training = False if training is None else training
        return smart_cond(training, dropped, lambda: raw_ops.Identity(inputs))

    def compute_output_shape(self, input_shape: Any) -> TensorShape:
        return as_shape(input_shape)


def dropout(
    inputs: Any, rate: Any = 0.5, noise_shape: Any = None, seed: int | None = None, training: Any = False,
    name: str | None = None,
) -> Any:  # fmt: skip
    """Dropout while ``training`` (a bool or a boolean tensor), the identity otherwise.  ``rate`` is what is dropped."""
    return Dropout(rate, noise_shape=noise_shape, seed=seed, name=name).apply(inputs, training=training)


class Flatten(Layer):
    """[batch, ...] -> [batch, product of the rest]; ``channels_first`` inputs are moved to channels-last before."""

    def __init__(self, data_format: str | None = None, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.data_format = normalize_data_format(data_format)
        self.input_spec = InputSpec(min_ndim=1)

    def call(self, inputs: Any) -> Tensor:  # type: ignore[override]
        inputs = convert_to_tensor(inputs)
        rank = inputs.shape.ndims
        if self.data_format == "channels_first" and rank is not None and rank > 1:
            inputs = array.transpose(inputs, [0, *range(2, rank), 1])
        dims = inputs.shape.as_list()
        rest = dims[1:]
        if None not in rest:
            return raw_ops.Reshape(inputs, [-1 if dims[0] is None else dims[0], int(np.prod(rest))])
        if dims[0] is not None:
            return raw_ops.Reshape(inputs, [dims[0], -1])
        sizes: Any = array.shape(inputs)
        outputs = array.reshape(inputs, [sizes[0], -1])
        outputs.set_shape(self.compute_output_shape(inputs.shape))
        return outputs

    def compute_output_shape(self, input_shape: Any) -> TensorShape:
        dims: list[Any] = as_shape(input_shape).with_rank_at_least(1).as_list()
        return TensorShape([dims[0], None if None in dims[1:] else int(np.prod(dims[1:]))])


def flatten(inputs: Any, name: str | None = None, data_format: str = "channels_last") -> Any:
    """Keeps the first axis and flattens the rest: [8, 2, 3] becomes [8, 6]."""
    return Flatten(name=name, data_format=data_format).apply(inputs)


def normalize_data_format(value: str | None) -> str:
    """ "channels_last" (the default) or "channels_first"."""
    value = "channels_last" if value is None else value
    if not isinstance(value, str) or value.lower() not in ("channels_first", "channels_last"):
        raise ValueError(
            f'The `data_format` argument must be one of "channels_first", "channels_last". Received: {value}'
        )
    return value.lower()
