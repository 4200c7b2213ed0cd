"""tf.tpu: what programs written for TPUs also call where there is none."""

from headrace.library.estimator.tpu.cross_shard import CrossShardOptimizer as CrossShardOptimizer
from headrace.library.estimator.tpu.computation import (
    bfloat16_scope as bfloat16_scope, cross_replica_sum as cross_replica_sum,
    outside_compilation as outside_compilation, rewrite as rewrite,
)
