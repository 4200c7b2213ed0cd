"""Statistics of datasets: measured while elements are taken, read as summaries."""

import pytest
from library.data.positions import check_positions
from library.data.taking import drain

import headrace as tf

Dataset = tf.data.Dataset
experimental = tf.data.experimental


def words(n):
    return Dataset.range(n).map(lambda x: (x, tf.fill([x], "ab")))


def observed(dataset, aggregator, **settings):
    options = tf.data.Options()
    options.experimental_stats.aggregator = aggregator
    for name, value in settings.items():
        setattr(options.experimental_stats, name, value)
    return dataset.with_options(options)


def tags(summary):
    """The histograms by tag."""
    return {value.tag: value.histo for value in tf.Summary.FromString(summary).value}


def collected(dataset, aggregator):
    """All elements, and the histograms."""
    iterator = dataset.make_initializable_iterator()
    element, summary = iterator.get_next(), aggregator.get_summary()
    with tf.Session() as sess:
        assert sess.run(summary) == b""
        sess.run(iterator.initializer)
        return drain(sess, element), tags(sess.run(summary))


def test_bytes_are_tensorflows():
    aggregator = experimental.StatsAggregator()
    dataset = words(5).apply(experimental.bytes_produced_stats("bytes"))
    elements, histograms = collected(observed(dataset, aggregator, prefix="pre"), aggregator)
    assert len(elements) == 5
    (histogram,) = [h for tag, h in histograms.items() if tag == "pre::bytes"]
    assert (histogram.min, histogram.max, histogram.num, histogram.sum) == (8, 112, 5, 300)
    assert histogram.sum_squares == 24760
    assert list(histogram.bucket) == [0, 1, 0, 1, 0, 1, 0, 1, 0, 1, 0]
    assert list(histogram.bucket_limit)[:3] == [7.4666377932988732, 8.2133015726287617, 31.189999053747471]


def test_the_latency_of_each_element_and_of_each_transformation():
    aggregator = experimental.StatsAggregator()
    dataset = words(4).apply(experimental.latency_stats("outer")).prefetch(2)
    elements, histograms = collected(observed(dataset, aggregator, latency_all_edges=True), aggregator)
    assert len(elements) == 4
    assert {tag: h.num for tag, h in histograms.items()} == {
        "outer": 4, "record_latency_RangeDataset": 4, "record_latency_MapDataset": 4, "record_latency_PrefetchDataset": 4,
        "record_latency_LatencyStatsDataset": 4,
    }  # fmt: skip
    assert all(0 <= h.min <= h.max and h.sum >= h.max for h in histograms.values())


def test_epochs_and_iterators_are_added_up(session):
    aggregator = experimental.StatsAggregator()
    dataset = words(3).apply(experimental.bytes_produced_stats("b")).repeat(2)
    dataset = dataset.flat_map(
        lambda x, text: Dataset.from_tensors(x).apply(experimental.bytes_produced_stats("inner"))
    )
    iterators = [d.make_initializable_iterator() for d in (observed(dataset, aggregator), dataset)]
    elements = [i.get_next() for i in iterators]
    for _ in range(2):
        session.run([i.initializer for i in iterators])
        for element in elements:  # the second dataset has no aggregator
            assert drain(session, element) == [0, 1, 2] * 2
    histograms = tags(session.run(aggregator.get_summary()))
    assert {tag: h.num for tag, h in histograms.items()} == {"b": 12, "inner": 12}


def test_branches_with_aggregators_of_their_own(session):
    first, second = experimental.StatsAggregator(), experimental.StatsAggregator()
    parts = [
        Dataset.range(n).apply(experimental.bytes_produced_stats("n")).apply(experimental.set_stats_aggregator(a, "p"))
        for n, a in ((3, first), (5, second))
    ]
    iterator = Dataset.zip(tuple(parts)).repeat(2).make_initializable_iterator()
    element = iterator.get_next()
    session.run(iterator.initializer)
    assert len(drain(session, element)) == 6
    summaries = [tags(session.run(a.get_summary())) for a in (first, second)]
    assert [{tag: h.num for tag, h in one.items()} for one in summaries] == [{"p::n": 6}, {"p::n": 6}]


def test_errors_are_not_measured_and_what_nobody_asks_for_is_not_kept():
    aggregator = experimental.StatsAggregator()
    dataset = Dataset.from_tensor_slices([1.0, 0.0, 2.0]).map(lambda x: tf.check_numerics(1 / x, "bad"))
    dataset = observed(dataset.apply(experimental.latency_stats("l")), aggregator)
    elements, histograms = collected(dataset, aggregator)
    assert elements == [1, "InvalidArgumentError", 0.5] and histograms["l"].num == 2


def test_positions_and_sizes(session):
    aggregator = experimental.StatsAggregator()
    dataset = Dataset.range(4).apply(experimental.latency_stats("l")).apply(experimental.bytes_produced_stats("b"))
    dataset = observed(dataset, aggregator, latency_all_edges=True)
    assert check_positions(dataset) == [0, 1, 2, 3]
    assert session.run(experimental.cardinality(dataset)) == 4
    with pytest.raises(ValueError, match="does not support datasets that capture stateful objects"):
        dataset.make_one_shot_iterator()


def test_eagerly():
    with tf.eager_mode():
        aggregator = experimental.StatsAggregator()
        dataset = observed(Dataset.range(3).apply(experimental.bytes_produced_stats("b")), aggregator)
        assert [int(x) for x in dataset] == [0, 1, 2]
        assert tags(aggregator.get_summary().numpy())["b"].sum == 24
