"""Networks of the literature that classify images, as Keras has them.  Weights are random, or from a local file."""
