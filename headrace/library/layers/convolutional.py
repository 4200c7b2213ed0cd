"""Convolution layers over one, two or three axes, and their functions.  Separable and transposed ones are next door."""

from __future__ import annotations

from collections.abc import Callable
from inspect import Signature, signature
from typing import Any

from headrace.core.shape import TensorShape, as_shape
from headrace.core.source import at
from headrace.graph.operation import Tensor
from headrace.library.layers.base import InputSpec, Layer
from headrace.library.layers.core import normalize_data_format
from headrace.library.layers.function import layer_function
from headrace.library.layers.named import ZEROS, get_activation, get_initializer, get_regularizer
from headrace.library.network.activation import bias_add
from headrace.library.network.spatial import convolution
from headrace.library.tensor import array

_OP_NAMES = {1: "conv1d", 2: "Conv2D", 3: "Conv3D"}
_LAYOUTS = {1: ("NWC", "NCW"), 2: ("NHWC", "NCHW"), 3: ("NDHWC", "NCDHW")}


def numbers(value: Any, count: int, name: str) -> tuple[int, ...]:
    """An integer for each of ``count`` axes: one for all, or as many as there are axes."""
    if isinstance(value, int):
        return (value,) * count
    try:
        values = tuple(int(v) for v in value)
    except (TypeError, ValueError):
        values = ()
    if len(values) != count:
        raise ValueError(f"The `{name}` argument must be a tuple of {count} integers. Received: {value} {at()}")
    return values


def normalize_padding(value: Any, causal: bool = False) -> str:
    """ "valid" or "same" ("causal" where allowed)."""
    allowed = ("valid", "same", "causal") if causal else ("valid", "same")
    if not isinstance(value, str) or value.lower() not in allowed:
        accepted = ", ".join(f'"{k}"' for k in allowed)
        raise ValueError(f"The `padding` argument must be one of {accepted}. Received: {value} {at()}")
    return value.lower()


def output_length(length: int | None, size: int, padding: str, stride: int, dilation: int = 1) -> int | None:
    """How many windows fit along an axis."""
    if length is None:
        return None
    reach = size + (size - 1) * (dilation - 1)
    room = length if padding in ("same", "causal") else length - reach + 1
    return (room + stride - 1) // stride


def _shown(made: Callable[..., Any], rank: int) -> Signature:
    """What a constructor takes, with defaults as TensorFlow shows them: over several axes, a number for each."""
    tuples = {"strides": (1,) * rank, "dilation_rate": (1,) * rank} if rank > 1 else {}
    _, *parameters = signature(made).parameters.values()
    return Signature([p.replace(default=tuples.get(p.name, p.default)) for p in parameters])


class Conv(Layer):
    """A convolution over ``rank`` axes: kernel [*kernel_size, channels, filters], then bias and activation."""

    rank: int

    def __init_subclass__(cls, rank: int | None = None, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        if rank is not None:
            cls.rank = rank
        if rank is not None or "__init__" in vars(cls):
            cls.__signature__ = _shown(cls.__init__, rank or 1)  # type: ignore[attr-defined]

    def __init__(
        self, filters: int, kernel_size: Any, strides: Any = 1, padding: str = "valid",
        data_format: str = "channels_last", dilation_rate: Any = 1, activation: Any = None, use_bias: bool = True,
        kernel_initializer: Any = None, bias_initializer: Any = ZEROS, kernel_regularizer: Any = None,
        bias_regularizer: Any = None, activity_regularizer: Any = None, kernel_constraint: Any = None,
        bias_constraint: Any = None, trainable: bool = True, name: Any = None, **kwargs: Any,
    ) -> None:  # fmt: skip
        super().__init__(trainable=trainable, name=name, activity_regularizer=activity_regularizer, **kwargs)
        rank = self.rank
        self.filters = int(filters)
        self.kernel_size = numbers(kernel_size, rank, "kernel_size")
        self.strides = numbers(strides, rank, "strides")
        self.padding = normalize_padding(padding, causal=rank == 1)
        self.data_format = normalize_data_format(data_format)
        self.dilation_rate = numbers(dilation_rate, rank, "dilation_rate")
        if max(self.strides) > 1 and max(self.dilation_rate) > 1:
            raise ValueError(
                "`strides > 1` not supported in conjunction with `dilation_rate > 1`. Received: "
                f"strides={self.strides} and dilation_rate={self.dilation_rate}"
            )
        self.activation = get_activation(activation)
        self.use_bias = use_bias
        self.kernel_initializer = get_initializer(kernel_initializer)
        self.bias_initializer = get_initializer(bias_initializer)
        self.kernel_regularizer = get_regularizer(kernel_regularizer)
        self.bias_regularizer = get_regularizer(bias_regularizer)
        self.kernel_constraint = kernel_constraint
        self.bias_constraint = bias_constraint
        self.input_spec = InputSpec(ndim=rank + 2)
        self.kernel: Any = None
        self.bias: Any = None

    # ---- what subclasses share

    @property
    def _layout(self) -> str:
        return _LAYOUTS[self.rank][self.data_format == "channels_first"]

    @property
    def _channel_axis(self) -> int:
        return 1 if self.data_format == "channels_first" else -1

    def _channels(self, input_shape: Any) -> int:
        """The number of input channels, now required of all inputs."""
        dims = as_shape(input_shape).tuple
        channels = dims[self._channel_axis] if dims else None
        if channels is None:
            raise ValueError(f"The channel dimension of the inputs should be defined. Found `None`. {at()}")
        self.input_spec = InputSpec(ndim=self.rank + 2, axes={self._channel_axis: channels})
        return channels

    def _add_bias_weight(self) -> None:
        self.bias = None
        if self.use_bias:
            self.bias = self.add_weight(
                "bias", shape=(self.filters,), initializer=self.bias_initializer, regularizer=self.bias_regularizer,
                constraint=self.bias_constraint, trainable=True, dtype=self.dtype,
            )  # fmt: skip

    def _finish(self, outputs: Tensor) -> Tensor:
        if self.use_bias:
            outputs = bias_add(outputs, self.bias, data_format=self._layout)
        return self.activation(outputs) if self.activation is not None else outputs

    def _pad_causally(self, inputs: Tensor) -> Tensor:
        """Zeros on the left, so that no output sees what comes after it."""
        left = [self.dilation_rate[0] * (self.kernel_size[0] - 1), 0]
        first = self.data_format == "channels_first"
        return array.pad(inputs, [[0, 0], [0, 0], left] if first else [[0, 0], left, [0, 0]])

    def _spatial_shape(self, input_shape: Any, lengths: list[int | None]) -> TensorShape:
        batch = as_shape(input_shape).as_list()[0]
        first = self.data_format == "channels_first"
        return TensorShape([batch, self.filters, *lengths] if first else [batch, *lengths, self.filters])

    def _input_lengths(self, input_shape: Any) -> list[int | None]:
        dims = as_shape(input_shape).with_rank(self.rank + 2).as_list()
        return dims[2:] if self.data_format == "channels_first" else dims[1:-1]

    # ---- the plain convolution

    def _kernel_shape(self, channels: int) -> tuple[int, ...]:
        return *self.kernel_size, channels, self.filters

    def build(self, input_shape: Any) -> None:
        self.kernel = self.add_weight(
            "kernel", shape=self._kernel_shape(self._channels(input_shape)), initializer=self.kernel_initializer,
            regularizer=self.kernel_regularizer, constraint=self.kernel_constraint, trainable=True,
            dtype=self._float_dtype(),
        )  # fmt: skip
        self._add_bias_weight()
        self.built = True

    def call(self, inputs: Any) -> Tensor:  # type: ignore[override]
        padding = self.padding.upper()
        if self.padding == "causal":
            inputs, padding = self._pad_causally(inputs), "VALID"
        outputs = convolution(
            inputs, self.kernel, padding, strides=self.strides, dilation_rate=self.dilation_rate,
            data_format=self._layout, name=_OP_NAMES[self.rank],
        )  # fmt: skip
        return self._finish(outputs)

    def compute_output_shape(self, input_shape: Any) -> TensorShape:
        windows = zip(self._input_lengths(input_shape), self.kernel_size, self.strides, self.dilation_rate, strict=True)
        lengths = [output_length(n, k, self.padding, s, d) for n, k, s, d in windows]
        return self._spatial_shape(input_shape, lengths)


class Conv1D(Conv, rank=1):
    """A convolution along one axis, e.g. time: [batch, length, channels]."""


class Conv2D(Conv, rank=2):
    """A convolution over images: [batch, height, width, channels]."""


class Conv3D(Conv, rank=3):
    """A convolution over volumes: [batch, depth, height, width, channels]."""


conv1d = layer_function(
    "conv1d", Conv1D, 'A convolution along one axis of [batch, length, channels]; padding "causal" looks back only.'
)
conv2d = layer_function(
    "conv2d",
    Conv2D,
    """A convolution over images [batch, height, width, channels].

    >>> features = tf.layers.conv2d(tf.zeros([1, 8, 8, 3]), 16, 3, padding="same", activation=tf.nn.relu)
    >>> features.shape.as_list()
    [1, 8, 8, 16]
    """,
)
conv3d = layer_function("conv3d", Conv3D, "A convolution over volumes [batch, depth, height, width, channels].")
