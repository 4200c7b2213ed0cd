"""EagerTensor: a Tensor that holds its value.  EagerHandle: a Tensor that holds state (a variable).  Both are Immediate.

A value is what kernels take and return: a torch tensor, or for strings a numpy array.  It is never changed in place: if a
tensor still shares the buffer of a variable, a write replaces the buffer (``unshare``).
"""

from __future__ import annotations

import weakref
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import torch

from headrace.core import dtypes
from headrace.core.card import card
from headrace.core.dtypes import DType
from headrace.core.shape import TensorShape, as_shape
from headrace.core.source import UNKNOWN
from headrace.graph.convert import convert_to_tensor
from headrace.graph.operation import Tensor
from headrace.resources.calling.value import to_numpy

_DTYPES: dict[int, DType] = dict(dtypes._BY_ENUM)  # by the number that an eager tensor holds instead of its dtype
_PLAIN = frozenset(  # dtypes whose tensors numpy can look at as they are; not the refs of handles
    d.as_datatype_enum for d in (*dtypes.NUMERIC, dtypes.bool) if not d.is_complex and d != dtypes.bfloat16
)
_from_tuple = TensorShape.from_tuple
_SMALL = 4096  # the largest value, in elements, that static evaluation looks at


class EagerOperation:
    """What stands for the op of an eager tensor: where it lives, and for a handle its name.  No part of any graph."""

    __slots__ = ("graph", "name", "source", "type")

    inputs: tuple[Any, ...] = ()
    control_inputs: tuple[Any, ...] = ()
    colocation: tuple[str, ...] = ()
    attrs: dict[str, Any] = {}
    _device = device = ""
    _id = 0
    node_def = None

    def __init__(self, graph: Any, name: str, op_type: str, source: Any = UNKNOWN) -> None:
        self.graph = graph
        self.name = name
        self.type = op_type
        self.source = source

    @property
    def outputs(self) -> list[Any]:
        return []

    def __repr__(self) -> str:
        return f"<tf.Operation '{self.name}' type={self.type} (eager)>"


_plain_op: list[EagerOperation] = []


def set_context(graph: Any) -> None:
    """Called once by the context: what ``tensor.graph`` is for every eager tensor."""
    _plain_op[:] = [EagerOperation(graph, "EagerTensor", "EagerTensor")]


class Immediate(Tensor):
    """A value computed already, or what stands for one.  Hashes and compares by identity, as in TF1."""

    __slots__ = ("_dtype_enum", "_value")
    __array_priority__ = 100
    _dtype_enum: int
    _value: Any

    # The quickest way to create one: empty.  Its value and the number of its dtype are set afterwards (``holding``).
    __init__ = object.__init__  # type: ignore[assignment]

    # ---- the face of Tensor

    @property
    def _dtype(self) -> DType:  # type: ignore[override]
        return _DTYPES[self._dtype_enum]

    @property
    def shape(self) -> TensorShape:
        shape = getattr(self._value, "shape", None)
        return _from_tuple(None if shape is None else tuple(shape))

    _shape = shape  # type: ignore[assignment]

    def get_shape(self) -> TensorShape:
        return self.shape

    def set_shape(self, shape: Any) -> None:
        if shape != () and not self._shape.is_compatible_with(as_shape(shape)):
            raise ValueError(
                f"EagerTensor's shape {self._shape} is not compatible with supplied shape {as_shape(shape)}"
            )

    @property
    def op(self) -> Any:  # type: ignore[override]
        return _plain_op[0]

    @property
    def value_index(self) -> int:  # type: ignore[override]
        return 0

    @property
    def _consumers(self) -> list[Any]:  # type: ignore[override]
        return []

    @property
    def _static_value(self) -> Any:  # type: ignore[override]
        value = self._current()
        if isinstance(value, torch.Tensor):
            return to_array(value) if value.numel() <= _SMALL else None
        return value if isinstance(value, np.ndarray) else None

    @property
    def name(self) -> str:
        return f"EagerTensor-{id(self):x}:0"

    @property
    def device(self) -> str:
        where = getattr(self._current(), "device", None)
        return device_name(where) if isinstance(where, torch.device) else device_name(torch.device("cpu"))

    @property
    def ndim(self) -> int:
        return len(self._current().shape)

    def _current(self) -> Any:
        return self._value

    # ---- values

    def numpy(self) -> Any:
        """The value as an array of its own; a scalar for 0-d."""
        if self._dtype_enum in _PLAIN:
            try:
                array = self._value.numpy()
            except (RuntimeError, TypeError):  # on another device
                return to_numpy(self._value, copy=True)
            return array.copy() if array.ndim else array[()]
        return to_numpy(self._current(), copy=True)

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Any:
        array = to_array(self._current())
        if dtype is not None and array.dtype != dtype:
            return array.astype(dtype)
        return array.copy()

    def eval(self, feed_dict: Any = None, session: Any = None) -> Any:
        raise NotImplementedError("eval is not supported when eager execution is enabled; use .numpy()")

    def __bool__(self) -> bool:  # type: ignore[override]
        value = self._current()
        if isinstance(value, torch.Tensor) and value.numel() != 1:
            raise ValueError(
                f"The truth value of a tensor with {value.numel()} elements is ambiguous; use tf.reduce_any or tf.reduce_all"
            )
        return bool(value)

    def __int__(self) -> int:
        value = self._current()
        try:
            return int(value)
        except (RuntimeError, ValueError) as e:
            raise _no_number(value, e) from None

    def __float__(self) -> float:
        value = self._current()
        try:
            return float(value)
        except (RuntimeError, ValueError) as e:
            raise _no_number(value, e) from None

    def __complex__(self) -> complex:
        value = self._current()
        try:
            return complex(value)
        except (RuntimeError, ValueError) as e:
            raise _no_number(value, e) from None

    def __index__(self) -> int:
        value = self._current()
        if not self._dtype.is_integer or value.ndim:
            raise TypeError(f"only integer scalar tensors can be converted to an index, got {self!r}")
        return int(value)

    def __len__(self) -> int:  # type: ignore[override]
        shape = self._current().shape
        if not shape:
            raise TypeError("Scalar tensor has no `len()`")
        return int(shape[0])

    def __iter__(self) -> Iterator[Any]:  # type: ignore[override]
        if not self._current().shape:
            raise TypeError("Cannot iterate over a scalar tensor.")
        return iter([self[i] for i in range(len(self))])  # type: ignore[index]

    def __format__(self, spec: str) -> str:
        return format(self.numpy(), spec)

    def _copy_to(self, device: Any) -> EagerTensor:
        value = self._current()
        return holding(value.to(device) if isinstance(value, torch.Tensor) else value, self._dtype.base_dtype)

    def cpu(self) -> EagerTensor:
        """A tensor with this value in host memory."""
        return self._copy_to(torch.device("cpu"))

    def gpu(self, gpu_index: int = 0) -> EagerTensor:
        """A tensor with this value on a GPU."""
        return self._copy_to(torch.device("cuda", gpu_index))

    def _repr_html_(self) -> str:
        return card("tf.Tensor", {"shape": _dims(self), "dtype": self._dtype.name, "value": _shown(self, str)})

    def __repr__(self) -> str:
        return f"<tf.Tensor: id={id(self)}, shape={_dims(self)}, dtype={self._dtype.name}, numpy={_shown(self, repr)}>"

    def __str__(self) -> str:
        return f"tf.Tensor({_shown(self, str)}, shape={_dims(self)}, dtype={self._dtype.name})"

    def __hash__(self) -> int:
        return id(self)

    def __eq__(self, other: object) -> bool:
        return self is other

    def __reduce__(self) -> Any:
        return convert_to_tensor, (self.numpy(), self._dtype.base_dtype.name)


class EagerTensor(Immediate):
    """A plain value.  It has no subclasses, so a test of the class says all that a kernel needs to know."""

    __slots__ = ()


def holding(value: Any, dtype: DType) -> EagerTensor:
    """A tensor with this value."""
    tensor = EagerTensor()
    tensor._value = value
    tensor._dtype_enum = dtype.as_datatype_enum
    return tensor


class EagerHandle(Immediate):
    """The output of an op that owns state: the state itself.  Where a value is wanted, it stands for the present value."""

    __slots__ = ("_op", "_owner", "trainable")

    def __init__(self, state: Any, dtype: DType, op: EagerOperation) -> None:
        self._value = state
        self._dtype_enum = dtype.as_datatype_enum
        self._op = op
        self._owner: Any = None
        self.trainable = False

    @property
    def op(self) -> Any:  # type: ignore[override]
        return self._op

    @property
    def name(self) -> str:
        return f"{self._op.name}:0"

    def set_owner(self, owner: Any, trainable: bool) -> None:
        """Sets the variable object that users know the state by; tapes return it."""
        self._owner = weakref.ref(owner)
        self.trainable = trainable

    @property
    def owner(self) -> Any:
        return None if self._owner is None else self._owner()

    @property
    def shape(self) -> TensorShape:
        shape = getattr(self._current(), "shape", None)
        return _from_tuple(None if shape is None else tuple(shape))

    _shape = shape  # type: ignore[assignment]

    def _current(self) -> Any:
        state = self._value
        return getattr(state, "value", None) if hasattr(state, "initialized") else state


def to_array(value: Any) -> Any:
    """A value as an array, 0-d ones too.  May share memory."""
    return np.asarray(to_numpy(value))


def device_name(device: torch.device) -> str:
    device_type = {"cuda": "GPU"}.get(device.type, device.type.upper())
    return f"/job:localhost/replica:0/task:0/device:{device_type}:{device.index or 0}"


def _no_number(value: Any, error: Exception) -> Exception:
    if isinstance(value, torch.Tensor) and value.numel() != 1:
        return TypeError(
            f"only tensors of one element can be converted to Python scalars, this one has {value.numel()}"
        )
    return error


def _dims(tensor: Immediate) -> str:
    dims = tensor._shape.tuple
    return "<unknown>" if dims is None else str(tuple(dims))


def _shown(tensor: Immediate, form: Callable[[Any], str]) -> str:
    if tensor._dtype.base_dtype.name in ("resource", "variant"):
        return "<unprintable>"
    value = tensor.numpy()
    text = str(value) if isinstance(value, np.generic) else form(value)
    return f"\n{text}" if "\n" in text else text


# ---- what stands for a handle

_handles: dict[type, Callable[[Any], Any]] = {}


def register_handle(owner_class: type, handle_of: Callable[[Any], Any]) -> None:
    """Declares that objects of this class stand for a handle (``tf.Variable``)."""
    _handles[owner_class] = handle_of


def as_handle(value: Any) -> Any:
    """The handle behind a variable; anything else as it is."""
    if value.__class__ is EagerTensor or value.__class__ is EagerHandle:
        return value
    handle_of = _handles.get(type(value))
    if handle_of is None:
        handle_of = next((f for owner_class, f in _handles.items() if isinstance(value, owner_class)), None)
    return value if handle_of is None else handle_of(value)
