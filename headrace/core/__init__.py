"""The vocabulary of Headrace: dtypes, shapes, op signatures, the registry, device names, config and errors.

Nothing here imports torch, starts a thread or holds a graph; every other folder may import from here.
"""
