"""Every registered op as a function that adds one node: ``raw_ops.MatMul(a, b, transpose_a=True, name="product")``.

Positional arguments are the inputs, then the attributes, in signature order.
"""

from __future__ import annotations

from collections.abc import Callable
from inspect import Parameter, Signature
from typing import Any as _Any  # ``Any`` is an op

from headrace.core.registry import REGISTRY, OpDef
from headrace.core.signature import REQUIRED
from headrace.graph.build import call
from headrace.graph.context import get_default_graph as _default
from headrace.graph.op_help import op_help

# TensorFlow's Python names of arguments that have another name in its graphs.
_REDUCTION = {"axis": "reduction_indices"}
_PUBLIC: dict[str, dict[str, str]] = {
    **dict.fromkeys(("All", "Any", "EuclideanNorm", "Max", "Mean", "Min", "Prod", "Sum"), _REDUCTION),
    **dict.fromkeys(("Split", "SplitV"), {"axis": "split_dim"}),
    "ExpandDims": {"axis": "dim"},
    "Select": {"x": "t", "y": "e"},
    "Squeeze": {"axis": "squeeze_dims"},
    "Where": {"condition": "input"},
}


def __getattr__(name: str) -> Callable[..., _Any]:
    if name.startswith("__"):
        raise AttributeError(name)
    if name not in REGISTRY:
        raise AttributeError(f"no op type is called {name!r}")
    op_def = REGISTRY.get(name)
    public = _PUBLIC.get(name)

    def add_node(*args: _Any, **kwargs: _Any) -> _Any:
        default = _default()
        if public is not None:
            kwargs = {public.get(key, key): value for key, value in kwargs.items()}
        if default.executing_eagerly:
            return default.call(op_def, args, kwargs)
        return call(op_def, args, kwargs)

    add_node.__name__ = add_node.__qualname__ = name
    add_node.__doc__ = op_help(op_def, _shown_names(op_def))
    add_node.__signature__ = _signature(op_def)  # type: ignore[attr-defined]
    add_node.op_def = op_def  # type: ignore[attr-defined]
    _made.add(name)
    globals()[name] = add_node  # Python finds it by itself from now on
    return add_node


def _shown_names(op_def: OpDef) -> dict[str, str]:
    """What Python calls arguments that have another name in graphs."""
    return {graph_name: name for name, graph_name in _PUBLIC.get(op_def.name, {}).items()}


def _signature(op_def: OpDef) -> Signature:
    """What editors and ``inspect`` show: inputs, attributes without a default, the others, and the name."""
    attrs, shown = op_def.signature.attrs, _shown_names(op_def)
    names = [a.name for a in op_def.signature.inputs] + [a.name for a in attrs if a.default is REQUIRED]
    defaults = {a.name: _shown(a.default) for a in attrs if a.default is not REQUIRED}
    parameters = [Parameter(shown.get(name, name), Parameter.POSITIONAL_OR_KEYWORD) for name in names]
    for name, default in {**defaults, "name": None}.items():
        parameters.append(Parameter(shown.get(name, name), Parameter.POSITIONAL_OR_KEYWORD, default=default))
    return Signature(parameters)


def _shown(default: _Any) -> _Any:
    return list(default) if isinstance(default, tuple) else default


_made: set[str] = set()


def _forget(name: str) -> None:
    if name in _made:
        _made.discard(name)
        del globals()[name]


REGISTRY.forgetting.append(_forget)


def __dir__() -> list[str]:
    return sorted(d.name for d in REGISTRY)
