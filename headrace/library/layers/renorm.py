"""Batch renormalization (Ioffe, 2017): the batch is corrected toward slow averages of its mean and deviation.

The averages start at zero and each has a weight that starts at zero too, so that average / weight is unbiased.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from headrace.graph import raw_ops
from headrace.graph.convert import constant, convert_to_tensor
from headrace.library.control.dependency import stop_gradient
from headrace.library.numeric import math
from headrace.library.state.smart_cond import smart_cond
from headrace.library.tensor import creation

_KEYS = ("rmax", "rmin", "dmax")


def checked_clipping(clipping: Mapping[str, Any] | None) -> dict[str, Any]:
    """The limits as a dictionary; ValueError for a limit that does not exist."""
    options = dict(clipping or {})
    if set(options) - set(_KEYS):
        raise ValueError(f"renorm_clipping {clipping} contains keys not in {list(_KEYS)}")
    return options


class Renorm:
    """The slow averages of one layer, and what they do to a batch."""

    def __init__(self, add: Any, shape: Any, dtype: Any, momentum: Any, clipping: Mapping[str, Any]) -> None:
        self.mean, self.mean_weight = add("renorm_mean", shape, dtype), add("renorm_mean_weight", [], dtype)
        self.stddev, self.stddev_weight = add("renorm_stddev", shape, dtype), add("renorm_stddev_weight", [], dtype)
        self._momentum = momentum
        self._clipping = clipping

    def correct(self, mean: Any, variance: Any, epsilon: float, training: Any) -> tuple[Any, ...]:
        """-> scale and offset for the normalised batch, its moments as the averages see them, and the updates.

        Everything is computed from the averages as they were before the step.
        """
        stddev = math.sqrt(variance + constant(epsilon, variance.dtype.base_dtype))
        slow_mean, slow_stddev, mean_weight, stddev_weight = (
            convert_to_tensor(v) for v in (self.mean, self.stddev, self.mean_weight, self.stddev_weight)
        )
        mixed_mean = slow_mean + (1.0 - mean_weight) * mean
        mixed_stddev = slow_stddev + (1.0 - stddev_weight) * stddev
        r, d = stddev / mixed_stddev, (mean - mixed_mean) / mixed_stddev
        rmin, rmax, dmax = (self._clipping.get(k) for k in ("rmin", "rmax", "dmax"))
        if rmin is not None:
            r = raw_ops.Maximum(r, rmin)
        if rmax is not None:
            r = raw_ops.Minimum(r, rmax)
        if dmax is not None:
            d = raw_ops.Minimum(raw_ops.Maximum(d, raw_ops.Neg(dmax)), dmax)
        r = smart_cond(training, lambda: r, lambda: creation.ones_like(r))
        d = smart_cond(training, lambda: d, lambda: creation.zeros_like(d))
        keep = smart_cond(training, lambda: constant(float(self._momentum)), lambda: constant(1.0))
        keep = math.cast(keep, mean.dtype.base_dtype)
        moved = [
            (variable, old * keep + value * (1.0 - keep))
            for variable, old, value in (
                (self.mean, slow_mean, mean), (self.mean_weight, mean_weight, 1.0),
                (self.stddev, slow_stddev, stddev), (self.stddev_weight, stddev_weight, 1.0),
            )
        ]  # fmt: skip
        # Outside training the weights may still be zero.
        new_mean = smart_cond(training, lambda: moved[0][1] / moved[1][1], lambda: slow_mean)
        new_stddev = smart_cond(training, lambda: moved[2][1] / moved[3][1], lambda: slow_stddev)
        new_variance = math.square(new_stddev) - epsilon
        return stop_gradient(r), stop_gradient(d), new_mean, new_variance, moved


def composed(scale: Any, offset: Any, then_scale: Any, then_offset: Any) -> tuple[Any, Any]:
    """One transform after another as one: x * scale + offset, and that * then_scale + then_offset."""
    if then_scale is not None:
        scale, offset = scale * then_scale, offset * then_scale
    if then_offset is not None:
        offset = offset + then_offset
    return scale, offset
