"""Observed runs: what chosen tensors of a step were, wherever they are: in bodies, on other tasks."""

from __future__ import annotations

import itertools
import re
import threading
import uuid
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, Final, NamedTuple

from headrace.core.source import at
from headrace.core.table import Table
from headrace.core.tensor_proto import decode
from headrace.graph.graph import Graph
from headrace.graph.operation import Operation, Tensor
from headrace.passes.observe import Observe

SHOWN: Final = 100  # tensors of an observation that is printed
_PROCESS = uuid.uuid4().hex
_numbers = itertools.count(1)


class Observed(NamedTuple):
    """What one output of a node was, once.  ``when``: microseconds since 1970, by the clock of its task."""

    name: str
    op_type: str
    line: str
    device: str
    when: int
    value: Any


def read_observed(arrays: Sequence[Any]) -> list[Observed]:
    """What the tasks have sent, in the order it was computed."""
    rows = (row for array in arrays for row in array)
    found = []
    for name, op_type, line, device, when, value in rows:
        made = op_type.decode(), line.decode(), device.decode()
        found.append(Observed(name.decode(), *made, int(when), decode(value)[1]))
    return sorted(found, key=lambda one: one.when)


class Observation(NamedTuple):
    """What `Session.observe` gives: what ``run`` would, and every tensor that was observed, in the order of computing."""

    fetched: Any
    tensors: list[Observed]

    def __repr__(self) -> str:
        rows = [
            {"tensor": one.name, "op": one.op_type, "value": described(one.value), "line": one.line}
            for one in self.tensors[:SHOWN]
        ]
        more = len(self.tensors) - len(rows)
        return str(Table(f"{len(self.tensors)} tensors", rows, f"... and {more} more: see .tensors" if more else ""))


class Slot:
    """One request of a session whose steps are observed.  They run one at a time, so that what they give does not mix."""

    def __init__(self) -> None:
        self._number = next(_numbers)
        self._changes = 0
        self._lock = threading.Lock()

    def wish(self, patterns: tuple[str, ...], plain: bool = False, names: Iterable[str] = ()) -> Observe:
        return Observe(f"{_PROCESS}/{self._number}/{self._changes}", patterns, plain, frozenset(names))

    def run(self, execute: Callable[[Any], Any], feeds: Any, fetched: int) -> tuple[Any, list[Observed]]:
        """Runs a step; gives its fetches and what was observed.  After an error the key is another: tasks may keep rows."""
        with self._lock:
            try:
                results = execute(feeds)
            except BaseException:
                self._changes += 1
                raise
        return results[:fetched], read_observed(results[fetched:])


class Watches:
    """The watches of one session, and its requests that are observed.  Thread-safe."""

    def __init__(self) -> None:
        self._watches: tuple[Watch, ...] = ()
        self._slots: dict[Any, Slot] = {}
        self._lock = threading.Lock()

    def __bool__(self) -> bool:
        return bool(self._watches)

    def add(self, watch: Watch) -> None:
        with self._lock:
            self._watches += (watch,)

    def remove(self, watch: Watch) -> None:
        with self._lock:
            self._watches = tuple(one for one in self._watches if one is not watch)

    @property
    def patterns(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys(pattern for watch in self._watches for pattern in watch.patterns))

    def slot(self, request: Any) -> Slot:
        with self._lock:
            return self._slots.setdefault(request, Slot())

    def hear(self, seen: Sequence[Observed]) -> None:
        for watch in self._watches:
            watch.hear(seen)


class Watch:
    """What `Session.watch` returns: `stop` ends it; also a context manager that stops at its end."""

    def __init__(self, patterns: tuple[str, ...], every: int, tell: Callable[[Observed], object], end: Any) -> None:
        self.patterns = patterns
        self._match = Observe("", patterns)
        self._every = every
        self._tell = tell
        self._end = end
        self._runs = 0
        self._lock = threading.Lock()

    def stop(self) -> None:
        """Ends the watch."""
        self._end(self)

    def __enter__(self) -> Watch:
        return self

    def __exit__(self, *error: object) -> None:
        self.stop()

    def hear(self, seen: Sequence[Observed]) -> None:
        """Tells what it watches of a step, each time or each so many times."""
        mine = [one for one in seen if self._match.wants(one.name)]
        if not mine:
            return
        with self._lock:
            self._runs += 1
            due = (self._runs - 1) % self._every == 0
        if due:
            for one in mine:
                self._tell(one)


def patterns_of(graph: Graph, what: Any) -> tuple[str, ...]:
    """Tensors, variables, operations, names, or regular expressions over names, as patterns; each must fit something."""
    if isinstance(what, (list, tuple)):
        return tuple(pattern for one in what for pattern in patterns_of(graph, one))
    if isinstance(what, str):
        pattern = what
    elif isinstance(what, Operation):
        pattern = re.escape(what.name)
    else:
        given = what if isinstance(what, Tensor) else getattr(what, "handle", what)
        tensor = given if isinstance(given, Tensor) else graph.as_graph_element(given, allow_operation=False)
        if not _is_within(tensor.graph, graph):
            raise ValueError(f"{tensor.name} (made at {tensor.op.source}) is not in the graph of this session {at()}")
        if tensor.op.op_def.traits.handle:  # a variable: what steps read of it
            reads = [op for op in tensor.consumers() if op.op_def.traits.identity or op.op_def.traits.reads]
            pattern = "|".join(re.escape(op.name) for op in reads) or re.escape(tensor.name)
        else:
            pattern = re.escape(tensor.name)
    names = [f"{op.graph.prefix}{tensor.name}" for op in operations_within(graph) for tensor in op.outputs]
    try:
        wish = Observe("", (pattern,))
        fits = any(map(wish.wants, names))
    except re.error as e:
        raise ValueError(f"{what!r} is no regular expression: {e} {at()}") from None
    if not fits:
        few = ", ".join(names[:5])
        raise ValueError(
            f"no tensor of the graph is called {what!r}: give a tensor, an operation, a name, or a regular expression that "
            f"fits whole names, such as {few} {at()}"
        )
    return (pattern,)


def operations_within(graph: Graph) -> Iterator[Operation]:
    """The operations of a graph and of the bodies that they hold.

    Args:
      graph: The graph.

    Returns:
      An iterator over operations.

    >>> from headrace.client.observe import operations_within
    >>> x = tf.cond(tf.constant(True), lambda: tf.constant(1), lambda: tf.constant(2))
    >>> sum(op.type == 'Const' for op in operations_within(tf.get_default_graph()))
    3
    """
    seen: set[int] = set()
    waiting = [graph]
    while waiting:
        one = waiting.pop()
        for op in one.get_operations():
            yield op
            for value in op.attrs.values():
                body = getattr(value, "body", value)
                if isinstance(body, Graph) and id(body) not in seen:
                    seen.add(id(body))
                    waiting.append(body)


def _is_within(inner: Any, graph: Graph) -> bool:
    while inner is not None and inner is not graph:
        inner = getattr(inner, "outer_graph", None)
    return inner is graph


def described(value: Any) -> str:
    """A value in a line: its shape, and its numbers or their range.

    Args:
      value: A numpy array.

    Returns:
      A string.

    >>> from headrace.client.observe import described
    >>> described(np.array([[1.0, 2.0]], np.float32))
    'float32[1, 2] 1 2'
    """
    text = f"{value.dtype.name if value.dtype != object else 'string'}{list(value.shape)}"
    if value.size <= 4:
        return f"{text} {' '.join(map(_short, value.reshape(-1).tolist()))}".rstrip()
    if value.dtype.kind not in "fiu":
        return text
    import numpy as np

    finite = value[np.isfinite(value)]
    strange = int(np.isnan(value).sum()), int(np.isinf(value).sum())
    if finite.size:
        wide = finite.astype(np.float64)
        text += f" min {wide.min():.6g} max {wide.max():.6g} mean {wide.mean():.6g}"
    text += f" NaN {strange[0]}" if strange[0] else ""
    return text + (f" infinite {strange[1]}" if strange[1] else "")


def _short(value: Any) -> str:
    return f"{value:.6g}" if isinstance(value, float) else str(value)


def print_observed(one: Observed) -> None:
    """Prints a line on standard output."""
    print(f"{one.name} {described(one.value)}  ({one.op_type} at {one.line})")
