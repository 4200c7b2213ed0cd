"""CuDNNLSTM and CuDNNGRU: the weights of CuDNN's kernels, run on any device by the loop of all recurrent layers."""

from __future__ import annotations

from typing import Any

from headrace.core.source import at
from headrace.graph.convert import convert_to_tensor
from headrace.library import nest
from headrace.library.layers import weight_arguments as weight
from headrace.library.layers.recurrent.cell_layer import CellLayer
from headrace.library.layers.recurrent.gru import GRUCell
from headrace.library.layers.recurrent.lstm import LSTMCell, make_forget_bias
from headrace.library.tensor import array

_WEIGHTS = (
    "kernel_regularizer", "recurrent_regularizer", "bias_regularizer", "kernel_constraint", "recurrent_constraint",
    "bias_constraint",
)  # fmt: skip


class _CuDNNLSTMCell(LSTMCell):
    """An LSTM cell with a bias for the inputs and one for the state, one behind the other."""

    argument_names = (
        "units", "kernel_initializer", "recurrent_initializer", "bias_initializer", "unit_forget_bias", *_WEIGHTS,
    )  # fmt: skip

    def __init__(self, units: int, **kwargs: Any) -> None:
        super().__init__(units, recurrent_activation="sigmoid", **kwargs)

    def _make_bias(self) -> Any:
        return make_forget_bias(self, self.units, copies=2)

    def _input_bias(self) -> Any:
        first, second = array.split(convert_to_tensor(self.bias), 2)
        return first + second


class _CuDNNGRUCell(GRUCell):
    """A GRU cell with a bias for the inputs and one for the state, one behind the other."""

    argument_names = ("units", "kernel_initializer", "recurrent_initializer", "bias_initializer", *_WEIGHTS)

    def __init__(self, units: int, **kwargs: Any) -> None:
        super().__init__(units, recurrent_activation="sigmoid", reset_after=True, **kwargs)

    def _make_bias(self) -> Any:
        return weight.make(self, "bias", [2 * self.units * 3])

    def _biases(self) -> list[Any]:
        return self._once("biases", lambda: array.split(convert_to_tensor(self.bias), 2))


class _CuDNNLayer(CellLayer):
    """A layer that takes no masks and is not unrolled, as CuDNN's kernels are."""

    def _start(self, given: dict[str, Any]) -> None:
        super()._start(given)
        self.supports_masking = False

    def call(self, inputs: Any, mask: Any = None, training: Any = None, initial_state: Any = None) -> Any:  # type: ignore[override]
        """Runs the cell over sequences; see `__call__`."""
        if any(one is not None for one in nest.flatten(mask)):
            raise ValueError(f"Masking is not supported for CuDNN RNNs {at()}")
        return super().call(inputs, training=training, initial_state=initial_state)

    def get_config(self) -> dict[str, Any]:
        """The arguments that make a layer like this one, as plain data."""
        config = super().get_config()
        del config["unroll"]
        return config


class CuDNNLSTM(_CuDNNLayer):
    """An LSTM with the weights of CuDNN's kernel: two biases, gates of sigmoids. It runs on any device.

    Args:
      units: The size of the states and the output.
      kernel_initializer, recurrent_initializer, bias_initializer: What makes the first values: an initializer, or its name.
      unit_forget_bias: Whether a bias of the gate for forgetting begins with ones.
      kernel_regularizer, recurrent_regularizer, bias_regularizer: Functions of a weight that give a loss, or None.
      activity_regularizer: A function of the output that gives a loss, or None.
      kernel_constraint, recurrent_constraint, bias_constraint: Functions that an optimizer applies to a weight after each
        update, or None.
      return_sequences: True for the outputs of all steps, False for the last one.
      return_state: Whether the last states, the output and the memory, are returned too.
      go_backwards: Whether the last step comes first.
      stateful: Whether a batch begins with the states that the batch before ended with.
      **kwargs: What every layer takes, such as ``name``; `time_major`, as in `RNN`.

    >>> layer = tf.keras.layers.CuDNNLSTM(4)
    >>> layer(tf.zeros([2, 5, 3])).shape.as_list(), layer.bias.shape.as_list()
    ([2, 4], [32])
    """

    cell_class = _CuDNNLSTMCell

    def __init__(
        self, units: int, kernel_initializer: Any = "glorot_uniform", recurrent_initializer: Any = "orthogonal",
        bias_initializer: Any = "zeros", unit_forget_bias: bool = True, kernel_regularizer: Any = None,
        recurrent_regularizer: Any = None, bias_regularizer: Any = None, activity_regularizer: Any = None,
        kernel_constraint: Any = None, recurrent_constraint: Any = None, bias_constraint: Any = None,
        return_sequences: bool = False, return_state: bool = False, go_backwards: bool = False,
        stateful: bool = False, **kwargs: Any,
    ) -> None:  # fmt: skip
        self._start(locals())


class CuDNNGRU(_CuDNNLayer):
    """A GRU with the weights of CuDNN's kernel: two biases, gates of sigmoids. It runs on any device.

    Args:
      units: The size of the state and the output.
      kernel_initializer, recurrent_initializer, bias_initializer: What makes the first values: an initializer, or its name.
      kernel_regularizer, recurrent_regularizer, bias_regularizer: Functions of a weight that give a loss, or None.
      activity_regularizer: A function of the output that gives a loss, or None.
      kernel_constraint, recurrent_constraint, bias_constraint: Functions that an optimizer applies to a weight after each
        update, or None.
      return_sequences: True for the outputs of all steps, False for the last one.
      return_state: Whether the last state is returned too.
      go_backwards: Whether the last step comes first.
      stateful: Whether a batch begins with the state that the batch before ended with.
      **kwargs: What every layer takes, such as ``name``; `time_major`, as in `RNN`.

    >>> layer = tf.keras.layers.CuDNNGRU(4)
    >>> layer(tf.zeros([2, 5, 3])).shape.as_list(), layer.bias.shape.as_list()
    ([2, 4], [24])
    """

    cell_class = _CuDNNGRUCell

    def __init__(
        self, units: int, kernel_initializer: Any = "glorot_uniform", recurrent_initializer: Any = "orthogonal",
        bias_initializer: Any = "zeros", kernel_regularizer: Any = None, recurrent_regularizer: Any = None,
        bias_regularizer: Any = None, activity_regularizer: Any = None, kernel_constraint: Any = None,
        recurrent_constraint: Any = None, bias_constraint: Any = None, return_sequences: bool = False,
        return_state: bool = False, go_backwards: bool = False, stateful: bool = False, **kwargs: Any,
    ) -> None:  # fmt: skip
        self._start(locals())
