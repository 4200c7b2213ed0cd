"""tf.contrib.distribute: strategies with the constructors, and the input, that they had before `tf.distribute`."""

from __future__ import annotations

from typing import Any, NamedTuple

from headrace.core.source import at
from headrace.library.distribute.cluster import MultiWorkerMirroredStrategy
from headrace.library.distribute.cluster import ParameterServerStrategy as CoreParameterServer
from headrace.library.distribute.cross_device_ops import HierarchicalCopyAllReduce, NcclAllReduce
from headrace.library.distribute.input import RoundDataset
from headrace.library.distribute.mirrored import MirroredStrategy as CoreMirroredStrategy
from headrace.library.distribute.mirrored import OneDeviceStrategy as CoreOneDeviceStrategy


class MirroredStrategy(CoreMirroredStrategy):
    """A `tf.distribute.MirroredStrategy` in which each replica takes an element of a dataset of its own.

    Args:
      devices: Names of devices; None for those that `num_gpus` says.
      num_gpus: How many GPUs to use; None for all, or else the CPU.
      num_gpus_per_worker: The same as `num_gpus`.
      cross_device_ops: A `tf.distribute.CrossDeviceOps` that adds gradients up, or None.
      auto_shard_dataset: Accepted for TensorFlow's sake; it has no effect.
      cross_tower_ops: The older name of `cross_device_ops`.

    >>> strategy = tf.contrib.distribute.MirroredStrategy(num_gpus=2)
    >>> strategy.extended.worker_devices
    ('/device:GPU:0', '/device:GPU:1')
    """

    def __init__(
        self, devices: Any = None, num_gpus: int | None = None, num_gpus_per_worker: int | None = None,
        cross_device_ops: Any = None, auto_shard_dataset: bool = False, cross_tower_ops: Any = None,
    ) -> None:  # fmt: skip
        if None not in (num_gpus, num_gpus_per_worker):
            raise ValueError(f"You cannot specify both `num_gpus` and `num_gpus_per_worker` {at()}")
        count = num_gpus_per_worker if num_gpus is None else num_gpus
        if count is not None:
            if devices is not None:
                raise ValueError(f"Must only specify one of `devices` and `num_gpus` {at()}")
            if not isinstance(count, int) or isinstance(count, bool) or count < 0:
                raise ValueError(f"num_gpus must be a number that is not negative, got {count!r} {at()}")
            devices = [f"/device:GPU:{i}" for i in range(count)] or ["/device:CPU:0"]
        super().__init__(devices, cross_tower_ops if cross_device_ops is None else cross_device_ops)

    def make_dataset_iterator(self, dataset: Any) -> Any:
        """An iterator over a dataset of which each replica takes an element of its own.

        Args:
          dataset: A dataset of the batches of single replicas.

        Returns:
          An iterator; run what its ``initialize()`` gives before the first element.
        """
        return RoundDataset._of(self, dataset).make_initializable_iterator()


class OneDeviceStrategy(CoreOneDeviceStrategy):
    """A `tf.distribute.OneDeviceStrategy`.

    Args:
      device: The name of the device.

    >>> tf.contrib.distribute.OneDeviceStrategy("/cpu:0").num_replicas_in_sync
    1
    """


def _check_gpus(name: str, count: Any) -> None:
    if not isinstance(count, int) or isinstance(count, bool) or count < 0:
        raise ValueError(f"{name} must be a number that is not negative, got {count!r} {at()}")


class ParameterServerStrategy(CoreParameterServer):
    """A `tf.distribute.experimental.ParameterServerStrategy`, whose cluster is that of TF_CONFIG.

    Args:
      num_gpus_per_worker: Accepted for TensorFlow's sake: the accelerators of this machine are used.

    >>> tf.contrib.distribute.ParameterServerStrategy().num_replicas_in_sync
    1
    """

    def __init__(self, num_gpus_per_worker: int = 0) -> None:
        _check_gpus("num_gpus_per_worker", num_gpus_per_worker)
        super().__init__()


class CollectiveAllReduceStrategy(MultiWorkerMirroredStrategy):
    """A `tf.distribute.experimental.MultiWorkerMirroredStrategy`, whose cluster is that of TF_CONFIG.

    Args:
      num_gpus_per_worker: Accepted for TensorFlow's sake: the accelerators of this machine are used.

    >>> tf.contrib.distribute.CollectiveAllReduceStrategy().num_replicas_in_sync
    1
    """

    def __init__(self, num_gpus_per_worker: int = 0) -> None:
        _check_gpus("num_gpus_per_worker", num_gpus_per_worker)
        super().__init__()


class DistributeConfig(NamedTuple):
    """The strategies of a `tf.estimator.RunConfig`: ``RunConfig(experimental_distribute=DistributeConfig(...))``.

    Args:
      train_distribute: The strategy that trains; None for none.
      eval_distribute: The strategy that evaluates; None for none.
      remote_cluster: Not supported, must be None.

    >>> tf.contrib.distribute.DistributeConfig().train_distribute is None
    True
    """

    train_distribute: Any = None
    eval_distribute: Any = None
    remote_cluster: Any = None


def AllReduceCrossDeviceOps(  # noqa: N802 - TensorFlow's name
    all_reduce_alg: str = "nccl", num_packs: int = 1, agg_small_grads_max_bytes: int = 0,
    agg_small_grads_max_group: int = 10,
) -> Any:  # fmt: skip
    """A `tf.distribute.CrossDeviceOps` that sums the gradients of several devices, each on one of them in turn.

    Args:
      all_reduce_alg: "nccl" or "hierarchical_copy"; both do the same here.
      num_packs: In how many parts gradients are put together.
      agg_small_grads_max_bytes: Accepted for TensorFlow's sake; it has no effect.
      agg_small_grads_max_group: Accepted for TensorFlow's sake; it has no effect.

    Returns:
      A `tf.distribute.NcclAllReduce` or `tf.distribute.HierarchicalCopyAllReduce`.

    >>> type(tf.contrib.distribute.AllReduceCrossDeviceOps()).__name__
    'NcclAllReduce'
    """
    algorithms = {"nccl": NcclAllReduce, "hierarchical_copy": HierarchicalCopyAllReduce}
    if all_reduce_alg not in algorithms:
        raise ValueError(f"all_reduce_alg must be one of {sorted(algorithms)}, got {all_reduce_alg!r} {at()}")
    return algorithms[all_reduce_alg](num_packs)
