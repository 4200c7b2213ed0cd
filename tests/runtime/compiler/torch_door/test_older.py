"""Work that an older compiler of torch's is spared: the same indices, and everything as before afterwards."""

import pytest
import sympy
import torch
from torch._inductor import exc, index_propagation
from torch._inductor.index_propagation import SymPyOps, TypedExpr
from torch.utils._sympy.functions import Max, Min

from headrace.runtime.compiler.torch_door.older import as_in_later_versions

x, y = sympy.symbols("x y", integer=True, nonnegative=True)


def test_an_older_compiler_is_changed_for_a_while(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delattr(index_propagation, "Min", raising=False)
    before = [vars(SymPyOps)["minimum"], vars(SymPyOps)["maximum"], vars(exc.OperatorIssue)["operator_str"]]
    first, second = TypedExpr(x, torch.int32), TypedExpr(y + 3, torch.int64)
    with as_in_later_versions():
        smaller, larger = SymPyOps.minimum(first, second), SymPyOps.maximum(first, second)
        assert (smaller.expr, larger.expr) == (Min(x, y + 3), Max(x, y + 3))
        assert smaller.dtype == larger.dtype == torch.int64
        assert [int(e.expr.subs({x: 9, y: 2})) for e in (smaller, larger)] == [5, 9]
        text = str(exc.MissingOperatorWithoutDecomp(torch.ops.aten.add.Tensor, [object()], {}))
        assert "aten.add.Tensor" in text and "object" not in text
    assert [vars(SymPyOps)["minimum"], vars(SymPyOps)["maximum"], vars(exc.OperatorIssue)["operator_str"]] == before


def test_it_is_restored_after_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delattr(index_propagation, "Min", raising=False)
    before = vars(SymPyOps)["minimum"]
    with pytest.raises(KeyError), as_in_later_versions():
        raise KeyError
    assert vars(SymPyOps)["minimum"] is before


@pytest.mark.skipif(not hasattr(index_propagation, "Min"), reason="an older compiler")
def test_a_later_compiler_is_left_alone() -> None:
    before = vars(SymPyOps)["minimum"]
    with as_in_later_versions():
        assert vars(SymPyOps)["minimum"] is before
