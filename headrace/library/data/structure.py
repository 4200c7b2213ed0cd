"""What the elements of a dataset are like, component by component, and how components become flat tensors and back."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from headrace.core import dtypes
from headrace.core.dtypes import DType
from headrace.core.shape import TensorShape, as_shape
from headrace.core.source import at
from headrace.core.tensor_spec import TensorSpec
from headrace.graph import raw_ops
from headrace.graph.convert import convert_to_tensor
from headrace.graph.operation import Tensor
from headrace.graph.structures import SparseTensor, SparseTensorValue
from headrace.library.data import nest


class SparseTensorSpec:
    """The dtype and dense shape of a sparse tensor."""

    __slots__ = ("_dtype", "_shape")

    def __init__(self, shape: Any = None, dtype: Any = dtypes.float32) -> None:
        self._shape, self._dtype = as_shape(shape), dtypes.as_dtype(dtype)

    @property
    def shape(self) -> TensorShape:
        return self._shape

    @property
    def dtype(self) -> DType:
        return self._dtype

    @property
    def value_type(self) -> type:
        return SparseTensor

    def is_compatible_with(self, other: Any) -> bool:
        """Whether another spec, or a sparse tensor, may be like this."""
        other = spec_of(other) if isinstance(other, (SparseTensor, SparseTensorValue)) else other
        return (
            isinstance(other, SparseTensorSpec)
            and self._dtype == other._dtype
            and bool(self._shape.is_compatible_with(other._shape))
        )

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, SparseTensorSpec):
            return NotImplemented
        return (self._shape.tuple, self._dtype) == (other._shape.tuple, other._dtype)

    def __hash__(self) -> int:
        return hash((self._shape.tuple, self._dtype))

    def __repr__(self) -> str:
        return f"SparseTensorSpec({self._shape}, {self._dtype!r})"


class DatasetSpec:
    """What a component is like that is a dataset itself, as those of windows are."""

    __slots__ = ("_dataset_shape", "_element_spec")

    def __init__(self, element_spec: Any, dataset_shape: Any = ()) -> None:
        self._element_spec, self._dataset_shape = element_spec, as_shape(dataset_shape)

    @property
    def element_spec(self) -> Any:
        return self._element_spec

    @property
    def value_type(self) -> type:
        return dataset_class[0]

    @staticmethod
    def from_value(value: Any) -> DatasetSpec:
        return DatasetSpec(value.element_spec)

    def is_compatible_with(self, other: Any) -> bool:
        """Whether another spec, or a dataset, may be like this."""
        other = DatasetSpec(other.element_spec) if isinstance(other, dataset_class[0]) else other
        return isinstance(other, DatasetSpec) and is_compatible(self._element_spec, other._element_spec)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, DatasetSpec):
            return NotImplemented
        return bool(self._element_spec == other._element_spec)

    def __hash__(self) -> int:
        return hash(DatasetSpec)

    def __repr__(self) -> str:
        return f"DatasetSpec({self._element_spec!r}, {self._dataset_shape})"


DatasetStructure = DatasetSpec  # its older name

dataset_class: list[Any] = []  # the class of datasets, which is above this module


def is_compatible(first: Any, second: Any) -> bool:
    """Whether two structures of specs agree."""
    try:
        pairs = zip(nest.flatten(first), nest.flatten_up_to(first, second), strict=True)
    except (TypeError, ValueError):
        return False
    return all(type(a) is type(b) and a.is_compatible_with(b) for a, b in pairs)


def spec_of(value: Any) -> Any:
    """What a tensor, a sparse tensor or a dataset is like."""
    if isinstance(value, SparseTensor):
        return SparseTensorSpec(value.get_shape(), value.dtype)
    if isinstance(value, dataset_class[0]):
        return DatasetSpec(value.element_spec)
    return TensorSpec(value.shape, value.dtype.base_dtype)


def normalized(element: Any) -> Any:
    """The structure with tensors, sparse tensors and datasets for leaves."""
    return nest.map_structure(_leaf, element)


def _leaf(value: Any) -> Any:
    if isinstance(value, SparseTensorValue):
        return SparseTensor.from_value(value)
    if isinstance(value, (SparseTensor, dataset_class[0])):
        return value
    return convert_to_tensor(value, name="component")


def specs_of(element: Any) -> Any:
    """The structure of specs of a normalized element."""
    return nest.map_structure(spec_of, element)


def to_flat(element: Any) -> list[Tensor]:
    """A normalized element as flat tensors, one for each leaf."""
    return [_flat(leaf) for leaf in nest.flatten(element)]


def _flat(leaf: Any) -> Tensor:
    if isinstance(leaf, SparseTensor):
        element: Tensor = raw_ops._SparseToElement(leaf.indices, leaf.values, leaf.dense_shape)
        return element
    if isinstance(leaf, dataset_class[0]):
        return leaf._variant_tensor  # type: ignore[no-any-return]
    return leaf  # type: ignore[no-any-return]


def from_flat(spec: Any, tensors: Sequence[Tensor]) -> Any:
    """The element that flat tensors stand for."""
    leaves = [_value(one, tensor) for one, tensor in zip(nest.flatten(spec), tensors, strict=True)]
    return nest.pack_sequence_as(spec, leaves)


def _value(spec: Any, tensor: Tensor) -> Any:
    if isinstance(spec, SparseTensorSpec):
        indices, values, dense_shape = raw_ops._SparseFromElement(tensor, T=spec.dtype, shape=spec.shape)
        if spec.shape.is_fully_defined():
            dense_shape = convert_to_tensor(spec.shape.as_list(), dtypes.int64)
        return SparseTensor(indices, values, dense_shape)
    if isinstance(spec, DatasetSpec):
        return dataset_class[0]._of(tensor, spec.element_spec)
    return tensor


def flat_types(spec: Any) -> list[DType]:
    """The dtypes of the flat tensors."""
    return [one.dtype if isinstance(one, TensorSpec) else dtypes.variant for one in nest.flatten(spec)]


def flat_shapes(spec: Any) -> list[TensorShape]:
    """The shapes of the flat tensors."""
    return [one.shape if isinstance(one, TensorSpec) else TensorShape([]) for one in nest.flatten(spec)]


def types_of(spec: Any) -> Any:
    """TensorFlow 1's ``output_types``."""
    return nest.map_structure(lambda one: dtypes.variant if isinstance(one, DatasetSpec) else one.dtype, spec)


def shapes_of(spec: Any) -> Any:
    """TensorFlow 1's ``output_shapes``."""
    return nest.map_structure(lambda one: TensorShape([]) if isinstance(one, DatasetSpec) else one.shape, spec)


def classes_of(spec: Any) -> Any:
    """TensorFlow 1's ``output_classes``."""
    return nest.map_structure(lambda one: Tensor if isinstance(one, TensorSpec) else one.value_type, spec)


def from_legacy(output_types: Any, output_shapes: Any = None, output_classes: Any = None) -> Any:
    """The specs that types, shapes and classes tell."""
    output_types = nest.map_structure(dtypes.as_dtype, output_types)
    if output_shapes is None:
        shapes = [TensorShape(None)] * len(nest.flatten(output_types))
    else:
        shapes = [as_shape(s) for s in _up_to(output_types, output_shapes)]
    if output_classes is None:
        classes = [Tensor] * len(shapes)
    else:
        classes = nest.flatten_up_to(output_types, output_classes)
    leaves = zip(nest.flatten(output_types), shapes, classes, strict=True)
    return nest.pack_sequence_as(output_types, [_legacy_spec(*leaf) for leaf in leaves])


def _up_to(output_types: Any, output_shapes: Any) -> list[Any]:
    """The shapes in the places of the types; a shape may be given as a list or a tuple."""
    if not nest.is_structure(output_types):
        return [output_shapes]
    return nest.flatten_up_to(output_types, output_shapes)


def _legacy_spec(dtype: DType, shape: TensorShape, component_class: Any) -> Any:
    if component_class is Tensor:
        return TensorSpec(shape, dtype)
    if component_class is SparseTensor:
        return SparseTensorSpec(shape, dtype)
    if isinstance(component_class, DatasetSpec):
        return component_class
    raise TypeError(f"Could not build a structure for output class {component_class!r} {at()}")


def with_batch(spec: Any, size: int | None) -> Any:
    """The specs of batches of so many elements."""

    def batched(one: Any) -> Any:
        if isinstance(one, DatasetSpec):
            return DatasetSpec(one.element_spec, TensorShape([size]))
        shape = TensorShape([size]).concatenate(one.shape)
        return TensorSpec(shape, one.dtype) if isinstance(one, TensorSpec) else SparseTensorSpec(shape, one.dtype)

    return nest.map_structure(batched, spec)


def of_rows(spec: Any) -> Any:
    """The specs of the rows of what has these specs."""

    def row(one: Any) -> Any:
        shape = one.shape if one.shape.ndims is None else TensorShape(one.shape.as_list()[1:])
        return TensorSpec(shape, one.dtype) if isinstance(one, TensorSpec) else SparseTensorSpec(shape, one.dtype)

    return nest.map_structure(row, spec)
