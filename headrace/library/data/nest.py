"""The structure of elements: tuples, named tuples and dictionaries.  A list is no structure: it becomes one tensor."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from headrace.graph.structures import SparseTensorValue
from headrace.library.nest_level import children, is_attrs, like


def is_structure(value: Any) -> bool:
    if isinstance(value, SparseTensorValue):
        return False
    return isinstance(value, (tuple, Mapping)) or is_attrs(value)


def flatten(structure: Any) -> list[Any]:
    """The leaves, depth first; the entries of a dictionary in the order of its sorted keys."""
    return list(_leaves(structure))


def _leaves(structure: Any) -> Iterator[Any]:
    if not is_structure(structure):
        yield structure
        return
    for child in children(structure):
        yield from _leaves(child)


def pack_sequence_as(structure: Any, leaves: Sequence[Any]) -> Any:
    """The structure with other leaves."""
    rest = iter(leaves)

    def build(one: Any) -> Any:
        return like(one, [build(child) for child in children(one)]) if is_structure(one) else next(rest)

    return build(structure)


def map_structure(function: Callable[..., Any], structure: Any, *others: Any) -> Any:
    """The structure with the results of a function of its leaves, and of what is in their places in others of its kind."""
    columns = [flatten_up_to(structure, one) for one in (structure, *others)]
    return pack_sequence_as(structure, [function(*leaves) for leaves in zip(*columns, strict=True)])


def flatten_up_to(shallow: Any, structure: Any) -> list[Any]:
    """What the second has in the places of the leaves of the first; TypeError or ValueError if they do not fit."""
    if not is_structure(shallow):
        return [structure]
    if not is_structure(structure) and not (isinstance(structure, list) and not isinstance(shallow, Mapping)):
        raise TypeError(
            "If shallow structure is a sequence, input must also be a sequence. Input has type: "
            f"{type(structure).__name__}: {structure!r}."
        )
    mine, theirs = children(shallow), children(structure)
    if isinstance(shallow, Mapping) and set(shallow) != set(structure):
        raise ValueError(f"The two structures don't have the same keys: {sorted(shallow)} and {sorted(structure)}.")
    if len(mine) != len(theirs):
        raise ValueError(
            f"The two structures don't have the same sequence length. Input structure has length {len(theirs)}, while "
            f"shallow structure has length {len(mine)}."
        )
    return [leaf for a, b in zip(mine, theirs, strict=True) for leaf in flatten_up_to(a, b)]
