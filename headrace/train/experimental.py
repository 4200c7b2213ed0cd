"""tf.train.experimental: loss scaling for half precision."""

from headrace.library.train.optimizer.loss_scale import DynamicLossScale as DynamicLossScale
from headrace.library.train.optimizer.loss_scale import FixedLossScale as FixedLossScale
from headrace.library.train.optimizer.loss_scale import LossScale as LossScale
from headrace.library.train.optimizer.loss_scale import (
    MixedPrecisionLossScaleOptimizer as MixedPrecisionLossScaleOptimizer,
)
