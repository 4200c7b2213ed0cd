"""ConvLSTM2D: an LSTM whose products are convolutions over images (Shi et al., 2015)."""

from __future__ import annotations

from typing import Any

from headrace.core.shape import TensorShape, as_shape
from headrace.core.source import at
from headrace.graph.convert import convert_to_tensor
from headrace.graph.operation import Tensor
from headrace.library import nest
from headrace.library.layers import weight_arguments as weight
from headrace.library.layers.data_format import normalize_data_format, normalize_padding, numbers, output_length
from headrace.library.layers.recurrent.cell_layer import CellLayer
from headrace.library.layers.recurrent.lstm import LSTMCell
from headrace.library.layers.recurrent.state import batch_of, merged_steps, split_steps, zero_states
from headrace.library.network.activation import bias_add
from headrace.library.network.spatial import convolution
from headrace.library.tensor import array, creation


class ConvLSTM2DCell(LSTMCell):
    """One step of an LSTM whose products are convolutions.

    Args:
      filters: The number of channels of the states and the output.
      kernel_size: The height and width of the kernels, or one number for both.
      strides: How far the kernel of the inputs moves.
      padding: ``"valid"`` or ``"same"``, for the inputs; the states are always padded.
      data_format: ``"channels_first"``, ``"channels_last"``, or None for `tf.keras.backend.image_data_format`.
      dilation_rate: How far apart the pixels are that the kernel of the inputs takes together.
      **kwargs: The other arguments of `ConvLSTM2D`, and what every layer takes.

    >>> from headrace.library.layers.recurrent.convolutional import ConvLSTM2DCell
    >>> ConvLSTM2DCell(3, kernel_size=2).state_size
    [3, 3]
    """

    argument_names = (
        "filters", "kernel_size", "strides", "padding", "data_format", "dilation_rate", "activation",
        "recurrent_activation", "use_bias", "kernel_initializer", "recurrent_initializer", "bias_initializer",
        "unit_forget_bias", "kernel_regularizer", "recurrent_regularizer", "bias_regularizer", "kernel_constraint",
        "recurrent_constraint", "bias_constraint", "dropout", "recurrent_dropout",
    )  # fmt: skip

    def __init__(
        self, filters: int, kernel_size: Any, strides: Any = (1, 1), padding: str = "valid",
        data_format: str | None = None, dilation_rate: Any = (1, 1), activation: Any = "tanh",
        recurrent_activation: Any = "hard_sigmoid", use_bias: bool = True,
        kernel_initializer: Any = "glorot_uniform", recurrent_initializer: Any = "orthogonal",
        bias_initializer: Any = "zeros", unit_forget_bias: bool = True, kernel_regularizer: Any = None,
        recurrent_regularizer: Any = None, bias_regularizer: Any = None, kernel_constraint: Any = None,
        recurrent_constraint: Any = None, bias_constraint: Any = None, dropout: float = 0.0,
        recurrent_dropout: float = 0.0, **kwargs: Any,
    ) -> None:  # fmt: skip
        super().__init__(
            filters, activation=activation, recurrent_activation=recurrent_activation, use_bias=use_bias,
            kernel_initializer=kernel_initializer, recurrent_initializer=recurrent_initializer,
            bias_initializer=bias_initializer, unit_forget_bias=unit_forget_bias, kernel_regularizer=kernel_regularizer,
            recurrent_regularizer=recurrent_regularizer, bias_regularizer=bias_regularizer,
            kernel_constraint=kernel_constraint, recurrent_constraint=recurrent_constraint,
            bias_constraint=bias_constraint, dropout=dropout, recurrent_dropout=recurrent_dropout, **kwargs,
        )  # fmt: skip
        self.filters = filters
        self.kernel_size = numbers(kernel_size, 2, "kernel_size")
        self.strides = numbers(strides, 2, "strides")
        self.padding = normalize_padding(padding)
        self.data_format = normalize_data_format(data_format)
        self.dilation_rate = numbers(dilation_rate, 2, "dilation_rate")

    @property
    def channel_axis(self) -> int:
        """The axis of the channels of one step."""
        return 1 if self.data_format == "channels_first" else 3

    def output_dims(self, dims: list[Any]) -> list[Any]:
        """The shape of a step's output without the batch, for inputs of a shape with it."""
        pixels = dims[2:] if self.channel_axis == 1 else dims[1:-1]
        sides = zip(pixels, self.kernel_size, self.strides, self.dilation_rate, strict=True)
        found = [output_length(size, kernel, self.padding, stride, rate) for size, kernel, stride, rate in sides]
        return [self.filters, *found] if self.channel_axis == 1 else [*found, self.filters]

    def build(self, input_shape: Any) -> None:
        channels = as_shape(input_shape).as_list()[self.channel_axis]
        if channels is None:
            raise ValueError(
                f"The channel dimension of the inputs to `ConvLSTM2D` should be defined. Found `None`. {at()}"
            )
        columns = self.filters * self.gates
        self.kernel = weight.make(self, "kernel", [*self.kernel_size, channels, columns])
        self.recurrent_kernel = weight.make(
            self, "recurrent", [*self.kernel_size, self.filters, columns], suffix="_kernel"
        )
        if self.use_bias:
            self.bias = self._make_bias()
        self.built = True

    # ---- steps

    def _convolved(self, by_gate: list[Any], kernel: Any, **options: Any) -> Tensor:
        """The convolutions of images with the kernels of the gates; the images are one for all gates, or one for each."""
        layout = "NCHW" if self.channel_axis == 1 else "NHWC"
        if len(by_gate) == 1:
            return convolution(by_gate[0], kernel, data_format=layout, **options)
        pairs = zip(by_gate, array.split(kernel, self.gates, axis=3), strict=True)
        return array.concat(
            [convolution(x, part, data_format=layout, **options) for x, part in pairs], self.channel_axis
        )

    def _project(self, inputs: Tensor, masks: list[Any] | None) -> Tensor:
        """The convolution of the inputs of one step, with the bias."""
        return self._project_by_gate(_dropped(inputs, masks))

    def _project_by_gate(self, by_gate: list[Any]) -> Tensor:
        projected = self._convolved(
            by_gate, convert_to_tensor(self.kernel), padding=self.padding.upper(), strides=self.strides,
            dilation_rate=self.dilation_rate,
        )  # fmt: skip
        if not self.use_bias:
            return projected
        return bias_add(projected, self.bias, data_format="NCHW" if self.channel_axis == 1 else "NHWC")

    def _project_all(self, inputs: Any, training: Any) -> Tensor:
        masks = self._input_masks(inputs[0], training)
        projected = self._project_by_gate([merged_steps(one) for one in _dropped(inputs, masks)])
        return split_steps(inputs, projected)

    def call_projected(self, projected: Any, states: Any, training: Any = None) -> tuple[Any, list[Any]]:
        """One step, from the convolution of the inputs."""
        before, memory = states
        by_gate = _dropped(before, self._state_masks(before, training))
        product = self._convolved(by_gate, self._recurrent(), padding="SAME")
        return self._lstm_step(projected + product, memory, self.channel_axis)


def _dropped(images: Any, masks: list[Any] | None) -> list[Any]:
    """The images for all gates, or with other parts dropped for each gate."""
    return [images] if masks is None else [images * mask for mask in masks]


class ConvLSTM2D(CellLayer):
    """An LSTM over sequences of images, whose products are convolutions (Shi et al., 2015).

    Args:
      filters: The number of channels of the states and the output.
      kernel_size: The height and width of the kernels, or one number for both.
      strides: How far the kernel of the inputs moves.
      padding: ``"valid"`` or ``"same"``, for the inputs; the states are always padded.
      data_format: ``"channels_first"``, ``"channels_last"``, or None for `tf.keras.backend.image_data_format`.
      dilation_rate: How far apart the pixels are that the kernel of the inputs takes together.
      activation: A function of the memory, or its name; None for none.
      recurrent_activation: The function of the gates, or its name.
      use_bias: Whether a bias is added.
      kernel_initializer, recurrent_initializer, bias_initializer: What makes the first values: an initializer, or its name.
      unit_forget_bias: Whether the bias of the gate for forgetting begins with ones.
      kernel_regularizer, recurrent_regularizer, bias_regularizer: Functions of a weight that give a loss, or None.
      activity_regularizer: A function of the output that gives a loss, or None.
      kernel_constraint, recurrent_constraint, bias_constraint: Functions that an optimizer applies to a weight after each
        update, or None.
      return_sequences: True for the outputs of all steps, False for the last one.
      go_backwards: Whether the last step comes first.
      stateful: Whether a batch begins with the states that the batch before ended with.
      dropout: Which part of the inputs is dropped while training.
      recurrent_dropout: Which part of the state is dropped while training.
      **kwargs: What every layer takes, such as ``name``; `return_state`, as in `RNN`.

    >>> tf.keras.layers.ConvLSTM2D(4, kernel_size=3, padding="same")(tf.zeros([2, 5, 8, 8, 3])).shape.as_list()
    [2, 8, 8, 4]
    """

    cell_class = ConvLSTM2DCell
    _input_rank = 5
    cell: ConvLSTM2DCell

    def __init__(
        self, filters: int, kernel_size: Any, strides: Any = (1, 1), padding: str = "valid",
        data_format: str | None = None, dilation_rate: Any = (1, 1), activation: Any = "tanh",
        recurrent_activation: Any = "hard_sigmoid", use_bias: bool = True,
        kernel_initializer: Any = "glorot_uniform", recurrent_initializer: Any = "orthogonal",
        bias_initializer: Any = "zeros", unit_forget_bias: bool = True, kernel_regularizer: Any = None,
        recurrent_regularizer: Any = None, bias_regularizer: Any = None, activity_regularizer: Any = None,
        kernel_constraint: Any = None, recurrent_constraint: Any = None, bias_constraint: Any = None,
        return_sequences: bool = False, go_backwards: bool = False, stateful: bool = False, dropout: float = 0.0,
        recurrent_dropout: float = 0.0, **kwargs: Any,
    ) -> None:  # fmt: skip
        if kwargs.get("unroll"):
            raise TypeError(f"Unrolling isn't possible with convolutional RNNs. {at()}")
        self._start(locals())

    def _step_output_dims(self, input_shape: list[Any], size: Any) -> list[Any]:
        return self.cell.output_dims(input_shape[1:] if self.time_major else [input_shape[0], *input_shape[2:]])

    def _state_dims(self, size: Any) -> list[Any]:
        return [size, None, None] if self.cell.channel_axis == 1 else [None, None, size]

    def build(self, input_shape: Any) -> None:
        shape = input_shape[0] if isinstance(input_shape, list) else input_shape
        self._step_dims = self._step_output_dims(as_shape(shape).as_list(), None)
        super().build(input_shape)

    def get_initial_state(self, inputs: Any) -> list[Any]:
        """Zeros for both states.

        Args:
          inputs: A tensor [batch, time, ...].

        Returns:
          A list of two tensors.
        """
        first = convert_to_tensor(nest.flatten(inputs)[0])
        dims = self._step_output_dims(first.shape.as_list(), None)
        if None in dims:
            step = first[0] if self.time_major else first[:, 0]
            projected = array.split(self.cell._project(step, None), self.cell.gates, axis=self.cell.channel_axis)[0]
            return [creation.zeros_like(projected)] * 2
        return self._zeros(dims, batch_of(first, 1 if self.time_major else 0), first.dtype)

    def _initial_states(self, batch_size: Any, dtype: Any) -> list[Any]:
        if None in self._step_dims:
            raise ValueError(f"A stateful ConvLSTM2D needs to know the size of the images {at()}")
        return self._zeros(self._step_dims, batch_size, dtype)

    def _zeros(self, dims: list[Any], batch_size: Any, dtype: Any) -> list[Any]:
        return [zero_states(batch_size, TensorShape(dims), dtype) for _ in range(2)]
