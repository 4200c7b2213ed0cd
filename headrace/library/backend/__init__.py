"""tf.keras.backend: the functions that Keras's layers and models are written with."""
