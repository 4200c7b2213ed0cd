"""The functions of datasets: traced once, as bodies of their own, with what they capture."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from headrace.core.shape import TensorShape
from headrace.core.source import at
from headrace.core.tensor_spec import ShapedSpec
from headrace.graph import context
from headrace.graph.body import Detached, FuncGraph, function_name, needed_controls
from headrace.graph.operation import Tensor
from headrace.library.data import nest
from headrace.library.data.structure import (
    flat_shapes,
    flat_types,
    from_flat,
    normalized,
    specs_of,
    to_flat,
    types_of,
)
from headrace.library.function.trace import Spec, captured, trace


@dataclass(frozen=True, slots=True)
class Traced:
    """A function of elements, ready to be held by a node."""

    body: FuncGraph
    spec: Any  # of its result

    @property
    def attr(self) -> Detached:
        return Detached(self.body)

    @property
    def values(self) -> list[Tensor]:
        """The values that it has captured."""
        return [t for t in captured(self.body) if not t.dtype._is_ref_dtype]

    @property
    def refs(self) -> list[Tensor]:
        """The handles of variables that it has captured."""
        return [t for t in captured(self.body) if t.dtype._is_ref_dtype]

    def make(self, build: Callable[[], Any]) -> Any:
        """What ``build`` gives, after what the function waits for outside."""
        controls = needed_controls([self.body])
        if not controls:
            return build()
        with context.get_default_graph().control_dependencies(controls):
            return build()


def trace_function(python_function: Callable[..., Any], method: str, *specs: Any, joined: bool = False) -> Traced:
    """The function for elements of these specs, each one argument; the only one is unpacked if it is a tuple.

    ``joined``: of several specs, each is one argument.
    """
    if not callable(python_function):
        raise TypeError(f"{method} needs a function, got {python_function!r} {at()}")
    flat = [(dtype, shape) for spec in specs for dtype, shape in zip(flat_types(spec), flat_shapes(spec), strict=True)]
    result: list[Any] = []

    def arguments(tensors: Any) -> tuple[Any, dict[str, Any]]:
        rest = list(tensors)
        values = []
        for spec in specs:
            count = len(nest.flatten(spec))
            values.append(from_flat(spec, rest[:count]))
            del rest[:count]
        if len(values) == 1 and not joined and type(values[0]) is tuple:
            return values[0], {}
        return values, {}

    def convert(returned: Any) -> list[Tensor]:
        if isinstance(returned, list):
            returned = tuple(returned)
        try:
            element = normalized(returned)
        except (TypeError, ValueError) as e:
            raise TypeError(
                f"Unsupported return value from function passed to {method}: {returned!r}. {e} {at()}"
            ) from e
        result[:] = [specs_of(element)]
        return to_flat(element)

    name = f"Dataset_{method}_" + getattr(python_function, "__name__", "function").replace("<lambda>", "lambda")
    traced = trace(
        object(), python_function, name, None, [Spec(t, TensorShape(s)) for t, s in flat], arguments, convert_result=convert,
        body_name=function_name(name, context.get_default_graph()),
    )  # fmt: skip
    return Traced(traced.body, result[0])


def settled(
    function: Callable[..., Any], method: str, spec: Any, element_spec: Any, state_of: Any = lambda result: result
) -> tuple[Any, Any]:
    """The function for a state whose shape holds for the results too."""
    while True:
        f = trace_function(function, method, spec, element_spec, joined=True)
        new = state_of(f.spec)
        if str(types_of(new)) != str(types_of(spec)):
            raise TypeError(
                f"The element types for the new state must match the initial state. Expected {types_of(spec)}; "
                f"got {types_of(new)}. {at()}"
            )
        joint = nest.map_structure(either, spec, new)
        if joint == spec:
            return f, spec
        spec = joint


def either(first: Any, second: Any) -> Any:
    """A spec that both fit."""
    if not isinstance(first, ShapedSpec):
        return first
    a, b = first.shape.tuple, second.shape.tuple
    if a is None or b is None or len(a) != len(b):
        shape = TensorShape(None)
    else:
        shape = TensorShape([x if x == y else None for x, y in zip(a, b, strict=True)])
    return type(first)(shape, first.dtype)
