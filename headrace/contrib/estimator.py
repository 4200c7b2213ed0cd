"""tf.contrib.estimator: changes of estimators and optimizers, hooks that stop early."""

from headrace.library.contrib.clipped_optimizer import clip_gradients_by_norm as clip_gradients_by_norm
from headrace.library.estimator.add_metrics import add_metrics as add_metrics
from headrace.library.estimator.early_stopping import make_early_stopping_hook as make_early_stopping_hook
from headrace.library.estimator.early_stopping import read_eval_metrics as read_eval_metrics
from headrace.library.estimator.early_stopping import stop_if_higher_hook as stop_if_higher_hook
from headrace.library.estimator.early_stopping import stop_if_lower_hook as stop_if_lower_hook
from headrace.library.estimator.early_stopping import stop_if_no_decrease_hook as stop_if_no_decrease_hook
from headrace.library.estimator.early_stopping import stop_if_no_increase_hook as stop_if_no_increase_hook
from headrace.library.estimator.forward_features import forward_features as forward_features
