"""Staging areas: values put by one step and got by another, so that a step finds its inputs ready on its device."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from headrace.core.dtypes import DType, as_dtype
from headrace.core.shape import TensorShape
from headrace.core.source import at
from headrace.graph import context, raw_ops
from headrace.graph.convert import convert_to_tensor
from headrace.graph.operation import Operation, Tensor
from headrace.library.control.dependency import identity, no_op
from headrace.library.scope import colocate_with, name_scope


class BaseStagingArea:
    """What both kinds of staging areas are: the components of an element, and the limits.  A limit of 0 is none."""

    def __init__(
        self, dtypes: Sequence[Any], shapes: Sequence[Any] | None = None, names: Sequence[str] | None = None,
        shared_name: str | None = None, capacity: int = 0, memory_limit: int = 0,
    ) -> None:  # fmt: skip
        if shared_name is not None and not isinstance(shared_name, str):
            raise ValueError(f"shared_name must be a string, got {shared_name!r} {at()}")
        if not isinstance(dtypes, (list, tuple)) or not dtypes:
            raise TypeError(f"dtypes of a staging area must be a list of one dtype or more, got {dtypes!r} {at()}")
        for what, given in (("shapes", shapes), ("names", names)):
            if given is not None and len(given) != len(dtypes):
                raise ValueError(
                    f"StagingArea {what} must be the same length as dtypes, got {len(given)} and {len(dtypes)} {at()}"
                )
        for what, limit in (("capacity", capacity), ("memory_limit", memory_limit)):
            if limit < 0:
                raise ValueError(f"{what} of a staging area must be 0 (no limit) or more, got {limit} {at()}")
        self._name = shared_name or context.get_default_graph().unique_name(type(self).__name__)
        self._dtypes = [as_dtype(dtype) for dtype in dtypes]
        self._shapes = [TensorShape(s) for s in (shapes if shapes is not None else [None] * len(dtypes))]
        self._names = names
        self._capacity = capacity
        self._memory_limit = memory_limit
        with name_scope(f"{self._name}_root"):
            self._coloc_op = no_op()

    @property
    def name(self) -> str:
        return self._name

    @property
    def dtypes(self) -> list[DType]:
        return self._dtypes

    @property
    def shapes(self) -> list[TensorShape]:
        return self._shapes

    @property
    def names(self) -> Sequence[str] | None:
        return self._names

    @property
    def capacity(self) -> int:
        """The largest number of elements; 0: no limit."""
        return self._capacity

    @property
    def memory_limit(self) -> int:
        """The largest number of bytes; 0: no limit."""
        return self._memory_limit

    @property
    def _limits(self) -> dict[str, Any]:
        return {"capacity": self._capacity, "memory_limit": self._memory_limit, "shared_name": self._name}

    def _values(self, vals: Any, indices: Sequence[int] | None) -> tuple[list[Tensor], list[int]]:
        """What is to be put, as tensors, and which components they are."""
        if isinstance(vals, dict):
            if not self._names:
                raise ValueError(f"Staging areas must have names to put a dictionary; {self._name} has none {at()}")
            if not set(vals) <= set(self._names):
                raise ValueError(
                    f"Keys in dictionary to put do not match names of staging area. Dictionary: {sorted(vals, key=str)}, "
                    f"names: {sorted(self._names)} {at()}"
                )
            places = [i for i, name in enumerate(self._names) if name in vals]
            several = [vals[self._names[i]] for i in places]
        else:
            if self._names:
                raise ValueError(f"You must put a dictionary into a staging area with names, got {vals!r} {at()}")
            several = list(vals) if isinstance(vals, (list, tuple)) else [vals]
            if indices is None:
                raise ValueError(f"Indices must be supplied when inserting a list of tensors {at()}")
            places = list(indices)
        if len(places) != len(several):
            raise ValueError(f"Number of indices {len(places)} doesn't match number of values {len(several)} {at()}")
        return [self._component(value, i) for value, i in zip(several, places, strict=True)], places

    def _component(self, value: Any, place: int) -> Tensor:
        if not 0 <= place < len(self._dtypes):
            raise ValueError(f"Unexpected value {place}: {self._name} has {len(self._dtypes)} components {at()}")
        tensor = convert_to_tensor(value, self._dtypes[place], name=f"component_{place}")
        tensor.shape.assert_is_compatible_with(self._shapes[place])
        return tensor

    def _element(self, values: Any, places: Iterable[int]) -> Any:
        """What a get returns: a list, or a dictionary if the area has names."""
        tensors = self._brought([values] if isinstance(values, Tensor) else list(values))
        places = list(places)
        for tensor, i in zip(tensors, places, strict=True):
            tensor.set_shape(self._shapes[i])
        if self._names:
            return {self._names[i]: tensor for tensor, i in zip(tensors, places, strict=True)}
        return tensors

    def _brought(self, tensors: list[Tensor]) -> list[Tensor]:
        """The tensors on the device that is asked for now, if it is another than the area's."""
        if self._coloc_op is None or no_op().device == self._coloc_op.device:  # None: ops are executed eagerly
            return tensors
        return [identity(tensor) for tensor in tensors]


class StagingArea(BaseStagingArea):
    """Elements that are got in the order in which they were put.  Putting waits while it is full, getting while it is empty.

    Args:
      dtypes: A list with the type of each component.
      shapes: A list with the shape of each component; None for any.
      names: A list with the name of each component; elements are dictionaries then.
      shared_name: A name under which areas share their elements; None for one of its own.
      capacity: How many elements it holds; 0 for no limit.
      memory_limit: How many bytes it holds; 0 for no limit.

    >>> area = tf.contrib.staging.StagingArea([tf.float32], shapes=[[]])
    >>> with tf.Session() as sess:
    ...     sess.run(area.put([tf.constant(3.0)]))
    ...     print(sess.run(area.get()))
    [np.float32(3.0)]
    """

    def put(self, values: Any, name: str | None = None) -> Operation:
        """Adds an element: a tensor, a list of tensors, or a dictionary if the area has names.  Waits while it is full.

        ResourceExhaustedError if the element alone is above the memory limit.
        """
        with name_scope(name, f"{self._name}_put", []) as scope:
            count = len(values) if isinstance(values, (list, tuple, dict)) else 1
            tensors, _ = self._values(values, range(count))
            if count != len(self._dtypes):
                raise ValueError(f"Unexpected number of inputs {count} vs {len(self._dtypes)} {at()}")
            with colocate_with(self._coloc_op):
                op: Operation = raw_ops.Stage(tensors, **self._limits, name=scope)
            return op

    def get(self, name: str | None = None) -> Any:
        """Takes the first element; waits while there is none.  A list of tensors, or a dictionary if the area has names."""
        with colocate_with(self._coloc_op):
            values = raw_ops.Unstage(dtypes=self._dtypes, **self._limits, name=name or f"{self._name}_get")
        return self._element(values, range(len(self._dtypes)))

    def peek(self, index: Any, name: str | None = None) -> Any:
        """The element at a place, which stays there; waits until there is one."""
        with colocate_with(self._coloc_op):
            values = raw_ops.StagePeek(index, dtypes=self._dtypes, **self._limits, name=name or f"{self._name}_peek")
        return self._element(values, range(len(self._dtypes)))

    def size(self, name: str | None = None) -> Tensor:
        """How many elements there are."""
        with colocate_with(self._coloc_op):
            size: Tensor = raw_ops.StageSize(dtypes=self._dtypes, **self._limits, name=name or f"{self._name}_size")
        return size

    def clear(self, name: str | None = None) -> Operation:
        """Drops all elements."""
        with colocate_with(self._coloc_op):
            op: Operation = raw_ops.StageClear(dtypes=self._dtypes, **self._limits, name=name or f"{self._name}_clear")
        return op


class MapStagingArea(BaseStagingArea):
    """Elements by integer key.  The values of one may come, and be taken, one by one; it can be got when all have come.

    Without a key comes any element, the one with the lowest key if the area is ``ordered``.
    """

    def __init__(
        self, dtypes: Sequence[Any], shapes: Sequence[Any] | None = None, names: Sequence[str] | None = None,
        shared_name: str | None = None, ordered: bool = False, capacity: int = 0, memory_limit: int = 0,
    ) -> None:  # fmt: skip
        super().__init__(dtypes, shapes, names, shared_name, capacity, memory_limit)
        self._prefix = "Ordered" if ordered else ""

    def _op(self, suffix: str) -> Any:
        return getattr(raw_ops, f"{self._prefix}Map{suffix}")

    def put(self, key: Any, vals: Any, indices: Sequence[int] | None = None, name: str | None = None) -> Operation:
        """Puts values of the element of ``key``: a dictionary, or a list with ``indices``, which must ascend.

        Waits while the area is full.  InvalidArgumentError if a value is there already.
        """
        with name_scope(name, f"{self._name}_put", []) as scope:
            tensors, places = self._values(vals, indices)
            with colocate_with(self._coloc_op):
                op: Operation = self._op("Stage")(key, places, tensors, dtypes=self._dtypes, **self._limits, name=scope)
            return op

    def peek(self, key: Any, indices: Sequence[Any] | None = None, name: str | None = None) -> Any:
        """The values of an element, which stay there; waits until it is complete."""
        return self._get("Peek", key, self._places(indices), name or f"{self._name}_pop")

    def get(self, key: Any = None, indices: Sequence[Any] | None = None, name: str | None = None) -> tuple[Any, Any]:
        """Takes values of the element of ``key``, or of any; waits until there is one: (key, values).

        ``indices`` says which values, by place or name; an element is gone when all its values are.
        """
        places = self._places(indices)
        if key is not None:
            return key, self._get("Unstage", key, places, name or f"{self._name}_get")
        with colocate_with(self._coloc_op):
            taken = self._op("UnstageNoKey")(
                places, dtypes=[self._dtypes[i] for i in places], **self._limits,
                name=name or f"{self._name}_get_nokey",
            )  # fmt: skip
        return self._brought([taken.key])[0], self._element(taken.values, places)

    def _get(self, suffix: str, key: Any, places: list[int], name: str) -> Any:
        with colocate_with(self._coloc_op):
            values = self._op(suffix)(key, places, dtypes=[self._dtypes[i] for i in places], **self._limits, name=name)
        return self._element(values, places)

    def _places(self, indices: Sequence[Any] | None) -> list[int]:
        """Which components: all, or those at the places or with the names."""
        if indices is None:
            return list(range(len(self._dtypes)))
        if not isinstance(indices, (list, tuple)):
            raise TypeError(f"indices must be a list of places or names, got {indices!r} {at()}")
        if not indices:
            raise ValueError(f"Empty indices {at()}")
        if all(isinstance(i, str) for i in indices):
            unknown = [i for i in indices if i not in (self._names or ())]
            if unknown:
                raise ValueError(f"No component of {self._name} is called {unknown[0]!r}; names: {self._names} {at()}")
            return [list(self._names or ()).index(i) for i in indices]
        if not all(isinstance(i, int) for i in indices):
            raise TypeError(f"Mixed types in indices {indices!r}. May only be str or int {at()}")
        wrong = [i for i in indices if not 0 <= i < len(self._dtypes)]
        if wrong:
            raise ValueError(f"Index {wrong[0]} is outside the {len(self._dtypes)} components of {self._name} {at()}")
        return list(indices)

    def size(self, name: str | None = None) -> Tensor:
        """How many elements are complete."""
        return self._size("Size", name or f"{self._name}_size")

    def incomplete_size(self, name: str | None = None) -> Tensor:
        """How many elements wait for values."""
        return self._size("IncompleteSize", name or f"{self._name}_incomplete_size")

    def _size(self, suffix: str, name: str) -> Tensor:
        with colocate_with(self._coloc_op):
            size: Tensor = self._op(suffix)(dtypes=self._dtypes, **self._limits, name=name)
        return size

    def clear(self, name: str | None = None) -> Operation:
        """Drops all elements."""
        with colocate_with(self._coloc_op):
            op: Operation = self._op("Clear")(dtypes=self._dtypes, **self._limits, name=name or f"{self._name}_clear")
        return op
