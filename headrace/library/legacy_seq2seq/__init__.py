"""The older sequence-to-sequence functions (``tf.contrib.legacy_seq2seq``): lists of steps, unrolled in the graph."""
