"""Mixed precision for a whole program, by one call."""

from __future__ import annotations

from typing import Any

from headrace.core.source import at
from headrace.library.train.optimizer.loss_scale import MixedPrecisionLossScaleOptimizer
from headrace.library.train.optimizer.optimizer import Optimizer
from headrace.runtime.host.precision import ask_mixed_precision


def enable_mixed_precision_graph_rewrite(opt: Any, loss_scale: Any = "dynamic") -> Any:
    """Has sessions compute products on accelerators in 16 bits: bfloat16 where the device has it, else float16.

    Variables and their updates stay float32.  The optimizer's loss is scaled, which float16 needs and bfloat16 does not mind.
    A session whose ``auto_mixed_precision`` is OFF is left alone.

    Args:
      opt: The `tf.train.Optimizer` that trains the model.
      loss_scale: ``"dynamic"``, a number, or a `tf.train.experimental.LossScale`.

    Returns:
      An optimizer that scales the loss, and the gradients back.

    Example: ``opt = tf.train.experimental.enable_mixed_precision_graph_rewrite(tf.train.AdamOptimizer())``
    """
    if not isinstance(opt, Optimizer):
        raise ValueError(f"opt must be a tf.train.Optimizer, got {opt!r} {at()}")
    if isinstance(opt, MixedPrecisionLossScaleOptimizer):
        raise ValueError(f"opt already scales its loss: {type(opt).__name__}; pass the optimizer inside of it {at()}")
    scaled = MixedPrecisionLossScaleOptimizer(opt, loss_scale)
    ask_mixed_precision(True)
    return scaled


def disable_mixed_precision_graph_rewrite() -> None:
    """Undoes `tf.train.experimental.enable_mixed_precision_graph_rewrite`: sessions made from now on compute in float32.

    Example: ``tf.train.experimental.disable_mixed_precision_graph_rewrite()``
    """
    ask_mixed_precision(False)
