"""Optionals: elements that may be missing, one host value of dtype variant each."""

from __future__ import annotations

import numpy as np
import torch

from headrace.core.dtypes import ANY, string, variant
from headrace.core.errors import InvalidArgumentError
from headrace.core.registry import op
from headrace.ops.dataset.declare import TYPES
from headrace.ops.shared.resource import check_dtype
from headrace.resources.calling.value import torch_dtype
from headrace.resources.data.optional import OptionalValue


def _declared(signature, **traits):
    definition = op(signature, host=True, **traits)
    definition.not_differentiable()
    definition.shape(lambda *arguments: ())
    return definition


_declared("OptionalNone() -> (optional: variant)").kernel(lambda: OptionalValue(None))
_declared(
    "OptionalFromValue(components: list(Toutput_types)) -> (optional: variant)", Toutput_types=ANY, keeps=True
).kernel(lambda components: OptionalValue(tuple(components)))
has_value = _declared("OptionalHasValue(optional: variant) -> (has_value: bool)")
get_value = op(
    f"OptionalGetValue(optional: variant; {TYPES}) -> (components: list(output_types))", host=True, view=True
)
get_value.not_differentiable()
get_value.shape(lambda optional, output_types, output_shapes: list(output_shapes))


@has_value.kernel
def _(optional):
    check_optional(optional)
    return torch.tensor(optional.element is not None)


@get_value.kernel
def _(optional, output_types, output_shapes, *, node):
    check_optional(optional)
    types, shapes = node.attrs["output_types"], node.attrs["output_shapes"]
    if optional.element is None:
        raise InvalidArgumentError(None, None, "The given optional does not have a value.")
    if len(optional.element) != len(types):
        raise InvalidArgumentError(
            None, None,
            f"The given optional has {len(optional.element)} components, expected {len(types)}.",
        )  # fmt: skip
    for i, (value, dtype, shape) in enumerate(zip(optional.element, types, shapes, strict=True)):
        if dtype == variant:
            continue
        check_dtype(
            f"Component {i} of the given optional", value, np.dtype(object) if dtype == string else torch_dtype(dtype)
        )
        if not shape.is_compatible_with(value.shape):
            raise InvalidArgumentError(
                None, None,
                f"Component {i} of the given optional has shape {tuple(value.shape)}, expected {shape}.",
            )  # fmt: skip
    return list(optional.element)


def check_optional(value):
    """Refuses a variant that is no optional."""
    if not isinstance(value, OptionalValue):
        raise InvalidArgumentError(
            None, None, f"an optional is needed, got a variant that holds a {type(value).__name__}"
        )
