"""Products for Arm give what the general kernels give, whatever machine the tests run on."""

import pytest
import torch

from headrace.core import dtypes
from headrace.core.registry import REGISTRY

TYPES = {torch.float32: dtypes.float32, torch.complex64: dtypes.complex64, torch.int32: dtypes.int32}


def drawn(*shape, dtype=torch.float32):
    made = torch.randn(*shape, generator=torch.Generator().manual_seed(sum(shape)))
    return torch.complex(made, made.flip(0)) if dtype is torch.complex64 else (made * 4).to(dtype)


def agree(name, x, *arguments):
    definition, attrs = REGISTRY.get(name), {"T": TYPES[x.dtype]}
    plugged, general = (definition.find_kernel("cpu", attrs, machine=m).call for m in ("aarch64", None))
    found, wanted = plugged(x, *arguments), general(x, *arguments)
    assert found.shape == wanted.shape
    torch.testing.assert_close(found, wanted, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("dtype", TYPES)
@pytest.mark.parametrize(("rows", "columns"), [(3, 5), (5, 3), (200, 130), (1, 1)])
def test_transposed_products(rows, columns, dtype):
    for name, batch in (("MatMul", ()), ("BatchMatMul", (2, 3)), ("BatchMatMulV2", (2, 3))):
        for first in (False, True):
            for second in (False, True):
                x = drawn(*batch, *((130, rows) if first else (rows, 130)), dtype=dtype)
                y = drawn(*batch, *((columns, 130) if second else (130, columns)), dtype=dtype)
                agree(name, x, y, first, second)
