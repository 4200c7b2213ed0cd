"""tf.contrib.slim.nets: networks for pictures, with TensorFlow's names of variables, so that its checkpoints load."""
