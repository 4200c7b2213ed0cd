"""Datasets in GraphDefs: written, read back, and in meta graphs of savers."""

import sqlite3
from contextlib import closing

import numpy as np
from library.data.taking import drain

import headrace as tf

Dataset = tf.data.Dataset


def build():
    v = tf.Variable(np.int64(3), name="v")
    c = tf.constant(np.int64(2))
    dataset = Dataset.range(6).map(lambda x: x * v + c).filter(lambda x: x > c)
    dataset = dataset.flat_map(lambda x: Dataset.range(x % 4).map(lambda y: y + x)).shuffle(3, seed=1)
    windows = experimental_groups(dataset.map(lambda x: x - v, num_parallel_calls=2))
    iterator = windows.batch(2).make_initializable_iterator()
    one_shot = (
        Dataset.from_generator(lambda: iter(range(3)), tf.int32, []).map(lambda x: x + 1).make_one_shot_iterator()
    )
    tf.identity(iterator.get_next(), "many")
    tf.identity(one_shot.get_next(), "few")
    return iterator.initializer.name


def experimental_groups(dataset):
    groups = tf.data.experimental.group_by_window(lambda x: x % 2, lambda key, window: window.map(lambda x: x + key), 2)
    return dataset.apply(groups)


def run(initializer):
    with tf.Session() as sess:
        sess.run([tf.global_variables_initializer()] if tf.global_variables() else ["v/Assign"])
        sess.run(initializer)
        return [e.tolist() for e in drain(sess, "many:0")], drain(sess, "few:0")


def test_what_is_written_is_read_back():
    with tf.Graph().as_default() as written:  # which keeps the generator's function alive
        initializer = build()
        expected = run(initializer)
        data = written.as_graph_def().SerializeToString()
    assert expected[1] == [1, 2, 3] and len(expected[0]) > 2
    with tf.Graph().as_default() as graph:
        tf.import_graph_def(tf.GraphDef.FromString(data), name="")
        assert run(initializer) == expected
        again = graph.as_graph_def()
    assert {n.name: n.op for n in again.node} == {n.name: n.op for n in tf.GraphDef.FromString(data).node}


def test_a_meta_graph_of_a_saver(tmp_path):
    with tf.Graph().as_default(), tf.Session() as sess:
        v = tf.Variable(np.int64(3), name="v")
        iterator = Dataset.range(6).map(lambda x: x * 2, num_parallel_calls=2).batch(4).make_initializable_iterator()
        tf.add(iterator.get_next(), v, "many")
        sess.run(v.initializer)
        path = tf.train.Saver().save(sess, str(tmp_path / "model"))
        initializer = iterator.initializer.name
    with tf.Graph().as_default(), tf.Session() as sess:
        saver = tf.train.import_meta_graph(f"{path}.meta")
        saver.restore(sess, path)
        sess.run(initializer)
        assert [e.tolist() for e in drain(sess, "many:0")] == [[3, 5, 7, 9], [11, 13]]


def test_optionals_statistics_devices_and_databases(tmp_path):
    with closing(sqlite3.connect(tmp_path / "rows.db")) as database:
        database.execute("create table t (n)")
        database.executemany("insert into t values (?)", [(1,), (2,)])
        database.commit()
    experimental = tf.data.experimental
    with tf.Graph().as_default() as graph:
        aggregator = experimental.StatsAggregator()
        options = tf.data.Options()
        options.experimental_stats.aggregator = aggregator
        options.experimental_stats.latency_all_edges = True
        rows = experimental.SqlDataset("sqlite", str(tmp_path / "rows.db"), "select n from t", tf.int64)
        rows = rows.map(experimental.Optional.from_value).map(lambda o: o.get_value()).with_options(options)
        iterator = rows.apply(experimental.prefetch_to_device("/cpu:0")).make_initializable_iterator()
        dealt = experimental.MultiDeviceIterator(Dataset.range(2), ["/cpu:0", "/cpu:0"])
        tf.identity(iterator.get_next(), "row")
        tf.identity_n(dealt.get_next(), "both")
        tf.identity(aggregator.get_summary(), "summary")
        tf.group(iterator.initializer, dealt.initializer, name="begin")
        data = graph.as_graph_def().SerializeToString()
    with tf.Graph().as_default(), tf.Session() as sess:
        tf.import_graph_def(tf.GraphDef.FromString(data), name="")
        sess.run("begin")
        assert drain(sess, "row:0") == [1, 2]
        assert sess.run(["both:0", "both:1"]) == [0, 1]
        histograms = tf.Summary.FromString(sess.run("summary:0")).value
        assert {v.histo.num for v in histograms} == {2} and len(histograms) >= 4
