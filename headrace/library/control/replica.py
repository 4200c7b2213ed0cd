"""Which distribution strategy, and which replica of it, the code of this thread builds for.

`headrace.library.distribute` enters and leaves modes; optimizers and variables, which know no strategy, ask here.  As in TF1 a
mode belongs to a graph: another graph entered inside has none.
"""

from __future__ import annotations

import contextvars
import enum
import inspect
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from headrace.core.source import at
from headrace.graph import context
from headrace.graph.graph import Graph


class ReduceOp(enum.Enum):
    """How the values of several replicas become one.

    Args:
      value: "SUM" or "MEAN".

    >>> tf.distribute.ReduceOp("SUM")
    <ReduceOp.SUM: 'SUM'>
    """

    __signature__ = inspect.Signature([inspect.Parameter("value", inspect.Parameter.POSITIONAL_OR_KEYWORD)])
    SUM = "SUM"
    MEAN = "MEAN"


class Distributed:
    """What has a tuple ``values``, with one for each replica of this process: values and variables."""

    @property
    def values(self) -> tuple[Any, ...]:
        """The values, in the order of the replicas."""
        raise NotImplementedError


class Copies(Distributed):
    """Values of which each replica, or each update of a copy, gets its own."""

    def __init__(self, values: Sequence[Any]) -> None:
        self._values = tuple(values)

    @property
    def values(self) -> tuple[Any, ...]:
        """The values, in the order of the replicas."""
        return self._values


@dataclass(frozen=True, slots=True)
class Mode:
    """One scope: a strategy's code that sees all replicas, that of one replica, or an update of one copy of a variable.

    ``replica`` is the ReplicaContext, None where the code is for all.  ``copy`` says whose copies of variables are read and
    changed: the number of a replica of this process, or in an update that of a copy; None for none in particular.
    """

    strategy: Any
    replica: Any = None
    copy: int | None = None

    @property
    def crosses(self) -> bool:
        """Whether the code is for all replicas."""
        return self.replica is None


_modes: contextvars.ContextVar[tuple[tuple[Graph, Mode], ...]] = contextvars.ContextVar("headrace_modes", default=())


def _root() -> Graph:
    graph = context.get_default_graph()
    return getattr(graph, "root", graph)


def current() -> Mode | None:
    """The innermost mode of the default graph; None outside of every strategy."""
    modes = _modes.get()
    if not modes:
        return None
    root = _root()
    return next((mode for graph, mode in reversed(modes) if graph is root), None)


def enter(mode: Mode) -> None:
    """Begins a mode of the default graph."""
    _modes.set((*_modes.get(), (_root(), mode)))


def leave(mode: Mode) -> None:
    """Ends the mode, which must be the innermost."""
    modes = _modes.get()
    if not modes or modes[-1][1] is not mode:
        raise RuntimeError(
            "Scopes of a tf.distribute.Strategy are left in an order other than the reverse of that of entering"
        )
    _modes.set(modes[:-1])


@contextmanager
def mode_scope(mode: Mode) -> Iterator[Mode]:
    """Inside, `current` gives the mode."""
    enter(mode)
    try:
        yield mode
    finally:
        leave(mode)


@contextmanager
def outside() -> Iterator[None]:
    """Inside, the code is in the scope of no strategy, as if the program had left it."""
    modes = _modes.get()
    _modes.set(())
    try:
        yield
    finally:
        _modes.set(modes)


def replica_context(what: str) -> Any:
    """The context of the replica that is built here; None outside of strategies.

    Elsewhere in the scope of one ``what`` is refused.
    """
    mode = current()
    if mode is None or mode.strategy._is_default:
        return None
    if mode.replica is None:
        raise RuntimeError(
            f"{what} is called in the scope of a tf.distribute.Strategy outside of its replicas: call it in a function that "
            f"strategy.experimental_run_v2 runs {at()}"
        )
    return mode.replica


def local(variable: Any) -> Any:
    """The copy of a distributed variable that the code here is for; any other variable itself."""
    own = getattr(variable, "_local_copy", None)
    return variable if own is None else own()


def whole(variable: Any) -> Any:
    """The distributed variable that a copy belongs to; any other variable itself."""
    owner = getattr(variable, "_distributed", None)
    return variable if owner is None else owner


def first(variable: Any) -> Any:
    """The first copy of the distributed variable that this is, or is a copy of; any other variable itself."""
    owner = whole(variable)
    return owner.values[0] if isinstance(owner, Distributed) else owner


def beside(companion: Any, variable: Any) -> Any:
    """Of the copies of ``companion`` that beside ``variable``, which is a copy itself; else ``companion`` itself."""
    owner = whole(variable)
    if owner is variable or not isinstance(companion, Distributed):
        return companion
    return next(other for own, other in zip(owner.values, companion.values, strict=True) if own is variable)


# The last reduction of ``tf.losses`` in a graph, which says whether gradients of replicas are to be averaged.
_REDUCTION_KEY = ("__last_loss_reduction",)


def note_loss_reduction(reduction: str) -> None:
    """Remembers how the last loss of the default graph was reduced."""
    context.get_default_graph().get_collection_ref(_REDUCTION_KEY)[:] = [reduction]


def loss_reduction() -> ReduceOp:
    """How the losses of replicas are combined: as a sum, except in an estimator, whose losses are means.

    An estimator's model function makes the loss of a part of the batch.  If the last loss that it made by `tf.losses` is no sum,
    the optimizer divides it by the number of replicas.

    Returns:
      A `tf.distribute.ReduceOp`.

    >>> tf.distribute.get_loss_reduction()
    <ReduceOp.SUM: 'SUM'>
    """
    mode = current()
    if mode is None or not mode.strategy._scales_loss:
        return ReduceOp.SUM
    noted = context.get_default_graph().get_collection_ref(_REDUCTION_KEY)
    return ReduceOp.SUM if noted in (["weighted_sum"], ["sum"]) else ReduceOp.MEAN
