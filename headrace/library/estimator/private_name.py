"""What programs import from TensorFlow's private modules of estimators, under the names it has there."""

from headrace.library.estimator.tpu.spec import TPUEstimatorSpec as _TPUEstimatorSpec
from headrace.library.estimator.user_function import BeginIterator as _DatasetInitializerHook
from headrace.library.estimator.user_function import check_model_fn as _verify_model_fn_args
from headrace.library.estimator.user_function import parse_input_fn_result, parse_iterator_result

__all__ = [
    "AVERAGE_LOSS_METRIC_KEY", "LOSS_METRIC_KEY", "_DatasetInitializerHook", "_TPUEstimatorSpec", "_verify_model_fn_args",
    "parse_input_fn_result", "parse_iterator_result",
]  # fmt: skip

LOSS_METRIC_KEY = "loss"
AVERAGE_LOSS_METRIC_KEY = "average_loss"
