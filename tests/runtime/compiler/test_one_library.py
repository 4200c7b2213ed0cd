"""The kernels of a module as one library: the text that is built, and what it does."""

import pytest
import torch

from headrace.runtime.compiler.one_library import Kernel, built_together, can_join, together

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
