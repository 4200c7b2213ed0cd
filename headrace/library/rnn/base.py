"""RNNCell: one step of a recurrent network, ``output, new_state = cell(inputs, state)``.

A cell is a layer that also takes a state.  ``state_size`` and ``output_size`` are (nested structures of) sizes; states are
nested in the same way.  What repeats a cell over a sequence is in ``static`` and ``dynamic``.
"""

from __future__ import annotations

import copy
from typing import Any

from headrace.core.shape import TensorShape, as_shape
from headrace.graph.infer import constant_value
from headrace.graph.operation import Tensor
from headrace.library import nest
from headrace.library.layers.base import Layer
from headrace.library.scope import name_scope
from headrace.library.state.variable import Variable
from headrace.library.state.variable_scope import get_variable_scope, variable_scope
from headrace.library.tensor import array, creation


def as_dims(size: Any) -> list[int | None]:
    """A size in a ``state_size`` or ``output_size`` (an int, a dimension or a shape) as a list of dimensions."""
    return list(as_shape(size).as_list()) if isinstance(size, TensorShape) else [None if size is None else int(size)]


def is_size(size: Any) -> bool:
    """Whether this is one size rather than a structure of sizes."""
    return isinstance(size, TensorShape) or not nest.is_sequence(size)


def map_sizes(change: Any, sizes: Any, *others: Any) -> Any:
    """``change`` on each size (shapes are leaves here) and the leaves of other structures beside it."""
    if is_size(sizes):
        return change(sizes, *others)
    parts = [map_sizes(change, s, *(o[i] for o in others)) for i, s in enumerate(sizes)]
    return type(sizes)(*parts) if nest.is_namedtuple(sizes) else type(sizes)(parts)


def flat_sizes(sizes: Any) -> list[Any]:
    """The sizes in the order of ``nest.flatten``."""
    return [sizes] if is_size(sizes) else [s for part in sizes for s in flat_sizes(part)]


def batch_zeros(batch_size: Any, size: Any, dtype: Any) -> Tensor:
    """Zeros of shape [batch_size] + size; the batch size may be a tensor."""
    dims = as_dims(size)
    static = constant_value(batch_size) if isinstance(batch_size, Tensor) else batch_size
    if static is None:
        zeros = creation.zeros(array.concat([array.expand_dims(batch_size, 0), dims], 0), dtype=dtype)
        zeros.set_shape([None, *dims])
        return zeros
    return creation.zeros([int(static), *dims], dtype=dtype)


# What copies of a cell have in common with it.
_SHARED = {"_graph", "_scope", "_current_scope", "_rnn_scope", "_noise", "_linear"}
_LISTS = {"_trainable_weights", "_non_trainable_weights", "_losses", "_updates", "_calls"}


class RNNCell(Layer):
    """Base class of cells.  A subclass gives ``state_size``, ``output_size`` and ``call(inputs, state)``.

    Variables made with ``tf.get_variable`` in ``call`` belong to the cell; they are named ``<scope>/<cell>/<variable>``.

    Args:
      trainable: False keeps the variables out of `tf.trainable_variables()`.
      name: The name of the cell, under which its variables are; None for a name made of the class's.
      dtype: The type of the variables; None takes that of the first inputs.
      **kwargs: `_reuse`, True to use variables that exist, and the further arguments of `tf.layers.Layer`.

    >>> class Counter(tf.nn.rnn_cell.RNNCell):
    ...     state_size = output_size = 1
    ...     def call(self, inputs, state):
    ...         return inputs, state + 1.0
    >>> tf.Session().run(Counter()(tf.zeros([1, 1]), tf.zeros([1, 1])))
    (array([[0.]], dtype=float32), array([[1.]], dtype=float32))
    """

    def __call__(self, inputs: Any, state: Any, scope: Any = None) -> Any:  # type: ignore[override]
        """``(output, new_state)`` for one step."""
        if scope is not None:
            with variable_scope(scope, custom_getter=self._get_variable) as scope:
                return super().__call__(inputs, state, scope=scope)
        entered = getattr(self, "_rnn_scope", None)
        if entered is None:
            entered = self._rnn_scope = variable_scope(get_variable_scope(), custom_getter=self._get_variable)
        with entered:
            return super().__call__(inputs, state)

    def __deepcopy__(self, memo: dict[int, Any]) -> Any:
        """A cell with the same arguments; the graph, its tensors and its variables are not copied."""
        copied = memo[id(self)] = object.__new__(type(self))
        for key, value in vars(self).items():
            shared = key in _SHARED or isinstance(value, (Tensor, Variable))
            setattr(copied, key, copy.copy(value) if key in _LISTS else value if shared else copy.deepcopy(value, memo))
        return copied

    def _get_variable(self, getter: Any, *args: Any, **kwargs: Any) -> Any:
        variable = getter(*args, **kwargs)
        parts = [variable] if isinstance(variable, Variable) else list(variable)
        for part in parts:
            weights = self._trainable_weights if part.trainable else self._non_trainable_weights
            if not any(part is k for k in weights):
                weights.append(part)
        return variable

    @property
    def state_size(self) -> Any:
        """Sizes of the state: an int or a TensorShape, or a nested structure of them."""
        raise NotImplementedError("Abstract method")

    @property
    def output_size(self) -> Any:
        """The size of the output: an int or a TensorShape."""
        raise NotImplementedError("Abstract method")

    def zero_state(self, batch_size: Any, dtype: Any) -> Any:
        """A state of zeros for a batch; ``batch_size`` is an int or an integer scalar."""
        with name_scope(type(self).__name__ + "ZeroState", values=[batch_size]):
            return map_sizes(lambda size: batch_zeros(batch_size, size, dtype), self.state_size)

    def get_initial_state(self, inputs: Any = None, batch_size: Any = None, dtype: Any = None) -> Any:
        """The zero state for ``inputs``, or for a batch size and a dtype."""
        if inputs is not None:
            dtype = inputs.dtype.base_dtype
            batch_size = array.shape(inputs)[0] if inputs.shape.as_list()[0] is None else inputs.shape.as_list()[0]
        if batch_size is None or dtype is None:
            raise ValueError(
                "batch_size and dtype cannot be None while constructing initial state: "
                f"batch_size={batch_size}, dtype={dtype}"
            )
        return self.zero_state(batch_size, dtype)


class LayerRNNCell(RNNCell):
    """A cell that makes its variables in ``build``, as layers do, under its own name.

    Args:
      trainable: False keeps the variables out of `tf.trainable_variables()`.
      name: The name of the cell, under which its variables are; None for a name made of the class's.
      dtype: The type of the variables; None takes that of the first inputs.
      **kwargs: `_reuse`, True to use variables that exist, and the further arguments of `tf.layers.Layer`.

    >>> isinstance(tf.nn.rnn_cell.GRUCell(4), tf.contrib.rnn.LayerRNNCell)
    True
    """

    def __call__(self, inputs: Any, state: Any, scope: Any = None, *args: Any, **kwargs: Any) -> Any:  # type: ignore[override]
        return Layer.__call__(self, inputs, state, *args, scope=scope, **kwargs)


def input_depth(inputs_shape: Any) -> int:
    """The last dimension of the inputs, which must be known to make variables."""
    depth = as_shape(inputs_shape).as_list()[-1]
    if depth is None:
        raise ValueError(f"Expected inputs.shape[-1] to be known, saw shape: {inputs_shape}")
    return int(depth)


def assert_like_cell(cell: Any, name: str = "cell") -> None:
    """Raises TypeError unless the object can be used as a cell."""
    missing = [what for what in ("output_size", "state_size") if not hasattr(cell, what)]
    if not (hasattr(cell, "zero_state") or hasattr(cell, "get_initial_state")):
        missing.append("zero_state or get_initial_state")
    if not callable(cell):
        missing.append("__call__")
    if missing:
        raise TypeError(
            f"The argument {name!r} ({cell!r}) is not an RNNCell: {', '.join(missing)} property is missing or it "
            "cannot be called."
        )


def initial_state(cell: Any, state: Any, batch_size: Any, dtype: Any) -> Any:
    """The given state, or the cell's zero state."""
    if state is not None:
        return state
    if not dtype:
        raise ValueError("If there is no initial_state, you must give a dtype.")
    if getattr(cell, "get_initial_state", None) is not None:
        return cell.get_initial_state(inputs=None, batch_size=batch_size, dtype=dtype)
    return cell.zero_state(batch_size, dtype)
