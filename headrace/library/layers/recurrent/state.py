"""The states of recurrent cells: their sizes, zeros to begin with, and the ways in which callers pass them."""

from __future__ import annotations

from typing import Any

from headrace.core import dtypes
from headrace.core.shape import TensorShape, as_shape
from headrace.graph.convert import convert_to_tensor
from headrace.graph.operation import Tensor
from headrace.library import nest
from headrace.library.tensor import array, creation


def has_several(state_size: Any) -> bool:
    """Whether a cell with this ``state_size`` has a list of states; a shape is the size of one."""
    return isinstance(state_size, list | tuple) and not isinstance(state_size, TensorShape)


def as_list(state_size: Any) -> list[Any]:
    """The sizes of a cell's states, one for each."""
    return list(state_size) if has_several(state_size) else [state_size]


def dims(size: Any) -> list[Any]:
    """The shape of a state of this size, without the batch."""
    return [int(size)] if isinstance(size, int) else as_shape(size).as_list()


def zero_states(batch_size: Any, state_size: Any, dtype: Any) -> Any:
    """Zeros for each state, in the structure of ``state_size``."""
    if batch_size is None or dtype is None:
        raise ValueError(
            "batch_size and dtype must be known to make an initial state. Received: "
            f"batch_size={batch_size}, dtype={dtype}"
        )
    return nest.map_structure(lambda size: _zeros(batch_size, dims(size), dtypes.as_dtype(dtype)), state_size)


def _zeros(batch_size: Any, rest: list[int], dtype: Any) -> Tensor:
    if not isinstance(batch_size, Tensor):
        return creation.zeros([int(batch_size), *rest], dtype)
    made = creation.zeros(array.stack([batch_size, *rest]), dtype)
    made.set_shape([None, *rest])
    return made


def batch_of(inputs: Tensor, axis: int) -> Any:
    """The size of the batch: an int if it is known."""
    shape = inputs.shape
    known = None if shape.ndims is None else shape.as_list()[axis]
    return array.shape(inputs)[axis] if known is None else known


def cell_zero_states(cell: Any, inputs: Any, batch_size: Any, dtype: Any) -> Any:
    """What ``cell.get_initial_state`` returns for a cell that begins with zeros."""
    if inputs is not None:
        tensor = convert_to_tensor(nest.flatten(inputs)[0])
        batch_size, dtype = batch_of(tensor, 0), tensor.dtype
    return zero_states(batch_size, cell.state_size, dtype)


def separated(inputs: Any, initial_state: Any, constants: Any, constant_count: int) -> tuple[Any, Any, Any]:
    """The inputs, states and constants of a call, which may all be in one list ``[inputs, *states, *constants]``."""
    if isinstance(inputs, list):
        if initial_state is not None or constants is not None:
            raise ValueError(
                "initial_state and constants cannot be passed beside a list [inputs, states..., constants...]"
            )
        if constant_count:
            constants = inputs[-constant_count:]
            inputs = inputs[:-constant_count]
        initial_state = inputs[1:] or None
        inputs = inputs[0]
    return inputs, _listed(initial_state), _listed(constants)


def _listed(value: Any) -> list[Any] | None:
    if value is None or isinstance(value, list):
        return value
    return list(value) if isinstance(value, tuple) else [value]


def merged_steps(x: Tensor) -> Tensor:
    """The first two axes as one: [batch, time, ...] -> [batch * time, ...]."""
    sizes = x.shape.as_list()
    if None not in sizes[2:]:
        return array.reshape(x, [-1, *sizes[2:]])
    made = array.reshape(x, array.concat([[-1], array.shape(x)[2:]], 0))
    made.set_shape([None, *sizes[2:]])
    return made


def split_steps(inputs: Tensor, x: Tensor) -> Tensor:
    """The first axis as the first two of the inputs: [batch * time, ...] -> [batch, time, ...]."""
    known = [*inputs.shape.as_list()[:2], *x.shape.as_list()[1:]]
    if known.count(None) <= 1:
        made = array.reshape(x, [-1 if size is None else size for size in known])
    else:
        made = array.reshape(x, array.concat([array.shape(inputs)[:2], array.shape(x)[1:]], 0))
    made.set_shape(known)
    return made
