"""tf.train.experimental: mixed precision, and the scaling of losses that float16 needs."""

from headrace.library.train.optimizer.loss_scale import DynamicLossScale as DynamicLossScale
from headrace.library.train.optimizer.loss_scale import FixedLossScale as FixedLossScale
from headrace.library.train.optimizer.loss_scale import LossScale as LossScale
from headrace.library.train.optimizer.loss_scale import (
    MixedPrecisionLossScaleOptimizer as MixedPrecisionLossScaleOptimizer,
)
from headrace.library.train.optimizer.mixed_precision import (
    disable_mixed_precision_graph_rewrite as disable_mixed_precision_graph_rewrite,
)
from headrace.library.train.optimizer.mixed_precision import (
    enable_mixed_precision_graph_rewrite as enable_mixed_precision_graph_rewrite,
)
from headrace.library.train.saver.python_state import PythonState as PythonState
