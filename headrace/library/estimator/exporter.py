"""Exporters: when an evaluation leads to a SavedModel, and how many of them are kept."""

from __future__ import annotations

import abc
import os
from collections.abc import Callable, Mapping
from typing import Any

from headrace.core import errors, file
from headrace.core.source import at
from headrace.library import log
from headrace.library.estimator.export_folders import remove_older
from headrace.resources.file.event_file import summary_iterator


class Exporter(abc.ABC):
    """Called by ``train_and_evaluate`` after each evaluation.

    It is a base class: a subclass has a property ``name`` and a method ``export``.

    >>> issubclass(tf.estimator.LatestExporter, tf.estimator.Exporter)
    True
    """

    @property
    @abc.abstractmethod
    def name(self) -> str:
        """The folder of its exports, below ``export`` in the model's folder."""

    @abc.abstractmethod
    def export(
        self, estimator: Any, export_path: Any, checkpoint_path: Any, eval_result: Any, is_the_final_export: bool
    ) -> Any:
        """Exports the checkpoint to ``export_path`` and returns the folder, or None if it does not want to."""


class _SavedModelExporter(Exporter):
    def __init__(self, name: Any, serving_input_receiver_fn: Any, assets_extra: Any, as_text: bool) -> None:
        if not isinstance(name, str) or not name:
            raise ValueError(f"name of an exporter must be a string that is not empty, got {name!r} {at()}")
        self._name = name
        self._serving_input_receiver_fn = serving_input_receiver_fn
        self._assets_extra = assets_extra
        self._as_text = as_text

    @property
    def name(self) -> str:
        return self._name

    def _export(self, estimator: Any, export_path: Any, checkpoint_path: Any) -> Any:
        return estimator.export_saved_model(
            export_path, self._serving_input_receiver_fn, assets_extra=self._assets_extra, as_text=self._as_text,
            checkpoint_path=checkpoint_path,
        )  # fmt: skip


class FinalExporter(_SavedModelExporter):
    """Exports once, at the end of the training.

    Args:
      name: The name of the folder below ``export`` in the model's folder.
      serving_input_receiver_fn: A function that makes the placeholders for requests.
      assets_extra: A dict from paths in the folder ``assets.extra`` to files to copy there; None for none.
      as_text: Whether the SavedModel is written as text.

    Example: ``tf.estimator.FinalExporter("final", serving_input_receiver_fn)``
    """

    def __init__(
        self, name: str, serving_input_receiver_fn: Any, assets_extra: Any = None, as_text: bool = False
    ) -> None:
        super().__init__(name, serving_input_receiver_fn, assets_extra, as_text)

    def export(
        self, estimator: Any, export_path: Any, checkpoint_path: Any, eval_result: Any, is_the_final_export: bool
    ) -> Any:
        if not is_the_final_export:
            return None
        log.info("Performing the final export in the end of training.")
        return self._export(estimator, export_path, checkpoint_path)


class LatestExporter(_SavedModelExporter):
    """Exports after every evaluation and keeps the latest ``exports_to_keep``.

    Args:
      name: The name of the folder below ``export`` in the model's folder.
      serving_input_receiver_fn: A function that makes the placeholders for requests.
      assets_extra: A dict from paths in the folder ``assets.extra`` to files to copy there; None for none.
      as_text: Whether the SavedModel is written as text.
      exports_to_keep: How many exports to keep; None for all.

    Example: ``tf.estimator.LatestExporter("latest", serving_input_receiver_fn, exports_to_keep=3)``
    """

    def __init__(
        self, name: str, serving_input_receiver_fn: Any, assets_extra: Any = None, as_text: bool = False,
        exports_to_keep: int | None = 5,
    ) -> None:  # fmt: skip
        super().__init__(name, serving_input_receiver_fn, assets_extra, as_text)
        self._exports_to_keep = _checked_count(exports_to_keep)

    def export(
        self, estimator: Any, export_path: Any, checkpoint_path: Any, eval_result: Any, is_the_final_export: bool
    ) -> Any:
        folder = self._export(estimator, export_path, checkpoint_path)
        remove_older(export_path, self._exports_to_keep)
        return folder


def _loss_smaller(best_eval_result: Mapping[str, Any], current_eval_result: Mapping[str, Any]) -> bool:
    for result in (best_eval_result, current_eval_result):
        if not result or "loss" not in result:
            raise ValueError(f"best_eval_result and current_eval_result must have a loss, got {result!r} {at()}")
    return bool(best_eval_result["loss"] > current_eval_result["loss"])


class BestExporter(_SavedModelExporter):
    """Exports when ``compare_fn(best_eval_result, current_eval_result)`` says that an evaluation is the best so far.

    Evaluations of earlier runs, read from the event files that ``event_file_pattern`` names below the model's folder, count.

    Args:
      name: The name of the folder below ``export`` in the model's folder.
      serving_input_receiver_fn: A function that makes the placeholders for requests.
      event_file_pattern: Which event files have earlier evaluations; None to look at none.
      compare_fn: A function that says whether the second result is better; by default the one with the smaller loss is.
      assets_extra: A dict from paths in the folder ``assets.extra`` to files to copy there; None for none.
      as_text: Whether the SavedModel is written as text.
      exports_to_keep: How many exports to keep; None for all.

    Example: ``tf.estimator.BestExporter("best", serving_input_receiver_fn, exports_to_keep=1)``
    """

    def __init__(
        self, name: str = "best_exporter", serving_input_receiver_fn: Any = None,
        event_file_pattern: str | None = "eval/*.tfevents.*", compare_fn: Callable[..., Any] = _loss_smaller,
        assets_extra: Any = None, as_text: bool = False, exports_to_keep: int | None = 5,
    ) -> None:  # fmt: skip
        super().__init__(name, serving_input_receiver_fn, assets_extra, as_text)
        if not callable(compare_fn):
            raise ValueError(f"compare_fn must be a function of two results of evaluate, got {compare_fn!r} {at()}")
        self._compare_fn = compare_fn
        self._event_file_pattern = event_file_pattern
        self._exports_to_keep = _checked_count(exports_to_keep)
        self._best: Mapping[str, Any] | None = None
        self._has_read = False

    def export(
        self, estimator: Any, export_path: Any, checkpoint_path: Any, eval_result: Any, is_the_final_export: bool
    ) -> Any:
        if not self._has_read:
            self._has_read = True
            self._best = self._earlier_best(estimator.model_dir, eval_result)
        if self._best is not None and not self._compare_fn(
            best_eval_result=self._best, current_eval_result=eval_result
        ):
            return None
        log.info("Performing best model export.")
        self._best = eval_result
        folder = self._export(estimator, export_path, checkpoint_path)
        remove_older(export_path, self._exports_to_keep)
        return folder

    def _earlier_best(self, model_dir: str, current: Mapping[str, Any]) -> Mapping[str, Any] | None:
        """The best evaluation in the event files before this one."""
        best = None
        if self._event_file_pattern is None:
            return None
        for path in file.matching(os.path.join(model_dir, self._event_file_pattern)):
            for result in _results(path, before=current.get("global_step")):
                if best is None or self._compare_fn(best_eval_result=best, current_eval_result=result):
                    best = result
        return best


def _results(path: str, before: Any) -> list[dict[str, Any]]:
    results = []
    try:
        for event in summary_iterator(path):
            if event.HasField("summary") and (before is None or event.step < before):
                values = {v.tag: v.simple_value for v in event.summary.value if v.HasField("simple_value")}
                if values:
                    results.append(values)
    except errors.DataLossError:
        log.warning("The event file %s ends in the middle of an event; the evaluations before it count.", path)
    return results


def _checked_count(exports_to_keep: Any) -> int | None:
    if exports_to_keep is not None and (not isinstance(exports_to_keep, int) or exports_to_keep <= 0):
        raise ValueError(f"`exports_to_keep`, if provided, must be positive number, got {exports_to_keep!r} {at()}")
    return exports_to_keep
