"""All global state of the front end: the default graph, the default session, and their thread-local stacks."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from headrace.graph.graph import Graph


class _Stack(threading.local):
    """A stack of defaults of one thread."""

    def __init__(self) -> None:
        self.items: list[Any] = []

    @contextmanager
    def push(self, item: Any, what: str) -> Iterator[Any]:
        self.items.append(item)
        try:
            yield item
        finally:
            if not self.items or self.items[-1] is not item:
                self.items[:] = [x for x in self.items if x is not item]
                raise AssertionError(
                    f"Nesting violated for default stack of {what}: leave `with` blocks in the reverse order of entering"
                )
            self.items.pop()


_graphs = _Stack()
_sessions = _Stack()
_global: dict[str, Graph] = {}
_lock = threading.Lock()
_new_graph: list[Callable[[], Graph]] = []


def set_graph_factory(factory: Callable[[], Graph]) -> None:
    """Called once by the graph module: how to make the global default graph."""
    _new_graph[:] = [factory]


def get_default_graph() -> Graph:
    """The innermost graph entered with ``as_default`` in this thread, or the process's global default graph."""
    items = _graphs.items
    if items:
        graph: Graph = items[-1]
        return graph
    graph_or_none = _global.get("graph")
    if graph_or_none is None:
        with _lock:
            graph_or_none = _global.get("graph") or _new_graph[0]()
            _global["graph"] = graph_or_none
    return graph_or_none


def reset_default_graph() -> None:
    """Clears the global default graph; not allowed inside ``with graph.as_default()``."""
    if _graphs.items:
        raise AssertionError(
            "Do not use tf.reset_default_graph() to clear nested graphs. If you need a cleared graph, "
            "exit the nesting and create a new graph."
        )
    with _lock:
        _global.pop("graph", None)


def default_graph_scope(graph: Graph) -> Any:
    return _graphs.push(graph, "graphs")


def get_default_session() -> Any:
    """The innermost session entered with ``as_default`` in this thread, or None."""
    return _sessions.items[-1] if _sessions.items else None


def default_session_scope(session: Any) -> Any:
    return _sessions.push(session, "sessions")
