"""TF1's streaming metrics: a value read from local variables, and an op that brings a batch into them."""
