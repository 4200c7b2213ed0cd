"""What is wrong with a node's inputs, when its kernel failed with words of torch, numpy or Python.

The op's ``refuse`` rule has the first word: it says what TensorFlow's kernel says.  Then the shape rule is asked again, with
the shapes and values that the inputs have by now: what it would have refused while the graph was built, it refuses now in the
same words.  Nothing of this runs unless a kernel has failed, or would take what the rule refuses (`refusing`).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import torch

from headrace.core import errors
from headrace.core.dtypes import DType
from headrace.core.registry import OpDef, Rule
from headrace.core.shape import TensorShape
from headrace.core.wording import UNEXPLAINED, is_from_below, place
from headrace.graph.infer import check_ranks, group_inputs, in_op_words
from headrace.resources.calling.invoke import arguments
from headrace.resources.calling.value import from_numpy
from headrace.resources.state.variable import Variable

_NO_KERNEL = re.compile(r"not implemented for|not supported for|Could not run '|unsupported (scalar|data) ?type", re.I)
_NO_MEMORY = re.compile(r"can't allocate memory|out of memory|not enough memory", re.I)
_BYTES = re.compile(r"allocate ([\d.]+ ?\w*)")


def refusal(
    op_def: OpDef, attrs: dict[str, Any], values: Sequence[Any], error: BaseException
) -> tuple[type[errors.OpError], str]:
    """The class and the text of an error from below.  ``values`` are the flat inputs as the step holds them."""
    text = str(error)
    if isinstance(error, (MemoryError, torch.OutOfMemoryError)) or _NO_MEMORY.search(text):
        amount = _BYTES.search(text)
        amount_text = f" of {amount[1]}" if amount else ""
        return errors.ResourceExhaustedError, f"OOM when allocating memory{amount_text} for op {op_def.name}"
    if isinstance(error, RecursionError):
        return errors.ResourceExhaustedError, f"op {op_def.name} is nested too deeply"
    if isinstance(error, StopIteration):
        return errors.OutOfRangeError, "End of sequence"
    refused = values_refused(op_def, attrs, values) or shapes_refused(
        op_def, attrs, group_inputs(op_def, values, attrs)
    )
    if refused is not None:
        return errors.InvalidArgumentError, refused
    if isinstance(error, ZeroDivisionError) or "ZeroDivisionError" in text:
        return errors.InvalidArgumentError, "Integer division by zero"
    if isinstance(error, NotImplementedError) or _NO_KERNEL.search(text):
        types = ", ".join(f"{name}={value.name}" for name, value in attrs.items() if isinstance(value, DType))
        return errors.UnimplementedError, f"op {op_def.name} has no kernel for types {types or 'of its inputs'} here"
    return errors.InvalidArgumentError, f"{UNEXPLAINED} ({type(error).__name__} at {place(error)})"


def shapes_refused(op_def: OpDef, attrs: dict[str, Any], grouped: Sequence[Any]) -> str | None:
    """What the shape rule has against the inputs, one for each argument; None if nothing, or if it cannot tell."""
    if op_def.shape_fn is None:
        return None
    try:
        arguments: list[Any] = []
        check_ranks(op_def, grouped, lambda value: _shape(value).ndims, lambda value: _shape(value).tuple or ())
        for arg, value in zip(op_def.signature.inputs, grouped, strict=True):
            look = _numbers if arg.host else _shape
            arguments.append([look(v) for v in value] if arg.is_list else look(value))
        op_def.shape_fn(*arguments, *[attrs[name] for name in op_def.attr_names])
    except Exception as error:  # noqa: BLE001 - a rule that cannot judge these values has nothing to say about them
        return None if is_from_below(error) else in_op_words(str(error))
    return None


def values_refused(op_def: OpDef, attrs: dict[str, Any], values: Sequence[Any]) -> str | None:
    """What the op's ``refuse`` rule has against the inputs; None as of `shapes_refused`."""
    return _said(op_def, lambda: arguments(op_def, [_tensor(v) for v in values], attrs))


def _said(op_def: OpDef, kernel_arguments: Callable[[], Sequence[Any]]) -> str | None:
    if op_def.refuse_fn is None:
        return None
    try:
        op_def.refuse_fn(*kernel_arguments())
    except Exception as error:  # noqa: BLE001 - a rule that cannot judge these values has nothing to say about them
        return None if is_from_below(error) else str(error)
    return None


def _tensor(value: Any) -> Any:
    return from_numpy(value) if isinstance(value, np.ndarray) and value.dtype != object else value


_MANY = 1000  # combinations of shapes that one node remembers


def refusing(op_def: OpDef, attrs: dict[str, Any], call: Rule) -> Rule:
    """The kernel of a lenient op, for inputs of shapes not known before: each combination of shapes is checked once."""
    count = len(op_def.signature.inputs)
    accepted: set[Any] = set()

    def checked(*values: Any, **extra: Any) -> Any:
        shapes = tuple(map(_seen, values[:count]))
        if None not in shapes and shapes not in accepted:
            text = shapes_refused(op_def, attrs, values[:count])
            if text is not None:
                said = _said(op_def, lambda: [_tensor(v) for v in values])
                raise errors.InvalidArgumentError(None, None, said or text)
            if len(accepted) >= _MANY:
                accepted.clear()
            accepted.add(shapes)
        return call(*values, **extra)

    return checked


def _seen(value: Any) -> Any:
    """What is remembered of an input: its shape, or the number it is; None of one whose shape is not that of a value (traced)."""
    if type(value) is torch.Tensor or isinstance(value, np.ndarray):
        return value.shape
    if isinstance(value, Variable):
        return value.value.shape if value.initialized else ()
    if isinstance(value, list):
        return tuple(map(_seen, value))
    return value if isinstance(value, (bool, int, float)) else None


def _shape(value: Any) -> TensorShape:
    if isinstance(value, Variable):
        return TensorShape(value.value.shape) if value.initialized else TensorShape(None)
    if isinstance(value, (bool, int, float, list)):  # a host input
        return TensorShape(np.shape(value))
    return TensorShape(value.shape) if hasattr(value, "shape") else TensorShape(None)


def _numbers(value: Any) -> Any:
    return value.tolist() if hasattr(value, "tolist") else value
