"""What trains a model: losses and metrics of its outputs, steps, sources of batches, loops."""
