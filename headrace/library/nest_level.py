"""One level of a nested structure: whether a value is walked into, its direct children, and the same with other children.

`headrace.library.nest` walks whole structures with these.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, MutableMapping, Sequence
from typing import Any

from headrace.graph.structures import Composite, IndexedSlices, SparseTensor

_STRINGS = (str, bytes, bytearray)


def is_namedtuple(instance: Any, strict: bool = False) -> bool:
    """Whether the value is a named tuple (``strict``: made by ``collections.namedtuple`` directly).

    Args:
      instance: Any value.
      strict: Whether a named tuple of a further subclass counts as none.

    Returns:
      True or False.

    >>> tf.contrib.framework.nest.is_namedtuple((1, 2))
    False
    """
    instance_type = type(instance)
    if not isinstance(instance, tuple) or (strict and instance_type.__base__ is not tuple):
        return False
    fields = getattr(instance, "_fields", None)
    return isinstance(fields, tuple) and all(isinstance(f, str) for f in fields)


def is_attrs(value: Any) -> bool:
    """Whether the value is an object of a class made with ``attrs``.

    Args:
      value: Any value.

    Returns:
      True or False.

    >>> tf.contrib.framework.nest.is_attrs([1])
    False
    """
    return not isinstance(value, type) and getattr(type(value), "__attrs_attrs__", None) is not None


def is_mapping(value: Any) -> bool:
    """Whether the value is a mapping.

    Args:
      value: Any value.

    Returns:
      True or False.

    >>> tf.contrib.framework.nest.is_mapping({'a': 1})
    True
    """
    return isinstance(value, Mapping)


def is_sequence(seq: Any) -> bool:
    """True for what is walked into: sequences (not strings, not sets), dictionaries, attrs objects.

    Args:
      seq: Any value.

    Returns:
      True or False.

    >>> tf.nest.is_nested([1, 2]), tf.nest.is_nested("ab"), tf.nest.is_nested({"a": 1})
    (True, False, True)
    """
    if isinstance(seq, (list, tuple, dict)):
        return True
    return (isinstance(seq, (Sequence, Mapping)) and not isinstance(seq, _STRINGS)) or is_attrs(seq)


def is_sequence_or_composite(seq: Any) -> bool:
    """Whether the value is a nested structure, or a sparse tensor and the like.

    Args:
      seq: Any value.

    Returns:
      True or False.

    >>> tf.contrib.framework.nest.is_sequence_or_composite(tf.SparseTensor([[0]], [1], [3]))
    True
    """
    return is_sequence(seq) or isinstance(seq, (IndexedSlices, SparseTensor, Composite))


def walks(expand_composites: bool) -> Callable[[Any], bool]:
    """What says whether a value is walked into."""
    return is_sequence_or_composite if expand_composites else is_sequence


def _sorted_keys(mapping: Mapping[Any, Any]) -> list[Any]:
    try:
        return sorted(mapping)
    except TypeError:
        raise TypeError("nest only supports dicts with sortable keys.") from None


def items(structure: Any) -> list[tuple[Any, Any]]:
    """The direct children with their keys, in walking order."""
    if isinstance(structure, Mapping):
        return [(k, structure[k]) for k in _sorted_keys(structure)]
    if is_namedtuple(structure):
        return [(f, getattr(structure, f)) for f in structure._fields]
    if is_attrs(structure):
        return [(a.name, getattr(structure, a.name)) for a in type(structure).__attrs_attrs__]
    if isinstance(structure, IndexedSlices):
        parts = [("values", structure.values), ("indices", structure.indices)]
        return [*parts, ("dense_shape", structure.dense_shape)] if structure.dense_shape is not None else parts
    if isinstance(structure, SparseTensor):
        return [(k, getattr(structure, k)) for k in ("indices", "values", "dense_shape")]
    if isinstance(structure, Composite):
        return [("variant", structure._variant_tensor)]
    return list(enumerate(structure))


def children(structure: Any) -> list[Any]:
    """The direct children, in walking order."""
    if isinstance(structure, (list, tuple)):
        return list(structure)
    return [v for _, v in items(structure)]


def like(instance: Any, values: Sequence[Any]) -> Any:
    """A structure of the type of ``instance`` with new children, in walking order."""
    instance_type = type(instance)
    if isinstance(instance, Mapping):
        entries = dict(zip(_sorted_keys(instance), values, strict=True))
        if hasattr(instance, "default_factory"):
            mapping: Any = instance_type(instance.default_factory)
        elif not isinstance(instance, MutableMapping):
            return instance_type({key: entries[key] for key in instance})  # type: ignore[call-arg]
        else:
            mapping = instance_type()
        for key in instance:
            mapping[key] = entries[key]
        return mapping
    if is_namedtuple(instance) or is_attrs(instance):
        return instance_type(*values)
    if isinstance(instance, IndexedSlices):
        return IndexedSlices(*values)
    if isinstance(instance, SparseTensor):
        return SparseTensor(*values)
    if isinstance(instance, Composite):
        return instance._of(values[0], instance.element_spec)
    return list(values) if instance_type is range else instance_type(values)


def same_type(a: Any, b: Any) -> bool:
    """Whether two structures are of one type; named tuples by name and fields, and all mappings are alike."""
    if type(a) is type(b):
        return True
    if is_namedtuple(a) and is_namedtuple(b):
        return type(a).__name__ == type(b).__name__ and a._fields == b._fields
    return isinstance(a, Mapping) and isinstance(b, Mapping)
