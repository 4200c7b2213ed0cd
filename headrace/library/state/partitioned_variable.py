"""PartitionedVariable: one logical variable kept as several, cut along one dimension."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from headrace.core.dtypes import DType
from headrace.core.shape import TensorShape, as_shape
from headrace.graph import context, convert, raw_ops
from headrace.graph.graph import Graph
from headrace.graph.operation import Tensor
from headrace.library.state.variable import Variable


class PartitionedVariable:
    """The shards in order; as a tensor, their concatenation.  Made by ``get_variable`` with a partitioner."""

    __array_priority__ = 100

    def __init__(
        self, name: str, shape: Any, dtype: DType, variable_list: Sequence[Variable], partitions: Sequence[int]
    ) -> None:
        if not isinstance(variable_list, (list, tuple)):
            raise TypeError(f"variable_list is not a list or tuple: {variable_list!r}")
        if not isinstance(partitions, (list, tuple)):
            raise TypeError(f"partitions is not a list or tuple: {partitions!r}")
        if not all(p >= 1 for p in partitions):
            raise ValueError(f"partition values must be positive: {partitions}")
        if not variable_list:
            raise ValueError("variable_list may not be empty")
        for v in variable_list:
            if v._get_save_slice_info() is None:
                raise ValueError(f"All variables must have a save_slice_info: {v!r}")
        self._name = name
        self._shape = as_shape(shape)
        self._dtype = dtype
        self._variable_list = sorted(variable_list, key=lambda v: v._get_save_slice_info().var_offset)  # type: ignore[union-attr]
        self._partitions = list(partitions)

    @property
    def name(self) -> str:
        return self._name

    @property
    def dtype(self) -> DType:
        return self._dtype

    @property
    def shape(self) -> TensorShape:
        return self._shape

    def get_shape(self) -> TensorShape:
        return self._shape

    @property
    def graph(self) -> Graph:
        return self._variable_list[0].graph

    def _get_variable_list(self) -> list[Variable]:
        return self._variable_list

    def _get_partitions(self) -> list[int]:
        return self._partitions

    def _partition_axes(self) -> list[int]:
        if all(p == 1 for p in self._partitions):
            return [0]
        return [i for i, p in enumerate(self._partitions) if p > 1]

    def __iter__(self) -> Iterator[Variable]:
        return iter(self._variable_list)

    def __len__(self) -> int:
        return len(self._variable_list)

    def as_tensor(self) -> Tensor:
        """The whole value."""
        graph = context.get_default_graph()
        with graph.control_dependencies(None):
            whole: Tensor = self._variable_list[0].value()
            if len(self._variable_list) > 1:
                with graph.name_scope(f"{self._name}/ConcatPartitions/"):
                    values = [v.value() for v in self._variable_list]
                    whole = raw_ops.ConcatV2(values, self._partition_axes()[0], name="concat")
            with graph.name_scope(None):
                return raw_ops.Identity(whole, name=self._name)

    def assign(
        self, value: Any, use_locking: bool = False, name: str | None = None, read_value: bool = True
    ) -> list[Any]:
        """Sets each shard to its part of ``value``."""
        return self._update("assign", value, use_locking, name, read_value)

    def assign_add(
        self, value: Any, use_locking: bool = False, name: str | None = None, read_value: bool = True
    ) -> list[Any]:
        return self._update("assign_add", value, use_locking, name, read_value)

    def assign_sub(
        self, value: Any, use_locking: bool = False, name: str | None = None, read_value: bool = True
    ) -> list[Any]:
        return self._update("assign_sub", value, use_locking, name, read_value)

    def _update(self, method: str, value: Any, use_locking: bool, name: str | None, read_value: bool) -> list[Any]:
        if (
            isinstance(value, (list, tuple, PartitionedVariable))
            and len(value) == len(self)
            and all(hasattr(v, "shape") for v in value)
        ):
            parts = list(value)
        else:
            sizes = [v.shape.as_list()[self._partition_axes()[0]] for v in self._variable_list]
            tensor = convert.convert_to_tensor(value, self._dtype)
            parts = raw_ops.SplitV(tensor, sizes, self._partition_axes()[0], num_split=len(sizes))
        return [
            getattr(v, method)(p, use_locking=use_locking, name=name, read_value=read_value)
            for v, p in zip(self._variable_list, parts, strict=True)
        ]

    @property
    def initializer(self) -> list[Any]:
        return [v.initializer for v in self._variable_list]

    def __repr__(self) -> str:
        return (
            f"<tf.PartitionedVariable '{self._name}' shape={self._shape!s} dtype={self._dtype.name} "
            f"partitions={self._partitions}>"
        )


def _convert(
    value: PartitionedVariable, dtype: DType | None = None, name: str | None = None, as_ref: bool = False
) -> Any:
    if dtype is not None and not dtype.is_compatible_with(value.dtype):
        raise ValueError(
            f"Incompatible type conversion requested to type '{dtype.name}' for partitioned variable of type "
            f"'{value.dtype.name}'"
        )
    if as_ref:
        raise NotImplementedError(
            f"PartitionedVariable {value.name} has no single handle: update its shards, or use its own assign methods"
        )
    return value.as_tensor()


convert.register_tensor_conversion_function(PartitionedVariable, _convert)
