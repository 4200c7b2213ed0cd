"""What of ``tf.contrib.slim`` is no layer: its data sets, its evaluation, its summaries."""
