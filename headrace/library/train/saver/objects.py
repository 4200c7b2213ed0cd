"""Saving and restoring the objects that a root holds: `tf.train.Checkpoint` and the weights of Keras models.

A restored checkpoint is also for what is made later: where ops run eagerly, a layer that is built and a slot that an optimizer
makes get their values then (`objects_changed`); in a graph, when a session restores.
"""

from __future__ import annotations

import os
import weakref
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

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
from headrace.library.train.saver.by_identity import ByIdentity
from headrace.library.train.saver.object_graph import Found, Match, Object, Start
from headrace.library.train.saver.reader import CheckpointReader, load_checkpoint


class _Process:
    session: Callable[[], Any] | None = None  # gives the session of those who have none
    waiting: dict[Restoration, None]  # in the order of their restores, so that the latest gives its values last


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


class _Place(NamedTuple):
    """Where an object of the program is in a checkpoint."""

    place: int
    path: tuple[str, ...]


class Restoration:
    """A checkpoint on its way into the objects of a root.

    Where ops run eagerly it waits for what the program makes later, as long as one of the objects lives that it has found a
    place for; it keeps none of them alive, nor need the program keep it.  What changes is looked at from its place, so that a
    model of many layers is not walked for each of them; an object without a place has the whole walked.
    """

    def __init__(self, root: Any, prefix: str) -> None:
        self.prefix = prefix
        self.reader: CheckpointReader = load_checkpoint(prefix)
        self.message: Any = None
        if self.reader.has_tensor(object_graph.OBJECT_GRAPH):
            self.message = object_graph.from_bytes(self.reader.get_tensor(object_graph.OBJECT_GRAPH))
            self._saved = object_graph.SavedGraph(self.message)
        self._root = weakref.ref(root)
        self._done: weakref.WeakSet[Any] = weakref.WeakSet()  # what has its value, where ops run eagerly
        self._taken: set[str] = set()  # the keys of their values
        self._places: ByIdentity[_Place] = ByIdentity(self._stop)
        self._optimizers: ByIdentity[_Place] = ByIdentity()  # those of the objects with a place that keep slots
        self._strangers: ByIdentity[bool] = ByIdentity()  # optimizers and variables that were looked for in vain

    @property
    def root(self) -> Any:
        """The object that the checkpoint is for; an error once that is gone."""
        root = self._root()
        if root is None:
            raise RuntimeError(f"the object into which {self.prefix!r} was restored is gone {at()}")
        return root

    def match(self) -> Match:
        """The objects of now beside the checkpoint's."""
        return Match([Start(self.root, 0, ())], self._saved)

    def restore_eagerly(self) -> bool:
        """Gives values to the eager variables and the states that have none from here yet; whether anything is left."""
        root = self._root()
        starts = [Start(root, 0, ())] if root is not None else self._starts(self._places)
        return self._restore(Match(starts, self._saved))

    def follow(self, changed: Sequence[Any]) -> bool:
        """Does so below objects that have changed; whether anything is left."""
        if all(one in self._places for one in changed):
            changes = ByIdentity[_Place]()
            for one in changed:
                changes[one] = self._places[one]
            for start in self._starts(self._optimizers):
                changes[start.value] = _Place(start.place, start.path)
            return self._restore(Match(self._starts(changes), self._saved))
        unknown = [one for one in changed if one not in self._places]
        if any(one in self._strangers for one in unknown):
            return True
        left = self.restore_eagerly()
        if len(changed) > 1:  # an optimizer and its variable: there will be more of the same
            for one in unknown:
                if one not in self._places:
                    self._strangers[one] = True
        return left

    def wait(self) -> None:
        """From here on, objects that come to be get their values; those of earlier checkpoints only where this has none."""
        for other in list(_Process.waiting):
            for start in self._starts(self._places):
                other.leave(start.value)
        _Process.waiting[self] = None

    def leave(self, value: Any) -> None:
        """Forgets the place of an object."""
        self._places.pop(value)
        self._optimizers.pop(value)

    def _stop(self) -> None:
        _Process.waiting.pop(self, None)

    @staticmethod
    def _starts(places: ByIdentity[_Place]) -> list[Start]:
        return [Start(value, *place) for value, place in places.items()]

    def _restore(self, match: Match) -> bool:
        with init_scope():
            for found in match.found.values():
                if found.holder in self._done or _in_a_graph(found.holder):
                    continue
                self._done.add(found.holder)
                self._give(found)
        self._taken.update(found.key for found in match.found.values())
        for one in match.placed():
            if one.value not in self._places and _is_settled(one):
                self._places[one.value] = place = _Place(match.places[one.number], one.path)
                if hasattr(type(one.value), "_checkpoint_slots"):
                    self._optimizers[one.value] = place
        return not self._saved.keys <= self._taken

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
        if not self.reader.has_tensor(found.key):
            raise ValueError(
                f"the checkpoint {self.prefix!r} says that {found.shown} is in {found.key!r}, which it lacks {at()}"
            )
        if isinstance(found.holder, Variable):
            shape = self.reader.get_shape(found.key)
            if not found.holder.shape.is_compatible_with(shape):
                raise ValueError(
                    f"{found.shown} ({found.holder.name}) has shape {found.holder.shape}, but {found.key!r} of the checkpoint "
                    f"{self.prefix!r} has {shape} {at()}"
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


_Process.waiting = {}


def objects_changed(*changed: Any) -> None:
    """These objects hold more than before, or an optimizer has made a slot beside a variable: an optimizer and a variable.

    Checkpoints restored before have values for it, perhaps.
    """
    for restoration in list(_Process.waiting):
        if not restoration.follow(changed):
            _Process.waiting.pop(restoration, None)


def _is_settled(one: Object) -> bool:
    """Whether the object keeps its place: a layer that its model calls by a number has another name once it has weights."""
    return getattr(one.value, "built", True) or not one.path or not one.path[-1].startswith("layer-")


def _in_a_graph(holder: Any) -> bool:
    return isinstance(holder, Variable) and not holder.graph.executing_eagerly
