"""A strand of a step as generated Python code, and the errors of its lines."""
