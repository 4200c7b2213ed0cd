"""tf.distributions: random variables with densities, moments, samples and divergences."""
