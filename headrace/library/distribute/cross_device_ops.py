"""How values of several devices are combined: `tf.distribute.CrossDeviceOps` and its kinds.

A sum is made on one device and goes back to those that need it: two transfers for each other device.  The plan of a step sends
what goes the same way at the same time together, so gradients need not be packed.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from headrace.core.device import DeviceSpec
from headrace.core.source import at
from headrace.graph import convert, raw_ops
from headrace.graph.operation import Operation, Tensor
from headrace.graph.structures import IndexedSlices
from headrace.library.control.replica import Distributed, ReduceOp
from headrace.library.distribute.values import DistributedValues, Mirrored
from headrace.library.scope import device

Accumulate = Callable[[list[Any]], Any]


def canonical(name: Any) -> str:
    """The name of a device in its usual form."""
    spec = name if isinstance(name, DeviceSpec) else DeviceSpec.from_string(str(name))
    return spec.to_string()


def checked_reduce_op(reduce_op: Any) -> ReduceOp:
    """The reduction, given as a `ReduceOp` or by its name."""
    if isinstance(reduce_op, ReduceOp):
        return reduce_op
    names = [known.value for known in ReduceOp]
    if isinstance(reduce_op, str) and reduce_op.upper() in names:
        return ReduceOp(reduce_op.upper())
    raise TypeError(f"reduce_op must be tf.distribute.ReduceOp.SUM or MEAN, got {reduce_op!r} {at()}")


def devices_of(destinations: Any) -> list[str]:
    """The devices that a result is for: those of a variable, of values, or the ones that are named."""
    if isinstance(destinations, (str, DeviceSpec)):
        return [canonical(destinations)]
    if isinstance(destinations, Distributed):
        return [value.device for value in destinations.values]
    if isinstance(destinations, (list, tuple)) and destinations:
        return [name for item in destinations for name in devices_of(item)]
    name = getattr(destinations, "device", None)
    if name is None:
        raise ValueError(f"A destination is a device, a variable or a value of replicas, got {destinations!r} {at()}")
    return [name]


def _add(values: list[Any]) -> Any:
    return values[0] if len(values) == 1 else raw_ops.AddN(values)


def _joined(values: list[Any]) -> IndexedSlices:
    """The slices of all replicas behind one another, which is their sum."""
    if len(values) == 1:
        return values[0]  # type: ignore[no-any-return]
    return IndexedSlices(
        raw_ops.ConcatV2([v.values for v in values], 0), raw_ops.ConcatV2([v.indices for v in values], 0),
        values[0].dense_shape,
    )  # fmt: skip


def _identity(value: Any) -> Any:
    if isinstance(value, IndexedSlices):
        shape = value.dense_shape
        parts = raw_ops.Identity(value.values), raw_ops.Identity(value.indices)
        return IndexedSlices(*parts, shape if shape is None else raw_ops.Identity(shape))
    if isinstance(value, Operation):
        return value
    return raw_ops.Identity(convert.convert_to_tensor(value))


def divided(value: Any, count: int) -> Any:
    """The value divided by the number of replicas."""
    if isinstance(value, IndexedSlices):
        return IndexedSlices(divided(value.values, count), value.indices, value.dense_shape)
    number = convert.constant(count, value.dtype.base_dtype)
    return raw_ops.FloorDiv(value, number) if value.dtype.is_integer else raw_ops.RealDiv(value, number)


def combined(reduce_op: ReduceOp, values: Sequence[Any], place: str, accumulate: Accumulate = _add) -> Any:
    """The sum or mean of the values, made on the device ``place``."""
    values = [v if isinstance(v, IndexedSlices) else convert.convert_to_tensor(v) for v in values]
    slices = [isinstance(v, IndexedSlices) for v in values]
    if any(slices) and not all(slices):
        raise ValueError(
            f"A gradient is IndexedSlices in some replicas and a tensor in others, and cannot be combined {at()}"
        )
    with device(place):
        total = _joined(values) if slices[0] else accumulate(values)
        return divided(total, len(values)) if reduce_op is ReduceOp.MEAN and len(values) > 1 else total


def spread(value: Any, devices: Sequence[str]) -> Any:
    """The value on each of the devices; on a single one a tensor, else a `Mirrored`."""
    copies = []
    for name in devices:
        with device(name):
            copies.append(_identity(value))
    return copies[0] if len(copies) == 1 else Mirrored(copies)


class CrossDeviceOps:
    """Combines values of several devices, and sends values to them: the base class.

    A subclass gives ``reduce_implementation`` and ``batch_reduce_implementation``.

    >>> strategy = tf.distribute.MirroredStrategy(["/cpu:0"], cross_device_ops=tf.distribute.ReductionToOneDevice())
    >>> strategy.num_replicas_in_sync
    1
    """

    def reduce(self, reduce_op: Any, per_replica_value: Any, destinations: Any) -> Any:
        """The sum or mean of a value of all replicas, at the destinations.

        Args:
          reduce_op: A `tf.distribute.ReduceOp`.
          per_replica_value: A value of several replicas.
          destinations: A device, a variable or a value, on whose devices the result is.

        Returns:
          A tensor, or a value with a tensor for each device.
        """
        return self.reduce_implementation(
            checked_reduce_op(reduce_op), as_values(per_replica_value), devices_of(destinations)
        )

    def batch_reduce(self, reduce_op: Any, value_destination_pairs: Sequence[tuple[Any, Any]]) -> list[Any]:
        """The sums or means of several values.

        Args:
          reduce_op: A `tf.distribute.ReduceOp`.
          value_destination_pairs: Pairs of a value of several replicas and what it is for.

        Returns:
          A list with a result for each pair.
        """
        pairs = [(as_values(value), devices_of(destinations)) for value, destinations in value_destination_pairs]
        return self.batch_reduce_implementation(checked_reduce_op(reduce_op), pairs)

    def broadcast(self, tensor: Any, destinations: Any) -> Any:
        """A tensor on every device of the destinations.

        Args:
          tensor: A tensor.
          destinations: A device, a variable or a value.

        Returns:
          A tensor, or a value with a tensor for each device.
        """
        return self.broadcast_implementation(tensor, devices_of(destinations))

    def reduce_implementation(self, reduce_op: Any, per_replica_value: Any, destinations: Any) -> Any:
        """What `reduce` does, with destinations that are names of devices."""
        raise NotImplementedError(f"{type(self).__name__} does not say how a value is reduced")

    def batch_reduce_implementation(self, reduce_op: Any, value_destination_pairs: Any) -> list[Any]:
        """What `batch_reduce` does, with destinations that are names of devices."""
        return [self.reduce_implementation(reduce_op, *pair) for pair in value_destination_pairs]

    def broadcast_implementation(self, tensor: Any, destinations: Any) -> Any:
        """What `broadcast` does, with destinations that are names of devices."""
        return spread(tensor, destinations)


def as_values(value: Any) -> tuple[Any, ...]:
    """The values of all replicas, as a tuple."""
    if isinstance(value, Distributed):
        return value.values
    if isinstance(value, tuple):
        return value
    if isinstance(value, (Tensor, IndexedSlices)) or hasattr(value, "_as_graph_element"):
        return (value,)
    raise ValueError(f"`per_replica_value` must be a value of replicas, got {value!r} {at()}")


class ReductionToOneDevice(CrossDeviceOps):
    """Sends values to one device, combines them there and sends the result back.

    Args:
      reduce_to_device: The device that combines; None for the first that the result is for.
      accumulation_fn: A function of a list of tensors that gives their sum; None for `tf.add_n`.

    >>> to_one = tf.distribute.ReductionToOneDevice("/cpu:0")
    >>> strategy = tf.distribute.MirroredStrategy(["/cpu:0", "/cpu:1"], cross_device_ops=to_one)
    """

    def __init__(self, reduce_to_device: Any = None, accumulation_fn: Callable[..., Any] | None = None) -> None:
        self._device = None if reduce_to_device is None else canonical(reduce_to_device)
        self._accumulate: Accumulate = accumulation_fn or _add

    def reduce_implementation(self, reduce_op: Any, per_replica_value: Any, destinations: Any) -> Any:
        """The sum or mean, made on the one device."""
        total = combined(reduce_op, per_replica_value, self._device or destinations[0], self._accumulate)
        return spread(total, destinations)


class AllReduce(CrossDeviceOps):
    """Combines the values of a batch on all devices: the first on the first device, the second on the second."""

    def __init__(self, num_packs: int = 1) -> None:
        if not isinstance(num_packs, int) or isinstance(num_packs, bool) or num_packs < 0:
            raise ValueError(f"num_packs must be a number that is not negative, got {num_packs!r} {at()}")
        self._num_packs = num_packs

    def reduce_implementation(self, reduce_op: Any, per_replica_value: Any, destinations: Any) -> Any:
        """The sum or mean, made on the first destination."""
        return spread(combined(reduce_op, per_replica_value, destinations[0]), destinations)

    def batch_reduce_implementation(self, reduce_op: Any, value_destination_pairs: Any) -> list[Any]:
        """The sums or means, each on one of the destinations in turn."""
        results = []
        for number, (values, devices) in enumerate(value_destination_pairs):
            total = combined(reduce_op, values, devices[number % len(devices)])
            results.append(spread(total, devices))
        return results


class NcclAllReduce(AllReduce):
    """Sums the gradients of several GPUs, each on one of them in turn.

    The transfers are those of the step's plan, which gathers what goes the same way; NVIDIA's library is not needed.

    Args:
      num_packs: Accepted for TensorFlow's sake; it has no effect.

    >>> strategy = tf.distribute.MirroredStrategy(["/cpu:0"], cross_device_ops=tf.distribute.NcclAllReduce())
    """


class HierarchicalCopyAllReduce(AllReduce):
    """Sums the gradients of several GPUs, each on one of them in turn.

    Args:
      num_packs: Accepted for TensorFlow's sake; it has no effect.

    >>> to_all = tf.distribute.HierarchicalCopyAllReduce(num_packs=2)
    >>> strategy = tf.distribute.MirroredStrategy(["/cpu:0"], cross_device_ops=to_all)
    """


def reduced_alike(reduce_op: ReduceOp, value: Any, devices: Sequence[str], replicas: int) -> Any:
    """The reduction of what is the same for all replicas: itself, unless a sum is asked for."""
    if isinstance(value, DistributedValues) and reduce_op is ReduceOp.MEAN:
        value = value.primary
    if isinstance(value, (int, float)) and not value:
        return 0
    if reduce_op is ReduceOp.SUM and replicas != 1:
        raise ValueError(
            f"{value!r} is one value for all {replicas} replicas, so there is no sum of what each has; give a value that comes "
            f"from strategy.experimental_run_v2, or use ReduceOp.MEAN {at()}"
        )
    return spread(value, devices)
