"""What a saver must save besides variables so that a resumed job goes on exactly: generators, queues, readers, iterators.

Each is a saveable object: its tensors are made by ops that look at the state, and another op takes them over on restoring.  In
a checkpoint they are further tensors under ``exact_state/``, which TensorFlow passes over.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from headrace.core.source import at
from headrace.graph import context, raw_ops
from headrace.graph.operation import Tensor
from headrace.library.queue.base import QueueBase
from headrace.library.scope import name_scope
from headrace.library.train.saver.saveable import SaveableObject, SaveSpec

PREFIX = "exact_state"
_QUEUES = ("FIFOQueueV2", "PaddingFIFOQueueV2", "PriorityQueueV2", "RandomShuffleQueueV2")
_READERS = (
    "FixedLengthRecordReaderV2", "IdentityReaderV2", "TFRecordReaderV2", "TextLineReaderV2", "WholeFileReaderV2",
)  # fmt: skip


ITERATORS = ("IteratorV2", "OneShotIterator")


PIECES = ("pieces",)
"""The collection of the `tf.data.pieces` that a graph takes from.  It is in no meta graph: its name is no text."""


class StateSaveable(SaveableObject):
    """State that one op gives as tensors and another one takes over."""

    restored_first = True

    def __init__(
        self, name: str, tensors: Sequence[Tensor], parts: Sequence[str], take_over: Callable[..., Any]
    ) -> None:
        specs = [SaveSpec(tensor, "", f"{name}/{part}") for tensor, part in zip(tensors, parts, strict=True)]
        super().__init__(tensors[0].op, specs, name)
        self._take_over = take_over

    def restore(self, restored_tensors: Sequence[Tensor], restored_shapes: Sequence[Any] | None) -> Any:
        return self._take_over(*restored_tensors)


def exact_state(
    queues: Any = False, readers: Any = False, iterators: Any = False, pieces: Any = False
) -> list[SaveableObject]:
    """What a saver needs besides variables, so that a job goes on after a restore as if it had never stopped.

    Always the states of random ops: generators, and what samplers have learned.  With ``queues``, a list of queues or True for
    all of the graph, also what they hold and where a shuffling queue is in its random order; with ``readers`` likewise in
    which file each reader is, and how far, with ``iterators`` the whole position of iterators of datasets, and with ``pieces``
    which of some `tf.data.pieces` are done.  Add the result to the variables of a saver:

    >>> v = tf.Variable(0.0, name='v')
    >>> saver = tf.train.Saver(tf.global_variables() + tf.train.exact_state())

    or to the collection ``tf.GraphKeys.SAVEABLE_OBJECTS``, for savers that save everything.

    Args:
      queues: A list of queues, or True for all queues of the graph.
      readers: A list of readers, or True for all readers of the graph.
      iterators: A list of iterators of datasets, or True for all of the graph.
      pieces: A list of `tf.data.pieces`, or True for all of the graph.

    Returns:
      A list of saveable objects for the `var_list` of a saver.
    """
    if context.executing_eagerly():
        raise RuntimeError(f"exact_state is about the nodes of a graph; eager execution has none {at()}")
    with context.get_default_graph().control_dependencies(None), name_scope(None, PREFIX, []):
        saveables: list[SaveableObject] = [_node_states()]
        saveables += [_queue_state(handle) for handle in _handles("queues", queues, _QUEUES, _queue_handle)]
        saveables += [_reader_state(handle) for handle in _handles("readers", readers, _READERS, _reader_handle)]
        saveables += [
            iterator_state(handle, f"{PREFIX}/iterator/{handle.op.name}")
            for handle in _handles("iterators", iterators, ITERATORS, _iterator_handle)
        ]
    if pieces is True:
        pieces = context.get_default_graph().get_collection(PIECES)
    return [*saveables, *(one.saveable() for one in pieces or ())]


def _node_states() -> SaveableObject:
    tensors = raw_ops._NodeStates(name="nodes")
    return StateSaveable(f"{PREFIX}/nodes", tensors, ("names", "states"), raw_ops._RestoreNodeStates)


def _queue_state(handle: Tensor) -> SaveableObject:
    with context.get_default_graph().colocate_with(handle.op):
        tensors = raw_ops._QueueState(handle, name="queue")
    name = f"{PREFIX}/queue/{handle.op.name}"
    return StateSaveable(
        name, tensors, ("elements", "position"), lambda *parts: raw_ops._RestoreQueueState(handle, *parts)
    )


def _reader_state(handle: Tensor) -> SaveableObject:
    with context.get_default_graph().colocate_with(handle.op):
        tensors = raw_ops._ReaderPosition(handle, name="reader")
    name = f"{PREFIX}/reader/{handle.op.name}"
    return StateSaveable(name, tensors, ("unit", "counts"), lambda *parts: raw_ops._MoveReader(handle, *parts))


def iterator_state(handle: Tensor, name: str) -> SaveableObject:
    """The position of an iterator, under a name in the checkpoint."""
    with context.get_default_graph().colocate_with(handle.op):
        position = raw_ops._IteratorState(handle, name="iterator")
    return StateSaveable(name, [position], ("position",), lambda part: raw_ops._RestoreIteratorState(handle, part))


def _handles(
    argument: str, asked: Any, types: Sequence[str], handle_of: Callable[[Any], Tensor | None]
) -> list[Tensor]:
    if asked is True:
        return [op.outputs[0] for op in context.get_default_graph().get_operations() if op.type in types]
    if not asked:
        return []
    handles = [handle_of(one) for one in asked] if isinstance(asked, (list, tuple)) else [None]
    if None in handles:
        raise TypeError(f"{argument} must be a list of {argument}, or True for all of the graph, got {asked!r} {at()}")
    return [handle for handle in handles if handle is not None]


def _queue_handle(queue: Any) -> Tensor | None:
    return queue.queue_ref if isinstance(queue, QueueBase) else None


def _iterator_handle(iterator: Any) -> Tensor | None:
    handle = getattr(iterator, "_iterator_resource", None)
    return handle if isinstance(handle, Tensor) else None


def _reader_handle(reader: Any) -> Tensor | None:
    handle = getattr(reader, "reader_ref", None)
    return handle if isinstance(handle, Tensor) else None
