"""AttentionWrapper: a cell that attends to a memory at every step."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from headrace.core import dtypes
from headrace.core.shape import TensorShape
from headrace.library import nest
from headrace.library.control.assertion import assert_equal
from headrace.library.control.dependency import identity
from headrace.library.control.tensor_array import TensorArray
from headrace.library.layers.scoped.core import Dense
from headrace.library.linalg.matrix import matmul
from headrace.library.rnn.base import RNNCell, assert_like_cell, batch_zeros
from headrace.library.scope import control_dependencies, name_scope
from headrace.library.seq2seq.attention import AttentionMechanism
from headrace.library.tensor import array, creation


class AttentionWrapperState(NamedTuple):
    """The wrapped cell's state, the last attention, the step's number, alignments (and all of them, if asked)."""

    cell_state: Any
    attention: Any
    time: Any
    alignments: Any
    alignment_history: Any
    attention_state: Any

    def clone(self, **kwargs: Any) -> AttentionWrapperState:
        """A copy with some parts replaced; new values must have the old ones' shapes.

        >>> state = wrapper.zero_state(batch, tf.float32).clone(cell_state=encoder_state)  # doctest: +SKIP
        """

        def with_shape(old: Any, new: Any) -> Any:
            if hasattr(old, "set_shape") and hasattr(new, "set_shape"):
                new.set_shape(old.shape)
            return new

        return nest.map_structure(with_shape, self, self._replace(**kwargs))


class AttentionWrapper(RNNCell):
    """Runs a cell on the inputs joined with the last attention, then attends with the cell's output.

    The attention is ``attention_layer(concat(output, context))``, or the context itself without a layer.  The output is
    the attention, or the cell's output if ``output_attention`` is false.  Several mechanisms may be given as a list.

    Args:
      cell: The cell to run.
      attention_mechanism: What attends, such as `LuongAttention`, or a list of several.
      attention_layer_size: The width of the attention, or a list with one for each mechanism; None for no layer.
      alignment_history: True keeps the alignments of all steps in the state, as a TensorArray.
      cell_input_fn: A function of the inputs and the last attention that gives the cell's inputs; None joins them.
      output_attention: True puts the attention out, False the cell's output.
      initial_cell_state: The cell's part of `zero_state`; None for the cell's own zero state.
      name: The name of the cell, under which its variables are.
      attention_layer: A layer in place of `attention_layer_size`, or a list with one for each mechanism.
      attention_fn: A function (mechanism, cell_output, attention_state, attention_layer) that gives the attention, the
        alignments and the next attention state; None for the one described here.
      dtype: The type of the attention layers' variables; None takes that of the first inputs.

    >>> attention = tf.contrib.seq2seq.LuongAttention(4, memory=tf.zeros([2, 5, 3]))
    >>> cell = tf.contrib.seq2seq.AttentionWrapper(tf.nn.rnn_cell.GRUCell(4), attention, attention_layer_size=6)
    >>> output, state = cell(tf.zeros([2, 3]), cell.zero_state(2, tf.float32))
    >>> output.shape.as_list(), state.alignments.shape.as_list()
    ([2, 6], [2, 5])
    """

    def __init__(
        self, cell: Any, attention_mechanism: Any, attention_layer_size: Any = None, alignment_history: bool = False,
        cell_input_fn: Callable[..., Any] | None = None, output_attention: bool = True, initial_cell_state: Any = None,
        name: str | None = None, attention_layer: Any = None, attention_fn: Callable[..., Any] | None = None,
        dtype: Any = None,
    ) -> None:  # fmt: skip
        super().__init__(name=name, dtype=dtype)
        assert_like_cell(cell)
        self._is_multi = isinstance(attention_mechanism, (list, tuple))
        self._mechanisms = list(attention_mechanism) if self._is_multi else [attention_mechanism]
        for mechanism in self._mechanisms:
            if not isinstance(mechanism, AttentionMechanism):
                raise TypeError(
                    f"attention_mechanism must contain only instances of AttentionMechanism, saw type: {type(mechanism)}"
                )
        if cell_input_fn is not None and not callable(cell_input_fn):
            raise TypeError(f"cell_input_fn must be callable, saw type: {type(cell_input_fn).__name__}")
        if attention_layer_size is not None and attention_layer is not None:
            raise ValueError("Only one of attention_layer_size and attention_layer should be set")
        self._cell = cell
        self._layers = self._attention_layers(attention_layer_size, attention_layer, dtype)
        self._attention_layer_size = sum(self._sizes())
        self._cell_input_fn = cell_input_fn or (lambda inputs, attention: array.concat([inputs, attention], -1))
        self._attention_fn = attention_fn or attend
        self._output_attention = output_attention
        self._alignment_history = alignment_history
        self._initial_cell_state = None
        if initial_cell_state is not None:
            with name_scope(None, "AttentionWrapperInit"):
                self._initial_cell_state = self._checked_state(initial_cell_state)

    def _attention_layers(self, sizes: Any, layers: Any, dtype: Any) -> list[Any] | None:
        sizes_or_layers = sizes if sizes is not None else layers
        if sizes_or_layers is None:
            return None
        listed = list(sizes_or_layers) if isinstance(sizes_or_layers, (list, tuple)) else [sizes_or_layers]
        if len(listed) != len(self._mechanisms):
            what = "attention_layer_size" if sizes is not None else "attention_layer"
            raise ValueError(
                f"If provided, {what} must contain exactly one integer or layer per attention_mechanism, saw: "
                f"{len(listed)} vs {len(self._mechanisms)}"
            )
        if sizes is None:
            return listed
        return [Dense(size, name="attention_layer", use_bias=False, dtype=dtype) for size in listed]

    def _sizes(self) -> list[int]:
        """The size of each mechanism's attention."""
        contexts = [int(m.values.shape.as_list()[-1]) for m in self._mechanisms]
        if self._layers is None:
            return contexts
        return [
            layer.units
            if hasattr(layer, "units")
            else int(layer.compute_output_shape([None, self._cell.output_size + context]).as_list()[-1])
            for layer, context in zip(self._layers, contexts, strict=True)
        ]

    def _checked_state(self, state: Any) -> Any:
        first = nest.flatten(state)[-1]
        batch = first.shape.as_list()[0]
        batch = array.shape(first)[0] if batch is None else batch
        with control_dependencies(self._batch_checks(batch, "initial_cell_state")):
            return nest.map_structure(lambda s: identity(s, name="check_initial_cell_state"), state)

    def _batch_checks(self, batch_size: Any, what: str) -> list[Any]:
        message = (
            f"When calling zero_state of AttentionWrapper {self._base_name}: Non-matching batch sizes between the memory "
            f"(encoder output) and the requested batch size ({what}).  Are you using the BeamSearchDecoder?  You may need to "
            "tile your initial state and the memory via tf.contrib.seq2seq.tile_batch with argument multiplier=beam_width."
        )
        return [assert_equal(batch_size, m.batch_size, message=message) for m in self._mechanisms]

    def _item_or_tuple(self, items: Any) -> Any:
        items = tuple(items)
        return items if self._is_multi else items[0]

    @property
    def output_size(self) -> Any:
        return self._attention_layer_size if self._output_attention else self._cell.output_size

    @property
    def state_size(self) -> AttentionWrapperState:
        return AttentionWrapperState(
            cell_state=self._cell.state_size,
            time=TensorShape([]),
            attention=self._attention_layer_size,
            alignments=self._item_or_tuple(m.alignments_size for m in self._mechanisms),
            attention_state=self._item_or_tuple(m.state_size for m in self._mechanisms),
            alignment_history=self._item_or_tuple(
                m.alignments_size if self._alignment_history else () for m in self._mechanisms
            ),
        )

    def zero_state(self, batch_size: Any, dtype: Any) -> AttentionWrapperState:
        with name_scope(type(self).__name__ + "ZeroState", values=[batch_size]):
            cell_state = self._initial_cell_state
            if cell_state is None:
                cell_state = self._cell.zero_state(batch_size, dtype)
            with control_dependencies(self._batch_checks(batch_size, "zero_state")):
                cell_state = nest.map_structure(lambda s: identity(s, name="checked_cell_state"), cell_state)
            alignments = [m.initial_alignments(batch_size, dtype) for m in self._mechanisms]
            return AttentionWrapperState(
                cell_state=cell_state,
                time=creation.zeros([], dtype=dtypes.int32),
                attention=batch_zeros(batch_size, self._attention_layer_size, dtype),
                alignments=self._item_or_tuple(alignments),
                attention_state=self._item_or_tuple(m.initial_state(batch_size, dtype) for m in self._mechanisms),
                alignment_history=self._item_or_tuple(
                    TensorArray(dtype, size=0, dynamic_size=True, element_shape=a.shape)
                    if self._alignment_history
                    else ()
                    for a in alignments
                ),
            )

    def call(self, inputs: Any, state: Any) -> Any:  # type: ignore[override]
        if not isinstance(state, AttentionWrapperState):
            raise TypeError(
                f"Expected state to be instance of AttentionWrapperState. Received type {type(state)} instead."
            )
        output, cell_state = self._cell(self._cell_input_fn(inputs, state.attention), state.cell_state)
        states = state.attention_state if self._is_multi else [state.attention_state]
        histories = state.alignment_history if self._is_multi else [state.alignment_history]
        layers = self._layers or [None] * len(self._mechanisms)
        attended = [
            self._attention_fn(mechanism, output, its_state, layer)
            for mechanism, its_state, layer in zip(self._mechanisms, states, layers, strict=True)
        ]
        attention = array.concat([f[0] for f in attended], 1) if len(attended) > 1 else attended[0][0]
        next_state = AttentionWrapperState(
            time=state.time + 1,
            cell_state=cell_state,
            attention=attention,
            attention_state=self._item_or_tuple(f[2] for f in attended),
            alignments=self._item_or_tuple(f[1] for f in attended),
            alignment_history=self._item_or_tuple(
                history.write(state.time, f[1]) if self._alignment_history else ()
                for history, f in zip(histories, attended, strict=True)
            ),
        )
        return attention if self._output_attention else output, next_state


def attend(mechanism: Any, cell_output: Any, attention_state: Any, attention_layer: Any) -> tuple[Any, Any, Any]:
    """(attention, alignments, next attention state) of one mechanism."""
    alignments, next_state = mechanism(cell_output, state=attention_state)
    context = array.squeeze(matmul(array.expand_dims(alignments, 1), mechanism.values), [1])
    if attention_layer is None:
        return context, alignments, next_state
    return attention_layer(array.concat([cell_output, context], 1)), alignments, next_state
