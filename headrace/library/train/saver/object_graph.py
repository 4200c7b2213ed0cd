"""The objects that a checkpoint by objects holds: which there are, what they call each other, and the keys of their values.

An object takes part by one of these methods:

- ``_checkpoint_children()`` yields the names and the objects that it holds; variables, lists and dictionaries need none.
- ``_checkpoint_slots(variable)``, of an optimizer, gives the variables that it keeps beside one, by name.
- ``_checkpoint_make_child(name)`` gives a new object of that name, which a checkpoint has and the program not yet.
- ``_checkpoint_state()`` gives bytes that are not a variable's, and ``_restore_checkpoint_state(data)`` takes them back.

A message beside the values, the object graph, keeps the names.  Reading walks it together with the objects of the program, so
that names of variables do not matter.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from headrace.core import errors
from headrace.core.source import at
from headrace.library.state.variable import Variable

OBJECT_GRAPH = "_CHECKPOINTABLE_OBJECT_GRAPH"
VALUE = "VARIABLE_VALUE"
STATE = "py_state"
STATE_METHOD = "_restore_checkpoint_state"
_MOST_OBJECTS = 1_000_000


class Object:
    """An object of the graph: its number, the shortest way to it, and what it holds."""

    def __init__(self, value: Any, number: int, path: tuple[str, ...]) -> None:
        self.value, self.number, self.path = value, number, path
        self.children: list[tuple[str, int]] = []

    @property
    def shown(self) -> str:
        """How messages name it."""
        return ".".join(("root", *self.path))


class Found(NamedTuple):
    """A value of the program and where it is in a checkpoint."""

    holder: Any  # a variable, or an object with a state
    key: str
    shown: str


def is_trackable(value: Any) -> bool:
    """Whether the object takes part in checkpoints by objects."""
    if isinstance(value, (list, tuple, Mapping)) and not hasattr(type(value), "_checkpoint_children"):
        items = value.values() if isinstance(value, Mapping) else value
        return any(is_trackable(item) for item in items)
    return isinstance(value, Variable) or any(
        hasattr(type(value), method) for method in ("_checkpoint_children", "_checkpoint_state")
    )


def _children(value: Any) -> Iterator[tuple[str, Any]]:
    if isinstance(value, Variable):
        return
    if hasattr(type(value), "_checkpoint_children"):
        yield from value._checkpoint_children()
    elif isinstance(value, (list, tuple)):
        yield from ((str(i), item) for i, item in enumerate(value))
    elif isinstance(value, Mapping):
        yield from ((str(key), item) for key, item in value.items())


def walk(root: Any) -> list[Object]:
    """All objects that the root holds, the nearest first, each once."""
    return _walk([Object(root, 0, ())])


def _walk(starts: list[Object]) -> list[Object]:
    """The starts and all objects that they hold, the nearest first, each once."""
    objects = list(starts)
    numbers = {id(one.value): one.number for one in objects}
    waiting = deque(objects)
    while waiting:
        one = waiting.popleft()
        for name, value in _children(one.value):
            if not is_trackable(value):
                continue
            if id(value) not in numbers:
                numbers[id(value)] = len(objects)
                objects.append(Object(value, len(objects), (*one.path, name)))
                waiting.append(objects[-1])
            one.children.append((name, numbers[id(value)]))
    return objects


def _key(path: tuple[str, ...]) -> str:
    return "/".join(name.replace(".", "..").replace("/", ".S") for name in path)


# ---- the message


def _message() -> Any:
    try:
        from tensorboard.compat.proto import trackable_object_graph_pb2
    except ImportError:
        raise ImportError(
            "checkpoints of objects (tf.train.Checkpoint, weights of Keras models) need TensorBoard, which defines a message in "
            f"them: pip install tensorboard {at()}"
        ) from None
    return trackable_object_graph_pb2.TrackableObjectGraph()


def to_message(objects: list[Object]) -> tuple[Any, dict[str, Any]]:
    """The message, and what holds the values, by their keys."""
    message = _message()
    holders: dict[str, Any] = {}
    nodes = [message.nodes.add() for _ in objects]
    numbers = {id(one.value): one.number for one in objects}

    def add(node: Any, holder: Any, prefix: str, attribute: str) -> None:
        key = f"{prefix}/.ATTRIBUTES/{attribute}" if prefix else f".ATTRIBUTES/{attribute}"
        name = holder.op.name if isinstance(holder, Variable) else ""
        node.attributes.add(name=attribute, full_name=name, checkpoint_key=key)
        holders[key] = holder

    for one, node in zip(objects, nodes, strict=True):
        for name, number in one.children:
            node.children.add(local_name=name, node_id=number)
        if isinstance(one.value, Variable):
            add(node, one.value, _key(one.path), VALUE)
        elif hasattr(type(one.value), "_checkpoint_state"):
            add(node, one.value, _key(one.path), STATE)
    for one, node in zip(objects, nodes, strict=True):
        for variable, name, slot in _slots(one.value, objects):
            reference = node.slot_variables.add(slot_name=name)
            reference.original_variable_node_id = numbers[id(variable.value)]
            reference.slot_variable_node_id = len(message.nodes)
            prefix = f"{_key(variable.path)}/.OPTIMIZER_SLOT/{_key(one.path)}/{_key((name,))}"
            add(message.nodes.add(), slot, prefix, VALUE)
    return message, holders


def _slots(optimizer: Any, objects: list[Object]) -> Iterator[tuple[Object, str, Any]]:
    if hasattr(type(optimizer), "_checkpoint_slots"):
        for one in objects:
            if isinstance(one.value, Variable):
                for name, slot in optimizer._checkpoint_slots(one.value).items():
                    yield one, name, slot


def from_bytes(data: Any) -> Any:
    """The message that a checkpoint holds under `OBJECT_GRAPH`."""
    message = _message()
    try:
        message.ParseFromString(data if isinstance(data, bytes) else np.asarray(data).item())
    except Exception as e:
        raise errors.DataLossError(
            None, None, f"the object graph of the checkpoint cannot be read: {e} {at()}"
        ) from None
    if len(message.nodes) > _MOST_OBJECTS:
        raise ValueError(f"the checkpoint has {len(message.nodes)} objects, more than {_MOST_OBJECTS} {at()}")
    return message


class SavedGraph:
    """The objects of a checkpoint by number: what each holds, where its values are, and the slots that it keeps."""

    def __init__(self, message: Any) -> None:
        self.children = [{child.local_name: child.node_id for child in node.children} for node in message.nodes]
        self.values = [[(a.name, a.checkpoint_key) for a in node.attributes] for node in message.nodes]
        self.keys = {key for values in self.values for _, key in values}
        self.slots: dict[int, dict[int, list[tuple[str, int]]]] = {}  # of an optimizer: of a variable: name, number
        for number, node in enumerate(message.nodes):
            for slot in node.slot_variables:
                of_variable = self.slots.setdefault(number, {}).setdefault(slot.original_variable_node_id, [])
                of_variable.append((slot.slot_name, slot.slot_variable_node_id))

    def checked(self, number: int) -> int:
        """The number, if the checkpoint has such an object."""
        if not 0 <= number < len(self.children):
            raise ValueError(f"the object graph of the checkpoint names object {number} of {len(self.children)} {at()}")
        return number


class Start(NamedTuple):
    """An object from which a `Match` begins, its number in the checkpoint, and the way to it."""

    value: Any
    place: int
    path: tuple[str, ...]


class Match:
    """The objects of a program beside those of a checkpoint: both are walked together, from places that are known."""

    def __init__(self, starts: Sequence[Start], saved: SavedGraph) -> None:
        self.objects = _walk([Object(start.value, i, start.path) for i, start in enumerate(starts)])
        # number of an object -> number of its place
        self.places = {i: saved.checked(start.place) for i, start in enumerate(starts)}
        self.found: dict[int, Found] = {}  # by identity of what holds the value
        self._saved = saved
        self._reach()
        for one in self.placed():
            self._add(self.places[one.number], one.value, one.shown)
        self._match_slots()

    def _reach(self) -> None:
        """Gives each object that is reached from a placed one its place, however long the way."""
        waiting = deque(self.placed())
        while waiting:
            one = waiting.popleft()
            theirs = self._saved.children[self.places[one.number]]
            self._add_made(one, theirs)
            for name, number in one.children:
                if name in theirs and number not in self.places:
                    self.places[number] = self._saved.checked(theirs[name])
                    waiting.append(self.objects[number])

    def placed(self) -> list[Object]:
        """The objects of the program that the checkpoint has too."""
        return [one for one in self.objects if one.number in self.places]

    def _add_made(self, one: Object, theirs: dict[str, int]) -> None:
        """Lets an object make those that the checkpoint has below it and the program not yet, if it can."""
        if not hasattr(type(one.value), "_checkpoint_make_child"):
            return
        own = {name for name, _ in one.children}
        for name in theirs:
            made = None if name in own else one.value._checkpoint_make_child(name)
            if made is not None:
                self.objects.append(Object(made, len(self.objects), (*one.path, name)))
                one.children.append((name, self.objects[-1].number))

    def _match_slots(self) -> None:
        placed = self.placed()
        variables = [one for one in placed if isinstance(one.value, Variable)]
        for one in placed:
            slots = self._saved.slots.get(self.places[one.number])
            if not slots or not hasattr(type(one.value), "_checkpoint_slots"):
                continue
            for variable in variables:
                theirs = slots.get(self.places[variable.number])
                own = one.value._checkpoint_slots(variable.value) if theirs else {}
                for name, place in theirs or ():
                    if own.get(name) is not None:
                        shown = f"{one.shown}'s {name} of {variable.shown}"
                        self._add(self._saved.checked(place), own[name], shown)

    def _add(self, place: int, holder: Any, shown: str) -> None:
        accepted = (VALUE,) if isinstance(holder, Variable) else (STATE,) if hasattr(type(holder), STATE_METHOD) else ()
        for attribute, key in self._saved.values[place]:
            if attribute in accepted:
                self.found[id(holder)] = Found(holder, key, shown)

    def unused(self) -> list[str]:
        """The keys of values in the checkpoint that no object of the program takes."""
        taken = {found.key for found in self.found.values()}
        return [key for values in self._saved.values for _, key in values if key not in taken]

    def without_value(self) -> list[Object]:
        """The objects of the program that hold a value and get none from the checkpoint."""
        return [one for one in self.objects if holds_value(one.value) and id(one.value) not in self.found]


def holds_value(value: Any) -> bool:
    """Whether the object itself has a value in a checkpoint, beside those that it holds."""
    return isinstance(value, Variable) or hasattr(type(value), STATE_METHOD)


def holders_of(objects: list[Object]) -> list[Any]:
    """All variables and states of the objects, the slots of optimizers among them, each once."""
    found = [one.value for one in objects if holds_value(one.value)]
    found += [slot for one in objects for _, _, slot in _slots(one.value, objects)]
    return list({id(holder): holder for holder in found}.values())
