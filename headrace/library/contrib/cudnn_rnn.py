"""``tf.contrib.cudnn_rnn``: layers of recurrent networks over whole sequences, on any device.

TF1 kept their weights in one opaque buffer and wrote them to checkpoints as the variables of the cells below.  Here they are
those variables, under those names, so checkpoints fit both ways and cells can take over what a layer has learned.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from headrace.core import dtypes
from headrace.core.source import at
from headrace.library.layers.base import Layer
from headrace.library.layers.initializers import get as get_initializer
from headrace.library.linalg.matrix import matmul
from headrace.library.network.activation import bias_add, relu
from headrace.library.network.dropout import dropout
from headrace.library.numeric import math
from headrace.library.rnn.base import input_depth
from headrace.library.rnn.cell import BasicRNNCell, LSTMCell, LSTMStateTuple, UnitsCell
from headrace.library.rnn.dynamic import bidirectional_dynamic_rnn, dynamic_rnn
from headrace.library.rnn.step import transpose_batch_time
from headrace.library.state import initializers
from headrace.library.state.smart_cond import smart_cond
from headrace.library.state.variable_scope import get_variable_scope, variable_scope
from headrace.library.tensor import array, creation

_DIRECTIONS = ("unidirectional", "bidirectional")
_INPUT_MODES = ("linear_input", "skip_input", "auto_select")


class CudnnCompatibleLSTMCell(LSTMCell):
    """The cell of `tf.contrib.cudnn_rnn.CudnnLSTM`: an LSTM whose forget gate has no other bias than its variable.

    Args:
      num_units: The width of the output and of the two halves of the state.
      reuse: True to use variables that exist; None or False to make them.

    >>> cell = tf.contrib.cudnn_rnn.CudnnCompatibleLSTMCell(4)
    >>> output, (c, h) = cell(tf.zeros([2, 3]), cell.zero_state(2, tf.float32))
    """

    def __init__(self, num_units: int, reuse: Any = None) -> None:
        super().__init__(num_units, forget_bias=0.0, reuse=reuse, name="cudnn_compatible_lstm_cell")


class CudnnCompatibleGRUCell(UnitsCell):
    """The cell of `tf.contrib.cudnn_rnn.CudnnGRU`: its reset gate weighs the old state after it was multiplied.

    Args:
      num_units: The width of the state and of the output.
      reuse: True to use variables that exist; None or False to make them.
      kernel_initializer: What the matrices start from; None for the initializer of the variable scope.

    >>> cell = tf.contrib.cudnn_rnn.CudnnCompatibleGRUCell(4)
    >>> output, state = cell(tf.zeros([2, 3]), cell.zero_state(2, tf.float32))
    """

    def __init__(self, num_units: int, reuse: Any = None, kernel_initializer: Any = None) -> None:
        super().__init__(num_units, None, reuse, "cudnn_compatible_gru_cell")
        self._kernel_initializer = get_initializer(kernel_initializer)

    def build(self, input_shape: Any) -> None:
        units, depth = self._num_units, input_depth(input_shape)
        self._gate_kernel, self._gate_bias = self._pair("gates", depth + units, 2 * units, initializers.Constant(1.0))
        self._input_kernel, self._input_bias = self._pair("candidate/input_projection", depth, units)
        self._hidden_kernel, self._hidden_bias = self._pair("candidate/hidden_projection", units, units)
        self.built = True

    def _pair(self, name: str, rows: int, columns: int, bias: Any = None) -> tuple[Any, Any]:
        start = bias or initializers.Zeros()
        return (
            self.add_weight(f"{name}/kernel", shape=[rows, columns], initializer=self._kernel_initializer),
            self.add_weight(f"{name}/bias", shape=[columns], initializer=start),
        )

    def call(self, inputs: Any, state: Any) -> Any:  # type: ignore[override]
        gates = bias_add(matmul(array.concat([inputs, state], 1), self._gate_kernel), self._gate_bias)
        r, u = array.split(math.sigmoid(gates), 2, axis=1)
        hidden = bias_add(matmul(state, self._hidden_kernel), self._hidden_bias)
        candidate = math.tanh(bias_add(matmul(inputs, self._input_kernel), self._input_bias) + r * hidden)
        new_state = (1 - u) * candidate + u * state
        return new_state, new_state


class _InBlocks:
    """Starts a joined matrix as the matrices of inputs and state of each gate would start, one by one."""

    def __init__(self, each: Any, units: int) -> None:
        self._each = each
        self._units = units

    def __call__(self, shape: Any, dtype: Any = None, partition_info: Any = None) -> Any:
        rows, columns = (int(size) for size in shape)
        heights = [rows - self._units, self._units] if rows > self._units else [rows]
        gates = range(columns // self._units)
        return array.concat(
            [array.concat([self._each([height, self._units], dtype=dtype) for height in heights], 0) for _ in gates], 1
        )


class _CudnnRNN(Layer):
    """What the layers share: the stack of cells, its directions and its states."""

    _parts = 1  # of a state

    def __init__(
        self, num_layers: int, num_units: int, input_mode: str = "linear_input", direction: str = "unidirectional",
        dropout: float = 0.0, seed: int | None = None, dtype: Any = dtypes.float32, kernel_initializer: Any = None,
        bias_initializer: Any = None, name: str | None = None,
    ) -> None:  # fmt: skip
        dtype = dtypes.as_dtype(dtype)
        super().__init__(dtype=dtype, name=name)
        _check_choice("direction", direction, _DIRECTIONS)
        _check_choice("input_mode", input_mode, _INPUT_MODES)
        if input_mode == "skip_input":
            raise NotImplementedError(f"input_mode='skip_input' is not supported; use 'linear_input' {at()}")
        if dtype not in (dtypes.float16, dtypes.float32, dtypes.float64):
            raise ValueError(f"Only support float16, float32, float64, provided {dtype} {at()}")
        self._num_layers = num_layers
        self._num_units = num_units
        self._input_mode = input_mode
        self._direction = direction
        self._rate = dropout
        self._seed = seed
        self._starts = {
            "kernel": _InBlocks(get_initializer(kernel_initializer) or initializers.GlorotUniform(), num_units),
            "bias": get_initializer(bias_initializer) or initializers.Zeros(),
        }
        self._cells = [[self._cell() for _ in range(self.num_dirs)] for _ in range(num_layers)]

    def _cell(self) -> Any:
        raise NotImplementedError

    def _unpacked(self, state: Sequence[Any], index: int) -> Any:
        """The state of one cell."""
        return state[0][index]

    def _packed(self, states: list[Any]) -> tuple[Any, ...]:
        """The states of all cells as the layer gives them."""
        return (array.stack(states),)

    @property
    def num_layers(self) -> int:
        """How many layers are one on top of the other."""
        return self._num_layers

    @property
    def num_units(self) -> int:
        """The width of each layer's output, in one direction."""
        return self._num_units

    @property
    def input_mode(self) -> str:
        """How inputs go in: ``linear_input``, or ``auto_select``, which is the same here."""
        return self._input_mode

    @property
    def direction(self) -> str:
        """``unidirectional`` or ``bidirectional``."""
        return self._direction

    @property
    def num_dirs(self) -> int:
        """1 or 2."""
        return 1 + _DIRECTIONS.index(self._direction)

    def state_shape(self, batch_size: Any) -> tuple[list[Any], ...]:
        """The shape of each part of a state: [layers * directions, batch, units]."""
        return tuple([self._num_layers * self.num_dirs, batch_size, self._num_units] for _ in range(self._parts))

    @property
    def trainable_weights(self) -> list[Any]:
        """The variables of all cells, layer by layer."""
        return [w for cells in self._cells for cell in cells for w in cell.trainable_weights] if self.trainable else []

    @property
    def non_trainable_weights(self) -> list[Any]:
        """None, unless the layer is not trainable."""
        return [] if self.trainable else [w for cells in self._cells for cell in cells for w in cell.weights]

    def build(self, input_shape: Any) -> None:
        shape = input_shape.as_list() if input_shape.ndims is not None else None
        if shape is None or len(shape) != 3 or shape[-1] is None:
            raise ValueError(
                f"The inputs must be [time, batch, size] with a known size, got the shape {input_shape} {at()}"
            )
        self.built = True

    def call(  # type: ignore[override]
        self, inputs: Any, initial_state: Any = None, sequence_lengths: Any = None, time_major: bool = True,
        training: Any = True,
    ) -> tuple[Any, tuple[Any, ...]]:  # fmt: skip
        """The outputs [time, batch, units * directions] and the final state, a tuple of [layers * directions, batch, units].

        Without ``time_major`` inputs and outputs are [batch, time, ...] and states [batch, layers * directions, units].
        ``training``, a bool or a bool tensor, says whether there is dropout between layers.
        """
        rows = inputs if time_major else transpose_batch_time(inputs)
        state = self._first_state(rows, initial_state, time_major)
        finals: list[Any] = []
        for number, cells in enumerate(self._cells):
            first = number * self.num_dirs
            starts = [self._unpacked(state, first + i) for i in range(self.num_dirs)]
            with variable_scope(get_variable_scope(), custom_getter=self._getter):
                rows, ends = self._run(number, cells, rows, starts, sequence_lengths)
            finals += ends
            if self._rate and number < self._num_layers - 1:
                rows = self._dropped(rows, training, number)
        final = self._packed(finals)
        if time_major:
            return rows, final
        return transpose_batch_time(rows), tuple(transpose_batch_time(part) for part in final)

    def _getter(self, getter: Any, name: str, **kwargs: Any) -> Any:
        """Gives the variables of cells the layer's initializers."""
        return getter(name, **{**kwargs, "initializer": self._starts[name.rpartition("/")[2]]})

    def _first_state(self, rows: Any, given: Any, time_major: bool) -> Any:
        if given is None:
            zeros = creation.zeros(array.stack(self.state_shape(array.shape(rows)[1])[0]), rows.dtype)
            zeros.set_shape(self.state_shape(rows.shape.as_list()[1])[0])
            return (zeros,) * self._parts
        if not isinstance(given, tuple) or len(given) != self._parts:
            raise ValueError(f"initial_state must be a tuple of {self._parts} tensors, got {given!r} {at()}")
        return given if time_major else tuple(transpose_batch_time(part) for part in given)

    def _run(self, number: int, cells: list[Any], rows: Any, starts: list[Any], lengths: Any) -> tuple[Any, list[Any]]:
        """One layer over the whole sequence."""
        if len(cells) == 1:
            outputs, end = dynamic_rnn(
                cells[0], rows, lengths, starts[0], time_major=True, scope=f"rnn/multi_rnn_cell/cell_{number}"
            )
            return outputs, [end]
        scope = f"stack_bidirectional_rnn/cell_{number}/bidirectional_rnn"
        outputs, ends = bidirectional_dynamic_rnn(
            cells[0], cells[1], rows, lengths, starts[0], starts[1], time_major=True, scope=scope
        )
        return array.concat(outputs, 2), list(ends)

    def _dropped(self, rows: Any, training: Any, number: int) -> Any:
        seed = None if self._seed is None else self._seed + number
        return smart_cond(training, lambda: dropout(rows, rate=self._rate, seed=seed), lambda: rows)


def _check_choice(what: str, value: Any, accepted: Sequence[str]) -> None:
    if value not in accepted:
        raise ValueError(f"{what} must be one of {', '.join(accepted)}, got {value!r} {at()}")


_HELP = """{summary}

``outputs, state = layer(inputs)`` for inputs [time, batch, size]: see `call` for the further arguments.

Args:
  num_layers: How many layers are one on top of the other.
  num_units: The width of each layer's output, in one direction.
  input_mode: `linear_input`; `auto_select` means the same. `skip_input` is not supported.
  direction: `unidirectional` or `bidirectional`.
  dropout: The part of a layer's outputs that is dropped before the next layer; 0 for none.
  seed: The seed of the dropout; None for the graph's, or a random one.
  dtype: The type of the variables: float16, float32 or float64.
  kernel_initializer: What each matrix of a gate starts from; None for Glorot's uniform initializer.
  bias_initializer: What the biases start from; None for 0.
  name: The name of the layer, under which its variables are; None for one made of the class's.

>>> layer = tf.contrib.cudnn_rnn.{name}(num_layers=2, num_units=4)
>>> outputs, state = layer(tf.zeros([5, 2, 3]))
>>> outputs.shape.as_list(), state[0].shape.as_list()
([5, 2, 4], [2, 2, 4])
"""


class CudnnLSTM(_CudnnRNN):
    __doc__ = _HELP.format(name="CudnnLSTM", summary="A stack of LSTMs; its state is a pair (h, c).")

    _parts = 2

    def _cell(self) -> Any:
        return CudnnCompatibleLSTMCell(self._num_units)

    def _unpacked(self, state: Sequence[Any], index: int) -> Any:
        h, c = state
        return LSTMStateTuple(c[index], h[index])

    def _packed(self, states: list[Any]) -> tuple[Any, ...]:
        return array.stack([s.h for s in states]), array.stack([s.c for s in states])


class CudnnGRU(_CudnnRNN):
    __doc__ = _HELP.format(name="CudnnGRU", summary="A stack of GRUs; its state is a tuple of one tensor.")

    def _cell(self) -> Any:
        return CudnnCompatibleGRUCell(self._num_units)


class CudnnRNNTanh(_CudnnRNN):
    __doc__ = _HELP.format(
        name="CudnnRNNTanh", summary="A stack of plain recurrent layers with tanh; its state is a tuple of one tensor."
    )

    _activation = staticmethod(math.tanh)

    def _cell(self) -> Any:
        return BasicRNNCell(self._num_units, self._activation, name="basic_rnn_cell")


class CudnnRNNRelu(CudnnRNNTanh):
    __doc__ = _HELP.format(
        name="CudnnRNNRelu", summary="A stack of plain recurrent layers with relu; its state is a tuple of one tensor."
    )

    _activation = staticmethod(relu)
