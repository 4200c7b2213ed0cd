"""Arithmetic, reductions, segments and random numbers."""
