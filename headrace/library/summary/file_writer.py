"""FileWriter: summaries, graphs and metadata of steps as events in a file; FileWriterCache: one writer for each folder."""

from __future__ import annotations

import threading
import time
import warnings
from collections.abc import Callable
from typing import Any

from headrace.core import event
from headrace.core.proto import protos
from headrace.graph import context
from headrace.graph.graph import Graph
from headrace.library import log
from headrace.library.summary.session_event_writer import SessionEventWriter
from headrace.resources.file.event_file import EventFileWriter

_meta_graphs: list[Callable[..., Any]] = []


def set_meta_graph_maker(make: Callable[..., Any]) -> None:
    """Sets what makes a MetaGraphDef of a ``graph_def`` and its ``graph``: a room above this one knows how."""
    _meta_graphs[:] = [make]


class FileWriter:
    """Writes summaries to an event file in ``logdir``, which TensorBoard reads, without holding up the program.

    ``with tf.summary.FileWriter(logdir, sess.graph) as writer: writer.add_summary(sess.run(merged), step)``

    A thread writes: up to ``max_queue`` events wait for it.  They are on disk after `flush` and `close`, and every ``flush_secs``
    seconds.  ``graph`` is added as by `add_graph`, and as a MetaGraphDef with its collections.  The file is made when the first
    event is added.
    With a ``session``, events go to the file that the nodes of ``tf.contrib.summary`` write to in this folder.

    Args:
      logdir: The folder; it is made if it is not there.
      graph: A `tf.Graph` to write; None for none.
      max_queue: How many events may wait for the thread that writes.
      flush_secs: Seconds between two writes to the disk.
      graph_def: A GraphDef to write in place of `graph`; deprecated by TensorFlow.
      filename_suffix: What the name of the file ends with.
      session: A session, for events through the nodes of ``tf.contrib.summary``; None to write from this process.

    Example: ``writer = tf.summary.FileWriter("/tmp/model", graph=sess.graph)``
    """

    def __init__(
        self, logdir: Any, graph: Any = None, max_queue: int = 10, flush_secs: float = 120, graph_def: Any = None,
        filename_suffix: str | None = None, session: Any = None,
    ) -> None:  # fmt: skip
        if context.executing_eagerly():
            raise RuntimeError(
                "tf.summary.FileWriter is not compatible with eager execution: it needs a graph "
                "(`with tf.Graph().as_default():`)"
            )
        self.event_writer: EventFileWriter | SessionEventWriter
        if session is None:
            self.event_writer = EventFileWriter(logdir, max_queue, flush_secs, filename_suffix)
        else:
            self.event_writer = SessionEventWriter(session, logdir, max_queue, flush_secs, filename_suffix)
        self._closed = False
        self._metadata_tags: set[str] = set()
        self._seen_summary_tags: set[bytes] = set()
        if graph is not None or graph_def is not None:
            definition = self._add_graph(graph, None, graph_def)
            own = graph if isinstance(graph, Graph) else None
            self.add_meta_graph(_meta_graphs[0](graph_def=definition, graph=own))

    def __enter__(self) -> FileWriter:
        return self

    def __exit__(self, *error: Any) -> None:
        self.close()

    def get_logdir(self) -> str:
        """The folder of the event file."""
        return self.event_writer.get_logdir()

    # ---- what can be added

    def add_summary(self, summary: Any, global_step: Any = None) -> None:
        """Adds a summary: what a summary node gave, or a ``tf.Summary``.

        Metadata of a tag are written once, with its first value.
        """
        if not isinstance(summary, bytes):
            if not isinstance(summary, protos().Summary):
                raise TypeError(
                    f"add_summary takes what a summary op gives (bytes) or a tf.Summary, got {summary!r} of type "
                    f"{type(summary).__name__}"
                )
            summary = summary.SerializeToString()
        try:
            summary = event.with_new_metadata(summary, self._seen_summary_tags)
        except ValueError as error:
            raise ValueError(f"add_summary got bytes that are no Summary: {error}") from None
        self._add(event.SUMMARY, summary, global_step)

    def add_graph(self, graph: Any, global_step: Any = None, graph_def: Any = None) -> None:
        """Adds a graph, with the shapes of its tensors.  ``graph_def``, or a GraphDef as ``graph``, is deprecated."""
        self._add_graph(graph, global_step, graph_def)

    def _add_graph(self, graph: Any, global_step: Any, graph_def: Any) -> Any:
        if graph is not None and graph_def is not None:
            raise ValueError("Please pass only graph, or graph_def (deprecated), but not both.")
        graph = graph_def if graph is None else graph
        if isinstance(graph, Graph):
            graph = graph.as_graph_def(add_shapes=True)
        elif isinstance(graph, protos().GraphDef):
            log.warning(
                "Passing a `GraphDef` to the SummaryWriter is deprecated. Pass a `Graph` object instead, such as `sess.graph`."
            )
        else:
            raise TypeError(
                "The passed graph must be an instance of `Graph` or the deprecated `GraphDef`, got "
                f"{graph!r} of type {type(graph).__name__}"
            )
        self._add(event.GRAPH_DEF, graph.SerializeToString(), global_step)
        return graph

    def add_meta_graph(self, meta_graph_def: Any, global_step: Any = None) -> None:
        """Adds a MetaGraphDef."""
        if not isinstance(meta_graph_def, protos().MetaGraphDef):
            raise TypeError(f"meta_graph_def must be type MetaGraphDef, saw type: {type(meta_graph_def)}")
        self._add(event.META_GRAPH, meta_graph_def.SerializeToString(), global_step)

    def add_run_metadata(self, run_metadata: Any, tag: str, global_step: Any = None) -> None:
        """Adds the metadata of one step (``tf.RunMetadata``) under a tag that was not used for metadata before."""
        if tag in self._metadata_tags:
            raise ValueError(f"The provided tag was already used for this event type: {tag!r}")
        encoded = event.tagged_run_metadata(tag.encode(), run_metadata.SerializeToString())
        self._metadata_tags.add(tag)
        self._add(event.RUN_METADATA, encoded, global_step)

    def add_session_log(self, session_log: Any, global_step: Any = None) -> None:
        """Adds a ``tf.SessionLog``: a session began, or wrote a checkpoint, or ended."""
        if not isinstance(session_log, protos().SessionLog):
            raise TypeError(f"add_session_log takes a tf.SessionLog, got {session_log!r}")
        self._add(event.SESSION_LOG, session_log.SerializeToString(), global_step)

    def add_event(self, event: Any) -> None:
        """Adds a ``tf.Event`` as it is."""
        self._warn_if_closed()
        self.event_writer.add_event(event)

    def _add(self, number: int, payload: bytes, global_step: Any) -> None:
        self._warn_if_closed(stacklevel=4)
        step = None if global_step is None else int(global_step)
        self.event_writer.add_encoded(event.event(time.time(), step, number, payload))

    # ---- the file

    def flush(self) -> None:
        """Returns when all that was added is on disk."""
        self._warn_if_closed()
        self.event_writer.flush()

    def close(self) -> None:
        """Writes what was added and closes the file."""
        self.event_writer.close()
        self._closed = True

    def reopen(self) -> None:
        """After `close`: goes on in a new file of the same folder.  Does nothing otherwise."""
        self.event_writer.reopen()
        self._closed = False

    def _warn_if_closed(self, stacklevel: int = 3) -> None:
        if self._closed:
            warnings.warn(
                "Attempting to use a closed FileWriter. The operation will be a noop unless the FileWriter is explicitly "
                "reopened.",
                stacklevel=stacklevel,
            )


class FileWriterCache:
    """One writer for each folder.

    Example: ``tf.summary.FileWriterCache.get("/tmp/model").add_summary(summary, global_step)``
    """

    _cache: dict[Any, FileWriter] = {}
    _lock = threading.RLock()

    @staticmethod
    def clear() -> None:
        """Closes and forgets all writers."""
        with FileWriterCache._lock:
            for writer in FileWriterCache._cache.values():
                writer.close()
            FileWriterCache._cache.clear()

    @staticmethod
    def get(logdir: Any) -> FileWriter:
        """The writer of a folder; a new one gets the default graph."""
        with FileWriterCache._lock:
            if logdir not in FileWriterCache._cache:
                FileWriterCache._cache[logdir] = FileWriter(logdir, graph=context.get_default_graph())
            return FileWriterCache._cache[logdir]
