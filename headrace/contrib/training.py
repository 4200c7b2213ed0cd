"""tf.contrib.training: hyperparameters, training ops, training and evaluation loops."""

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
from headrace.library.contrib.training import train as train
from headrace.library.train.hook.evaluation import StopAfterNEvalsHook as StopAfterNEvalsHook
from headrace.library.train.hook.evaluation import SummaryAtEndHook as SummaryAtEndHook
from headrace.library.train.hook.evaluation import get_or_create_eval_step as get_or_create_eval_step
from headrace.library.train.session.checkpoint_wait import checkpoints_iterator as checkpoints_iterator
from headrace.library.train.session.checkpoint_wait import wait_for_new_checkpoint as wait_for_new_checkpoint
from headrace.library.train.session.evaluation import evaluate_once as evaluate_once
from headrace.library.train.session.evaluation import evaluate_repeatedly as evaluate_repeatedly
