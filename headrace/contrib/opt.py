"""tf.contrib.opt: further optimizers."""

from headrace.library.contrib.external_optimizer import (
    ExternalOptimizerInterface as ExternalOptimizerInterface, ScipyOptimizerInterface as ScipyOptimizerInterface,
)
from headrace.library.contrib.optimizer import (
    AdaMaxOptimizer as AdaMaxOptimizer, AdamWOptimizer as AdamWOptimizer,
    DecoupledWeightDecayExtension as DecoupledWeightDecayExtension, LazyAdamOptimizer as LazyAdamOptimizer,
    MomentumWOptimizer as MomentumWOptimizer, MovingAverageOptimizer as MovingAverageOptimizer,
    NadamOptimizer as NadamOptimizer, clip_gradients_by_global_norm as clip_gradients_by_global_norm,
    extend_with_decoupled_weight_decay as extend_with_decoupled_weight_decay,
)
from headrace.library.contrib.stale_gradients import DropStaleGradientOptimizer as DropStaleGradientOptimizer
from headrace.library.train.optimizer.lbfgs import LBFGSOptimizer as LBFGSOptimizer
from headrace.library.contrib.sign_optimizer import (
    AddSignOptimizer as AddSignOptimizer, LARSOptimizer as LARSOptimizer,
    MultitaskOptimizerWrapper as MultitaskOptimizerWrapper, PowerSignOptimizer as PowerSignOptimizer,
    VariableClippingOptimizer as VariableClippingOptimizer, get_cosine_decay_fn as get_cosine_decay_fn,
    get_linear_decay_fn as get_linear_decay_fn, get_restart_decay_fn as get_restart_decay_fn,
)
