"""Statistics of datasets: what measures elements, what keeps the measures, and their summary."""

from __future__ import annotations

import numpy as np

from headrace.core.registry import op
from headrace.ops.dataset.declare import TYPES, check_dataset, dataset
from headrace.ops.shared.resource import check_resource
from headrace.resources.data.stats import Measured, Observed, latency, size
from headrace.resources.state.stats_aggregator import StatsAggregator

handle = op(
    'StatsAggregatorHandle(; container: string = "", shared_name: string = "") -> (handle: resource)',
    handle=True, stateful=True, host=True,
)  # fmt: skip
handle.not_differentiable()
handle.shape(lambda container, shared_name: ())
handle.state(lambda context: context.resource(StatsAggregator, StatsAggregator))

summary = op("StatsAggregatorSummary(iterator: resource) -> (summary: string)", stateful=True, reads=True, host=True)
summary.not_differentiable()
summary.shape(lambda iterator: ())


@summary.kernel
def _(iterator):
    check_resource(iterator, StatsAggregator)
    return np.array(iterator.summary(), object)


def _measuring(name, measure):
    @dataset(f"{name}(input_dataset: variant, tag: string; {TYPES})")
    def _(input_dataset, tag):
        check_dataset(input_dataset)
        return Measured(input_dataset, tag.item(), measure)


_measuring("LatencyStatsDataset", latency)
_measuring("BytesProducedStatsDataset", size)


@dataset(
    "SetStatsAggregatorDataset(input_dataset: variant, stats_aggregator: resource, tag: string, counter_prefix: string; "
    f"{TYPES}, _all_edges: bool = False)"
)
def _(input_dataset, stats_aggregator, tag, _all_edges):
    check_dataset(input_dataset)
    check_resource(stats_aggregator, StatsAggregator)
    return Observed(input_dataset, stats_aggregator, tag.item(), _all_edges)
