"""Matrices: products, decompositions, linear operators."""
