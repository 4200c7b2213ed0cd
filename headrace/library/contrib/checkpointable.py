"""tf.contrib.checkpoint: objects that tf.train.Checkpoint saves with what their attributes hold."""

from __future__ import annotations

import io
from collections.abc import Iterator
from typing import Any

import numpy as np

from headrace.core.source import at
from headrace.library.train.saver.object_graph import is_trackable, walk
from headrace.library.train.saver.objects import objects_changed
from headrace.library.train.saver.python_state import PythonState


class NoDependency:
    """An attribute's value that is no part of checkpoints: ``self.x = NoDependency(x)``; reading it gives the value.

    Args:
      value: Any value.

    >>> class Model(tf.contrib.checkpoint.Checkpointable):
    ...     def __init__(self):
    ...         self.plain = tf.contrib.checkpoint.NoDependency([1, 2])
    >>> Model().plain
    [1, 2]
    """

    def __init__(self, value: Any) -> None:
        self.value = value


class Checkpointable:
    """A base class of objects that `tf.train.Checkpoint` saves with the variables and objects in their attributes.

    >>> class Line(tf.contrib.checkpoint.Checkpointable):
    ...     def __init__(self):
    ...         self.slope = tf.Variable(2.0)
    >>> line = Line()
    >>> tf.contrib.checkpoint.list_objects(line) == [line, line.slope]
    True
    """

    def __setattr__(self, name: str, value: Any) -> None:
        left_out = self.__dict__.setdefault("_no_dependencies", set())
        left_out.discard(name)
        if isinstance(value, NoDependency):
            left_out.add(name)
            value = value.value
        object.__setattr__(self, name, value)
        if name not in left_out and is_trackable(value):
            objects_changed(self)

    def _checkpoint_children(self) -> Iterator[tuple[str, Any]]:
        left_out = self.__dict__.get("_no_dependencies", ())
        yield from ((name, value) for name, value in list(vars(self).items()) if name not in left_out)


class List(list[Any]):
    """A list whose variables and objects `tf.train.Checkpoint` saves; plain lists are saved too.

    >>> len(tf.contrib.checkpoint.List([tf.Variable(1.0)]))
    1
    """

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)

    def append(self, value: Any) -> None:
        """Adds a value."""
        super().append(value)
        objects_changed(self)


class Mapping(dict[str, Any]):
    """A dictionary from strings to variables and objects, which `tf.train.Checkpoint` saves; keys are set once.

    >>> sorted(tf.contrib.checkpoint.Mapping(a=tf.Variable(1.0)))
    ['a']
    """

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__()
        self.update(*args, **kwargs)

    def update(self, *args: Any, **kwargs: Any) -> None:
        """Sets several keys."""
        for key, value in dict(*args, **kwargs).items():
            self[key] = value

    def __setitem__(self, key: str, value: Any) -> None:
        if not isinstance(key, str):
            raise TypeError(f"Mapping accepts only string keys, but got a key {key!r}. {at()}")
        if key in self and self[key] is not value:
            raise ValueError(
                f"Mappings are an append-only data structure. Tried to overwrite the key {key!r} with value {value!r}, but it "
                f"already contains {self[key]!r} {at()}"
            )
        super().__setitem__(key, value)
        objects_changed(self)


class _Array(PythonState):
    """An array in a checkpoint, in numpy's file format."""

    def __init__(self, array: Any) -> None:
        self.array = array

    def serialize(self) -> bytes:
        file = io.BytesIO()
        np.save(file, self.array, allow_pickle=False)
        return file.getvalue()

    def deserialize(self, string_value: Any) -> None:
        self.array = np.load(io.BytesIO(string_value), allow_pickle=False)


class NumpyState:
    """Arrays and numbers as attributes, which `tf.train.Checkpoint` saves.

    >>> state = tf.contrib.checkpoint.NumpyState()
    >>> state.mean = [1.0, 2.0]
    >>> state.mean
    array([1., 2.])
    """

    _arrays: dict[str, _Array]

    def __init__(self) -> None:
        object.__setattr__(self, "_arrays", {})

    def __setattr__(self, name: str, value: Any) -> None:
        array = np.asarray(value)
        if array.dtype == object:
            raise TypeError(f"NumpyState holds arrays and numbers, got {value!r} for {name!r} {at()}")
        if name in self._arrays:
            self._arrays[name].array = array
        else:
            self._arrays[name] = _Array(array)
            objects_changed(self)

    def __getattr__(self, name: str) -> Any:
        arrays = self.__dict__.get("_arrays", {})
        if name not in arrays:
            raise AttributeError(f"NumpyState has no attribute {name!r}; it has {sorted(arrays)} {at()}")
        return arrays[name].array

    def _checkpoint_children(self) -> Iterator[tuple[str, Any]]:
        yield from list(self._arrays.items())

    def _checkpoint_make_child(self, name: str) -> Any:
        self._arrays[name] = _Array(None)
        return self._arrays[name]


class UniqueNameTracker:
    """Gives objects names that do not collide, under which `tf.train.Checkpoint` saves them.

    >>> slots = tf.contrib.checkpoint.UniqueNameTracker()
    >>> _ = slots.track(tf.Variable(1.0), "v"), slots.track(tf.Variable(2.0), "v")
    >>> [name for name, _ in slots._checkpoint_children()]
    ['v', 'v_1']
    """

    def __init__(self) -> None:
        self._named: dict[str, Any] = {}

    def track(self, checkpointable: Any, base_name: str) -> Any:
        """Adds an object.

        Args:
          checkpointable: A variable, a layer or whatever `tf.train.Checkpoint` takes.
          base_name: Its name, with a number after it if that is taken.

        Returns:
          The object.

        Example: ``self.w = tracker.track(tf.Variable(1.0), "w")``
        """
        if not is_trackable(checkpointable):
            raise ValueError(f"Expected a trackable value, got {checkpointable!r}, which holds no state {at()}")
        name, count = base_name, 1
        while name in self._named:
            name, count = f"{base_name}_{count}", count + 1
        self._named[name] = checkpointable
        objects_changed(self)
        return checkpointable

    def _checkpoint_children(self) -> Iterator[tuple[str, Any]]:
        yield from list(self._named.items())


def list_objects(root_trackable: Any) -> list[Any]:
    """All objects that a checkpoint of this one would save.

    Args:
      root_trackable: A `tf.train.Checkpoint`, a model, or another object that holds some.

    Returns:
      A list of objects, this one first.

    >>> v = tf.Variable(1.0)
    >>> len(tf.contrib.checkpoint.list_objects(tf.train.Checkpoint(v=v)))
    2
    """
    return [one.value for one in walk(root_trackable)]
