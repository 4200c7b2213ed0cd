"""Conditionals, loops, assertions and what orders ops."""
