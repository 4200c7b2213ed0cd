"""slim.learning: training ops and the training loop."""

from headrace.library.contrib.gradient_summary import add_gradients_summaries as add_gradients_summaries
from headrace.library.contrib.optimize import clip_gradient_norms as clip_gradient_norms
from headrace.library.contrib.optimize import multiply_gradients as multiply_gradients
from headrace.library.contrib.optimize import slim_create_train_op as create_train_op
from headrace.library.contrib.slim_learning import train as train
from headrace.library.contrib.slim_learning import train_step as train_step
