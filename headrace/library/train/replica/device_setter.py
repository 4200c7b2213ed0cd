"""replica_device_setter: a device function that puts variables on parameter servers and everything else on a worker."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Collection
from typing import Any, Final

from headrace.cluster.cluster_spec import ClusterSpec
from headrace.core.device import DeviceSpec
from headrace.core.source import at
from headrace.library import log

STANDARD_PS_OPS: Final = (
    "Variable", "VariableV2", "AutoReloadVariable", "MutableHashTable", "MutableHashTableV2",
    "MutableHashTableOfTensors", "MutableHashTableOfTensorsV2", "MutableDenseHashTable", "MutableDenseHashTableV2",
    "VarHandleOp", "BoostedTreesEnsembleResourceHandleOp", "BoostedTreesQuantileStreamResourceHandleOp",
    "ResourceConditionalAccumulator", "DecisionTreeResource",
)  # fmt: skip

Strategy = Callable[[Any], int]


class _RoundRobinStrategy:
    """Gives each operation to the next task; after the last comes the first."""

    def __init__(self, num_tasks: int) -> None:
        self._tasks = itertools.cycle(range(num_tasks))

    def __call__(self, op: Any) -> int:
        return next(self._tasks)


class _ReplicaDeviceChooser:
    """Chooses the device of one operation after another.  What the operation's device already says wins, part by part."""

    def __init__(
        self, ps_device: str | None, worker_device: str | None, merge_devices: bool, ps_ops: Collection[str],
        ps_strategy: Strategy,
    ) -> None:  # fmt: skip
        self._ps_device = DeviceSpec.from_string(ps_device)
        self._worker_device = DeviceSpec.from_string(worker_device)
        self._merge_devices = merge_devices
        self._ps_ops = ps_ops if ps_device else ()
        self._ps_strategy = ps_strategy

    def device_function(self, op: Any) -> str:
        """The name of the device for ``op``."""
        if op.device and not self._merge_devices:
            return str(op.device)
        own = DeviceSpec.from_string(op.device)
        if op.type not in self._ps_ops:
            return self._worker_device.make_merged_spec(own).to_string()
        device = self._ps_device
        if device.job and own.job in (None, device.job):  # else the tasks are not those that the strategy counts
            device = device.replace(task=self._ps_strategy(op))
        return device.make_merged_spec(own).to_string()


def replica_device_setter(
    ps_tasks: int = 0, ps_device: str | None = "/job:ps", worker_device: str | None = "/job:worker",
    merge_devices: bool = True, cluster: Any = None, ps_ops: Collection[str] | None = None,
    ps_strategy: Strategy | None = None,
) -> Callable[[Any], str] | None:  # fmt: skip
    """What ``tf.device`` takes to put variables on parameter servers, in turn, and everything else on ``worker_device``.

    ``cluster`` (a ``ClusterSpec``, or what one is made from) says how many tasks the job of ``ps_device`` has; without it
    ``ps_tasks`` does.  ``ps_ops`` are the types of operations that go to parameter servers, by default those that hold
    variables and tables.  ``ps_strategy(op)`` chooses the number of the task, such as
    ``tf.contrib.training.GreedyLoadBalancingStrategy``.  None, which ``tf.device`` takes too, is returned if there are no
    parameter servers.

    Devices that inner ``tf.device`` blocks name win part by part; with ``merge_devices=False`` they win as a whole.

    Args:
      ps_tasks: The number of parameter servers; ignored if `cluster` is given.
      ps_device: The device of parameter servers, to which the number of the task is added.
      worker_device: The device of all other operations; None or "" for none.
      merge_devices: Whether an inner ``tf.device`` replaces only the parts that it names.
      cluster: A `tf.train.ClusterSpec`, or a dict or ClusterDef to make one from.
      ps_ops: Types of operations to put on parameter servers; None for those that hold variables and tables.
      ps_strategy: A function from an operation to the number of a task; None to take the tasks in turn.

    Returns:
      A function from operations to devices for ``tf.device``, or None without parameter servers.

    >>> cluster = {"ps": ["ps0:2222", "ps1:2222"], "worker": ["worker0:2222"]}
    >>> with tf.device(tf.train.replica_device_setter(worker_device="/job:worker/task:0/gpu:0", cluster=cluster)):
    ...     weights, biases = tf.Variable([[1.0]]), tf.Variable([1.0])
    ...     y = tf.matmul([[2.0]], weights) + biases
    >>> print([t.device.split("/device")[0] for t in (weights, biases, y)])
    ['/job:ps/task:0', '/job:ps/task:1', '/job:worker/task:0']
    """
    if cluster is not None:
        job = DeviceSpec.from_string(ps_device).job
        spec = ClusterSpec(cluster)
        ps_tasks = spec.num_tasks(job) if job in spec.jobs else 0
    if not ps_tasks:
        return None
    if not merge_devices:
        log.warning("DEPRECATION: It is recommended to set merge_devices=true in replica_device_setter")
    strategy = _RoundRobinStrategy(ps_tasks) if ps_strategy is None else ps_strategy
    if not callable(strategy):
        raise TypeError(
            f"ps_strategy must be callable, a function from an operation to a task; got {strategy!r} {at()}"
        )
    ps_types = STANDARD_PS_OPS if ps_ops is None else ps_ops
    return _ReplicaDeviceChooser(ps_device, worker_device, merge_devices, ps_types, strategy).device_function
