"""Models and weights in files: Keras's HDF5 layout and TensorFlow's checkpoints."""
