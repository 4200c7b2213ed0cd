"""Optimizers: how gradients change variables.  ``optimizer.py`` has the common part, one file each family of rules."""
