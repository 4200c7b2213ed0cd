"""``tf.losses``."""
