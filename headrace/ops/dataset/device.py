"""Datasets whose elements are on a device, and those that deal the elements of one out to several devices."""

from __future__ import annotations

from functools import partial

import numpy as np

from headrace.core.errors import InvalidArgumentError
from headrace.core.registry import op
from headrace.ops.dataset.declare import TYPES, check_dataset, dataset, described
from headrace.ops.shared.resource import check_resource
from headrace.resources.calling.copies import belongs_here
from headrace.resources.data.device import CopyToDevice, Deal, Dealt
from headrace.resources.data.stage import Stage
from headrace.resources.state.iterator import Iterator
from headrace.resources.stepping.waiting import Later


class Carried(bytes):
    """A string that carries a value of this process: state cannot leave its device, and strings can."""

    value = None

    @classmethod
    def string(cls, value):
        carried = cls(b"a value of the process that made it")
        carried.value = value
        return np.array(carried, object)

    @classmethod
    def value_of(cls, string, needed_class):
        carried = string.item()
        if not isinstance(carried, cls) or not isinstance(carried.value, needed_class):
            raise InvalidArgumentError(
                None, None, f"the {needed_class.__name__} is of another process: its devices must be of this one"
            )
        return carried.value


wrap = op("_WrapDataset(input_dataset: variant) -> (handle: string)", host=True)
wrap.not_differentiable()
wrap.shape(lambda *arguments: ())


@wrap.kernel
def _(input_dataset):
    check_dataset(input_dataset)
    return Carried.string(input_dataset)


copy = op(f"_CopyToDeviceDataset(input_dataset: host string; {TYPES}) -> (handle: variant)", opaque=True)
copy.not_differentiable()
copy.shape(lambda *arguments: ())


@copy.kernel
def _(input_dataset, output_types, output_shapes, *, node, device):
    """The elements on the device of the node, which may be another than that of the dataset."""
    return described(CopyToDevice(Carried.value_of(input_dataset, Stage), device), node)


get_next = op(
    f"_IteratorGetNextOnDevice(iterator: resource; {TYPES}) -> (components: list(output_types))",
    asynchronous=True,
    stateful=True,
)
get_next.not_differentiable()
get_next.shape(lambda iterator, output_types, output_shapes: list(output_shapes))


@get_next.begin
def _(iterator, output_types, output_shapes, *, done, device):
    check_resource(iterator, Iterator)

    def over(element, error):
        done(None if error is not None else Later(partial(belongs_here, element, device)), error)

    return iterator.get_next(over, on_device=True)


deal = op(
    "_DealDataset(input_dataset: variant, most: host int64; shards: int) -> (deal: string)", stateful=True, host=True
)
deal.not_differentiable()
deal.shape(lambda input_dataset, most, shards: ())
deal.state(lambda context: context)


@deal.kernel
def _(input_dataset, most, shards, *, state):
    """One way through a dataset, for several shards together."""
    check_dataset(input_dataset)
    if most < 1:
        raise InvalidArgumentError(None, None, f"max_buffer_size must be at least 1, got {most}")
    return Carried.string(Deal(input_dataset, shards, most, state.submit, state.cores))


@dataset(f"_DealtDataset(deal: string; shard: int, {TYPES})")
def _(deal, shard):
    return Dealt(Carried.value_of(deal, Deal), shard)
