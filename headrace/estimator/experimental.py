"""tf.estimator.experimental: clusters; the layers of ready-made models, for models of one's own; hooks that stop early."""

from headrace.library.estimator.early_stopping import (
    make_early_stopping_hook as make_early_stopping_hook, stop_if_higher_hook as stop_if_higher_hook,
    stop_if_lower_hook as stop_if_lower_hook, stop_if_no_decrease_hook as stop_if_no_decrease_hook,
    stop_if_no_increase_hook as stop_if_no_increase_hook,
)
from headrace.library.estimator.k_means import KMeans as KMeans
from headrace.library.estimator.logit_fn import (
    call_logit_fn as call_logit_fn, dnn_logit_fn_builder as dnn_logit_fn_builder,
    linear_logit_fn_builder as linear_logit_fn_builder,
)
