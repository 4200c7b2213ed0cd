"""Batches of pieces of long sequences, with the states of recurrent networks carried from one piece to the next.

A sequence is cut into segments of ``num_unroll`` steps, which wait in a barrier.  A segment can be taken when its state has come:
the first one's with the sequence, another one's when a step saves the final state of the segment before.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from headrace.core import dtypes, errors
from headrace.core.shape import TensorShape
from headrace.core.source import at
from headrace.graph.convert import constant, convert_to_tensor
from headrace.graph.operation import Operation, Tensor
from headrace.graph.structures import SparseTensor
from headrace.library.control.assertion import Assert
from headrace.library.control.dependency import group, identity
from headrace.library.control.host import as_string
from headrace.library.numeric import math, reduction
from headrace.library.numeric.random import random_uniform
from headrace.library.queue.barrier import Barrier
from headrace.library.queue.kinds import FIFOQueue
from headrace.library.scope import control_dependencies, name_scope
from headrace.library.summary.summary import scalar
from headrace.library.tensor import array, creation
from headrace.library.tensor.indexing import gather, where
from headrace.library.text.string import string_join
from headrace.library.train.queue_runner import QueueRunner, add_queue_runner

_END = "STOP:"
_OWN = ["next_key", "total_length", "sequence", "sequence_count"]  # the first components of a segment
_OWN_TYPES = [dtypes.string, dtypes.int32, dtypes.int32, dtypes.int32]


class SequenceQueueingStateSaver:
    """Cuts sequences into segments and gives batches of these, with their states.

    Run `prefetch_op` for each sequence, in a `tf.train.QueueRunner`, and use `next_batch`.

    Args:
      batch_size: How many segments a batch has.
      num_unroll: How many steps a segment has.
      input_length: The number of steps of the sequence, an int32 scalar.
      input_key: The sequence's name, a string scalar; no two that wait may have the same.
      input_sequences: A dictionary of tensors [steps, ...], whose steps are a multiple of `num_unroll`.
      input_context: A dictionary of tensors that all segments of the sequence get.
      initial_states: A dictionary of the states before the first step, without a batch.
      capacity: How many sequences may wait; None for no limit.
      allow_small_batch: Whether the last batches may have fewer segments.
      name: A name for the ops; None for `SequenceQueueingStateSaver`.

    Example: ``saver = tf.contrib.training.SequenceQueueingStateSaver(32, 20, length, key, words, {}, {"h": tf.zeros([64])})``
    """

    def __init__(
        self, batch_size: Any, num_unroll: int, input_length: Any, input_key: Any, input_sequences: Mapping[str, Any],
        input_context: Mapping[str, Any], initial_states: Mapping[str, Any], capacity: int | None = None,
        allow_small_batch: bool = False, name: str | None = None,
    ) -> None:  # fmt: skip
        if isinstance(num_unroll, int) and num_unroll < 1:
            raise ValueError(f"num_unroll must be at least 1, got {num_unroll} {at()}")
        if not initial_states:
            raise ValueError(f"initial_states must have at least one state, got {initial_states!r} {at()}")
        if capacity is not None and isinstance(batch_size, int) and capacity < batch_size:
            raise ValueError(f"capacity must be at least batch_size, got {capacity} and {batch_size} {at()}")
        with name_scope(name, "SequenceQueueingStateSaver") as scope:
            self._name = scope
            self._batch_size = batch_size
            self._num_unroll = num_unroll
            self._key = convert_to_tensor(input_key, dtype=dtypes.string)
            self._length = convert_to_tensor(input_length, dtype=dtypes.int32)
            self._sequences = _tensors("sequence", input_sequences)
            self._context = _tensors("context", input_context)
            self._states = _tensors("state", initial_states)
            self._capacity_queue = None if capacity is None else FIFOQueue(capacity, dtypes.int32, [[]])
            self._barrier = self._made_barrier()
            self._prefetch_op = self._made_prefetch_op()
            self._received = self._taken(allow_small_batch)
            self._next_batch = NextQueuedSequenceBatch(self)

    def _made_barrier(self) -> Barrier:
        """The barrier of the segments; its components are those of `_OWN`, sequences, context and states."""
        groups = (self._sequences, self._context, self._states)
        types = [tensor.dtype.base_dtype for tensors in groups for tensor in tensors.values()]
        unroll = TensorShape([self._num_unroll])
        shapes = [unroll.concatenate(tensor.shape[1:]) for tensor in self._sequences.values()]
        shapes += [tensor.shape for tensors in groups[1:] for tensor in tensors.values()]
        self._order = [(which, name) for which, tensors in enumerate(groups) for name in tensors]
        return Barrier([*_OWN_TYPES, *types], [*[TensorShape([])] * len(_OWN), *shapes], name="barrier")

    def _index(self, which: int, name: str) -> int:
        return len(_OWN) + self._order.index((which, name))

    def _made_prefetch_op(self) -> Operation:
        """Adds all segments of one sequence."""
        first = next(iter(self._sequences.values()), None)
        steps = self._length if first is None else array.shape(first)[0]
        whole = math.equal(math.mod(steps, self._num_unroll), 0)
        problem = ["The steps of sequences must be a multiple of num_unroll:", steps, self._num_unroll]
        room = [] if self._capacity_queue is None else [self._capacity_queue.enqueue(0)]
        with control_dependencies([Assert(whole, problem), *room]):
            count = math.maximum(identity(steps) // self._num_unroll, 1)
        numbers = creation.range(count)
        keys = string_join([_digits(numbers), "_of_", _digits(count), ":", self._key])
        ending = array.reshape(string_join([_END, self._key]), [1])
        own = [
            array.concat([keys[1:], ending], 0), _repeated(self._length, count), numbers, _repeated(count, count),
        ]  # fmt: skip
        inserts = [self._barrier.insert_many(i, keys, values) for i, values in enumerate(own)]
        for name, tensor in self._sequences.items():
            pieces = array.reshape(tensor, array.concat([[count, self._num_unroll], array.shape(tensor)[1:]], 0))
            inserts.append(self._barrier.insert_many(self._index(0, name), keys, pieces))
        for name, tensor in self._context.items():
            inserts.append(self._barrier.insert_many(self._index(1, name), keys, _repeated(tensor, count)))
        for name, tensor in self._states.items():
            inserts.append(self._barrier.insert_many(self._index(2, name), keys[:1], array.expand_dims(tensor, 0)))
        return group(*inserts, name="prefetch")

    def _taken(self, allow_small_batch: bool) -> dict[str, Any]:
        """The components of the next batch, by name."""
        indices, keys, values = self._barrier.take_many(self._batch_size, allow_small_batch)
        own = dict(zip(_OWN, values, strict=False))
        done = math.greater_equal(own["sequence"] + 1, own["sequence_count"])
        freed = []
        if self._capacity_queue is not None:
            ended = reduction.reduce_sum(math.cast(done, dtypes.int32))
            freed.append(self._capacity_queue.dequeue_many(ended))
        parts: list[dict[str, Any]] = [{}, {}, {}]
        with control_dependencies(freed):
            for (which, name), value in zip(self._order, values[len(_OWN) :], strict=True):
                parts[which][name] = identity(value)
        start = own["sequence"] * self._num_unroll
        length = math.minimum(math.maximum(own["total_length"] - start, 0), self._num_unroll)
        return {
            **own, "insertion_index": indices, "key": keys, "done": done, "length": length, "sequences": parts[0],
            "context": parts[1], "states": parts[2],
        }  # fmt: skip

    @property
    def name(self) -> str:
        """The name scope of the ops."""
        return self._name.rstrip("/")

    @property
    def barrier(self) -> Barrier:
        """The barrier in which segments wait."""
        return self._barrier

    @property
    def batch_size(self) -> Any:
        """How many segments a batch has."""
        return self._batch_size

    @property
    def num_unroll(self) -> int:
        """How many steps a segment has."""
        return self._num_unroll

    @property
    def prefetch_op(self) -> Operation:
        """The operation that adds all segments of one sequence."""
        return self._prefetch_op

    @property
    def next_batch(self) -> NextQueuedSequenceBatch:
        """The next batch, another in each step."""
        return self._next_batch

    def close(self, cancel_pending_enqueues: bool = False, name: str | None = None) -> Operation:
        """No new sequences will come; the segments that wait can still be taken, unless they are cancelled."""
        with name_scope(name, "SequenceQueueingStateSaverClose"):
            closes = [self._barrier.close(cancel_pending_enqueues)]
            if self._capacity_queue is not None:
                closes.append(self._capacity_queue.close(cancel_pending_enqueues))
            return group(*closes)


def _tensors(what: str, given: Mapping[str, Any]) -> dict[str, Tensor]:
    """Tensors in the order of their names."""
    for name, value in given.items():
        if not isinstance(name, str):
            raise TypeError(f"The names of the {what} must be strings, got {name!r} {at()}")
        if isinstance(value, SparseTensor):
            raise TypeError(f"The {what} {name!r} must be a dense tensor, got {value!r} {at()}")
    return {name: convert_to_tensor(given[name]) for name in sorted(given)}


def _digits(number: Any) -> Any:
    return as_string(number, width=5, fill="0")


def _repeated(tensor: Any, count: Any) -> Any:
    """``count`` times the tensor, along a new first dimension."""
    times = array.concat([array.reshape(count, [1]), creation.ones([array.rank(tensor)], dtypes.int32)], 0)
    return array.tile(array.expand_dims(tensor, 0), times)


class NextQueuedSequenceBatch:
    """A batch of segments; `state` and `save_state` are what `tf.nn.static_state_saving_rnn` needs.

    Args:
      state_saver: The `tf.contrib.training.SequenceQueueingStateSaver` that gives the segments.

    Example: ``outputs, state = tf.nn.static_state_saving_rnn(cell, inputs, saver.next_batch, "h", batch.length)``
    """

    def __init__(self, state_saver: SequenceQueueingStateSaver) -> None:
        self._state_saver = state_saver
        self._received = state_saver._received

    @property
    def total_length(self) -> Tensor:
        """How many steps the whole sequences have, an int32 vector."""
        return self._received["total_length"]

    @property
    def length(self) -> Tensor:
        """How many steps of each segment are of the sequence; the rest is padding. An int32 vector."""
        return self._received["length"]

    @property
    def batch_size(self) -> Tensor:
        """How many segments the batch has, an int32 scalar."""
        return array.shape(self.length)[0]

    @property
    def insertion_index(self) -> Tensor:
        """In which order the segments came, an int64 vector."""
        return self._received["insertion_index"]

    @property
    def key(self) -> Tensor:
        """The names of the segments, such as ``00001_of_00004:name``."""
        return self._received["key"]

    @property
    def next_key(self) -> Tensor:
        """The names of the segments that follow; ``STOP:name`` for the last of a sequence."""
        return self._received["next_key"]

    @property
    def sequence(self) -> Tensor:
        """The number of each segment in its sequence, from 0, an int32 vector."""
        return self._received["sequence"]

    @property
    def sequence_count(self) -> Tensor:
        """How many segments each sequence has, an int32 vector."""
        return self._received["sequence_count"]

    @property
    def context(self) -> dict[str, Tensor]:
        """The context of each segment by name, [batch, ...]."""
        return self._received["context"]

    @property
    def sequences(self) -> dict[str, Tensor]:
        """The steps of each segment by name, [batch, num_unroll, ...]."""
        return self._received["sequences"]

    def state(self, state_name: str) -> Tensor:
        """The state before the first step of each segment, [batch, ...]."""
        return self._received["states"][self._checked(state_name)]

    def save_state(self, state_name: str, value: Any, name: str | None = None) -> Operation:
        """Saves the state after the last step of each segment, for the segments that follow."""
        saver = self._state_saver
        state = self._received["states"][self._checked(state_name)]
        with name_scope(name, "InputQueueingStateSaver_SaveState", [value]):
            value = convert_to_tensor(value, dtype=state.dtype.base_dtype)
            state.shape.assert_is_compatible_with(value.shape)
            going_on = array.reshape(where(math.logical_not(self._received["done"])), [-1])
            return saver.barrier.insert_many(
                saver._index(2, state_name), gather(self.next_key, going_on), gather(value, going_on),
                name=f"BarrierInsertState_{state_name}",
            )  # fmt: skip

    def _checked(self, state_name: str) -> str:
        if state_name not in self._received["states"]:
            raise KeyError(
                f"state was not declared: {state_name}; there are {', '.join(self._received['states'])} {at()}"
            )
        return state_name


def batch_sequences_with_states(
    input_key: Any, input_sequences: Mapping[str, Any], input_context: Mapping[str, Any], input_length: Any,
    initial_states: Mapping[str, Any], num_unroll: int, batch_size: Any, num_threads: int = 3, capacity: int = 1000,
    allow_small_batch: bool = True, pad: bool = True, make_keys_unique: bool = False,
    make_keys_unique_seed: int | None = None, name: str | None = None,
) -> NextQueuedSequenceBatch:  # fmt: skip
    """Batches of segments of sequences, another sequence in each step, with states that go on from segment to segment.

    `tf.train.start_queue_runners` starts the threads that read sequences. Each step must save every state.

    Args:
      input_key: The sequence's name, a string scalar; no two that wait may have the same.
      input_sequences: A dictionary of tensors [steps, ...].
      input_context: A dictionary of tensors that all segments of the sequence get.
      input_length: The number of steps of the sequence, an int32 scalar; None for that of the tensors, with `pad`.
      initial_states: A dictionary of the states before the first step, without a batch.
      num_unroll: How many steps a segment has.
      batch_size: How many segments a batch has.
      num_threads: How many threads read sequences.
      capacity: How many sequences may wait.
      allow_small_batch: Whether the last batches may have fewer segments.
      pad: Whether sequences are padded with zeros to a multiple of `num_unroll`; else they must be one.
      make_keys_unique: Whether a random number is put behind each name.
      make_keys_unique_seed: The seed of that number.
      name: A name for the ops; None for `batch_sequences_with_states`.

    Returns:
      A `tf.contrib.training.NextQueuedSequenceBatch`.

    >>> batch = tf.contrib.training.batch_sequences_with_states(
    ...     "name", {"x": tf.zeros([7, 3])}, {}, None, {"h": tf.zeros([4])}, num_unroll=5, batch_size=2)
    >>> batch.sequences["x"].shape.as_list(), batch.state("h").shape.as_list()
    ([None, 5, 3], [None, 4])
    """
    sequences: dict[str, Any] = _tensors("sequence", input_sequences)
    with name_scope(name, "batch_sequences_with_states", list(sequences.values())) as scope:
        if pad:
            steps, sequences = _padded(sequences, num_unroll)
            input_length = steps if input_length is None else input_length
        if input_length is None:
            raise ValueError(f"input_length must be given without pad, or without input_sequences {at()}")
        if make_keys_unique:
            number = random_uniform([], -(10**8), 10**8, dtypes.int32, seed=make_keys_unique_seed)
            input_key = string_join([input_key, as_string(number)])
        saver = SequenceQueueingStateSaver(
            batch_size, num_unroll, input_length, input_key, sequences, input_context, initial_states, capacity,
            allow_small_batch, scope,
        )  # fmt: skip
        ready = math.cast(saver.barrier.ready_size(), dtypes.float32)
        scalar(f"queue/{saver.barrier.name}/ready_segment_batches", ready)
        closed = (errors.OutOfRangeError, errors.CancelledError)
        add_queue_runner(QueueRunner(saver, [saver.prefetch_op] * num_threads, queue_closed_exception_types=closed))
        return saver.next_batch


def _padded(sequences: Mapping[str, Tensor], num_unroll: int) -> tuple[Tensor | None, dict[str, Tensor]]:
    """The number of steps, and the sequences with zeros behind them up to a multiple of ``num_unroll``."""
    if not sequences:
        return None, {}
    steps: Sequence[Any] = [array.shape(tensor)[0] for tensor in sequences.values()]
    alike = reduction.reduce_all(math.equal(array.stack(steps), steps[0]))
    with control_dependencies([Assert(alike, ["Dimension 0 of all sequences must be equal:", *steps])]):
        missing = math.mod(-identity(steps[0]), constant(num_unroll))
    padded = {}
    for name, tensor in sequences.items():
        rest = array.reshape(missing, [1])
        zeros = creation.zeros(array.concat([rest, array.shape(tensor)[1:]], 0), tensor.dtype.base_dtype)
        padded[name] = array.concat([tensor, zeros], 0)
        padded[name].set_shape(TensorShape([None]).concatenate(tensor.shape[1:]))
    return steps[0], padded
