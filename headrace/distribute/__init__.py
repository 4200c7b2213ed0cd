"""tf.distribute: strategies that train a model with several devices or tasks."""

from headrace.cluster.server import Server as Server
from headrace.distribute import cluster_resolver as cluster_resolver
from headrace.distribute import experimental as experimental
from headrace.library.control.replica import ReduceOp as ReduceOp
from headrace.library.control.replica import loss_reduction as get_loss_reduction
from headrace.library.distribute.cross_device_ops import (
    CrossDeviceOps as CrossDeviceOps,
)
from headrace.library.distribute.cross_device_ops import (
    HierarchicalCopyAllReduce as HierarchicalCopyAllReduce,
)
from headrace.library.distribute.cross_device_ops import (
    NcclAllReduce as NcclAllReduce,
)
from headrace.library.distribute.cross_device_ops import (
    ReductionToOneDevice as ReductionToOneDevice,
)
from headrace.library.distribute.extended import StrategyExtended as StrategyExtended
from headrace.library.distribute.input import (
    InputContext as InputContext,
)
from headrace.library.distribute.input import (
    InputReplicationMode as InputReplicationMode,
)
from headrace.library.distribute.mirrored import (
    MirroredStrategy as MirroredStrategy,
)
from headrace.library.distribute.mirrored import (
    OneDeviceStrategy as OneDeviceStrategy,
)
from headrace.library.distribute.replica_context import (
    ReplicaContext as ReplicaContext,
)
from headrace.library.distribute.replica_context import (
    has_strategy as has_strategy,
)
from headrace.library.distribute.replica_context import (
    in_cross_replica_context as in_cross_replica_context,
)
from headrace.library.distribute.strategy import (
    Strategy as Strategy,
)
from headrace.library.distribute.strategy import (
    experimental_set_strategy as experimental_set_strategy,
)
from headrace.library.distribute.strategy import (
    get_replica_context as get_replica_context,
)
from headrace.library.distribute.strategy import (
    get_strategy as get_strategy,
)
