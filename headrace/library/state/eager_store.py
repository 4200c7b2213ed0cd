"""EagerVariableStore: keeps and shares the variables of ``get_variable`` and of functional layers while ops run eagerly."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from headrace.library.state.variable_scope import with_variable_store
from headrace.library.state.variable_store import VariableStore


class EagerVariableStore:
    """Variables by name for code that was written for graphs.

    store = EagerVariableStore()
    with store.as_default():
        y = tf.layers.dense(x, 10, name="out")  # the same variables in every such block

    Args:
      store: The variables to begin with, another store's; None for none.

    Example: ``store = tf.contrib.eager.EagerVariableStore()``
    """

    def __init__(self, store: VariableStore | None = None) -> None:
        self._store = store or VariableStore()
        self._store.keeps_eager = True

    @contextmanager
    def as_default(self) -> Iterator[None]:
        """``get_variable`` uses this store inside."""
        with with_variable_store(self._store):
            yield

    def variables(self) -> list[Any]:
        return sorted(self._store._vars.values(), key=lambda v: v.name)

    def trainable_variables(self) -> list[Any]:
        return [v for v in self.variables() if v.trainable]

    def non_trainable_variables(self) -> list[Any]:
        return [v for v in self.variables() if not v.trainable]
