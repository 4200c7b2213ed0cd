"""``tf.profiler``: the parameters and float operations of a graph, by names or by types of ops."""
