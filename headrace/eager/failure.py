"""An exception of a kernel that ran eagerly -> the error of TF1's tree, naming the op, its inputs and the user's line."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from headrace.core import errors
from headrace.core.registry import OpDef
from headrace.core.source import user_source
from headrace.core.wording import is_from_below
from headrace.eager.tensor import EagerHandle
from headrace.runtime.code.failure import error_class
from headrace.runtime.host.refusal import refusal


def op_error(error: BaseException, op_def: OpDef, inputs: Sequence[Any], attrs: dict[str, Any]) -> BaseException:
    """What to raise instead of ``error``; ``attrs`` are the node's, all of them."""
    if isinstance(error, (KeyboardInterrupt, SystemExit)):
        return error
    unset = _unset(error, inputs)
    if unset is not None:
        raised_class: type[errors.OpError] = errors.FailedPreconditionError
        message = (
            f"Error while reading variable {unset.op.name}: it was never given a value (made at {unset.op.source}); "
            "assign to it first"
        )
    elif op_def.built_in and is_from_below(error):
        raised_class, message = refusal(op_def, attrs, [t._value for t in inputs], error)
    else:
        raised_class, message = error_class(error)
        raised_class = getattr(error, "eager_error_class", raised_class)
    shown = ", ".join(_shown(t) for t in inputs)
    text = f"{message} [Op:{op_def.name}] inputs: {shown or 'none'} (at {user_source(2)})"
    return raised_class(None, None, text)  # type: ignore[call-arg]


def _unset(error: BaseException, inputs: Sequence[Any]) -> Any:
    if isinstance(error, AttributeError) and getattr(error, "name", None) == "value":
        for t in inputs:
            if isinstance(t, EagerHandle) and not getattr(t._value, "initialized", True):
                return t
    return None


def _shown(tensor: Any) -> str:
    dims = tensor._shape.tuple
    return f"{tensor.dtype.base_dtype.name}{'' if dims is None else list(dims)}"
