"""tf.train.Checkpoint: variables saved by the attributes that lead to them, and what a restore says of what it found."""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import Any

from headrace.core import dtypes
from headrace.core.source import at
from headrace.graph import context
from headrace.library.scope import device, init_scope
from headrace.library.state.values import as_value, load_values
from headrace.library.state.variable import Variable
from headrace.library.state.variables import is_variable_initialized
from headrace.library.train.saver import object_graph, objects
from headrace.library.train.saver.object_graph import is_trackable
from headrace.library.train.saver.objects import Restoration
from headrace.library.train.saver.state_file import update_checkpoint_state

_ACCEPTED = (
    "a variable, a layer or a model, an optimizer, a tf.Module, another tf.train.Checkpoint, or lists or dicts of them"
)


class Checkpoint:
    """Saves and restores objects: models, optimizers, variables, by the names of the attributes that lead to them.

    The files are TensorFlow's own, so that either reads what the other wrote.  What is made after a restore gets its value when
    it is made if ops run eagerly, and by `initialize_or_restore` of what `restore` returns in a graph.

    Args:
      **kwargs: The objects by name: variables, layers and models, optimizers, `tf.Module`s, other checkpoints, lists and
        dictionaries of them.  They become attributes.

    >>> import os, tempfile
    >>> model = tf.keras.Sequential([tf.keras.layers.Dense(2, input_shape=(3,))])
    >>> checkpoint = tf.train.Checkpoint(model=model)
    >>> path = checkpoint.save(os.path.join(tempfile.mkdtemp(), "ckpt"))
    >>> os.path.basename(path)
    'ckpt-1'
    >>> checkpoint.restore(path).assert_consumed().run_restore_ops()
    """

    def __init__(self, **kwargs: Any) -> None:
        self._save_counter: Any = None
        self._increment: Any = None
        for name, value in sorted(kwargs.items()):
            if not is_trackable(value) and not (isinstance(value, (list, tuple, dict)) and not value):
                raise ValueError(
                    f"`Checkpoint` was expecting a trackable object (an object derived from `TrackableBase`), got {value!r} for "
                    f"{name!r}. Accepted: {_ACCEPTED} {at()}"
                )
            setattr(self, name, value)

    def __setattr__(self, name: str, value: Any) -> None:
        object.__setattr__(self, name, value)
        if is_trackable(value):
            objects.objects_changed(self)

    def _checkpoint_children(self) -> Iterator[tuple[str, Any]]:
        for name, value in vars(self).items():
            if name == "_save_counter":
                if value is not None:
                    yield "save_counter", value
            elif name != "_increment":
                yield name, value

    @property
    def save_counter(self) -> Any:
        """The variable that counts the saves; it is saved too."""
        if self._save_counter is None:
            with init_scope(), device("/cpu:0"):
                self._save_counter = Variable(0, name="save_counter", dtype=dtypes.int64, trainable=False)
        return self._save_counter

    def write(self, file_prefix: Any, session: Any = None) -> str:
        """Writes a checkpoint without counting it: without a number in its name, and not listed in its folder.

        Args:
          file_prefix: What the names of its files begin with.
          session: The session whose variables are saved; None for the default one.  Nothing where ops run eagerly.

        Returns:
          `file_prefix`.

        >>> import os, tempfile
        >>> path = os.path.join(tempfile.mkdtemp(), "once")
        >>> with tf.Session() as session:
        ...     v = tf.Variable(3.0)
        ...     session.run(v.initializer)
        ...     _ = tf.train.Checkpoint(v=v).write(path)
        >>> tf.train.list_variables(path)[1]
        ('v/.ATTRIBUTES/VARIABLE_VALUE', [])
        """
        prefix = os.fspath(file_prefix)
        objects.save(self, prefix, session)
        return prefix

    def save(self, file_prefix: Any, session: Any = None) -> str:
        """Writes a checkpoint with the next number in its name, and makes it the latest one of its folder.

        Args:
          file_prefix: What the names of its files begin with, before the number.
          session: The session whose variables are saved; None for the default one.  Nothing where ops run eagerly.

        Returns:
          The prefix of the checkpoint, which `restore` takes.

        Example: ``path = checkpoint.save("/tmp/model/ckpt")``
        """
        prefix = f"{os.fspath(file_prefix)}-{self._next_number(session)}"
        self.write(prefix, session)
        update_checkpoint_state(os.path.dirname(prefix) or ".", prefix, [prefix], None)
        return prefix

    def _next_number(self, session: Any) -> int:
        counter = self.save_counter
        if counter.graph.executing_eagerly:
            counter.assign_add(1)
            return int(counter.numpy())
        session = objects.session_of(session)
        if self._increment is None:
            with counter.graph.as_default():
                self._increment = (is_variable_initialized(counter), counter.assign_add(1).op)
        there, increment = self._increment
        if not session.run(there):
            session.run(counter.initializer)
        session.run(increment)
        return int(session.run(counter))

    def restore(self, save_path: Any) -> Any:
        """Restores a checkpoint: at once where ops run eagerly; in a graph, when a method of the result is called.

        Args:
          save_path: The prefix of a checkpoint that `save` or `write` made, here or in TensorFlow, or `tf.train.Saver`; None
            to restore nothing, so that `initialize_or_restore` only initialises.

        Returns:
          An object with methods that check what was found: `assert_consumed`, `assert_existing_objects_matched`,
          `assert_nontrivial_match`, `expect_partial`; and in a graph `initialize_or_restore` and `run_restore_ops`.

        Example: ``checkpoint.restore(tf.train.latest_checkpoint("/tmp/model"))``
        """
        counter = self.save_counter  # so that it is initialised with the others
        if save_path is None:
            return InitializationOnlyStatus(self)
        restoration = Restoration(self, os.fspath(save_path))
        if restoration.message is None:
            return NameBasedStatus(self, restoration)
        if context.executing_eagerly() or counter.graph.executing_eagerly:
            if restoration.restore_eagerly():
                restoration.wait()
        return CheckpointLoadStatus(self, restoration)


class _Status:
    """What came of `Checkpoint.restore`."""

    def __init__(self, root: Any) -> None:
        self._root = root

    def _initialize(self, session: Any, but: set[int]) -> None:
        """Initialises the variables of the root that have nothing to restore."""
        every = object_graph.holders_of(object_graph.walk(self._root))
        variables = [v for v in every if isinstance(v, Variable) and not v.graph.executing_eagerly and id(v) not in but]
        if variables:
            objects.session_of(session).run([v.initializer for v in variables])


class InitializationOnlyStatus(_Status):
    """The status of `tf.train.Checkpoint.restore(None)`: nothing is restored."""

    def assert_consumed(self) -> Any:
        """Fails: there is no checkpoint."""
        raise AssertionError(f"No checkpoint specified (save_path=None); nothing is being restored. {at()}")

    assert_existing_objects_matched = assert_nontrivial_match = assert_consumed

    def expect_partial(self) -> Any:
        """This object."""
        return self

    def run_restore_ops(self, session: Any = None) -> None:
        """Fails: there is no checkpoint."""
        raise AssertionError(
            "No checkpoint specified, so no restore ops are available (save_path=None to Saver.restore). Call "
            f"initialize_or_restore to initialise {at()}"
        )

    def initialize_or_restore(self, session: Any = None) -> None:
        """Initialises the variables of a graph in a session; None for the default one."""
        self._initialize(session, set())


class CheckpointLoadStatus(_Status):
    """What came of restoring a checkpoint; what is made after it counts too."""

    def __init__(self, root: Any, restoration: Restoration) -> None:
        super().__init__(root)
        self._restoration = restoration

    def assert_consumed(self) -> Any:
        """Fails unless each value of the checkpoint has an object and each object a value."""
        unused = self._restoration.match().unused()
        if unused:
            raise AssertionError(
                f"Unresolved object in checkpoint {self._restoration.prefix!r}: the program has nothing for {_some(unused)} "
                f"{at()}"
            )
        return self.assert_existing_objects_matched()

    def assert_existing_objects_matched(self) -> Any:
        """Fails unless each object of the program that is there by now has a value in the checkpoint."""
        without = [one.shown for one in self._restoration.match().without_value()]
        if without:
            raise AssertionError(
                f"Object not assigned a value from checkpoint {self._restoration.prefix!r}: {_some(without)} {at()}"
            )
        return self

    def assert_nontrivial_match(self) -> Any:
        """Fails if nothing below the root is in the checkpoint."""
        match = self._restoration.match()
        counter = getattr(self._root, "save_counter", None)
        if not any(found.holder is not counter for found in match.found.values()):
            raise AssertionError(
                f"Nothing except the root object matched a checkpointed value of {self._restoration.prefix!r}: the program "
                f"has {_some(one.shown for one in match.objects[1:])}, the checkpoint {_some(match.unused())} {at()}"
            )
        return self

    def expect_partial(self) -> Any:
        """Says that not everything in the checkpoint is wanted; returns this object."""
        return self

    def run_restore_ops(self, session: Any = None) -> None:
        """Restores the variables of a graph in a session; None for the default one."""
        self._restoration.load(session)

    def initialize_or_restore(self, session: Any = None) -> None:
        """Restores the variables of a graph in a session, and initialises those that the checkpoint lacks."""
        restored = self._restoration.in_a_graph()
        self._initialize(session, {id(found.holder) for found in restored})
        self._restoration.load(session)


class NameBasedStatus(_Status):
    """What came of restoring a checkpoint of `tf.train.Saver`, in which variables go by their names."""

    def __init__(self, root: Any, restoration: Restoration) -> None:
        super().__init__(root)
        self._restoration = restoration
        self._load(None, eager=True)

    def _variables(self) -> tuple[list[Any], list[Any]]:
        """The variables that the checkpoint has, and those that it lacks."""
        counter = self._root.save_counter
        holders = object_graph.holders_of(object_graph.walk(self._root))
        variables = [v for v in holders if isinstance(v, Variable) and v is not counter]
        there = [v for v in variables if self._restoration.reader.has_tensor(v.op.name)]
        return there, [v for v in variables if not any(v is one for one in there)]

    def _load(self, session: Any, eager: bool) -> None:
        found = [v for v in self._variables()[0] if v.graph.executing_eagerly == eager]
        found = [object_graph.Found(v, v.op.name, v.op.name) for v in found]
        if eager:
            for one in found:
                one.holder.assign(self._restoration.value(one))
        elif found:
            pairs = [(one.holder, as_value(one.holder, self._restoration.value(one))) for one in found]
            load_values(objects.session_of(session), pairs)

    def assert_consumed(self) -> Any:
        """Fails unless each variable of the root has a value, and each value a variable."""
        there, _ = self._variables()
        names = {v.op.name for v in there}
        unused = [name for name in self._restoration.reader.get_variable_to_shape_map() if name not in names]
        if unused:
            raise AssertionError(
                f"Some values of the checkpoint {self._restoration.prefix!r} have no variable: {_some(unused)} {at()}"
            )
        return self.assert_existing_objects_matched()

    def assert_existing_objects_matched(self) -> Any:
        """Fails unless each variable of the root has a value in the checkpoint."""
        lacking = [v.op.name for v in self._variables()[1]]
        if lacking:
            raise AssertionError(
                f"Some objects had no value in the checkpoint {self._restoration.prefix!r}: {_some(lacking)} {at()}"
            )
        return self

    def assert_nontrivial_match(self) -> Any:
        """Fails if no variable of the root has a value in the checkpoint."""
        if not self._variables()[0]:
            raise AssertionError(f"Nothing except the root object matched {self._restoration.prefix!r} {at()}")
        return self

    def expect_partial(self) -> Any:
        """This object."""
        return self

    def run_restore_ops(self, session: Any = None) -> None:
        """Restores the variables of a graph in a session; None for the default one."""
        self._load(session, eager=False)

    def initialize_or_restore(self, session: Any = None) -> None:
        """Restores the variables of a graph in a session, and initialises those that the checkpoint lacks."""
        self._initialize(session, {id(v) for v in self._variables()[0]})
        self._load(session, eager=False)


def _some(names: Any) -> str:
    names = list(names)
    return ", ".join(names[:5]) + (f" and {len(names) - 5} more" if len(names) > 5 else "") or "nothing"
