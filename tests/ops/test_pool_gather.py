"""The gradient of max pools as the compiler writes it for GPUs, here in C++: that of torch's library."""

import pytest
import torch
from torch._subclasses.fake_tensor import FakeTensorMode

from headrace.ops.internal import opaque
from headrace.runtime.compiler.compile import compiler
from headrace.runtime.compiler.torch_door.lowering import lower
from headrace.runtime.compiler.torch_door.tracing import Calls

aten = torch.ops.aten
KINDS = [  # window, stride, padding, size, whether the last window may be incomplete
    ((3, 3), (2, 2), (1, 1), (9, 10), True),
    ((2, 2), (2, 2), (0, 0), (7, 5), False),
    ((3, 2), (1, 1), (1, 0), (6, 6), False),
    ((2, 3), (3, 2), (0, 1), (8, 7), True),
]


@pytest.fixture(scope="module")
def found():
    """For each kind: what compiled code gives, what the op gives uncompiled, and what the library gives."""
    generator = torch.Generator().manual_seed(0)
    inputs, expected = [], []
    for number, (window, stride, padding, size, ceil) in enumerate(KINDS):
        x = torch.randint(0, 4, (2, 3, *size), generator=generator).float()  # the maximum is often there twice
        if number % 2:
            x = x.contiguous(memory_format=torch.channels_last)
        y, indices = aten.max_pool2d_with_indices(x, window, stride, padding, (1, 1), ceil)
        grad = torch.randn(y.shape, generator=generator).contiguous(
            memory_format=torch.channels_last if number % 2 else torch.contiguous_format
        )
        inputs += [grad, indices]
        expected.append(aten.max_pool2d_with_indices_backward(grad, x, window, stride, padding, (1, 1), ceil, indices))

    def run(*tensors):
        gather = opaque._gather()
        return [
            gather(grad, indices, list(size), list(window), list(stride), list(padding))
            for (window, stride, padding, size, _), grad, indices in zip(
                KINDS, tensors[::2], tensors[1::2], strict=True
            )
        ]

    mode = FakeTensorMode()
    fakes = [mode.from_tensor(t) for t in inputs]
    with compiler:
        compiled = lower(Calls().trace(run, fakes), fakes, {})(*inputs)
    return list(zip(compiled, run(*inputs), expected, strict=True))


@pytest.mark.parametrize("number", range(len(KINDS)))
def test_gradients_are_those_of_the_library(found, number) -> None:
    compiled, uncompiled, expected = found[number]
    torch.testing.assert_close(compiled, expected)
    torch.testing.assert_close(uncompiled, expected)
    assert compiled.stride() == uncompiled.stride() == expected.stride()
