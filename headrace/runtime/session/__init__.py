"""The sides of a step: the master that asks, the workers that run parts of it."""
