"""tf.data.experimental.Optional: a value that may be missing."""

from __future__ import annotations

from typing import Any

from headrace.core.source import at
from headrace.graph import raw_ops
from headrace.graph.operation import Tensor
from headrace.graph.structures import Composite
from headrace.library.data import structure
from headrace.library.data.iterator import Iterator
from headrace.library.data.structure import OptionalSpec, flat_shapes, flat_types


@OptionalSpec.describes
class Optional(Composite):
    """A value that may be missing, such as the next element of an iterator that may be at its end.

    >>> maybe = tf.data.experimental.Optional.from_value(42)
    >>> tf.Session().run([maybe.has_value(), maybe.get_value()])
    [np.True_, np.int32(42)]
    """

    @classmethod
    def _of(cls, variant: Tensor, element_spec: Any) -> Optional:
        optional = cls()
        optional._variant_tensor, optional.element_spec = variant, element_spec
        return optional

    @staticmethod
    def from_value(value: Any) -> Optional:
        """An optional that has the value, a structure of tensors."""
        element = structure.normalized(value)
        components = structure.to_flat(element)
        if not components:
            raise ValueError(f"Optional.from_value needs at least one tensor, got {value!r} {at()}")
        return Optional._of(raw_ops.OptionalFromValue(components), structure.specs_of(element))

    @staticmethod
    def none_from_structure(value_structure: Any) -> Optional:
        """An optional without a value, which would be like ``value_structure``, a structure of specs."""
        return Optional._of(raw_ops.OptionalNone(), value_structure)

    empty = none_from_structure

    def has_value(self, name: str | None = None) -> Tensor:
        """Whether there is a value."""
        has: Tensor = raw_ops.OptionalHasValue(self._variant_tensor, name=name)
        return has

    def get_value(self, name: str | None = None) -> Any:
        """The value; a step without one raises InvalidArgumentError."""
        spec = self.element_spec
        tensors = raw_ops.OptionalGetValue(
            self._variant_tensor, output_types=flat_types(spec), output_shapes=flat_shapes(spec), name=name
        )
        return structure.from_flat(spec, tensors)

    @property
    def value_structure(self) -> Any:
        """What the value is like."""
        return self.element_spec


def get_next_as_optional(iterator: Iterator) -> Optional:
    """The next element of an iterator, or nothing at its end, where ``get_next()`` would raise OutOfRangeError.

    Args:
      iterator: An iterator of a dataset.

    Returns:
      A `tf.data.experimental.Optional`: another one in each step.

    >>> iterator = tf.data.Dataset.range(0).make_one_shot_iterator()
    >>> tf.Session().run(tf.data.experimental.get_next_as_optional(iterator).has_value())
    np.False_
    """
    if not isinstance(iterator, Iterator):
        raise TypeError(f"get_next_as_optional needs an iterator of a dataset, got {iterator!r} {at()}")
    spec = iterator.element_spec
    variant = raw_ops.IteratorGetNextAsOptional(
        iterator._iterator_resource, output_types=flat_types(spec), output_shapes=flat_shapes(spec)
    )
    return Optional._of(variant, spec)
