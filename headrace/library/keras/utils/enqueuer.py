"""Threads that make batches ahead of the loop that uses them: ``OrderedEnqueuer``, ``GeneratorEnqueuer``.

A thread hands out jobs in order, a pool works on several of them together, and ``get`` gives the results in the order of the
jobs.  Nothing here knows models.
"""

from __future__ import annotations

import inspect
import random
import threading
from collections import deque
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import nullcontext
from typing import Any

import numpy as np

from headrace.core.source import warn
from headrace.library.keras.utils.sequence import Sequence


class SequenceEnqueuer:
    """The base of what makes batches ahead in threads; not to be used by itself.

    Args:
      sequence: The source of the batches.
      use_multiprocessing: True asks for processes. The batches are made by threads of this process all the same, with a
        warning: numpy and Pillow leave the interpreter to other threads while they compute.

    >>> issubclass(tf.keras.utils.OrderedEnqueuer, tf.keras.utils.SequenceEnqueuer)
    True
    """

    def __init__(self, sequence: Any, use_multiprocessing: bool = False) -> None:
        if use_multiprocessing:
            warn(
                "use_multiprocessing=True: batches are made by threads of this process. Processes of their own would have"
                " to be copies of this one, with its threads and accelerators; tf.data maps functions in processes"
            )
        self.sequence = sequence
        self.use_multiprocessing = use_multiprocessing
        self._changed = threading.Condition()
        self._jobs: deque[Future[Any]] = deque()
        self._unfinished = 0  # jobs whose results nobody has taken
        self._limit = 0
        self._stopped = True
        self._exhausted = False
        self._thread: threading.Thread | None = None
        self._pool: ThreadPoolExecutor | None = None

    def start(self, workers: int = 1, max_queue_size: int = 10) -> None:
        """Begins to make batches.

        Args:
          workers: How many threads make them.
          max_queue_size: How many batches may wait to be taken.
        """
        if not self._stopped:
            raise RuntimeError("the enqueuer runs already: call stop() before start()")
        self._stopped = self._exhausted = False
        self._limit = max(1, max_queue_size)
        self._pool = ThreadPoolExecutor(max(1, workers), thread_name_prefix="headrace-batches")
        self._thread = threading.Thread(target=self._run, name="headrace-enqueuer", daemon=True)
        self._thread.start()

    def is_running(self) -> bool:
        """Whether batches are being made.

        Returns:
          A bool.
        """
        return not self._stopped

    def stop(self, timeout: float | None = None) -> None:
        """Ends the threads; batches that nobody took are dropped.

        Args:
          timeout: How many seconds to wait for the thread that hands out jobs; None for as long as it takes.
        """
        with self._changed:
            self._stopped = True
            for job in self._jobs:
                job.cancel()
            self._jobs.clear()
            self._unfinished = 0
            self._changed.notify_all()
        if self._thread is not None and self._thread is not threading.current_thread():
            self._thread.join(timeout)
        if self._pool is not None:
            self._pool.shutdown(wait=True, cancel_futures=True)

    def get(self) -> Iterator[Any]:
        """The batches, in order; waits for each until it is made.

        Returns:
          An iterator. It ends when the source does, or when the enqueuer is stopped; an error of the source is raised.
        """
        while (job := self._next_job()) is not None:
            try:
                batch = job.result()
            except BaseException:
                self.stop()
                raise
            self._finished_one()
            if batch is not None:
                yield batch

    def _next_job(self) -> Future[Any] | None:
        with self._changed:
            self._changed.wait_for(lambda: self._jobs or self._stopped or self._exhausted)
            if self._stopped or not self._jobs:
                return None
            job = self._jobs.popleft()
            self._changed.notify_all()
            return job

    def _finished_one(self) -> None:
        with self._changed:
            self._unfinished = max(0, self._unfinished - 1)
            self._changed.notify_all()

    def _submit(self, function: Any, *args: Any) -> bool:
        """Hands out a job when there is room for its result; False if the enqueuer was stopped meanwhile."""
        assert self._pool is not None
        with self._changed:
            self._changed.wait_for(lambda: self._stopped or len(self._jobs) < self._limit)
            if self._stopped:
                return False
            self._jobs.append(self._pool.submit(function, *args))
            self._unfinished += 1
            self._changed.notify_all()
            return True

    def _wait_until_taken(self) -> bool:
        with self._changed:
            self._changed.wait_for(lambda: self._stopped or not self._unfinished)
            return not self._stopped

    def _run(self) -> None:
        raise NotImplementedError(f"{type(self).__name__} does not say which jobs there are")


class OrderedEnqueuer(SequenceEnqueuer):
    """Makes the batches of a `Sequence` ahead, epoch after epoch.

    Args:
      sequence: A `tf.keras.utils.Sequence`.
      use_multiprocessing: True asks for processes; threads make the batches all the same, with a warning.
      shuffle: True takes the batches of each epoch in a random order.

    >>> class Count(tf.keras.utils.Sequence):
    ...     def __len__(self):
    ...         return 2
    ...     def __getitem__(self, index):
    ...         return index
    >>> enqueuer = tf.keras.utils.OrderedEnqueuer(Count())
    >>> enqueuer.start(workers=2)
    >>> batches = enqueuer.get()
    >>> [next(batches) for _ in range(4)]
    [0, 1, 0, 1]
    >>> enqueuer.stop()
    """

    def __init__(self, sequence: Sequence, use_multiprocessing: bool = False, shuffle: bool = False) -> None:
        super().__init__(sequence, use_multiprocessing)
        self.shuffle = shuffle

    def _run(self) -> None:
        while True:
            order = list(range(len(self.sequence)))
            if self.shuffle:
                random.shuffle(order)
            for i in order:
                if not self._submit(self.sequence.__getitem__, i):
                    return
            if not self._wait_until_taken():
                return
            self.sequence.on_epoch_end()


class GeneratorEnqueuer(SequenceEnqueuer):
    """Takes batches from a generator ahead of the loop that uses them.

    Args:
      sequence: A generator, or any iterator, of batches.
      use_multiprocessing: True asks for processes; threads take the batches all the same, with a warning.
      random_seed: The seed of numpy's random numbers for the generator; None leaves them alone.

    >>> enqueuer = tf.keras.utils.GeneratorEnqueuer(iter([10, 20, 30]))
    >>> enqueuer.start()
    >>> list(enqueuer.get())
    [10, 20, 30]
    >>> enqueuer.stop()
    """

    def __init__(self, sequence: Any, use_multiprocessing: bool = False, random_seed: int | None = None) -> None:
        super().__init__(sequence, use_multiprocessing)
        self.random_seed = random_seed
        # Python refuses to enter a generator from two threads; an iterator of another class does its own locking
        self._entering = threading.Lock() if inspect.isgenerator(sequence) else nullcontext()

    def _run(self) -> None:
        if self.random_seed is not None:
            np.random.seed(self.random_seed)
        while not self._exhausted and self._submit(self._next):
            pass

    def _next(self) -> Any:
        with self._entering:
            try:
                return next(self.sequence)
            except StopIteration:
                pass
        with self._changed:
            self._exhausted = True
            self._changed.notify_all()
        return None
