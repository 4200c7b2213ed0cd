"""Values of several replicas: one Python object for what each replica has of its own."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from headrace.core.source import at
from headrace.graph import convert
from headrace.library.control import replica
from headrace.library.control.replica import Copies, Distributed
from headrace.library.state.variable import OPERATORS


class DistributedValues(Copies):
    """One value for each replica of this process.  ``values`` has them in the order of the replicas."""

    @property
    def primary(self) -> Any:
        """The value of the first replica."""
        return self._values[0]

    def get(self) -> Any:
        """The value that the code here is for: that of its replica or, in an update, of its copy."""
        mode = replica.current()
        if mode is None or mode.copy is None:
            return self._of_all()
        return self._values[mode.copy]

    def _of_all(self) -> Any:
        if len(self._values) == 1:
            return self._values[0]
        raise ValueError(
            f"{self!r} has a value for each of {len(self._values)} replicas, and this code is for no single one: use "
            f"strategy.reduce, or strategy.experimental_local_results, outside of a replica {at()}"
        )

    def _as_graph_element(self) -> Any:
        value = self.get()
        convert = getattr(value, "_as_graph_element", None)
        return value if convert is None else convert()

    def __repr__(self) -> str:
        lines = ", ".join(f"{i}: {value!r}" for i, value in enumerate(self._values))
        return f"{type(self).__name__}({lines})"


class PerReplica(DistributedValues):
    """What differs between replicas, such as the parts of a batch."""


class Mirrored(DistributedValues):
    """What is the same for all replicas, with a tensor on the device of each.  It is used as that tensor is."""

    __array_priority__ = 100

    def _of_all(self) -> Any:
        return self._values[0]

    def __getattr__(self, name: str) -> Any:
        if name == "_values":  # not made yet
            raise AttributeError(name)
        return getattr(self.get(), name)


def _operator(name: str) -> Callable[..., Any]:
    def apply(self: Mirrored, *args: Any) -> Any:
        return getattr(self.get(), name)(*args)

    apply.__name__ = name
    return apply


for _name in OPERATORS:
    setattr(Mirrored, _name, _operator(_name))


def _rebuilt(like: Any, items: list[Any]) -> Any:
    if isinstance(like, tuple):
        make: Any = getattr(type(like), "_make", tuple)  # which named tuples have, whatever their constructors check
        return make(items)
    return items


def regroup(values: Sequence[Any], wrap: Callable[[Sequence[Any]], Any] = PerReplica) -> Any:
    """One structure out of those of all replicas, with a `DistributedValues` where they differ."""
    first = values[0]
    if len(values) == 1:
        return _single(first)
    same_type = all(type(value) is type(first) for value in values)
    if isinstance(first, (list, tuple)) and same_type:
        _check_alike(values, [len(value) for value in values])
        parts = zip(*values, strict=True)
        return _rebuilt(first, [regroup(part, wrap) for part in parts])
    if isinstance(first, dict) and same_type:
        _check_alike(values, [sorted(value, key=str) for value in values])
        return type(first)((key, regroup([value[key] for value in values], wrap)) for key in first)
    if all(value is first for value in values):
        return first
    owner = replica.whole(first)
    if owner is not first and all(replica.whole(value) is owner for value in values):
        return owner
    if isinstance(first, (bool, int, float, str, bytes)) and all(
        type(value) is type(first) and value == first for value in values
    ):
        return first
    return wrap(tuple(values))


def _single(value: Any) -> Any:
    """A structure of the only replica: copies stand for their variables."""
    if isinstance(value, (list, tuple)):
        return _rebuilt(value, [_single(item) for item in value])
    if isinstance(value, dict):
        return type(value)((key, _single(item)) for key, item in value.items())
    return replica.whole(value)


def _check_alike(values: Sequence[Any], facts: list[Any]) -> None:
    if any(fact != facts[0] for fact in facts):
        raise ValueError(f"The replicas give structures that are not alike: {list(values)!r} {at()}")


def select(number: int, structure: Any) -> Any:
    """The structure as one replica, or one copy, sees it."""
    if isinstance(structure, Copies):
        return structure.values[number]
    if isinstance(structure, (list, tuple)):
        return _rebuilt(structure, [select(number, item) for item in structure])
    if isinstance(structure, dict):
        return type(structure)((key, select(number, item)) for key, item in structure.items())
    return structure


def local_results(value: Any) -> tuple[Any, ...]:
    """The values of the replicas of this process, as a tuple; of a structure, a structure for each replica."""
    if isinstance(value, Distributed):
        return value.values
    count = _count(value)
    return tuple(select(i, value) for i in range(count)) if count else (value,)


def _count(structure: Any) -> int:
    """How many replicas have values in the structure; 0 if it has none that differ."""
    if isinstance(structure, DistributedValues):
        return len(structure.values)
    items = structure.values() if isinstance(structure, dict) else structure
    if isinstance(structure, (list, tuple, dict)):
        return next((count for count in map(_count, items) if count), 0)
    return 0


def _convert(value: DistributedValues, dtype: Any = None, name: str | None = None, as_ref: bool = False) -> Any:
    return convert.convert_to_tensor(value.get(), dtype=dtype, name=name)


convert.register_tensor_conversion_function(DistributedValues, _convert)
