"""`headrace.train.ProgressHook`: how far the training is, as a bar in a terminal or a notebook and as plain lines elsewhere."""

from __future__ import annotations

import sys
import time
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from headrace.core.source import at
from headrace.core.traceback_filter import notebook
from headrace.graph import context
from headrace.library import log
from headrace.library.train.hook.step import checked_global_step
from headrace.library.train.session.run_hook import (
    SessionRunArgs,
    SessionRunContext,
    SessionRunHook,
    SessionRunValues,
)

_BAR_SECS = 0.1  # how often the bar is drawn: nobody reads faster


class ProgressHook(SessionRunHook):
    """Shows the global step, steps per second, the time left, and the values of ``tensors``.

    In a terminal or a notebook it is a bar (tqdm), drawn ten times a second.  Elsewhere (a file, a pipe, a batch system), and
    without tqdm, it is one line every ``every_secs`` seconds and one at the end.  ``last_step`` is the step at which the training
    ends, or None.  ``tensors`` is a dict from labels to tensors, or a list; they are fetched only for what is shown.

    Args:
      last_step: The global step at which the training ends; None where it is not known, and then no time left is shown.
      tensors: What to show beside the step: a dict from labels to tensors or their names, or a list of them.
      every_secs: Seconds between two lines, where lines are printed.
      file: Where to print, an open text file; None for the standard error.

    >>> step = tf.train.get_or_create_global_step()
    >>> train = step.assign_add(1)
    >>> hooks = [tf.train.StopAtStepHook(last_step=20), tf.train.ProgressHook(last_step=20, file=sys.stdout)]
    >>> with tf.train.MonitoredSession(hooks=hooks) as sess:
    ...     while not sess.should_stop():
    ...         value = sess.run(train)
    step 20/20 (100 %), ... steps/s
    """

    def __init__(
        self, last_step: int | None = None, tensors: Mapping[str, Any] | Sequence[Any] | None = None,
        every_secs: float = 10.0, file: Any = None,
    ) -> None:  # fmt: skip
        if last_step is not None and last_step <= 0:
            raise ValueError(f"last_step must be positive, or None if it is not known, got {last_step} {at()}")
        if every_secs <= 0:
            raise ValueError(f"every_secs must be positive, got {every_secs} {at()}")
        if isinstance(tensors, (str, bytes)):
            raise TypeError(f"tensors must be a dict or list of tensors or their names, got {tensors!r} {at()}")
        self._last_step = last_step
        self._tensors = tensors or {}
        self._every_secs = every_secs
        self._file = file
        self._display: _Bar | _Lines | None = None

    def begin(self) -> None:
        self._global_step_tensor = checked_global_step(self)
        graph = context.get_default_graph()
        tensors = self._tensors
        if not isinstance(tensors, Mapping):
            tensors = {getattr(t, "name", str(t)).partition(":")[0]: t for t in tensors}
        self._shown = {label: graph.as_graph_element(tensor) for label, tensor in tensors.items()}

    def after_create_session(self, session: Any, coord: Any) -> None:
        step = int(session.run(self._global_step_tensor))
        if self._display is None:
            file = sys.stderr if self._file is None else self._file
            self._display = (
                _Bar(step, self._last_step, file) if _draws_bars(file) else _Lines(step, self._last_step, file)
            )
            self._due = time.monotonic() + self._display.secs(self._every_secs)
        else:
            self._display.restart(step)  # recovered, maybe at an earlier step

    def before_run(self, run_context: SessionRunContext) -> SessionRunArgs | None:
        self._show = time.monotonic() >= self._due
        return SessionRunArgs(self._shown) if self._show and self._shown else None

    def after_run(self, run_context: SessionRunContext, run_values: SessionRunValues) -> None:
        if self._show:
            assert self._display is not None
            self._display.show(int(run_context.session.run(self._global_step_tensor)), run_values.results or {})
            self._due = time.monotonic() + self._display.secs(self._every_secs)

    def end(self, session: Any) -> None:
        if self._display is not None:
            self._display.show(int(session.run(self._global_step_tensor)), {})
            self._display.close()
            self._display = None


def _draws_bars(file: Any) -> bool:
    """Whether to draw: only in a terminal or a notebook, and only with tqdm."""
    if not (getattr(file, "isatty", lambda: False)() or _is_shown_in_notebook(file)):
        return False
    try:
        import tqdm  # noqa: F401
    except ImportError:
        log.info("Progress is shown as lines: `pip install tqdm` draws a bar")
        return False
    return True


def _is_shown_in_notebook(file: Any) -> bool:
    """Whether a cell shows what is written there: IPython without a kernel is in a terminal."""
    return file in (sys.stdout, sys.stderr) and getattr(notebook(), "kernel", None) is not None


class _Bar:
    """tqdm's bar; in a notebook with ipywidgets one of the page."""

    def __init__(self, step: int, last_step: int | None, file: Any) -> None:
        if _is_shown_in_notebook(file):
            from tqdm.auto import tqdm
        else:
            from tqdm import tqdm

        self._bar = tqdm(total=last_step, initial=step, unit="step", file=file, dynamic_ncols=True)

    def secs(self, every_secs: float) -> float:
        return min(_BAR_SECS, every_secs)

    def restart(self, step: int) -> None:
        self._bar.n = step
        self._bar.refresh()

    def show(self, step: int, values: dict[str, Any]) -> None:
        if values:
            self._bar.set_postfix({label: _short(value) for label, value in values.items()}, refresh=False)
        self._bar.update(step - self._bar.n)
        self._bar.refresh()

    def close(self) -> None:
        self._bar.close()


class _Lines:
    """One line each time: what a log file wants."""

    def __init__(self, step: int, last_step: int | None, file: Any) -> None:
        self._last_step, self._file = last_step, file
        self.restart(step)

    def secs(self, every_secs: float) -> float:
        return every_secs

    def restart(self, step: int) -> None:
        self._since = time.monotonic(), step

    def show(self, step: int, values: dict[str, Any]) -> None:
        now, (then, before) = time.monotonic(), self._since
        self._since = now, step
        rate = (step - before) / max(now - then, 1e-9)
        whole = (
            "" if self._last_step is None else f"/{self._last_step} ({step / self._last_step:.0%})".replace("%", " %")
        )
        left = (self._last_step or 0) - step
        rest = f", {_duration(left / rate)} left" if left > 0 and rate > 0 else ""
        shown = "".join(f", {label} {_short(value)}" for label, value in values.items())
        print(f"step {step}{whole}, {rate:.3g} steps/s{rest}{shown}", file=self._file, flush=True)

    def close(self) -> None:
        pass


def _short(value: Any) -> str:
    return f"{value:.4g}" if np.ndim(value) == 0 and np.issubdtype(np.asarray(value).dtype, np.number) else str(value)


def _duration(seconds: float) -> str:
    minutes, secs = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{secs:02}" if hours else f"{minutes}:{secs:02}"
