"""Precision at classes that are chosen already."""

import headrace as tf


def test_average_precision_of_chosen_classes_is_that_of_the_scores():
    scores, labels, weights = [[0.1, 0.4, 0.2, 0.3], [0.5, 0.1, 0.3, 0.1]], [[3, 0], [2, 1]], [1.0, 3.0]
    chosen = tf.nn.top_k(scores, 3)[1]
    metrics = tf.contrib.metrics
    _, one = metrics.streaming_sparse_average_precision_at_top_k(chosen, labels, weights)
    _, other = metrics.streaming_sparse_average_precision_at_k(scores, labels, 3, weights)
    with tf.Session() as session:
        session.run(tf.local_variables_initializer())
        first, second = session.run([one, other])
    assert first == second > 0
