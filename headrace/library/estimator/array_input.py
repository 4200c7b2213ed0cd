"""Input functions of arrays in memory: ``numpy_input_fn`` and ``pandas_input_fn``.

A Python function cuts the arrays into pieces, a queue runner puts them into a queue, and each step dequeues a batch.  With
``shuffle`` every epoch has an order of its own over all rows, drawn from the graph's seed.
"""

from __future__ import annotations

import itertools
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from headrace.core import dtypes, errors
from headrace.core.shape import TensorShape
from headrace.core.source import at
from headrace.library import log
from headrace.library.control.host import py_func
from headrace.library.numeric.random import get_seed
from headrace.library.queue.kinds import FIFOQueue
from headrace.library.scope import name_scope
from headrace.library.train.queue_runner import QueueRunner, add_queue_runner

Arrays = dict[Any, np.ndarray]
InputFn = Callable[[], Any]


def numpy_input_fn(
    x: Any, y: Any = None, batch_size: int = 128, num_epochs: int | None = 1, shuffle: bool | None = None,
    queue_capacity: int = 1000, num_threads: int = 1,
) -> InputFn:  # fmt: skip
    """An input function of arrays whose first dimension counts examples.

    ``x`` is an array or a dictionary of arrays, ``y`` as well, or None.  The features come as ``x`` was: a tensor or a
    dictionary of tensors.  The input ends after ``num_epochs``, with a smaller batch if need be; for None it never ends.

    Args:
      x: The features: an array or a dictionary of arrays.
      y: The labels: an array, a dictionary of arrays, or None.
      batch_size: How many examples a batch has.
      num_epochs: How often the arrays are gone through; None for no end.
      shuffle: Whether the order is random; it must be True or False.
      queue_capacity: How many examples may wait in the queue.
      num_threads: How many threads fill the queue; more than 1 change the order.

    Returns:
      A function without arguments that returns features, or features and labels.

    >>> ages = {"age": np.array([20.0, 30.0, 40.0])}
    >>> input_fn = tf.estimator.inputs.numpy_input_fn(ages, np.array([0, 1, 1]), batch_size=2, shuffle=False)
    >>> features, labels = input_fn()
    >>> with tf.train.MonitoredSession() as sess:
    ...     print(sess.run(features["age"]), sess.run(labels))
    [20. 30.] [1]
    """
    _check_shuffle(shuffle)
    _check_counts(batch_size, num_epochs, queue_capacity, num_threads)
    features = _named_arrays("x", x, is_required=True)
    targets = _named_arrays("y", y, is_required=False)
    _check_lengths(features, targets)

    def input_fn() -> Any:
        columns = [*features.values(), *targets.values()]
        batch = _batches(columns, batch_size, num_epochs, bool(shuffle), queue_capacity, num_threads)
        xs = dict(zip(features, batch[: len(features)], strict=True))
        ys = dict(zip(targets, batch[len(features) :], strict=True))
        inputs = xs if isinstance(x, Mapping) else xs[None]
        if y is None:
            return inputs
        return inputs, (ys if isinstance(y, Mapping) else ys[None])

    return input_fn


def pandas_input_fn(
    x: Any, y: Any = None, batch_size: int = 128, num_epochs: int | None = 1, shuffle: bool | None = None,
    queue_capacity: int = 1000, num_threads: int = 1, target_column: Any = "target",
) -> InputFn:  # fmt: skip
    """An input function of a DataFrame: its columns are the features, by name, and ``y``, a Series, holds the labels.

    ``y`` may be a DataFrame; the labels are then a dictionary.  ``target_column`` is the name of the labels inside the queue; a
    column of ``x`` may have it too.  Other arguments are those of ``numpy_input_fn``.

    Args:
      x: The features, a DataFrame.
      y: The labels, a Series or a DataFrame with the index of `x`, or None.
      batch_size: How many examples a batch has.
      num_epochs: How often the rows are gone through; None for no end.
      shuffle: Whether the order is random; it must be True or False.
      queue_capacity: How many examples may wait in the queue.
      num_threads: How many threads fill the queue; more than 1 change the order.
      target_column: The name of the labels inside the queue.

    Returns:
      A function without arguments that returns features, or features and labels.

    Example: ``tf.estimator.inputs.pandas_input_fn(frame[["age"]], frame["income"], num_epochs=None, shuffle=True)``
    """
    del target_column  # names nothing that a program could see
    _check_frame("x", x)
    _check_shuffle(shuffle)
    features = {column: np.asarray(x[column].values) for column in x.columns}
    labels: Any = None
    if y is not None:
        if not hasattr(y, "index") or not (hasattr(y, "values") or hasattr(y, "columns")):
            raise TypeError(f"y must be a pandas Series or DataFrame, got {type(y).__name__}: {y!r} {at()}")
        if not np.array_equal(np.asarray(x.index), np.asarray(y.index)):
            raise ValueError(
                f"Index for x and y are mismatched.\nIndex for x: {x.index}\nIndex for y: {y.index} {at()}"
            )
        is_frame = hasattr(y, "columns")
        labels = {c: np.asarray(y[c].values) for c in y.columns} if is_frame else np.asarray(y.values)
    return numpy_input_fn(features, labels, batch_size, num_epochs, shuffle, queue_capacity, num_threads)


# ---- checks


def _check_shuffle(shuffle: Any) -> None:
    if not isinstance(shuffle, (bool, np.bool_)):
        raise ValueError(
            f"shuffle must be provided and explicitly set as boolean (True or False), got {shuffle!r} {at()}"
        )


def _check_counts(batch_size: Any, num_epochs: Any, queue_capacity: Any, num_threads: Any) -> None:
    counts = {"batch_size": batch_size, "queue_capacity": queue_capacity, "num_threads": num_threads}
    if num_epochs is not None:
        counts["num_epochs"] = num_epochs
    for name, count in counts.items():
        if not isinstance(count, (int, np.integer)) or isinstance(count, bool) or count < 1:
            raise ValueError(f"{name} must be a whole number above 0, got {count!r} {at()}")


def _check_frame(name: str, frame: Any) -> None:
    if not all(hasattr(frame, member) for member in ("columns", "index", "__getitem__")):
        raise TypeError(f"{name} must be a pandas DataFrame, got {type(frame).__name__}: {frame!r} {at()}")


def _named_arrays(argument: str, value: Any, is_required: bool) -> Arrays:
    """The arrays by name; a single one has the name None."""
    if value is None and not is_required:
        return {}
    if isinstance(value, Mapping):
        if not value:
            raise ValueError(f"{argument} must not be an empty dictionary {at()}")
        arrays = {key: _array(f"{argument}[{key!r}]", one) for key, one in value.items()}
    else:
        arrays = {None: _array(argument, value)}
    return arrays


def _array(what: str, value: Any) -> np.ndarray:
    if not isinstance(value, np.ndarray):
        raise TypeError(f"{what} must be a numpy array or a dictionary of them, got {type(value).__name__} {at()}")
    if value.ndim == 0:
        raise ValueError(
            f"{what} must have a first dimension that counts examples, got the single value {value!r} {at()}"
        )
    return value


def _check_lengths(features: Arrays, targets: Arrays) -> None:
    lengths = {**{f"x[{k!r}]" if k is not None else "x": len(a) for k, a in features.items()},
               **{f"y[{k!r}]" if k is not None else "y": len(a) for k, a in targets.items()}}  # fmt: skip
    if len(set(lengths.values())) > 1:
        raise ValueError(f"Length of tensors in x and y is mismatched. All elements in x and y must have the same length. "
                         f"Shapes: {lengths} {at()}")  # fmt: skip
    if not next(iter(lengths.values())):
        raise ValueError(f"x must have at least one example, got none {at()}")


# ---- pieces of the arrays, and the queue of them


class _Pieces:
    """Rows of the arrays, ``size`` at a time; a piece may hold the end of one epoch and the start of the next.

    Several threads may call it: every row comes once in an epoch, whoever asks.
    """

    def __init__(self, arrays: Sequence[np.ndarray], size: int, num_epochs: int | None, rng: Any) -> None:
        self._arrays = arrays
        self._pieces = _indices(len(arrays[0]), size, num_epochs, rng)
        self._lock = threading.Lock()

    def __call__(self) -> list[np.ndarray]:
        """The next piece of every array; StopIteration after the last."""
        with self._lock:
            rows = next(self._pieces)
        return [array[rows] for array in self._arrays]


def _indices(rows: int, size: int, num_epochs: int | None, rng: Any) -> Iterator[np.ndarray]:
    """The numbers of the rows of all epochs, ``size`` at a time."""
    rest = np.zeros(0, np.int64)
    epochs = itertools.count() if num_epochs is None else range(num_epochs)
    for _ in epochs:
        order = np.arange(rows) if rng is None else rng.permutation(rows)
        rest = np.concatenate([rest, order])
        whole = len(rest) // size * size
        yield from np.split(rest[:whole], whole // size) if whole else ()
        rest = rest[whole:]
    if len(rest):
        yield rest


def _batches(
    arrays: Sequence[np.ndarray],
    batch_size: int,
    num_epochs: int | None,
    shuffle: bool,
    capacity: int,
    num_threads: int,
) -> list[Any]:
    """One tensor for each array: the batch that a step dequeues."""
    if num_threads > 1 and not shuffle:
        log.warning("the input has num_threads=%d and shuffle=False: examples may come in another order", num_threads)
    with name_scope("enqueue_input"):
        pieces = _Pieces(arrays, batch_size, num_epochs, _generator() if shuffle else None)
        element_types = [dtypes.as_dtype(array.dtype) for array in arrays]
        shapes = [TensorShape(array.shape[1:]) for array in arrays]
        queue = FIFOQueue(capacity, element_types, shapes)
        enqueues = [_enqueue(queue, pieces) for _ in range(num_threads)]
        ends = (errors.OutOfRangeError, errors.CancelledError)  # the input ends, or the loop does
        add_queue_runner(QueueRunner(queue, enqueues, queue_closed_exception_types=ends))
    batch = queue.dequeue_many(batch_size) if num_epochs is None else queue.dequeue_up_to(batch_size)
    return list(batch) if isinstance(batch, (list, tuple)) else [batch]


def _enqueue(queue: FIFOQueue, pieces: _Pieces) -> Any:
    tensors = py_func(pieces, [], queue.dtypes, name="rows")
    for tensor, shape in zip(tensors, queue.shapes, strict=True):
        tensor.set_shape(TensorShape([None]).concatenate(shape))
    return queue.enqueue_many(tensors)


def _generator() -> np.random.Generator:
    """Draws the order of the rows: from the graph's seed if it has one."""
    seeds = [seed for seed in get_seed(None) if seed is not None]
    return np.random.default_rng(seeds or None)
