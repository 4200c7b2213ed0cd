"""tf.contrib.training: hyperparameters and training ops."""

from headrace.library.contrib.gradient_summary import add_gradients_summaries as add_gradients_summaries
from headrace.library.contrib.hparams import HParams as HParams
from headrace.library.contrib.hparams import parse_values as parse_values
from headrace.library.contrib.optimize import clip_gradient_norms as clip_gradient_norms
from headrace.library.contrib.optimize import clip_gradient_norms_fn as clip_gradient_norms_fn
from headrace.library.contrib.optimize import create_train_op as create_train_op
from headrace.library.contrib.optimize import multiply_gradients as multiply_gradients
from headrace.library.contrib.load_balance import GreedyLoadBalancingStrategy as GreedyLoadBalancingStrategy
from headrace.library.contrib.load_balance import RandomStrategy as RandomStrategy
from headrace.library.contrib.load_balance import byte_size_load_fn as byte_size_load_fn
