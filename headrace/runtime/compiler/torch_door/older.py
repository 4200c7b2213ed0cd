"""Work that torch's compiler did for nothing before 2.13.

It compared the arguments of each Min and Max in an index by sympy's rules, which factor every term: half of the time in which
AlexNet's kernels for a GPU were written.  And for an op that it has no rule for, it wrote the whole graph as text, for a line of
a log that nobody reads: a quarter of the time for a transformer.
"""

from __future__ import annotations

import importlib
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import torch


@contextmanager
def as_in_later_versions() -> Iterator[None]:
    """Meanwhile an older compiler leaves that out.  The caller holds ``compile.compiler``."""
    indices: Any = importlib.import_module("torch._inductor.index_propagation")
    if hasattr(indices, "Min"):  # a later version
        yield
        return
    errors: Any = importlib.import_module("torch._inductor.exc")
    functions: Any = importlib.import_module("torch.utils._sympy.functions")

    def of_two(function: Any) -> Any:
        return staticmethod(
            lambda x, y: indices.TypedExpr(function(x.expr, y.expr), torch.promote_types(x.dtype, y.dtype))
        )

    replaced = (
        (indices.SymPyOps, "minimum", of_two(functions.Min)),
        (indices.SymPyOps, "maximum", of_two(functions.Max)),
        (errors.OperatorIssue, "operator_str", staticmethod(lambda target, args, kwargs: f"  target: {target}")),
    )
    before = [(owner, name, vars(owner)[name]) for owner, name, _ in replaced]
    for owner, name, function in replaced:
        setattr(owner, name, function)
    try:
        yield
    finally:
        for owner, name, function in before:
            setattr(owner, name, function)
