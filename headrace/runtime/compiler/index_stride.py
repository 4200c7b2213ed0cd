"""How far an index into memory moves when a loop's variable grows by one, which the compiler asks for each load and store.

Torch's compiler has sympy simplify the index and the difference, some 15 ms each time: for LeNet's step a third of the time in
which kernels are written.  Most indices are sums in which the variable has an integer factor, and that factor is the answer.
"""

from __future__ import annotations

import importlib
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any


def factor_of(var: Any, index: Any) -> Any:
    """The integer that ``var`` is multiplied with in the sum ``index``; None if it also occurs in another form.

    >>> import sympy
    >>> x, y = sympy.symbols("x y", integer=True)
    >>> factor_of(x, 12 * x + y // 3 + 1), factor_of(x, y), factor_of(x, x // 4 + x)
    (12, 0, None)
    """
    import sympy  # type: ignore[import-untyped]

    if not isinstance(index, sympy.Expr):  # a condition
        return None
    total = sympy.S.Zero
    for term in sympy.Add.make_args(index):
        factor, rest = term.as_coeff_Mul()
        if rest == var and factor.is_Integer:
            total += factor
        elif term.has(var):
            return None
    return total


@contextmanager
def read_strides() -> Iterator[None]:
    """Meanwhile torch's compiler reads strides off the indices where it can.  The caller holds ``compile.compiler``."""
    cpp: Any = importlib.import_module("torch._inductor.codegen.cpp")
    thorough = cpp.stride_at_vec_range

    def stride_at_vec_range(index: Any, var: Any, vec_length: int | None = None) -> Any:
        factor = factor_of(var, index)
        return thorough(index, var, vec_length) if factor is None else factor

    cpp.stride_at_vec_range = stride_at_vec_range
    try:
        yield
    finally:
        cpp.stride_at_vec_range = thorough
