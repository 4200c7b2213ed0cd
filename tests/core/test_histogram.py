"""Histograms of numbers that come together, and one by one."""

import numpy as np

from headrace.core import event
from headrace.core.histogram import Histogram, bucket_limits, buckets, statistics


def test_one_by_one_as_together() -> None:
    numbers = np.random.RandomState(0).standard_cauchy(500)
    edges = [0.0, -0.0, 1e-12, -1e-12, bucket_limits()[-1], bucket_limits()[0], bucket_limits()[700]]
    for values in (numbers, np.array(edges), np.array([])):
        histogram = Histogram()
        for value in values:
            histogram.add(float(value))
        with np.errstate(over="ignore"):
            limits, counts = (part.astype("<f8").tobytes() for part in buckets(values))
        assert histogram.encoded(b"tag") == event.histogram(b"tag", statistics(values), limits, counts)
