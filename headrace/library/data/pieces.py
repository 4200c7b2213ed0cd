"""tf.data.pieces: input in pieces that the workers of a job take from one task, each piece when they are ready for it."""

from __future__ import annotations

import hashlib
import itertools
import time
import weakref
from collections.abc import Callable, Iterator
from contextlib import closing
from typing import Any, Final

import numpy as np

from headrace.client.session import Session
from headrace.core import dtypes
from headrace.core.config import ConfigProto
from headrace.core.errors import OutOfRangeError
from headrace.core.source import at
from headrace.core.tensor_spec import TensorSpec
from headrace.graph import context, raw_ops
from headrace.graph.constant import make_array
from headrace.graph.graph import Graph
from headrace.graph.infer import partial_value
from headrace.library.compat import as_bytes
from headrace.library.control.host import py_func
from headrace.library.data.dataset import Dataset, made
from headrace.library.queue.kinds import FIFOQueue
from headrace.library.scope import name_scope
from headrace.library.state.variable import Variable
from headrace.library.tensor.creation import placeholder
from headrace.library.train.queue_runner import QueueRunner, add_queue_runner
from headrace.library.train.saver.exact_state import PIECES, PREFIX, StateSaveable
from headrace.library.train.saver.saveable import SaveableObject
from headrace.resources.state.pieces import DRAWN, LATER, OVER, TAKEN, UNSHUFFLED

LOOK_S: Final = 0.2  # between two looks at whether another worker has left a piece


def piece_ranges(total: int, size: int) -> np.ndarray[Any, Any]:
    """The numbers from 0 to ``total`` - 1 as pieces of ``size``, each as its first number and the one after its last.

    Args:
      total: The number of elements, at least 0.
      size: The number of elements of a piece, at least 1; the last piece may be smaller.

    Returns:
      An int64 array [pieces, 2].

    >>> print(tf.data.piece_ranges(10, 4).tolist())
    [[0, 4], [4, 8], [8, 10]]
    """
    if total < 0 or size < 1:
        raise ValueError(f"total must be >= 0 and size >= 1, got {total} and {size} {at()}")
    begins = np.arange(0, total, size, dtype=np.int64)
    return np.stack([begins, np.minimum(begins + size, total)], 1)


def pieces(
    values: Any, service: str, shared_name: str, epochs: int | None = 1, task: str = "/job:ps/task:0",
    shuffle: bool = False, seed: int | None = None, exactly_once: bool = False,
) -> Pieces:  # fmt: skip
    """Input in pieces that several workers share: names of files, ranges, the rows of any array.

    A worker takes the next piece from ``task`` when it is ready for it, so that faster workers take more.  In an epoch each piece
    is handed out once, to whoever asks first.  When a worker is lost or closes its iterator, the pieces that it has not read to
    their end go to others.  Pieces that were read to the end come from nobody else.

    ``exactly_once=False``: a piece that was under way is given again from its beginning.  Elements of it that were trained with
    come again; what a lost worker had read of pieces before it, and not trained with, is lost.

    ``exactly_once=True``: whoever gets the piece goes on after the last element that was trained with, which is one after which
    the next was asked for.  So only the element of the step that a lost worker was in may come again.  Nothing can follow
    `flat_map` or `interleave` then: what they give is what a step trains with, such as a batch.  The dataset of a piece must give
    the same elements each time.

    ``shuffle``: in each epoch the pieces come in another order, the same for all workers.  It depends on ``seed``, or on one that
    ``task`` draws.

    ``service``: the target of a server of the cluster, as of ``tf.Session``.  ``shared_name``: all workers give the same, with
    the same pieces, order and ``epochs`` (None: for ever).

    ``tf.data.pieces(names, server.target, "train", epochs=3).interleave(tf.data.TFRecordDataset, cycle_length=4)``

    Args:
      values: The pieces: a list of names, or an array whose rows are pieces, such as that of `piece_ranges`.
      service: The target of a server of the cluster.
      shared_name: The name that all workers give.
      epochs: How often each piece is handed out; None for ever.
      task: The task that hands the pieces out.
      shuffle: True changes the order in each epoch.
      seed: The seed of the order, at least 0; None lets `task` draw one.
      exactly_once: True goes on within a piece that another worker has begun.

    Returns:
      A `tf.data.Pieces`, whose `flat_map` and `interleave` make datasets.

    Example: ``tf.data.pieces(names, server.target, "train", epochs=3).flat_map(tf.data.TFRecordDataset)``
    """
    array = make_array(values)
    if not array.ndim:
        raise ValueError(f"pieces are the rows of an array, or a list; got {values!r} {at()}")
    for name, text in (("service", service), ("shared_name", shared_name), ("task", task)):
        if not isinstance(text, str) or not text:
            raise ValueError(f"{name} is a text that is not empty, got {text!r} {at()}")
    if epochs is not None and (not isinstance(epochs, int) or epochs < 0):
        raise ValueError(f"epochs is a number or None, got {epochs!r} {at()}")
    if seed is not None and not (shuffle and 0 <= seed < 2**63):
        raise ValueError(f"seed is for shuffle=True, and at least 0; got seed={seed!r} with shuffle={shuffle!r} {at()}")
    order = UNSHUFFLED if not shuffle else DRAWN if seed is None else seed
    return Pieces(array, service, shared_name, -1 if epochs is None else epochs, task, order, exactly_once)


class Pieces:
    """Pieces that are shared.  `flat_map` and `interleave` make a dataset of the elements in them, `input_producer` a queue.

    Args:
      values: An array whose rows are the pieces.
      service: The target of a server of the cluster.
      name: The name that all workers give.
      epochs: How often each piece is handed out; -1 for ever.
      task: The task that hands the pieces out.
      seed: The seed of the order, or a negative number that says how it is chosen; `tf.data.pieces` gives it.
      exact: True goes on within a piece that another worker has begun.

    Example: ``tf.data.pieces(names, server.target, "train").interleave(tf.data.TextLineDataset, cycle_length=4)``
    """

    def __init__(
        self, values: np.ndarray[Any, Any], service: str, name: str, epochs: int, task: str, seed: int, exact: bool
    ) -> None:
        self._values, self._service, self._name, self._epochs, self._task = values, service, name, epochs, task
        self._seed, self._exact = seed, exact
        self._takers: dict[int, _Taker] = {}
        self._keys = itertools.count(1)
        self._saveables: weakref.WeakKeyDictionary[Graph, SaveableObject] = weakref.WeakKeyDictionary()

    # ---- as datasets

    def flat_map(self, map_func: Callable[[Any], Dataset]) -> Dataset:
        """The elements of the datasets that a function makes of each piece, one after the other."""
        return self.interleave(map_func, 1)

    def interleave(self, map_func: Callable[[Any], Dataset], cycle_length: int, block_length: int = 1) -> Dataset:
        """The elements of the datasets that a function makes: ``block_length`` of each of ``cycle_length`` pieces in turn."""
        number = TensorSpec([], dtypes.int64)
        dtype = dtypes.string if self._values.dtype == object else dtypes.as_dtype(self._values.dtype)
        spec = (number, number, TensorSpec(self._values.shape[1:], dtype))

        def of_piece(key: Any, handout: Any, position: Any, piece: Any) -> Dataset:
            dataset = map_func(piece)
            if not isinstance(dataset, Dataset):
                raise TypeError(f"`map_func` must return a `Dataset` object, got {dataset!r}. {at()}")
            if self._exact:
                _check_repeats(dataset)
                places = made("_IterableDataset", number, [], [key, handout, position], func=_Generator(self._report))
                dataset = Dataset.zip((dataset.skip(position), places)).map(lambda element, place: element)
            # An empty end, which is asked for an element when the piece has been read.
            end = made("_IterableDataset", dataset.element_spec, [], [key, handout], func=_Generator(self._finish))
            return dataset.concatenate(end)

        def of_round(key: Any) -> Dataset:
            taken = made("_IterableDataset", spec, [], [key], func=_Generator(self._take))
            return taken.interleave(lambda *piece: of_piece(key, *piece), cycle_length, block_length)

        dataset = made("_IterableDataset", number, [], [], func=_Generator(self._rounds)).flat_map(of_round)
        self._register()
        if self._exact:
            dataset._last = (
                f"pieces {self._name!r} with exactly_once=True know only which of their elements a step has taken. What "
                "shuffles, batches or reads ahead belongs in the function that makes the dataset of a piece"
            )
        return dataset

    def confirm(self) -> None:
        """What the iterators of this process have given was trained with.  For pieces that give each element exactly once.

        Saving does it, and a monitored session that ends without an error.
        """
        for taker in list(self._takers.values()):
            taker.confirm()

    def _rounds(self, run: Any) -> Iterator[tuple[Any, ...]]:
        """A round ends when no piece is left to take; the next one begins when its own pieces are done."""
        with closing(_Taker(self._service, self._task, self._attrs())) as taker:
            key = next(self._keys)
            self._takers[key] = taker
            try:
                while taker.waits_for_piece(run):
                    yield (np.int64(key),)
            finally:
                del self._takers[key]

    def _take(self, run: Any, key: Any) -> Iterator[tuple[Any, ...]]:
        taker = self._takers[int(key)]
        while (taken := taker.take()) is not None:
            handout, piece, position = taken
            value = self._values[piece]
            value = value if isinstance(value, np.ndarray | np.generic) else np.array(value, object)
            yield np.int64(handout), np.int64(position), value

    def _report(self, run: Any, key: Any, handout: Any, position: Any) -> Iterator[tuple[Any, ...]]:
        taker = self._takers[int(key)]
        for place in itertools.count(int(position)):
            taker.give(int(handout), place + 1)
            yield (np.int64(place),)

    def _finish(self, run: Any, key: Any, handout: Any) -> Iterator[tuple[Any, ...]]:
        self._takers[int(key)].finish(int(handout))
        return iter(())

    # ---- as a queue

    def input_producer(self, capacity: int = 1, name: str | None = None) -> FIFOQueue:
        """A queue of the names of files for readers, which a runner fills, as that of ``tf.train.string_input_producer``.

        A piece is done when a reader has read it to its end.  ``capacity``: how many pieces wait here that others cannot have.
        The session must be one of the cluster.
        """
        if self._values.dtype != object or self._values.ndim != 1 or self._exact:
            raise ValueError(
                f"input_producer is for a list of names, and exactly_once=False: pieces {self._name!r} are {self._values.dtype} "
                f"of shape {self._values.shape}, with exactly_once={self._exact} {at()}"
            )
        numbers = {as_bytes(value): number for number, value in enumerate(self._values)}
        if len(numbers) < len(self._values):
            raise ValueError(
                f"input_producer is for names that differ: some of pieces {self._name!r} are the same {at()}"
            )
        graph = context.get_default_graph()
        with name_scope(name, "input_producer", []):
            queue = FIFOQueue(capacity, [dtypes.string], [[]])
            units = raw_ops._FinishedUnits(queue.queue_ref)
            done = py_func(lambda units: np.array([numbers[unit] for unit in units], np.int64), [units], dtypes.int64)
            with graph.device(self._task):
                handle = raw_ops._PieceTaker(**self._attrs())
                with graph.control_dependencies([raw_ops._FinishPieces(handle, done)]):
                    answer = raw_ops._TakePiece(handle)
            names = py_func(self._named, [answer], dtypes.string)
            names.set_shape([None])
            add_queue_runner(QueueRunner(queue, [queue.enqueue_many([names])]))
        self._register()
        return queue

    def _named(self, answer: Any) -> Any:
        """The name that was taken, if there is one now."""
        status, _, piece, _ = answer.tolist()
        if status == OVER:
            raise OutOfRangeError(None, None, f"all pieces of {self._name!r} are done")
        if status == LATER:
            time.sleep(LOOK_S)
        return self._values[piece : piece + 1] if status == TAKEN else self._values[:0]

    # ---- checkpoints

    def saveable(self) -> SaveableObject:
        """Which pieces are done, as something that a saver saves: for ``tf.train.Saver`` or ``tf.GraphKeys.SAVEABLE_OBJECTS``.

        After a restore, those that were under way are handed out again.  The session that saves must be one of the cluster.
        """
        graph = context.get_default_graph()
        if graph not in self._saveables:
            self._saveables[graph] = self._saveable(graph)
        return self._saveables[graph]

    def _saveable(self, graph: Graph) -> SaveableObject:
        confirmed = []
        with graph.control_dependencies(None), name_scope(None, "pieces", []):
            if self._exact:  # nobody saves within a step
                confirmed = [py_func(self.confirm, [], [])]
            with graph.device(self._task):
                # It has no value where the task was started again: then a chief restores, and other workers wait.
                Variable(True, name="restored", trainable=False)
                handle = raw_ops._PieceTaker(**self._attrs())
                with graph.control_dependencies(confirmed):
                    tensors = raw_ops._PiecePosition(handle)
        return StateSaveable(
            f"{PREFIX}/pieces/{self._name}",
            tensors,
            ("digest", "position"),
            lambda *parts: raw_ops._MovePieces(handle, *parts),
        )

    def _register(self) -> None:
        graph = context.get_default_graph()
        if self not in graph.get_collection_ref(PIECES):
            graph.add_to_collection(PIECES, self)

    def _attrs(self) -> dict[str, Any]:
        values = self._values
        content = repr(values.tolist()).encode() if values.dtype == object else values.tobytes()
        digest = hashlib.sha256(repr((values.shape, str(values.dtype))).encode() + content).hexdigest()
        return {
            "shared_name": self._name,
            "container": "",
            "pieces": len(values),
            "epochs": self._epochs,
            "digest": digest,
            "seed": self._seed,
        }


def _check_repeats(dataset: Dataset) -> None:
    """Refuses what does not give the same elements each time, as far as one can see."""
    pending = [dataset._variant_tensor.op]
    while pending:
        op = pending.pop()
        pending += [one.op for one in op.inputs if one.dtype == dtypes.variant]
        seeds = [
            one
            for one, argument in zip(op.inputs, op.op_def.signature.inputs, strict=False)
            if argument.name in ("seed", "seed2")
        ]
        if op.attrs.get("sloppy") or (seeds and all(partial_value(seed) == 0 for seed in seeds)):
            raise ValueError(
                f"{op.type} gives its elements in another order each time, so nobody can go on within a piece: exactly_once=True "
                f"needs a seed, or an order that is kept {at()}"
            )


class _Generator:
    """What a source calls."""

    wants_run = True
    unsaved = (
        "a position among pieces that workers share is not saved with an iterator: the task that has them knows which are done. "
        "Leave this iterator out of what is saved, and save `saveable()` of the pieces"
    )

    def __init__(self, start: Callable[..., Iterator[tuple[Any, ...]]]) -> None:
        self._start = start

    def __call__(self, run: Any, *values: Any) -> Iterator[tuple[Any, ...]]:
        return self._start(run, *values)


class _Taker:
    """A session with the task that has the pieces.  When it ends, what was not done is for others."""

    def __init__(self, service: str, task: str, attrs: dict[str, Any]) -> None:
        graph = Graph()
        with graph.as_default(), graph.device(task):
            handle = raw_ops._PieceTaker(**attrs)
            self._answer = raw_ops._TakePiece(handle)
            self._handout = placeholder(dtypes.int64, [])
            self._place = placeholder(dtypes.int64, [])
            self._reported = raw_ops._ReportPiece(handle, self._handout, self._place)
            self._done = raw_ops._FinishPiece(handle, self._handout)
        self._session = Session(service, graph, ConfigProto(device_filters=[task]))
        self._first: tuple[int, int, int] | None = None  # of the next round
        self._given: tuple[int, int] | None = None  # a handout, and how many of its elements are out

    def waits_for_piece(self, run: Any) -> bool:
        """Whether there is another piece.  Nothing is held meanwhile, so that nobody waits for this worker."""
        while not run.closed:
            status, *taken = self._session.run(self._answer).tolist()
            if status == TAKEN:
                self._first = tuple(taken)
                return not run.closed
            if status != LATER:
                return False
            time.sleep(LOOK_S)
        return False

    def take(self) -> tuple[int, int, int] | None:
        """A handout, the number of its piece, and where to begin in it; None if there is none now."""
        if self._first is not None:
            first, self._first = self._first, None
            return first
        status, *taken = self._session.run(self._answer).tolist()
        return tuple(taken) if status == TAKEN else None

    def give(self, handout: int, place: int) -> None:
        """Another element goes out, so the one before was trained with."""
        self.confirm()
        self._given = handout, place

    def confirm(self) -> None:
        """What went out was trained with."""
        given, self._given = self._given, None
        if given is not None:
            self._session.run(self._reported, dict(zip((self._handout, self._place), given, strict=True)))

    def finish(self, handout: int) -> None:
        self.confirm()
        self._session.run(self._done, {self._handout: handout})

    def close(self) -> None:
        self._session.close()
