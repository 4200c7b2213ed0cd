"""Static inference: output shapes from an op's rule, and what is known of integer values while the graph is built.

A shape rule receives, in signature order, one argument per input and then one per attribute: a ``TensorShape`` for an
ordinary input, a list of them for a list input, and for a ``host`` input what is known of its value: a number or nested
lists of numbers, ``None`` standing for each unknown one (just ``None`` when not even the number of elements is known).
It returns a shape (``TensorShape``, a sequence of dimensions, or ``None`` for unknown), or a *list* of those when the op has
several outputs.  It raises ValueError for inputs that can never work.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from headrace.core.registry import REGISTRY, OpDef
from headrace.core.shape import TensorShape, as_shape
from headrace.core.wording import UNEXPLAINED, in_brackets, is_from_below, place

if TYPE_CHECKING:
    from headrace.core.source import Source
    from headrace.graph.operation import Operation, Tensor

_UNKNOWN = TensorShape(None)
_SMALL = 4096  # the largest value, in elements, worth following while building


def group_inputs(op_def: OpDef, inputs: Sequence[Any], attrs: dict[str, Any]) -> list[Any]:
    """The flat inputs, one entry per signature argument; list arguments become lists."""
    if op_def.takes_tensors:
        return list(inputs)
    grouped: list[Any] = []
    position = 0
    for arg in op_def.signature.inputs:
        if arg.is_list:
            count = attrs[arg.number_attr] if arg.number_attr else len(attrs[arg.type_list_attr or ""])
            grouped.append(list(inputs[position : position + count]))
            position += count
        else:
            grouped.append(inputs[position])
            position += 1
    return grouped


def infer_shapes(op_def: OpDef, inputs: Sequence[Tensor], attrs: dict[str, Any], outputs: int) -> list[TensorShape]:
    """The static shapes of all outputs."""
    if outputs == 0 and op_def.shape_fn is None:
        return []
    rule = op_def.shape_fn
    arguments: list[Any] = []
    grouped = group_inputs(op_def, inputs, attrs)
    if op_def.ranks:
        check_ranks(op_def, grouped, lambda tensor: tensor._shape.ndims)
    for arg, value in zip(op_def.signature.inputs, grouped, strict=True):
        if arg.host:
            arguments.append([known_value(t) for t in value] if arg.is_list else known_value(value))
        else:
            arguments.append([t._shape for t in value] if arg.is_list else value._shape)
    if rule is not None:
        result = rule(*arguments, *[attrs[n] for n in op_def.attr_names])
    elif REGISTRY.shape_fallback is not None:
        result = REGISTRY.shape_fallback(
            op_def, list(zip(inputs_dtypes(op_def, inputs, attrs), arguments, strict=True)), attrs
        )
    else:
        return [_UNKNOWN] * outputs
    if outputs == 1 and not isinstance(result, list):
        return [_shape(result)]
    if result is None:
        return [_UNKNOWN] * outputs
    several = any(isinstance(r, (TensorShape, tuple, list)) for r in result)
    if outputs == 1 and not op_def.signature.outputs[0].is_list and not several:
        return [_shape(result)]  # a list of sizes
    shapes = [_shape(r) for r in result]
    if len(shapes) != outputs:
        raise ValueError(f"the shape rule of {op_def.name} gave {len(shapes)} shapes for {outputs} outputs")
    return shapes


def check_ranks(
    op_def: OpDef, grouped: Sequence[Any], rank: Callable[[Any], int | None],
    sizes: Callable[[Any], Sequence[int | None]] | None = None,
) -> None:  # fmt: skip
    """ValueError, in TensorFlow's words, if an input has a rank that the op does not take; ``grouped`` by `group_inputs`.

    ``sizes``, when it runs: the shape of a value that should be a scalar, which the message then has, with the input's name.
    """
    for position, least, greatest in op_def.ranks:
        is_list = op_def.signature.inputs[position].is_list
        for value in grouped[position] if is_list else (grouped[position],):
            received = rank(value)
            if received is not None and not least <= received <= greatest:
                how = "" if least == greatest else "at least " if received < least else "at most "
                bound = least if received < least else greatest
                text = f"Shape must be {how}rank {bound} but is rank {received}"
                if sizes is not None and greatest == 0:
                    name = op_def.signature.inputs[position].name
                    text = f"{name} must be a scalar, but got shape {in_brackets(sizes(value))}: {text}"
                raise ValueError(text)


def inputs_dtypes(op_def: OpDef, inputs: Sequence[Tensor], attrs: dict[str, Any]) -> list[Any]:
    return [
        [t.dtype.base_dtype for t in g] if isinstance(g, list) else g.dtype.base_dtype
        for g in group_inputs(op_def, inputs, attrs)
    ]


def _shape(value: Any) -> TensorShape:
    return value if isinstance(value, TensorShape) else as_shape(value)


_RANK = re.compile(r"^Shape (\([^()]*\)) must have rank (at least |at most )?(\d+)")
_MERGE = re.compile(r"^Shapes \(([^()]*)\) and \(([^()]*)\) are not compatible")


def in_op_words(text: str) -> str:
    """TensorFlow's words for wrong ranks and sizes in a shape rule, where ``TensorShape`` has other ones."""

    def of_rank(match: re.Match[str]) -> str:
        return f"Shape must be {match[2] or ''}rank {match[3]} but is rank {len(_listed(match[1][1:-1]))}"

    def of_merge(match: re.Match[str]) -> str:
        a, b = _listed(match[1]), _listed(match[2])
        if len(a) != len(b):
            return f"Shapes must be equal rank, but are {len(a)} and {len(b)}"
        axis = next(i for i, (x, y) in enumerate(zip(a, b, strict=True)) if x != y and "?" not in (x, y))
        return (
            f"Dimension {axis} in both shapes must be equal, but are {a[axis]} and {b[axis]}. "
            f"Shapes are [{','.join(a)}] and [{','.join(b)}]."
        )

    return _MERGE.sub(of_merge, _RANK.sub(of_rank, text))


def _listed(sizes: str) -> list[str]:
    return [size.strip() for size in sizes.split(",") if size.strip()]


def rule_error(definition: OpDef, error: Exception) -> Exception | None:
    """What a shape rule has against the inputs.  None: the rule of a user's op failed in a way of its own."""
    if definition.built_in and is_from_below(error):
        return ValueError(f"{UNEXPLAINED} ({type(error).__name__} at {place(error)})")
    return error if isinstance(error, ValueError) else None


def shape_error(
    op_def: OpDef, name: str | None, inputs: Sequence[Tensor], attrs: dict[str, Any], error: Exception, source: Source
) -> str:
    """What is wrong, the op, what it received, and the user's line."""
    shapes = ", ".join(in_brackets(t._shape.tuple) for t in inputs)
    label = (name or op_def.name).rstrip("/")
    text = f"{in_op_words(str(error))} for '{label}' (op: '{op_def.name}') with input shapes: {shapes}"
    hosts = [
        f"{arg.name} = {known_value(t)}"
        for arg, t in zip(op_def.signature.inputs, group_inputs(op_def, inputs, attrs), strict=True)
        if arg.host and not arg.is_list
    ]
    if hosts:
        text += f" and {', '.join(hosts)}"
    return f"{text} (at {source})"


# ---- values


def partial_value(tensor: Tensor) -> np.ndarray[Any, Any] | None:
    """What is known of the tensor's value: an array, of dtype object with None for unknown elements if some are.

    None when nothing is known, or the value is large.
    """
    return _follow(tensor, {}, 0)


_DEEP = 200  # how far back a value is followed; beyond, it counts as unknown


def _follow(tensor: Tensor, seen: dict[Tensor, Any], depth: int) -> np.ndarray[Any, Any] | None:
    """Follows one question of ``partial_value``: each tensor is looked at once, however many paths lead to it."""
    static_value: np.ndarray[Any, Any] | None = tensor._static_value
    if static_value is not None:
        return static_value
    if tensor not in seen:
        seen[tensor] = _computed(tensor, seen, depth) if depth < _DEEP else _unknown_elements(tensor)
    value: np.ndarray[Any, Any] | None = seen[tensor]
    return value


def _computed(tensor: Tensor, seen: dict[Tensor, Any], depth: int) -> np.ndarray[Any, Any] | None:
    op = tensor.op
    op_def = op.op_def
    value: Any = None
    if tensor.dtype.base_dtype.name in ("variant", "resource"):
        return None
    if op_def.value_fn is not None:
        unasked = op_def.traits.of_shapes  # what led to the inputs may be a whole network
        value = op_def.value_fn(op, *[None if unasked else _follow(t, seen, depth + 1) for t in op.inputs])
        if isinstance(value, tuple):
            value = value[tensor.value_index]
    elif op_def.traits.pure and REGISTRY.evaluate is not None and op.inputs:
        inputs = _small_inputs(op, seen, depth)
        if inputs is not None:
            values = REGISTRY.evaluate(op_def, inputs, op.attrs)
            value = None if values is None else values[tensor.value_index]
    if value is None:
        return _unknown_elements(tensor)
    value = np.asarray(value)
    if value.dtype == object and tensor.dtype.base_dtype.name != "string" and all(v is not None for v in value.flat):
        value = value.astype(tensor.dtype.as_numpy_dtype)
    if value.dtype != object:
        tensor._static_value = value
    return value  # type: ignore[no-any-return]


def _small_inputs(op: Operation, seen: dict[Tensor, Any], depth: int) -> list[np.ndarray[Any, Any]] | None:
    """The values of all inputs; None if one is large or not known, and then the others are not followed."""
    inputs = []
    for tensor in op.inputs:
        value = _follow(tensor, seen, depth + 1)
        if value is None or value.dtype == object or value.size > _SMALL:
            return None
        inputs.append(value)
    return inputs


def _unknown_elements(tensor: Tensor) -> np.ndarray[Any, Any] | None:
    """Nothing but the number of elements, if that is known."""
    dims = tensor._shape.tuple
    if dims is None or None in dims or math.prod(d for d in dims if d is not None) > _SMALL:
        return None
    return np.full([d for d in dims if d is not None], None, dtype=object)


def known_value(tensor: Tensor) -> Any:
    """What ``partial_value`` knows of a tensor, as plain Python numbers and nested lists, for shape rules."""
    value = partial_value(tensor)
    return None if value is None else value.tolist()


def constant_value(tensor: Any, partial: bool = False) -> Any:
    """The tensor's value as an array if the graph alone determines it, else None (TF1's ``constant_value``)."""
    value = partial_value(tensor)
    if value is None:
        return None
    if value.dtype == object and tensor.dtype.base_dtype.name != "string" and any(v is None for v in value.flat):
        return value if partial else None
    return value


def constant_value_as_shape(tensor: Any) -> TensorShape:
    """The shape a 1-D integer tensor stands for; -1 and unknown elements become unknown dimensions."""
    value = known_value(tensor)
    if value is None:
        return _UNKNOWN
    if not isinstance(value, list):
        if value == -1:
            return _UNKNOWN
        raise ValueError(f"a shape must be a 1-D tensor; {tensor.name} is a scalar with value {value}")
    return TensorShape([None if v is None or v < 0 else v for v in value])
