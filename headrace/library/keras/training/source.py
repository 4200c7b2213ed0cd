"""Where batches come from: arrays, tensors, datasets, generators and sequences.

A source gives one epoch of batches at a time: ``epoch()`` yields (inputs, targets, sample weights) as lists of arrays.
``samples`` and ``steps`` say how long an epoch is, where that is known.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

from headrace.core.errors import OutOfRangeError
from headrace.core.source import at
from headrace.graph import context
from headrace.library import log, nest
from headrace.library.backend.session import get_session
from headrace.library.data.dataset import Dataset
from headrace.library.keras.training.arrays import split
from headrace.library.keras.utils.enqueuer import GeneratorEnqueuer, OrderedEnqueuer, SequenceEnqueuer
from headrace.library.keras.utils.sequence import Sequence as KerasSequence

Batch = tuple[Sequence[Any], Sequence[Any], Sequence[Any]]
Standardize = Callable[[Any], Batch]


class ArraySource:
    """Batches of arrays in memory (or anything that can be cut like one), drawn anew each epoch if ``shuffle``."""

    def __init__(
        self, xs: Sequence[Any], ys: Sequence[Any], ws: Sequence[Any], dtypes: Sequence[Any], batch_size: int,
        shuffle: Any = False,
    ) -> None:  # fmt: skip
        self._arrays = [*xs, *ys, *ws]
        self._dtypes = [*dtypes, *([np.float32] * len(ws))]
        self._ends = len(xs), len(xs) + len(ys)
        self.samples: int | None = int(xs[0].shape[0])
        self.steps: int | None = None
        self._batch_size = batch_size
        self._shuffle = shuffle

    @property
    def weights(self) -> list[Any]:
        """The sample weights; None for an output without."""
        return self._arrays[self._ends[1] :]

    def limit(self, steps: int) -> None:
        """Makes an epoch that many batches, or all if there are fewer; figures are means of batches from here on."""
        assert self.samples is not None
        every = -(-self.samples // self._batch_size)
        self.steps = min(steps, every)

    def split(self, part: float) -> tuple[ArraySource, ArraySource]:
        """The first samples, and the last ``part`` of them, which are not shuffled."""
        assert self.samples is not None
        place = int(self.samples * (1.0 - part))
        first, second = self._ends
        if not 0 < place < self.samples:
            raise ValueError(
                f"validation_split={part} of {self.samples} samples leaves none to train on or none to validate {at()}"
            )
        halves = []
        for arrays, shuffle in zip(split(self._arrays, place), (self._shuffle, False), strict=True):
            half = ArraySource(
                arrays[:first], arrays[first:second], arrays[second:], self._dtypes[:second], self._batch_size, shuffle
            )
            half.steps = self.steps if shuffle is self._shuffle else None
            halves.append(half)
        return halves[0], halves[1]

    def epoch(self) -> Iterator[Batch]:
        """The batches of one epoch."""
        order = np.arange(self.samples or 0)
        if self._shuffle == "batch":
            order = _shuffled_batches(order, self._batch_size)
        elif self._shuffle:
            np.random.shuffle(order)
        first, second = self._ends
        pairs = list(zip(self._arrays, self._dtypes, strict=True))
        assert self.samples is not None
        for number, start in enumerate(range(0, self.samples, self._batch_size)):
            if self.steps is not None and number >= self.steps:
                return
            if self._shuffle:
                chosen: Any = order[start : start + self._batch_size]
            else:
                chosen = slice(start, start + self._batch_size)
            cut = [None if a is None else np.asarray(a[chosen], dtype) for a, dtype in pairs]
            yield cut[:first], cut[first:second], cut[second:]

    def close(self) -> None:
        """Nothing is open."""


def _shuffled_batches(order: Any, batch_size: int) -> Any:
    """The order with whole batches shuffled; what is left over stays at the end."""
    whole = len(order) // batch_size * batch_size
    batches = order[:whole].reshape(-1, batch_size)
    np.random.shuffle(batches)
    return np.append(batches.reshape(-1), order[whole:])


class StreamSource:
    """Batches of an iterator that lives as long as the training: its epochs are ``steps`` long, or end where it ends."""

    samples: int | None = None

    def __init__(self, steps: int | None, standardize: Standardize) -> None:
        self.steps = steps
        self._standardize = standardize
        self._running: Any = None

    def _begin(self) -> Iterator[Any]:
        raise NotImplementedError

    def begin_again(self) -> None:
        """Goes back to the first batch, where that can be done: before each evaluation."""

    def epoch(self) -> Iterator[Batch]:
        """The batches of one epoch."""
        if self._running is None:
            self._running = self._begin()
        taken = 0
        while self.steps is None or taken < self.steps:
            element = next(self._running, None)
            if element is None:
                self._running = None
                if self.steps is not None:
                    self._warn_short(taken)
                return
            taken += 1
            yield self._standardize(element)

    def _warn_short(self, taken: int) -> None:
        log.warning(
            f"Your input ran out of data; interrupting training after {taken} of {self.steps} steps. Make sure that your "
            "dataset or generator can generate at least `steps_per_epoch * epochs` batches; `dataset.repeat()` may help."
        )
        self.is_over = True

    is_over = False

    def close(self) -> None:
        """Ends what runs in the background."""


class DatasetSource(StreamSource):
    """Batches of a tf.data dataset, or of an iterator of one."""

    def __init__(self, dataset: Any, steps: int | None, standardize: Standardize) -> None:
        super().__init__(steps, standardize)
        self._dataset = dataset
        self._call: Any = None
        self._initializer: Any = None

    def begin_again(self) -> None:
        """Goes back to the first element of a dataset; an iterator goes on."""
        if isinstance(self._dataset, Dataset):
            self._running = None

    def _begin(self) -> Iterator[Any]:
        if context.executing_eagerly():
            return iter(self._dataset)
        return self._in_session()

    def _in_session(self) -> Iterator[Any]:
        """One run of the session for each element."""
        if self._call is None:
            iterator = self._dataset
            if isinstance(iterator, Dataset):
                iterator = iterator.make_initializable_iterator()
                self._initializer = iterator.initializer
            element = iterator.get_next()
            self._structure = element
            session = get_session(nest.flatten(element))
            self._session = session
            self._call = session.make_callable(nest.flatten(element))
        if self._initializer is not None:
            self._session.run(self._initializer)
        while True:
            try:
                values = self._call()
            except OutOfRangeError:
                return
            yield nest.pack_sequence_as(self._structure, values)


class TensorSource(StreamSource):
    """Batches that are the values of tensors of the graph, computed again for each step."""

    def __init__(self, tensors: Any, steps: int | None, standardize: Standardize) -> None:
        super().__init__(steps, standardize)
        self._tensors = tensors

    def _begin(self) -> Iterator[Any]:
        flat = nest.flatten(self._tensors)
        call = get_session(flat).make_callable(flat)
        while True:
            yield nest.pack_sequence_as(self._tensors, call())


class GeneratorSource(StreamSource):
    """Batches of a Python generator, read ahead on a thread; with ``workers=0`` on the thread that trains."""

    def __init__(
        self, generator: Any, steps: int | None, standardize: Standardize, max_queue_size: int, workers: int
    ) -> None:
        super().__init__(steps, standardize)
        self._generator = generator
        self._size, self._workers = max_queue_size, workers
        self._enqueuer: SequenceEnqueuer | None = None

    def _begin(self) -> Iterator[Any]:
        if self._workers == 0:
            return self._here()
        if self._enqueuer is None:
            self._enqueuer = self._made()
            self._enqueuer.start(self._workers, self._size)
        return self._enqueuer.get()

    def _here(self) -> Iterator[Any]:
        """The batches, made on this thread."""
        return iter(self._generator)

    def _made(self) -> SequenceEnqueuer:
        """What makes batches ahead."""
        return GeneratorEnqueuer(iter(self._generator))

    def close(self) -> None:
        """Ends the thread."""
        if self._enqueuer is not None:
            self._enqueuer.stop()


class SequenceSource(GeneratorSource):
    """Batches of a `tf.keras.utils.Sequence`, read ahead by several threads, in its order or shuffled."""

    def __init__(
        self, sequence: KerasSequence, steps: int | None, standardize: Standardize, max_queue_size: int, workers: int,
        shuffle: bool,
    ) -> None:  # fmt: skip
        steps = len(sequence) if steps is None else steps
        super().__init__(sequence, steps, standardize, max_queue_size, workers)
        self._shuffle = shuffle

    def _here(self) -> Iterator[Any]:
        while True:
            order = list(range(len(self._generator)))
            if self._shuffle:
                random.shuffle(order)
            yield from map(self._generator.__getitem__, order)
            self._generator.on_epoch_end()

    def _made(self) -> SequenceEnqueuer:
        return OrderedEnqueuer(self._generator, shuffle=self._shuffle)
