"""Training: optimizers, learning rates, moving averages."""
