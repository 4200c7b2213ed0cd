"""Strategies over the devices of one process: one device, several with copies of the variables, several with shared variables."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from headrace.core.source import at
from headrace.library.control import replica
from headrace.library.distribute.cross_device_ops import AllReduce, CrossDeviceOps, canonical
from headrace.library.distribute.extended import StrategyExtended
from headrace.library.distribute.making import made_shared, made_together, marked
from headrace.library.distribute.strategy import Strategy
from headrace.library.scope import colocate_with, device
from headrace.runtime.host.defaults import default_devices

CPU = "/device:CPU:0"


def accelerators() -> list[str]:
    """The names of this machine's GPUs."""
    return [f"/device:GPU:{known.name.rsplit(':', 1)[1]}" for known in default_devices() if known.device_type == "GPU"]


def checked_devices(devices: Any, strategy: str) -> tuple[str, ...]:
    """The devices of replicas in their usual form; None stands for all GPUs, or else the CPU."""
    if devices is None:
        return tuple(accelerators() or [CPU])
    if isinstance(devices, str) or not isinstance(devices, Sequence) or not devices:
        raise ValueError(f"{strategy} takes a list with one device or more, got {devices!r} {at()}")
    names = tuple(canonical(one) for one in devices)
    twice = sorted({name for name in names if names.count(name) > 1})
    if twice:
        raise ValueError(f"{strategy} takes each device once, and got {', '.join(twice)} several times {at()}")
    return names


class OneDeviceExtended(StrategyExtended):
    """All on one device."""

    def __init__(self, container_strategy: Any, device_name: Any) -> None:
        super().__init__(container_strategy)
        (self._device,) = checked_devices([device_name], "OneDeviceStrategy")

    @property
    def worker_devices(self) -> tuple[str, ...]:
        return (self._device,)

    @property
    def _default_device(self) -> str:
        return self._device

    def _create_variable(self, next_creator: Callable[..., Any], arguments: dict[str, Any]) -> Any:
        with device(self._device):
            return marked(next_creator(**arguments), self._strategy)


class OneDeviceStrategy(Strategy):
    """Makes everything on one device: to try out a program that is written for strategies.

    Args:
      device: The name of the device.

    >>> strategy = tf.distribute.OneDeviceStrategy("/cpu:0")
    >>> with strategy.scope():
    ...     w = tf.Variable(3.0)
    >>> doubled = strategy.experimental_run_v2(lambda: w * 2.0)
    >>> with tf.Session() as sess:
    ...     sess.run(w.initializer)
    ...     print(sess.run(strategy.experimental_local_results(doubled)))
    (np.float32(6.0),)
    """

    def __init__(self, device: Any) -> None:
        super().__init__(OneDeviceExtended(self, device))


class MirroredExtended(StrategyExtended):
    """A copy of each variable on each device."""

    def __init__(self, container_strategy: Any, devices: Any, cross_device_ops: CrossDeviceOps | None) -> None:
        super().__init__(container_strategy)
        self._devices = checked_devices(devices, "MirroredStrategy")
        self._ops = AllReduce() if cross_device_ops is None else checked_ops(cross_device_ops)

    @property
    def worker_devices(self) -> tuple[str, ...]:
        return self._devices

    def _create_variable(self, next_creator: Callable[..., Any], arguments: dict[str, Any]) -> Any:
        return made_together(self._strategy, self._devices, next_creator, arguments)


def checked_ops(ops: Any) -> CrossDeviceOps:
    if not isinstance(ops, CrossDeviceOps):
        raise TypeError(f"cross_device_ops must be a tf.distribute.CrossDeviceOps, got {ops!r} {at()}")
    return ops


class MirroredStrategy(Strategy):
    """Trains copies of a model on several devices, each with its part of the batch.

    Each device has a copy of each variable.  The gradients of all replicas are added up, and every copy is changed by the sum, so
    that copies stay equal.

    Args:
      devices: Names of devices; None for all GPUs, or else the CPU.
      cross_device_ops: A `tf.distribute.CrossDeviceOps` that adds gradients up; None for one that does so on all devices.

    >>> strategy = tf.distribute.MirroredStrategy(["/cpu:0", "/cpu:1"])
    >>> with strategy.scope():
    ...     w = tf.Variable(4.0, name="w")
    ...     optimizer = tf.train.GradientDescentOptimizer(0.25)
    >>> batches = tf.data.Dataset.from_tensors([1.0, 3.0]).repeat()
    >>> iterator = strategy.make_dataset_iterator(batches)
    >>> def step(x):
    ...     return optimizer.minimize(tf.reduce_mean(w * x) / strategy.num_replicas_in_sync)
    >>> train = strategy.group(strategy.experimental_run(step, iterator))
    >>> with tf.Session(config=tf.ConfigProto(device_count={"CPU": 2})) as sess:
    ...     _ = sess.run([iterator.initialize(), tf.global_variables_initializer()])
    ...     sess.run(train)
    ...     print(sess.run(strategy.experimental_local_results(w)))
    (np.float32(3.5), np.float32(3.5))
    """

    def __init__(self, devices: Any = None, cross_device_ops: Any = None) -> None:
        super().__init__(MirroredExtended(self, devices, cross_device_ops))


class CentralStorageExtended(StrategyExtended):
    """One copy of each variable, on the parameter device."""

    def __init__(self, container_strategy: Any, compute_devices: Any, parameter_device: Any) -> None:
        super().__init__(container_strategy)
        self._devices = checked_devices(compute_devices, "CentralStorageStrategy")
        if parameter_device is None:
            parameter_device = self._devices[0] if len(self._devices) == 1 else CPU
        self._parameter_device = canonical(parameter_device)

    @property
    def worker_devices(self) -> tuple[str, ...]:
        return self._devices

    @property
    def parameter_devices(self) -> tuple[str, ...]:
        return (self._parameter_device,)

    def _create_variable(self, next_creator: Callable[..., Any], arguments: dict[str, Any]) -> Any:
        with device(None), device(self._parameter_device):  # no part of the replica's device
            return self._shared(next_creator, arguments)

    def _create_beside(self, beside: Any, next_creator: Callable[..., Any], arguments: dict[str, Any]) -> Any:
        with device(None), colocate_with(replica.whole(beside)):
            return self._shared(next_creator, arguments)

    def _shared(self, next_creator: Callable[..., Any], arguments: dict[str, Any]) -> Any:
        if len(self.worker_devices) == 1:
            return marked(next_creator(**arguments), self._strategy)
        return made_shared(self._strategy, next_creator, arguments)


class CentralStorageStrategy(Strategy):
    """Trains on several devices with one copy of each variable, on a device that all of them read.

    Args:
      compute_devices: Names of devices, one for each replica; None for all GPUs, or else the CPU.
      parameter_device: The device of variables; None for the CPU, or for the only compute device.

    >>> strategy = tf.distribute.experimental.CentralStorageStrategy(["/cpu:0", "/cpu:1"], "/cpu:0")
    >>> with strategy.scope():
    ...     w = tf.Variable(4.0, name="w")
    >>> w.device, strategy.num_replicas_in_sync
    ('/device:CPU:0', 2)
    """

    def __init__(self, compute_devices: Any = None, parameter_device: Any = None) -> None:
        super().__init__(CentralStorageExtended(self, compute_devices, parameter_device))
