"""What is tuned: kernels over two axes, not those over one; torch's compiler is as before afterwards."""

from types import SimpleNamespace

import pytest
from torch._inductor import config
from torch._inductor.codegen.triton import TritonKernel

from headrace.runtime.compiler.tuning import quickly_tuned


@pytest.mark.parametrize(
    ("numels", "tuned"),
    [(["x", "r0_"], False), (["x"], False), (["y", "x", "r0_"], True), (["z", "y", "x"], True)],
)
def test_kernels_over_one_axis_are_compiled_in_one_form(monkeypatch, numels, tuned) -> None:
    seen = []
    monkeypatch.setattr(
        TritonKernel, "codegen_kernel", lambda self, name=None: seen.append(config.triton.autotune_pointwise)
    )
    write, before = TritonKernel.codegen_kernel, config.triton.autotune_pointwise
    with quickly_tuned():
        TritonKernel.codegen_kernel(SimpleNamespace(numels=dict.fromkeys(numels, 8)), "name")
    assert seen == [tuned]
    assert TritonKernel.codegen_kernel is write and config.triton.autotune_pointwise == before
    with pytest.raises(KeyError), quickly_tuned():
        raise KeyError
    assert TritonKernel.codegen_kernel is write
