"""The evaluation of one model in one graph: metrics over many batches, logged and written as summaries."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from headrace.core.proto import protos
from headrace.core.source import at
from headrace.library import log
from headrace.library.control.dependency import group
from headrace.library.estimator.estimator_spec import EstimatorSpec
from headrace.library.metrics import mean
from headrace.library.state.global_step import get_global_step
from headrace.library.summary.file_writer import FileWriterCache
from headrace.library.train.hook.tensor import FinalOpsHook
from headrace.library.train.session.monitored_session import MonitoredSession
from headrace.library.train.session.run_hook import SessionRunHook
from headrace.library.train.session.session_creator import ChiefSessionCreator


class StopAfterNEvalsHook(SessionRunHook):
    """Ends an evaluation after that many batches."""

    def __init__(self, num_evals: int) -> None:
        self._num_evals = num_evals
        self._done = 0

    def after_create_session(self, session: Any, coord: Any) -> None:
        self._done = 0

    def after_run(self, run_context: Any, run_values: Any) -> None:
        self._done += 1
        if self._num_evals <= 10 or self._done % (self._num_evals // 10) == 0:
            log.info("Evaluation [%d/%d]", self._done, self._num_evals)
        if self._done >= self._num_evals:
            run_context.request_stop()


def evaluate(
    spec: EstimatorSpec, checkpoint_path: str | None, master: str, session_config: Any, hooks: Sequence[Any],
    loss_metric: Any = None,
) -> dict[str, Any]:  # fmt: skip
    """The metrics of the default graph, with ``loss`` and ``global_step``, when a hook or the input ends the evaluation."""
    metrics = with_loss(spec, loss_metric)
    update = group(*[one[1] for one in metrics.values()])
    values = {name: one[0] for name, one in metrics.items()}
    final = FinalOpsHook({**values, "global_step": get_global_step()})
    creator = ChiefSessionCreator(
        scaffold=spec.scaffold, checkpoint_filename_with_path=checkpoint_path, master=master, config=session_config
    )
    with MonitoredSession(creator, hooks=[*hooks, *spec.evaluation_hooks, final]) as session:
        while not session.should_stop():
            session.run(update)
    return dict(final.final_ops_values)


def with_loss(spec: EstimatorSpec, loss_metric: Any = None) -> dict[str, tuple[Any, Any]]:
    """The metrics of a spec and ``loss_metric``, by default the mean of its loss."""
    metrics = dict(spec.eval_metric_ops)
    for name in ("loss", "global_step"):
        if name in metrics:
            raise ValueError(
                f'Metric with name "{name}" is not allowed, because Estimator already defines a default metric with the same '
                f"name: the metrics are {sorted(metrics)} {at()}"
            )
    metrics["loss"] = mean.mean(spec.loss) if loss_metric is None else loss_metric
    return metrics


def write_summary(folder: str, results: Mapping[str, Any]) -> None:
    """Logs the metrics and adds them to the event file of a folder."""
    step = int(results["global_step"])
    shown = ", ".join(f"{name} = {value}" for name, value in sorted(results.items()))
    log.info("Saving dict for global step %d: %s", step, shown)
    summary = protos().Summary()
    for name, value in results.items():
        if name == "global_step" or value is None:
            continue
        if np.ndim(value) == 0 and np.issubdtype(np.asarray(value).dtype, np.number):
            summary.value.add(tag=name, simple_value=float(value))
        elif isinstance(value, bytes):
            _add_encoded(summary, name, value)
        else:
            log.warning("Skipping summary for %s, must be a number or an encoded tf.Summary, got %r", name, value)
    writer = FileWriterCache.get(folder)
    writer.add_summary(summary, step)
    writer.flush()


def _add_encoded(summary: Any, name: str, value: bytes) -> None:
    """The values of an encoded summary (an image of the evaluation, say), under the metric's name."""
    try:
        encoded = protos().Summary.FromString(value)
    except Exception:
        log.warning("Skipping summary for %s, cannot parse string to Summary.", name)
        return
    for i, one in enumerate(encoded.value):
        one.tag = f"{name}/{i}"
    summary.value.extend(encoded.value)
