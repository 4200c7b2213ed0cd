"""TensorHandle: what ``Session.run`` gives for ``tf.get_session_handle``, and what can be fed in place of a value."""

from __future__ import annotations

import contextlib
from typing import Any

import numpy as np

from headrace.core import dtypes
from headrace.core.device import task_of
from headrace.core.dtypes import DType
from headrace.core.errors import InvalidArgumentError
from headrace.core.source import at
from headrace.core.wire import field
from headrace.graph.operation import Tensor
from headrace.resources.calling.value import FROM_TORCH, to_numpy
from headrace.resources.state.session_tensor import SessionTensors

KEEPING = ("GetSessionHandle", "GetSessionHandleV2")  # the types of nodes whose result is a handle
_TAKING = ("GetSessionTensor", "DeleteSessionTensor")  # the types of nodes that take the name of one
_NUMPY_RESOURCE = np.dtype([("resource", np.ubyte)])


class TensorHandle:
    """A value that stays in its session: ``str(handle)`` is ``name of the node;number;device``.

    The value is deleted with the last reference to this object, unless ``get_raw_handle`` was called, or by ``delete``.
    """

    def __init__(self, handle: Any, dtype: DType, session: Any) -> None:
        self._handle = handle.decode() if isinstance(handle, bytes) else str(handle)
        self._dtype = dtype
        self._session = session
        self._auto_gc_enabled = True

    @property
    def _store(self) -> SessionTensors:
        return SessionTensors.of(self._session._resources, self._session._master.registered.owner)

    @property
    def handle(self) -> str:
        """The handle as a string, to feed to the placeholder of ``get_session_tensor``."""
        return self._handle

    def __str__(self) -> str:
        return self._handle

    def eval(self) -> Any:
        """The value as an array."""
        self._check_kept()
        return to_numpy(self.value(), copy=True)

    def value(self) -> Any:
        """The value as the runtime holds it, not to be changed."""
        try:
            return self._store.get(self._handle)
        except KeyError:
            raise InvalidArgumentError(
                None, None, f"The tensor with handle '{self._handle}' {self._why_absent()} {at()}"
            ) from None

    def _why_absent(self) -> str:
        task = task_of(self._handle.rpartition(";")[2])
        if task and task != self._session._master.worker.task:
            return f"is on another task, {task}: take it in a step there, by tf.get_session_tensor or tf.delete_session_tensor"
        return "is not in the session store: it was deleted"

    def delete(self) -> None:
        """Deletes the value now."""
        self._check_kept()
        self._auto_gc_enabled = False
        try:
            self._store.delete(self._handle)
        except KeyError:
            raise InvalidArgumentError(
                None, None, f"Failed to delete a tensor with handle '{self._handle}', which {self._why_absent()} {at()}"
            ) from None

    def get_raw_handle(self) -> str:
        """The handle as a string; from now on the value lives until it is deleted or the session is closed."""
        self._auto_gc_enabled = False
        return self._handle

    def to_numpy_array(self) -> Any:
        """The handle as TensorFlow's array of type resource: the bytes of a ResourceHandleProto."""
        parts = (self._handle.rpartition(";")[2], "TensorHandle", self._handle)
        proto = b"".join(field(i, part.encode()) for i, part in enumerate(parts, 1))
        return np.frombuffer(proto, np.ubyte).astype(_NUMPY_RESOURCE)

    def _check_kept(self) -> None:
        if not self._auto_gc_enabled:
            raise TypeError(f"Persistent tensor {self._handle} may have already been deleted. {at()}")

    def __del__(self) -> None:
        if getattr(self, "_auto_gc_enabled", False):
            with contextlib.suppress(KeyError):
                self._store.delete(self._handle)


def fed_handle(handle: TensorHandle, tensor: Tensor) -> Any:
    """What feeding a handle means: its name where a node takes the names of handles, elsewhere its value."""
    if any(op.type in _TAKING for op in tensor.consumers()):
        return np.array(handle.handle.encode(), dtype=object)
    value = handle.value()
    dtype = FROM_TORCH.get(value.dtype, dtypes.string)
    if dtype != tensor.dtype.base_dtype:
        raise InvalidArgumentError(
            None, None, f"Cannot feed the handle of a {dtype.name} value for Tensor '{tensor.name}', "
            f"which is {tensor.dtype.base_dtype.name} (made at {tensor.op.source}) {at()}",
        )  # fmt: skip
    if not tensor.shape.is_compatible_with(list(value.shape)):
        raise ValueError(
            f"Cannot feed the handle of a value of shape {tuple(value.shape)} for Tensor '{tensor.name}', which has shape "
            f"{tensor.shape} (made at {tensor.op.source}) {at()}"
        )
    return value if dtype == dtypes.string else value.cpu()
