"""A source of batches that can be asked for any of them."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator
from typing import Any


class Sequence(ABC):
    """A source of batches with a length, to derive from: ``__getitem__`` gives a batch, ``__len__`` says how many there are.

    Several threads may ask for batches together, each for another one, so every batch is used once in an epoch.

    >>> class Squares(tf.keras.utils.Sequence):
    ...     def __len__(self):
    ...         return 3
    ...     def __getitem__(self, index):
    ...         return np.array([index]), np.array([index**2])
    >>> [int(y[0]) for x, y in Squares()]
    [0, 1, 4]
    """

    @abstractmethod
    def __getitem__(self, index: int) -> Any:
        """The batch with this number.

        Args:
          index: A number from 0 to the length minus 1.

        Returns:
          What the model takes as one batch.
        """

    @abstractmethod
    def __len__(self) -> int:
        """How many batches an epoch has.

        Returns:
          An int.
        """

    def on_epoch_end(self) -> None:  # noqa: B027 - may be overridden, need not
        """Is called after each epoch; to be overridden, for example to shuffle."""

    def __iter__(self) -> Iterator[Any]:
        """The batches of one epoch, in order."""
        return (self[i] for i in range(len(self)))
