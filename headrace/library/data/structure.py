"""What the elements of a dataset are like, component by component, and how components become flat tensors and back."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

from headrace.core import dtypes
from headrace.core.dtypes import DType
from headrace.core.shape import TensorShape, as_shape
from headrace.core.source import at
from headrace.core.tensor_spec import ShapedSpec, TensorSpec
from headrace.graph import raw_ops
from headrace.graph.convert import convert_to_tensor
from headrace.graph.operation import Tensor
from headrace.graph.structures import SparseTensor, SparseTensorValue
from headrace.library.data import nest


class SparseTensorSpec(ShapedSpec):
    """The dtype and dense shape of a sparse tensor.

    Args:
      shape: The dense shape; None if it is not known.
      dtype: The type of the values.

    >>> tf.SparseTensorSpec([None, 3], tf.int64)
    SparseTensorSpec((?, 3), tf.int64)
    """

    __slots__ = ()

    def __init__(self, shape: Any = None, dtype: Any = dtypes.float32) -> None:
        super().__init__(shape, dtype)

    @property
    def value_type(self) -> type:
        """The class of what this describes, `tf.SparseTensor`."""
        return SparseTensor

    @classmethod
    def from_value(cls, value: Any) -> SparseTensorSpec:
        """The spec of a sparse tensor."""
        return cls(value.get_shape(), value.dtype)

    def is_compatible_with(self, spec_or_value: Any) -> bool:
        """Whether another spec, or a sparse tensor, may be like this."""
        spec = self.from_value(spec_or_value) if isinstance(spec_or_value, SparseTensor) else spec_or_value
        return isinstance(spec, SparseTensorSpec) and super().is_compatible_with(spec)

    def __repr__(self) -> str:
        return f"SparseTensorSpec({self._shape}, {self._dtype!r})"


class _HolderSpec:
    """What a component is like that holds elements and is one host value itself: a dataset, an optional."""

    __slots__ = ("_element_spec",)

    _value_types: ClassVar[dict[type, Any]] = {}

    def __init__(self, element_spec: Any) -> None:
        self._element_spec = element_spec

    @classmethod
    def describes(cls, value_type: Any) -> Any:
        """Declares the class of the values that are like this.  For a decorator; the class is above this module."""
        cls._value_types[cls] = value_type
        return value_type

    @property
    def element_spec(self) -> Any:
        """What an element, or the value, is like."""
        return self._element_spec

    @property
    def value_type(self) -> Any:
        """The class of what this describes."""
        return self._value_types[type(self)]

    @classmethod
    def from_value(cls, value: Any) -> Any:
        """The spec of a dataset or an optional."""
        return cls(value.element_spec)

    def is_compatible_with(self, spec_or_value: Any) -> bool:
        """Whether another spec, or a value, may be like this."""
        spec = self.from_value(spec_or_value) if isinstance(spec_or_value, self.value_type) else spec_or_value
        return isinstance(spec, type(self)) and is_compatible(self._element_spec, spec._element_spec)

    def __eq__(self, other: object) -> bool:
        if type(other) is not type(self):
            return NotImplemented
        return bool(self._element_spec == other._element_spec)

    def __hash__(self) -> int:
        return hash(type(self))

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self._element_spec!r})"


class DatasetSpec(_HolderSpec):
    """What a component is like that is a dataset itself, as those of windows are.

    Args:
      element_spec: What an element of the dataset is like: a `tf.TensorSpec`, or a nested structure of specs.
      dataset_shape: The shape of a batch of datasets; () for one dataset.

    >>> tf.data.Dataset.range(6).window(3).element_spec
    DatasetSpec(TensorSpec(shape=(), dtype=tf.int64, name=None), ())
    """

    __slots__ = ("_dataset_shape",)

    def __init__(self, element_spec: Any, dataset_shape: Any = ()) -> None:
        super().__init__(element_spec)
        self._dataset_shape = as_shape(dataset_shape)

    def __repr__(self) -> str:
        return f"DatasetSpec({self._element_spec!r}, {self._dataset_shape})"


class OptionalSpec(_HolderSpec):
    """What a component is like that is an optional.

    Args:
      value_structure: What the value is like: a `tf.TensorSpec`, or a nested structure of specs.

    >>> tf.OptionalSpec(tf.TensorSpec([], tf.int64))
    OptionalSpec(TensorSpec(shape=(), dtype=tf.int64, name=None))
    """

    __slots__ = ()

    def __init__(self, value_structure: Any) -> None:
        super().__init__(value_structure)


DatasetStructure, OptionalStructure = DatasetSpec, OptionalSpec  # their older names


def TensorStructure(dtype: Any, shape: Any) -> TensorSpec:  # noqa: N802
    """The older name of `TensorSpec`.

    Args:
      dtype: The type.
      shape: The shape; None if it is not known.

    Returns:
      A `tf.TensorSpec`.

    >>> tf.data.experimental.TensorStructure(tf.int64, [2])
    TensorSpec(shape=(2,), dtype=tf.int64, name=None)
    """
    return TensorSpec(shape, dtype)


def SparseTensorStructure(dtype: Any, shape: Any) -> SparseTensorSpec:  # noqa: N802
    """The older name of `SparseTensorSpec`.

    Args:
      dtype: The type of the values.
      shape: The dense shape; None if it is not known.

    Returns:
      A `tf.SparseTensorSpec`.

    >>> tf.data.experimental.SparseTensorStructure(tf.int64, [2])
    SparseTensorSpec((2,), tf.int64)
    """
    return SparseTensorSpec(shape, dtype)


def is_compatible(first: Any, second: Any) -> bool:
    """Whether two structures of specs agree."""
    try:
        pairs = zip(nest.flatten(first), nest.flatten_up_to(first, second), strict=True)
    except (TypeError, ValueError):
        return False
    return all(type(a) is type(b) and a.is_compatible_with(b) for a, b in pairs)


def spec_of(value: Any) -> Any:
    """What a tensor, a sparse tensor, a dataset or an optional is like."""
    if isinstance(value, SparseTensor):
        return SparseTensorSpec.from_value(value)
    for spec_class, value_type in _HolderSpec._value_types.items():
        if isinstance(value, value_type):
            return spec_class(value.element_spec)
    return TensorSpec(value.shape, value.dtype.base_dtype)


def normalized(element: Any) -> Any:
    """The structure with tensors, sparse tensors, datasets and optionals for leaves."""
    return nest.map_structure(_leaf, element)


def _leaf(value: Any) -> Any:
    if isinstance(value, SparseTensorValue):
        return SparseTensor.from_value(value)
    if isinstance(value, (SparseTensor, *_HolderSpec._value_types.values())):
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
    if getattr(leaf, "_device", ""):
        raise TypeError(f"a dataset on a device cannot be a component of an element, got {leaf!r} {at()}")
    return leaf if isinstance(leaf, Tensor) else leaf._variant_tensor  # type: ignore[no-any-return]


def from_flat(spec: Any, tensors: Sequence[Tensor]) -> Any:
    """The element that flat tensors stand for."""
    leaves = [_value(one, tensor) for one, tensor in zip(nest.flatten(spec), tensors, strict=True)]
    return nest.pack_sequence_as(spec, leaves)


def _value(spec: Any, tensor: Tensor) -> Any:
    if isinstance(spec, SparseTensorSpec):
        indices, values, dense_shape = raw_ops._SparseFromElement(tensor, T=spec.dtype, shape=spec.shape)
        sizes = spec.shape.as_list() if spec.shape.ndims is not None else []
        if spec.shape.is_fully_defined():
            dense_shape = convert_to_tensor(sizes, dtypes.int64)
        elif any(n is not None for n in sizes):  # so that they are known of what is made of it
            pieces = raw_ops.Unpack(dense_shape, num=len(sizes))
            dense_shape = raw_ops.Pack([p if n is None else _int64(n) for n, p in zip(sizes, pieces, strict=True)])
        return SparseTensor(indices, values, dense_shape)
    if isinstance(spec, _HolderSpec):
        return spec.value_type._of(tensor, spec.element_spec)
    return tensor


def _int64(value: int) -> Tensor:
    return convert_to_tensor(value, dtypes.int64)


def flat_types(spec: Any) -> list[DType]:
    """The dtypes of the flat tensors."""
    return [one.dtype if isinstance(one, TensorSpec) else dtypes.variant for one in nest.flatten(spec)]


def flat_shapes(spec: Any) -> list[TensorShape]:
    """The shapes of the flat tensors."""
    return [one.shape if isinstance(one, TensorSpec) else TensorShape([]) for one in nest.flatten(spec)]


def types_of(spec: Any) -> Any:
    """TensorFlow 1's ``output_types``: those of a dataset or an optional are its spec."""
    return nest.map_structure(lambda one: one if isinstance(one, _HolderSpec) else one.dtype, spec)


def shapes_of(spec: Any) -> Any:
    """TensorFlow 1's ``output_shapes``."""
    return nest.map_structure(lambda one: one if isinstance(one, _HolderSpec) else one.shape, spec)


def classes_of(spec: Any) -> Any:
    """TensorFlow 1's ``output_classes``."""
    return nest.map_structure(_class_of, spec)


def _class_of(spec: Any) -> Any:
    return Tensor if isinstance(spec, TensorSpec) else spec if isinstance(spec, _HolderSpec) else spec.value_type


def from_legacy(output_types: Any, output_shapes: Any = None, output_classes: Any = None) -> Any:
    """The specs that types, shapes and classes tell."""
    output_types = nest.map_structure(lambda t: t if isinstance(t, _HolderSpec) else dtypes.as_dtype(t), output_types)
    if output_shapes is None:
        shapes: list[Any] = [TensorShape(None)] * len(nest.flatten(output_types))
    else:
        shapes = [s if isinstance(s, _HolderSpec) else as_shape(s) for s in _up_to(output_types, output_shapes)]
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


def _legacy_spec(dtype: Any, shape: Any, component_class: Any) -> Any:
    if isinstance(dtype, _HolderSpec):
        return dtype
    if component_class is Tensor:
        return TensorSpec(shape, dtype)
    if component_class is SparseTensor:
        return SparseTensorSpec(shape, dtype)
    raise TypeError(f"Could not build a structure for output class {component_class!r} {at()}")


def with_batch(spec: Any, size: int | None) -> Any:
    """The specs of batches of so many elements."""

    def batched(one: Any) -> Any:
        if isinstance(one, DatasetSpec):
            return DatasetSpec(one.element_spec, TensorShape([size]))
        return type(one)(TensorShape([size]).concatenate(_shape(one)), one.dtype)

    return nest.map_structure(batched, spec)


def of_rows(spec: Any) -> Any:
    """The specs of the rows of what has these specs."""

    def row(one: Any) -> Any:
        shape = _shape(one)
        return type(one)(shape if shape.ndims is None else TensorShape(shape.as_list()[1:]), one.dtype)

    return nest.map_structure(row, spec)


def _shape(spec: Any) -> TensorShape:
    if isinstance(spec, _HolderSpec):
        raise TypeError(f"only tensors can be batched or cut into rows, got {spec!r} {at()}")
    return spec.shape  # type: ignore[no-any-return]
