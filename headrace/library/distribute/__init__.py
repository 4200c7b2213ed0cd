"""tf.distribute: one program for several devices or tasks, which train copies of a model together."""
