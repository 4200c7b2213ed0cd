"""What a model says of its input, batch by batch or example by example."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from headrace.core.source import at
from headrace.graph import context
from headrace.graph.collection import GraphKeys
from headrace.library import log
from headrace.library.train.session.monitored_session import MonitoredSession


def checked_predictions(predictions: Any, predict_keys: Any) -> Any:
    """The predictions that the keys name; all of them without keys."""
    if not predict_keys:
        return predictions
    if not isinstance(predictions, Mapping):
        raise ValueError(
            "predict_keys argument is not valid in case of non-dict predictions: got "
            f"predict_keys={predict_keys!r} and predictions {predictions!r} {at()}"
        )
    keys = [predict_keys] if isinstance(predict_keys, str) else list(predict_keys)
    chosen = {key: value for key, value in predictions.items() if key in keys}
    if not chosen:
        raise ValueError(
            f"Expected to run at least one output from {sorted(predictions)}, provided predict_keys={keys} {at()}"
        )
    return chosen


def warn_of_endless_input() -> None:
    """Logs that a graph without queue runners never runs out of input."""
    if not context.get_default_graph().get_collection(GraphKeys.QUEUE_RUNNERS):
        log.warning(
            "The input has no queue runner, so predict yields forever unless something else ends the input. This is probably a "
            "mistake %s", at(),
        )  # fmt: skip


def predict(session: MonitoredSession, predictions: Any, is_single: bool) -> Iterator[Any]:
    """Runs steps until the input ends; yields batches, or with ``is_single`` the examples in them."""
    with session:
        while not session.should_stop():
            batch = session.run(predictions)
            if is_single:
                yield from _examples(batch)
            else:
                yield batch


def _examples(batch: Any) -> Iterator[Any]:
    if not isinstance(batch, Mapping):
        yield from batch
        return
    sizes = _sizes(batch)
    for i in range(next(iter(sizes.values()))):
        yield {key: value[i] for key, value in batch.items()}


def _sizes(batch: Mapping[str, Any]) -> Mapping[str, int]:
    sizes: dict[str, int] = {}
    for key, value in batch.items():
        shape: Sequence[int] = getattr(value, "shape", ())
        if not shape:
            raise ValueError(
                f"prediction {key!r} has no batch dimension (its value is {value!r}): it cannot be split into examples; pass "
                f"yield_single_examples=False {at()}"
            )
        sizes[key] = shape[0]
    if len(set(sizes.values())) > 1:
        raise ValueError(
            f"Batch length of predictions should be same, got {dict(sizes)}; pass yield_single_examples=False to get whole "
            f"batches {at()}"
        )
    return sizes
