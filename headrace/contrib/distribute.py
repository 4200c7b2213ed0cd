"""tf.contrib.distribute: strategies as they were before `tf.distribute`."""

from headrace.library.contrib.distribute import (
    AllReduceCrossDeviceOps as AllReduceCrossDeviceOps, CollectiveAllReduceStrategy as CollectiveAllReduceStrategy,
    DistributeConfig as DistributeConfig, MirroredStrategy as MirroredStrategy, OneDeviceStrategy as OneDeviceStrategy,
    ParameterServerStrategy as ParameterServerStrategy,
)
from headrace.library.control.replica import loss_reduction as get_loss_reduction
from headrace.library.distribute.cross_device_ops import (
    CrossDeviceOps as CrossDeviceOps, ReductionToOneDevice as ReductionToOneDeviceCrossDeviceOps,
)
from headrace.library.distribute.extended import StrategyExtended as DistributionStrategyExtended
from headrace.library.distribute.replica_context import (
    ReplicaContext as ReplicaContext, has_strategy as has_distribution_strategy,
    in_cross_replica_context as in_cross_replica_context,
)
from headrace.library.distribute.strategy import (
    Strategy as DistributionStrategy, get_replica_context as get_replica_context,
    get_strategy as get_distribution_strategy,
)
