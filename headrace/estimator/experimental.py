"""tf.estimator.experimental: the layers of ready-made models, for models of one's own."""

from headrace.library.estimator.logit_fn import (
    call_logit_fn as call_logit_fn, dnn_logit_fn_builder as dnn_logit_fn_builder,
    linear_logit_fn_builder as linear_logit_fn_builder,
)
