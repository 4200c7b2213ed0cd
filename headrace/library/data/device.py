"""Datasets whose elements are on a device before a step asks for them, and an iterator that serves several devices."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from headrace.core import dtypes
from headrace.core.source import at
from headrace.graph import context, raw_ops
from headrace.graph.operation import Operation
from headrace.library.control.dependency import group
from headrace.library.data.dataset import Dataset, made
from headrace.library.data.iterator import (
    eager_iterator,
    make_initializable_iterator,
    on_device,
)
from headrace.library.data.optional import Optional, get_next_as_optional
from headrace.library.data.structure import flat_types

_ON_HOST = (dtypes.string, dtypes.variant)


def copy_to_device(target_device: str, source_device: str = "/cpu:0") -> Callable[[Dataset], Dataset]:
    """For ``Dataset.apply``: the elements on a device.  It is the last transformation; only ``prefetch`` may follow.

    Elements with strings, sparse tensors or datasets stay on the host, and steps copy what they need.  The dataset itself
    is where it was made, whatever ``source_device`` says.

    Args:
      target_device: The device, such as `/gpu:0`.
      source_device: Accepted and not used.

    Returns:
      A function for `Dataset.apply`.

    >>> dataset = tf.data.Dataset.range(3).apply(tf.data.experimental.copy_to_device("/cpu:0"))
    >>> iterator = dataset.make_initializable_iterator()
    """

    def apply(dataset: Dataset) -> Dataset:
        spec = dataset.element_spec
        if any(dtype in _ON_HOST for dtype in flat_types(spec)):
            return dataset
        wrapped = raw_ops._WrapDataset(dataset._variant_tensor)
        with on_device(target_device):
            copied = made("_CopyToDeviceDataset", spec, [], wrapped)
        copied._given_options, copied._device = dataset.options(), target_device
        return copied

    return apply


def prefetch_to_device(device: str, buffer_size: Any = None) -> Callable[[Dataset], Dataset]:
    """For ``Dataset.apply``: the elements on a device, ``buffer_size`` of them before a step asks for them.

    Args:
      device: The device, such as `/gpu:0`.
      buffer_size: The number of elements that are ready on the device; None to let Headrace choose it.

    Returns:
      A function for `Dataset.apply`.

    >>> dataset = tf.data.Dataset.range(3).apply(tf.data.experimental.prefetch_to_device("/cpu:0"))
    >>> iterator = dataset.make_initializable_iterator()
    """
    return lambda dataset: dataset.apply(copy_to_device(device)).prefetch(buffer_size)


class MultiDeviceIterator:
    """Deals the elements of a dataset out to devices in turn: ``get_next()`` gives a list, the next element of each device.

    Each device prefetches ``prefetch_buffer_size`` elements.  A device that takes more than others waits for them when
    ``max_buffer_size`` elements are ready for one of these.  Positions of it cannot be saved.

    Args:
      dataset: The dataset whose elements are dealt out.
      devices: A list of devices, such as `["/gpu:0", "/gpu:1"]`.
      max_buffer_size: The largest number of elements that wait for one device.
      prefetch_buffer_size: The number of elements that are ready on each device; 0 for none.
      source_device: The device that deals the elements out.

    >>> iterator = tf.data.experimental.MultiDeviceIterator(tf.data.Dataset.range(4), ["/cpu:0", "/cpu:0"])
    >>> with tf.Session() as sess:
    ...     sess.run(iterator.initializer)
    ...     sess.run(iterator.get_next())
    [np.int64(0), np.int64(1)]
    """

    def __init__(
        self, dataset: Dataset, devices: Sequence[str], max_buffer_size: int = 1, prefetch_buffer_size: int = 1,
        source_device: str = "/cpu:0",
    ) -> None:  # fmt: skip
        if not devices:
            raise ValueError(f"MultiDeviceIterator needs at least one device, got {devices!r} {at()}")
        self._devices = list(devices)
        spec = dataset.element_spec
        with on_device(source_device):
            deal = raw_ops._DealDataset(
                dataset._variant_tensor, max(max_buffer_size, prefetch_buffer_size), shards=len(devices)
            )
        self._iterators = []
        eager = context.executing_eagerly()
        for i, device in enumerate(devices):
            with on_device(device):
                shard = made("_DealtDataset", spec, [], deal, shard=i).apply(copy_to_device(device))
                if prefetch_buffer_size > 0:
                    shard = shard.prefetch(prefetch_buffer_size)
                self._iterators.append(eager_iterator(shard) if eager else make_initializable_iterator(shard))
        self._initializer = None if eager else group(*[one.initializer for one in self._iterators])

    @property
    def initializer(self) -> Operation | None:
        """What begins all devices again, from the first element on."""
        return self._initializer

    @property
    def element_spec(self) -> Any:
        """What an element of one device is like."""
        return self._iterators[0].element_spec

    def get_next(self, device: str | None = None) -> Any:
        """The next element of each device, or of one."""
        if device is not None:
            return self._of(device).get_next()
        return [one.get_next() for one in self._iterators]

    def get_next_as_optional(self) -> list[Optional]:
        """The next element of each device, or nothing where there is none."""
        return [get_next_as_optional(one) for one in self._iterators]

    def _of(self, device: str) -> Any:
        if device not in self._devices:
            raise ValueError(f"device must be one of {self._devices}, got {device!r} {at()}")
        return self._iterators[self._devices.index(device)]
