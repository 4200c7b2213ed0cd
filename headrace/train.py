"""tf.train: optimizers, learning rates, averages, and what runs a training loop."""

# ---- section: optimizers, learning rates, moving averages
from headrace.library.optimizer.adadelta import AdadeltaOptimizer as AdadeltaOptimizer
from headrace.library.optimizer.adagrad import AdagradDAOptimizer as AdagradDAOptimizer
from headrace.library.optimizer.adagrad import AdagradOptimizer as AdagradOptimizer
from headrace.library.optimizer.adagrad import ProximalAdagradOptimizer as ProximalAdagradOptimizer
from headrace.library.optimizer.adam import AdamOptimizer as AdamOptimizer
from headrace.library.optimizer.ftrl import FtrlOptimizer as FtrlOptimizer
from headrace.library.optimizer.gradient_descent import GradientDescentOptimizer as GradientDescentOptimizer
from headrace.library.optimizer.gradient_descent import (
    ProximalGradientDescentOptimizer as ProximalGradientDescentOptimizer,
)
from headrace.library.optimizer.momentum import MomentumOptimizer as MomentumOptimizer
from headrace.library.optimizer.optimizer import Optimizer as Optimizer
from headrace.library.optimizer.rmsprop import RMSPropOptimizer as RMSPropOptimizer

# ---- section: variables: the global step
from headrace.library.global_step import assert_global_step as assert_global_step
from headrace.library.global_step import create_global_step as create_global_step
from headrace.library.global_step import get_global_step as get_global_step
from headrace.library.global_step import get_or_create_global_step as get_or_create_global_step
from headrace.library.global_step import global_step as global_step
