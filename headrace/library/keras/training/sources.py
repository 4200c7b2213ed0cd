"""Which source of batches the arguments of fit, evaluate and predict mean."""

from __future__ import annotations

import inspect
import operator
from typing import Any

from headrace.core.source import at
from headrace.graph import context
from headrace.graph.operation import Tensor
from headrace.library import nest
from headrace.library.backend.keras_tensor import is_symbolic
from headrace.library.backend.session import get_session
from headrace.library.data.dataset import Dataset
from headrace.library.data.iterator import Iterator
from headrace.library.data.transform import INFINITE_CARDINALITY, cardinality
from headrace.library.keras.training.source import (
    ArraySource,
    DatasetSource,
    GeneratorSource,
    SequenceSource,
    TensorSource,
)
from headrace.library.keras.utils.sequence import Sequence


def is_stream(x: Any) -> bool:
    """Whether the data come batch by batch: a dataset, an iterator of one, a generator or a Sequence."""
    return isinstance(x, (Dataset, Iterator, Sequence)) or inspect.isgenerator(x) or _is_iterator(x)


def _is_iterator(x: Any) -> bool:
    return hasattr(x, "__next__") and hasattr(x, "__iter__") and not hasattr(x, "shape")


def make_source(
    model: Any, x: Any, y: Any, sample_weight: Any, class_weight: Any = None, *, batch_size: int | None = None,
    steps: int | None = None, shuffle: Any = False, needs_targets: bool = True, max_queue_size: int = 10,
    workers: int = 1, steps_name: str = "steps",
) -> Any:  # fmt: skip
    """The source for these data, which the model's inputs and outputs are checked with."""
    if is_stream(x):
        if y is not None or sample_weight is not None:
            what = "`y`" if y is not None else "`sample_weight`"
            raise ValueError(
                f"{what} argument is not supported when using a dataset, an iterator, a generator or a Sequence as `x`: give "
                f"batches of (inputs, targets) or (inputs, targets, sample_weights) {at()}"
            )
        return _stream(model, x, class_weight, steps, shuffle, needs_targets, max_queue_size, workers, steps_name)
    if x is None:
        raise ValueError(f"`x` is None: give arrays, a dataset, a generator or a Sequence {at()}")
    if not context.executing_eagerly() and any(is_symbolic(t) for t in nest.flatten(x)):
        return _tensors(model, x, y, sample_weight, class_weight, steps, needs_targets, steps_name)
    _check_batch_size(batch_size)
    xs, ys, ws = model._standardize(x, y, sample_weight, class_weight, needs_targets)
    samples = int(xs[0].shape[0]) if xs else 1
    if samples == 0:
        raise ValueError(f"The data are empty: `x` has no samples {at()}")
    if steps is not None and batch_size is None:
        batch_size = -(-samples // steps)
    source = ArraySource(xs, ys, ws, model._feed_dtypes(xs, ys), batch_size or 32, shuffle)
    return source


def _tensors(
    model: Any, x: Any, y: Any, sample_weight: Any, class_weight: Any, steps: int | None, needs_targets: bool,
    steps_name: str,
) -> TensorSource:  # fmt: skip
    if steps is None:
        raise ValueError(f"When using tensors of a graph as input to a model, you should specify `{steps_name}` {at()}")
    parts = (x, y, sample_weight) if sample_weight is not None else (x, y)
    present = parts if y is not None else (x,)

    def standardize(values: Any) -> Any:
        given = [*values, None, None][:3]
        return model._standardize(*given, class_weight, needs_targets, whole=False)

    return TensorSource(present, steps, standardize)


def _stream(
    model: Any, x: Any, class_weight: Any, steps: int | None, shuffle: Any, needs_targets: bool, max_queue_size: int,
    workers: int, steps_name: str,
) -> Any:  # fmt: skip
    def standardize(element: Any) -> Any:
        x, y, weight = unpacked(element, needs_targets)
        return model._standardize(x, y, weight, class_weight, needs_targets, whole=False)

    if isinstance(x, Dataset) and steps is None and _size(x) == INFINITE_CARDINALITY:
        raise ValueError(f"When passing a dataset that repeats without end, you must specify `{steps_name}` {at()}")
    if isinstance(x, (Dataset, Iterator)) or (context.executing_eagerly() and isinstance(x, Tensor)):
        return DatasetSource(x, steps, standardize)
    if isinstance(x, Sequence):
        return SequenceSource(x, steps, standardize, max_queue_size, workers, bool(shuffle))
    if steps is None:
        raise ValueError(f"When using a generator, which may never end, you should specify `{steps_name}` {at()}")
    return GeneratorSource(x, steps, standardize, max_queue_size, workers)


def _size(dataset: Dataset) -> int:
    size = cardinality(dataset)
    return int(size.numpy() if context.executing_eagerly() else get_session([size]).run(size))


def _check_batch_size(batch_size: Any) -> None:
    if batch_size is not None and (isinstance(batch_size, bool) or operator.index(batch_size) < 1):
        raise ValueError(f"`batch_size` must be at least 1, got {batch_size!r} {at()}")


def unpacked(element: Any, needs_targets: bool) -> tuple[Any, Any, Any]:
    """(inputs, targets, sample weights) of one element of a stream."""
    if isinstance(element, tuple):
        if len(element) in (2, 3):
            return element[0], element[1], element[2] if len(element) == 3 else None
        if len(element) == 1:
            return element[0], None, None
    if not needs_targets:
        return element, None, None
    found = (
        f"a {type(element).__name__} of {len(element)}"
        if isinstance(element, (list, tuple))
        else type(element).__name__
    )
    raise ValueError(
        f"Output of generator or dataset should be a tuple `(x, y, sample_weight)` or `(x, y)`. Found: {found} {at()}"
    )
