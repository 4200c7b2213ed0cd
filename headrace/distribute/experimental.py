"""tf.distribute.experimental: strategies over shared variables and over several tasks."""

from headrace.library.distribute.cluster import (
    CollectiveCommunication as CollectiveCommunication,
)
from headrace.library.distribute.cluster import (
    MultiWorkerMirroredStrategy as MultiWorkerMirroredStrategy,
)
from headrace.library.distribute.cluster import (
    ParameterServerStrategy as ParameterServerStrategy,
)
from headrace.library.distribute.mirrored import CentralStorageStrategy as CentralStorageStrategy
