"""Pictures (``tf.image``)."""
