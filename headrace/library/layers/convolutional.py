"""Convolution layers over one, two or three axes.  Separable, depthwise and transposed ones are next door."""

from __future__ import annotations

from collections.abc import Callable
from inspect import Signature, signature
from typing import Any

from headrace.core.shape import TensorShape, as_shape
from headrace.core.source import at
from headrace.graph.operation import Tensor
from headrace.library.layers import activations, regularizers
from headrace.library.layers import weight_arguments as weight
from headrace.library.layers.base_layer import Layer
from headrace.library.layers.data_format import (
    normalize_data_format,
    normalize_padding,
    numbers,
    output_length,
    spatial_axes,
)
from headrace.library.layers.spec import InputSpec
from headrace.library.network.activation import bias_add
from headrace.library.network.spatial import convolution
from headrace.library.tensor import array

_OP_NAMES = {1: "conv1d", 2: "Conv2D", 3: "Conv3D"}
_LAYOUTS = {1: ("NWC", "NCW"), 2: ("NHWC", "NCHW"), 3: ("NDHWC", "NCDHW")}

WINDOW_ARGS = """filters: The number of output channels.
      kernel_size: The size of the window: a number, or one for each axis.
      strides: The step of the window: a number, or one for each axis.
      padding: "valid", or "same" for windows that reach over the edge; "causal" looks back only (along one axis)."""
FORMAT_ARG = """data_format: "channels_last" or "channels_first"; None for ``tf.keras.backend.image_data_format()``."""
DILATION_ARG = (
    "dilation_rate: The distance of the window's elements, in the form of ``strides``; above 1 only without strides."
)
OUTPUT_ARGS = """activation: A function of the result, or its name; None for none.
      use_bias: Whether a bias is added."""
_ARGS = f"""{WINDOW_ARGS}
      {FORMAT_ARG}
      {DILATION_ARG}
      {OUTPUT_ARGS}
      kernel_initializer, bias_initializer: What makes the first values: an initializer, or its name.
      kernel_regularizer, bias_regularizer: Functions of a weight that give a loss, or None.
      activity_regularizer: A function of the output that gives a loss, or None.
      kernel_constraint, bias_constraint: Functions that an optimizer applies to a weight after each update, or None.
      **kwargs: What every layer takes, such as ``name``."""


def _shown(constructor: Callable[..., Any], rank: int | None = None) -> Signature:
    """What a constructor takes; with a rank, defaults as Keras shows them: over several axes, a number for each."""
    several: dict[str, Any] = {"data_format": "channels_last"} if rank == 1 else {}
    if rank is not None and rank > 1:
        several = dict.fromkeys(("strides", "dilation_rate"), (1,) * rank)
    _, *parameters = signature(constructor).parameters.values()
    return Signature([p.replace(default=several.get(p.name, p.default)) for p in parameters])


class Conv(Layer):
    """A convolution over ``rank`` axes: kernel [*kernel_size, channels, filters], then bias and activation."""

    rank: int

    def __init_subclass__(cls, rank: int | None = None, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        if rank is not None:
            cls.rank = rank
            cls.__signature__ = _shown(cls.__init__, rank)  # type: ignore[attr-defined]
        elif "__init__" in vars(cls):
            cls.__signature__ = _shown(cls.__init__)  # type: ignore[attr-defined]

    def __init__(
        self, filters: int | None, kernel_size: Any, strides: Any = 1, padding: str = "valid",
        data_format: str | None = None, dilation_rate: Any = 1, activation: Any = None, use_bias: bool = True,
        kernel_initializer: Any = "glorot_uniform", bias_initializer: Any = "zeros", kernel_regularizer: Any = None,
        bias_regularizer: Any = None, activity_regularizer: Any = None, kernel_constraint: Any = None,
        bias_constraint: Any = None, **kwargs: Any,
    ) -> None:  # fmt: skip
        super().__init__(activity_regularizer=regularizers.get(activity_regularizer), **kwargs)
        rank = self.rank
        self.filters: Any = None if filters is None else int(filters)
        self.kernel_size = numbers(kernel_size, rank, "kernel_size")
        self.strides = numbers(strides, rank, "strides")
        self.padding = normalize_padding(padding, causal=rank == 1)
        self.data_format = normalize_data_format("channels_last" if rank == 1 and data_format is None else data_format)
        self.dilation_rate = numbers(dilation_rate, rank, "dilation_rate")
        if max(self.strides) > 1 and max(self.dilation_rate) > 1:
            raise ValueError(
                "`strides > 1` not supported in conjunction with `dilation_rate > 1`. Received: "
                f"strides={self.strides} and dilation_rate={self.dilation_rate}"
            )
        self.activation = activations.get(activation)
        self.use_bias = use_bias
        weight.keep_arguments(self, "kernel", kernel_initializer, kernel_regularizer, kernel_constraint)
        weight.keep_arguments(self, "bias", bias_initializer, bias_regularizer, bias_constraint)
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

    def _add_bias_weight(self, channels: int) -> None:
        if self.use_bias:
            self.bias = weight.make(self, "bias", (channels,), self.dtype)

    def _finish(self, outputs: Tensor) -> Tensor:
        if self.use_bias:
            outputs = bias_add(outputs, self.bias, data_format=self._layout)
        return self.activation(outputs) if self.activation is not None else outputs

    def _padded(self, inputs: Any) -> tuple[Any, str]:
        """The inputs and how the op pads them; zeros on the left for "causal", so that no output sees what comes after it."""
        if self.padding != "causal":
            return inputs, self.padding.upper()
        left = [self.dilation_rate[0] * (self.kernel_size[0] - 1), 0]
        first = self.data_format == "channels_first"
        return array.pad(inputs, [[0, 0], [0, 0], left] if first else [[0, 0], left, [0, 0]]), "VALID"

    def _spatial_shape(self, input_shape: Any, lengths: list[int | None], channels: int | None = None) -> TensorShape:
        batch = as_shape(input_shape).as_list()[0]
        channels = self.filters if channels is None else channels
        first = self.data_format == "channels_first"
        return TensorShape([batch, channels, *lengths] if first else [batch, *lengths, channels])

    def _input_lengths(self, input_shape: Any) -> list[int | None]:
        dims = as_shape(input_shape).with_rank(self.rank + 2).as_list()
        return [dims[a] for a in spatial_axes(self.data_format, self.rank)]

    def _output_lengths(self, input_shape: Any) -> list[int | None]:
        windows = zip(self._input_lengths(input_shape), self.kernel_size, self.strides, self.dilation_rate, strict=True)
        return [output_length(n, k, self.padding, s, d) for n, k, s, d in windows]

    # ---- the plain convolution

    def _kernel_shape(self, channels: int) -> tuple[int, ...]:
        return *self.kernel_size, channels, self.filters

    def build(self, input_shape: Any) -> None:
        shape = self._kernel_shape(self._channels(input_shape))
        self.kernel = weight.make(self, "kernel", shape, self._float_dtype())
        self._add_bias_weight(self.filters)
        self.built = True

    def call(self, inputs: Any) -> Tensor:  # type: ignore[override]
        inputs, padding = self._padded(inputs)
        outputs = convolution(
            inputs, self.kernel, padding, strides=self.strides, dilation_rate=self.dilation_rate,
            data_format=self._layout, name=_OP_NAMES[self.rank],
        )  # fmt: skip
        return self._finish(outputs)

    def compute_output_shape(self, input_shape: Any) -> TensorShape:
        return self._spatial_shape(input_shape, self._output_lengths(input_shape))

    # ---- as plain data

    _WEIGHTS: tuple[str, ...] = ("kernel", "bias")

    def get_config(self) -> dict[str, Any]:
        return {
            **super().get_config(), "filters": self.filters, "kernel_size": self.kernel_size, "strides": self.strides,
            "padding": self.padding, "data_format": self.data_format, "dilation_rate": self.dilation_rate,
            "activation": activations.serialize(self.activation), "use_bias": self.use_bias,
            **weight.config(self, *self._WEIGHTS),
            "activity_regularizer": regularizers.serialize(self.activity_regularizer),
        }  # fmt: skip


class Conv1D(Conv, rank=1):
    __doc__ = f"""A convolution along one axis, e.g. time: [batch, steps, channels].

    Args:
      {_ARGS}

    >>> tf.keras.layers.Conv1D(4, 3, padding="causal")(tf.zeros([1, 8, 3])).shape.as_list()
    [1, 8, 4]
    """


class Conv2D(Conv, rank=2):
    __doc__ = f"""A convolution over images: [batch, height, width, channels].

    Args:
      {_ARGS}

    >>> tf.keras.layers.Conv2D(16, 3, activation="relu")(tf.zeros([1, 8, 8, 3])).shape.as_list()
    [1, 6, 6, 16]
    """


class Conv3D(Conv, rank=3):
    __doc__ = f"""A convolution over volumes: [batch, depth, height, width, channels].

    Args:
      {_ARGS}

    >>> tf.keras.layers.Conv3D(4, 3, strides=2)(tf.zeros([1, 9, 9, 9, 3])).shape.as_list()
    [1, 4, 4, 4, 4]
    """
