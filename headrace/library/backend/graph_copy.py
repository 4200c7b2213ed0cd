"""Tensors of the Keras graph computed again: eagerly, or in another graph."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any


def computed_again(tensors: Sequence[Any], known: Mapping[Any, Any], target: Any) -> list[Any]:
    """The tensors (or what operations give) anew in ``target``, with other values for those in ``known``.

    Captured values stand for themselves: variables are read as they are now.
    """
    graph = tensors[0].graph if tensors else None
    values = {inner: outer for outer, inner in graph.captures.items()} if graph is not None else {}
    values.update(known)
    results: dict[Any, Any] = {}  # operation -> its outputs
    stack = [getattr(t, "op", t) for t in reversed(tensors) if t not in values]
    while stack:
        op = stack[-1]
        missing = [t.op for t in op.inputs if t not in values]
        if op in results:
            stack.pop()
        elif op.type == "_Arg":
            raise ValueError(f"The input {op.name} of a model has no value, but {tensors} depend on it")
        elif missing:
            stack.extend(missing)
        else:
            inputs = [values[t] for t in op.inputs]
            name, dtypes = op.name.split("/")[-1], [t.dtype for t in op.outputs]
            results[op] = target.create_op(op.op_def, inputs, dtypes, name=name, attrs=dict(op.attrs))._outputs
            values.update(zip(op.outputs, results[op], strict=True))
            stack.pop()
    return [values.get(t) for t in tensors]
