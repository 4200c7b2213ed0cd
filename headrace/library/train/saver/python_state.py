"""tf.train.experimental.PythonState: state of Python objects in checkpoints of objects."""

from __future__ import annotations

import abc
from typing import Any

from headrace.core.source import at


class PythonState(abc.ABC):
    """An object of Python whose state `tf.train.Checkpoint` saves as a string.

    A subclass overrides `serialize` and `deserialize`.

    >>> class Count(tf.train.experimental.PythonState):
    ...     def __init__(self):
    ...         self.value = 3
    ...     def serialize(self):
    ...         return str(self.value)
    ...     def deserialize(self, string_value):
    ...         self.value = int(string_value)
    >>> tf.train.Checkpoint(count=Count()).count.value
    3
    """

    @abc.abstractmethod
    def serialize(self) -> Any:
        """The state as a string, called when a checkpoint is saved."""

    @abc.abstractmethod
    def deserialize(self, string_value: Any) -> None:
        """Takes the state that `serialize` gave, as bytes.

        Args:
          string_value: The bytes in the checkpoint.
        """

    def _checkpoint_state(self) -> bytes:
        value = self.serialize()
        if not isinstance(value, (str, bytes)):
            raise TypeError(f"{type(self).__name__}.serialize must return a string or bytes, got {value!r} {at()}")
        return value.encode() if isinstance(value, str) else value

    def _restore_checkpoint_state(self, data: Any) -> None:
        self.deserialize(data if isinstance(data, bytes) else bytes(data))
