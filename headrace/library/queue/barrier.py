"""Barrier: values that belong together arrive component by component and leave when they are complete."""

from __future__ import annotations

from typing import Any

from headrace.core.shape import TensorShape
from headrace.core.source import at
from headrace.graph import raw_ops
from headrace.graph.infer import constant_value
from headrace.graph.operation import Operation, Tensor
from headrace.library.queue.component import dtype_list, shape_list


class Barrier:
    """Elements by key, each a tuple of values.  An element is complete when every component has come.

    Complete elements are taken in the order in which their first components came.
    """

    def __init__(self, types: Any, shapes: Any = None, shared_name: str | None = None, name: str = "barrier") -> None:
        self._types = dtype_list(types)
        self._shapes = shape_list(shapes, self._types) or [TensorShape(None) for _ in self._types]
        for i, shape in enumerate(self._shapes):
            if shape.num_elements() == 0:
                raise ValueError(f"Empty tensors are not supported, but received shape '{shape}' at index {i} {at()}")
        self._barrier_ref: Tensor = raw_ops.Barrier(
            component_types=self._types, shapes=self._shapes, shared_name=shared_name, name=name
        )
        self._name = self._barrier_ref.op.name.rsplit("/", 1)[-1]

    @property
    def barrier_ref(self) -> Tensor:
        """The handle that barrier ops take."""
        return self._barrier_ref

    @property
    def name(self) -> str:
        return self._barrier_ref.op.name

    def insert_many(self, component_index: int, keys: Any, values: Any, name: str | None = None) -> Operation:
        """Gives each key its value of a component: ``values[i]`` belongs to ``keys[i]``.

        InvalidArgumentError if a key has that component; CancelledError for new keys once the barrier is closed.
        """
        return raw_ops.BarrierInsertMany(
            self._barrier_ref, keys, values, component_index=component_index,
            name=name or f"{self._name}_BarrierInsertMany",
        )  # fmt: skip

    def take_many(
        self, num_elements: Any, allow_small_batch: bool = False, timeout: int | None = None, name: str | None = None
    ) -> Any:
        """Takes complete elements and waits for them: (indices, keys, list of components), each joined along a new dimension.

        An element's index counts the calls that brought new keys, from -2**63.  OutOfRangeError if the barrier is closed
        and has fewer; with ``allow_small_batch`` those are taken, if there is one.  ``timeout`` is refused when the op runs:
        `tf.RunOptions.timeout_in_ms` limits the whole run.
        """
        taken = raw_ops.BarrierTakeMany(
            self._barrier_ref, num_elements, component_types=self._types, allow_small_batch=allow_small_batch,
            timeout_ms=-1 if timeout is None else timeout, name=name or f"{self._name}_BarrierTakeMany",
        )  # fmt: skip
        count = None if allow_small_batch else constant_value(taken.indices.op.inputs[1])
        if count is not None and count < 0:
            raise ValueError(f"num_elements must be >= 0, got {count} {at()}")
        for value, shape in zip(taken.values, self._shapes, strict=True):
            value.set_shape(TensorShape([None if count is None else int(count)]).concatenate(shape))
        return taken

    def close(self, cancel_pending_enqueues: bool = False, name: str | None = None) -> Operation:
        """No new keys will come.  Those that are there may still be completed, unless they are cancelled."""
        return raw_ops.BarrierClose(
            self._barrier_ref, cancel_pending_enqueues=cancel_pending_enqueues,
            name=name or f"{self._name}_BarrierClose",
        )  # fmt: skip

    def ready_size(self, name: str | None = None) -> Tensor:
        """How many elements are complete."""
        return raw_ops.BarrierReadySize(self._barrier_ref, name=name or f"{self._name}_BarrierReadySize")

    def incomplete_size(self, name: str | None = None) -> Tensor:
        """How many elements wait for components."""
        return raw_ops.BarrierIncompleteSize(self._barrier_ref, name=name or f"{self._name}_BarrierIncompleteSize")
