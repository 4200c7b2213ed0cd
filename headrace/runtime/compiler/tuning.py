"""How much of the time to the first compiled step goes into choosing between forms of a kernel for a GPU.

Torch's compiler compiles an element-wise kernel over one axis in two forms, and times both in its first run.  Measured on an
H200: without that the first compiled step of an LSTM is done 17 % sooner and a transformer's 16 %; the steps after it take 2 and
1 % longer.  Kernels over two axes have up to six forms, between which there is more to choose: without tuning any, the
transformer's steps take 3 to 5 % longer.  So only those are tuned.
"""

from __future__ import annotations

import importlib
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any


@contextmanager
def quickly_tuned() -> Iterator[None]:
    """Meanwhile element-wise kernels over one axis are compiled in one form.  The caller holds ``compile.compiler``."""
    from torch._inductor import config

    kernels: Any = importlib.import_module("torch._inductor.codegen.triton").TritonKernel
    write = kernels.codegen_kernel

    def codegen_kernel(self: Any, name: Any = None) -> Any:
        axes = sum(not prefix.startswith("r") for prefix in self.numels)  # those of reductions have an r
        with config.patch({"triton.autotune_pointwise": axes > 1}):
            return write(self, name)

    kernels.codegen_kernel = codegen_kernel
    try:
        yield
    finally:
        kernels.codegen_kernel = write
