"""tf.CriticalSection: pieces of the graph that never run at the same time, in one step or in several."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any

from headrace.graph import context, raw_ops
from headrace.graph.operation import Operation, Tensor
from headrace.library import nest
from headrace.library.control.dependency import identity
from headrace.library.scope import control_dependencies, name_scope

_numbers = itertools.count()


class CriticalSection:
    """``section.execute(lambda: assign_next(v))``: whoever executes waits until the others are done.

    All sections of one ``shared_name`` exclude each other, also those of other sessions on the same server.  Without one, a
    section in a graph is known by its name.

    Args:
      name: A name for the section's nodes.
      shared_name: The name of the lock; None for one of this section's own.
      critical_section_def: Must be None: sections are not restored from protos.
      import_scope: Accepted for TensorFlow's sake; it has no effect.

    >>> v = tf.Variable(1)
    >>> section = tf.CriticalSection()
    >>> doubled = section.execute(lambda: tf.assign(v, v * 2))
    >>> with tf.Session() as sess:
    ...     sess.run(v.initializer)
    ...     print(sess.run(doubled))
    2
    """

    def __init__(
        self, name: str | None = None, shared_name: str | None = None, critical_section_def: Any = None,
        import_scope: str | None = None,
    ) -> None:  # fmt: skip
        if critical_section_def is not None:
            raise ValueError("critical_section_def is not supported.")
        with name_scope(name, "CriticalSection", []) as scope:
            shared = shared_name or (f"{name or 'section'}_{next(_numbers)}" if context.executing_eagerly() else scope)
            self._handle: Tensor = raw_ops.MutexV2(shared_name=shared)
        self._signature = shared

    @property
    def name(self) -> str:
        return self._handle.op.name

    def execute(self, fn: Callable[[], Any], exclusive_resource_access: bool = True, name: str | None = None) -> Any:
        """What ``fn`` returns; the nodes it makes run while no other execution of the section does."""
        with name_scope(name, "critical_section_execute", []):
            lock: Tensor = raw_ops.MutexLock(self._handle)
            with control_dependencies([lock]):
                returned = fn()
                flat = [_element(r) for r in nest.flatten(returned)] if returned is not None else []
            with control_dependencies([r for r in flat if r is not None]):
                unlocked: Operation = raw_ops.ConsumeMutexLock(lock)
            with control_dependencies([unlocked]):
                if returned is None:
                    return unlocked
                results = [identity(r) if isinstance(r, Tensor) else unlocked for r in flat]
            return nest.pack_sequence_as(returned, results)


def _element(value: Any) -> Any:
    """A tensor or an operation as it is, a variable's value."""
    return value if isinstance(value, (Tensor, Operation)) else identity(value)
