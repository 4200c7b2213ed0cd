"""Writers of event files that belong to a graph: nodes write to them, under conditions (``tf.contrib.summary``).

Owns which writer is the default one and whether summaries are recorded, for each thread.  The summaries themselves are in
`library.contrib.summary`.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from headrace.core import dtypes
from headrace.core.proto import protos
from headrace.core.source import at
from headrace.graph import context, raw_ops
from headrace.graph.convert import constant
from headrace.graph.graph import Graph
from headrace.library.control.dependency import no_op
from headrace.library.scope import add_to_collection, control_dependencies, device, get_collection
from headrace.library.tensor.creation import placeholder

_INITIALIZERS = "_SUMMARY_WRITER_V2"  # TensorFlow's names of collections
SUMMARIES = "_SUMMARY_V2"


class _State(threading.local):
    writer: SummaryWriter | None = None
    recording: Any = None  # None: never asked for; else a bool, a bool tensor, or what gives one


state = _State()


class SummaryWriter:
    """An event file that nodes write to.  In a graph, `init`, `flush` and `close` are operations to run; eagerly they happen.

    `tf.contrib.summary.create_file_writer` makes them.

    Args:
      handle: The tensor that stands for the file.
      *settings: The folder, the number of events that may wait, milliseconds between two flushes, and the file's suffix.

    Example: ``writer = tf.contrib.summary.create_file_writer("/tmp/model")``
    """

    def __init__(self, handle: Any, *settings: Any) -> None:
        self.handle = handle
        self._settings = settings
        initializer = self.init()
        if not context.executing_eagerly():
            add_to_collection(_INITIALIZERS, initializer)

    def init(self) -> Any:
        """Opens the file."""
        with device("cpu:0"):
            return raw_ops.CreateSummaryFileWriter(self.handle, *self._settings)

    def flush(self) -> Any:
        """Writes to disk what was added."""
        with device("cpu:0"):
            return raw_ops.FlushSummaryWriter(self.handle)

    def close(self) -> Any:
        """Writes what was added and closes the file."""
        with control_dependencies([self.flush()]), device("cpu:0"):
            return raw_ops.CloseSummaryWriter(self.handle)

    def set_as_default(self) -> None:
        """Makes this the writer of the summaries that this thread makes from now on."""
        state.writer = self

    @contextmanager
    def as_default(self) -> Iterator[SummaryWriter]:
        """Makes this the writer of the summaries that this thread makes in a ``with`` block."""
        previous, state.writer = state.writer, self
        try:
            yield self
            self.flush()
        finally:
            state.writer = previous


class _NoWriter(SummaryWriter):
    """Stands for a writer where no summaries are wanted."""

    def __init__(self) -> None:
        pass

    def init(self) -> None:
        pass

    flush = close = set_as_default = init

    @contextmanager
    def as_default(self) -> Iterator[None]:  # type: ignore[override]
        yield


def create_file_writer(
    logdir: Any, max_queue: Any = None, flush_millis: Any = None, filename_suffix: Any = None, name: str | None = None
) -> SummaryWriter:
    """A writer to an event file in a folder; one that does nothing if ``logdir`` is None.

    Writers with one ``name`` (by default the folder's) share a file.

    Args:
      logdir: The folder; None for a writer that writes nothing.
      max_queue: How many events may wait before they are written; None for 10.
      flush_millis: Milliseconds between two flushes; None for 120,000.
      filename_suffix: What the name of the file ends with; None for ".v2".
      name: What writers of one file have in common; None for the folder.

    Returns:
      A `tf.contrib.summary.SummaryWriter`.

    Example: ``with tf.contrib.summary.create_file_writer("/tmp/model").as_default(): ...``
    """
    if logdir is None:
        return _NoWriter()
    logdir = os.fspath(logdir)
    with device("cpu:0"):
        settings = (
            constant(10) if max_queue is None else max_queue,
            constant(120_000) if flush_millis is None else flush_millis,
            constant(".v2") if filename_suffix is None else filename_suffix,
        )
        handle = raw_ops.SummaryWriter(shared_name=f"logdir:{logdir}" if name is None else name)
        return SummaryWriter(handle, logdir, *settings)


def flush(writer: Any = None, name: str | None = None) -> Any:
    """Writes to disk what was added to a writer; by default, to the default one.

    Args:
      writer: A `tf.contrib.summary.SummaryWriter` or its handle; None for the default one.
      name: A name for the op; only with a handle.

    Returns:
      An operation; in eager execution it has already been done.

    Example: ``sess.run(tf.contrib.summary.flush())``
    """
    writer = state.writer if writer is None else writer
    if writer is None:
        return no_op()
    if isinstance(writer, SummaryWriter):
        return writer.flush()
    with device("cpu:0"):
        return raw_ops.FlushSummaryWriter(writer, name=name)


def import_event(tensor: Any, name: str | None = None) -> Any:
    """Writes an encoded ``tf.Event`` to the default writer, whether summaries are recorded or not.

    Args:
      tensor: A scalar string tensor, an encoded ``tf.Event``.
      name: A name for the op.

    Returns:
      An operation.

    Example: ``tf.contrib.summary.import_event(tf.constant(event.SerializeToString()))``
    """
    return raw_ops.ImportEvent(_default_writer().handle, tensor, name=name)


def _default_writer() -> SummaryWriter:
    if state.writer is None:
        raise RuntimeError(f"No default tf.contrib.summary.SummaryWriter found: make one the default one first {at()}")
    return state.writer


# ---- running them in a graph


def summary_writer_initializer_op() -> list[Any]:
    """The operations that open the files of all writers of the graph.

    Returns:
      A list of operations; RuntimeError in eager execution.

    >>> tf.contrib.summary.summary_writer_initializer_op()
    []
    """
    if context.executing_eagerly():
        raise RuntimeError(f"tf.contrib.summary.summary_writer_initializer_op is only supported in graph mode. {at()}")
    return get_collection(_INITIALIZERS)


def all_v2_summary_ops() -> list[Any] | None:
    """The nodes that write summaries in the default graph; None if ops run eagerly.

    Returns:
      A list of operations, or None.

    >>> tf.summary.all_v2_summary_ops()
    []
    """
    return None if context.executing_eagerly() else get_collection(SUMMARIES)


def initialize(graph: Any = None, session: Any = None) -> None:
    """Opens the files of the graph's writers, and writes ``graph`` (a Graph or a GraphDef) to the default one.

    Does nothing if ops run eagerly.

    Args:
      graph: A graph to write; None for none.
      session: The session to run in; None for the default session.

    Example: ``tf.contrib.summary.initialize(graph=tf.get_default_graph(), session=sess)``
    """
    if context.executing_eagerly():
        return
    writer = _default_writer()
    session = context.get_default_session() if session is None else session
    if session is None:
        raise ValueError(f"Argument `session` must be passed if no default session exists {at()}")
    session.run(summary_writer_initializer_op())
    if graph is not None:
        encoded = placeholder(dtypes.string)
        with device("cpu:0"):
            write = raw_ops.WriteGraphSummary(writer.handle, 0, encoded)
        session.run(write, {encoded: serialized_graph(graph)})


def serialized_graph(graph: Any) -> bytes:
    """The bytes of a Graph, with its shapes, or of a GraphDef."""
    if isinstance(graph, Graph):
        graph = graph.as_graph_def(add_shapes=True)
    if not isinstance(graph, protos().GraphDef):
        raise TypeError(f"a graph must be a tf.Graph or a tf.GraphDef, got {graph!r} {at()}")
    return bytes(graph.SerializeToString())
