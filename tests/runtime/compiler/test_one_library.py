"""The kernels of a module as few libraries: the text that is built, and what it does."""

import pytest
import torch

from headrace.runtime.compiler import one_library
from headrace.runtime.compiler.one_library import MOST, Kernel, _parts, built_together, can_join, together

PREFIX = "#include <torch/csrc/inductor/cpp_prefix.h>"
KERNEL = PREFIX + '\nextern "C"  void  kernel(const float* in, float* out, const int64_t n)\n{\n    %s\n}\n'
ARGUMENTS = ["const float*", "float*", "const int64_t"]


def kernel(loop):
    return Kernel(ARGUMENTS, KERNEL % loop)


def test_kernels_of_the_known_form_are_joined_and_others_are_not():
    assert can_join(KERNEL % "")
    assert not can_join(KERNEL % "" + "#include <cmath>\n")
    assert not can_join(KERNEL.replace("kernel(", "other(") % "")


def test_each_kernel_has_a_function_of_its_own():
    text = together([kernel("out[0] = 1;"), kernel("out[0] = 2;")])
    assert text.count(PREFIX) == 1 and 'extern "C"  void' not in text
    assert "namespace kernel_1 {" in text and "kernel_1::kernel(argument<float*>(args, 0)" in text


def test_long_kernels_are_built_side_by_side_as_far_as_there_are_compilers():
    kernels = [(f"k{i}", Kernel(ARGUMENTS, "x" * size)) for i, size in enumerate([30_000, 5_000, 9_000, 20_000])]
    assert _parts([], 2) == [] and [len(p) for p in _parts(kernels, 1)] == [4]
    assert [[name for name, _ in part] for part in _parts(kernels, 2)] == [["k0"], ["k3", "k2", "k1"]]
    assert len(_parts(kernels, 16)) == 3  # shorter libraries cost more for their headers than they save
    assert [len(p) for p in _parts(kernels[1:2] * (MOST + 2), 1)] == [17, 17]
    assert [len(p) for p in _parts(kernels[:1], 16)] == [1]  # no library without a kernel
    short = ("short", Kernel(ARGUMENTS, "x"))
    assert sorted(len(p) for p in _parts([kernels[0], *[short] * (MOST + 8)], 2)) == [9, MOST]


def test_several_libraries_of_one_module(monkeypatch):
    from torch._inductor import config
    from torch._inductor.async_compile import AsyncCompile

    monkeypatch.setattr(one_library, "LEAST", 100)
    with config.patch(compile_threads=2), built_together():
        compiler = AsyncCompile()
        scope = {f"k{i}": compiler.cpp_pybinding(ARGUMENTS, KERNEL % f"out[0] = {i} * in[0];") for i in range(3)}
        compiler.wait(scope)
    x, y = torch.ones(1), torch.empty(1)
    for i in range(3):
        scope[f"k{i}"](x, y, 1)
        assert y.item() == i
    assert len({id(k.__self__) for k in scope.values()}) == 2


def test_a_module_gets_its_kernels_when_it_waits_for_them():
    """Two kernels that keep something under the same name, built by torch's compiler as it builds its own."""
    from torch._inductor.async_compile import AsyncCompile

    before = AsyncCompile.cpp_pybinding, AsyncCompile.wait
    with built_together():
        compiler = AsyncCompile()
        doubled, negated = (
            "for (int64_t i = 0; i < n; i++) out[i] = 2 * in[i];",
            "for (int64_t i = 0; i < n; i++) out[i] = -in[i];",
        )
        scope = {
            "doubled": compiler.cpp_pybinding(ARGUMENTS, KERNEL % doubled),
            "negated": compiler.cpp_pybinding(ARGUMENTS, KERNEL % negated),
            "number": 3,
        }
        compiler.wait(scope)
    assert (AsyncCompile.cpp_pybinding, AsyncCompile.wait) == before  # a program's own use of the compiler is as it was
    x, y = torch.arange(3.0), torch.empty(3)
    scope["doubled"](x, y, 3)
    assert y.tolist() == [0.0, 2.0, 4.0]
    scope["negated"](x, y, 2)
    assert y.tolist() == [0.0, -1.0, 4.0]
    assert scope["doubled"].__self__ is scope["negated"].__self__ and scope["number"] == 3
    with pytest.raises(RuntimeError, match="requires 3 arguments"):
        scope["doubled"](x, y)
    with pytest.raises((RuntimeError, TypeError), match="expected an int|integer"):
        scope["doubled"](x, y, "three")
