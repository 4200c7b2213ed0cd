"""The positions of iterators in checkpoints."""

from __future__ import annotations

from typing import Any

from headrace.core.source import at
from headrace.library.data.iterator import Iterator
from headrace.library.train.saver.exact_state import iterator_state
from headrace.library.train.saver.saveable import SaveableObject


def make_saveable_from_iterator(iterator: Any) -> SaveableObject:
    """The position of an iterator as something that a saver saves: all of it, what is shuffled or computed ahead included.

    Restoring moves an iterator that is initialized; one that is not goes on from there when it is initialized.
    """
    if not isinstance(iterator, Iterator):
        raise TypeError(f"make_saveable_from_iterator needs an iterator of a dataset, got {iterator!r} {at()}")
    resource = iterator._iterator_resource
    return iterator_state(resource, f"{resource.op.name}-iterator_state")
