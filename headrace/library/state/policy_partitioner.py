"""The partitioner of variables for which the program has none: what was chosen for the job, if anything was."""

from __future__ import annotations

from typing import Any

from headrace.core.dtypes import DType
from headrace.core.policy import SLICE, told
from headrace.core.shape import as_shape
from headrace.library.state.partitioner import min_max_variable_partitioner


class PolicyPartitioner:
    """Cuts large variables along their first axis into ``slices`` pieces.  Others stay plain variables."""

    def __init__(self, slices: int) -> None:
        self._cut = min_max_variable_partitioner(slices, min_slice_size=SLICE)

    def __call__(self, shape: Any, dtype: DType) -> list[int]:
        return self._cut(shape=shape, dtype=dtype)

    def leaves_whole(self, shape: Any, dtype: DType) -> bool:
        """Whether the variable is one piece, or it is not known how large it will be."""
        if shape is None:
            return True
        shape = as_shape(shape)
        return not shape.is_fully_defined() or shape.rank == 0 or self._cut(shape=shape, dtype=dtype)[0] == 1


def policy_partitioner() -> PolicyPartitioner | None:
    """What HEADRACE_POLICY says of large variables; None leaves them whole."""
    policy = told()
    if policy is None or policy.slices < 2 or "partition" not in policy.allow:
        return None
    return PolicyPartitioner(policy.slices)
