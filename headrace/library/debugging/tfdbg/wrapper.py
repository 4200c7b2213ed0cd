"""Sessions that debug: one leaves the tensors of each run in files, one shows them."""

from __future__ import annotations

import os
import re
import shutil
import sys
import tempfile
import threading
import time
from collections.abc import Callable
from typing import Any

from headrace.client.session import BaseSession
from headrace.core.config import RunOptions
from headrace.core.source import at
from headrace.library.debugging.tfdbg.dump_dir import DebugDumpDir, has_inf_or_nan
from headrace.library.debugging.tfdbg.prompt import Prompt
from headrace.library.debugging.tfdbg.watch import WatchOptions, watch_graph


class DebugWrapperSession:
    """What both share: a session around another one, which it asks for files.

    Args:
      sess: The session to wrap.
      thread_name_filter: A pattern for the names of threads whose runs are debugged; None for all.

    Example: ``sess = tfdbg.LocalCLIDebugWrapperSession(tf.Session())``
    """

    def __init__(self, sess: Any, thread_name_filter: str | None = None) -> None:
        if not isinstance(sess, (BaseSession, DebugWrapperSession)) and not hasattr(sess, "run"):
            raise TypeError(f"Expected type tf.Session; got type {type(sess).__name__} {at()}")
        self._sess = sess
        self._threads = re.compile(thread_name_filter) if thread_name_filter else None
        self.run_call_count = 0
        self._default: list[Any] = []

    @property
    def session(self) -> Any:
        """The session that is wrapped."""
        return self._sess

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return getattr(self._sess, name)  # what is not here is the session's own

    def __enter__(self) -> DebugWrapperSession:
        graph, session = self._sess.graph.as_default(), self._sess.as_default()
        for scope in (graph, session):
            scope.__enter__()
        self._default.append((session, graph))
        return self

    def __exit__(self, *error: object) -> None:
        for scope in self._default.pop():
            scope.__exit__(*error)
        self._sess.close()

    def is_debugged_here(self) -> bool:
        """Whether runs of this thread are debugged."""
        return self._threads is None or bool(self._threads.match(threading.current_thread().name))

    def options_for(self, fetches: Any, feed_dict: Any, root: str, options: RunOptions | None = None) -> RunOptions:
        """Options with which a run leaves tensors under a folder."""
        merged = RunOptions()
        if options is not None:
            merged.CopyFrom(options)
        watch = self.watch_options(fetches, feed_dict)
        watch_graph(
            merged, self._sess.graph, watch.debug_ops, f"file://{os.path.abspath(root)}", watch.node_name_regex_whitelist,
            watch.op_type_regex_whitelist, watch.tensor_dtype_regex_whitelist,
        )  # fmt: skip
        return merged

    def watch_options(self, fetches: Any, feed_dict: Any) -> WatchOptions:
        """Which tensors."""
        return WatchOptions()


class DumpingDebugWrapperSession(DebugWrapperSession):
    """A session whose runs leave their tensors in files: ``<session_root>/run_<microseconds>_<number>`` each.

    ``watch_fn(fetches, feeds)`` may choose: it returns a `WatchOptions`.  Read the files by `DebugDumpDir`.

    Args:
      sess: The session to wrap.
      session_root: The folder for the files; it must be empty, or not there yet.
      watch_fn: A function of fetches and feeds that returns a `WatchOptions`; None to keep all tensors.
      thread_name_filter: A pattern for the names of threads whose runs are kept; None for all.
      pass_through_operrors: Accepted as TensorFlow does; errors of a step are always raised.
      log_usage: Accepted as TensorFlow does; it changes nothing.

    >>> from headrace.library.debugging import tfdbg
    >>> import os, tempfile
    >>> y = tf.negative(tf.constant([1.0, 2.0], name='x'), name='y')
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     sess = tfdbg.DumpingDebugWrapperSession(tf.Session(), folder)
    ...     result = sess.run(y)
    ...     (run,) = os.listdir(folder)
    ...     print(tfdbg.DebugDumpDir(os.path.join(folder, run)).get_tensors('y', 0, 'DebugIdentity'))
    [array([-1., -2.], dtype=float32)]
    """

    def __init__(
        self, sess: Any, session_root: str, watch_fn: Callable[..., WatchOptions] | None = None,
        thread_name_filter: str | None = None, pass_through_operrors: bool | None = None, log_usage: bool = True,
    ) -> None:  # fmt: skip
        super().__init__(sess, thread_name_filter)
        if watch_fn is not None and not callable(watch_fn):
            raise TypeError(f"watch_fn must be a function of fetches and feeds, got {watch_fn!r} {at()}")
        if os.path.isfile(session_root):
            raise ValueError(f"session_root path points to a file: {session_root} {at()}")
        if os.path.isdir(session_root) and os.listdir(session_root):
            raise ValueError(f"session_root path points to a non-empty directory: {session_root} {at()}")
        os.makedirs(session_root, exist_ok=True)
        self._root = session_root
        self._watch_fn = watch_fn

    def watch_options(self, fetches: Any, feed_dict: Any) -> WatchOptions:
        return WatchOptions() if self._watch_fn is None else self._watch_fn(fetches, feed_dict)

    def next_root(self) -> str:
        """The folder of the next run."""
        self.run_call_count += 1
        return os.path.join(self._root, f"run_{time.time() * 1e6:.0f}_{self.run_call_count}")

    def run(self, fetches: Any, feed_dict: Any = None, options: Any = None, run_metadata: Any = None) -> Any:
        """Runs as the session does, and leaves the tensors in a new folder."""
        if self.is_debugged_here():
            options = self.options_for(fetches, feed_dict, self.next_root(), options)
        return self._sess.run(fetches, feed_dict, options, run_metadata)


class LocalCLIDebugWrapperSession(DebugWrapperSession):
    """A session that shows the tensors of its runs.

    On a terminal it asks before and after each run what to do (``run``, ``lt``, ``pt``, ``exit``; ``help`` lists all).  Without a
    terminal it prints, after each run, the tensors in a table and those that a filter has found, and goes on.

    Args:
      sess: The session to wrap.
      dump_root: The folder for the files, empty or not there yet; None for a temporary one.
      log_usage: Accepted as TensorFlow does; it changes nothing.
      ui_type: Accepted as TensorFlow does; it changes nothing.
      thread_name_filter: A pattern for the names of threads whose runs are shown; None for all.
      config_file_path: Accepted as TensorFlow does; it changes nothing.

    Example: ``sess = tfdbg.LocalCLIDebugWrapperSession(tf.Session())``
    """

    def __init__(
        self, sess: Any, dump_root: str | None = None, log_usage: bool = True, ui_type: str = "curses",
        thread_name_filter: str | None = None, config_file_path: str | None = None,
    ) -> None:  # fmt: skip
        super().__init__(sess, thread_name_filter)
        if dump_root is not None and os.path.isfile(dump_root):
            raise ValueError(f"dump_root path points to a file: {dump_root} {at()}")
        if dump_root is not None and os.path.isdir(dump_root) and os.listdir(dump_root):
            raise ValueError(f"dump_root path points to a non-empty directory: {dump_root} {at()}")
        self._dump_root = dump_root
        self._filters: dict[str, Callable[[Any, Any], bool]] = {"has_inf_or_nan": has_inf_or_nan}
        self.prompt = Prompt(self._filters, sys.stdin.isatty())

    def add_tensor_filter(self, filter_name: str, tensor_filter: Callable[[Any, Any], bool]) -> None:
        """Gives a name to a function ``(datum, tensor) -> bool``, for ``run -f`` and ``lt -f``."""
        if not callable(tensor_filter):
            raise TypeError(f"tensor_filter must be a function of a datum and an array, got {tensor_filter!r} {at()}")
        self._filters[filter_name] = tensor_filter

    def run(self, fetches: Any, feed_dict: Any = None, options: Any = None, run_metadata: Any = None) -> Any:
        """Runs as the session does, and shows the tensors."""
        self.run_call_count += 1
        if not self.is_debugged_here() or not self.prompt.before_run(self.run_call_count, fetches, feed_dict):
            return self._sess.run(fetches, feed_dict, options, run_metadata)
        with self.dumping() as root:
            debugged = self.options_for(fetches, feed_dict, root, options)
            result = self._sess.run(fetches, feed_dict, debugged, run_metadata)
            self.show(root)
        return result

    def dumping(self) -> Any:
        """A folder for one run, which is removed at the end."""
        return _Folder(self._dump_root)

    def show(self, root: str) -> None:
        """Shows what a run has left."""
        dump = DebugDumpDir(root)
        dump.set_python_graph(self._sess.graph)
        self.prompt.after_run(self.run_call_count, dump)


class _Folder:
    """A temporary folder, of this name if one is given."""

    def __init__(self, path: str | None) -> None:
        self._path = path

    def __enter__(self) -> str:
        self._made = self._path or tempfile.mkdtemp(prefix="tfdbg_")
        os.makedirs(self._made, exist_ok=True)
        return self._made

    def __exit__(self, *error: object) -> None:
        shutil.rmtree(self._made)
