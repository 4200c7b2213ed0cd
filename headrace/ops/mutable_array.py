"""Tensor arrays that are written in place: what `TensorArrayV3` and its like mean in a TensorFlow 1 graph that holds gradients.

There a gradient is an array too, found by the handle of the first and a name (`TensorArrayGradV3`); flows are numbers that only
order.  The importer makes these ops of the ones it reads if the graph has `TensorArrayGradV3`; others use ops/tensor_array.py,
where arrays are values and have gradients of their own.  They are written to a GraphDef under TensorFlow's names.
"""

from __future__ import annotations

import threading
from typing import Any

import torch

from headrace.core.registry import op
from headrace.graph import raw_ops
from headrace.ops.shared.array_ops import ArrayHandle, array_ops, check_size

_FLOW = torch.tensor(0.0)


class MutableArray(ArrayHandle):
    """Lives as long as the step that made it.  Thread-safe; never waits.

    An array that holds the gradients of another one has its size and the shapes of its elements; what is written to one place
    adds up, and what was not written is zero.
    """

    def __init__(
        self, name: str, size: int, dtype: Any, device: Any, dynamic: bool, clears: bool, of: MutableArray | None = None
    ) -> None:
        self.name = name
        self.dtype = dtype
        self.dynamic_size = dynamic
        self._device = device
        self._clears = clears  # an element is dropped when it was read
        self._of = of  # the array whose gradients these are
        self._elements: list[Any] = [None] * size
        self._shapes: list[tuple[int, ...] | None] = [None] * size
        self._gradients: dict[str, MutableArray] = {}
        self._lock = threading.RLock()

    def size(self, flow):
        return len(self._elements)

    def gradient(self, source):
        """The array of the gradients of this one that ``source`` asks for, the same one each time."""
        with self._lock:
            self.dynamic_size = False
            if source not in self._gradients:
                name, size = f"{self.name}@{source}", len(self._elements)
                self._gradients[source] = MutableArray(name, size, self.dtype, self._device, False, False, self)
            return self._gradients[source]

    def write(self, flow, index, value):
        with self._lock:
            size = len(self._elements)
            before = self._elements[index] if 0 <= index < size else None
            adds = before is not None and self._of is not None
            self.check_write(index, size, index < size and self._shapes[index] is not None and not adds)
            self._elements += [None] * (index + 1 - size)
            self._shapes += [None] * (index + 1 - size)
            self._elements[index] = before + value if adds else value
            self._shapes[index] = tuple(value.shape)
        return _FLOW

    def read(self, flow, index):
        with self._lock:
            if not 0 <= index < len(self._elements):
                self.refuse_read(index, len(self._elements))
            value, shape = self._elements[index], self._shape(index)
            if value is None and self._shapes[index] is not None:
                raise ValueError(
                    f"TensorArray {self.name}: Could not read index {index} twice because it was cleared after a previous read "
                    "(perhaps try setting clear_after_read = false?)"
                )
            if self._clears:
                self._elements[index] = None
        if shape is None:
            raise ValueError(
                f"TensorArray {self.name}: Could not read from TensorArray index {index}.  It was never written, and the shape "
                "of its elements is not known"
            )
        return torch.zeros(shape, dtype=self.dtype, device=self._device) if value is None else value

    def _shape(self, index):
        """The shape of an element, also of one that was read; None if it is not known."""
        known = self._shapes[index] if index < len(self._shapes) else None
        return known if known is not None or self._of is None else self._of._shape(index)

    def close(self):
        with self._lock:
            self._elements.clear()
            self._shapes.clear()


_OPS = array_ops("_", "float32", "keeps", stateful=True, opaque=True)


@_OPS.make.kernel
def _(size, dtype, shape, dynamic_size, clear_after_read, identical_element_shapes, name, *, node, device):
    check_size(size, name or node.name)
    return MutableArray(name or node.name, size, dtype, device, dynamic_size, clear_after_read), _FLOW


gradient = op(
    "_TensorArrayGradV3(handle: resource, flow_in: float32; source: string) -> (grad_handle: resource, flow_out: float32)",
    stateful=True, opaque=True,
)  # fmt: skip
gradient.shape(lambda handle, flow_in, source: [(2,), ()])
gradient.kernel(lambda handle, flow_in, source: (handle.gradient(source), _FLOW))
gradient.not_differentiable()


# ---- gradients: TensorFlow's.  What is written to the array of gradients adds up; flows say when all of it was written


def _gradients(handle, flow, grad):
    """The array of an array's gradients in the call of ``tf.gradients`` that made ``grad``, and its flow."""
    parts = grad.name.split("/")
    found = next((i for i, part in enumerate(parts) if part.startswith("gradients")), len(parts) - 2)
    return raw_ops._TensorArrayGradV3(handle, flow, source="/".join(parts[: found + 1]))


@_OPS.read.gradient
def _(node, grad):
    handle, index, flow = node.inputs
    array = _gradients(handle, flow, grad)
    return [None, None, raw_ops._TensorArrayWriteV3(array.grad_handle, index, grad, array.flow_out)]


@_OPS.write.gradient
def _(node, grad):
    handle, index, value, _ = node.inputs
    array = _gradients(handle, grad, grad)
    item = raw_ops._TensorArrayReadV3(array.grad_handle, index, array.flow_out, dtype=value.dtype.base_dtype)
    item.set_shape(value.shape)
    return [None, None, item, grad]


@_OPS.gather.gradient
def _(node, grad):
    handle, indices, flow = node.inputs
    array = _gradients(handle, flow, grad)
    return [None, None, raw_ops._TensorArrayScatterV3(array.grad_handle, indices, grad, array.flow_out)]


@_OPS.scatter.gradient
def _(node, grad):
    handle, indices, value, _ = node.inputs
    array = _gradients(handle, grad, grad)
    rows = raw_ops._TensorArrayGatherV3(array.grad_handle, indices, array.flow_out, dtype=value.dtype.base_dtype)
    rows.set_shape(value.shape)
    return [None, None, rows, grad]


@_OPS.concat.gradient
def _(node, grad, lengths_grad):
    handle, flow = node.inputs
    array = _gradients(handle, flow, grad)
    return [None, raw_ops._TensorArraySplitV3(array.grad_handle, grad, node.outputs[1], array.flow_out)]


@_OPS.split.gradient
def _(node, grad):
    handle, value, _, _ = node.inputs
    array = _gradients(handle, grad, grad)
    joined = raw_ops._TensorArrayConcatV3(array.grad_handle, array.flow_out, dtype=value.dtype.base_dtype).value
    joined.set_shape(value.shape)
    return [None, joined, None, grad]
