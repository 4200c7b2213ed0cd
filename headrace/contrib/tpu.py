"""tf.contrib.tpu: estimators and optimizers of programs that also run on TPUs, for where there is none."""

from headrace.library.estimator.tpu.computation import (
    bfloat16_scope as bfloat16_scope, cross_replica_sum as cross_replica_sum,
    outside_compilation as outside_compilation, rewrite as rewrite,
)
from headrace.library.estimator.tpu.estimator import TPUEstimator as TPUEstimator
from headrace.library.estimator.tpu.run_config import (
    InputPipelineConfig as InputPipelineConfig, RunConfig as RunConfig, TPUConfig as TPUConfig,
)
from headrace.library.estimator.tpu.spec import TPUEstimatorSpec as TPUEstimatorSpec
from headrace.library.estimator.tpu.cross_shard import CrossShardOptimizer as CrossShardOptimizer
