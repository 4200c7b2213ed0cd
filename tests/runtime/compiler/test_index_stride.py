"""Strides read off indices: the answers of torch's compiler, found sooner."""

from contextlib import nullcontext
from typing import Any

import pytest
import sympy
import torch
from torch._inductor.codegen.cpp import stride_at_vec_range
from torch._subclasses.fake_tensor import FakeTensorMode
from torch.fx.experimental.proxy_tensor import make_fx
from torch.utils._sympy.functions import FloorDiv, ModularIndexing

from headrace.runtime.compiler import compile as compiling
from headrace.runtime.compiler import one_library
from headrace.runtime.compiler.index_stride import factor_of, read_strides

x, y, size = sympy.symbols("x y size", integer=True, nonnegative=True)


@pytest.mark.parametrize(
    ("index", "stride"),
    [
        (12 * x + y + 1, 12),
        (x, 1),
        (y + 3, 0),
        (sympy.Integer(5), 0),
        (3 * x + 7 * FloorDiv(y, 4) + ModularIndexing(y, 1, 4), 3),
    ],
)
def test_the_factor_is_what_the_compiler_would_find(index: sympy.Expr, stride: int) -> None:
    assert factor_of(x, index) == stride == stride_at_vec_range(index, x, 8)


@pytest.mark.parametrize("index", [size * x, x * y, x + FloorDiv(x, 4), ModularIndexing(x, 1, 8), sympy.Ge(x, y)])
def test_other_forms_are_left_to_the_compiler(index: sympy.Expr) -> None:
    from torch._inductor.codegen import cpp

    assert factor_of(x, index) is None
    before = cpp.stride_at_vec_range
    with read_strides():
        assert cpp.stride_at_vec_range(FloorDiv(x, 8) + x, x, 8) == 1
        assert cpp.stride_at_vec_range(2 * x, x) == 2
    assert cpp.stride_at_vec_range is before


def test_kernels_are_written_as_without_it(monkeypatch: pytest.MonkeyPatch) -> None:
    """A transposed copy, a window's sum and a broadcast: kernels whose tiles depend on strides."""

    def step(a: torch.Tensor, b: torch.Tensor) -> list[torch.Tensor]:
        pooled = torch.nn.functional.avg_pool2d(a.reshape(1, 1, 32, 48), 2)
        return [a.t().contiguous() + b, pooled * 2, a.reshape(-1, 4)[:, 1:3].sum(1)]

    with FakeTensorMode():
        fakes = [torch.empty(32, 48), torch.empty(32)]
    texts = []

    def together(kernels: list[Any]) -> str:
        texts.append([k.source for k in kernels])
        return join(kernels)

    join = one_library.together
    monkeypatch.setattr(one_library, "together", together)
    for way in (nullcontext, read_strides):
        monkeypatch.setattr(compiling, "read_strides", way)
        compiling.compile_graph(make_fx(step)(*fakes), fakes, "test", 1)
    assert len(texts) == 2 and texts[0] == texts[1]
