"""Strategies over the tasks of a cluster: variables on parameter servers, or copies on every worker."""

from __future__ import annotations

import enum
import inspect
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from headrace.cluster.cluster_spec import ClusterSpec
from headrace.core.device import DeviceSpec
from headrace.core.source import at
from headrace.graph import context, convert, raw_ops
from headrace.graph.operation import Tensor
from headrace.graph.structures import IndexedSlices
from headrace.library.control.replica import Copies, ReduceOp
from headrace.library.distribute.cross_worker import CrossWorkerReduce, Workers, cpu_of_task, first_workers, sums
from headrace.library.distribute.extended import StrategyExtended
from headrace.library.distribute.making import made_together
from headrace.library.distribute.mirrored import CPU, CentralStorageExtended, MirroredExtended, accelerators
from headrace.library.distribute.strategy import Strategy
from headrace.library.distribute.variable import DistributedVariable
from headrace.library.system.resolver.tf_config import TFConfigClusterResolver
from headrace.library.train.replica.device_setter import replica_device_setter

# How many strategies each task of this process has made, for their workers to meet under a name of their own.
_started: Counter[tuple[Any, ...]] = Counter()
_WORKERS = ("chief", "master", "worker")  # the jobs that compute, in the order in which their tasks are counted


class CollectiveCommunication(enum.Enum):
    """How workers add gradients up.  All members mean the same here: over the connections of the cluster.

    Args:
      value: "AUTO", "RING" or "NCCL".

    >>> tf.distribute.experimental.CollectiveCommunication.AUTO
    <CollectiveCommunication.AUTO: 'AUTO'>
    """

    __signature__ = inspect.Signature([inspect.Parameter("value", inspect.Parameter.POSITIONAL_OR_KEYWORD)])
    AUTO = "AUTO"
    RING = "RING"
    NCCL = "NCCL"


class _Place:
    """This process's place in a cluster: its task, and the tasks that compute."""

    def __init__(self, cluster: ClusterSpec, job: Any, index: Any) -> None:
        self.cluster = cluster
        self.tasks = [(job, i) for job in _WORKERS if job in cluster.jobs for i in cluster.task_indices(job)]
        if (job, index) not in self.tasks:
            raise ValueError(
                f"Strategies run in the jobs {', '.join(_WORKERS)}, and this process is task {index!r} of job {job!r} of "
                f"{cluster}: set 'task' in TF_CONFIG, or pass a cluster resolver that names the task {at()}"
            )
        self.number = self.tasks.index((job, index))
        self.task = DeviceSpec(job=job, task=index)

    def here(self, names: list[str]) -> tuple[str, ...]:
        """Devices of this task."""
        return tuple(self.task.make_merged_spec(DeviceSpec.from_string(name)).to_string() for name in names)

    @property
    def is_chief(self) -> bool:
        """Whether this is the first of the tasks that compute."""
        return self.number == 0


def _place(resolver: Any) -> _Place | None:
    """This process's place as the resolver, or else TF_CONFIG, says; None without a cluster."""
    resolver = TFConfigClusterResolver() if resolver is None else resolver
    cluster = resolver.cluster_spec()
    if not cluster.jobs:
        return None
    return _Place(cluster, resolver.task_type, resolver.task_id)


class _InCluster(StrategyExtended):
    """A strategy that may run in a task of a cluster."""

    _place: _Place | None

    @property
    def _host(self) -> str:
        return CPU if self._place is None else self._place.here([CPU])[0]

    @property
    def _input_pipelines(self) -> tuple[int, int]:
        return (1, 0) if self._place is None else (len(self._place.tasks), self._place.number)

    @property
    def experimental_between_graph(self) -> bool:  # type: ignore[override]
        """Whether each worker builds a graph of its own."""
        return self._place is not None

    @property
    def should_checkpoint(self) -> bool:  # type: ignore[override]
        """Whether this process writes checkpoints: the first worker."""
        return self._place is None or self._place.is_chief

    @property
    def should_save_summary(self) -> bool:  # type: ignore[override]
        """Whether this process writes summaries: the first worker."""
        return self.should_checkpoint


class ParameterServerExtended(_InCluster, CentralStorageExtended):
    """Variables on parameter servers, in turn; the replicas of each worker add up their gradients, and workers do not wait."""

    def __init__(self, container_strategy: Any, resolver: Any) -> None:
        place = _place(resolver)
        names = accelerators() or [CPU]
        super().__init__(container_strategy, names, None)
        self._place = place
        if place is None:
            return
        if "ps" not in place.cluster.jobs:
            raise ValueError(f"ParameterServerStrategy needs a job 'ps' in the cluster, got {place.cluster} {at()}")
        self._devices = place.here(names)
        self._parameter_device = replica_device_setter(cluster=place.cluster, worker_device=place.task.to_string())  # type: ignore[assignment]

    @property
    def parameter_devices(self) -> tuple[str, ...]:
        if self._place is None:
            return super().parameter_devices
        return tuple(f"/job:ps/task:{i}" for i in self._place.cluster.task_indices("ps"))

    @property
    def _default_device(self) -> Any:
        return None if self._place is None else self._parameter_device

    @property
    def experimental_should_init(self) -> bool:  # type: ignore[override]
        """Whether this process initialises variables: the first worker."""
        return self.should_checkpoint


class ParameterServerStrategy(Strategy):
    """Trains with variables on parameter servers: each worker applies its gradients when it has them.

    Every worker runs the same program, with a session on its own server.  Without a cluster it is a
    `tf.distribute.experimental.CentralStorageStrategy` over this machine.

    Args:
      cluster_resolver: A `tf.distribute.cluster_resolver.ClusterResolver` that names the cluster and this task; None for what
        the environment variable ``TF_CONFIG`` says.

    >>> cluster = tf.train.ClusterSpec({"ps": ["a:1", "b:1"], "worker": ["c:1", "d:1"]})
    >>> resolver = tf.distribute.cluster_resolver.SimpleClusterResolver(cluster, task_type="worker", task_id=1)
    >>> strategy = tf.distribute.experimental.ParameterServerStrategy(resolver)
    >>> with strategy.scope():
    ...     variables = [tf.Variable(1.0), tf.Variable(2.0)]
    >>> [v.device for v in variables]
    ['/job:ps/task:0', '/job:ps/task:1']
    """

    def __init__(self, cluster_resolver: Any = None) -> None:
        super().__init__(ParameterServerExtended(self, cluster_resolver))


class MultiWorkerExtended(_InCluster, MirroredExtended):
    """A copy of each variable on each device of each worker."""

    _reads_all_workers = False  # whether variables are read as what all workers' copies add up to

    def __init__(self, container_strategy: Any, resolver: Any) -> None:
        place = _place(resolver)
        names = accelerators() or [CPU]
        super().__init__(container_strategy, names, None)
        self._place = place
        if place is None:
            return
        self._devices = place.here(names)
        key = (str(place.cluster), *place.tasks[place.number])
        _started[key] += 1
        name = f"multi_worker_{_started[key]}"
        self._workers = Workers([cpu_of_task(*task) for task in place.tasks], place.number, name)
        self._ops = CrossWorkerReduce(self._workers)
        self._first_replica = place.number * len(names)

    @property
    def _num_replicas_in_sync(self) -> int:
        return len(self.worker_devices) * (1 if self._place is None else len(self._place.tasks))

    @property
    def _default_device(self) -> str | None:
        return None if self._place is None else self._place.task.to_string()

    def _reduce_to(self, reduce_op: ReduceOp, value: Any, destinations: Any) -> Any:
        return super()._reduce_to(reduce_op, self._own(value), destinations)

    def batch_reduce_to(self, reduce_op: Any, value_destination_pairs: Any) -> list[Any]:
        """The sums or means of several values over the replicas of all workers.

        Args:
          reduce_op: A `tf.distribute.ReduceOp`.
          value_destination_pairs: Pairs of a value of several replicas and what it is for.

        Returns:
          A list with a result for each pair.
        """
        pairs = [(self._own(value), destinations) for value, destinations in value_destination_pairs]
        return super().batch_reduce_to(reduce_op, pairs)

    @contextmanager
    def _reading_all_workers(self) -> Iterator[None]:
        self._reads_all_workers = True
        try:
            yield
        finally:
            self._reads_all_workers = False

    def _over_workers(self, reduce_op: ReduceOp, value: Tensor) -> Tensor:
        if not self._reads_all_workers or self._place is None:
            return value
        (total,) = sums(self._workers, [value])
        if reduce_op is ReduceOp.SUM:
            return total
        mean: Tensor = raw_ops.RealDiv(total, convert.constant(len(self._place.tasks), total.dtype.base_dtype))
        return mean

    def _own(self, value: Any) -> Any:
        """The value of this worker's only replica as one of several replicas, those of other workers."""
        is_one = len(self.worker_devices) == 1 and isinstance(value, (Tensor, IndexedSlices))
        return Copies([value]) if is_one and self._place is not None else value

    def _create_variable(self, next_creator: Callable[..., Any], arguments: dict[str, Any]) -> DistributedVariable:
        if self._place is not None and not context.executing_eagerly():
            arguments = {**arguments, "initial_value": self._first_value(arguments)}
        return made_together(self._strategy, self._devices, next_creator, arguments)

    def _first_value(self, arguments: dict[str, Any]) -> Callable[[], Tensor]:
        """The initial value that the first worker computes, which all workers begin with."""
        given, dtype = arguments["initial_value"], arguments.get("dtype")

        def value() -> Tensor:
            graph = context.get_default_graph()
            name = graph.get_name_scope()
            own = convert.convert_to_tensor(given() if callable(given) else given, dtype)
            return first_workers(self._workers, own, name)

        return value


class MultiWorkerMirroredStrategy(Strategy):
    """Trains copies of a model on all devices of several workers, which add their gradients up among themselves.

    Every worker runs the same program, with a session on its own server, and takes as many steps as the others.  Without a
    cluster it is a `tf.distribute.MirroredStrategy`.

    Args:
      communication: Accepted for TensorFlow's sake; it has no effect.

    >>> strategy = tf.distribute.experimental.MultiWorkerMirroredStrategy()
    >>> strategy.extended.experimental_between_graph
    False
    """

    def __init__(self, communication: Any = CollectiveCommunication.AUTO) -> None:
        self._start(communication, None)

    def _start(self, communication: Any, resolver: Any) -> None:
        if not isinstance(communication, CollectiveCommunication):
            raise TypeError(
                f"communication must be a tf.distribute.experimental.CollectiveCommunication, got {communication!r} {at()}"
            )
        super().__init__(MultiWorkerExtended(self, resolver))

    @classmethod
    def _of_task(cls, resolver: Any) -> MultiWorkerMirroredStrategy:
        """The strategy of the task that the resolver names."""
        made = cls.__new__(cls)
        made._start(CollectiveCommunication.AUTO, resolver)
        return made
