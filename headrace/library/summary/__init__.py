"""tf.summary: summaries in the graph, and the event files that TensorBoard reads."""
