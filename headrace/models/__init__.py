"""Models and data sets written on the public API only.

Nothing here is imported by the rest of Headrace: a model is a program like yours, kept where tests can reach it.
"""
