"""_TransposeCopy: a matrix transposed in memory.  Made by the planner only."""

from __future__ import annotations

import torch

from headrace.core.dtypes import FLOATING
from headrace.core.registry import op

transpose_copy = op("_TransposeCopy(x: T) -> (y: T)", T=FLOATING)
transpose_copy.not_differentiable()
transpose_copy.shape(lambda x: x if x.ndims is None else x.with_rank(2).tuple[::-1])
transpose_copy.kernel(lambda x: x.t().clone(memory_format=torch.contiguous_format))
