"""Statistics of datasets: how long elements take, how large they are, as summaries."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from headrace.core import dtypes
from headrace.graph import raw_ops
from headrace.graph.convert import convert_to_tensor
from headrace.graph.operation import Tensor
from headrace.library.data.dataset import Dataset, with_statistics
from headrace.library.data.options import StatsOptions


class StatsAggregator:
    """Keeps what datasets measure of their elements.

    ``options.experimental_stats.aggregator`` names it for a dataset, with a ``prefix`` for the tags; `latency_stats` and
    `bytes_produced_stats` measure, and ``latency_all_edges`` measures every transformation.

    >>> aggregator = tf.data.experimental.StatsAggregator()
    >>> options = tf.data.Options()
    >>> options.experimental_stats.aggregator = aggregator
    >>> summary = aggregator.get_summary()
    """

    def __init__(self) -> None:
        self._resource = raw_ops.StatsAggregatorHandle()

    def get_summary(self) -> Tensor:
        """A serialized ``tf.Summary`` with a histogram for each tag, for ``FileWriter.add_summary``."""
        summary: Tensor = raw_ops.StatsAggregatorSummary(self._resource)
        return summary


def latency_stats(tag: Any) -> Callable[[Dataset], Dataset]:
    """For ``Dataset.apply``: the microseconds that each element took, under a tag.

    Args:
      tag: The tag of the histogram, a string.

    Returns:
      A function for `Dataset.apply`.

    >>> dataset = tf.data.Dataset.range(3).apply(tf.data.experimental.latency_stats("range"))
    >>> dataset.output_types
    tf.int64
    """
    return lambda dataset: dataset._then("LatencyStatsDataset", convert_to_tensor(tag, dtypes.string))


def bytes_produced_stats(tag: Any) -> Callable[[Dataset], Dataset]:
    """For ``Dataset.apply``: the bytes of each element, under a tag.

    Args:
      tag: The tag of the histogram, a string.

    Returns:
      A function for `Dataset.apply`.

    >>> dataset = tf.data.Dataset.range(3).apply(tf.data.experimental.bytes_produced_stats("bytes"))
    >>> dataset.output_types
    tf.int64
    """
    return lambda dataset: dataset._then("BytesProducedStatsDataset", convert_to_tensor(tag, dtypes.string))


def set_stats_aggregator(
    stats_aggregator: StatsAggregator, prefix: str = "", counter_prefix: str = ""
) -> Callable[[Dataset], Dataset]:
    """For ``Dataset.apply``: what the dataset measures goes to an aggregator, as with `StatsOptions`.

    Args:
      stats_aggregator: The `StatsAggregator` that is told.
      prefix: What stands before the tags.
      counter_prefix: Accepted and not used.

    Returns:
      A function for `Dataset.apply`.

    >>> aggregator = tf.data.experimental.StatsAggregator()
    >>> dataset = tf.data.Dataset.range(3).apply(tf.contrib.data.set_stats_aggregator(aggregator, prefix="train"))
    """
    options = StatsOptions()
    options.aggregator, options.prefix, options.counter_prefix = stats_aggregator, prefix, counter_prefix
    return lambda dataset: with_statistics(dataset, options)
