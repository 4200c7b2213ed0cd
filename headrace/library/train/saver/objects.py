"""Saving and restoring the objects that a root holds: `tf.train.Checkpoint` and the weights of Keras models.

A restored checkpoint is also for what is made later: where ops run eagerly, a layer that is built and a slot that an optimizer
makes get their values then (`objects_changed`); in a graph, when a session restores.
"""

from __future__ import annotations

import os
import weakref
from collections.abc import Callable
from typing import Any

import numpy as np

from headrace.client.session import Session
from headrace.core.source import at
from headrace.graph import context, raw_ops
from headrace.graph.convert import constant
from headrace.graph.graph import Graph
from headrace.library.scope import init_scope
from headrace.library.state.values import as_value, load_values
from headrace.library.state.variable import Variable
from headrace.library.train.saver import object_graph
from headrace.library.train.saver.object_graph import Found, Match
from headrace.library.train.saver.reader import CheckpointReader, load_checkpoint


class _Process:
    session: Callable[[], Any] | None = None  # gives the session of those who have none
    waiting: weakref.WeakSet[Restoration]


def use_session(provider: Callable[[], Any]) -> None:
    """From here on checkpoints ask this function for a session where there is no default session: Keras has one."""
    _Process.session = provider


def session_of(session: Any) -> Any:
    """The session, or the default one, or Keras's."""
    session = session or context.get_default_session()
    if session is not None:
        return session
    if _Process.session is None:
        raise RuntimeError(
            "a checkpoint of a graph's objects is saved and restored in a session: pass one, or use `with tf.Session():` "
            f"{at()}"
        )
    return _Process.session()


# ---- saving


def save(root: Any, prefix: str, session: Any = None) -> None:
    """Writes what the root holds as the checkpoint ``prefix``."""
    message, holders = object_graph.to_message(object_graph.walk(root))
    arrays = _values(holders, session)
    arrays[object_graph.OBJECT_GRAPH] = np.array(message.SerializeToString(), dtype=object)
    folder = os.path.dirname(prefix)
    if folder:
        os.makedirs(folder, exist_ok=True)
    with Graph().as_default() as graph, Session(graph=graph) as own:
        names = list(arrays)
        tensors = [constant(arrays[name]) for name in names]
        own.run(raw_ops.SaveV2(prefix, names, [""] * len(names), tensors))


def _values(holders: dict[str, Any], session: Any) -> dict[str, Any]:
    variables = {key: holder for key, holder in holders.items() if isinstance(holder, Variable)}
    arrays = {
        key: np.array(holder._checkpoint_state(), dtype=object)
        for key, holder in holders.items()
        if key not in variables
    }
    eager = {key: variable for key, variable in variables.items() if variable.graph.executing_eagerly}
    arrays.update({key: variable.numpy() for key, variable in eager.items()})
    graphs = {key: variable for key, variable in variables.items() if key not in eager}
    if graphs:
        arrays.update(session_of(session).run(graphs))
    return arrays


# ---- restoring


class Restoration:
    """A checkpoint on its way into the objects of a root."""

    def __init__(self, root: Any, prefix: str) -> None:
        self.prefix = prefix
        self.reader: CheckpointReader = load_checkpoint(prefix)
        self.message: Any = None
        if self.reader.has_tensor(object_graph.OBJECT_GRAPH):
            self.message = object_graph.from_bytes(self.reader.get_tensor(object_graph.OBJECT_GRAPH))
        self._root = weakref.ref(root)
        self._done: weakref.WeakSet[Any] = weakref.WeakSet()  # what has its value, where ops run eagerly

    @property
    def root(self) -> Any:
        """The object that the checkpoint is for; an error once that is gone."""
        root = self._root()
        if root is None:
            raise RuntimeError(f"the object into which {self.prefix!r} was restored is gone {at()}")
        return root

    def match(self) -> Match:
        """The objects of now beside the checkpoint's."""
        return Match(self.root, self.message)

    def restore_eagerly(self) -> bool:
        """Gives values to the eager variables and the states that have none from here yet; whether anything is left."""
        if self._root() is None:
            return False
        match = self.match()
        with init_scope():
            for found in match.found.values():
                if found.holder in self._done or _in_a_graph(found.holder):
                    continue
                self._done.add(found.holder)
                self._give(found)
        return bool(match.unused())

    def wait(self) -> None:
        """From here on, objects that come to be get their values."""
        _Process.waiting.add(self)

    def in_a_graph(self) -> list[Found]:
        """The variables of graphs that the checkpoint has a value for."""
        return [found for found in self.match().found.values() if _in_a_graph(found.holder)]

    def _give(self, found: Found) -> None:
        if isinstance(found.holder, Variable):
            found.holder.assign(as_value(found.holder, self.value(found)))
        else:
            found.holder._restore_checkpoint_state(self.value(found))

    def value(self, found: Found) -> Any:
        """The value of an object in the checkpoint; an error if it is not there or does not fit."""
        shapes = self.reader.get_variable_to_shape_map()
        if found.key not in shapes:
            raise ValueError(
                f"the checkpoint {self.prefix!r} says that {found.shown} is in {found.key!r}, which it lacks {at()}"
            )
        if isinstance(found.holder, Variable) and not found.holder.shape.is_compatible_with(shapes[found.key]):
            raise ValueError(
                f"{found.shown} ({found.holder.name}) has shape {found.holder.shape}, but {found.key!r} of the checkpoint "
                f"{self.prefix!r} has {shapes[found.key]} {at()}"
            )
        return self.reader.get_tensor(found.key)

    def load(self, session: Any) -> None:
        """Gives values to the variables of a graph, in a session, and to states that have none from here yet."""
        match = self.match()
        every = match.found.values()
        pairs = [
            (found.holder, as_value(found.holder, self.value(found))) for found in every if _in_a_graph(found.holder)
        ]
        for found in every:
            if not isinstance(found.holder, Variable) and found.holder not in self._done:
                self._give(found)
        if pairs:
            load_values(session_of(session), pairs)


_Process.waiting = weakref.WeakSet()


def objects_changed() -> None:
    """Layers, slots or attributes were made: checkpoints restored before have values for them, perhaps."""
    for restoration in list(_Process.waiting):
        if not restoration.restore_eagerly():
            _Process.waiting.discard(restoration)


def _in_a_graph(holder: Any) -> bool:
    return isinstance(holder, Variable) and not holder.graph.executing_eagerly
