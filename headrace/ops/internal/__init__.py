"""Ops that only passes and the planner make, and what kernels ask about tracing."""

from headrace.ops.internal import (
    add_product,
    attention,
    hold,
    logistic_loss,
    opaque,
    own,
    product_update,
    random_crop,
    region,
    transfer,
    transpose_copy,
    update_together,
)
