"""QueueBase: what all queues can do."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from headrace.core.dtypes import DType, int32
from headrace.core.shape import TensorShape
from headrace.core.source import at
from headrace.graph import raw_ops
from headrace.graph.convert import convert_to_tensor
from headrace.graph.infer import constant_value
from headrace.graph.operation import Operation, Tensor
from headrace.library.scope import name_scope


class QueueBase:
    """A buffer of elements, each a tuple of tensors.  Enqueuing waits while it is full, dequeuing while it is empty.

    Made by its subclasses.  With ``names``, elements are dictionaries.

    Args:
      dtypes: A list with the type of each component.
      shapes: A list with the shape of each component, or None.
      names: A list with the name of each component, or None.
      queue_ref: The tensor that stands for the queue.

    >>> queues = [tf.FIFOQueue(5, tf.int32), tf.FIFOQueue(5, tf.int32)]
    >>> chosen = tf.QueueBase.from_list(1, queues)
    """

    def __init__(
        self,
        dtypes: Sequence[DType],
        shapes: Sequence[TensorShape] | None,
        names: Sequence[str] | None,
        queue_ref: Tensor,
    ) -> None:
        if shapes is not None and len(shapes) != len(dtypes):
            raise ValueError(
                f"Queue shapes must have the same length as dtypes, received len(shapes)={len(shapes)}, "
                f"len(dtypes)={len(dtypes)} {at()}"
            )
        self._dtypes = list(dtypes)
        self._shapes = [TensorShape(s) for s in shapes] if shapes is not None else [TensorShape(None) for _ in dtypes]
        self._names = list(names) if names else None
        self._queue_ref = queue_ref
        self._name = queue_ref.op.name.rsplit("/", 1)[-1]

    @staticmethod
    def from_list(index: Any, queues: Sequence[QueueBase]) -> QueueBase:
        """The queue at a position, a tensor, of a list of queues with the same types."""
        if not queues or not isinstance(queues, list) or not all(isinstance(q, QueueBase) for q in queues):
            raise TypeError(f"A list of queues expected, got {queues!r} {at()}")
        dtypes, names = queues[0].dtypes, queues[0].names
        if any(q.dtypes != dtypes for q in queues):
            listed = "; ".join(", ".join(d.name for d in q.dtypes) for q in queues)
            raise TypeError(f"Queues do not have matching component dtypes. They have {listed} {at()}")
        if any(q.names != names for q in queues):
            raise TypeError(
                f"Queues do not have matching component names. They have {[q.names for q in queues]} {at()}"
            )
        shapes = [_common(several) for several in zip(*(q.shapes for q in queues), strict=True)]
        handle: Tensor = raw_ops._ChooseHandle(convert_to_tensor(index, int32), [q.queue_ref for q in queues])
        return QueueBase(dtypes, shapes, names, handle)

    # ---- properties

    @property
    def queue_ref(self) -> Tensor:
        """The handle that queue ops take."""
        return self._queue_ref

    @property
    def name(self) -> str:
        """The name of the operation that makes the queue, without its scope."""
        return self._queue_ref.op.name

    @property
    def dtypes(self) -> list[DType]:
        """The type of each component."""
        return self._dtypes

    @property
    def shapes(self) -> list[TensorShape]:
        """The shape of each component; unknown ones if none were given."""
        return self._shapes

    @property
    def names(self) -> list[str] | None:
        """The name of each component, or None."""
        return self._names

    # ---- adding

    def enqueue(self, vals: Any, name: str | None = None) -> Operation:
        """Adds one element; waits while the queue is full.  CancelledError if the queue is closed."""
        with name_scope(name, f"{self._name}_enqueue", []) as scope:
            components = self._components(vals)
            for i, (component, shape) in enumerate(zip(components, self._shapes, strict=True)):
                self._check_shape(i, component, component.shape, shape)
            return raw_ops.QueueEnqueueV2(self._queue_ref, components, name=scope)

    def enqueue_many(self, vals: Any, name: str | None = None) -> Operation:
        """Adds elements: the components' first dimension counts them."""
        with name_scope(name, f"{self._name}_EnqueueMany", []) as scope:
            components = self._components(vals)
            count = TensorShape([None])
            for i, (component, shape) in enumerate(zip(components, self._shapes, strict=True)):
                if component.shape.rank == 0:
                    raise ValueError(
                        f"Shape () must have rank at least 1: component {i} of the elements for {self.name} is a scalar, "
                        f"{component!r}, so it holds no elements to count {at()}"
                    )
                if not count.is_compatible_with(component.shape[:1]):
                    sizes = [c.shape[0].value for c in components]
                    raise ValueError(
                        f"the components for {self.name} have different numbers of elements: {sizes} {at()}"
                    )
                count = count.merge_with(component.shape[:1])
                self._check_shape(i, component, component.shape[1:], shape)
            return raw_ops.QueueEnqueueManyV2(self._queue_ref, components, name=scope)

    def _check_shape(self, index: int, component: Tensor, received: TensorShape, shape: TensorShape) -> None:
        if not received.is_compatible_with(shape):
            raise ValueError(
                f"Shapes {received} and {shape} are incompatible: component {index} of an element of {self.name} has the second; "
                f"{component!r} gives the first {at()}"
            )

    def _components(self, vals: Any) -> list[Tensor]:
        """What is to be enqueued as tensors of the queue's types."""
        if isinstance(vals, dict):
            if not self._names:
                raise ValueError(f"Queue must have names to enqueue a dictionary; {self.name} has none {at()}")
            if sorted(self._names, key=str) != sorted(vals, key=str):
                raise ValueError(
                    "Keys in dictionary to enqueue do not match names of Queue.  "
                    f"Dictionary: {sorted(vals, key=str)},Queue: {sorted(self._names)} {at()}"
                )
            several = [vals[n] for n in self._names]
        else:
            if self._names:
                raise ValueError(
                    f"You must enqueue a dictionary in a Queue with names; {self.name} has {self._names} {at()}"
                )
            several = list(vals) if isinstance(vals, (list, tuple)) else [vals]
        if len(several) != len(self._dtypes):
            raise ValueError(
                f"{self.name} has {len(self._dtypes)} components ({', '.join(d.name for d in self._dtypes)}), but "
                f"{len(several)} values are to be enqueued {at()}"
            )
        pairs = zip(several, self._dtypes, strict=True)
        return [convert_to_tensor(v, d, name=f"component_{i}") for i, (v, d) in enumerate(pairs)]

    # ---- taking

    def dequeue(self, name: str | None = None) -> Any:
        """Takes one element; waits while there is none.  OutOfRangeError once the queue is closed and empty.

        One tensor, a list of tensors, or, if the queue has names, a dictionary.
        """
        taken = raw_ops.QueueDequeueV2(
            self._queue_ref, component_types=self._dtypes, name=name or f"{self._name}_Dequeue"
        )
        return self._element(taken, [])

    def dequeue_many(self, n: Any, name: str | None = None) -> Any:
        """Takes ``n`` elements and joins them along a new first dimension; waits until there are that many."""
        return self._take(raw_ops.QueueDequeueManyV2, n, name or f"{self._name}_DequeueMany", True)

    def dequeue_up_to(self, n: Any, name: str | None = None) -> Any:
        """Takes ``n`` elements, or what is left of a closed queue."""
        return self._take(raw_ops.QueueDequeueUpToV2, n, name or f"{self._name}_DequeueUpTo", False)

    def _take(self, take: Any, n: Any, name: str, exactly: bool) -> Any:
        with name_scope(name) as scope:
            n = convert_to_tensor(n, int32, name="n")
        count = constant_value(n)
        if count is not None and count < 0:
            raise ValueError(f"Input 'n' must be >= 0, but is {count} for {scope.rstrip('/')} {at()}")
        taken = take(self._queue_ref, n, component_types=self._dtypes, name=scope)
        return self._element(taken, [int(count) if exactly and count is not None else None])

    def _element(self, taken: Any, leading: list[int | None]) -> Any:
        tensors = [taken] if isinstance(taken, Tensor) else list(taken)
        for tensor, shape in zip(tensors, self._shapes, strict=True):
            tensor.set_shape(TensorShape(leading).concatenate(shape))
        if self._names:
            return dict(zip(self._names, tensors, strict=True))
        return tensors[0] if len(tensors) == 1 else tensors

    # ---- the queue itself

    def close(self, cancel_pending_enqueues: bool = False, name: str | None = None) -> Operation:
        """No more elements will come: later enqueues fail, and dequeues fail once the queue is empty.

        Enqueues that wait already go on, unless they are cancelled.
        """
        return raw_ops.QueueCloseV2(
            self._queue_ref, cancel_pending_enqueues=cancel_pending_enqueues, name=name or f"{self._name}_Close"
        )

    def is_closed(self, name: str | None = None) -> Tensor:
        """Whether the queue is closed, a boolean tensor."""
        return raw_ops.QueueIsClosedV2(self._queue_ref, name=name or f"{self._name}_Is_Closed")

    def size(self, name: str | None = None) -> Tensor:
        """How many elements there are."""
        return raw_ops.QueueSizeV2(self._queue_ref, name=name or f"{self._name}_Size")


def _common(shapes: Sequence[TensorShape]) -> TensorShape:
    """The shape that all have in common."""
    first = shapes[0]
    for shape in shapes[1:]:
        first = first.most_specific_compatible_shape(shape)
    return first
