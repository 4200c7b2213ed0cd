"""tf.keras.callbacks: what is told of each epoch and batch while a model trains."""
