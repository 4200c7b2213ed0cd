"""``tf.contrib.gan``: networks that learn by telling real data from generated."""
