"""Further gated cells of ``tf.contrib.rnn``: phased LSTM, LSTM in groups, intersection RNN."""

from __future__ import annotations

import math as python_math
from typing import Any

from headrace.core.source import at
from headrace.library.control.dependency import stop_gradient
from headrace.library.layers import activations
from headrace.library.network.activation import bias_add, relu
from headrace.library.numeric import math
from headrace.library.numeric.random import random_uniform
from headrace.library.rnn.base import RNNCell, input_depth
from headrace.library.rnn.cell import LSTMStateTuple
from headrace.library.rnn.linear import Linear
from headrace.library.state import initializers
from headrace.library.state.variable_scope import get_variable, get_variable_scope, variable_scope
from headrace.library.tensor import array
from headrace.library.tensor.indexing import where


class PhasedLSTMCell(RNNCell):
    """An LSTM whose units open in turn (Neil et al., 2016), for inputs that come at times of their own.

    The inputs are a pair: the times [batch, 1] and the values [batch, size].

    Args:
      num_units: The width of the output and of the two halves of the state.
      use_peepholes: True lets the gates see `c`.
      leak: How much a closed unit lets through.
      ratio_on: The part of its period for which a unit is open.
      trainable_ratio_on: Whether training changes `ratio_on`.
      period_init_min: The least period, in units of the times, at the start.
      period_init_max: The greatest period at the start.
      reuse: True to use variables that exist; None or False to make them.

    >>> cell = tf.contrib.rnn.PhasedLSTMCell(4)
    >>> output, (c, h) = cell((tf.ones([2, 1]), tf.zeros([2, 3])), cell.zero_state(2, tf.float32))
    """

    def __init__(
        self, num_units: int, use_peepholes: bool = False, leak: float = 0.001, ratio_on: float = 0.1,
        trainable_ratio_on: bool = True, period_init_min: float = 1.0, period_init_max: float = 1000.0,
        reuse: Any = None,
    ) -> None:  # fmt: skip
        super().__init__(_reuse=reuse)
        self._num_units = num_units
        self._use_peepholes = use_peepholes
        self._leak = leak
        self._ratio_on = ratio_on
        self._trainable_ratio_on = trainable_ratio_on
        self._period_init = (period_init_min, period_init_max)

    @property
    def state_size(self) -> Any:
        return LSTMStateTuple(self._num_units, self._num_units)

    @property
    def output_size(self) -> Any:
        return self._num_units

    def call(self, inputs: Any, state: Any) -> Any:  # type: ignore[override]
        c, h = state
        time, x = inputs
        seen = [c] if self._use_peepholes else []
        i, f = array.split(math.sigmoid(self._linear("mask_gates", [x, h, *seen], 2)), 2, axis=1)
        new_c = c * f + i * math.tanh(self._linear("new_input", [x, h], 1))
        seen = [new_c] if self._use_peepholes else []
        new_h = math.tanh(new_c) * math.sigmoid(self._linear("output_gate", [x, h, *seen], 1))
        openness = self._openness(time)
        new_c = openness * new_c + (1 - openness) * c
        new_h = openness * new_h + (1 - openness) * h
        return new_h, LSTMStateTuple(new_c, new_h)

    def _linear(self, scope: str, args: list[Any], parts: int) -> Any:
        with variable_scope(scope):
            return Linear(args, parts * self._num_units, True)(args)

    def _openness(self, time: Any) -> Any:
        """How open each unit is at a time: it rises and falls while the unit is on, and leaks while it is off."""
        shape, (low, high) = [self._num_units], self._period_init
        period = get_variable("period", shape, initializer=_exponential(low, high))
        phase = get_variable("phase", shape, initializer=_up_to(period))
        ratio_on = get_variable(
            "ratio_on", shape, initializer=initializers.Constant(self._ratio_on), trainable=self._trainable_ratio_on
        )
        shifted = math.cast(time, phase.dtype.base_dtype) - phase
        # The remainder, with the derivative of the identity: where a period ends the times still move the gate.
        rest = stop_gradient(math.mod(shifted, period) - shifted) + shifted
        cycle = rest / period
        up = 2 * cycle / ratio_on
        gate = where(math.less(cycle, ratio_on), 2 - up, self._leak * cycle)
        return where(math.less(cycle, 0.5 * ratio_on), up, gate)


def _exponential(low: float, high: float) -> Any:
    """An initializer: exponentials of uniform numbers, so that each order of magnitude is as likely."""

    def initializer(shape: Any, dtype: Any = None, partition_info: Any = None) -> Any:
        return math.exp(random_uniform(shape, python_math.log(low), python_math.log(high), dtype))

    return initializer


def _up_to(period: Any) -> Any:
    """An initializer: uniform numbers below the first values of ``period``."""

    def initializer(shape: Any, dtype: Any = None, partition_info: Any = None) -> Any:
        return random_uniform(shape, dtype=dtype) * period.initialized_value()

    return initializer


class GLSTMCell(RNNCell):
    """An LSTM whose units are in groups that do not see each other (Kuchaiev and Ginsburg, 2017).

    Args:
      num_units: The width of the state `c`, and of the output if there is no projection.
      initializer: What the matrices start from; None for the initializer of the variable scope.
      num_proj: The width of the output after a projection; None for no projection.
      number_of_groups: How many groups there are. The widths of inputs, units and output must be multiples of it.
      forget_bias: What is added to the forget gate, so that a new cell remembers.
      activation: A function of `c`, or its name.
      reuse: True to use variables that exist; None or False to make them.

    >>> cell = tf.contrib.rnn.GLSTMCell(4, number_of_groups=2)
    >>> output, (c, h) = cell(tf.zeros([2, 6]), cell.zero_state(2, tf.float32))
    """

    def __init__(
        self, num_units: int, initializer: Any = None, num_proj: int | None = None, number_of_groups: int = 1,
        forget_bias: float = 1.0, activation: Any = math.tanh, reuse: Any = None,
    ) -> None:  # fmt: skip
        super().__init__(_reuse=reuse)
        for what, width in (("num_units", num_units), ("num_proj", num_proj)):
            if width is not None and width % number_of_groups != 0:
                raise ValueError(
                    f"{what} must be divisible by number_of_groups: got {width}, {number_of_groups} {at()}"
                )
        self._num_units = num_units
        self._initializer = initializer
        self._num_proj = num_proj
        self._number_of_groups = number_of_groups
        self._forget_bias = forget_bias
        self._activation = activations.get(activation)

    @property
    def state_size(self) -> Any:
        return LSTMStateTuple(self._num_units, self.output_size)

    @property
    def output_size(self) -> Any:
        return self._num_proj or self._num_units

    def call(self, inputs: Any, state: Any) -> Any:  # type: ignore[override]
        c, h = state
        width = input_depth(inputs.shape)
        if width % self._number_of_groups != 0:
            raise ValueError(
                f"input size {width} must be divisible by number_of_groups={self._number_of_groups} {at()}"
            )
        with variable_scope(get_variable_scope(), initializer=self._initializer):
            i, j, f, o = self._gates(inputs, h)
        new_c = math.sigmoid(f + self._forget_bias) * c + math.sigmoid(i) * math.tanh(j)
        new_h = math.sigmoid(o) * self._activation(new_c)
        if self._num_proj is not None:
            with variable_scope("projection"):
                new_h = Linear(new_h, self._num_proj, False)(new_h)
        return new_h, LSTMStateTuple(new_c, new_h)

    def _gates(self, inputs: Any, h: Any) -> list[Any]:
        groups, units = self._number_of_groups, self._num_units
        parts: list[list[Any]] = [[], [], [], []]
        pairs = zip(array.split(inputs, groups, axis=1), array.split(h, groups, axis=1), strict=True)
        for number, pair in enumerate(pairs):
            with variable_scope(f"group{number}"):
                joined = array.concat(list(pair), 1)
                gates = array.split(Linear(joined, 4 * units // groups, False)(joined), 4, axis=1)
            for gate, part in zip(parts, gates, strict=True):
                gate.append(part)
        dtype = inputs.dtype.base_dtype
        return [
            bias_add(array.concat(gate, 1), get_variable(f"bias_{name}", [units], dtype, initializers.Zeros()))
            for gate, name in zip(parts, "ijfo", strict=True)
        ]


class IntersectionRNNCell(RNNCell):
    """An intersection RNN (Collins et al., 2016): one gate for what goes on in time, one for what goes up to the output.

    Args:
      num_units: The width of the state and of the output, and of the inputs unless they are projected.
      num_in_proj: The width of inputs after a projection, which must be `num_units`; None for none.
      initializer: What the matrices start from; None for the initializer of the variable scope.
      forget_bias: What is added to both gates.
      y_activation: A function of the candidate of the output, or its name.
      reuse: True to use variables that exist; None or False to make them.

    >>> cell = tf.contrib.rnn.IntersectionRNNCell(4, num_in_proj=4)
    >>> output, state = cell(tf.zeros([2, 3]), cell.zero_state(2, tf.float32))
    """

    def __init__(
        self, num_units: int, num_in_proj: int | None = None, initializer: Any = None, forget_bias: float = 1.0,
        y_activation: Any = relu, reuse: Any = None,
    ) -> None:  # fmt: skip
        super().__init__(_reuse=reuse)
        self._num_units = num_units
        self._num_in_proj = num_in_proj
        self._initializer = initializer
        self._forget_bias = forget_bias
        self._y_activation = activations.get(y_activation)

    @property
    def state_size(self) -> Any:
        return self._num_units

    @property
    def output_size(self) -> Any:
        return self._num_units

    def call(self, inputs: Any, state: Any) -> Any:  # type: ignore[override]
        units = self._num_units
        with variable_scope(get_variable_scope(), initializer=self._initializer):
            if input_depth(inputs.shape) != units:
                if not self._num_in_proj:
                    raise ValueError(
                        f"The width of the inputs, {input_depth(inputs.shape)}, must be num_units, {units}, or num_in_proj "
                        f"be given {at()}"
                    )
                with variable_scope("in_projection"):
                    inputs = Linear(inputs, units, True)(inputs)
            joined = array.concat([inputs, state], 1)
            gate_h, h, gate_y, y = array.split(Linear(joined, 4 * units, True)(joined), 4, axis=1)
        gate_h, gate_y = math.sigmoid(gate_h + self._forget_bias), math.sigmoid(gate_y + self._forget_bias)
        output = gate_y * inputs + (1.0 - gate_y) * self._y_activation(y)
        return output, gate_h * state + (1.0 - gate_h) * math.tanh(h)
