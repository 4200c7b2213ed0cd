"""All global state of the front end: the default graph, the default session, and the stacks of each thread.

The stacks are context variables, the cheapest state of a thread that Python has: eager execution looks at one for every
op.  A new thread starts with empty ones.
"""

from __future__ import annotations

import contextvars
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from headrace.graph.graph import Graph


class _Stack:
    """A stack of defaults of one thread."""

    __slots__ = ("_items", "get")

    def __init__(self, name: str) -> None:
        self._items: contextvars.ContextVar[tuple[Any, ...]] = contextvars.ContextVar(name, default=())
        self.get = self._items.get

    @contextmanager
    def push(self, item: Any, what: str) -> Iterator[Any]:
        self._items.set((*self.get(), item))
        eager_tapes.set(None)
        try:
            yield item
        finally:
            items = self.get()
            eager_tapes.set(None)
            if not items or items[-1] is not item:
                self._items.set(tuple(x for x in items if x is not item))
                raise AssertionError(
                    f"Nesting violated for default stack of {what}: leave `with` blocks in the reverse order of entering"
                )
            self._items.set(items[:-1])


# What eager execution knows of this thread without asking: the tapes that watch, or None if it must ask whether ops run
# eagerly at all.  Whatever changes the answer forgets it (sets None); ``eager/tape_entry.py`` keeps it.
eager_tapes: contextvars.ContextVar[tuple[Any, ...] | None] = contextvars.ContextVar(
    "headrace_eager_tapes", default=None
)

_graphs = _Stack("headrace_graphs")
_sessions = _Stack("headrace_sessions")
_global: dict[str, Graph] = {}
_lock = threading.Lock()
_new_graph: list[Callable[[], Graph]] = []


def set_graph_factory(factory: Callable[[], Graph]) -> None:
    """Called once by the graph module: how to make the global default graph."""
    _new_graph[:] = [factory]


def get_default_graph() -> Graph:
    """The innermost graph entered with ``as_default`` in this thread, or the process's global default graph.

    Returns:
      A `tf.Graph`.

    >>> x = tf.constant(1.0)
    >>> x.graph is tf.get_default_graph()
    True
    """
    items = _graphs.get()
    if items:
        graph: Graph = items[-1]
        return graph
    graph_or_none = _global.get("eager") or _global.get("graph")
    if graph_or_none is None:
        with _lock:
            graph_or_none = _global.get("graph") or _new_graph[0]()
            _global["graph"] = graph_or_none
    return graph_or_none


def reset_default_graph() -> None:
    """Clears the global default graph; not allowed inside ``with graph.as_default()``.

    >>> x = tf.constant(1.0)
    >>> tf.reset_default_graph()
    >>> tf.get_default_graph().get_operations()
    []
    """
    if _graphs.get():
        raise AssertionError(
            "Do not use tf.reset_default_graph() to clear nested graphs. If you need a cleared graph, "
            "exit the nesting and create a new graph."
        )
    with _lock:
        _global.pop("graph", None)
    for forget in _resets:
        forget()


def default_graph_scope(graph: Graph) -> Any:
    return _graphs.push(graph, "graphs")


def inside_graph() -> bool:
    """Whether some graph was entered with ``as_default`` in this thread."""
    return bool(_graphs.get())


def global_graph() -> Graph | None:
    """The process's default graph if something was built in it."""
    return _global.get("graph")


_resets: list[Callable[[], None]] = []


def on_reset(forget: Callable[[], None]) -> None:
    """Something else to do when the default graph is reset."""
    _resets.append(forget)


def set_global_eager(graph: Graph | None) -> None:
    """What ops go to where no graph was entered: an eager context, or with None the default graph."""
    eager_tapes.set(None)
    if graph is None:
        _global.pop("eager", None)
    else:
        _global["eager"] = graph


def executing_eagerly() -> bool:
    """Whether ops run eagerly here instead of becoming nodes."""
    return get_default_graph().executing_eagerly


def get_default_session() -> Any:
    """The innermost session entered with ``as_default`` in this thread, or None.

    Returns:
      A session, or None.

    >>> with tf.Session() as sess:
    ...     tf.get_default_session() is sess
    True
    """
    sessions = _sessions.get()
    return sessions[-1] if sessions else None


def default_session_scope(session: Any) -> Any:
    return _sessions.push(session, "sessions")
