"""tf.contrib.opt: further optimizers."""

from headrace.library.contrib.external_optimizer import ExternalOptimizerInterface as ExternalOptimizerInterface
from headrace.library.contrib.external_optimizer import ScipyOptimizerInterface as ScipyOptimizerInterface
from headrace.library.contrib.optimizer import AdaMaxOptimizer as AdaMaxOptimizer
from headrace.library.contrib.optimizer import AdamWOptimizer as AdamWOptimizer
from headrace.library.contrib.optimizer import DecoupledWeightDecayExtension as DecoupledWeightDecayExtension
from headrace.library.contrib.optimizer import LazyAdamOptimizer as LazyAdamOptimizer
from headrace.library.contrib.optimizer import MomentumWOptimizer as MomentumWOptimizer
from headrace.library.contrib.optimizer import MovingAverageOptimizer as MovingAverageOptimizer
from headrace.library.contrib.optimizer import NadamOptimizer as NadamOptimizer
from headrace.library.contrib.optimizer import clip_gradients_by_global_norm as clip_gradients_by_global_norm
from headrace.library.contrib.optimizer import extend_with_decoupled_weight_decay as extend_with_decoupled_weight_decay
from headrace.library.optimizer.lbfgs import LBFGSOptimizer as LBFGSOptimizer
