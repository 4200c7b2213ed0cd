"""The layers of tf.layers: Keras's, with variables in variable scopes and other default values; and their functions."""
