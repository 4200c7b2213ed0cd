"""tf.estimator.tpu: estimators of programs that also run on TPUs, for where there is none."""

from headrace.library.estimator.tpu.estimator import TPUEstimator as TPUEstimator
from headrace.library.estimator.tpu.run_config import (
    InputPipelineConfig as InputPipelineConfig, RunConfig as RunConfig, TPUConfig as TPUConfig,
)
from headrace.library.estimator.tpu.spec import TPUEstimatorSpec as TPUEstimatorSpec
