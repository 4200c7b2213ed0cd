"""tfdbg in monitored sessions and estimators."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from headrace.core.config import RunOptions
from headrace.library.debugging.tfdbg.watch import WatchOptions
from headrace.library.debugging.tfdbg.wrapper import DumpingDebugWrapperSession, LocalCLIDebugWrapperSession
from headrace.library.train.session.run_hook import SessionRunArgs, SessionRunHook


class DumpingDebugHook(SessionRunHook):
    """Has each run leave its tensors in files, as `DumpingDebugWrapperSession` does.

    Args:
      session_root: The folder for the files; it must be empty, or not there yet.
      watch_fn: A function of fetches and feeds that returns a `WatchOptions`; None to keep all tensors.
      thread_name_filter: A pattern for the names of threads whose runs are kept; None for all.
      log_usage: Accepted as TensorFlow does; it changes nothing.

    Example: ``tf.train.MonitoredSession(hooks=[tfdbg.DumpingDebugHook("/tmp/dumps")])``
    """

    def __init__(
        self, session_root: str, watch_fn: Callable[..., WatchOptions] | None = None,
        thread_name_filter: str | None = None, log_usage: bool = True,
    ) -> None:  # fmt: skip
        self._arguments = session_root, watch_fn, thread_name_filter
        self._wrapper: DumpingDebugWrapperSession | None = None

    def before_run(self, run_context: Any) -> SessionRunArgs:
        if self._wrapper is None:
            self._wrapper = DumpingDebugWrapperSession(run_context.session, *self._arguments)
        wrapper, asked = self._wrapper, run_context.original_args
        if not wrapper.is_debugged_here():
            return SessionRunArgs(None)
        return SessionRunArgs(None, None, wrapper.options_for(asked.fetches, asked.feed_dict, wrapper.next_root()))


class LocalCLIDebugHook(SessionRunHook):
    """Shows the tensors of each run, as `LocalCLIDebugWrapperSession` does.

    Args:
      ui_type: Accepted as TensorFlow does; it changes nothing.
      dump_root: The folder for the files; None for a temporary one.
      thread_name_filter: A pattern for the names of threads whose runs are shown; None for all.
      config_file_path: Accepted as TensorFlow does; it changes nothing.

    Example: ``tf.train.MonitoredSession(hooks=[tfdbg.LocalCLIDebugHook()])``
    """

    def __init__(
        self, ui_type: str = "curses", dump_root: str | None = None, thread_name_filter: str | None = None,
        config_file_path: str | None = None,
    ) -> None:  # fmt: skip
        self._arguments = dump_root, True, ui_type, thread_name_filter, config_file_path
        self._filters: dict[str, Callable[[Any, Any], bool]] = {}
        self._wrapper: LocalCLIDebugWrapperSession | None = None
        self._folder: Any = None

    def add_tensor_filter(self, filter_name: str, tensor_filter: Callable[[Any, Any], bool]) -> None:
        """Adds a filter: ``run -f NAME`` stops at a step with a tensor for which ``tensor_filter(datum, tensor)`` holds."""
        if self._wrapper is not None:
            self._wrapper.add_tensor_filter(filter_name, tensor_filter)
        self._filters[filter_name] = tensor_filter

    def before_run(self, run_context: Any) -> SessionRunArgs:
        if self._wrapper is None:
            self._wrapper = LocalCLIDebugWrapperSession(run_context.session, *self._arguments)
            for name, test in self._filters.items():
                self._wrapper.add_tensor_filter(name, test)
        wrapper, asked = self._wrapper, run_context.original_args
        wrapper.run_call_count += 1
        looks = wrapper.is_debugged_here() and wrapper.prompt.before_run(
            wrapper.run_call_count, asked.fetches, asked.feed_dict
        )
        if not looks:
            return SessionRunArgs(None, None, RunOptions())
        self._folder = wrapper.dumping()
        self._root = self._folder.__enter__()
        return SessionRunArgs(None, None, wrapper.options_for(asked.fetches, asked.feed_dict, self._root))

    def after_run(self, run_context: Any, run_values: Any) -> None:
        if self._folder is not None and self._wrapper is not None:
            folder, self._folder = self._folder, None
            try:
                self._wrapper.show(self._root)
            finally:
                folder.__exit__()
