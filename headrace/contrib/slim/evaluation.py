"""slim.evaluation: evaluations of checkpoints."""

from headrace.library.contrib.slim.evaluation import evaluate_once as evaluate_once
from headrace.library.contrib.slim.evaluation import evaluation_loop as evaluation_loop
from headrace.library.train.session.checkpoint_wait import checkpoints_iterator as checkpoints_iterator
from headrace.library.train.session.checkpoint_wait import wait_for_new_checkpoint as wait_for_new_checkpoint
