"""tf.contrib.mixed_precision: loss scaling."""

from headrace.library.train.optimizer.loss_scale import (
    ExponentialUpdateLossScaleManager as ExponentialUpdateLossScaleManager,
)
from headrace.library.train.optimizer.loss_scale import FixedLossScaleManager as FixedLossScaleManager
from headrace.library.train.optimizer.loss_scale import LossScaleManager as LossScaleManager
from headrace.library.train.optimizer.loss_scale import LossScaleOptimizer as LossScaleOptimizer
