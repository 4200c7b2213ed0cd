"""CheckpointEvaluation: evaluates the newest checkpoint of an estimator, and exports it."""

from __future__ import annotations

import os
from typing import Any

from headrace.library import log


class CheckpointEvaluation:
    """Remembers the last checkpoint that was evaluated, and what came of it."""

    def __init__(self, estimator: Any, eval_spec: Any, max_steps: int | None) -> None:
        """``max_steps``: the step whose checkpoint is the last; None if nobody knows."""
        self._estimator = estimator
        self._spec = eval_spec
        self._max_steps = max_steps
        self._path: str | None = None
        self.result: dict[str, Any] | None = None
        self.exports: list[Any] = []

    @property
    def step(self) -> int | None:
        """The global step of the last evaluation."""
        return None if self.result is None else int(self.result["global_step"])

    @property
    def is_last(self) -> bool:
        """Whether no checkpoint will come after the one of the last evaluation."""
        return self._max_steps is not None and self.step is not None and self.step >= self._max_steps

    def newest(self) -> str | None:
        """The path of the newest checkpoint, if there is one."""
        return self._estimator.latest_checkpoint()

    def evaluate_newest(self) -> bool:
        """Evaluates the newest checkpoint, unless there is none or it is the one of the last time."""
        path = self.newest()
        if path is None:
            log.info("Estimator is not trained yet. Will start an evaluation when a checkpoint is ready.")
            return False
        if path == self._path:
            return False
        self.evaluate(path)
        return True

    def evaluate(self, path: str | None, is_last: bool = False) -> None:
        """Evaluates and exports a checkpoint.  ``is_last``: it is known to be the last one."""
        spec = self._spec
        self.result = self._estimator.evaluate(
            spec.input_fn, steps=spec.steps, hooks=list(spec.hooks), checkpoint_path=path, name=spec.name
        )
        self._path = path
        base = os.path.join(self._estimator.model_dir, "export")
        self.exports = [
            exporter.export(
                self._estimator, os.path.join(base, exporter.name), path, self.result,
                is_the_final_export=is_last or self.is_last,
            )
            for exporter in spec.exporters
        ]  # fmt: skip
