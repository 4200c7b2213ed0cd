"""tf.data.pieces: input in pieces that the workers of a job take from one task, each piece when they are ready for it."""

from __future__ import annotations

import hashlib
import itertools
import time
from collections.abc import Callable, Iterator
from contextlib import closing
from typing import Any, Final

import numpy as np

from headrace.client.session import Session
from headrace.core import dtypes
from headrace.core.config import ConfigProto
from headrace.core.source import at
from headrace.core.tensor_spec import TensorSpec
from headrace.graph import raw_ops
from headrace.graph.constant import make_array
from headrace.graph.graph import Graph
from headrace.library.data.dataset import Dataset, made
from headrace.library.tensor.creation import placeholder

LOOK_S: Final = 0.2  # between two looks at whether another worker has left a piece
TAKEN, LATER = range(2)  # as resources/state/pieces.py has them


def pieces(values: Any, service: str, shared_name: str, epochs: int | None = 1, task: str = "/job:ps/task:0") -> Pieces:
    """Input in pieces that several workers share: names of files, ranges, the rows of any array.

    A worker takes the next piece from ``task`` when it is ready for it, so that faster workers take more.  In an epoch each piece
    is handed out once, to whoever asks first.  When a worker is lost or closes its iterator, the pieces that it has not read to
    their end go to others, from their beginning: their elements come at least once.  Those of pieces that were read to the end
    come from nobody else.

    ``service``: the target of a server of the cluster, as of ``tf.Session``.  ``shared_name``: all workers give the same, with
    the same ``values`` and ``epochs`` (None: for ever).

    ``tf.data.pieces(names, server.target, "train", epochs=3).interleave(tf.data.TFRecordDataset, cycle_length=4)``
    """
    array = make_array(values)
    if not array.ndim:
        raise ValueError(f"pieces are the rows of an array, or a list; got {values!r} {at()}")
    for name, text in (("service", service), ("shared_name", shared_name), ("task", task)):
        if not isinstance(text, str) or not text:
            raise ValueError(f"{name} is a text that is not empty, got {text!r} {at()}")
    if epochs is not None and (not isinstance(epochs, int) or epochs < 0):
        raise ValueError(f"epochs is a number or None, got {epochs!r} {at()}")
    return Pieces(array, service, shared_name, -1 if epochs is None else epochs, task)


class Pieces:
    """Pieces that are shared.  `flat_map` and `interleave` make a dataset of the elements in them."""

    def __init__(self, values: np.ndarray[Any, Any], service: str, name: str, epochs: int, task: str) -> None:
        self._values, self._service, self._name, self._epochs, self._task = values, service, name, epochs, task
        self._takers: dict[int, _Taker] = {}
        self._keys = itertools.count(1)

    def flat_map(self, map_func: Callable[[Any], Dataset]) -> Dataset:
        """The elements of the datasets that a function makes of each piece, one after the other."""
        return self.interleave(map_func, 1)

    def interleave(self, map_func: Callable[[Any], Dataset], cycle_length: int, block_length: int = 1) -> Dataset:
        """The elements of the datasets that a function makes: ``block_length`` of each of ``cycle_length`` pieces in turn."""
        number = TensorSpec([], dtypes.int64)
        dtype = dtypes.string if self._values.dtype == object else dtypes.as_dtype(self._values.dtype)
        spec = (number, TensorSpec(self._values.shape[1:], dtype))

        def of_piece(key: Any, handout: Any, piece: Any) -> Dataset:
            dataset = map_func(piece)
            if not isinstance(dataset, Dataset):
                raise TypeError(f"`map_func` must return a `Dataset` object, got {dataset!r}. {at()}")
            # An empty end, which is asked for an element when the piece has been read.
            end = made("_IterableDataset", dataset.element_spec, [], [key, handout], func=_Generator(self._finish))
            return dataset.concatenate(end)

        def of_round(key: Any) -> Dataset:
            taken = made("_IterableDataset", spec, [], [key], func=_Generator(self._take))
            return taken.interleave(lambda handout, piece: of_piece(key, handout, piece), cycle_length, block_length)

        return made("_IterableDataset", number, [], [], func=_Generator(self._rounds)).flat_map(of_round)

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
            handout, piece = taken
            value = self._values[piece]
            yield np.int64(handout), value if isinstance(value, np.ndarray | np.generic) else np.array(value, object)

    def _finish(self, run: Any, key: Any, handout: Any) -> Iterator[tuple[Any, ...]]:
        self._takers[int(key)].finish(int(handout))
        return iter(())

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
        }


class _Generator:
    """What a source calls."""

    wants_run = True
    unsaved = (
        "a position among pieces that workers share is not saved with an iterator: the task that has them knows which are done. "
        "Leave this iterator out of what is saved"
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
            self._done = raw_ops._FinishPiece(handle, self._handout)
        self._session = Session(service, graph, ConfigProto(device_filters=[task]))
        self._first: tuple[int, int] | None = None  # of the next round

    def waits_for_piece(self, run: Any) -> bool:
        """Whether there is another piece.  Nothing is held meanwhile, so that nobody waits for this worker."""
        while not run.closed:
            status, handout, piece = self._session.run(self._answer).tolist()
            if status == TAKEN:
                self._first = handout, piece
                return not run.closed
            if status != LATER:
                return False
            time.sleep(LOOK_S)
        return False

    def take(self) -> tuple[int, int] | None:
        """A handout and the number of its piece; None if there is none now."""
        if self._first is not None:
            first, self._first = self._first, None
            return first
        status, handout, piece = self._session.run(self._answer).tolist()
        return (handout, piece) if status == TAKEN else None

    def finish(self, handout: int) -> None:
        self._session.run(self._done, {self._handout: handout})

    def close(self) -> None:
        self._session.close()
