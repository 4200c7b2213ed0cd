"""tf.keras.metrics: figures with variables of their own, updated by each batch."""
