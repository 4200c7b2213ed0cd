"""Ops that only passes and the planner make, and what kernels ask about tracing."""

from headrace.ops.internal import (
    add_product,
    hold,
    opaque,
    product_update,
    region,
    transpose_copy,
    update_together,
)
