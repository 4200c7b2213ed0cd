"""tf.distribute.cluster_resolver: the tasks of a cluster, as those who manage the machines name them."""

from headrace.library.system.resolver.cloud import (
    GCEClusterResolver as GCEClusterResolver, KubernetesClusterResolver as KubernetesClusterResolver,
)
from headrace.library.system.resolver.resolver import ClusterResolver as ClusterResolver
from headrace.library.system.resolver.simple import (
    SimpleClusterResolver as SimpleClusterResolver, UnionClusterResolver as UnionResolver,
)
from headrace.library.system.resolver.slurm import SlurmClusterResolver as SlurmClusterResolver
from headrace.library.system.resolver.tf_config import TFConfigClusterResolver as TFConfigClusterResolver
from headrace.library.system.resolver.tpu import TPUClusterResolver as TPUClusterResolver
